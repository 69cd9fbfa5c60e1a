"""The second program of the chapter *gangs*: of the answers of one value, the one with the cheapest changes.

Its columns and rows are those of the first (:mod:`.program`), with a column h for every job that runs, and the value
held: by a row, or by the jobs that run where a value says who they are. What is maximised is the cost of restarts that
jobs at home are spared; then, with all of that held, the number of nodes is minimised.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np

from muri_opt.modelling import Columns, Ints, Model, Rows, Values
from muri_opt.rounds import Decision, Round
from muri_opt.rounds.change_costs import change_cost
from muri_opt.rounds.sharing_now import homes_now
from muri_opt.systems.capacity import gang_decision, held_gpus
from muri_opt.systems.gangs.program import GangFormulation
from muri_opt.systems.gangs.program_demands import DemandColumns
from muri_opt.systems.gangs.program_places import OpenPart, Places

Stays = dict[int, int]
"""Jobs that could go on as they are, with what it costs to change them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesFormulation(GangFormulation):
    """Where gangs are that run for a value that is known, and which of them.

    ``chosen`` are the jobs that run, ``None`` if all answers are looked at that have at least the ``value``; with
    chosen jobs that is how many are inside a unit they prefer. Jobs ``at_home`` do not move. ``counted`` has columns
    for the nodes of each gang, on nodes that are not pooled.
    """

    value: int
    chosen: frozenset[int] | None = None
    at_home: frozenset[int] = frozenset()
    counted: bool = False

    def build(self, round_: Round) -> Model:
        """Return the program; what it maximises is still the value."""
        model = GangFormulation.build(self, round_)
        worth = model.objective
        if self.chosen is not None:
            worth = np.zeros_like(worth)
            worth[members(model, "f")[0]] = 1
            model = replace(model, columns=_fixed(model.columns, "a", self.chosen))
        model = replace(model, columns=_fixed(model.columns, "h", self.at_home))
        return held_at(model, "value", worth, self.value)

    def spared(self, model: Model, costs: Stays, unit: int) -> Ints:
        """Return the objective that counts what jobs at home cost otherwise, in this unit."""
        objective = np.zeros_like(model.objective)
        columns, jobs = members(model, "h")
        objective[columns] = [costs.get(job, 0) // unit for job in jobs.tolist()]
        return objective

    def nodes_used(self, round_: Round, model: Model) -> Ints:
        """Return the objective that counts nodes, each below 0."""
        objective = np.zeros_like(model.objective)
        for label in ("b", "y"):
            objective[members(model, label)[0]] = -1
        columns, jobs = members(model, "h")
        held = self.open_part(round_).held
        objective[columns] = [-int(np.count_nonzero(held[job])) for job in jobs.tolist()]
        return objective

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision that values stand for: gangs are where they say."""
        jobs = np.flatnonzero(values[: len(round_.jobs)] == 1).tolist()
        shares = self._as_valued(round_, jobs, values)
        return gang_decision(round_, shares, consolidate=self.nodes == "fewest", preempt=self.preempt)

    def open_part(self, round_: Round) -> OpenPart:
        """Return the part of a round that the program decides, with the GPUs of all of its jobs that run now."""
        part = GangFormulation.open_part(self, round_)
        running = {int(job): now for job in part.order if (now := held_gpus(round_, int(job))) is not None}
        held = {job: now for job, now in running.items() if now.sum() == part.amounts.g[job]}
        return replace(part, held=held)

    def _places(self, part: OpenPart) -> Places:
        fits = part.fits
        if self.chosen is not None:
            fits &= np.isin(np.arange(len(fits)), list(self.chosen))
        pool, whole = self.nodes == "any" and not part.shaped and not self.counted, self.nodes == "fewest"
        return Places.of(part.amounts, pool=pool, whole=whole, fits=fits, sets=part.sets)

    def _columns(self, round_: Round, part: OpenPart, places: Places, *, rows: bool = False) -> DemandColumns:
        fewest = self.nodes == "fewest"
        return DemandColumns.of(round_, part, places, fewest=fewest, rows=rows, at_home=True, counted=self.counted)


def held_at(model: Model, label: str, objective: Ints, amount: int) -> Model:
    """Return a model with one row more: an objective is at least so much."""
    columns = np.flatnonzero(objective).astype(np.int64)
    if not len(columns):
        return model
    row = Rows(
        label=label,
        index=np.zeros((1, 0), dtype=np.int64),
        sense=">=",
        rhs=np.array([amount], dtype=np.int64),
        starts=np.array([0, len(columns)], dtype=np.int64),
        columns=columns,
        coefficients=objective[columns],
    )
    return replace(model, rows=(*model.rows, row))


def stays_of(round_: Round, part: OpenPart) -> Stays:
    """Return the running jobs that could go on as they are; one that shares GPUs now is changed in any case."""
    now = homes_now(round_)
    jobs = ((job, round_.jobs[job]) for job in part.held)
    return {job: change_cost(one) for job, one in jobs if now.goes_on([job], one.placement or {})}


def members(model: Model, label: str) -> tuple[Ints, Ints]:
    """Return the columns of a family and the jobs that they are of, none if the program has no such family."""
    first = 0
    for family in model.columns:
        if family.label == label:
            return np.arange(first, first + len(family)), family.index[:, 0]
        first += len(family)
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


def _fixed(columns: Iterable[Columns], label: str, jobs: Collection[int]) -> tuple[Columns, ...]:
    """Return the families, with the columns of some jobs in one of them held as high as they go."""
    some = np.array(sorted(jobs), dtype=np.int64)
    return tuple(
        replace(family, lower=np.where(np.isin(family.index[:, 0], some), family.upper, family.lower))
        if family.label == label
        else family
        for family in columns
    )
