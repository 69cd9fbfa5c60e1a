"""Slow, plain methods for the elastic optimum, and the golden cases; nothing here is shared with the package."""

from fractions import Fraction
from itertools import product

import numpy as np
from scipy.optimize import linprog


def amdahl(serial, gpus):
    return [Fraction(0), *(1 / (serial + (1 - serial) / Fraction(k)) for k in range(1, gpus + 1))]


def decimal(*speeds):
    return [Fraction(0), *(Fraction(text) for text in speeds)]


GOLDEN = {  # speeds, work, GPUs: cases whose figures are known
    "T1": ([decimal("1", "1.8", "2.4"), decimal("1", "1.9", "2.7")], [10, 30], 3),
    "T2": ([decimal("1", "1.2", "1.3"), decimal("1", "1.9", "2.7")], [10, 30], 3),
    "T3": ([[k**power for k in range(5)] for power in (0.5, 0.7, 0.9)], [4, 6, 9], 4),
    "T4": ([amdahl(Fraction(s, 10), 6) for s in (1, 3, 5)], [10, 10, 10], 6),
    "T5": ([[0, 1, 2, 3]] * 3, [2, 3, 5], 3),
}


def vectors(caps, gpus):
    """Every share vector within the caps and the GPUs."""
    return [v for v in product(*(range(cap + 1) for cap in caps)) if sum(v) <= gpus]


def event_orders(arrival_period, periods):
    """Every order of completions (a job) and arrivals (-1): a job finishes after it has arrived."""

    def grow(order, finished):
        period = order.count(-1)
        here = [j for j, began in enumerate(arrival_period) if began <= period and j not in finished]
        if len(finished) == len(arrival_period):
            return [order]
        found = [o for j in here for o in grow((*order, j), finished | {j})]
        return found + (grow((*order, -1), finished) if period + 1 < periods else [])

    return grow((), frozenset())


def enumerated_optimum(speed, cap, work, gpus, arrivals=None):
    """Return the least total completion time: one floating-point program per order, all share vectors written out."""
    begun = [0.0] * len(work) if arrivals is None else [float(a) for a in arrivals]
    times = sorted(set(begun))
    arrival_period = [times.index(a) for a in begun]
    everything = vectors(cap, gpus)
    rates = np.array([[float(speed[j][k]) for j, k in enumerate(v)] for v in everything])
    best = np.inf
    for order in event_orders(arrival_period, len(times)):
        costs, work_rows, time_rows = [], [], []
        period, finished = 0, set()
        for event in (None, *order):
            if event == -1:
                period += 1
            elif event is not None:
                finished.add(event)
            alive = [j for j in range(len(work)) if arrival_period[j] <= period and j not in finished]
            usable = [i for i, v in enumerate(everything) if all(k == 0 or j in alive for j, k in enumerate(v))]
            costs += [float(len(alive))] * len(usable)
            work_rows.append(rates[usable].T)
            time_rows.append(np.array([[float(p == period)] * len(usable) for p in range(len(times) - 1)]))
        lengths = np.diff(times)
        answer = linprog(
            costs,
            A_ub=-np.hstack(work_rows),
            b_ub=-np.array([float(w) for w in work]),
            A_eq=np.hstack(time_rows) if len(lengths) else None,
            b_eq=lengths if len(lengths) else None,
            method="highs",
        )
        if answer.status == 0:
            best = min(best, answer.fun)
    return best


def two_job_optimum(speed, cap, work, gpus):
    """Return the exact optimum of two jobs from corner points: until the first end, one vector or a mix of two.

    With a mix of two vectors both jobs end together; with one vector, the other job then runs alone.
    """
    found = []
    pairs = [(Fraction(speed[0][a]), Fraction(speed[1][b])) for a, b in vectors(cap, gpus)]
    for p in pairs:
        for one, other in ((0, 1), (1, 0)):
            if p[one] > 0:
                first = Fraction(work[one]) / p[one]
                left = max(Fraction(0), work[other] - p[other] * first)
                found.append(2 * first + left / max(Fraction(s) for s in speed[other][: min(cap[other], gpus) + 1]))
    for p, q in product(pairs, repeat=2):
        area = p[0] * q[1] - p[1] * q[0]
        if area:
            x = (work[0] * q[1] - work[1] * q[0]) / area
            y = (p[0] * work[1] - p[1] * work[0]) / area
            if x >= 0 and y >= 0:
                found.append(2 * (x + y))
    return min(found)


def constant_shares_optimum(speed, work, gpus):
    """Return the exact optimum of schedules that change shares only when a job finishes."""
    alive = [j for j, left in enumerate(work) if left > 0]
    if not alive:
        return Fraction(0)
    best = None
    for shares in vectors([gpus] * len(alive), gpus):
        rates = [Fraction(speed[j][k]) for j, k in zip(alive, shares, strict=True)]
        if any(rates):
            step = min(work[j] / rate for j, rate in zip(alive, rates, strict=True) if rate)
            left = list(work)
            for j, rate in zip(alive, rates, strict=True):
                left[j] -= rate * step
            total = len(alive) * step + constant_shares_optimum(speed, left, gpus)
            best = total if best is None else min(best, total)
    return best


def shortest_remaining_total(work, arrivals):
    """Return the total completion time of one machine that always serves the shortest remaining job."""
    now, left, total = min(arrivals), dict(enumerate(work)), Fraction(0)
    while left:
        here = [j for j in left if arrivals[j] <= now]
        coming = [arrivals[j] for j in left if arrivals[j] > now]
        if not here:
            now = min(coming)
            continue
        job = min(here, key=lambda j: (left[j], j))
        step = min([left[job], *(a - now for a in coming)])
        now += step
        left[job] -= step
        if left[job] == 0:
            total += now - arrivals[job]
            del left[job]
    return total
