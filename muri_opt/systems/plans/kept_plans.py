"""Jobs that go on by the plan they have, on the nodes they have."""

from __future__ import annotations

from muri_opt.errors import InputError
from muri_opt.rounds import Assignment, Job, Round
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.quantities import MILLI_PER_CPU
from muri_opt.systems.capacity.set_apart import Groups
from muri_opt.systems.plans.plan_parts import Entry, entries_of, is_home


def kept_plans(round_: Round, groups: Groups) -> tuple[tuple[Assignment, ...], FreeCapacity]:
    """Return running jobs as they are, and what they leave; only guaranteed ones use a quota."""
    left, kept = FreeCapacity(round_.amounts), list[Assignment]()
    for (place,) in groups:
        job = round_.jobs[place]
        held = job.placement or {}
        nodes = sorted(held, key=round_.cluster.node_index.__getitem__)
        types = {round_.cluster.nodes[round_.cluster.node_index[node]].gpu_type for node in nodes}
        entry = _present(job, types, f"jobs[{place}] ({job.id!r})")
        for node in nodes:
            left.occupy(round_.cluster.node_index[node], *entry.of_size(held[node]))
        if job.guarantee is not None:
            left.charge(int(round_.amounts.tenant[place]), job.gpus)
        cpus = {node: entry.of_size(held[node]).milli / MILLI_PER_CPU for node in nodes}
        kept.append(
            Assignment(
                jobs=(job.id,),
                plan=entry.plan.name,
                gpus={node: held[node] for node in nodes},
                cpus=cpus if any(cpus.values()) else {},
            )
        )
    return tuple(kept), left


def _present(job: Job, types: set[str | None], where: str) -> Entry:
    """Return the plan by which a job runs on nodes of these GPU types; plans of one name may be for several types."""
    able = (one for one in entries_of(job) if one.plan.types is None or types.issubset(one.plan.types))
    found = next((entry for entry in able if is_home(job, entry)), None)
    if found is None:
        held = f"{job.plan!r} on {dict(job.placement or {})}, for a job that goes on as it is"
        allowed = "one of its plans, with its GPUs in equal parts on as many nodes of a type that it is for"
        raise InputError(f"{where}.plan", held, allowed)
    return found
