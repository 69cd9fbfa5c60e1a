"""A model's speed under any plan on any shape: measured where it was measured, predicted elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed.coefficients import Coefficients
from muri_opt.profiling.plan_speed.execution import ExecutionPlan
from muri_opt.profiling.plan_speed.formulas import form_named
from muri_opt.profiling.plan_speed.number_checks import milliseconds, set_positive, set_whole
from muri_opt.profiling.plan_speed.shape import Links, Shape
from muri_opt.profiling.plan_speed.transformer import Model
from muri_opt.rounds.field_checks import check_kind, items, pairs
from muri_opt.rounds.quantities import MAX_CPUS, MAX_GPUS, MAX_RATE, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The throughput, in samples a second, of a plan on ``nodes`` nodes; ``cpus_per_gpu`` ``None`` is any number."""

    plan: ExecutionPlan
    nodes: int = 1
    cpus_per_gpu: float | None = None
    throughput: float

    def __post_init__(self) -> None:
        check_kind("plan", self.plan, ExecutionPlan)
        set_whole(self, "nodes", MAX_GPUS)
        self.plan.gpus_per_node(self.nodes)
        if self.cpus_per_gpu is not None:
            set_positive(self, "cpus_per_gpu", MAX_CPUS)
        set_positive(self, "throughput", MAX_RATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformanceModel:
    """What is known of a model's speed.

    ``forward_ms`` maps numbers of GPUs to the time of the forward passes when the batch is split evenly over them; for
    other numbers the nearest smaller one, or else the smallest, is scaled. ``measured`` takes precedence over the form.
    """

    model: Model
    links: Links
    form: str = "published"
    coefficients: Coefficients
    forward_ms: Mapping[int, float]
    measured: tuple[Measurement, ...] = ()

    def __post_init__(self) -> None:
        check_kind("model", self.model, Model)
        check_kind("links", self.links, Links)
        check_kind("coefficients", self.coefficients, Coefficients)
        form_named(self.form)
        table = {
            whole("forward_ms key", gpus, MAX_GPUS, 1): milliseconds(f"forward_ms[{gpus}]", time)
            for gpus, time in pairs("forward_ms", self.forward_ms)
        }
        if not table:
            raise InputError("forward_ms", "an empty table", "at least one number of GPUs with its forward time")
        object.__setattr__(self, "forward_ms", dict(sorted(table.items())))
        held = items("measured", self.measured)
        for position, item in enumerate(held):
            check_kind(f"measured[{position}]", item, Measurement)
        object.__setattr__(self, "measured", held)

    def shape(self, nodes: int, gpus_per_node: int, cpus_per_gpu: float = 1.0) -> Shape:
        """Return a shape with the links the coefficients were fitted for."""
        return Shape(nodes=nodes, gpus_per_node=gpus_per_node, cpus_per_gpu=cpus_per_gpu, links=self.links)

    def throughput(self, plan: ExecutionPlan, shape: Shape) -> float:
        """Return samples a second: as measured if the plan was measured on this shape, else as predicted."""
        for entry in self.measured:
            same_cpus = entry.cpus_per_gpu in (None, shape.cpus_per_gpu)
            if entry.plan == plan and entry.nodes == shape.nodes and same_cpus:
                _check_size(plan, shape)
                return entry.throughput
        return self.model.batch * 1000 / self.iteration_ms(plan, shape)

    def iteration_ms(self, plan: ExecutionPlan, shape: Shape) -> float:
        """Return the predicted milliseconds of an iteration."""
        _check_size(plan, shape)
        plan.micro_batch(self.model)
        plan.gpus_per_node(shape.nodes)
        form = form_named(self.form)
        forward = form.forward_ms(plan, self._share_ms(plan.gpus))
        return form.times(self.model, self.coefficients, plan, shape, forward).iteration

    def _share_ms(self, gpus: int) -> float:
        """Return the time of the forward passes on one of ``gpus`` GPUs."""
        near = max((count for count in self.forward_ms if count <= gpus), default=min(self.forward_ms))
        return self.forward_ms[near] * near / gpus


def _check_size(plan: ExecutionPlan, shape: Shape) -> None:
    if plan.gpus != shape.gpus:
        held = f"{shape.nodes} x {shape.gpus_per_node}"
        raise InputError("shape", f"{held} = {shape.gpus} GPUs", f"the {plan.gpus} GPUs of the plan")
