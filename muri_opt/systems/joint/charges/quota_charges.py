"""What GPUs cost besides where a quota binds, by what jobs ask for alone: a guess for rounds of very many jobs."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.charges.quotas import Quotas
from muri_opt.systems.joint.charges.size_steps import SizeSteps
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.jobs.job_model import Floats

_LOOKS = 32
"""How often the price of GPUs is looked for, with more quotas that bind each time; ten have been enough so far."""
_ABOVE = 1 + 1e-9
"""At a price itself a job may ask for a step that is worth just that, at a little more it does not; and a quota whose
price is just that of GPUs binds, too."""


def quota_charges(offers: Offers, jobs: Ints, quotas: Quotas, gpus: int) -> Floats:
    """Return what each job pays for each of its GPUs besides their price.

    The jobs that a quota counts would ask for just that quota at a price of their own. Where this is above the price of
    all GPUs, the quota binds, and they pay the difference; the others share the GPUs that are left, at a price that is
    the lower for it, so that more quotas bind. Where all do, GPUs are for nothing: jobs that share count for a quota
    each, so that quotas are scarcer than GPUs. Of several quotas that count a job the one of the highest price does.
    """
    charge = np.zeros(len(offers.kind))
    if not len(quotas.left):
        return charge
    at = np.append(0, offers.coarse_grid)  # a guess need not look at all sizes
    steps = SizeSteps.of(offers.alone(jobs).take(at, axis=1), offers.counts[at])
    row, of = _counted_among(jobs, quotas, len(charge))
    price = steps.price(gpus)
    if (np.bincount(of, weights=steps.asked(price, len(jobs))[row], minlength=len(quotas.left)) <= quotas.left).all():
        return charge
    prices, asked = steps.prices_of_each(row, of, np.maximum(0, quotas.left))
    line = np.lexsort((-of, prices[of]))  # of several that count a job the dearest comes last, and so it is taken
    own, given = np.zeros(len(jobs)), np.zeros(len(jobs), dtype=np.int64)
    own[row[line]], given[row[line]] = prices[of[line]] * _ABOVE, asked[line]
    binds = own > price
    for _ in range(_LOOKS):
        price = steps.price(max(0, gpus - int(given[binds].sum())), ~binds)
        before, binds = binds, own > price
        if (binds == before).all():
            break
    charge[jobs] = np.maximum(0.0, own - price)
    return charge


def _counted_among(jobs: Ints, quotas: Quotas, every: int) -> tuple[Ints, Ints]:
    """Return which of some jobs, by their places among them, are counted by which quotas."""
    place = np.full(every, -1, dtype=np.int64)
    place[jobs] = np.arange(len(jobs))
    row = place[quotas.counted.row]
    return row[row >= 0], quotas.counted.what[row >= 0]
