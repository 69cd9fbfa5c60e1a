"""The cyclic pattern: in every slot each job is at another stage, and the slot lasts as long as its longest stage."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from muri_opt.systems.muri.interleaving.stage_slots import Seats


def cyclic_periods(seats: Seats) -> Any:
    """Return the periods: the sum over slots i of the longest stage in it, where seat q is at stage (i - q) mod k."""
    slots = len(seats)
    total: Any = 0
    for slot in range(slots):
        times = [stages[(slot - seat) % slots] for seat, stages in enumerate(seats) if stages is not None]
        total = total + reduce(np.maximum, times)
    return total
