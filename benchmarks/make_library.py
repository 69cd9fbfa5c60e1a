"""How the instance library was made: ``python -m benchmarks.make_library FOLDER [FAMILY ...]`` makes it again.

``small``: seeds are taken in order; a round is kept if the optimum of each of its policies is proved, two solvers find
it, and the published algorithm of one of them misses it, so that there is something to find. ``stress``: one seed each.
``toy``: the policies of the chapters. ``paper``: ``benchmarks/make_library_papers.py``. Solvers work within a time
limit, so that another machine may leave more open; what is stored was checked, and ``muri-opt library refresh`` never
makes it worse.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import msgspec

from benchmarks.make_library_papers import PAPERS
from muri_opt import Cluster, Job, Limits, Node, RefusalError, Result, Round, read_round, solve_round
from muri_opt.profiling.job_length import CoreEfficiency, StepTime
from muri_opt.profiling.plan_speed import TaskLimits, configuration_plans
from muri_opt.rounds import Proof
from muri_opt.rounds.generate.families import generate
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.studies.library import Recipe, add, solved
from muri_opt.studies.library.recipe import Draw

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 20.0
MORE_TOYS = {"toy/three-fragments": ("fifo",), "toy/four-tenants": ("philly:preempt_at=never",)}
Maker = Callable[[int, int], Round]
"""Makes a round of so many jobs from a seed."""


def gangs(jobs: int, seed: int) -> Round:
    return generate("gangs", jobs=jobs, nodes=2, seed=seed)


def tenants(jobs: int, seed: int) -> Round:
    return generate("tenants", jobs=jobs, nodes=2, seed=seed)


def interleaving(jobs: int, seed: int) -> Round:
    """Jobs of 1 or 2 GPUs that all wait, on one GPU for every four that are asked for: most must share."""
    drawn = generate("interleaving", jobs=jobs, nodes=4, seed=seed).jobs
    sizes = [min(2, job.gpus) for job in drawn]
    nodes = tuple(Node(id=f"n{s}", gpus=2) for s in range(max(1, sum(sizes) // 8)))
    waiting = tuple(
        msgspec.structs.replace(job, gpus=gpus, cpus=None, memory_gib=None, state="waiting", placement=None)
        for job, gpus in zip(drawn, sizes, strict=True)
    )
    return Round(cluster=Cluster(nodes=nodes), jobs=waiting)


def elastic(jobs: int, seed: int) -> Round:
    return generate("elastic", jobs=jobs, nodes=2, seed=seed)


def deadlines(jobs: int, seed: int) -> Round:
    """Elastic jobs that are to be done within 5 to 64 hundredths of what they take on one GPU."""
    round_ = generate("elastic", jobs=jobs, nodes=1, seed=seed)
    parts = Draws(seed).below(jobs, 60)
    dated = tuple(
        msgspec.structs.replace(job, deadline=round_.now + round(_alone(job) * (5 + int(part)) / 100))
        for job, part in zip(round_.jobs, parts, strict=True)
    )
    return msgspec.structs.replace(round_, jobs=dated)


def _alone(job: Job) -> float:
    """Return how long a job takes on one GPU."""
    table = job.scaling or {1: 1.0}
    seconds = 1 / table[1] if job.iteration_seconds is None else job.iteration_seconds * table[job.gpus] / table[1]
    return (job.remaining_iterations or 0) * seconds


def joint(jobs: int, seed: int) -> Round:
    """Elastic jobs with the stages of others, all on four GPUs, so that it pays to share them; all wait."""
    drawn = generate("interleaving", jobs=jobs, nodes=1, seed=seed)
    scaled = generate("elastic", jobs=jobs, nodes=1, seed=seed).jobs
    mixed = tuple(
        msgspec.structs.replace(
            job,
            gpus=1,
            cpus=None,
            memory_gib=None,
            state="waiting",
            placement=None,
            scaling={gpus: rate for gpus, rate in (other.scaling or {}).items() if gpus <= 4},
        )
        for job, other in zip(drawn.jobs, scaled, strict=True)
    )
    return msgspec.structs.replace(drawn, cluster=Cluster(nodes=(Node(id="n0", gpus=4),)), jobs=mixed)


def plans(jobs: int, seed: int) -> Round:
    """Generated plans; waiting jobs name the one they ask for, which some policies keep."""
    round_ = generate("plans", jobs=jobs, nodes=2, seed=seed)
    named = tuple(
        msgspec.structs.replace(job, plan=next(plan.name for plan in job.plans or () if plan.gpus == job.gpus))
        for job in round_.jobs
    )
    return msgspec.structs.replace(round_, jobs=named)


def philly(jobs: int, seed: int) -> Round:
    """A busy cluster on which nobody can be restarted, and so neither moved nor preempted."""
    round_ = generate("philly", jobs=jobs, nodes=3, seed=seed)
    pinned = tuple(msgspec.structs.replace(job, restart_seconds=None) for job in round_.jobs)
    return msgspec.structs.replace(round_, jobs=pinned)


def configurations(jobs: int, seed: int) -> Round:
    """Jobs by AITurbo's step times, on nodes of up to 4 GPUs and as many without; one job in five is unpredictable.

    A step computes for 0.5 to 5 seconds on a GPU and 2 to 30 times as long on a core.
    """
    draws = Draws(seed)
    boxes = -(-jobs // 4)
    nodes = [Node(id=f"g{s}", gpus=min(4, jobs - 4 * s), cpus=16) for s in range(boxes)]
    nodes += [Node(id=f"c{s}", gpus=0, cpus=16) for s in range(boxes)]
    return Round(cluster=Cluster(nodes=tuple(nodes)), jobs=tuple(_configured(draws, j) for j in range(jobs)))


def _configured(draws: Draws, position: int) -> Job:
    computing, slower = draws.uniform(2, 0, 1).round(3).tolist()
    computing, slower = 0.5 + 4.5 * computing, 2 + 28 * slower
    th23, th4, th5, chance = draws.uniform(4, 0, 1).round(3).tolist()
    step = StepTime(
        th0=computing / 64,
        th1=0.02,
        th23=0.05 + th23 / 2,
        th4=th4 / 20,
        th5=th5 / 20,
        th6=0.0,
        efficiency=CoreEfficiency(a=-5 / slower, b=0.2, d=5 / slower),
    )
    gpus = int(draws.below(1, 2)[0])
    made = configuration_plans(step, batch=64, limits=TaskLimits(servers=2, workers=2))
    return Job(
        id=f"job-{position}",
        gpus=gpus,
        plans=tuple(msgspec.structs.replace(plan, throughput=round(plan.throughput, 6)) for plan in made),
        plan="gpu-p1-w1-s1" if gpus else "cpu-p1-w1",
        submitted=float(position),
        executed_seconds=float(draws.below(1, 5000)[0]),
        remaining_iterations=100 + int(draws.below(1, 9900)[0]) if chance >= 0.2 else None,
        predictable=chance >= 0.2,
    )


GANGS = ("fifo", "fifo:objective=weighted,preempt=yes", "srtf", "srsf", "las", "max-min", "tiresias")
SHARES = ("afs-l", "afs-p", "optimus", "max-min-elastic", "srtf-elastic")
BY_SPEED = (
    "afs-l:restarts=ignore,objective=speed",
    "afs-p:restarts=ignore,objective=speed-up",
    "optimus:restarts=ignore",
    "max-min-elastic:restarts=ignore,objective=speed",
    "srtf-elastic:restarts=ignore",
)
"""The policies of shares by what their jobs achieve alone, whoever restarts."""
SMALL: tuple[tuple[str, Maker, int, Sequence[int], Sequence[str]], ...] = (
    ("gangs", gangs, 12, (8, 10, 12, 14), GANGS),
    ("tenants", tenants, 8, (10, 12), ("fifo", "fifo:preempt=yes", "max-min", "fair-share", "srtf:nodes=fewest")),
    ("interleaving", interleaving, 12, (6, 8, 10), ("muri-s", "muri-l", "muri-s:objective=progress")),
    ("elastic", elastic, 10, (6, 8), (*SHARES, *BY_SPEED)),
    ("plans", plans, 12, (6, 8), ("rubick", "sia", "synergy", "antman", "equal-share", "srs")),
    ("configurations", configurations, 8, (4, 5), ("aiturbo", "aiturbo:objective=time", "optimus-ps")),
    ("philly", philly, 10, (16, 20), ("philly", "philly:objective=weighted")),
    ("deadlines", deadlines, 4, (6, 8), ("deadline",)),
    ("joint", joint, 4, (6, 8), ("joint-s", "joint-l")),
)
STRESS: tuple[tuple[str, str, int, int, Sequence[str]], ...] = (
    ("gangs-1000", "gangs", 1000, 60, ("srtf", "max-min:nodes=fewest")),
    ("tenants-1000", "tenants", 1000, 60, ("fifo", "fifo:objective=weighted,preempt=yes")),
    ("interleaving-60", "interleaving", 60, 1, ("muri-s:restarts=ignore", "muri-l:restarts=ignore", "muri-s")),
    ("interleaving-100", "interleaving", 100, 3, ("muri-s:group=3,restarts=ignore",)),
    ("interleaving-200", "interleaving", 200, 6, ("muri-s:group=2,restarts=ignore",)),
    ("elastic-1000", "elastic", 1000, 100, (BY_SPEED[0], BY_SPEED[2])),
    ("plans-200", "plans", 200, 20, ("rubick",)),
    ("plans-1000", "plans", 1000, 60, ("rubick",)),
    ("philly-500", "philly", 500, 60, ("philly:preempt_at=never",)),
)


def proved(results: Sequence[Result]) -> bool:
    """Return whether every value is the optimum, and more than one solver says so."""
    return all(one.value == one.bound and one.certificate.proof is not Proof.CLAIM_ONLY for one in results)


def found_by_both(round_: Round, results: Sequence[Result]) -> bool:
    """Return whether each of two solvers takes the programs and finds the optima."""
    try:
        return all(
            solve_round(round_, one.policy, f"exact@{backend}", Limits(seconds=SECONDS)).value == one.value
            for one in results
            for backend in ("highs", "cp-sat")
        )
    except RefusalError:
        return False


def small() -> Iterator[tuple[str, Round, list[Result], str]]:
    """Yield the rounds of the family with what their solves found."""
    for kind, make, number, sizes, policies in SMALL:
        seeds = count(1)
        for place in range(number):
            name, jobs = f"small/{kind}-{place + 1:02}", sizes[place % len(sizes)]
            for seed in seeds:
                round_ = msgspec.structs.replace(make(jobs, seed), name=name)
                results = [solved(round_, policy, Limits(seconds=SECONDS)) for policy in policies]
                missed = any(one.value != solve_round(round_, one.policy, "heuristic").value for one in results)
                if missed and proved(results) and found_by_both(round_, results):
                    source = f"random; benchmarks/make_library.py, {kind}({jobs}, seed {seed})"
                    yield name, round_, results, source
                    break


def stress() -> Iterator[tuple[str, Recipe | Round, list[Result], str]]:
    """Yield recipes of large rounds, and one of configurations, which no recipe makes."""
    for name, family, jobs, nodes, policies in STRESS:
        recipe = Recipe.of(Draw(family=family, jobs=jobs, nodes=nodes, seed=1))
        results = [solved(recipe.round(), policy, Limits(seconds=3 * SECONDS)) for policy in policies]
        yield f"stress/{name}", recipe, results, f"muri-opt generate {family} --jobs {jobs} --nodes {nodes} --seed 1"
    name = "stress/configurations-40"
    round_ = msgspec.structs.replace(configurations(40, 1), name=name)
    results = [solved(round_, policy, Limits(seconds=3 * SECONDS)) for policy in ("aiturbo", "optimus-ps")]
    yield name, round_, results, "random; benchmarks/make_library.py, configurations(40, seed 1)"


def toy() -> Iterator[tuple[str, Round, list[Result], str]]:
    """Yield the rounds of the chapters with the policies that are solved there."""
    found: dict[str, tuple[str, list[str]]] = {}
    for path in sorted(ROOT.glob("formulations/*/examples.json")):
        for example in json.loads(path.read_text()):
            if "policy" in example:
                chapter, policies = found.setdefault(example["instance"], (path.parent.name, []))
                policies.append(example["policy"])
    for name, policies in MORE_TOYS.items():
        found[name] = ("defragmentation" if name.endswith("fragments") else "docs", list(policies))
    for name, (chapter, policies) in sorted(found.items()):
        round_ = read_round(ROOT / "instances" / f"{name}.json")
        results = [solved(round_, policy, Limits(seconds=SECONDS)) for policy in policies]
        where = "docs/waiting.md" if chapter == "docs" else f"formulations/{chapter}"
        yield name, round_, results, f"by hand; {where}"


def paper() -> Iterator[tuple[str, Round, list[Result], str]]:
    """Yield the published settings."""
    for setting in PAPERS:
        round_ = setting.make(f"paper/{setting.name}")
        results = [solved(round_, policy, Limits(seconds=SECONDS)) for policy in setting.policies]
        yield round_.name, round_, results, setting.source


MAKERS = {"toy": toy, "small": small, "paper": paper, "stress": stress}


def main(arguments: list[str] | None = None) -> None:
    """Write the files of the families that are named, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("families", metavar="FAMILY", nargs="*", default=list(MAKERS))
    chosen = parser.parse_args(arguments)
    today = datetime.now(UTC).date()
    for family in chosen.families:
        for name, given, results, source in MAKERS[family]():
            added = add(chosen.folder, name, given, results, source=source, today=today)
            print(name, *(f"{one.policy}={one.value}/{one.bound} {one.proof}" for one in added.best.optima), flush=True)


if __name__ == "__main__":
    main()
