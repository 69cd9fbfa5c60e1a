"""Chapter *joint*: which jobs share GPUs, and how many.

Letters as in the chapter: x_Sgh says whether group S runs with g GPUs, or by a plan, at h, and y_Shs how many GPUs of
node s it has in region h where nodes are limited in more than GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints, Model, ModelBuilder, Relax, SolveStages, Stage, Values
from muri_opt.rounds import Budget, Decision, LinearDuals, Prices, Round
from muri_opt.systems.joint.decision import joint_decision
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.jobs.models import models_of
from muri_opt.systems.joint.jobs.worth import worth_of
from muri_opt.systems.joint.nodes.places import Stay, place_groups
from muri_opt.systems.joint.nodes.state import Case
from muri_opt.systems.joint.program.class_prices import class_prices
from muri_opt.systems.joint.program.columns import JointColumns
from muri_opt.systems.joint.program.node_rows import NODE_LABELS, add_node_rows, node_prices, spread
from muri_opt.systems.joint.program.stage_prices import stage_prices
from muri_opt.systems.joint.program.written import Written, weighted
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.joint.search.by_priority import best_decided
from muri_opt.systems.pooled_limits import Uses, add_limits, row_prices, whole_prices
from muri_opt.systems.priority_levels import levels_of
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
        x = builder.add_columns("x", np.arange(len(columns.keys)))
        column, member = columns.entries
        jobs = np.arange(len(round_.jobs))
        builder.add_rows("once", jobs, entries=(member, x[column], np.ones_like(member)), sense="<=", rhs=1)
        amounts, first = round_.amounts, np.append(True, column[1:] != column[:-1])[: len(column)]
        uses = Uses(
            columns=x[column],
            cpus=np.where(first, columns.cpus[column], 0),
            memory=np.where(first, columns.memory[column], 0),
            tenant=amounts.tenant[member],
            held=columns.gpus[column],
        )
        add_limits(builder, round_, x, columns.gpus, uses)
        y = columns.shares.add(builder, round_, x, columns.gpus)
        add_node_rows(builder, round_, columns, x, y)
        columns.classes.add(builder, x)
        return builder.finish(maximise=True, columns=x, coefficients=columns.values[0])

    def stages(self, round_: Round, model: Model) -> tuple[Stage, ...]:
        """Return what columns add to the jobs of each priority, the largest first."""
        columns = JointColumns.of(round_, self.rules)
        if len(columns.weights) == 1:
            return Formulation.stages(self, round_, model)
        return columns.classes.stages(model.column_count)

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision: columns at spots are placed first, the others in their regions, large ones first."""
        columns = JointColumns.of(round_, self.rules)
        count = len(columns.keys)
        chosen = np.flatnonzero(values[:count]).tolist()
        shares = np.rint(values[count : count + len(columns.shares)]).astype(np.int64)
        found = spread(round_, columns, chosen, shares)
        stays: list[Stay] = [(0, None) if place is None else (1, place) for place in found]
        groups, gpus = [columns.keys[at].group for at in chosen], [columns.keys[at].gpus for at in chosen]
        placed = place_groups(round_, columns.models, columns.worth, groups, gpus, stays)
        return joint_decision(round_, columns.models, self.rules, placed)

    def encode(self, round_: Round, decision: Decision) -> Ints:
        """Return which columns a decision takes: of a group that is where it was, the one that stays."""
        columns = JointColumns.of(round_, self.rules)
        written = Written(round_, columns)
        values = np.zeros(len(columns.keys), dtype=np.int64)
        placed = []
        for assignment in decision.assignments:
            column = written.column(assignment)
            values[column] = 1
            if (pair := int(columns.shares.of_key[column])) >= 0:
                placed.append((pair, written.parts(assignment)))
        return np.concatenate([values, columns.shares.encoded(placed), columns.classes.encoded(values)])

    def search(
        self, round_: Round, start: Decision | None, budget: Budget, relax: Relax, solve: SolveStages
    ) -> Searched | None:
        """Return what the program over classes of jobs finds where there are too many groups to list."""
        models = models_of(round_, self.rules)
        if int(models.shares[models.kind].sum()) <= _FEW_SHARERS or not round_.cluster.total_gpus:
            return None
        if levels_of(round_).any():  # its columns have one value each
            return None
        worth = worth_of(round_, models, self.rules)
        changed = worth.changed.astype(np.float64) / worth.unit
        priced = class_prices(round_, Offers.of(round_, models, worth, self.rules), changed, budget)
        if priced is None:
            return None
        case = Case(round_=round_, models=models, worth=worth, rules=self.rules)
        decision = joint_decision(round_, models, self.rules, best_decided(case, priced.shared(), priced.groups))
        return Searched(decision=decision, duals=priced.duals, detail="the program over classes of jobs, rounded")

    @property
    def has_duals(self) -> bool:
        """Jobs, GPUs, kept GPUs and everything else that is limited have a price in the linear relaxation."""
        return True

    def duals(self, round_: Round, model: Model, row_duals: NDArray[np.float64]) -> Prices:
        """Return the prices from the duals of the linear relaxation, for the jobs of the largest priority."""
        columns = JointColumns.of(round_, self.rules)
        prices = row_prices(round_, model, np.maximum(0.0, row_duals))
        told = {label: price for label, price in prices.items() if label not in NODE_LABELS}
        return weighted(whole_prices(told | node_prices(round_, model, columns, prices), ("once", "gpus")), columns)

    def quick_duals(self, round_: Round) -> LinearDuals:
        """Return prices of the stages of a GPU, found without a solver."""
        return stage_prices(round_, self.rules)

    @property
    def has_hurried_duals(self) -> bool:
        """A sample of the jobs tells nearly the same prices."""
        return True

    def hurried_duals(self, round_: Round) -> LinearDuals:
        """Return prices of the stages of a GPU from a sample of the jobs."""
        return stage_prices(round_, self.rules, sampled=True)
