"""Chapter *deadline*: which jobs run with how many GPUs, and on which nodes, so that most are in time.

Letters as in the chapter: jobs j, GPU counts k, places s (nodes, or one pool of interchangeable ones), sets m of nodes;
a_jk whether j runs with k GPUs on nodes where it may start, h_j whether it stays as it is, x_js its GPUs on place s,
d_jm whether they are in set m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from muri_opt.modelling import Ints, Model, ModelBuilder, Stage, Values
from muri_opt.rounds import Decision, Round
from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.systems.capacity import Leftover, best_fit
from muri_opt.systems.deadline.choices import Choices
from muri_opt.systems.deadline.decision import deadline_decision
from muri_opt.systems.deadline.levels import levels_of, stages_of
from muri_opt.systems.deadline.placing import settled
from muri_opt.systems.deadline.program_direct import best_rows
from muri_opt.systems.deadline.program_places import Places
from muri_opt.systems.deadline.still import less_changes
from muri_opt.systems.program import Formulation


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineFormulation(Formulation):
    """Give jobs GPUs so that the most deadlines are kept, those first that would be lost, and then the most speed.

    >>> program = DeadlineFormulation(interval=300.0)
    >>> len(program.build(shipped_round("toy/three-elastic")).objective)
    14
    """

    interval: float

    chapter: ClassVar[str] = "deadline"
    has_direct: ClassVar[bool] = True

    def build(self, round_: Round) -> Model:
        """Return the program: at most one share per job, or where it is, within nodes and quotas."""
        choices, places = self._choices(round_), self._places(round_)
        away, home = np.flatnonzero(~choices.home), np.flatnonzero(choices.home)
        builder = ModelBuilder("deadline")
        a = builder.add_columns("a", np.column_stack([choices.job[away], choices.gpus[away]]))
        h = builder.add_columns("h", choices.job[home])
        x = builder.add_columns("x", places.pairs, upper=places.most)
        rows, columns = np.append(choices.job[away], choices.job[home]), np.append(a, h)
        jobs = np.arange(len(round_.jobs))
        ones = np.ones_like(columns)
        builder.add_rows("once", jobs, entries=(rows, columns, ones), sense="<=", rhs=1)
        must = choices.must
        here = np.isin(rows, must)
        entries = (np.searchsorted(must, rows[here]), columns[here], ones[here])
        builder.add_rows("stays", must, entries=entries, sense=">=", rhs=1)
        j = places.pairs[:, 0]
        entries = (np.append(j, choices.job[away]), np.append(x, a), np.append(np.ones_like(x), -choices.gpus[away]))
        builder.add_rows("share", jobs, entries=entries, sense="=", rhs=0)
        self._add_nodes(builder, round_, choices, places, x, h)
        gpus = np.append(choices.gpus[away], choices.gpus[home])
        self._add_quota(builder, round_, must, rows, columns, gpus)
        sets = places.sets
        d = builder.add_columns("d", sets)
        some = np.flatnonzero(places.in_set >= 0)
        most = np.zeros(len(round_.jobs), dtype=np.int64)
        np.maximum.at(most, choices.job[away], choices.gpus[away])
        row = np.append(places.in_set[some], np.arange(len(d)))
        entries = (row, np.append(x[some], d), np.append(np.ones_like(some), -most[sets[:, 0]]))
        builder.add_rows("set", sets, entries=entries, sense="<=", rhs=0)
        several, row = np.unique(sets[:, 0], return_inverse=True)
        builder.add_rows("one", several, entries=(row, d, np.ones_like(d)), sense="<=", rhs=1)
        return builder.finish(maximise=True, columns=self._columns(choices), coefficients=choices.speed)

    def stages(self, round_: Round, model: Model) -> tuple[Stage, ...]:
        """Return the levels of the value, small ones that follow each other together."""
        levels, columns = levels_of(round_, self.interval), self._columns(self._choices(round_))
        return stages_of(levels, columns, model.column_count) or Formulation.stages(self, round_, model)

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision: jobs that have as many GPUs as now where they are, if that works, else as valued."""
        choices = self._choices(round_)
        taken = np.flatnonzero(values[self._columns(choices)] == 1).tolist()
        sizes = {int(choices.job[row]): int(choices.gpus[row]) for row in taken}
        at_home = {int(choices.job[row]) for row in taken if choices.home[row]}
        shares = settled(round_, choices, sizes, {}, at_home)
        if shares is None:
            shares = self._as_valued(round_, choices, values, sorted(sizes), at_home)
        if choices.held:
            shares = less_changes(round_, self.interval, shares)
        return deadline_decision(round_, choices, shares)

    def encode(self, round_: Round, decision: Decision) -> Ints:
        """Return the columns of a decision; a job that stays as it is has the column of that."""
        choices, places = self._choices(round_), self._places(round_)
        amount = np.zeros((len(round_.jobs), len(places.G)), dtype=np.int64)
        size = np.zeros(len(round_.jobs), dtype=np.int64)
        at_home = np.zeros(len(round_.jobs), dtype=np.bool_)
        for assignment in decision.assignments:
            job = round_.job_index[assignment.jobs[0]]
            size[job] = sum(assignment.gpus.values())
            if job in choices.held and dict(assignment.gpus) == round_.jobs[job].placement:
                at_home[job] = True
                continue
            for node, gpus in assignment.gpus.items():
                amount[job, places.of_node[round_.cluster.node_index[node]]] += gpus
        x = amount[tuple(places.pairs.T)]
        chosen = (choices.gpus == size[choices.job]) & (choices.home == at_home[choices.job])
        d = np.zeros(len(places.sets), dtype=np.int64)
        d[places.in_set[(places.in_set >= 0) & (x > 0)]] = 1
        ordered = chosen[np.argsort(choices.home, kind="stable")].astype(np.int64)
        return np.concatenate([ordered, x, d])

    def direct(self, round_: Round) -> Ints | None:
        """Return the best columns by dynamic programming, if their jobs find room; ``None`` leaves it to a solver."""
        choices = self._choices(round_)
        rows = best_rows(round_, choices, levels_of(round_, self.interval))
        if rows is None:
            return None
        sizes = {int(choices.job[row]): int(choices.gpus[row]) for row in rows}
        at_home = {int(choices.job[row]) for row in rows if choices.home[row]}
        shares = settled(round_, choices, sizes, {}, at_home)
        return None if shares is None else self.encode(round_, deadline_decision(round_, choices, shares))

    def _as_valued(
        self, round_: Round, choices: Choices, values: Values, jobs: list[int], at_home: set[int]
    ) -> dict[int, Ints]:
        """Return GPUs per node as the columns x say; inside a pool by best fit."""
        places = self._places(round_)
        first = len(choices.job)
        amount = np.zeros((len(round_.jobs), len(places.G)), dtype=np.int64)
        amount[tuple(places.pairs.T)] = values[first : first + len(places.pairs)]
        shares = {job: choices.held[job] for job in sorted(at_home)}
        left = Leftover.beside(round_, shares)
        for job in jobs:
            if job in at_home:
                continue
            share = np.zeros(len(places.of_node), dtype=np.int64)
            for place in np.flatnonzero(amount[job]).tolist():
                nodes = np.flatnonzero(places.of_node == place)
                part = best_fit(left.gpus[nodes], int(amount[job, place]))
                if part is None:
                    raise ValueError(f"place {place} has fewer than {amount[job, place]} free GPUs")
                share[nodes] = part
            left.take(share, job)
            shares[job] = share
        return shares

    def _choices(self, round_: Round) -> Choices:
        return Choices.of(round_, self.interval)

    def _places(self, round_: Round) -> Places:
        return Places.of(round_, self._choices(round_))

    @staticmethod
    def _columns(choices: Choices) -> Ints:
        """Return the column of each row of the choices: those that are not at home come first."""
        columns = np.empty(len(choices.job), dtype=np.int64)
        columns[np.argsort(choices.home, kind="stable")] = np.arange(len(columns))
        return columns

    @staticmethod
    def _add_nodes(builder: ModelBuilder, round_: Round, choices: Choices, places: Places, x: Ints, h: Ints) -> None:
        """Add the rows of GPUs, CPUs and memory of the places."""
        amounts = round_.amounts
        stay = choices.job[choices.home]
        held = np.zeros((len(stay), len(places.G)), dtype=np.int64)
        for row, job in enumerate(stay.tolist()):
            np.add.at(held[row], places.of_node, choices.held[job])
        at, place = np.nonzero(held)
        job, s = np.append(places.pairs[:, 0], stay[at]), np.append(places.pairs[:, 1], place)
        columns, gpus = np.append(x, h[at]), np.append(np.ones_like(x), held[at, place])
        builder.add_rows("gpus", np.arange(len(places.G)), entries=(s, columns, gpus), sense="<=", rhs=places.G)
        for label, need, has in (("cpus", amounts.c, places.C), ("memory", amounts.m, places.M)):
            bound = np.flatnonzero(has < UNLIMITED)
            here = np.isin(s, bound)
            entries = (np.searchsorted(bound, s[here]), columns[here], gpus[here] * need[job[here]])
            builder.add_rows(label, bound, entries=entries, sense="<=", rhs=has[bound])

    @staticmethod
    def _add_quota(builder: ModelBuilder, round_: Round, must: Ints, jobs: Ints, columns: Ints, gpus: Ints) -> None:
        """Add the quotas of tenants and all below them, each enough for the jobs that nobody may stop."""
        amounts = round_.amounts
        lines = [amounts.line(int(tenant)) for tenant in amounts.tenant]
        quota = amounts.U.copy()
        kept = np.zeros_like(quota)
        for job in must.tolist():
            kept[list(lines[job])] += sum((round_.jobs[job].placement or {}).values())
        limited = np.flatnonzero(quota < UNLIMITED)
        entry = np.repeat(np.arange(len(jobs)), [len(lines[job]) for job in jobs.tolist()])
        owner = np.array([tenant for job in jobs.tolist() for tenant in lines[job]], dtype=np.int64)
        member = np.isin(owner, limited)
        rows = np.searchsorted(limited, owner[member])
        entries = (rows, columns[entry[member]], gpus[entry[member]])
        builder.add_rows("quota", limited, entries=entries, sense="<=", rhs=np.maximum(quota, kept)[limited])
