"""Running groups that are not the policy's to change: they go on as they are."""

from __future__ import annotations

from muri_opt.errors import InputError
from muri_opt.rounds import Assignment, Round
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.systems.capacity import Leftover, Placed, held_gpus
from muri_opt.systems.capacity.decision import assignments_of
from muri_opt.systems.capacity.set_apart import Groups
from muri_opt.systems.joint.decision import timed_placed
from muri_opt.systems.joint.jobs.group_value import Group, Place
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.nodes.state import home_of
from muri_opt.systems.joint.nodes.waiting_plans import occupy
from muri_opt.systems.joint.rules import JointRules


def kept_as_they_are(
    round_: Round, models: Models, rules: JointRules, groups: Groups
) -> tuple[tuple[Assignment, ...], FreeCapacity]:
    """Return running groups as they are, with their orders and periods or plans, and what they leave."""
    left, timed = Leftover(round_), _timed(round_, models, rules, groups)
    for one in timed:
        occupy(left, one)
    return assignments_of(round_, timed), left


def kept_assignments(round_: Round, models: Models, rules: JointRules, groups: Groups) -> tuple[Assignment, ...]:
    """Return running groups as they are, with their orders and periods or plans."""
    return assignments_of(round_, _timed(round_, models, rules, groups))


def _timed(round_: Round, models: Models, rules: JointRules, groups: Groups) -> list[Placed]:
    most = rules.most_jobs(len(round_.resources))
    placed: dict[Group, Place] = {}
    for group in groups:
        place = _as_it_is(round_, models, group)
        if place is None or len(group) > most:
            first = round_.jobs[group[0]]
            found = f"{[round_.jobs[job].id for job in group]} on {dict(first.placement or {})}, to go on as it is"
            allowed = f"at most {most} jobs together, on GPUs that all of them can have, or one by a plan of its own"
            raise InputError(f"jobs[{group[0]}] ({first.id!r}).placement", found, allowed)
        placed[group] = place
    return timed_placed(round_, models, rules, placed)[0]


def _as_it_is(round_: Round, models: Models, group: Group) -> Place | None:
    """Return where a group runs; ``None`` where it could not run so by itself."""
    share = held_gpus(round_, group[0])
    if share is None:
        return None
    if models.runs_by_plans(group[0]):
        job = round_.jobs[group[0]]
        held = tuple(sorted((job.placement or {}).items()))
        return home_of(round_, models, group[0], held, job.plan) if len(group) == 1 else None
    size = int(share.sum())
    if size >= models.period.shape[1]:
        return None
    return Place.of_share(share) if all(models.period[models.kind[job], size] > 0 for job in group) else None
