"""What GPUs cost besides where a quota binds, worked out from jobs alone: a first guess for rounds of very many jobs."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.joint.job_model import Floats
from muri_opt.systems.joint.offers import Offers
from muri_opt.systems.joint.sizes import price_of

_ROUNDS = 6


def quota_charges(offers: Offers, counted: Ints, limits: Ints, gpus: int, among: Ints | None = None) -> Floats:
    """Return what each job pays for each of its GPUs besides their price, where ``counted[j, t]`` says who counts.

    The jobs of a tenant that had nothing but its quota would ask for just that at a price of their own. Where it is
    above the price of all GPUs, the quota binds, and they pay the difference; those that are left share what GPUs are
    left, at a price that is the lower for it.
    """
    jobs = np.arange(len(offers.kind)) if among is None else among
    value = offers.alone(jobs)
    own, given = np.zeros(len(jobs)), np.zeros(len(jobs), dtype=np.int64)
    for tenant in np.flatnonzero(limits < UNLIMITED).tolist():
        rows = np.flatnonzero(counted[jobs, tenant])
        price, sizes = price_of(value[rows], offers.counts, max(0, int(limits[tenant])))
        dearer = price > own[rows]
        own[rows[dearer]], given[rows[dearer]] = price, offers.counts[sizes[dearer]]
    binds, price = np.zeros(len(jobs), dtype=np.bool_), np.inf
    for _ in range(_ROUNDS):
        price, _ = price_of(value[~binds], offers.counts, gpus - int(given[binds].sum()))
        now = own > price
        if (now == binds).all():
            break
        binds = now
    charge = np.zeros(len(offers.kind))
    charge[jobs] = np.maximum(0.0, own - price)
    return charge
