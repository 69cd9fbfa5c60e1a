"""The columns of the chapter *planning*: which options have one of their own, and which parts may be on which nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.instance import Round
from muri_opt.modelling import Ints
from muri_opt.plans import PlanOptions, PlanRules


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanColumns:
    """The options of a round, those of several parts (``several``), and a pair per part and node with room for it.

    An option of several parts has a column x; pair i, a part of option ``option[i]`` on node ``node[i]``, is a column
    y. An option of one part is taken where one of its y is 1, and needs no x.
    """

    options: PlanOptions
    several: Ints
    option: Ints
    node: Ints

    @classmethod
    def of(cls, round_: Round, rules: PlanRules) -> PlanColumns:
        """Return the columns of a round, from the last call if it was the same."""
        key = (round_.fingerprint, rules)
        if not _last or _last[0][0] != key:
            _last[:] = [(key, _columns(round_, PlanOptions.of(round_, rules)))]
        return _last[0][1]

    @property
    def alone(self) -> Ints:
        """The pairs whose y stands for the whole option."""
        return np.flatnonzero(self.options.q[self.option] == 1)


_last: list[tuple[tuple[str, PlanRules], PlanColumns]] = []
"""The columns of the last round: building, starting and reading one program asks for them again and again."""


def _columns(round_: Round, options: PlanOptions) -> PlanColumns:
    amounts = round_.amounts
    room = options.hosts[options.kind]
    for need, has in ((options.g, amounts.G), (options.c, amounts.C), (options.m, amounts.M)):
        room &= need[:, None] <= has
    for option in np.flatnonzero(options.home >= 0).tolist():
        room[option] &= options.nodes(option)
    pairs = np.argwhere(room)
    return PlanColumns(
        options=options, several=np.flatnonzero(options.q > 1), option=pairs[:, 0].copy(), node=pairs[:, 1].copy()
    )
