"""Fields of format 2 for a round that has none: single choices, made by whoever draws the round.

The first of the options is always the simplest, mostly that the field is not said. No choice is thrown away, and
running jobs have what they ask for: their GPUs are of a type that they allow, on nodes with their labels, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from muri_opt.rounds.cluster import Cluster, Node, Tenant
from muri_opt.rounds.job import Job, Plan
from muri_opt.rounds.levels import RACK
from muri_opt.rounds.round import ROUND_FORMATS, Round
from muri_opt.rounds.shape import NodeRange, Within
from muri_opt.rounds.together import Together
from muri_opt.rounds.used_fields import FIELDS, GPU_TYPES, LEVELS, PLAN_NODES, PLAN_TYPES, TOGETHER

Pick = Callable[[Sequence[Any]], Any]
"""Chooses one of several options."""

TYPES: Final = ("a100", "v100")
LABELS: Final = ("nvlink", "spot")
MODELS: Final = ("bert", "gpt2", "resnet50")
_LABEL_SETS: Final = ((), LABELS[:1], LABELS[1:], LABELS)
_NODE_STATES: Final = ("up", "up", "up", "up", "drain", "down")
_MOST_COUNTS: Final = 8
_PAIR: Final = Together(models=("bert", "gpt2"), rates=(0.82, 0.91))
_THREE: Final = Together(models=("bert", "bert", "resnet50"), rates=(0.5, 0.5, 0.7))


def with_demands(round_: Round, pick: Pick, fields: Collection[str] = FIELDS) -> Round:
    """Return the round with some of the ``fields`` of format 2, chosen by ``pick``."""
    say = _Say(pick, frozenset(fields), round_)
    cluster = _levels(say, round_.cluster)
    nodes = tuple(
        replace(
            node,
            gpu_type=type_,
            labels=say("node.labels", _LABEL_SETS),
            state=say("node.state", _NODE_STATES),
            available_until=say.time("node.available_until", 0, 60, 3600),
        )
        for node, type_ in zip(cluster.nodes, _types(say, cluster), strict=True)
    )
    cluster = replace(cluster, nodes=nodes, tenants=_tenants(say, cluster.tenants))
    by_id = {node.id: node for node in nodes}
    jobs = tuple(_job(say, job, cluster, by_id) for job in round_.jobs)
    together = say(TOGETHER, ((), (_PAIR,), (_PAIR, _THREE)))
    jobs = tuple(_with_uneven_plan(say, job) for job in jobs)
    return replace(round_, format=ROUND_FORMATS[1], cluster=cluster, jobs=jobs, together=together)


class _Say:
    """Chooses the value of a field among options, the first where the field is not to be drawn."""

    def __init__(self, pick: Pick, fields: frozenset[str], round_: Round) -> None:
        self.fields, self.running = fields, [job for job in round_.jobs if job.state == "running" and job.placement]
        self._pick, self._now = pick, round_.now

    def __call__(self, field: str, options: Sequence[Any]) -> Any:
        return self._pick(options) if field in self.fields and len(options) > 1 else options[0]

    def time(self, field: str, *after: float) -> float | None:
        """Return no time, or one that comes so many seconds after now."""
        found: float | None = self(field, (None, None, *(self._now + seconds for seconds in after)))
        return found


def _levels(say: _Say, cluster: Cluster) -> Cluster:
    """Return the cluster with racks where a level is needed, and with blocks of two racks if chosen."""
    nodes = cluster.nodes
    if not cluster.level_names and {LEVELS, "job.within"} & say.fields:
        nodes = tuple(replace(node, rack=f"r{place // 2}") for place, node in enumerate(nodes))
    racks = list(dict.fromkeys(node.rack for node in nodes if node.rack is not None))
    if not racks or not say(LEVELS, (False, True)):
        return replace(cluster, nodes=nodes)
    block = {rack: f"b{place // 2}" for place, rack in enumerate(racks)}
    inside = tuple(node if node.rack is None else replace(node, levels={"block": block[node.rack]}) for node in nodes)
    return replace(cluster, levels=("block", RACK), nodes=inside)


def _types(say: _Say, cluster: Cluster) -> list[str | None]:
    """Return the GPU type of each node: nodes that a running gang holds together have one."""
    said = {node.id: node.gpu_type for node in cluster.nodes}
    if GPU_TYPES not in say.fields:
        return [cluster.nodes[0].gpu_type] * len(said) if said else []
    if any(said.values()) and all(len({said[node] for node in job.placement or ()}) == 1 for job in say.running):
        return list(said.values())
    group = {node: node for node in said}
    for job in say.running:
        joined = {group[node] for node in job.placement or ()}
        group = {node: min(joined) if leader in joined else leader for node, leader in group.items()}
    chosen = {leader: say(GPU_TYPES, TYPES) for leader in dict.fromkeys(group.values())}
    return [chosen[group[node]] for node in said]


def _tenants(say: _Say, tenants: Sequence[Tenant]) -> tuple[Tenant, ...]:
    found: list[Tenant] = []
    for tenant in tenants:
        by_type = say("tenant.quota_by_type", (None, None, {"a100": 1}, {"a100": 4, "v100": 2}))
        loans: tuple[int | None, ...] = (None,) if tenant.quota_gpus is None else (None, 0, 1, 4)
        more = {
            "parent": say("tenant.parent", (None, *(other.id for other in found))),
            "weight": say("tenant.weight", (1.0, 2.0, 0.5)),
            "quota_by_type": by_type,
            "borrow_gpus": say("tenant.borrow_gpus", loans),
            "lend_gpus": say("tenant.lend_gpus", loans),
            "used_gpu_seconds": say("tenant.used_gpu_seconds", (None, 0.0, 3600.0, 7.2e6)),
        }
        found.append(replace(tenant, **more))
    return tuple(found)


def _job(say: _Say, job: Job, cluster: Cluster, by_id: Mapping[str, Node]) -> Job:
    runs = job.state == "running"
    here = [by_id[node] for node in job.placement or ()] if runs else []
    types = {node.gpu_type for node in here}
    allowed = (TYPES[:1], TYPES[1:], TYPES)
    has = set(LABELS).intersection(*(node.labels for node in here)) if here else set(LABELS)
    lacks = {label for label in LABELS if not any(label in node.labels for node in here)}
    requires = say("job.requires", [(), (), *((label,) for label in LABELS if label in has)])
    excludes = [(), (), *((label,) for label in LABELS if label in lacks and label not in requires)]
    down = any(node.state == "down" for node in here)
    more = {
        "priority": say("job.priority", (0, 0, 1, 5, -1)),
        "gpu_types": say("job.gpu_types", [None, None, *(some for some in allowed if types <= set(some))]),
        "requires": requires,
        "excludes": say("job.excludes", excludes),
        "within": say("job.within", _units(cluster, here)),
        "preemptible": say("job.preemptible", (None, True) if down else (None, True, False, False)),
        "movable": say("job.movable", (None, None, True, False)),
        "held": None if runs else say("job.held", (None, None, None, "asked")),
        "not_before": None if runs else say.time("job.not_before", 0, 60),
        "deadline": say.time("job.deadline", 60, 3600),
        "time_limit_seconds": say("job.time_limit_seconds", (None, 30.0, 600.0, 7200.0)),
        "model": say("job.model", (None, *MODELS)),
        **_shape(say, job, runs=runs),
    }
    if PLAN_TYPES in say.fields and job.plans:
        listed = [None, None, *(some for some in allowed if types <= set(some))]
        more["plans"] = tuple(
            plan if plan.gpu_type is not None else replace(plan, gpu_types=say(PLAN_TYPES, listed))
            for plan in job.plans
        )
    return replace(job, **more)


def _with_uneven_plan(say: _Say, job: Job) -> Job:
    """Return a job with plans, perhaps with one more, of parts of two sizes."""
    if not job.plans or job.even or not say(PLAN_NODES, (False, False, True)):
        return job
    uneven = Plan(name="uneven", gpus=3, nodes=2, throughput=job.plans[0].throughput)
    return replace(job, plans=(*job.plans, uneven))


def _units(cluster: Cluster, here: Sequence[Node]) -> list[Within | None]:
    """Return what a job may say of levels; one that runs is inside one unit, or only prefers to be."""
    found: list[Within | None] = [None, None]
    for level in cluster.level_names:
        units = {node.units.get(level) for node in here}
        found.append(Within(level=level, required=False))
        if not here or (len(units) == 1 and None not in units):
            found.append(Within(level=level))
    return found


def _shape(say: _Say, job: Job, *, runs: bool) -> dict[str, Any]:
    """Return on how many nodes a job may be, and whether evenly; both hold for the nodes that it runs on."""
    if not job.gpus:
        return {}
    held = list((job.placement or {}).values()) if runs else []
    even = say("job.even", (False, True) if len(set(held)) < 2 else (False,))
    counts = NodeRange(most=_MOST_COUNTS).counts(job.gpus, even=even)
    count = say("job.nodes", counts)
    least, most = (min(count, len(held)), max(count, len(held))) if held else (count, count)
    ranges = (None, NodeRange(most=most), NodeRange(least=least, most=most), NodeRange(least=least))
    return {"even": even, "nodes": say("job.nodes", ranges)}
