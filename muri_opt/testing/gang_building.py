"""Small rounds of gangs that say all that such a round can say, built from single choices.

What finds faults is not many fields but a limit that binds, so that each round has a theme: GPUs, quotas, CPUs, memory,
or all of them are short. Limits are chosen close to what jobs ask for: a sum of demands, a fraction of it, or a little
less. Every round is built up part by part, and no choice is thrown away. The first of the options is always the
simplest: what chooses it everywhere gets one node and no job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from muri_opt.rounds import Cluster, Guarantee, Job, Node, Plan, Round, Tenant
from muri_opt.systems.capacity import Leftover

NOW: Final = 4000.0
"""The moment of every round; jobs were submitted before it."""
THEMES: Final = ("gpus", "quotas", "cpus", "memory", "all")
"""What is short in a round."""
WIDE: Final = "wide"
"""Gangs that need several nodes: for what is asked of these nodes together."""
BOUND: Final = ("cpus", "memory")

Pick = Callable[[Sequence[Any]], Any]
"""Chooses one of several options."""
Draft = dict[str, Any]
"""What is chosen of a job or a node before it has a name and meets the others."""

_STAGES: Final = (1.0, 2.0, 1.0, 3.0)
_WAY: Final = Plan(name="p", gpus=2, throughput=2.0)
_ASIDE: Final[tuple[Draft, ...]] = (
    {},
    {"remaining_iterations": None},
    {"iteration_seconds": None},
    {"user": "u0", "restarts": 2, "restart_seconds": 30.0},
    {"executed_seconds": 5.0, "waiting_seconds": 600.0, "predictable": False},
    {"stage_seconds": _STAGES},
    {"scaling": {1: 1.0, 2: 1.5, 4: 2.0}},
    {"plans": (_WAY,), "guarantee": Guarantee(throughput=1.0)},
)
"""What a job may say besides. A gang asks for its ``gpus``, whatever its tables and plans offer."""
_SELDOM_ASIDE: Final = (*[{}] * 16, *_ASIDE)
_NODE_ASIDE: Final[tuple[Draft, ...]] = (
    {},
    {},
    {},
    {"rack": "r0"},
    {"gpu_type": "a100"},
    {"rack": "r1", "gpu_type": "v100"},
)

_GANGS: Final = (1, 2, 3, 1, 2, 4, 5, 6, 1_000)
"""GPUs of a job; the largest becomes one more than the cluster has."""
_SMALL_GANGS: Final = (1, 2, 3, 1, 2, 3, 3, 5, 3, 1, 1_000)
_WIDE_GANGS: Final = (2, 4, 3, 5, 6, 4, 1)
_NODES: Final = (1, 2, 3, 4, 2, 0)
_SMALL_NODES: Final = (1, 2, 3, 2, 1, 4)
_ROOMY_NODES: Final = (1, 4, 8, 3, 2, 8, 4, 2, 0)
_LARGE_NODES: Final = (1, 8, 4, 8, 8, 0)
_GPUS_OF_NODES: Final = {
    "gpus": _NODES,
    "quotas": _LARGE_NODES,
    "cpus": _ROOMY_NODES,
    "memory": _ROOMY_NODES,
    "all": _ROOMY_NODES,
    WIDE: _SMALL_NODES,
}
_SIZES: Final = {"gpus": _GANGS, WIDE: _WIDE_GANGS}
_DEMANDS: Final = (1.0, 2.0, 4.0, 0.5, 5.0, 0.335, None)
_FEW_DEMANDS: Final = (None, None, None, None, 1.0, 4.0)
_MOSTLY: Final = (False, True, True, True)
_NEARLY_ALWAYS: Final = (False, *[True] * 7)
_SELDOM: Final = (False, False, False, False, True)
_FEW_NODE_COUNTS: Final = (1, 2, 1, 2, 1, 2, 1, 2, 3, 1, 2, 1, 2, 4, 0)
_NODE_COUNTS: Final = (1, 2, 3, 1, 2, 3, 1, 2, 1, 2, 3, 1, 2, 5, 0)
_FRACTIONS: Final = (1.0, 1.0, 1.0, 2 / 3, 1.0, 0.5, 1 / 3)
_CPU_STEPS: Final = (0.0, -1.0, 0.0, -0.001, 0.0, -0.5, -0.001)
_MEMORY_STEPS: Final = (0.0, -1.0, 0.0, -1 / 1024, 0.0, -0.5, -1 / 1024)
_PLAIN_LIMITS: Final = (None, 0.0, 1.0, 2.0, 4.0)
_QUOTAS: Final = (None, 0, 1, 2, 3, 4, 20)
_WHICH: Final = (1, 2, 1, 3, 1, 2, 4, 7)
"""Which of three jobs, as bits; few, so that the others find no room."""
_TIMES: Final = (0.0, 1.0, 2.0, 3.0)
RUNS: Final = (0, 1, 0, 2, 0, 0)
"""The node on which a job starts that runs already, from 1; 0 is none."""


def gang_round(
    pick: Pick,
    *,
    max_jobs: int = 5,
    theme: str | None = None,
    node_counts: Sequence[int] | None = None,
    runs: Sequence[int] = RUNS,
) -> Round:
    """Return a round of up to ``max_jobs`` gangs.

    ``theme`` is one of ``THEMES``, or ``WIDE``; one of the former is chosen where it is not said.
    ``node_counts`` are the numbers of nodes to choose from, where they are not those of the theme, and ``runs`` the
    nodes on which a job may start already, from 1; 0 is none.

    There are nodes without GPUs, without limits of CPUs or memory, seldom no node at all; jobs that run, scattered over
    nodes or not; equal jobs, jobs submitted at once, jobs larger than the cluster; quotas of 0, of none, and above the
    cluster; fields that do not matter to gangs. Every job says when it was submitted and what it attained. Running jobs
    fit together, and their tenants' quotas.
    """
    short = pick(THEMES) if theme is None else theme
    jobs: list[Draft] = []
    for _ in range(max_jobs):
        if pick(_MOSTLY):
            again = bool(jobs) and pick(_SELDOM)
            jobs.append(jobs[-1] if again else job_draft(pick, short, runs))
    counts = node_counts or (_FEW_NODE_COUNTS if short in BOUND else _NODE_COUNTS)
    nodes = [_node_draft(pick, short) for _ in range(pick(counts))]
    often = short in ("quotas", "all")
    tenants = [_quota_draft(pick) for _ in range(2) if pick(_NEARLY_ALWAYS if often else _SELDOM)]
    return _built(jobs, nodes, tenants, backwards=pick(_SELDOM))


def job_draft(pick: Pick, theme: str, runs: Sequence[int] = RUNS) -> Draft:
    """Return what is chosen of a job: ``tenant`` is a number from 1, ``runs`` the node it starts on; 0 is none."""
    return {
        "gpus": pick(_SIZES.get(theme, _SMALL_GANGS)),
        "cpus": pick(_DEMANDS if theme in ("cpus", "all") else _FEW_DEMANDS),
        "memory_gib": pick(_DEMANDS if theme in ("memory", "all") else _FEW_DEMANDS),
        "tenant": pick((0, 1, 2, 1, 2, 1) if theme in ("quotas", "all") else (0, 1, 2)),
        "submitted": pick(_TIMES),
        "attained_gpu_seconds": pick(_TIMES),
        "remaining_iterations": pick((1, 2, 3, 4)),
        "runs": pick(runs),
        "scattered": pick(_SELDOM),
        "aside": pick(_SELDOM_ASIDE),
    }


def _node_draft(pick: Pick, theme: str) -> Draft:
    return {
        "gpus": pick(_GPUS_OF_NODES[theme]),
        "cpus": _limit_draft(pick, _CPU_STEPS) if theme in ("cpus", "all") else None,
        "memory_gib": _limit_draft(pick, _MEMORY_STEPS) if theme in ("memory", "all") else None,
        "aside": pick(_NODE_ASIDE),
    }


def _limit_draft(pick: Pick, steps: Sequence[float]) -> Any:
    """Return a limit as it is, or as jobs will say it: which of the first three, what fraction, and a step aside."""
    return (pick(_WHICH), pick(_FRACTIONS), pick(steps)) if pick(_MOSTLY) else pick(_PLAIN_LIMITS)


def _quota_draft(pick: Pick) -> Any:
    return (pick(_WHICH), pick((0, -1, 0))) if pick((False, True, True)) else pick(_QUOTAS)


def _built(jobs: Sequence[Draft], nodes: Sequence[Draft], tenants: Sequence[Any], *, backwards: bool) -> Round:
    """Return the round of some drafts; a job that should run and has no room when its turn comes waits.

    ``backwards`` names jobs and nodes against the order of their lists.
    """
    job_names, node_names = _names("j", len(jobs), backwards), _names("n", len(nodes), backwards)
    most = sum(node["gpus"] for node in nodes) + 1
    asked = [{**job, "gpus": min(job["gpus"], most)} for job in jobs]
    cluster = Cluster(
        nodes=tuple(
            Node(
                id=name,
                gpus=node["gpus"],
                cpus=_limit(node["cpus"], [job["cpus"] or 0.0 for job in asked]),
                memory_gib=_limit(node["memory_gib"], [job["memory_gib"] or 0.0 for job in asked]),
                **node["aside"],
            )
            for name, node in zip(node_names, nodes, strict=True)
        ),
        tenants=tuple(Tenant(id=f"t{v}", quota_gpus=_quota(quota, asked, v + 1)) for v, quota in enumerate(tenants)),
    )
    waiting = tuple(gang_job(job, name, cluster) for job, name in zip(asked, job_names, strict=True))
    return _with_running(Round(now=NOW, cluster=cluster, jobs=waiting), jobs)


def _names(letter: str, count: int, backwards: bool) -> list[str]:
    names = [f"{letter}{place}" for place in range(count)]
    return names[::-1] if backwards else names


def _limit(drawn: Any, demands: Sequence[float]) -> float | None:
    """Return a node's limit: as drawn, or the demands of some jobs together, a fraction of them, or a little less."""
    if not isinstance(drawn, tuple):
        return None if drawn is None else float(drawn)
    which, fraction, step = drawn
    total = sum(demand for place, demand in enumerate(demands[:3]) if which >> place & 1)
    return max(0.0, float(total * fraction + step))


def _quota(drawn: Any, jobs: Sequence[Draft], tenant: int) -> int | None:
    """Return a quota: as drawn, or what some jobs of the tenant ask for together, or one GPU less."""
    if not isinstance(drawn, tuple):
        return None if drawn is None else int(drawn)
    which, step = drawn
    own = [job["gpus"] for job in jobs if job["tenant"] == tenant][:3]
    return max(0, int(sum(gpus for place, gpus in enumerate(own) if which >> place & 1) + step))


def gang_job(draft: Draft, name: str, cluster: Cluster) -> Job:
    """Return the waiting job of a draft; where no tenant is listed it may still name one.

    It asks for at most one GPU more than the cluster has.
    """
    listed = len(cluster.tenants)
    tenant = f"t{(draft['tenant'] - 1) % listed}" if listed and draft["tenant"] else None
    fields: Draft = {
        "gpus": min(draft["gpus"], cluster.total_gpus + 1),
        "cpus": draft["cpus"],
        "memory_gib": draft["memory_gib"],
        "submitted": draft["submitted"],
        "attained_gpu_seconds": draft["attained_gpu_seconds"],
        "remaining_iterations": draft["remaining_iterations"],
        "iteration_seconds": 1.0,
        "tenant": "unlisted" if not listed and draft["tenant"] == 2 else tenant,
    }
    return Job(id=name, **(fields | draft["aside"]))


def _with_running(round_: Round, drafts: Sequence[Draft]) -> Round:
    """Return the round with the jobs on nodes that run already, as far as there is room and quota."""
    left, held = Leftover(round_), list(round_.jobs)
    for j, draft in enumerate(drafts):
        if not draft["runs"] or not round_.cluster.nodes or not left.within_quota(j):
            continue
        room, job = left.room(j), round_.jobs[j]
        share = room * 0
        most = 1 if draft["scattered"] else job.gpus
        for step in range(len(room) * (job.gpus if draft["scattered"] else 1)):
            s = (draft["runs"] - 1 + step) % len(room)
            share[s] += min(room[s] - share[s], job.gpus - share.sum(), most)
        if share.sum() == job.gpus:
            left.take(share, j)
            placement = {node.id: int(share[s]) for s, node in enumerate(round_.cluster.nodes) if share[s]}
            held[j] = msgspec.structs.replace(job, state="running", placement=placement)
    return msgspec.structs.replace(round_, jobs=tuple(held))
