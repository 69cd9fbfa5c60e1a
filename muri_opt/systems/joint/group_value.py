"""What a group adds, in exact whole numbers."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import lru_cache

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity import held_gpus
from muri_opt.systems.joint.cyclic_period import best_order
from muri_opt.systems.joint.job_model import Models
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.joint.worth import SCALE, Worth

Group = tuple[int, ...]


def group_value(
    models: Models, worth: Worth, rules: JointRules, group: Group, gpus: int, staying: Container[int]
) -> int:
    """Return what a group adds on so many GPUs, if those ``staying`` go on where they are."""
    kinds = [int(models.kind[member]) for member in group]
    factor = rules.slowdown[len(group) - 1]
    if len(group) == 1:
        period = models.of[kinds[0]].period[gpus]
    else:
        period = _period(tuple(sorted(models.of[kind].stages_on(gpus) for kind in kinds)))
    over, under = SCALE * factor.denominator, worth.unit * period * factor.numerator
    works = (worth.work[job] if job in staying else worth.changed[job] for job in group)
    return sum(over * int(work) // under for work in works)


def placed_value(round_: Round, models: Models, worth: Worth, rules: JointRules, placed: Mapping[Group, Ints]) -> int:
    """Return what groups add on GPUs per node."""
    total = 0
    for group, share in placed.items():
        held = {member: held_gpus(round_, member) for member in group}
        staying = {member for member, now in held.items() if now is not None and (now == share).all()}
        total += group_value(models, worth, rules, group, int(share.sum()), staying)
    return total


@lru_cache(maxsize=1 << 18)
def _period(stages: tuple[tuple[int, ...], ...]) -> int:
    return best_order(list(stages))[0]
