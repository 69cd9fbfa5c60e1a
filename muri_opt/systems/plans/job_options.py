"""The ways one job may run, kept from round to round: between two rounds few jobs change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.configurations import JobConfiguration, configurations_of
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.plans.next_configurations import next_names, reads_names, remaining_cost
from muri_opt.systems.plans.plan_parts import Entry, Part, check_strategy, entries_of, is_home, may_run, nodes_with_room
from muri_opt.systems.plans.plan_rules import PlanRules
from muri_opt.systems.plans.plan_value import MILLION, fair_worth, kept_after_restart, reference_of, worth


@dataclass(frozen=True, kw_only=True, eq=False)
class JobPlans:
    """What a job's plans are on a cluster, whatever the job has done: those that fit it empty, and what names tell.

    ``waiting`` has the options that the job had last by each rules where it did not run, and what they depend on.
    """

    job: Job
    fitting: tuple[Entry, ...]
    waiting: dict[PlanRules, tuple[tuple[object, ...], JobOptions]] = field(default_factory=dict)

    def are_those_of(self, job: Job) -> bool:
        """Return whether a job of the same cluster has these plans, and takes by them what this one does."""
        mine = self.job
        return (
            mine.gpus == job.gpus
            and mine.cpus == job.cpus
            and mine.memory_gib == job.memory_gib
            and mine.plans == job.plans
        )

    @cached_property
    def configurations(self) -> Mapping[str, JobConfiguration]:
        """The configuration that each name tells; plans that are none are refused."""
        return configurations_of(self.job)

    @cached_property
    def fastest(self) -> Mapping[str, float]:
        """The largest throughput of the plans of each name, on any nodes."""
        found: dict[str, float] = {}
        for plan in self.job.plans or ():
            found[plan.name] = max(found.get(plan.name, 0.0), plan.throughput)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class JobOptions:
    """The options of a job, in rows of (plan, q, g, c, m, e, kind) under the letters of the chapter *planning*.

    Those ``at_home`` are for the nodes the job holds. ``best`` and ``least`` are the largest and smallest value.
    """

    plans: JobPlans
    rows: Ints
    at_home: NDArray[np.bool_]
    throughput: NDArray[np.float64]
    best: int
    least: int

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def ways(self) -> Mapping[JobConfiguration, Sequence[int]]:
        """The options of each configuration as they are to be tried: without a restart, then on the fewest nodes."""
        plans, known = self.plans.job.plans or (), self.plans.configurations
        found: dict[JobConfiguration, list[int]] = {}
        position = self.rows[:, 0].tolist()
        for o in np.lexsort((self.rows[:, 1], ~self.at_home)).tolist():
            found.setdefault(known[plans[position[o]].name], []).append(o)
        return found

    @cached_property
    def smallest(self) -> Mapping[tuple[str, int], JobConfiguration]:
        """Of each kind and share, the configuration of the fewest tasks, and of those the one of the fewest servers."""
        found: dict[tuple[str, int], JobConfiguration] = {}
        for at in sorted(self.ways, key=lambda at: (at.tasks, at.servers)):
            found.setdefault((at.kind, at.share), at)
        return found


class JobReader:
    """Reads the jobs of a round; ``known`` are plans that jobs by these names had on the same cluster before."""

    def __init__(self, round_: Round, known: Mapping[str, JobPlans]) -> None:
        nodes = round_.cluster.nodes
        self._round, self._known = round_, known
        self._kinds: dict[str | None, int] = {None: 0}
        for node in nodes:
            self._kinds.setdefault(node.gpu_type, len(self._kinds))
        self.hosts: NDArray[np.bool_] = np.array(
            [[kind is None or node.gpu_type == kind for node in nodes] for kind in self._kinds], dtype=np.bool_
        ).reshape(len(self._kinds), len(nodes))
        self._able: dict[tuple[str | None, Part], int] = {}

    def options(self, job: Job, rules: PlanRules) -> JobOptions:
        """Return the options of a job, refusing plans that contradict each other."""
        plans = self._known.get(job.id)
        if plans is None or not plans.are_those_of(job):
            plans = JobPlans(job=job, fitting=tuple(entry for entry in entries_of(job) if self._fits(entry)))
        if job.state == "running" and job.placement:
            return self._read(job, plans, rules)
        told = (job.plan, job.predictable, job.remaining_iterations, job.guarantee, job.tenant)
        kept = plans.waiting.get(rules)
        if kept is None or kept[0] != told:
            kept = plans.waiting[rules] = (told, self._read(job, plans, rules))
        return kept[1]

    def _fits(self, entry: Entry) -> bool:
        """Return whether the parts of a plan fit on distinct nodes of the empty cluster."""
        kind = entry.plan.gpu_type
        if kind not in self._kinds:
            return False
        if (kind, entry.part) not in self._able:
            self._able[kind, entry.part] = nodes_with_room(self._round, entry.part, self.hosts[self._kinds[kind]])
        return self._able[kind, entry.part] >= entry.plan.nodes

    def _read(self, job: Job, plans: JobPlans, rules: PlanRules) -> JobOptions:
        check_strategy(job, rules.change)
        known = plans.configurations if reads_names(rules) else {}
        names = next_names(job, rules, known)
        ways = [
            (entry, at_home)
            for entry in plans.fitting
            if (names is None or entry.plan.name in names) and may_run(job, entry.plan, rules.change)
            for at_home in ((True, False) if is_home(job, entry) else (False,))
        ]
        values = self._values(job, plans.fitting, ways, rules, known)
        rows = [
            (entry.position, entry.plan.nodes, *entry.part, value, self._kinds[entry.plan.gpu_type])
            for (entry, _), value in zip(ways, values, strict=True)
        ]
        return JobOptions(
            plans=plans,
            rows=np.array(rows, dtype=np.int64).reshape(len(rows), 7),
            at_home=np.array([at_home for _, at_home in ways], dtype=np.bool_),
            throughput=np.array([entry.plan.throughput for entry, _ in ways], dtype=np.float64),
            best=max(values, default=0),
            least=min(values, default=0),
        )

    def _values(
        self,
        job: Job,
        fitting: Sequence[Entry],
        ways: Sequence[tuple[Entry, bool]],
        rules: PlanRules,
        known: Mapping[str, JobConfiguration],
    ) -> list[int]:
        """Return what each way is worth; where remaining times count, what that costs, negative."""
        restarts = job.state == "running" and bool(job.placement)
        lost = microseconds(job.restart_seconds or 0.0) if restarts else 0
        if rules.objective != "throughput":
            return [-remaining_cost(job, entry.plan, 0 if at_home else lost, rules, known) for entry, at_home in ways]
        if rules.power is not None:
            lowest = min((entry.plan.throughput for entry, _ in ways), default=1.0)
            kept = kept_after_restart(self._round, job) if restarts else Fraction(1)
            return [
                fair_worth(entry.plan.throughput, lowest, Fraction(1) if at_home else kept, rules.power)
                for entry, at_home in ways
            ]
        scale = MILLION / reference_of(job, [entry.plan for entry in fitting], rules.reference)
        return [worth(entry.plan.throughput, scale, 0 if at_home else lost, rules) for entry, at_home in ways]
