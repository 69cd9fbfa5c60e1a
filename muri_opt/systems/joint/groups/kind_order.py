"""Where jobs stand beside each other: those that ask for about the same nodes suit each other as partners."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.nodes.regions import Regions


@dataclass(frozen=True, eq=False)
class KindOrder:
    """The rank of each kind of jobs in the line of ``regions``: kinds of near ranks suit each other as partners.

    All of it is worked out when it is first asked for: where jobs run alone nobody does. ``meet`` and ``nested`` are
    ``None`` where jobs may start anywhere.
    """

    regions: Regions

    @cached_property
    def rank(self) -> Ints:
        """The rank of the kind of each job."""
        return np.argsort(self.regions.line)[self.regions.kind]

    @cached_property
    def meet(self) -> NDArray[np.bool_] | None:
        """``[j, k]``: whether jobs of the ranks j and k may share."""
        return self._in_line(self.regions.together) if self.regions.are_asked else None

    @cached_property
    def nested(self) -> NDArray[np.bool_] | None:
        """``[j, k]``: whether they may do so wherever one of them may be alone."""
        return self._in_line(self.regions.nested) if self.regions.are_asked else None

    def _in_line(self, of_kinds: NDArray[np.bool_]) -> NDArray[np.bool_]:
        line = self.regions.line
        return of_kinds[np.ix_(line, line)]
