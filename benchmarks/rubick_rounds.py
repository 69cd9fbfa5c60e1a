"""Rubick's algorithm, its rivals and the proved optimum on rounds of the trace that Rubick's authors published.

Run with ``python -m benchmarks.rubick_rounds DIRECTORY``, which has the trace ``workload-base.csv`` (columns name,
submission_time, duration, application, num_gpus, exec_plan, steps, is_sla) and per application its measured iteration
times, ``placements_<application>.csv`` (columns exec_plan, placement, iter_time; a placement is a digit per node, its
GPUs).

A round is what there is to decide when every 16th job of the trace is submitted. Which earlier jobs are still there is
taken from a replay: each job runs for its duration and the 260 seconds a launch takes in the authors' simulator, on the
GPUs it asks for, in the order of submission past jobs that do not fit 64 GPUs. Nodes are the authors': 8 with 8 GPUs,
96 CPUs and 1,600 GiB. A job has every plan on every placement that was measured, if each node has equally many GPUs; of
plans with one placement those that are slower than another and need no less are left out, the job's own excepted.

First all jobs wait. Then jobs run as Rubick's algorithm placed them in the round before: a restart costs 78 of 600
seconds. Such a job says the plan it runs by, not the one it asked for, so that ``reference=requested`` and rivals that
keep what was asked for are compared only where all jobs wait.
"""

from __future__ import annotations

import argparse
import heapq
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from muri_opt import Cluster, Job, Limits, Node, Result, Round, solve_round
from muri_opt.replay.workloads.rubick_tables import read_plans, worthwhile
from muri_opt.replay.workloads.rubick_trace import RESTART_SECONDS, read_rubick_rows
from muri_opt.rounds import Decision, Plan
from muri_opt.systems import policy_from
from muri_opt.systems.plans import PlanOptions, PlanRules
from muri_opt.verify import decision_value

CLUSTER = Cluster(nodes=tuple(Node(id=f"node-{i}", gpus=8, cpus=96, memory_gib=1600) for i in range(8)))
LAUNCH = 260.0
EVERY = 16
RIVALS = ("synergy", "antman", "sia", "equal-share")
GAP = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A job of the trace, and when the replay ends it."""

    job: Job
    ends: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the algorithm, the optimum and the rivals make of one round."""

    round_: Round
    heuristic: Result
    best: Result
    seconds: float
    rivals: Mapping[str, int]

    @property
    def proved(self) -> float:
        """The gap that the verifier's own bound leaves."""
        bound, value = self.best.certificate.checked_bound, self.best.value
        return float("inf") if bound is None or value is None else (bound - value) / max(1, value)

    def __str__(self) -> str:
        running = sum(job.state == "running" for job in self.round_.jobs)
        options = len(PlanOptions.of(self.round_, PlanRules()))
        served = f"{len(self.heuristic.decision.running)}, {len(self.best.decision.running)}"
        ratio = self.heuristic.value / self.best.value
        gap, proof = self.best.gap, self.best.certificate.proof
        cells = (len(self.round_.jobs), running, options, f"{self.best.value / 1e6:.3f}", f"{ratio:.4f}", served)
        return " | ".join(map(str, (*cells, f"{self.proved:.1e}", f"{gap:.1e}", proof, f"{self.seconds:.2f}")))


def main(arguments: list[str] | None = None) -> None:
    """Print a table of the rounds for each way to value them, and one of sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seconds", type=float, default=30.0, help="time limit of each optimum")
    given = parser.parse_args(arguments)
    plans, odd = read_plans(given.directory)
    left_out = ", ".join(f"{count} of {model}" for model, count in odd.items() if count)
    print(f"Measured rows without equal GPUs on each node, left out: {left_out}.\n")
    tasks = read_tasks(given.directory, plans)
    limits = Limits(seconds=given.seconds, gap=GAP)
    waiting = [round_at(tasks, moment) for moment in moments(tasks)]
    solve_round(waiting[0], "rubick", "auto", limits)  # starting a solver process is no part of solving
    tables = {
        "all jobs wait, `reference=best`": [compared(round_, "best", RIVALS, limits) for round_ in waiting],
        "all jobs wait, `reference=requested`": [compared(round_, "requested", RIVALS, limits) for round_ in waiting],
        "jobs run, `reference=best`": chain(tasks, limits),
    }
    for title, outcomes in tables.items():
        show(title, outcomes)
    print("| rounds | median seconds | most | solved to 1e-4 | of these checked by the verifier | rubick | ", end="")
    print(" | ".join(RIVALS) + " |\n" + "| --- " * (6 + len(RIVALS)) + "|")
    for title, outcomes in tables.items():
        print(f"| {title} | {summary(outcomes)} |")


def show(title: str, outcomes: Sequence[Outcome]) -> None:
    """Print a line per round."""
    print(f"### {title[0].upper()}{title[1:]}\n")
    print(
        "| jobs | running | options | optimum | heuristic / optimum | jobs served, by each | gap the verifier ", end=""
    )
    print("proves | gap | proof | seconds |\n" + "| --- " * 10 + "|")
    for outcome in outcomes:
        print(f"| {outcome} |")
    print(flush=True)


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return times, proofs, and what algorithm and rivals reach of the optimum, summed over the rounds."""
    spent = [outcome.seconds for outcome in outcomes]
    optimum = sum(outcome.best.value for outcome in outcomes)
    reached = [f"{sum(outcome.heuristic.value for outcome in outcomes) / optimum:.3f}"]
    for rival in RIVALS:
        values = [outcome.rivals[rival] for outcome in outcomes if rival in outcome.rivals]
        reached.append(f"{sum(values) / optimum:.3f}" if values else "")
    count = len(outcomes)
    proofs = [f"{sum(o.best.gap <= GAP for o in outcomes)} of {count}", str(sum(o.proved <= GAP for o in outcomes))]
    return " | ".join([f"{statistics.median(spent):.2f}", f"{max(spent):.2f}", *proofs, *reached])


def compared(round_: Round, reference: str, rivals: Iterable[str], limits: Limits) -> Outcome:
    """Return what each makes of a round, all valued as Rubick does."""
    policy = f"rubick:reference={reference}"
    heuristic = solve_round(round_, policy, "heuristic")
    began = time.perf_counter()
    best = solve_round(round_, policy, "auto", limits)
    seconds = time.perf_counter() - began
    values = {}
    for rival in rivals:
        text = rival if rival == "sia" else f"{rival}:reference={reference}"
        values[rival] = decision_value(
            round_, policy_from(policy).rules, solve_round(round_, text, "heuristic").decision
        )
    return Outcome(round_=round_, heuristic=heuristic, best=best, seconds=seconds, rivals=values)


def chain(tasks: Sequence[Task], limits: Limits) -> list[Outcome]:
    """Return the same rounds where the jobs that the algorithm placed in the round before are running."""
    outcomes: list[Outcome] = []
    before: Round | None = None
    for moment in moments(tasks):
        outcome = compared(round_at(tasks, moment, before), "best", (), limits)
        before = placed(outcome.round_, outcome.heuristic.decision)
        outcomes.append(outcome)
    return outcomes


def placed(round_: Round, decision: Decision) -> Round:
    """Return a round as a decision leaves it: who runs where, by which plan, after how many restarts."""
    placements = {assignment.jobs[0]: assignment for assignment in decision.assignments}
    jobs = []
    for job in round_.jobs:
        placement = placements.get(job.id)
        if placement is None:
            jobs.append(msgspec.structs.replace(job, state="waiting", placement=None))
            continue
        here = dict(sorted(placement.gpus.items()))
        moved = job.state == "running" and (job.placement, job.plan) != (here, placement.plan)
        restarts = (job.restarts or 0) + moved
        jobs.append(
            msgspec.structs.replace(job, state="running", placement=here, plan=placement.plan, restarts=restarts)
        )
    return msgspec.structs.replace(round_, jobs=tuple(jobs))


def moments(tasks: Sequence[Task]) -> list[float]:
    """Return when every 16th job is submitted."""
    return [task.job.submitted for task in tasks[EVERY - 1 :: EVERY]]


def round_at(tasks: Iterable[Task], moment: float, before: Round | None = None) -> Round:
    """Return the round of the jobs that the replay has at a moment, as an earlier round left those that were there."""
    known = {} if before is None else {job.id: job for job in before.jobs}
    jobs = []
    for task in tasks:
        if task.job.submitted <= moment < task.ends:
            job = known.get(task.job.id, task.job)
            if before is not None and job.state == "running":
                job = msgspec.structs.replace(job, executed_seconds=(job.executed_seconds or 0) + moment - before.now)
            jobs.append(job)
    return Round(name=f"second {moment:.0f}", now=moment, cluster=CLUSTER, jobs=tuple(jobs))


def read_tasks(directory: Path, plans: Mapping[str, Sequence[Plan]]) -> list[Task]:
    """Return the jobs of the trace by submission, each with its plans and the end that the replay gives it."""
    rows = sorted(read_rubick_rows(directory / "workload-base.csv"), key=lambda row: row.submitted)
    jobs = [
        Job(
            id=row.name,
            submitted=row.submitted,
            gpus=row.gpus,
            plans=worthwhile(plans[row.application], row.plan),
            plan=row.plan,
            restart_seconds=RESTART_SECONDS,
        )
        for row in rows
    ]
    ends = replayed(jobs, [row.duration + LAUNCH for row in rows])
    return [Task(job=job, ends=end) for job, end in zip(jobs, ends, strict=True)]


def replayed(jobs: Sequence[Job], seconds: Sequence[float]) -> list[float]:
    """Return when each job ends if it runs so long on the GPUs it asks for, first come, first served where it fits."""
    free, coming, queue = CLUSTER.total_gpus, 0, list[int]()
    running: list[tuple[float, int]] = []
    ends = [0.0] * len(jobs)
    while coming < len(jobs) or running:
        arrival = jobs[coming].submitted if coming < len(jobs) else float("inf")
        now = min(arrival, running[0][0] if running else arrival)
        while running and running[0][0] <= now:
            free += jobs[heapq.heappop(running)[1]].gpus
        while coming < len(jobs) and jobs[coming].submitted <= now:
            queue.append(coming)
            coming += 1
        for j in tuple(queue):
            if jobs[j].gpus <= free:
                queue.remove(j)
                free -= jobs[j].gpus
                ends[j] = now + seconds[j]
                heapq.heappush(running, (ends[j], j))
    return ends


if __name__ == "__main__":
    main()
