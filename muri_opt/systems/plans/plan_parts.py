"""The plans of a job as a round holds them: what each part takes, where it fits, and what contradicts itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Plan, Round
from muri_opt.rounds.quantities import mebibytes, milli_cpus
from muri_opt.systems.plans.plan_rules import strategy


class Part(NamedTuple):
    """What a plan takes on each of its nodes: GPUs, milli-CPUs, MiB."""

    gpus: int
    milli: int
    mib: int


class Larger(NamedTuple):
    """How many parts of a plan have one GPU more than the others, and what each of them takes."""

    number: int
    part: Part


class Entry(NamedTuple):
    """A plan of a job, its position among the job's plans, and what each of its parts takes, but for larger ones."""

    position: int
    plan: Plan
    part: Part
    larger: Larger | None = None

    def of_size(self, gpus: int) -> Part:
        """Return what a part of so many GPUs takes."""
        return self.part if self.larger is None or gpus != self.larger.part.gpus else self.larger.part

    @property
    def split(self) -> list[int]:
        """The GPUs of all parts, the fewest first."""
        more = 0 if self.larger is None else self.larger.number
        return [self.part.gpus] * (self.plan.nodes - more) + [self.part.gpus + 1] * more


def entries_of(job: Job) -> list[Entry]:
    """Return the plans of a job, refusing two that a decision could not tell apart."""
    plans = job.plans or ()
    if not plans:
        raise InputError("plans", "nothing", "at least one plan with its throughput")
    milli, mib = needs_with_a_gpu(job)
    entries = [plan_entry(position, plan, milli, mib) for position, plan in enumerate(plans)]
    if len({plan.name for plan in plans}) < len(plans):
        _check_unlike(entries)
    return entries


def needs_with_a_gpu(job: Job) -> tuple[int, int]:
    """Return the milli-CPUs and MiB that a job asks for with each GPU, rounded up."""
    share = max(job.gpus, 1)
    return -(-milli_cpus(job.cpus or 0.0) // share), -(-mebibytes(job.memory_gib or 0.0) // share)


def _check_unlike(entries: Sequence[Entry]) -> None:
    """Refuse two plans that a decision could not tell apart."""
    seen: dict[tuple[str, int, int, int], list[Entry]] = {}
    for entry in entries:
        plan = entry.plan
        same = seen.setdefault((plan.name, plan.gpus, plan.nodes, entry.part.milli), [])
        if any(_overlap(plan.types, other.plan.types) for other in same):
            nodes = f"{plan.nodes} node{'s' * (plan.nodes != 1)}"
            found = f"two plans {plan.name!r} of {plan.gpus} GPUs on {nodes} with equal CPUs"
            raise InputError("plans", found, "plans that differ in name, GPUs, nodes or CPUs")
        same.append(entry)


def _overlap(types: tuple[str, ...] | None, others: tuple[str, ...] | None) -> bool:
    """Return whether two plans are for some GPU type both; ``None`` is any."""
    return types is None or others is None or not set(types).isdisjoint(others)


def nodes_with_room(round_: Round, part: Part, hosts: NDArray[np.bool_]) -> int:
    """Return how many nodes of the empty cluster have room for a part of a plan, of those that may host it."""
    amounts = round_.amounts
    enough = hosts & (part.gpus <= amounts.G) & (part.milli <= amounts.C) & (part.mib <= amounts.M)
    return int(np.count_nonzero(enough))


def may_run(job: Job, plan: Plan, change: str) -> bool:
    """Return whether a job may run by a plan where only plans, only resources, both or neither may change.

    A plan slower than what the job was guaranteed is never allowed.
    """
    other = change in ("resources", "neither") and strategy(plan.name) != strategy(job.plan or "")
    wider = change in ("plans", "neither") and plan.gpus != job.gpus
    slower = job.guarantee is not None and plan.throughput < job.guarantee.throughput
    return not (other or wider or slower)


def check_strategy(job: Job, change: str) -> None:
    """Refuse a job that does not say its plan where the policy keeps its strategy."""
    if change in ("resources", "neither") and job.plan is None:
        raise InputError("plan", "nothing", "the plan it runs by: the policy keeps its strategy")


def is_home(job: Job, entry: Entry) -> bool:
    """Return whether a running job can keep its nodes under a plan without a restart."""
    held = job.placement if job.state == "running" else None
    return (
        bool(held)
        and entry.plan.name == job.plan
        and len(held or ()) == entry.plan.nodes
        and _are_parts(held or {}, entry)
    )


def _are_parts(held: Mapping[str, int], entry: Entry) -> bool:
    """Return whether a job holds the GPUs of a part of a plan on each of its nodes."""
    if entry.larger is None:
        return set(held.values()) == {entry.part.gpus}
    return sorted(held.values()) == entry.split


def plan_entry(position: int, plan: Plan, milli: int, mib: int) -> Entry:
    """Return what each part of a plan takes; what it does not say is what its job asks for with each GPU."""
    gpus, nodes = plan.gpus, plan.nodes
    cpus = gpus * milli if plan.cpus is None else milli_cpus(plan.cpus)
    memory = gpus * mib if plan.memory_gib is None else mebibytes(plan.memory_gib)
    few, more = divmod(gpus, nodes)
    if not more:
        return Entry(position, plan, Part(few, -(-cpus // nodes), -(-memory // nodes)))
    small, large = (Part(n, -(-cpus * n // gpus), -(-memory * n // gpus)) for n in (few, few + 1))
    return Entry(position, plan, small, Larger(more, large))
