"""The clock of the AFS authors' simulator: shares change at every event and cost nothing; GPUs are only counted."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import inf

import numpy as np

from muri_opt.replay.clocks.afs_rules import asked_rule
from muri_opt.replay.outcome import Floats, Ints, JobOutcomes, Outcome
from muri_opt.replay.timeline_recorder import Recorder
from muri_opt.replay.workload import Workload
from muri_opt.rounds import Cluster
from muri_opt.systems.afs import Curves
from muri_opt.systems.afs.clock_rules import ClockRules
from muri_opt.systems.afs.event_clock import Live, Rule, run_clock


def replay_afs(workload: Workload, cluster: Cluster, policy: str, *, seed: int = 0, label: str = "") -> Outcome:
    """Return what becomes of a workload whose jobs say how they scale, under an elastic policy or a list of gangs.

    ``fifo``, ``srtf``, ``srsf`` and ``tiresias`` give a job the GPUs it asks for or none. The ``seed`` is of the coin
    that ``afs-p`` tosses.
    """
    workload.check_fits(cluster)
    began = time.perf_counter()
    curves = Curves.of(workload.jobs, cluster.total_gpus)
    requested = np.array([job.gpus for job in workload.jobs], dtype=np.int64)
    alone = np.array([job.iteration_seconds or 0.0 for job in workload.jobs])
    ideal = alone * np.array([job.remaining_iterations or 0 for job in workload.jobs])
    work = ideal * curves.speed[np.arange(len(requested)), requested]
    diary = _Diary(len(requested))
    rules = ClockRules(speed=curves.speed, cap=curves.cap, gpus=cluster.total_gpus)
    rule, wake = asked_rule(policy, rules, requested, work, seed=seed)
    submitted = np.array([job.submitted or 0.0 for job in workload.jobs])
    result = run_clock(
        arrivals=submitted,
        work=work,
        speed=curves.speed,
        cap=curves.cap,
        rule=diary.kept(rule),
        gpus=cluster.total_gpus,
        wake=wake,
    )
    diary.close(result.completions)
    return Outcome(
        workload=workload.name,
        policy=policy,
        clock="afs",
        cluster=label,
        seed=seed,
        total_gpus=cluster.total_gpus,
        jobs=_outcomes(workload, requested, submitted, result.completions, ideal, diary, result.changes),
        timeline=diary.notes.timeline(),
        rounds=result.events,
        decision_seconds=time.perf_counter() - began,
    )


@dataclass(slots=True)
class _Diary:
    """What a rule answered at each event, and what each job held in the end."""

    count: int
    entries: list[tuple[float, int, Ints, Ints]] = field(default_factory=list)
    notes: Recorder = field(default_factory=Recorder)
    held: Floats = field(init=False)
    gpu_seconds: Floats = field(init=False)
    started: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.held, self.gpu_seconds = np.zeros(self.count), np.zeros(self.count)
        self.started = np.full(self.count, inf)

    def kept(self, rule: Rule) -> Rule:
        """Return the rule, its answers written down."""

        def asked(live: Live) -> Ints:
            shares = np.asarray(rule(live), dtype=np.int64)
            self.entries.append((live.now, len(live.jobs), live.jobs[shares > 0], shares[shares > 0]))
            return shares

        return asked

    def close(self, ended: Floats) -> None:
        """Add up what the jobs held until they ended; where all have, the cluster is idle until the next event."""
        times = [*(entry[0] for entry in self.entries[1:]), inf]
        for (now, live, jobs, shares), then in zip(self.entries, times, strict=True):
            seconds = np.minimum(ended[jobs], then) - now
            self.started[jobs] = np.minimum(self.started[jobs], now)
            self.held[jobs] += seconds
            self.gpu_seconds[jobs] += shares * seconds
            self.notes.note(now, busy=int(shares.sum()), queue=live - len(jobs), running=len(jobs))
            last = float(ended[jobs].max())
            if last < then and live == len(jobs):
                self.notes.note(last, busy=0, queue=0, running=0)


def _outcomes(
    workload: Workload, gpus: Ints, submitted: Floats, ended: Floats, ideal: Floats, diary: _Diary, changes: Ints
) -> JobOutcomes:
    """Return what became of every job; all waiting counts as want of capacity, since GPUs are all there is."""
    none = np.zeros(len(gpus))
    return JobOutcomes(
        ids=tuple(job.id for job in workload.jobs),
        tenants=tuple(job.tenant for job in workload.jobs),
        gpus=gpus,
        submitted=submitted,
        started=diary.started,
        ended=ended,
        ideal=ideal,
        held=diary.held,
        gpu_seconds=diary.gpu_seconds,
        fairness=none,
        fragmentation=none,
        capacity=ended - submitted - diary.held,
        lost=none,
        failed=none,
        restarts=changes - 1,
        preemptions=np.zeros(len(gpus), dtype=np.int64),
        migrations=np.zeros(len(gpus), dtype=np.int64),
    )
