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
        entry = _present(job, f"jobs[{place}] ({job.id!r})")
        held = job.placement or {}
        nodes = sorted(held, key=round_.cluster.node_index.__getitem__)
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


def _present(job: Job, where: str) -> Entry:
    found = next((entry for entry in entries_of(job) if is_home(job, entry)), None)
    if found is None:
        held = f"{job.plan!r} on {dict(job.placement or {})}, for a job that goes on as it is"
        raise InputError(f"{where}.plan", held, "one of its plans, with its GPUs in equal parts on as many nodes")
    return found
