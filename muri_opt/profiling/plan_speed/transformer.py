"""What is trained: the few numbers of a transformer that decide memory, traffic and legal degrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from muri_opt.profiling.plan_speed.number_checks import set_whole
from muri_opt.rounds.field_checks import text

_MOST_PARAMETERS: Final = 10**14
_MOST_SIZE: Final = 10**7
_MEBI: Final = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A transformer and the global batch it is trained with, which no change of plan changes.

    ``sequence`` counts tokens per sample, ``hidden`` the width of a layer, ``batch`` samples per iteration.
    """

    name: str
    parameters: int
    layers: int
    heads: int
    hidden: int
    sequence: int
    batch: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", text("name", self.name, empty=False))
        set_whole(self, "parameters", _MOST_PARAMETERS)
        for field in ("layers", "heads", "hidden", "sequence", "batch"):
            set_whole(self, field, _MOST_SIZE)

    @property
    def mebi_parameters(self) -> float:
        """Parameters in units of 2**20, the P of the performance model."""
        return self.parameters / _MEBI

    @property
    def mebi_tokens_hidden(self) -> float:
        """Sequence times hidden in units of 2**20: the numbers in one layer's activation of one sample."""
        return self.sequence * self.hidden / _MEBI
