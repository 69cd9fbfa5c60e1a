"""Any policy in a replay: the live jobs become a round, and its decision becomes seats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Final, Literal

from muri_opt.replay.engine.bad_decisions import BadDecisionError, ReplayError, fault_of, save_bad_round
from muri_opt.replay.engine.job_state import Live, Reason, Seat, positions
from muri_opt.replay.engine.rates import Rates
from muri_opt.replay.engine.round_jobs import RoundJobs
from muri_opt.replay.engine.schedulers import Allocation
from muri_opt.replay.engine.spread_speeds import SpreadSpeeds
from muri_opt.replay.workload import Workload
from muri_opt.rounds import Assignment, Cluster, Decision, Job, Limits, Round, WaitingReason
from muri_opt.solve.decided import decided
from muri_opt.solve.round import solve_round
from muri_opt.systems import Named, admit, policy_from
from muri_opt.verify import broken_rules

OnBad = Literal["stop", "count"]
ON_BAD: Final[tuple[OnBad, ...]] = ("stop", "count")
_REASONS: Final[dict[WaitingReason, Reason]] = {
    WaitingReason.QUOTA: "fairness",
    WaitingReason.FRAGMENTATION: "fragmentation",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How a policy is asked.

    ``method`` and ``limits`` are those of ``solve_round()``; the method ``heuristic`` is asked directly. Round n has
    the seed ``seed`` + n. ``verify`` checks every decision by the rules of the policy; a bare function
    may be checked by those of the policy ``verify_as``. ``on_bad`` says whether a decision that breaks rules, or an
    error of the policy, ends the replay, or is counted and all seats stay as they are. The round goes to a file in
    ``save``, the first one only where they are counted.
    """

    method: str = "heuristic"
    limits: Limits | None = None
    seed: int = 0
    verify: bool = True
    verify_as: str | None = None
    on_bad: OnBad = "stop"
    save: Path | None = None


class RoundScheduler:
    """A policy by its text or object, or any function from a round to a decision; it is not told of the ``speeds``."""

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        policy: Named,
        asking: Asking | None = None,
        speeds: SpreadSpeeds | None = None,
    ) -> None:
        self.asking = asking or Asking()
        self.policy = policy_from(policy)
        if self.asking.verify_as is not None:
            self.policy = self.policy.checked_as(policy_from(self.asking.verify_as).rules)
        self.spec = self.policy.spec
        self.counted = self.settled = 0
        self._workload, self._cluster = workload, cluster
        self._position = {job.id: position for position, job in enumerate(workload.jobs)}
        self._jobs, self._rates = RoundJobs(workload, cluster), Rates(speeds)
        self._rounds = 0

    def decide(self, live: Live) -> Allocation:
        """Return what the decision changes; nothing, where it is bad and bad ones are counted."""
        round_ = self._round(live)
        self._rounds += 1
        try:
            return self._allocation(live, round_, self._decision(round_))
        except Exception as error:
            return self._bad(round_, error)

    def wakes(self, live: Live) -> float:
        """Return when time alone would change what the policy decides, as far as that is known."""
        if not live.waiting:
            return inf
        running, waiting = positions(sorted(live.seats)), positions(sorted(live.waiting))
        return live.now + self.policy.wakes(self._jobs.had(live, running), self._jobs.had(live, waiting))

    def _round(self, live: Live) -> Round:
        places = live.jobs
        jobs = self._jobs.of(live, places)
        promoted = self.policy.promoted(jobs)
        for place in promoted:
            self._jobs.promote(live, places[place])
        if promoted:
            jobs = self._jobs.of(live, places)
        name, resources = self._workload.name, self._workload.resources
        return Round(name=name, now=live.now, resources=resources, cluster=self._cluster, jobs=jobs)

    def _decision(self, round_: Round) -> Decision:
        if self.asking.method != "heuristic":
            return self._solved(round_)
        admit(self.policy, round_)
        decision = decided(self.policy, round_, self._seed)
        broken = broken_rules(round_, self.policy.rules, decision) if self.asking.verify else []
        if broken:
            raise BadDecisionError.of(broken)
        return decision

    def _solved(self, round_: Round) -> Decision:
        """Return the decision of ``solve_round()``, which has verified it."""
        asking = self.asking
        limits = replace(asking.limits or Limits(), seed=self._seed)
        result = solve_round(round_, self.policy, asking.method, limits)
        if result.decision is None:
            raise BadDecisionError(f"no decision: {result.termination.detail}")
        if asking.verify and not result.certificate.feasible:
            raise BadDecisionError.of(result.certificate.violations)
        self.settled += result.gap is not None and result.gap <= limits.gap
        return result.decision

    @property
    def _seed(self) -> int:
        return self.asking.seed + self._rounds - 1

    def _allocation(self, live: Live, round_: Round, decision: Decision) -> Allocation:
        seats = [self._seat(round_, assignment) for assignment in decision.assignments]
        seated = {job for seat in seats for job in seat.jobs}
        reasons = ((self._position[wait.job], _REASONS.get(wait.reason)) for wait in decision.waiting)
        return Allocation(
            seats=tuple(seat for seat in seats if live.seats.get(seat.jobs[0]) != seat),
            stops=tuple(job for job in sorted(live.seats) if job not in seated),
            waiting={job: reason for job, reason in reasons if reason is not None},
        )

    def _seat(self, round_: Round, assignment: Assignment) -> Seat:
        jobs: list[Job] = []
        for name in assignment.jobs:
            if name not in round_.job_index:
                raise BadDecisionError(f"job {name!r} is not there")
            jobs.append(round_.jobs[round_.job_index[name]])
        nodes = self._cluster.node_index
        for node in assignment.gpus:
            if node not in nodes:
                raise BadDecisionError(f"node {node!r} is not there")
        return Seat(
            jobs=tuple(self._position[name] for name in assignment.jobs),
            gpus={nodes[node]: gpus for node, gpus in sorted(assignment.gpus.items())},
            plan=assignment.plan,
            rates=self._rates.of(tuple(jobs), assignment),
        )

    def _bad(self, round_: Round, error: Exception) -> Allocation:
        asking = self.asking
        self.counted += 1
        stops = asking.on_bad == "stop"
        path = None
        if asking.save is not None and (stops or self.counted == 1):
            path = save_bad_round(round_, asking.save, self._rounds)
        if not stops:
            return Allocation()
        where = "" if path is None else f"; the round is in {path}"
        text = f"at {round_.now:g} s, round {self._rounds} (seed {self._seed}): policy {self.spec!r} {fault_of(error)}"
        raise ReplayError(text + where, path) from error
