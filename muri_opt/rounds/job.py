"""What asks for resources: a job, its execution plans and what it was promised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from muri_opt.errors import InputError
from muri_opt.rounds.cluster import Cpus, GpuCount, GpuSeconds, MemoryGib, Name, Rate, Seconds
from muri_opt.rounds.error_text import listed, shortened, shown
from muri_opt.rounds.field_checks import (
    check_items,
    check_kind,
    check_name,
    check_names,
    check_texts,
    check_word,
    items,
    pairs,
    text,
)
from muri_opt.rounds.job_demands import MAX_PRIORITY, check_demands
from muri_opt.rounds.quantities import (
    MAX_COUNT,
    MAX_GPUS,
    MAX_ITERATIONS,
    MAX_RATE,
    MAX_SECONDS,
    MICROSECONDS_PER_SECOND,
    check_cpus,
    check_gpu_seconds,
    check_memory,
    check_seconds,
    check_whole,
    finite,
    snapped,
    whole,
)
from muri_opt.rounds.shape import NodeRange, Within

Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
ShareSize = Annotated[int, Meta(ge=1, le=MAX_GPUS)]

STATES = ("running", "waiting")


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One way to execute a job: totals over ``nodes`` distinct nodes, split as evenly as can be, with its throughput.

    ``gpus`` 0 is a plan for CPUs only. All its GPUs are of ``gpu_type`` or of one of ``gpu_types``, if either is said.

    >>> Plan(name="dp2", gpus=2, throughput=7.5).throughput
    7.5
    """

    name: Name
    gpus: GpuCount
    nodes: Annotated[int, Meta(ge=1, le=MAX_GPUS)] = 1
    gpu_type: str | None = None
    cpus: Cpus | None = None
    memory_gib: MemoryGib | None = None
    throughput: Rate
    gpu_types: Annotated[tuple[Name, ...], Meta(min_length=1)] | None = None

    def __post_init__(self) -> None:
        check_name(self, "name")
        check_texts(self, "gpu_type")
        if self.gpu_types is not None:
            _check_types(self)
        check_whole(self, "gpus", MAX_GPUS)
        check_whole(self, "nodes", MAX_GPUS, least=1)
        if self.gpus % self.nodes and self.gpus < self.nodes:
            raise InputError(
                "nodes", f"{self.nodes} for {self.gpus} GPUs", "at most one node for each of the plan's gpus"
            )
        check_cpus(self)
        check_memory(self)
        throughput = finite("throughput", self.throughput, MAX_RATE, positive=True)
        msgspec.structs.force_setattr(self, "throughput", throughput)

    @property
    def types(self) -> tuple[str, ...] | None:
        """The GPU types that the plan is for, ``None`` where it is for any."""
        return self.gpu_types if self.gpu_type is None else (self.gpu_type,)

    @property
    def larger_parts(self) -> int:
        """How many of its parts have one GPU more than the others; 0 for a plan that is split evenly."""
        return self.gpus % self.nodes


class Guarantee(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a job was promised: a throughput no decision may take it below.

    >>> plans = (Plan(name="dp1", gpus=1, throughput=4.0),)
    >>> Job(id="a", gpus=1, plans=plans, guarantee=Guarantee(throughput=2.0)).guarantee
    Guarantee(throughput=2.0)
    """

    throughput: Rate

    def __post_init__(self) -> None:
        throughput = finite("throughput", self.throughput, MAX_RATE, positive=True)
        msgspec.structs.force_setattr(self, "throughput", throughput)


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One training job. ``None`` is "not said": a policy that needs the field refuses the round and names it.

    ``stage_seconds`` has one time per resource of the round; ``scaling`` maps GPU counts to throughput, of which only
    ratios matter where ``iteration_seconds`` (at ``gpus`` GPUs) is given; ``remaining_iterations`` ``None`` is unknown.
    ``placement`` are GPUs per node, all 0 for a job on CPUs only.

    What a job asks beside amounts: the larger ``priority`` goes first. All its GPUs are of one of ``gpu_types``, on
    ``nodes`` that have all labels it ``requires`` and none it ``excludes``, ``within`` one unit of a level, and equally
    many on each if ``even``. ``preemptible`` false: not stopped once it runs; ``movable`` false (or not said, and not
    preemptible): not moved either. ``held`` is why it may not start, ``not_before`` until when.

    >>> Job(id="a", gpus=4, iteration_seconds=0.5, remaining_iterations=7200).gpus
    4
    """

    id: Name
    tenant: str | None = None
    user: str | None = None
    submitted: Seconds | None = None
    gpus: GpuCount
    cpus: Cpus | None = None
    memory_gib: MemoryGib | None = None
    state: Literal["waiting", "running"] = "waiting"
    remaining_iterations: Annotated[int, Meta(ge=0, le=MAX_ITERATIONS)] | None = None
    iteration_seconds: Seconds | None = None
    attained_gpu_seconds: GpuSeconds | None = None
    executed_seconds: Seconds | None = None
    waiting_seconds: Seconds | None = None
    restarts: Count | None = None
    stage_seconds: tuple[Seconds, ...] | None = None
    scaling: Annotated[Mapping[ShareSize, Rate], Meta(min_length=1)] | None = None
    plans: tuple[Plan, ...] | None = None
    guarantee: Guarantee | None = None
    predictable: bool | None = None
    placement: Mapping[str, GpuCount] | None = None
    plan: str | None = None
    restart_seconds: Seconds | None = None
    priority: Annotated[int, Meta(ge=-MAX_PRIORITY, le=MAX_PRIORITY)] = 0
    gpu_types: Annotated[tuple[Name, ...], Meta(min_length=1)] | None = None
    nodes: NodeRange | None = None
    even: bool = False
    requires: tuple[Name, ...] = ()
    excludes: tuple[Name, ...] = ()
    within: Within | None = None
    preemptible: bool | None = None
    movable: bool | None = None
    held: str | None = None
    not_before: Seconds | None = None
    deadline: Seconds | None = None
    time_limit_seconds: Seconds | None = None
    model: str | None = None

    def __post_init__(self) -> None:
        check_name(self, "id")
        check_texts(self, "tenant", "user", "plan")
        check_whole(self, "gpus", MAX_GPUS)
        check_cpus(self)
        check_memory(self)
        check_seconds(
            self,
            "submitted",
            "iteration_seconds",
            "executed_seconds",
            "waiting_seconds",
            "restart_seconds",
        )
        check_gpu_seconds(self, "attained_gpu_seconds")
        check_word(self, "state", STATES)
        if self.predictable is not None:
            check_kind("predictable", self.predictable, bool)
        if self.guarantee is not None:
            check_kind("guarantee", self.guarantee, Guarantee)
        if self.remaining_iterations is not None:
            check_whole(self, "remaining_iterations", MAX_ITERATIONS)
        if self.restarts is not None:
            check_whole(self, "restarts")
        if self.stage_seconds is not None:
            _check_stages(self)
        if self.scaling is not None:
            _check_scaling(self)
        if self.placement is not None:
            _check_placement(self)
        if self.plans is not None:
            _check_plans(self)
        check_demands(self)

    @property
    def stays(self) -> bool:
        """Whether the job runs and no decision may stop it."""
        return self.state == "running" and self.preemptible is False

    @property
    def stays_put(self) -> bool:
        """Whether the job runs and no decision may move it."""
        movable = self.preemptible if self.movable is None else self.movable
        return self.state == "running" and movable is False


def _check_stages(job: Job) -> None:
    times = tuple(
        snapped(f"stage_seconds[{stage}]", seconds, MAX_SECONDS, MICROSECONDS_PER_SECOND)
        for stage, seconds in enumerate(items("stage_seconds", job.stage_seconds))
    )
    msgspec.structs.force_setattr(job, "stage_seconds", times)


def _check_scaling(job: Job) -> None:
    table = {
        whole("scaling key", gpus, MAX_GPUS, least=1): finite(f"scaling[{gpus}]", rate, MAX_RATE, positive=True)
        for gpus, rate in pairs("scaling", job.scaling)
    }
    if not table:
        raise InputError("scaling", "an empty table", "at least one GPU count with its throughput, or no table")
    msgspec.structs.force_setattr(job, "scaling", dict(sorted(table.items())))


def _check_placement(job: Job) -> None:
    held = {
        text("placement key", node): whole(f"placement[{shortened(node)}]", gpus, MAX_GPUS)
        for node, gpus in pairs("placement", job.placement)
    }
    idle = [node for node, gpus in held.items() if gpus == 0]
    if idle and any(held.values()):
        raise InputError(f"placement[{shortened(idle[0])}]", "0", "at least 1 GPU, or 0 on every node")
    msgspec.structs.force_setattr(job, "placement", dict(sorted(held.items())))


def _check_types(plan: Plan) -> None:
    check_names(plan, "gpu_types")
    if not plan.gpu_types:
        raise InputError("gpu_types", "an empty list", "at least one GPU type, or no list: any one type")
    if plan.gpu_type is not None:
        raise InputError("gpu_types", f"a list beside the gpu_type {shown(plan.gpu_type)}", "one of the two")


def _check_plans(job: Job) -> None:
    check_items(job, "plans", Plan)
    names = {plan.name for plan in job.plans or ()}
    if job.plan is not None and names and job.plan not in names:
        raise InputError("plan", shown(job.plan), f"the name of one of the job's plans: {listed(names)}")
    for place, plan in enumerate(job.plans or ()) if job.even else ():
        if plan.larger_parts:
            found = f"{plan.nodes} for {plan.gpus} GPUs of a job that is even"
            raise InputError(f"plans[{place}].nodes", found, "a divisor of the plan's gpus, or a job that is not even")
