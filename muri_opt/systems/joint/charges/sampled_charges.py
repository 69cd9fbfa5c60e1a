"""What CPUs and memory cost where they bind, told by some of very many jobs before all of them are looked at."""

from __future__ import annotations

from math import ceil

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.charges.capacity_charges import Capacities, charges_of
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.groups.sizes import price_of
from muri_opt.systems.joint.jobs.job_model import Floats

_SAMPLE = 128
"""Jobs that are looked at, at most."""
_MORE = 0.7
"""How much more of all but GPUs is taken with a GPU by jobs that may share than by one alone, as a guess."""


def sampled_charges(offers: Offers, jobs: Ints, limits: Capacities) -> Floats | None:
    """Return what each job pays for all but GPUs that it takes with each of its GPUs; ``None`` if there seems enough.

    One job of several is looked at, in the order of value for a GPU, and the same part of what there is. They run
    alone, on powers of two of GPUs, and if they may share with as much less of all else as sharing would take.
    """
    if limits.of_gpus_alone or not len(offers.grid):
        return None
    at = np.append(0, offers.coarse_grid)
    counts, value = offers.counts[at], offers.alone(jobs).take(at, axis=1)
    density = (value[:, 1:] / counts[1:]).max(axis=1, initial=0.0)
    every = ceil(len(jobs) / _SAMPLE)
    line = np.argsort(-density, kind="stable")[every // 2 :: every]
    line = line[density[line] > 0]
    some, alone, single = jobs[line], value[line], np.ones(len(line), dtype=np.int64)
    together = float(offers.shares[some].mean()) if len(some) and offers.most_jobs > 1 else 0.0
    part = limits.part(every, 1 + _MORE * together)
    price, sizes = price_of(alone, counts, int(part.left[0]))
    gpus = counts[sizes]
    if (part.asked(some, single, gpus) <= part.left).all():
        return None
    usual = alone[np.arange(len(line)), sizes].sum() / max(1, int(gpus.sum()))
    return charges_of(alone, counts.astype(np.float64), (some, single), part, max(price, usual / 2))
