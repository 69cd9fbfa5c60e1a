"""The pattern of the Muri authors' simulator: three stages (data, GPU, network) on a cycle of four slots.

The job in seat q fetches data in slots q and q + 1, computes in slot q + 2 and communicates in slot q + 3 (all mod 4).
In slot i, then, the job in seat i + 1 communicates, the one in seat i + 2 computes, the one in seat i + 3 has to finish
its data and the one in seat i begins with its own. Two jobs may fetch data at the same time, each at full speed.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from muri_opt.systems.muri.interleaving.stage_slots import Seats

SLOTS = 4
DATA, GPU, NETWORK = range(3)
_BOUNDARIES = 2 * SLOTS
_CLOSE = 1e-3


def recurrence_periods(seats: Seats) -> Any:
    """Return the periods as the authors read them off the first two rounds of the recurrence of the slots' ends.

    Times are float seconds and every operation is theirs, in their order, so that rounding breaks ties as it does in
    their code. A job alone takes the sum of its stages.
    """
    taken = [seat for seat, stages in enumerate(seats) if stages is not None]
    if len(taken) == 1:
        return reduce(np.add, _stages(seats, taken[0]))
    if taken == [0, 2]:
        return _opposite_periods(seats)
    ends: list[Any] = [0.0]
    period: Any = None
    open_: Any = True
    for i in range(_BOUNDARIES):
        ends.append(_slot_end(seats, ends, i))
        if i < SLOTS:
            continue
        # Both are at least 0: the recurrence is monotone, and its second round starts from no earlier ends.
        now, before = ends[i + 1] - ends[i - 3], ends[i] - ends[i - 4]
        period = now if period is None else np.where(open_, now, period)
        open_ = open_ & (np.abs(now - before) > _CLOSE * np.maximum(now, before))
        if not np.any(open_):
            break
    return period


def steady_periods(seats: Seats) -> Any:
    """Return the exact periods of the slots run for ever: the longest chain of stages that leads back to its start."""
    data, short = data_times(seats), short_times(seats)
    one_by_one = short[0] + short[1] + short[2] + short[3]
    by_two = [data[0] + data[2], data[1] + data[3]]
    mixed = [data[i] + short[(i + 2) % SLOTS] + short[(i + 3) % SLOTS] for i in range(SLOTS)]
    return reduce(np.maximum, [one_by_one, *by_two, *mixed])


def data_times(seats: Seats) -> list[Any]:
    """Return the times of the data stages begun in each slot, which have two slots to end."""
    return [_time(seats, i, DATA) for i in range(SLOTS)]


def short_times(seats: Seats) -> list[Any]:
    """Return how long each slot lasts at least, by the network and GPU stages inside it."""
    return [np.maximum(_time(seats, i + 1, NETWORK), _time(seats, i + 2, GPU)) for i in range(SLOTS)]


def _slot_end(seats: Seats, ends: list[Any], i: int) -> Any:
    """Return when slot i ends; empty seats do not hold it up, and slot 0 waits for no data, as nothing came before."""
    times: list[Any] = [0.0]
    if (stages := seats[(i + 1) % SLOTS]) is not None:
        times.append(ends[i] + stages[NETWORK])
    if (stages := seats[(i + 2) % SLOTS]) is not None:
        times.append(ends[i] + stages[GPU])
    if i > 0 and (stages := seats[(i + 3) % SLOTS]) is not None:
        times.append(ends[i - 1] + stages[DATA])
    return reduce(np.maximum, times)


def _opposite_periods(seats: Seats) -> Any:
    """Return the periods of two jobs half a cycle apart: one fetches data while the other computes and communicates."""
    a, b = _stages(seats, 0), _stages(seats, 2)
    return np.maximum(a[DATA], b[GPU] + b[NETWORK]) + np.maximum(b[DATA], a[GPU] + a[NETWORK])


def _stages(seats: Seats, seat: int) -> Any:
    return seats[seat]


def _time(seats: Seats, seat: int, stage: int) -> Any:
    stages = seats[seat % SLOTS]
    return 0 if stages is None else stages[stage]
