"""The joint round within quotas: a tenant that asks for more than it may have pays for its GPUs besides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.group_value import Group, placed_value
from muri_opt.systems.joint.job_model import Floats, Models
from muri_opt.systems.joint.offers import Offers
from muri_opt.systems.joint.places import placed_groups
from muri_opt.systems.joint.price_search import Found, search
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.joint.worth import Worth

_STEPS = 8


def searched(round_: Round, models: Models, worth: Worth, rules: JointRules, offers: Offers) -> dict[Group, Ints]:
    """Return the best placed groups that the price search finds, with charges for tenants by bisection.

    Where no tenant asks for more than its quota, that is the first search; else the best of several.
    """
    limits, tenant = round_.amounts.U, round_.amounts.tenant
    low, high = np.zeros(len(limits)), np.full(len(limits), np.inf)
    charge = low.copy()
    best: dict[Group, Ints] = {}
    most = -1
    for step in range(_STEPS):
        paid = np.where(tenant >= 0, charge[tenant], 0.0) if len(limits) else np.zeros(len(models))
        found = search(replace(offers, charge=paid), round_.cluster.total_gpus)
        groups = dict(zip(found.groups, found.gpus.tolist(), strict=True))
        placed = placed_groups(round_, models, worth, groups)
        over = _asked(found, tenant, len(limits)) > limits
        if step == 0 and not over.any():
            return placed
        value = placed_value(round_, models, worth, rules, placed)
        if value > most:
            best, most = placed, value
        low, high = np.where(over, charge, low), np.where(over | (charge == 0), high, charge)
        charge = np.where(np.isfinite(high), (low + high) / 2, np.where(over, _first(offers, charge), charge))
    return best


def _asked(found: Found, tenant: Ints, tenants: int) -> Ints:
    """Return the GPUs that each tenant's jobs would have."""
    asked = np.zeros(tenants, dtype=np.int64)
    for group, gpus in zip(found.groups, found.gpus.tolist(), strict=True):
        for job in group:
            if tenant[job] >= 0:
                asked[tenant[job]] += gpus
    return asked


def _first(offers: Offers, charge: Floats) -> Floats:
    """Return a charge to try where none is known to be enough: twice as much, or a part of what a GPU is worth."""
    most = float((offers.alone(np.arange(len(offers.kind)))[:, 1:] / offers.counts[1:]).max(initial=0.0))
    return np.where(charge > 0, 2 * charge, most / 4)
