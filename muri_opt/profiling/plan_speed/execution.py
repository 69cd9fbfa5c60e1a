"""How a model is trained: degrees of parallelism, where optimiser states live, accumulation and checkpointing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from muri_opt.errors import InputError, unknown_name
from muri_opt.profiling.plan_speed.number_checks import set_whole
from muri_opt.profiling.plan_speed.transformer import Model
from muri_opt.rounds.field_checks import check_kind
from muri_opt.rounds.quantities import MAX_GPUS

STATES: Final = ("replicated", "zero", "offload")
"""Optimiser states on every GPU, split over the GPUs (ZeRO stage 2), or split and kept in host memory."""
_MOST_STEPS: Final = 10**7


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPlan:
    """One way to train a model on ``gpus`` = ``pp`` x ``tp`` x ``dp`` GPUs.

    ``accumulation`` is the number of micro-steps a replica cuts its share of the batch into; with pipeline stages it is
    the number of micro-batches in the pipeline. ``checkpointing`` keeps only the inputs of layers and computes the rest
    of the forward pass again.
    """

    gpus: int
    pp: int = 1
    tp: int = 1
    dp: int = 1
    states: str = "replicated"
    accumulation: int = 1
    checkpointing: bool = False

    def __post_init__(self) -> None:
        for field in ("gpus", "pp", "tp", "dp"):
            set_whole(self, field, MAX_GPUS)
        set_whole(self, "accumulation", _MOST_STEPS)
        check_kind("checkpointing", self.checkpointing, bool)
        if self.states not in STATES:
            raise unknown_name("states", self.states, STATES)
        product = self.pp * self.tp * self.dp
        if self.gpus != product:
            degrees = f"{self.pp} x {self.tp} x {self.dp}"
            raise InputError("gpus", str(self.gpus), f"pp x tp x dp = {degrees} = {product}")
        if self.states != "replicated" and not self.pure_data:
            raise InputError("states", f"{self.states!r} with pp {self.pp} and tp {self.tp}", "pp 1 and tp 1")

    @property
    def pure_data(self) -> bool:
        """Whether the plan is data parallel only: every GPU holds the whole model."""
        return self.pp == self.tp == 1

    @property
    def name(self) -> str:
        """A short name that tells plans apart: ``pp2-tp4-dp4``, ``zero-dp8+ga2``, ``offload-dp1+gc``."""
        if self.pure_data:
            base = f"dp{self.dp}" if self.states == "replicated" else f"{self.states}-dp{self.dp}"
        else:
            base = f"pp{self.pp}-tp{self.tp}-dp{self.dp}"
        steps = f"+ga{self.accumulation}" if self.accumulation > 1 else ""
        return base + steps + ("+gc" if self.checkpointing else "")

    def gpus_per_node(self, nodes: int) -> int:
        """Return the GPUs on each of ``nodes`` nodes, or refuse a split that is uneven or cuts tensor parallelism."""
        if self.gpus % nodes:
            raise InputError("nodes", f"{nodes} for {self.gpus} GPUs", "a divisor of the plan's gpus")
        each = self.gpus // nodes
        if each % self.tp:
            raise InputError("tp", str(self.tp), f"a divisor of the {each} GPUs on each node")
        return each

    def micro_batch(self, model: Model) -> int:
        """Return the samples of one replica's micro-step, or refuse degrees that do not divide the model."""
        for field, value, what, size in (
            ("tp", self.tp, "heads", model.heads),
            ("pp", self.pp, "layers", model.layers),
            ("dp", self.dp, "batch", model.batch),
            ("accumulation", self.accumulation, "batch per replica", model.batch // self.dp),
        ):
            if size % value:
                raise InputError(field, str(value), f"a divisor of the model's {what}, {size}")
        return model.batch // (self.dp * self.accumulation)
