"""Chapter *joint*: which jobs share GPUs, and how many.

Letters as in the chapter: x_Sgh says whether group S runs with g GPUs at seat h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints, Model, ModelBuilder, Relax, SolveStages, Values
from muri_opt.rounds import Budget, Decision, LinearDuals, Prices, Round
from muri_opt.systems.joint.class_prices import class_prices
from muri_opt.systems.joint.decision import joint_decision
from muri_opt.systems.joint.job_model import models_of
from muri_opt.systems.joint.offers import Offers
from muri_opt.systems.joint.places import Seat, place_groups
from muri_opt.systems.joint.program_columns import JointColumns
from muri_opt.systems.joint.revision import revised
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.joint.stage_prices import stage_prices
from muri_opt.systems.joint.state import Case
from muri_opt.systems.joint.worth import worth_of
from muri_opt.systems.pooled_limits import Uses, add_limits, row_prices, whole_prices
from muri_opt.systems.program import Formulation, Searched

_FEW_SHARERS = 30
"""Jobs with stages up to which the program over all groups is quicker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFormulation(Formulation):
    """Choose disjoint groups and their GPUs, so that their values add up to the most.

    >>> rules = JointRules.of({"group": "1"})
    >>> len(JointFormulation(rules=rules).build(shipped_round("toy/three-elastic")).objective)
    11
    """

    rules: JointRules

    chapter: ClassVar[str] = "joint"
    has_search: ClassVar[bool] = True

    def build(self, round_: Round) -> Model:
        """Return the program: every job once at most, within GPUs, CPUs, memory and quotas, on the nodes they keep."""
        columns = JointColumns.of(round_, self.rules)
        builder = ModelBuilder("joint")
        x = builder.add_columns("x", np.arange(len(columns.value)))
        column, member = columns.entries
        jobs = np.arange(len(round_.jobs))
        builder.add_rows("once", jobs, entries=(member, x[column], np.ones_like(member)), sense="<=", rhs=1)
        amounts, gpus = round_.amounts, columns.gpus[column]
        uses = Uses(
            columns=x[column],
            cpus=amounts.c[member] * gpus,
            memory=amounts.m[member] * gpus,
            tenant=amounts.tenant[member],
            held=gpus,
        )
        add_limits(builder, round_, x, columns.gpus, uses)
        node, stays, held = self._seated(round_, columns)
        nodes, row = np.unique(node, return_inverse=True)
        builder.add_rows("seats", nodes, entries=(row, x[stays], held), sense="<=", rhs=amounts.G[nodes])
        return builder.finish(maximise=True, columns=x, coefficients=columns.value)

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision: groups that stay are placed first, then large ones."""
        columns = JointColumns.of(round_, self.rules)
        chosen = [columns.keys[at] for at in np.flatnonzero(values).tolist()]
        seats: list[Seat] = [(0, None) if seat < 0 else (1, columns.held_on(round_, seat)) for _, _, seat in chosen]
        groups, gpus = [group for group, _, _ in chosen], [size for _, size, _ in chosen]
        placed = place_groups(round_, columns.models, columns.worth, groups, gpus, seats)
        return joint_decision(round_, columns.models, self.rules, placed)

    def encode(self, round_: Round, decision: Decision) -> Ints:
        """Return which columns a decision takes: of a group that is where some of it was, the one that stays."""
        columns = JointColumns.of(round_, self.rules)
        place = {key: at for at, key in enumerate(columns.keys)}
        seats = {seat: number for number, seat in enumerate(columns.seats)}
        values = np.zeros(len(columns.value), dtype=np.int64)
        for assignment in decision.assignments:
            group = tuple(sorted(round_.job_index[job] for job in assignment.jobs))
            gpus = sum(assignment.gpus.values())
            seat = seats.get(tuple(sorted(assignment.gpus.items())), -1)
            values[place.get((group, gpus, seat), place[group, gpus, -1])] = 1
        return values

    def search(
        self, round_: Round, start: Decision | None, budget: Budget, relax: Relax, solve: SolveStages
    ) -> Searched | None:
        """Return what the program over classes of jobs finds where there are too many groups to list."""
        models = models_of(round_, self.rules)
        if int(models.shares[models.kind].sum()) <= _FEW_SHARERS or not round_.cluster.total_gpus:
            return None
        worth = worth_of(round_, models, self.rules)
        priced = class_prices(round_, Offers.of(round_, models, worth, self.rules), budget)
        if priced is None:
            return None
        case = Case(round_=round_, models=models, worth=worth, rules=self.rules)
        decision = joint_decision(round_, models, self.rules, revised(case, priced.groups))
        return Searched(decision=decision, duals=priced.duals, detail="the program over classes of jobs, rounded")

    @property
    def has_duals(self) -> bool:
        """Jobs, GPUs, seats and everything else that is limited have a price in the linear relaxation."""
        return True

    def duals(self, round_: Round, model: Model, row_duals: NDArray[np.float64]) -> Prices:
        """Return the prices from the duals of the linear relaxation."""
        prices = row_prices(round_, model, np.maximum(0.0, row_duals))
        seats = np.zeros(len(round_.cluster.nodes))
        seats[np.unique(self._seated(round_, JointColumns.of(round_, self.rules))[0])] = prices["seats"]
        return whole_prices(prices | {"seats": seats}, always=("once", "gpus"))

    def quick_duals(self, round_: Round) -> LinearDuals | None:
        """Return prices of the stages of a GPU, found without a solver."""
        return stage_prices(round_, self.rules)

    def _seated(self, round_: Round, columns: JointColumns) -> tuple[Ints, Ints, Ints]:
        """Return (node, column, GPUs) of all groups that stay."""
        nodes = round_.cluster.node_index
        found = [
            (nodes[node], at, gpus)
            for at, (_, _, seat) in enumerate(columns.keys)
            if seat >= 0
            for node, gpus in columns.seats[seat]
        ]
        node, column, gpus = np.array(found, dtype=np.int64).reshape(-1, 3).T
        return node, column, gpus
