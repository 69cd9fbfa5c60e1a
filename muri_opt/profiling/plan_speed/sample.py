"""One profiled run: what ran where, and how long its parts took."""

from __future__ import annotations

from dataclasses import dataclass

from muri_opt.profiling.plan_speed.execution import ExecutionPlan
from muri_opt.profiling.plan_speed.number_checks import milliseconds, set_positive, set_whole
from muri_opt.profiling.plan_speed.shape import Links, Shape
from muri_opt.rounds.field_checks import check_kind
from muri_opt.rounds.quantities import MAX_CPUS, MAX_GPUS

PARTS = ("exchange_ms", "step_ms", "iteration_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A measured iteration of a plan on ``nodes`` nodes.

    ``forward_ms`` are a GPU's forward passes, ``exchange_ms`` its last backward pass with the gradient exchange,
    ``step_ms`` the optimiser, ``iteration_ms`` the whole. Parts that were not measured are ``None``; the more are
    known, the fewer samples say all there is to say.
    """

    plan: ExecutionPlan
    nodes: int = 1
    cpus_per_gpu: float = 1.0
    forward_ms: float
    exchange_ms: float | None = None
    step_ms: float | None = None
    iteration_ms: float

    def __post_init__(self) -> None:
        check_kind("plan", self.plan, ExecutionPlan)
        set_whole(self, "nodes", MAX_GPUS)
        self.plan.gpus_per_node(self.nodes)
        set_positive(self, "cpus_per_gpu", MAX_CPUS)
        for field in ("forward_ms", *PARTS):
            value = getattr(self, field)
            if value is not None or field in ("forward_ms", "iteration_ms"):
                object.__setattr__(self, field, milliseconds(field, value))

    @property
    def times(self) -> tuple[float | None, float | None, float]:
        """The measured parts, in the order of the performance model's times."""
        return self.exchange_ms, self.step_ms, self.iteration_ms

    def shape(self, links: Links) -> Shape:
        """Return the shape the sample ran on."""
        gpus = self.plan.gpus_per_node(self.nodes)
        return Shape(nodes=self.nodes, gpus_per_node=gpus, cpus_per_gpu=self.cpus_per_gpu, links=links)
