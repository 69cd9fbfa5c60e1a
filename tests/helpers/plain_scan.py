"""The greedy of AFS as a plain double loop, written from the published rule: the reference the fast one must equal."""

from fractions import Fraction

NEVER = 1 << 62


def plain_shares(speed, cap, time, gpus, scan, tie="longer", phi=1, ladder=None):
    """Shares by (GPUs x jobs) comparisons; ``speed`` and ``time`` are lists of rows."""
    shares = [0] * len(cap)
    steps = list(range(1, 1 + max(cap, default=0))) if ladder is None else list(ladder)
    while gpus > 0:
        best = None
        for job in scan:
            after = next((share for share in steps if share > shares[job]), None)
            if after is None or after > cap[job] or after - shares[job] > gpus:
                continue
            if best is None or replaces(speed, cap, time, shares, best, job, tie, phi, steps):
                best = job
        if best is None:
            break
        after = next(share for share in steps if share > shares[best])
        gpus -= after - shares[best]
        shares[best] = after
    return shares


def replaces(speed, cap, time, shares, candidate, scanned, tie, phi, steps):
    if shares[candidate] == shares[scanned] == 0:
        return time[scanned][1] <= time[candidate][1]
    ends = {job: time[job][shares[job]] if shares[job] else NEVER for job in (candidate, scanned)}
    a, b = (candidate, scanned) if ends[candidate] <= ends[scanned] else (scanned, candidate)
    return longer_wins(speed, cap, shares, a, b, tie, phi, steps) == (b == scanned)


def longer_wins(speed, cap, shares, a, b, tie, phi, steps):
    if phi is None and shares[b]:
        return False

    def at(job, share):  # straight between legal shares, and no further than the last of them within the cap
        legal = [0, *(step for step in steps if step <= cap[job])]
        share = min(share, legal[-1])
        low = max(step for step in legal if step <= share)
        if low == share:
            return Fraction(speed[job][low])
        high = min(step for step in legal if step > share)
        return speed[job][low] + Fraction(share - low, high - low) * (speed[job][high] - speed[job][low])

    now_a, more_a = at(a, shares[a]), at(a, shares[a] + 1)
    now_b, more_b = at(b, shares[b]), at(b, shares[b] + 1)
    future = at(b, shares[b] + phi) if shares[b] else more_b
    left, right = now_a * (2 * future - now_b), more_a * (2 * future - more_b)
    return left > right or (left == right and tie == "longer")
