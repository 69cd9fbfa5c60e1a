"""What GPUs cost besides where a quota binds, by what jobs ask for alone: a guess for rounds of very many jobs."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.joint.job_model import Floats
from muri_opt.systems.joint.offers import Offers
from muri_opt.systems.joint.sizes import price_of

_HALVINGS = 16
_LOOKS = 6
"""How often the price of GPUs is looked for, with more quotas that bind each time; twice is nearly always enough."""


def quota_charges(offers: Offers, jobs: Ints, counted: Ints, limits: Ints, gpus: int) -> Floats:
    """Return what each job pays for each of its GPUs besides their price.

    ``counted[j, t]`` says whether the quota of tenant t counts what job j has. Its jobs would ask for just that quota
    at a price of their own. Where this is above the price of all GPUs, the quota binds, and they pay the difference;
    the others share the GPUs that are left, at a price that is the lower for it. Of several quotas that count a job
    the one of the highest price does.
    """
    charge = np.zeros(len(offers.kind))
    limited = np.flatnonzero(limits < UNLIMITED).tolist()
    if not limited:
        return charge
    at = np.append(0, offers.grid)  # a guess need not look at all sizes
    counts, value = offers.counts[at], offers.alone(jobs)[:, at]
    own, given = np.zeros(len(jobs)), np.zeros(len(jobs), dtype=np.int64)
    for tenant in limited:
        rows = np.flatnonzero(counted[jobs, tenant])
        price, sizes = price_of(value[rows], counts, max(0, int(limits[tenant])), _HALVINGS)
        dearer = price > own[rows]
        own[rows[dearer]], given[rows[dearer]] = price, counts[sizes[dearer]]
    binds, price = np.zeros(len(jobs), dtype=np.bool_), 0.0
    for _ in range(_LOOKS):
        price, _ = price_of(value[~binds], counts, max(0, gpus - int(given[binds].sum())), _HALVINGS)
        before, binds = binds, own > price
        if (binds == before).all():
            break
    charge[jobs] = np.maximum(0.0, own - price)
    return charge
