"""The fewest moved GPUs: the greedy's plan, prices that may prove it, and the program where they do not."""

from __future__ import annotations

from collections.abc import Mapping

from muri_opt.errors import RefusalError
from muri_opt.modelling import Relax, Solve, Solved
from muri_opt.rounds import Agreement, Budget, Evidence, Limit, Limits, Proof, Reason, Round, Termination
from muri_opt.systems.defragment.column_generation import as_duals, free_bound, priced_bound
from muri_opt.systems.defragment.encode_decode import decoded, encoded
from muri_opt.systems.defragment.goal import Goal, checked_budget
from muri_opt.systems.defragment.greedy import greedy_plan
from muri_opt.systems.defragment.moves_state import Plan
from muri_opt.systems.defragment.prices import Column, Priced
from muri_opt.systems.defragment.program import build_program
from muri_opt.systems.defragment.result import Cost, Defragmentation, Move
from muri_opt.systems.defragment.rounding import rounded_plan
from muri_opt.systems.defragment.running_jobs import Start

_ROUNDING = 4
"""The share of the budget left that making columns whole may take, as a divisor."""


def free_nodes(
    round_: Round,
    *,
    nodes: int,
    budget: int | None = None,
    solvers: Mapping[str, Solve] | None = None,
    relax: Relax | None = None,
    limits: Limits | None = None,
) -> Defragmentation:
    """Return the moves of fewest GPUs, then jobs, after which so many nodes with GPUs hold no job.

    ``relax`` solves linear relaxations and finds prices that prove most answers. The first of ``solvers`` solves the
    program where that is needed, a second one confirms what no price proves. Without any the greedy answers alone.

    >>> nodes = (Node(id="n0", gpus=2), Node(id="n1", gpus=2))
    >>> a = Job(id="a", gpus=1, state="running", placement={"n0": 1}, restart_seconds=5)
    >>> b = Job(id="b", gpus=1, state="running", placement={"n1": 1}, restart_seconds=5)
    >>> round_ = Round(cluster=Cluster(nodes=nodes), jobs=(a, b))
    >>> free_nodes(round_, nodes=1).cost
    Cost(gpus=1, jobs=1)
    """
    start = Start.of(round_)
    search = _Search(start, Goal.free(start, nodes), checked_budget(budget), limits or Limits())
    return search.run(solvers or {}, relax)


def make_room(
    round_: Round,
    *,
    job: str,
    budget: int | None = None,
    solvers: Mapping[str, Solve] | None = None,
    relax: Relax | None = None,
    limits: Limits | None = None,
) -> Defragmentation:
    """Return the moves of fewest GPUs, then jobs, after which a waiting job fits on as few nodes as it ever needs.

    The other arguments are those of :func:`free_nodes`.

    >>> make_room(shipped_round("toy/three-fragments"), job="job-8").cost
    Cost(gpus=3, jobs=2)
    """
    start = Start.of(round_)
    search = _Search(start, Goal.hold(start, job), checked_budget(budget), limits or Limits())
    return search.run(solvers or {}, relax)


class _Search:
    """The best plan and the best bound so far; the program is solved only while they do not meet."""

    def __init__(self, start: Start, goal: Goal, budget: int | None, limits: Limits) -> None:
        self.start, self.goal, self.budget, self.within = start, goal, budget, Budget(limits=limits)
        self.plan: Plan | None = None
        self.bound = 0
        self.proof: Proof | None = None
        self.sure: tuple[int, Proof | None] = (0, None)
        self.evidence: tuple[Evidence, ...] = ()
        self.claimant = ""
        self.said = Termination(reason=Reason.NO_SOLUTION, limit=Limit.HEURISTIC, detail="greedy")

    @property
    def cost(self) -> int | None:
        """The cost of the best plan."""
        return None if self.plan is None else self.plan.cost(self.start)

    @property
    def settled(self) -> bool:
        """Whether plan and bound meet, or no plan can exist."""
        return self.bound > self.start.most if self.plan is None else self.cost == self.bound

    def run(self, solvers: Mapping[str, Solve], relax: Relax | None) -> Defragmentation:
        """Return what is known in the end."""
        impossible = self.goal.impossible(self.start)
        if impossible is not None:
            self.bound, self.proof = self.start.most + 1, Proof.COUNTING
            return self._nothing(Reason.INFEASIBLE, impossible)
        self.plan = greedy_plan(self.start, self.goal)
        self._price(free_bound(self.start, self.goal), Proof.COUNTING, "counting")
        if relax is not None and not self.settled:
            priced, columns = priced_bound(self.start, self.goal, relax, self.cost, self.within)
            self._price(priced, Proof.LINEAR_DUALS, "prices")
            if solvers:
                self._round(columns, next(iter(solvers.values())))
        for name, solve in list(solvers.items())[:2]:
            if not self.settled or self.proof is Proof.CLAIM_ONLY:
                self._solve(name, solve)
        return self._result()

    def _price(self, priced: Priced, proof: Proof, detail: str) -> None:
        """Keep the bound if it is better."""
        if priced.bound > self.bound or self.proof is None:
            self.bound, self.proof = self.sure = priced.bound, proof
            self.evidence = (as_duals(self.start, priced),) if proof is Proof.LINEAR_DUALS else ()
            self.said = Termination(reason=Reason.NO_SOLUTION, limit=Limit.HEURISTIC, detail=f"greedy and {detail}")

    def _round(self, columns: list[Column], solve: Solve) -> None:
        """Look for a better plan among the columns of the prices; a part of the budget is enough for that."""
        if self.settled:
            return
        plan = rounded_plan(self.start, self.goal, columns, solve, self.within.share(1 / _ROUNDING))
        if plan is not None and (self.cost is None or plan.cost(self.start) < self.cost):
            self.plan = plan
            detail = "prices and columns made whole"
            self.said = Termination(reason=Reason.NO_SOLUTION, limit=Limit.HEURISTIC, detail=detail)

    def _solve(self, name: str, solve: Solve) -> None:
        """Ask a solver, and keep what it finds and claims; a second one only confirms."""
        program = build_program(self.start, self.goal)
        values = None if self.plan is None else encoded(self.start, self.goal, program, self.plan)
        try:
            found = solve(program.model, self.within.left(), values)
        except RefusalError as error:
            if not self.settled:
                self.said = Termination(reason=Reason.NO_SOLUTION, limit=Limit.SIZE, detail=str(error))
            return
        self.within.spend(found.work)
        plan = None if found.values is None else decoded(self.start, program, found.values)
        if self.settled:
            self._confirm(name, found, plan)
            return
        self.claimant, self.said = name, found.termination
        if plan is not None and (self.cost is None or plan.cost(self.start) < self.cost):
            self.plan = plan
        claim = self.start.most + 1 if found.termination.reason is Reason.INFEASIBLE else found.bound
        if claim is not None and int(claim) > self.bound:
            self.bound, self.proof = int(claim), Proof.CLAIM_ONLY

    def _confirm(self, name: str, found: Solved, plan: Plan | None) -> None:
        """Note that a second solver agrees; where it does not, neither is believed."""
        reason = found.termination.reason
        cost = self.start.most + 1 if plan is None else plan.cost(self.start)
        if reason not in (Reason.OPTIMAL, Reason.INFEASIBLE):
            return
        if cost == self.bound:
            self.proof = Proof.AGREEMENT
            self.evidence = (*self.evidence, Agreement(backends=(self.claimant, name)))
            return
        self.bound, self.proof = self.sure
        if plan is not None and (self.cost is None or cost < self.cost):
            self.plan = plan
        detail = f"{self.claimant} and {name} claim different optima"
        self.said = Termination(reason=Reason.NO_SOLUTION, limit=Limit.FAULT, detail=detail)

    def _result(self) -> Defragmentation:
        """Return the plan, or that there is none, or none within the budget, or none that was found."""
        if self.bound > self.start.most:
            return self._nothing(Reason.INFEASIBLE, f"no moves reach the goal ({self.said.detail})")
        if self.budget is not None and self._cost(self.bound).gpus > self.budget:
            return self._over_budget(self.budget)
        if self.plan is None:
            return self._nothing(self.said.reason, self.said.detail, self.said.limit)
        cost = self._cost(self.plan.cost(self.start))
        if self.budget is not None and cost.gpus > self.budget:
            detail = f"nothing within the budget was found; {cost.gpus} moved GPUs would do ({self.said.detail})"
            return self._nothing(Reason.NO_SOLUTION, detail, self.said.limit or Limit.FAULT)
        if self.settled:
            termination = Termination(reason=Reason.OPTIMAL, detail=self.said.detail)
        else:
            limit = self.said.limit or Limit.FAULT
            termination = Termination(reason=Reason.FEASIBLE, limit=limit, detail=self.said.detail)
        return self._answer(self.plan, termination)

    def _over_budget(self, budget: int) -> Defragmentation:
        """Return that the budget does not do, with the smallest that does, if it is known."""
        least = self._cost(self.bound).gpus
        most = None if self.plan is None else self._cost(self.plan.cost(self.start)).gpus
        needed = most if most == least else None
        would = f"{least} would do" if needed else f"at least {least} are needed" + f", {most} do" * (most is not None)
        return self._nothing(Reason.INFEASIBLE, f"a budget of {budget} moved GPUs does not do: {would}", needed=needed)

    def _answer(self, plan: Plan, termination: Termination) -> Defragmentation:
        start, job = self.start, self.goal.job
        moves = tuple(
            Move(job=start.round_.jobs[j].id, source=self._named(start.held[j]), target=self._named(end))
            for j, end in plan.moved.items()
        )
        return Defragmentation(
            nodes=self.goal.chosen if job is None else None,
            job=None if job is None else start.round_.jobs[job].id,
            budget=self.budget,
            moves=moves,
            freed=self._emptied(plan) if job is None else (),
            placement=None if job is None else self._named(plan.hosts),
            cost=self._cost(plan.cost(start)),
            bound=self._cost(self.bound),
            proof=self.proof,
            evidence=self.evidence,
            termination=termination,
        )

    def _nothing(
        self, reason: Reason, detail: str, limit: Limit | None = None, needed: int | None = None
    ) -> Defragmentation:
        job = self.goal.job
        return Defragmentation(
            nodes=self.goal.chosen if job is None else None,
            job=None if job is None else self.start.round_.jobs[job].id,
            budget=self.budget,
            bound=None if self.bound > self.start.most or self.proof is None else self._cost(self.bound),
            proof=self.proof,
            evidence=self.evidence,
            needed_budget=needed,
            termination=Termination(reason=reason, limit=limit, detail=detail),
        )

    def _cost(self, value: int) -> Cost:
        return Cost(*divmod(value, self.start.weight))

    def _named(self, share: Mapping[int, int]) -> dict[str, int]:
        return {self.start.round_.cluster.nodes[s].id: gpus for s, gpus in sorted(share.items())}

    def _emptied(self, plan: Plan) -> tuple[str, ...]:
        """Return the nodes with GPUs that hold no job in the end."""
        held = {s for j, share in self.start.held.items() for s in plan.moved.get(j, share)}
        nodes = self.start.round_.cluster.nodes
        return tuple(node.id for s, node in enumerate(nodes) if self.start.gpus[s] and s not in held)
