"""The columns of the chapter *planning*: which options have one of their own, and which parts may be on which nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.modelling import Ints
from muri_opt.rounds import Round
from muri_opt.rounds.memoise import last_recalled
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_rules import PlanRules


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanColumns:
    """The options of a round, those of several parts (``several``), and a pair per part and node with room for it.

    An option of several parts has a column x; pair i, a part of option ``option[i]`` on node ``node[i]``, is a column
    y. An option of one part is taken where one of its y is 1, and needs no x. Options that another one of the job can
    replace on any nodes, at no loss, have no columns: ``replaced[o]`` is the option that stands for o, as a rule o.
    Pair i of ``wide`` and ``wide_node``, a larger part of an option of two sizes on a node with room for it, is a
    column z.
    """

    options: PlanOptions
    replaced: Ints
    several: Ints
    option: Ints
    node: Ints
    wide: Ints
    wide_node: Ints

    @classmethod
    def of(cls, round_: Round, rules: PlanRules) -> PlanColumns:
        """Return the columns of a round, from the last call if it was the same."""
        return _columns(round_, rules)

    @property
    def alone(self) -> Ints:
        """The pairs whose y stands for the whole option."""
        return np.flatnonzero(self.options.q[self.option] == 1)


@last_recalled
def _columns(round_: Round, rules: PlanRules) -> PlanColumns:
    amounts, options = round_.amounts, PlanOptions.of(round_, rules)
    room = options.hosts[options.kind]
    for need, has in ((options.g, amounts.G), (options.c, amounts.C), (options.m, amounts.M)):
        room &= need[:, None] <= has
    for option in np.flatnonzero(options.home >= 0).tolist():
        room[option] &= options.nodes(option)
    replaced = _replaced(options)
    kept = replaced == np.arange(len(options))
    pairs = np.argwhere(room & kept[:, None])
    wide = [
        (option, node)
        for option, (_, part) in options.larger.items()
        if kept[option]
        for node in np.flatnonzero(
            options.wide_nodes(option) & (part.gpus <= amounts.G) & (part.milli <= amounts.C) & (part.mib <= amounts.M)
        ).tolist()
    ]
    wide_pairs = np.array(wide, dtype=np.int64).reshape(len(wide), 2)
    return PlanColumns(
        options=options,
        replaced=replaced,
        several=np.flatnonzero(kept & (options.q > 1)),
        option=pairs[:, 0].copy(),
        node=pairs[:, 1].copy(),
        wide=wide_pairs[:, 0].copy(),
        wide_node=wide_pairs[:, 1].copy(),
    )


def _replaced(options: PlanOptions) -> Ints:
    """Return the option that can take the place of each, of as many parts, none larger, and worth no less.

    One with parts of two sizes takes no other's place.
    """
    found = np.arange(len(options))
    equal = np.ones(len(options), dtype=np.bool_)
    equal[list(options.larger)] = False
    takes = np.column_stack([options.g, options.c, options.m])
    for job in range(len(options.first) - 1):
        mine = options.of_job(job)
        if len(mine) < 2:
            continue
        some = slice(mine.start, mine.stop)
        use, worth, parts = takes[some], options.e[some], options.q[some]
        kind, home = options.kind[some], options.home[some]
        smaller = (use[:, None] <= use).all(axis=2) & (parts[:, None] == parts)
        anywhere = (home[:, None] < 0) & ((kind[:, None] == kind) | (kind[:, None] == 0))
        better = smaller & anywhere & (worth[:, None] >= worth) & equal[some, None]
        place = np.arange(len(mine))
        better &= ~(better.T & (place[:, None] > place))  # of two equal ones the first stays
        np.fill_diagonal(better, val=False)
        open_ = ~better.any(axis=0)
        better &= open_[:, None]
        found[some] = np.where(open_, mine.start + place, mine.start + better.argmax(axis=0))
    return found
