"""Chapter *gangs*: which gangs start now, and on which nodes.

Letters as in the chapter: jobs j, places s (nodes, or one pool of interchangeable nodes), tenants v; a_j admitted, x_js
GPUs of j on s; what jobs ask of nodes has columns of its own (:mod:`.program_demands`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import STAGE_DIGITS, Ints, Model, ModelBuilder, SolveStages, Stage, Values
from muri_opt.rounds import Budget, Decision, LinearDuals, Round, changes
from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.systems.capacity import Leftover, gang_decision, held_gpus
from muri_opt.systems.capacity.list_schedule import placed_around
from muri_opt.systems.capacity.rearrangement import Rearrangement, placed_at_home
from muri_opt.systems.gangs.program_demands import DemandColumns
from muri_opt.systems.gangs.program_duals import greedy_duals, node_duals
from muri_opt.systems.gangs.program_places import OpenPart, Places
from muri_opt.systems.gangs.program_quotas import LoanColumns, add_type_quotas
from muri_opt.systems.gangs.program_wishes import WishColumns
from muri_opt.systems.orders import TiresiasOrder
from muri_opt.systems.program import Formulation, Settled

MOST_PAIRS = 20_000
"""Jobs that run, times nodes, up to which a program is made of where those jobs are."""
MOST_DIGITS = 10_000
"""Jobs that are a binary digit each in a lexicographic value, so that it can be written as a decimal number."""


def _columns_of(model: Model, label: str) -> Ints:
    """Return the columns of a family, none if the program has no such."""
    first = 0
    for family in model.columns:
        if family.label == label:
            return np.arange(first, first + len(family.lower))
        first += len(family.lower)
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class GangFormulation(Formulation):
    """Admit and place gangs, by rank-weighted GPUs or lexicographically by priority.

    Without ``preempt`` running gangs stay where they are: the program is that of the others, on what those leave. With
    ``restarts`` a second one looks among the answers of one value for the cheapest changes.

    >>> program = GangFormulation(order="fifo", objective="weighted", nodes="any")
    >>> len(program.build(shipped_round("toy/two-gangs")).objective)
    6
    """

    order: str | TiresiasOrder
    objective: str
    nodes: str
    preempt: bool = True
    restarts: bool = False

    chapter: ClassVar[str] = "gangs"
    late_imports: ClassVar[tuple[str, ...]] = ("muri_opt.systems.gangs.settling",)

    def build(self, round_: Round) -> Model:
        """Return the program: a gang runs whole or not at all, within nodes and quotas."""
        part = self.open_part(round_)
        amounts, places = part.amounts, self._places(part)
        asked = self._columns(round_, part, places, rows=True)
        builder = ModelBuilder("gangs")
        jobs = np.arange(len(round_.jobs))
        a = builder.add_columns(
            "a", jobs, lower=np.isin(jobs, part.must).astype(np.int64), upper=places.fits.astype(np.int64)
        )
        x = builder.add_columns("x", places.pairs, upper=places.most)
        h = builder.add_columns("h", asked.home) if len(asked.home) else np.zeros(0, dtype=np.int64)
        home, home_place = np.nonzero(places.of_places(asked.homes))
        j, s = np.append(places.pairs[:, 0], asked.home[home]), np.append(places.pairs[:, 1], home_place)
        gpus = np.append(np.ones_like(x), places.of_places(asked.homes)[home, home_place])
        taken = np.append(x, h[home])
        builder.add_rows(
            "gang",
            jobs,
            entries=(np.append(j, jobs), np.append(taken, a), np.append(gpus, -amounts.g)),
            sense="=",
            rhs=0,
        )
        builder.add_rows("gpus", np.arange(len(places.G)), entries=(s, taken, gpus), sense="<=", rhs=places.G)
        for label, need, has in (("cpus", amounts.c, places.C), ("memory", amounts.m, places.M)):
            bound = np.flatnonzero(has < UNLIMITED)
            here = np.isin(s, bound)
            entries = (np.searchsorted(bound, s[here]), taken[here], gpus[here] * need[j[here]])
            builder.add_rows(label, bound, entries=entries, sense="<=", rhs=has[bound])
        self._add_quota(builder, part, a)
        asked.add(builder, places, amounts.g, a, x, h)
        add_type_quotas(builder, round_, part, places, (j, s, taken, gpus))
        loans = LoanColumns.of(round_, part)
        if loans is not None:
            loans.add(builder, a)
        wishes = self._wishes(part, places, asked)
        f = wishes.add(builder, amounts.g, x, h)
        worth = np.append(part.scale * self._weights(part), np.ones_like(f))
        return builder.finish(maximise=True, columns=np.append(a, f), coefficients=worth)

    def stages(self, round_: Round, model: Model) -> tuple[Stage, ...]:
        """Return one stage, or for the lexicographic objective one per block of jobs in priority order.

        Of very many jobs the last ones count one each, in a stage after all others.
        """
        if self.objective == "weighted":
            return Formulation.stages(self, round_, model)
        part = self.open_part(round_)
        order, wished, scale = part.order, _columns_of(model, "f"), part.scale
        order, rest = order[:MOST_DIGITS], order[MOST_DIGITS:]
        stages = []
        for start in range(0, len(order), STAGE_DIGITS):
            block = order[start : start + STAGE_DIGITS]
            objective = np.zeros_like(model.objective)
            objective[block] = 1 << np.arange(len(block) - 1, -1, -1, dtype=np.int64)
            weight = scale * ((len(rest) + 1) << (len(order) - start - len(block)))
            stages.append(Stage(objective=objective, weight=weight, best=(1 << len(block)) - 1))
        if len(rest):
            objective = np.zeros_like(model.objective)
            objective[rest] = 1
            stages.append(Stage(objective=objective, weight=scale, best=len(rest)))
        if len(wished):
            objective = np.zeros_like(model.objective)
            objective[wished] = 1
            stages.append(Stage(objective=objective, weight=1, best=scale - 1))
        return tuple(stages) or Formulation.stages(self, round_, model)

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision: the admitted gangs, packed anew if that works, else where the values put them.

        Packing running gangs first where they are, then the others from the largest by best fit, moves and splits fewer
        gangs than a solver that does not care where they sit. With ``restarts`` what was moved for nothing goes home.
        """
        part = self.open_part(round_)
        jobs = np.flatnonzero(values[: len(round_.jobs)] == 1).tolist()
        held = {job: now for job in jobs if (now := held_gpus(round_, job)) is not None} | part.stays
        order = sorted(jobs, key=lambda job: (job not in held, -round_.jobs[job].gpus))
        fewest = self.nodes == "fewest"
        homes = {job: home for job, home in held.items() if job not in part.stays}
        shares = placed_at_home(round_, order, homes, consolidate=fewest, fixed=part.stays) if held else None
        if shares is None:
            shares = placed_around(round_, order, held, consolidate=fewest, beside=part.stays)
        if shares is None:
            shares = self._as_valued(round_, order, values)
        elif part.scale > 1:
            valued = self._as_valued(round_, order, values)
            shares = valued if part.inside(valued) > part.inside(shares) else shares
        if held and self.restarts:
            made = Rearrangement(round_, shares, homes, fixed=part.stays, consolidate=fewest)
            made.undo_moves()
            made.on_fewer_nodes()
            shares = made.shares
        return gang_decision(round_, shares, consolidate=fewest, preempt=self.preempt)

    def encode(self, round_: Round, decision: Decision) -> Ints:
        """Return the columns of a decision of single gangs."""
        part = self.open_part(round_)
        places = self._places(part)
        amount = np.zeros((len(round_.jobs), len(places.G)), dtype=np.int64)
        a = np.zeros(len(round_.jobs), dtype=np.int64)
        asked = self._columns(round_, part, places)
        h, at_home = np.zeros(len(asked.home), dtype=np.int64), set(asked.home.tolist())
        for assignment in decision.assignments:
            job = round_.job_index[assignment.jobs[0]]
            if job in part.stays:
                continue
            a[job] = 1
            if job in at_home and dict(assignment.gpus) == round_.jobs[job].placement:
                h[asked.home == job] = 1
                continue
            for node, gpus in assignment.gpus.items():
                amount[job, places.of_node[round_.cluster.node_index[node]]] += gpus
        x = amount[tuple(places.pairs.T)]
        loans = LoanColumns.of(round_, part)
        borrowed = [] if loans is None else [loans.encoded(a)]
        inside = self._wishes(part, places, asked).encoded(part.amounts.g, x, h)
        return np.concatenate([a, x, h, *asked.encoded(places, part.amounts.g, x), *borrowed, inside])

    def worth(self, round_: Round, shares: Mapping[int, Ints]) -> tuple[int, int]:
        """Return what the model's objective is for GPUs per node, and how many jobs are inside a unit they prefer."""
        part = self.open_part(round_)
        open_ = {job: share for job, share in shares.items() if job not in part.stays}
        inside = part.inside(open_)
        return part.scale * int(self._weights(part)[list(open_)].sum()) + inside, inside

    def may_settle(self, round_: Round, decision: Decision) -> bool:
        """Return whether restarts are paid, jobs run, and something is changed, or starts on several nodes."""
        chosen = len(decision.assignments) * len(round_.cluster.nodes)
        if not self.restarts or chosen > MOST_PAIRS or all(job.state != "running" for job in round_.jobs):
            return False
        made = changes(round_, decision)
        started = (change for change in (*made.start, *made.move) if len(change.after or ()) > 1)
        return bool(made.stop or made.move or made.resize or made.regroup) or any(started)

    def settle(self, round_: Round, decision: Decision, budget: Budget, solve: SolveStages) -> Settled | None:
        """Return of the decisions of the same value the one whose changes cost least, on the fewest nodes."""
        from muri_opt.systems.gangs.settling import settled

        return settled(self, round_, decision, budget, solve)

    def work(self, round_: Round) -> float:
        """Return what a solver takes to place gangs on nodes better than the list schedule, told by pairs of both.

        Measured: 0.2 s for 1,600 pairs, 9 to 12 s for 30,000; before that it has nothing but what it was given.
        """
        held = Counter[str]()
        for job in round_.jobs if not self.preempt else ():
            held.update(job.placement or {})
        nodes = [node for node in round_.cluster.nodes if node.gpus > held[node.id]]
        alike = [node for node in nodes if self.nodes == "any" and node.cpus is None and node.memory_gib is None]
        return 1e-4 * len(round_.jobs) * (len(nodes) - len(alike[1:]))

    @property
    def has_duals(self) -> bool:
        """Only the weighted objective is small enough for a linear program."""
        return self.objective == "weighted"

    def quick_duals(self, round_: Round) -> LinearDuals | None:
        """Return the multipliers of GPUs and quotas from filling the cluster in priority order."""
        if not self.has_duals:
            return None
        part = self.open_part(round_)
        return greedy_duals(part.amounts, part.order.tolist(), part.fits)

    def duals(self, round_: Round, model: Model, row_duals: NDArray[np.float64]) -> LinearDuals | None:
        """Return the multipliers of GPUs, CPUs, memory and quotas from the duals of the linear relaxation."""
        part = self.open_part(round_)
        return node_duals(round_, model, row_duals / part.scale, self._places(part).of_node)

    def _as_valued(self, round_: Round, order: list[int], values: Values) -> dict[int, Ints]:
        """Return GPUs per node of every gang as the columns x say; inside a pool by best fit."""
        part = self.open_part(round_)
        places = self._places(part)
        count = len(round_.jobs)
        amount = np.zeros((count, len(places.G)), dtype=np.int64)
        last = count + len(places.pairs)
        amount[tuple(places.pairs.T)] = values[count:last]
        home = self._columns(round_, part, places).home
        at_home = {int(job): part.held[int(job)] for job in home[values[last : last + len(home)] == 1]}
        left, shares = Leftover.beside(round_, part.stays | at_home), part.stays | at_home
        for job in order:
            if job not in at_home:
                shares[job] = places.on_nodes(amount[job], left.gpus, held_gpus(round_, job))
                left.take(shares[job], job)
        return shares

    def open_part(self, round_: Round) -> OpenPart:
        """Return the part of a round that the program decides."""
        return OpenPart.of(round_, self.order, preempt=self.preempt)

    def _places(self, part: OpenPart) -> Places:
        pool, whole = self.nodes == "any" and not part.shaped, self.nodes == "fewest"
        return Places.of(part.amounts, pool=pool, whole=whole, fits=part.fits, sets=part.sets)

    def _columns(self, round_: Round, part: OpenPart, places: Places, *, rows: bool = False) -> DemandColumns:
        return DemandColumns.of(round_, part, places, fewest=self.nodes == "fewest", rows=rows)

    def _wishes(self, part: OpenPart, places: Places, asked: DemandColumns) -> WishColumns:
        return WishColumns.of(part, places, asked.home, asked.homes)

    def _weights(self, part: OpenPart) -> Ints:
        """Return w_j: each GPU of the job of rank r among n is worth n - r."""
        weights = np.zeros_like(part.amounts.g)
        weights[part.order] = np.arange(len(part.order), 0, -1)
        return weights * part.amounts.g

    def _add_quota(self, builder: ModelBuilder, part: OpenPart, a: Ints) -> None:
        amounts = part.amounts
        limited = np.flatnonzero(amounts.U < UNLIMITED)
        jobs, owner = np.arange(len(a)), amounts.tenant
        if amounts.lines is not None:
            lines = [amounts.line(int(tenant)) for tenant in owner]
            jobs, owner = np.repeat(jobs, list(map(len, lines))), np.array(sum(lines, ()), dtype=np.int64)
        member = np.isin(owner, limited)
        rows, jobs = np.searchsorted(limited, owner[member]), jobs[member]
        entries = (rows, a[jobs], amounts.g[jobs])
        builder.add_rows("quota", limited, entries=entries, sense="<=", rhs=amounts.U[limited])
