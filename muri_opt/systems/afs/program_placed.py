"""Chapter *sharing* for rounds that say more than amounts: who has how many GPUs, and where.

Letters as in the chapter: jobs j, places s, sets of places D_d of a job; x_jdk whether j has k GPUs inside set d, y_js
its GPUs on s, h_j whether it keeps its share where it is, b_js whether it uses s; of jobs in equal parts z_jdnp whether
j has n parts of p GPUs inside d, w_jsp whether one of them is on s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints, Model, Stage, Values
from muri_opt.rounds import Decision, LinearDuals, Round
from muri_opt.systems.afs.decision import share_decision
from muri_opt.systems.afs.priority_classes import priority_classes
from muri_opt.systems.afs.program_classes import ClassColumns
from muri_opt.systems.afs.program_places import PlacedTable
from muri_opt.systems.afs.program_rows import PlacedColumns, placed_model
from muri_opt.systems.afs.share_fit import Shares
from muri_opt.systems.capacity import Leftover
from muri_opt.systems.curves import Curves
from muri_opt.systems.pooled_limits import DENOMINATOR
from muri_opt.systems.program import Formulation


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedSharing(Formulation):
    """Give every elastic job one share inside one of its sets of nodes, or none, larger priorities first."""

    objective: str
    packing: str
    horizon: int | None

    chapter: ClassVar[str] = "sharing"

    def build(self, round_: Round) -> Model:
        """Return the program; its objective is that of the first class of priorities."""
        columns = self._columns(round_)
        return placed_model(round_, columns, self._classes(round_, columns))

    def stages(self, round_: Round, model: Model) -> tuple[Stage, ...]:
        """Return the objectives of the classes of priorities, the largest first."""
        stages = self._classes(round_, self._columns(round_)).stages()
        return stages or Formulation.stages(self, round_, model)

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision: the shares placed anew if that works, else where the values put them.

        Placing jobs that keep their share where they are and then the others, the largest first, moves and splits
        fewer shares than a solver that does not care where they are.
        """
        columns = self._columns(round_)
        fit, amounts, homes = columns.table.fit, *columns.read(values)
        shares = {job: int(amount.sum()) for job, amount in amounts.items()} | {
            job: int(now.sum()) for job, now in homes.items()
        }
        order = sorted(shares, key=lambda job: -shares[job])
        placed = fit.place_whole(shares, order)
        if placed is None:
            placed = self._as_valued(round_, columns, amounts, homes)
        return share_decision(round_, Curves.of(round_.jobs, round_.cluster.total_gpus), placed)

    def encode(self, round_: Round, decision: Decision) -> Ints:
        """Return the columns of a decision."""
        columns, shares = self._columns(round_), Shares()
        for assignment in decision.assignments:
            share = np.zeros(len(round_.cluster.nodes), dtype=np.int64)
            for node, gpus in assignment.gpus.items():
                share[round_.cluster.node_index[node]] = gpus
            shares[round_.job_index[assignment.jobs[0]]] = share
        return self._classes(round_, columns).written(columns.written(shares))

    @property
    def has_duals(self) -> bool:
        """The linear relaxation has prices for everything that is limited."""
        return True

    def duals(self, round_: Round, model: Model, row_duals: NDArray[np.float64]) -> LinearDuals:
        """Return the prices of GPUs, CPUs and memory of nodes and of quotas from the duals of the linear relaxation.

        They are those of the first class, whose unit is worth more than all other classes.
        """
        table = self._columns(round_).table
        places, weight = table.places, next((one.weight for one in priority_classes(round_, table.table)), 1)
        lengths = [len(family) for family in model.rows]
        duals = dict(zip(model.labels, np.split(row_duals, np.cumsum(lengths)[:-1]), strict=True))
        told = {}
        for family in model.rows:
            if family.label not in ("gpus", "cpus", "memory", "quota"):
                continue
            price = np.zeros(len(round_.amounts.U) if family.label == "quota" else len(places.G))
            price[family.index[:, 0]] = np.maximum(0.0, duals[family.label])
            price = price if family.label == "quota" else price[places.of_node]
            told[family.label] = tuple(round(one * DENOMINATOR) * weight for one in price.tolist())
        return LinearDuals(denominator=DENOMINATOR, multipliers=told)

    def _as_valued(self, round_: Round, columns: PlacedColumns, amounts: Shares, homes: Shares) -> Shares:
        """Return GPUs per node of every share as the columns say."""
        asks, placed = np.zeros(len(round_.jobs), dtype=np.int64), dict(homes)
        left = Leftover(round_, asks)
        for job, share in homes.items():
            left.take(share, job)
        for job, amount in amounts.items():
            placed[job] = columns.table.places.on_nodes(amount, left.gpus)
            left.take(placed[job], job)
        return placed

    def _columns(self, round_: Round) -> PlacedColumns:
        return PlacedColumns.of(PlacedTable.of(round_, self.objective, self.packing, self.horizon))

    @staticmethod
    def _classes(round_: Round, columns: PlacedColumns) -> ClassColumns:
        classes = priority_classes(round_, columns.table.table)
        return ClassColumns(classes=classes, owner=columns.owner, value=columns.value)
