"""What GPUs cost besides where a quota binds, by what jobs ask for alone: a guess for rounds of very many jobs."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.job_model import Floats
from muri_opt.systems.joint.offers import Offers
from muri_opt.systems.joint.quotas import Quotas
from muri_opt.systems.joint.sizes import price_of

_HALVINGS = 16
_LOOKS = 6
"""How often the price of GPUs is looked for, with more quotas that bind each time; twice is nearly always enough."""


def quota_charges(offers: Offers, jobs: Ints, quotas: Quotas, gpus: int) -> Floats:
    """Return what each job pays for each of its GPUs besides their price.

    The jobs that a quota counts would ask for just that quota at a price of their own. Where this is above the price of
    all GPUs, the quota binds, and they pay the difference; the others share the GPUs that are left, at a price that is
    the lower for it. Of several quotas that count a job the one of the highest price does.
    """
    charge = np.zeros(len(offers.kind))
    if not len(quotas.left):
        return charge
    at = np.append(0, offers.grid)  # a guess need not look at all sizes
    counts, value = offers.counts[at], offers.alone(jobs).take(at, axis=1)
    row, of = _counted_among(jobs, quotas, len(charge))
    price, sizes = price_of(value, counts, gpus, _HALVINGS)
    if (np.bincount(of, weights=counts[sizes[row]], minlength=len(quotas.left)) <= quotas.left).all():
        return charge
    prices, asked = _prices_of_each(value[row], counts, of, np.maximum(0, quotas.left))
    line = np.lexsort((-of, prices[of]))  # of several that count a job the dearest comes last, and so it is taken
    own, given = np.zeros(len(jobs)), np.zeros(len(jobs), dtype=np.int64)
    own[row[line]], given[row[line]] = prices[of[line]], asked[line]
    before, binds = np.zeros(len(jobs), dtype=np.bool_), own > price
    for _ in range(_LOOKS - 1):
        if (binds == before).all():
            break
        price, _ = price_of(value[~binds], counts, max(0, gpus - int(given[binds].sum())), _HALVINGS)
        before, binds = binds, own > price
    charge[jobs] = np.maximum(0.0, own - price)
    return charge


def _counted_among(jobs: Ints, quotas: Quotas, every: int) -> tuple[Ints, Ints]:
    """Return which of some jobs, by their places among them, are counted by which quotas."""
    place = np.full(every, -1, dtype=np.int64)
    place[jobs] = np.arange(len(jobs))
    row = place[quotas.counted.row]
    return row[row >= 0], quotas.counted.what[row >= 0]


def _prices_of_each(value: Floats, counts: Ints, of: Ints, limits: Ints) -> tuple[Floats, Ints]:
    """Return the price of a GPU at which those of each quota ask for no more than that, and what each asks for at it.

    As :func:`~muri_opt.systems.joint.sizes.price_of`, for all quotas at once: row u of values is of quota ``of[u]``.
    """

    def within(asked: Ints) -> Ints:
        total = np.bincount(of, weights=counts[asked], minlength=len(limits))
        return np.asarray(total <= limits)

    gpus, chosen = counts.astype(np.float64), value.argmax(axis=1)
    low, high = np.zeros(len(limits)), np.zeros(len(limits))
    np.maximum.at(high, of, (value[:, 1:] / gpus[1:]).max(axis=1, initial=0.0) * (1 + 1e-9) + 1e-300)
    enough = within(chosen)
    high[enough] = 0.0
    chosen[~enough[of]] = 0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        asked = (value - middle[of][:, None] * gpus).argmax(axis=1)
        enough = within(asked)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        chosen = np.where(enough[of], asked, chosen)
    return high, counts[chosen]
