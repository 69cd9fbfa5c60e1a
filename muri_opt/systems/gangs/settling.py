"""Of the answers of one value the one whose changes cost least, and of those one on the fewest nodes."""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import Final

import numpy as np

from muri_opt.modelling import Ints, Model, Solved, SolveStages, Stage
from muri_opt.rounds import Budget, Decision, Round
from muri_opt.rounds.change_costs import changes_cost
from muri_opt.systems.capacity import fewest_nodes, gang_decision
from muri_opt.systems.capacity.rearrangement import Rearrangement, Shares
from muri_opt.systems.gangs.program import MOST_PAIRS, GangFormulation
from muri_opt.systems.gangs.program_changes import ChangesFormulation, held_at, stays_of
from muri_opt.systems.gangs.program_places import OpenPart
from muri_opt.systems.program import Settled

MOST_PAIRS_OF_ALL: Final = 4_000
"""All jobs, times nodes, up to which all answers of the value are looked at."""
MOST_PAIRS_COUNTED: Final = 1_000
"""The same up to which the number of nodes is least over all answers of the value and the cost."""
_PART: Final = 0.4
"""Of the budget, for the jobs that were chosen before all others are looked at."""


def settled(
    formulation: GangFormulation, round_: Round, decision: Decision, budget: Budget, solve: SolveStages
) -> Settled | None:
    """Return a decision of at least the same value; ``None`` where nothing can be found."""
    if not formulation.may_settle(round_, decision):
        return None
    search = _Settling(formulation, round_, decision, budget, solve)
    search.spare_restarts()
    search.use_fewer_nodes()
    return Settled(decision=search.decision, least=search.least)


class _Settling:
    """The decision so far, and what no decision of its value costs less than, as far as that is known."""

    def __init__(
        self, formulation: GangFormulation, round_: Round, decision: Decision, budget: Budget, solve: SolveStages
    ) -> None:
        self.decision, self.least = decision, None if changes_cost(round_, decision) else 0
        self._round, self._budget, self._solve = round_, budget, solve
        self._formulation = formulation
        self._value = formulation.worth(round_, self._shares())
        part = self._program(counted=False).open_part(round_)
        self._part: OpenPart = part
        self._costs = stays_of(round_, part)
        self._unit = gcd(*self._costs.values()) or 1
        # of jobs that cannot go on as they are; the same in every decision
        self._always = changes_cost(round_, decision) - sum(self._costs.values()) + self._spared(decision)

    def spare_restarts(self) -> None:
        """Look for cheaper changes: first of where the chosen jobs are, then of all answers of the value."""
        if self.least is not None:
            return
        every, chosen = len(self._round.jobs), len(self.decision.assignments)
        nodes = len(self._round.cluster.nodes)
        only = self._formulation.objective == "lexicographic"
        if chosen * nodes <= MOST_PAIRS and (only or self._moved()):
            within = self._budget if only else self._budget.share(_PART)
            bound = self._spare(self._program(counted=False, chosen=self._running()), within)
            self.least = self._cost_of(bound) if only else None
        if not only and every * nodes <= MOST_PAIRS_OF_ALL and not self._budget.over():
            self.least = self._cost_of(self._spare(self._program(counted=False), self._budget))

    def use_fewer_nodes(self) -> None:
        """Put gangs that start or move on fewer nodes; of a small round over all answers of this value and cost."""
        shares = self._shares()
        made = Rearrangement(
            self._round,
            shares,
            self._part.held,
            fixed=self._part.stays,
            consolidate=self._formulation.nodes == "fewest",
        )
        made.on_fewer_nodes()
        loose = made.loose()
        if any(made.shares[job] is not shares[job] for job in loose):
            self.decision = self._decided(made.shares)
        spread = sum(int(np.count_nonzero(made.shares[job])) - fewest_nodes(self._round, job) for job in loose)
        pairs = len(self._round.cluster.nodes) * len(made.shares)
        if spread <= 0 or self._budget.over() or pairs > MOST_PAIRS:
            return
        only = self._formulation.objective == "lexicographic"
        small = len(self._round.cluster.nodes) * len(self._round.jobs) <= MOST_PAIRS_COUNTED
        chosen = None if small and not only else self._running()
        at_home = frozenset() if small else self._at_home()
        program = self._program(counted=True, chosen=chosen, at_home=at_home)
        model = program.build(self._round)
        spared = self._spared(self.decision) // self._unit
        model = held_at(model, "spared", program.spared(model, self._costs, self._unit), spared)
        self._optimise(program, model, program.nodes_used(self._round, model), self._budget)

    def _spare(self, program: ChangesFormulation, budget: Budget) -> int | None:
        """Spare what can be of restarts; return the most that any answer of the program spares, if that is known."""
        model = program.build(self._round)
        found = self._optimise(program, model, program.spared(model, self._costs, self._unit), budget)
        return None if found.bound is None else int(found.bound) * self._unit

    def _optimise(self, program: ChangesFormulation, model: Model, objective: Ints, budget: Budget) -> Solved:
        """Take the best decision of a program by an objective; it begins with the decision so far."""
        start = program.encode(self._round, self.decision)
        stage = Stage(objective=objective, weight=1, best=0)
        found = self._solve(replace(model, objective=objective), (stage,), budget.left(), start)
        budget.spend(found.work)
        if found.values is not None and int(np.dot(objective, found.values)) > int(np.dot(objective, start)):
            self.decision = program.decode(self._round, found.values)
        return found

    def _cost_of(self, spared: int | None) -> int | None:
        """Return what the changes cost of a decision that spares so much."""
        return None if spared is None else self._always + sum(self._costs.values()) - spared

    def _program(
        self, *, counted: bool, chosen: frozenset[int] | None = None, at_home: frozenset[int] = frozenset()
    ) -> ChangesFormulation:
        base = self._formulation
        worth, wished = self._value
        return ChangesFormulation(
            order=base.order,
            objective=base.objective,
            nodes=base.nodes,
            preempt=base.preempt,
            value=worth if chosen is None else wished,
            chosen=chosen,
            at_home=at_home,
            counted=counted,
        )

    def _running(self) -> frozenset[int]:
        """Return the open jobs that run by the decision."""
        index = self._round.job_index
        jobs = (index[job] for one in self.decision.assignments for job in one.jobs)
        return frozenset(job for job in jobs if job not in self._part.stays)

    def _at_home(self) -> frozenset[int]:
        """Return the open jobs that go on where they are."""
        jobs = self._round.jobs
        given = {self._round.job_index[one.jobs[0]]: one.gpus for one in self.decision.assignments}
        return frozenset(job for job in self._part.held if job in given and given[job] == jobs[job].placement)

    def _moved(self) -> bool:
        return any(job in self._running() - self._at_home() for job in self._costs)

    def _spared(self, decision: Decision) -> int:
        jobs = self._round.jobs
        given = {self._round.job_index[one.jobs[0]]: one.gpus for one in decision.assignments}
        stay = (job for job in self._costs if job in given and given[job] == jobs[job].placement)
        return sum(self._costs[job] for job in stay)

    def _shares(self) -> Shares:
        index, count = self._round.cluster.node_index, len(self._round.cluster.nodes)
        shares: Shares = {}
        for one in self.decision.assignments:
            share = np.zeros(count, dtype=np.int64)
            for node, gpus in one.gpus.items():
                share[index[node]] = gpus
            shares[self._round.job_index[one.jobs[0]]] = share
        return shares

    def _decided(self, shares: Shares) -> Decision:
        base = self._formulation
        return gang_decision(self._round, shares, consolidate=base.nodes == "fewest", preempt=base.preempt)
