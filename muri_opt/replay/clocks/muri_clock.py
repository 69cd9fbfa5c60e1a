"""The clock of the Muri authors' simulator: every event charges every running job a restart.

Kept as it is so that the published figures can be compared. What a job pays does not depend on whether it was moved,
and the stretch before its end is free; the clock of this package charges those that really moved.
"""

from __future__ import annotations

import time
from math import inf, isclose

import numpy as np

from muri_opt.errors import InputError, unknown_name
from muri_opt.replay.clocks.muri_rules import Arrangement, Groups, Queues, Shortest
from muri_opt.replay.clocks.muri_task import Task
from muri_opt.replay.outcome import JobOutcomes, Outcome
from muri_opt.replay.timeline_recorder import Recorder
from muri_opt.replay.workload import Workload
from muri_opt.rounds import Cluster
from muri_opt.systems import policy_from
from muri_opt.systems.muri import MuriPolicy


def replay_muri(workload: Workload, cluster: Cluster, policy: str, *, label: str = "") -> Outcome:
    """Return what becomes of a workload under ``srtf``, ``srsf``, ``tiresias``, ``muri-s`` or ``muri-l``.

    All other limits than GPUs are left out, as in the simulator.
    """
    workload.check_fits(cluster)
    rule = _arrangement(workload, cluster, policy)
    clock = _Clock(workload, rule)
    began = time.perf_counter()
    clock.run()
    return Outcome(
        workload=workload.name,
        policy=policy,
        clock="muri",
        cluster=label,
        seed=0,
        total_gpus=cluster.total_gpus,
        jobs=clock.outcomes(),
        timeline=clock.notes.timeline(),
        rounds=clock.rounds,
        decision_seconds=time.perf_counter() - began,
        resources=workload.resources,
    )


def _arrangement(workload: Workload, cluster: Cluster, policy: str) -> Arrangement:
    whole = np.array([node.gpus for node in cluster.nodes], dtype=np.int64)
    if policy in ("srtf", "srsf"):
        return Shortest(whole, by_service=policy == "srsf")
    if policy == "tiresias":
        return Queues(cluster.total_gpus)
    chosen = policy_from(policy) if policy.startswith("muri-") else None
    if not isinstance(chosen, MuriPolicy):
        raise unknown_name("policy of the clock 'muri'", policy, ["srtf", "srsf", "tiresias", "muri-s", "muri-l"])
    if chosen.run != "lock-step":
        raise InputError(f"policy {policy!r}.run", repr(chosen.run), "lock-step: the authors' simulator knows no other")
    return Groups(
        jobs=workload.jobs,
        whole=whole,
        options=chosen.options,
        by_remaining=chosen.name == "muri-s",
        autopack=chosen.autopack == "on",
    )


class _Clock:
    """The tasks that are there, and those that have ended."""

    def __init__(self, workload: Workload, rule: Arrangement) -> None:
        self.workload, self.rule = workload, rule
        staged = all(job.stage_seconds is not None for job in workload.jobs)
        self.notes = Recorder(resources=len(workload.resources) if staged else 0)
        self.tasks: list[Task] = []
        self.ended: dict[int, Task] = {}
        self.rounds = 0

    def run(self) -> None:
        """Go from event to event until all jobs have ended."""
        jobs, arrived = self.workload.jobs, 0
        ends, ending, wakes = inf, list[Task](), inf
        while arrived < len(jobs) or self.tasks:
            arrives = (jobs[arrived].submitted or 0.0) if arrived < len(jobs) else inf
            merged = arrives < inf and abs(arrives - ends) <= self.rule.same_seconds
            now = arrives if merged else min(arrives, ends)
            if wakes < now:
                now = wakes
            else:
                for task in ending if merged or ends <= now else ():
                    self._end(task, now)
                while arrived < len(jobs) and jobs[arrived].submitted == now:
                    self.tasks.append(Task.of(arrived, jobs[arrived]))
                    arrived += 1
            for task in self.tasks:
                task.advance(now)
            self.rule.arrange(now, self.tasks)
            self.rounds += 1
            ends, ending = self._next_end(now)
            wakes = self.rule.wakes(now, self.tasks)
            self._note(now)

    def outcomes(self) -> JobOutcomes:
        """Return what became of every job; all waiting counts as want of capacity, since GPUs are all there is."""
        jobs, tasks = self.workload.jobs, [self.ended[position] for position in range(len(self.workload.jobs))]
        gpus = np.array([task.gpus for task in tasks], dtype=np.int64)
        held, none = np.array([task.executed for task in tasks]), np.zeros(len(tasks))
        submitted, ended = np.array([task.submitted for task in tasks]), np.array([task.ended for task in tasks])
        return JobOutcomes(
            ids=tuple(job.id for job in jobs),
            tenants=tuple(job.tenant for job in jobs),
            gpus=gpus,
            submitted=submitted,
            started=np.array([task.started for task in tasks]),
            ended=ended,
            ideal=np.array([(job.remaining_iterations or 0) * (job.iteration_seconds or 0.0) for job in jobs]),
            held=held,
            gpu_seconds=np.array([task.gpu_seconds for task in tasks]),
            fairness=none,
            fragmentation=none,
            capacity=ended - submitted - held,
            lost=np.array([task.lost for task in tasks]) * gpus,
            failed=none,
            restarts=np.array([task.resumes - 1 for task in tasks], dtype=np.int64),
            preemptions=np.array([task.preemptions for task in tasks], dtype=np.int64),
            migrations=np.zeros(len(tasks), dtype=np.int64),
        )

    def _end(self, task: Task, now: float) -> None:
        task.finish(now)
        self.tasks.remove(task)
        self.ended[task.position] = task

    def _next_end(self, now: float) -> tuple[float, list[Task]]:
        """Return when the next running tasks end if nothing happens before, and which."""
        moments = [(now + task.remaining * task.pace, task) for task in self.tasks if task.running]
        ends = min((moment for moment, _ in moments), default=inf)
        return ends, [task for moment, task in moments if isclose(moment, ends, rel_tol=self.rule.same_part)]

    def _note(self, now: float) -> None:
        running = [task for task in self.tasks if task.running]
        stages = [
            sum(task.gpus * task.stages[stage] / task.pace for task in running) for stage in range(self.notes.resources)
        ]
        self.notes.note(
            now,
            busy=round(sum(task.gpus / task.mates for task in running)),
            queue=len(self.tasks) - len(running),
            running=len(running),
            stages=stages,
        )
