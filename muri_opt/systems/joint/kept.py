"""Running groups that are not the policy's to change: they go on as they are."""

from __future__ import annotations

from muri_opt.errors import InputError
from muri_opt.rounds import Assignment, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.systems.capacity import Leftover, held_gpus
from muri_opt.systems.capacity.decision import assignment_of
from muri_opt.systems.capacity.set_apart import Groups
from muri_opt.systems.joint.decision import timed_placed
from muri_opt.systems.joint.job_model import Models
from muri_opt.systems.joint.rules import JointRules


def kept_as_they_are(
    round_: Round, models: Models, rules: JointRules, groups: Groups
) -> tuple[tuple[Assignment, ...], FreeCapacity]:
    """Return running groups as they are, with their orders and periods, and what they leave."""
    most = rules.most_jobs(len(round_.resources))
    asks = round_.amounts.g.copy()
    placed: dict[tuple[int, ...], Ints] = {}
    for group in groups:
        share = held_gpus(round_, group[0])
        able = models.period[models.kind[list(group)]] > 0
        size = 0 if share is None else int(share.sum())
        if share is None or len(group) > most or size >= able.shape[1] or not able[:, size].all():
            first = round_.jobs[group[0]]
            found = f"{[round_.jobs[job].id for job in group]} on {dict(first.placement or {})}, to go on as it is"
            allowed = f"at most {most} jobs together, on GPUs that all of them can have"
            raise InputError(f"jobs[{group[0]}] ({first.id!r}).placement", found, allowed)
        asks[list(group)] = size
        placed[group] = share
    left = Leftover(round_, asks)
    for group, share in placed.items():
        left.take(share, *group)
    return tuple(assignment_of(round_, one) for one in timed_placed(round_, models, rules, placed)), left
