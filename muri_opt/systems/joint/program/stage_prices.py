"""Prices of the stages of a GPU that bound a joint round of any size without looking at a single group.

In a period each stage serves the jobs of a group one after another, so a group of period T on g GPUs uses at most g T
of each. If stages have prices that add up to that of a GPU, each job pays for what it uses, and what it offers beyond
that, at its best size and at its own speed, is a price for the job: no group offers more than its jobs and GPUs cost.
One more price is for taking part: of a group of at most m jobs each pays an m-th of it for every GPU.
"""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import LinearDuals, Round
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.jobs.group_value import most_of_each
from muri_opt.systems.joint.jobs.job_model import Floats
from muri_opt.systems.joint.jobs.models import models_of
from muri_opt.systems.joint.jobs.worth import SCALE, worth_of
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.pooled_limits import DENOMINATOR
from muri_opt.systems.priority_levels import level_weights, levels_of

_STEPS = 60
_MANY, _LOOKS_BACK, _HARDLY = 400, 8, 1e-5
"""Of more jobs than these, steps are taken until so many have lowered the bound by a smaller part than this."""
_SAMPLE = 1_000
"""Jobs that are enough to tell prices from."""


def stage_prices(round_: Round, rules: JointRules, *, sampled: bool = False) -> LinearDuals:
    """Return the best prices found by raising those of stages that are asked for too much and lowering the others.

    With ``sampled`` a sample of very many jobs stands for all of them: any prices prove a bound.

    Where jobs have priorities, only those of the largest are asked, and a unit of theirs counts as often as it does.
    Without GPUs or jobs nothing has a price.
    """
    models = models_of(round_, rules)
    gpus, count = round_.cluster.total_gpus, max(1, len(round_.resources)) + 1
    if not gpus or not len(models):
        return _multipliers([0] * count)
    worth = worth_of(round_, models, rules)
    offers = Offers.of(round_, models, worth, rules)
    level = levels_of(round_)
    weight = level_weights(level, most_of_each(models, worth, rules, len(round_.resources)))[0] if level.any() else 1
    each_of = max(1, len(models) // _SAMPLE) if sampled else 1
    drawn = np.arange(0, len(models), each_of)
    alone = offers.alone(drawn) * (level[drawn] == 0)[:, None]
    use = _use(offers, count)[models.kind[drawn]]
    share = gpus * len(drawn) / len(models)
    counts = offers.counts.astype(np.float64)
    price = np.full(count, float((alone[:, 1:] / counts[1:]).max(initial=0.0)) / (2 * count))
    best, found = np.inf, price
    reached: list[float] = []
    for step in range(_STEPS):
        each = use @ price  # what a GPU costs each job
        profit = alone - each[:, None] * counts
        chosen = profit.argmax(axis=1)
        total = share * float(price.sum()) + float(profit[np.arange(len(chosen)), chosen].sum())
        if total < best:
            best, found = total, price
        reached.append(best)
        if len(drawn) > _MANY and step >= _LOOKS_BACK and reached[step - _LOOKS_BACK] - best <= _HARDLY * best:
            break
        asked = counts[chosen] @ use
        price = price * np.clip(asked / share, 0.25, 4.0) ** (0.5 / (1 + step / 8))
    return _multipliers([weight * price for price in np.rint(found * (SCALE * DENOMINATOR)).astype(np.int64).tolist()])


def _multipliers(prices: list[int]) -> LinearDuals:
    """Return the prices of stages and, last, of taking part as multipliers."""
    return LinearDuals(denominator=DENOMINATOR, multipliers={"stages": tuple(prices[:-1]), "part": (prices[-1],)})


def _use(offers: Offers, count: int) -> Floats:
    """Return ``[t, r]``, how much of each price of its GPUs a job of a model pays; one that never shares, all."""
    use = np.ones((len(offers.rate), count))
    if offers.most_jobs > 1:
        times = np.where(np.isfinite(offers.stages), offers.stages, 0.0).max(axis=2).T.astype(np.float64)
        total = times.sum(axis=1)
        able = total > 0
        use[able, :-1] = times[able] / total[able, None]
        use[able, -1] = 1 / offers.most_jobs
    return use
