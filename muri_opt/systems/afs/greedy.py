"""AFS-L: all shares from nothing, one GPU at a time, each to the winner of a scan by the pair rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from muri_opt.systems.afs.fast_greedy import FastGreedy
from muri_opt.systems.afs.greedy_state import GreedyState
from muri_opt.systems.afs.pair_rule import check_rule
from muri_opt.systems.afs.scan_orders import checked_scan
from muri_opt.systems.afs.share_steps import Steps, check_ladder
from muri_opt.systems.curves import Ints


def afs_shares(
    speed: Ints,
    cap: Ints,
    time: Ints,
    gpus: int,
    *,
    scan: ArrayLike,
    tie: str = "longer",
    phi: int | None = 1,
    ladder: Sequence[int] | None = None,
) -> Ints:
    """Return how many of ``gpus`` GPUs each job gets.

    ``speed[j, k]`` and ``time[j, k]`` are speed and remaining time with k GPUs (``NEVER`` with none), ``cap[j]`` is the
    largest share of use to job j. Until GPUs or uses for them run out, the jobs below their cap are visited in the
    order ``scan``, a job that the pair rule prefers replaces the candidate, and the last candidate gets a GPU. At
    equality ``tie`` says which of two jobs wins, the one that would finish later or the one that would finish earlier.
    ``phi`` is how many GPUs more the longer job is taken to have once the shorter has finished: 1 for AFS, ``None`` for
    no bound, which is shortest first.

    With a ``ladder`` of legal shares a job climbs from one to the next, judged by the average gain per GPU, and leaves
    the scan when its next step takes more GPUs than are left.

    >>> speed = np.array([[0, 10, 18, 24], [0, 10, 19, 27]])
    >>> time = np.array([[NEVER, 100, 55, 41], [NEVER, 300, 157, 111]])
    >>> afs_shares(speed, np.array([3, 3]), time, 3, scan=[0, 1])
    array([2, 1])
    """
    check_rule(tie, phi)
    places = checked_scan(scan, len(cap))
    if ladder is not None:
        check_ladder(ladder)
    if not len(cap) or gpus < 1:
        return np.zeros(len(cap), dtype=np.int64)
    if phi == 1 and ladder is None and tie == "longer" and _linear(speed, cap):
        return _fewest_first(cap, time, gpus, places)
    steps = Steps.of(speed, cap, time, phi, ladder)
    stop = first_gpus(steps, places, gpus, tie_to_longer=tie == "longer")
    if phi is None and ladder is None and _first_stays_first(steps, stop):
        return _shortest_first(steps, places, stop, gpus)
    state = GreedyState(steps, places, stop, gpus - int(stop.sum()), tie_to_longer=tie == "longer")
    FastGreedy(state, one_order=phi == 1).run()
    state.finish()
    shares = np.zeros(len(cap), dtype=np.int64)
    shares[state.row] = steps.share[state.stop]
    return shares


def first_gpus(steps: Steps, scan: Ints, gpus: int, *, tie_to_longer: bool) -> Ints:
    """Return the stop, 0 or 1, of each job after the climbs that are sure to be won by a job without a GPU.

    Jobs without a GPU win against each other by their time on one GPU, the later scanned at equality. They win against
    the jobs that have one as long as a second GPU does not more than double the speed of any of these.
    """
    order = scan[::-1]
    order = order[steps.stops[order] > 0]
    order = order[np.argsort(steps.alone[order], kind="stable")]
    able = np.zeros(len(order), dtype=np.bool_)
    if steps.now.shape[1] > 1:
        now, more = 2 * steps.now[order, 1], steps.more[order, 1]
        able = (steps.stops[order] > 1) & (more > now if tie_to_longer else more >= now)
    count = 1 + int(np.argmax(able)) if able.any() else len(order)
    stop = np.zeros(len(steps.stops), dtype=np.int64)
    stop[order[: min(count, gpus)]] = 1
    return stop


def _first_stays_first(steps: Steps, stop: Ints) -> bool:
    """Return whether every job has its first GPU, and no GPU more makes a job slower."""
    able = np.arange(1, steps.time.shape[1]) < steps.stops[:, None]
    rising = np.diff(steps.time, axis=1) > 0
    return bool((stop == np.minimum(steps.stops, 1)).all()) and not bool((rising & able)[:, 1:].any())


def _shortest_first(steps: Steps, scan: Ints, stop: Ints, gpus: int) -> Ints:
    """Return the shares if the longer job never wins: the shortest takes all it can use, then the next.

    A job that gets a GPU is shorter than before, so it wins again; of equally long ones the first scanned does.
    """
    order = scan[steps.stops[scan] > 1]
    order = order[np.argsort(steps.time[order, 1], kind="stable")] if steps.time.shape[1] > 1 else order
    more = steps.stops[order] - 1
    shares = stop.copy()
    shares[order] += np.clip(gpus - int(stop.sum()) - (np.cumsum(more) - more), 0, more)
    return shares


def _linear(speed: Ints, cap: Ints) -> bool:
    """Return whether every job's speed is in proportion to its GPUs, exactly."""
    twice = cap > 1
    if speed.shape[1] > 2 and (speed[twice, 2] != 2 * speed[twice, 1]).any():
        return False  # the usual answer, without a look at the whole table
    gpus = np.arange(speed.shape[1])
    used = gpus <= cap[:, None]
    return bool((np.where(used, speed, 0) == np.where(used, speed[:, 1:2] * gpus, 0)).all())


def _fewest_first(cap: Ints, time: Ints, gpus: int, scan: Ints) -> Ints:
    """Return the shares of jobs in proportion, ties to the longer: the fewest GPUs first, then the shortest.

    With k GPUs a job grows by 1/k, so the longer of two wins if and only if it has fewer GPUs. That is an order, and
    one GPU at a time goes round: everybody gets as much as the others, or its cap.
    """
    levels = np.sort(cap)
    below = np.concatenate([[0], np.cumsum(levels)])
    # At level L the jobs with smaller caps have them, all others L.
    held = below[:-1] + levels * np.arange(len(cap), 0, -1)
    full = int(np.searchsorted(held, gpus, side="right"))
    if full == len(cap):
        return cap.copy()
    level = (gpus - int(below[full])) // (len(cap) - full)
    shares = np.minimum(cap, level)
    open_ = scan[cap[scan] > level]
    if level == 0:  # of jobs without a GPU, the later scanned wins where they are equally long
        open_ = open_[::-1]
    order = open_[np.argsort(time[open_, max(level, 1)], kind="stable")]
    shares[order[: gpus - int(shares.sum())]] += 1
    return shares
