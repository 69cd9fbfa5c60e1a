"""Any policy in a replay: a session is told what happens, and what it is to do becomes placements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Final, Literal

from muri_opt.replay.engine.bad_decisions import BadDecisionError, ReplayError, fault_of, save_bad_round
from muri_opt.replay.engine.job_progress import JobProgress
from muri_opt.replay.engine.job_state import Live, Placement, Reason, positions
from muri_opt.replay.engine.rates import Rates
from muri_opt.replay.engine.schedulers import Allocation
from muri_opt.replay.engine.spread_speeds import SpreadSpeeds
from muri_opt.replay.workload import Workload
from muri_opt.rounds import Assignment, Cluster, Decision, Job, Limits, Round, WaitingReason, changes
from muri_opt.rounds.round import ROUND_FORMATS
from muri_opt.solve.decided import decided
from muri_opt.solve.round import solve_round
from muri_opt.solve.session.session import Session
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
    error of the policy, ends the replay, or is counted and all placements stay as they are. The round goes to a file in
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
        self._progress, self._rates = JobProgress(), Rates(speeds)
        self._rounds = 0
        self._known: set[int] = set()
        self._alone: dict[int, Placement] = {}
        """The last placement of each job that was given one for itself; of a group that shrank, another one is left."""
        self._being_carried_out: int | None = None
        self._session = Session(
            cluster,
            self.policy,
            self.asking.method,
            resources=workload.resources,
            name=workload.name,
            round_format=ROUND_FORMATS[0],
            any_job=True,  # what a policy refuses may be counted, and the round that shows it saved
        )

    def decide(self, live: Live) -> Allocation:
        """Return what the decision changes; nothing, where it is bad and bad ones are counted."""
        self._tell(live)
        round_ = self._session.round_at(live.now)
        for name in self._session.promoted:
            self._progress.promote(live, self._position[name])
        self._rounds += 1
        try:
            decision = self._decision(round_)
            todo = changes(round_, decision)
            allocation = self._allocation(live, round_, decision, {change.job for change in todo.keep})
        except Exception as error:
            return self._bad(round_, error)
        self._being_carried_out = self._session.adopt(live.now, decision, todo)
        return allocation

    def wakes(self, live: Live) -> float:
        """Return when time alone would change what the policy decides, as far as that is known."""
        if not live.waiting:
            return inf
        running, waiting = positions(sorted(live.placements)), positions(sorted(live.waiting))
        return live.now + self.policy.wakes(self._progress.had(live, running), self._progress.had(live, waiting))

    def _tell(self, live: Live) -> None:
        """Tell the session what has happened since the last round, and how far every job is."""
        session, jobs = self._session, self._workload.jobs
        if self._being_carried_out is not None:
            session.acknowledge(self._being_carried_out)
            self._being_carried_out = None
        for job, service in zip(live.gone, live.attained(positions(live.gone)).tolist(), strict=True):
            session.finished(jobs[job].id)
            self.policy = self.policy.learned(service)
        for job in live.queued:
            if job in self._known:
                session.failed(jobs[job].id)
            else:
                session.submit(jobs[job])
        self._known.update(live.queued)
        places = live.jobs
        session.progress_all([jobs[job].id for job in places], **self._progress.columns(live, positions(places)))

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

    def _allocation(self, live: Live, round_: Round, decision: Decision, kept: set[str]) -> Allocation:
        """Return what a decision changes; of a job that stays alone as it is, the placement need not be worked out."""
        placements, placed = list[Placement](), set[int]()
        for one in decision.assignments:
            if len(one.jobs) == 1 and one.jobs[0] in kept:
                place = self._position[one.jobs[0]]
                present = live.placements[place]
                if present is self._alone.get(place) and present.plan == one.plan:
                    placed.add(place)
                    continue
            placement = self._placement(round_, one)
            placed.update(placement.jobs)
            if live.placements.get(placement.jobs[0]) != placement:
                placements.append(placement)
                if len(placement.jobs) == 1:
                    self._alone[placement.jobs[0]] = placement
        reasons = ((self._position[wait.job], _REASONS.get(wait.reason)) for wait in decision.waiting)
        return Allocation(
            placements=tuple(placements),
            stops=tuple(job for job in sorted(live.placements) if job not in placed),
            waiting={job: reason for job, reason in reasons if reason is not None},
        )

    def _placement(self, round_: Round, assignment: Assignment) -> Placement:
        jobs: list[Job] = []
        for name in assignment.jobs:
            if name not in round_.job_index:
                raise BadDecisionError(f"job {name!r} is not there")
            jobs.append(round_.jobs[round_.job_index[name]])
        nodes = self._cluster.node_index
        for node in assignment.gpus:
            if node not in nodes:
                raise BadDecisionError(f"node {node!r} is not there")
        return Placement(
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
