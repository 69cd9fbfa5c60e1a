"""What CPUs and memory cost where they bind, told by some of very many jobs before all of them are looked at."""

from __future__ import annotations

from math import ceil

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.capacity_charges import Capacities, capacity_charges, within
from muri_opt.systems.joint.job_model import Floats
from muri_opt.systems.joint.offers import Offers
from muri_opt.systems.joint.partners import Blocks, heaviest_first
from muri_opt.systems.joint.price_search import powers_of_two, rows_of_similar_periods, sized
from muri_opt.systems.joint.sizes import price_of

_SAMPLE = 64
"""Jobs that are looked at, at most: a row of those that may share."""
_FURTHER = 1.4
"""How many times as much of all but GPUs is asked for if pairs that share may be joined by further jobs, as a guess."""


def sampled_charges(offers: Offers, jobs: Ints, limits: Capacities) -> Floats | None:
    """Return what each job pays for all but GPUs that it takes with each of its GPUs; ``None`` if there seems enough.

    One job of several is looked at, in the order of value for a GPU, and the same part of what there is. They run alone
    or in twos, on powers of two of GPUs.
    """
    if limits.of_gpus_alone or not len(offers.grid):
        return None
    few = offers.in_twos(offers.grid[powers_of_two(offers.sizes)])
    every = ceil(len(jobs) / _SAMPLE)
    value = few.alone(jobs)
    density = (value[:, 1:] / few.float_counts[1:]).max(axis=1, initial=0.0)
    line = np.argsort(-density, kind="stable")[every // 2 :: every]
    line = line[density[line] > 0]
    some, alone, gpus = jobs[line], value[line], int(limits.left[0]) // every
    price, asked = price_of(alone, few.counts, gpus)
    rows = rows_of_similar_periods(few, some, np.where(asked, asked, (alone[:, 1:] > 0).argmax(axis=1) + 1))
    groups = Blocks(few, rows, heaviest_first).groups(price)
    part = limits.part(every, _FURTHER if groups and offers.most_jobs > 2 else 1.0)
    found = sized(few, some, alone, groups, gpus)
    return None if within(found, part) else capacity_charges(few, some, found, part)
