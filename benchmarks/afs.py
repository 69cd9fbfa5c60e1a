"""AFS, one GPU at a time: the resumed scan against the plain double loop, with the same shares."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from muri_opt.systems.afs import NEVER, afs_shares, scaling_table, scan_order

Ints = NDArray[np.int64]
# Speed-ups at 1, 2, 4, 8 and 16 GPUs of nine models measured by the authors of AFS; between them iteration time is
# interpolated linearly, so that curves are not concave.
MODELS = (
    (1, 1.82, 3.48, 6.61),
    (1, 1.85, 3.27, 5.60, 8.18),
    (1, 1.95, 3.97, 7.79, 13.84),
    (1, 1.98, 3.62, 5.95, 9.04),
    (1, 1.49, 1.74, 1.83, 1.96),
    (1, 1.89, 3.43, 6.53, 9.85),
    (1, 1.81, 3.16, 4.69, 5.88),
    (1, 1.43, 1.73),
    (1, 1.80, 2.96, 3.81, 4.51),
)
MOST = 32


def main() -> None:
    """Print a table of CPU times and ratios."""
    print("## AFS: shares of all jobs, one GPU at a time\n")
    print("CPU seconds; loops once, ours the median of five. Plain: the double loop as the rule is written. Flat: the")
    print("same loop, what it compares kept in flat lists.\n")
    print("| jobs x GPUs | curves | scan | plain loop | flat loop | ours | times less than plain | than flat |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for jobs, gpus in ((1000, 2000), (4000, 16_000), (10_000, 16_000)):
        for kind in ("Amdahl", "nine models"):
            speed, cap, left = jobs_of(kind, jobs)
            for scan in ("longest", "arrival", "random"):
                order = np.random.default_rng(2).permutation(jobs) if scan == "random" else scan_order(scan, left)
                ours, shares = timed(lambda s=speed, c=cap, t=left, g=gpus, o=order: afs_shares(s, c, t, g, scan=o), 5)
                cells = [f"{jobs:,} x {gpus:,}", kind, scan, "", "", f"{ours:.3f} s", "", ""]
                rows = speed.tolist(), cap.tolist(), left.tolist(), gpus, order.tolist()
                for place, loop in enumerate((plain_loop, flat_loop)):
                    if jobs > 4000 or (jobs == 4000 and loop is plain_loop and scan != "longest"):
                        continue  # minutes
                    spent, expected = timed(lambda call=loop, r=rows: call(*r), 1)
                    assert shares.tolist() == expected
                    cells[3 + place], cells[6 + place] = f"{spent:.1f} s", f"{spent / ours:.0f}"
                print("| " + " | ".join(cells) + " |", flush=True)


def timed(action: Callable[[], object], repeats: int) -> tuple[float, object]:
    """Return the median CPU time of ``action``, and its answer."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        answer = action()
        times.append(time.process_time() - began)
    return statistics.median(times), answer


def jobs_of(kind: str, count: int, seed: int = 1) -> tuple[Ints, Ints, Ints]:
    """Return speeds, caps and remaining microseconds; curves of Amdahl's law, each its own, or of nine models."""
    draw = np.random.default_rng(seed)
    gpus = np.arange(1, MOST + 1)
    if kind == "Amdahl":
        serial, most = draw.uniform(0, 0.5, count), draw.integers(2, MOST + 1, count)
        tables = [(1 / (s + (1 - s) / gpus[:m])).tolist() for s, m in zip(serial, most, strict=True)]
        rows = [[0, *(round(p * 2**25) for p in table)] for table in tables]
    else:
        known = [scaling_table({2**i: float(p) for i, p in enumerate(model)}).speeds for model in MODELS]
        rows = [list(known[model]) for model in draw.integers(0, len(MODELS), count)]
    cap = np.array([len(row) - 1 for row in rows])
    speed = np.array([row + [0] * (MOST + 1 - len(row)) for row in rows])
    alone = np.exp(draw.normal(3, 2, count)) * 3.6e9
    left = np.full(speed.shape, NEVER)
    np.divide(alone[:, None] * speed[:, 1:2], speed, out=left, where=speed > 0, casting="unsafe")
    return speed, cap, left


def plain_loop(speed: list[list[int]], cap: list[int], left: list[list[int]], gpus: int, scan: list[int]) -> list[int]:
    """Return the shares by the rule as it is written: a scan over all jobs for every GPU."""
    shares = [0] * len(cap)
    for _ in range(gpus):
        best = -1
        for job in scan:
            if shares[job] == cap[job]:
                continue
            if best < 0:
                best = job
                continue
            held, other = shares[best], shares[job]
            if held == 0 and other == 0:
                if left[job][1] <= left[best][1]:
                    best = job
                continue
            a, b = (best, job) if left[best][held] <= left[job][other] else (job, best)
            more_b = speed[b][shares[b] + 1]
            if speed[a][shares[a]] * (2 * more_b - speed[b][shares[b]]) >= speed[a][shares[a] + 1] * more_b:
                best = b
            else:
                best = a
        if best < 0:
            break
        shares[best] += 1
    return shares


def flat_loop(speed: list[list[int]], cap: list[int], left: list[list[int]], gpus: int, scan: list[int]) -> list[int]:
    """Return the same shares; what a comparison reads of each job is kept in flat lists."""
    shares = [0] * len(cap)
    ends, now, more = [row[0] for row in left], [0] * len(cap), [row[1] for row in speed]
    alone = [row[1] for row in left]
    live = list(scan)
    for _ in range(gpus):
        if not live:
            break
        best = live[0]
        end, p, grown = ends[best], now[best], more[best]
        for job in live[1:]:
            if end <= ends[job]:
                q = now[job]
                if p == q == 0:
                    if alone[job] > alone[best]:
                        continue
                elif p * (2 * more[job] - q) < grown * more[job]:
                    continue
            elif now[job] * (2 * grown - p) >= more[job] * grown:
                continue
            best, end, p, grown = job, ends[job], now[job], more[job]
        shares[best] += 1
        share = shares[best]
        if share == cap[best]:
            live.remove(best)
        else:
            ends[best], now[best], more[best] = left[best][share], speed[best][share], speed[best][share + 1]
    return shares


if __name__ == "__main__":
    main()
