"""How much memory a plan needs: mixed-precision Adam, and activations as counted by Korthikanti et al. (2022).

Per parameter: 2 bytes of weights, 2 of gradients and 12 of optimiser state (a copy of the weights and two moments in
single precision). ZeRO stage 2 splits gradients and optimiser state over the replicas; offload keeps the optimiser
state, with the gradients it steps on, in host memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from muri_opt.profiling.plan_speed.execution import ExecutionPlan
from muri_opt.profiling.plan_speed.transformer import Model

GIB: Final = 2**30
HOST_GIB_PER_GPU: Final = 1.2
"""What the process of a GPU takes of host memory whatever the plan, as the authors' demand tables have it."""

_WEIGHT, _GRADIENT, _OPTIMISER, _HOST = 2, 2, 12, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes on the fullest GPU by what they hold, and bytes of host memory with each GPU."""

    weights: float
    gradients: float
    optimiser: float
    activations: float
    host: float

    @property
    def gpu_gib(self) -> float:
        """GiB on the fullest GPU."""
        return (self.weights + self.gradients + self.optimiser + self.activations) / GIB

    @property
    def host_gib(self) -> float:
        """GiB of host memory with each GPU."""
        return self.host / GIB


def memory(model: Model, plan: ExecutionPlan) -> Memory:
    """Return what ``plan`` keeps in memory; degrees that do not divide the model are refused."""
    here = model.parameters / (plan.tp * plan.pp)
    split = 1 if plan.states == "replicated" else plan.dp
    offload = plan.states == "offload"
    return Memory(
        weights=_WEIGHT * here,
        gradients=_GRADIENT * here / split,
        optimiser=0.0 if offload else _OPTIMISER * here / split,
        activations=_activations(model, plan),
        host=HOST_GIB_PER_GPU * GIB + (_HOST * here / split if offload else 0.0),
    )


def _activations(model: Model, plan: ExecutionPlan) -> float:
    """Return the bytes of activations on a GPU of the first stage, the fullest.

    It starts a micro-batch per stage before the first one comes back, so it holds as many at once, or all there are.
    """
    numbers = plan.micro_batch(model) * model.sequence * model.hidden
    attention = 5 * model.heads * model.sequence / model.hidden
    layer = numbers * (10 + (24 + attention) / plan.tp)
    held = model.layers // plan.pp * min(plan.pp, plan.accumulation)
    if plan.checkpointing:
        return 2 * numbers * held + layer  # the inputs of all layers, and the layer that is being computed again
    return layer * held
