"""Chapter *sharing*: how many GPUs each elastic job gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints, Model, Stage, Values
from muri_opt.rounds import Decision, Prices, Round
from muri_opt.systems.afs.program_placed import PlacedSharing
from muri_opt.systems.afs.program_pooled import PooledSharing
from muri_opt.systems.afs.share_fit import counts_gpus_only
from muri_opt.systems.program import Formulation


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingFormulation(Formulation):
    """Give every elastic job one number of GPUs, or none, so that the values add up to the most.

    Where shares may be anywhere GPUs are counted; in a round that says where jobs may be, who goes first or which
    tenant is part of another, shares have places and classes.

    >>> program = SharingFormulation(objective="speed", packing="any")
    >>> len(program.build(shipped_round("toy/three-elastic")).objective)
    11
    """

    objective: str
    packing: str
    horizon: int | None = None
    """For how many microseconds a decision is expected to stand; ``None`` where restarts count nothing."""

    chapter: ClassVar[str] = "sharing"
    has_direct: ClassVar[bool] = True

    def build(self, round_: Round) -> Model:
        """Return the program: at most one share per job, shares within the GPUs, CPUs, memory and quotas."""
        return self._program(round_).build(round_)

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision that values stand for."""
        return self._program(round_).decode(round_, values)

    def encode(self, round_: Round, decision: Decision) -> Ints:
        """Return the columns of a decision."""
        return self._program(round_).encode(round_, decision)

    def stages(self, round_: Round, model: Model) -> tuple[Stage, ...]:
        """Return the one objective, or one for each class of priorities."""
        return self._program(round_).stages(round_, model)

    def direct(self, round_: Round) -> Ints | None:
        """Return the best columns by dynamic programming where GPUs and quotas are all that counts."""
        return self._program(round_).direct(round_)

    @property
    def has_duals(self) -> bool:
        """The linear relaxation has prices for everything that is limited."""
        return True

    def quick_duals(self, round_: Round) -> Prices | None:
        """Return the price of a GPU where all GPUs are alike."""
        return self._program(round_).quick_duals(round_)

    @property
    def has_hurried_duals(self) -> bool:
        """The same prices, beside which nothing is counted."""
        return True

    def hurried_duals(self, round_: Round) -> Prices | None:
        """Return the same prices: the verifier then leaves out counting, which takes longer."""
        return self.quick_duals(round_)

    def duals(self, round_: Round, model: Model, row_duals: NDArray[np.float64]) -> Prices | None:
        """Return the prices of GPUs, CPUs, memory and quotas from the duals of the linear relaxation."""
        return self._program(round_).duals(round_, model, row_duals)

    def _program(self, round_: Round) -> Formulation:
        kind = PooledSharing if counts_gpus_only(round_) else PlacedSharing
        return kind(objective=self.objective, packing=self.packing, horizon=self.horizon)
