"""Cases from the public tests of other schedulers, as rounds with names of our own.

A queue is a tenant, a pod set or pod group a gang, one unit of the resource that the test counts a GPU. Where a test
has no nodes, one node is large enough for all. The answers are those that the tests expect. Here are the type and the
cases of Kueue.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from muri_opt import Cluster, Job, Node, Round, Tenant
from muri_opt.rounds import Within

KUEUE = "kubernetes-sigs/kueue ff69552e79"

BY_PRIORITY = "fifo:preempt=yes"
"""Larger priorities first, then who was submitted first; running jobs may be stopped for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerCase:
    """A round, the test it is from, and who runs where by that test; ``differs`` says why the optimum is another."""

    name: str
    peer: str
    file: str
    case: str
    policy: str
    round_: Round
    expected: dict[str, dict[str, int] | None]
    note: str | None = None
    """What is to be known of the reading, or of what the test asserts."""
    differs: str | None = None
    also: dict[str, dict[str, int] | None] = field(default_factory=dict)
    """What we decide of the jobs for which that is something else."""

    @property
    def ours(self) -> dict[str, dict[str, int] | None]:
        """The GPUs per node of each job by the optimum of the policy; ``None``: it waits."""
        return {**self.expected, **self.also}


def case(name: str, source: tuple[str, str, str], policy: str, round_: Round, **said: object) -> PeerCase:
    peer, file, test = source
    named = Round(format=round_.format, name=f"peers/{name}", now=round_.now, cluster=round_.cluster, jobs=round_.jobs)
    return PeerCase(name=name, peer=peer, file=file, case=test, policy=policy, round_=named, **said)


def runs(name: str, gpus: int, node: str = "n0", **said: object) -> Job:
    given = {"submitted": 0.0, **said}
    return Job(id=name, gpus=gpus, state="running", placement={node: gpus}, **given)


def waits(name: str, gpus: int, **said: object) -> Job:
    return Job(id=name, gpus=gpus, **{"submitted": 10.0, **said})


def on(gpus: int, node: str = "n0") -> dict[str, int]:
    return {node: gpus}


def one_queue(quota: int, *jobs: Job) -> Round:
    """Return a round of one tenant on a node that is large enough."""
    owned = tuple(owned_by(job, "queue") for job in jobs)
    cluster = Cluster(nodes=(Node(id="n0", gpus=2 * quota),), tenants=(Tenant(id="queue", quota_gpus=quota),))
    return Round(now=60.0, cluster=cluster, jobs=owned)


def owned_by(job: Job, tenant: str) -> Job:
    """Return a job of a tenant."""
    return Job(**{name: getattr(job, name) for name in job.__struct_fields__} | {"tenant": tenant})


PREEMPTION = "pkg/scheduler/preemption/preemption_test.go"
TOPOLOGY = "pkg/cache/scheduler/tas_cache_test.go"

LOW, MID, HIGH = {"priority": -1}, {"priority": 0}, {"priority": 1}

KUEUE_QUEUES = (
    case(
        "kueue-lowest-priority",
        (KUEUE, PREEMPTION, "preempt lowest priority"),
        BY_PRIORITY,
        one_queue(6, runs("low", 2, **LOW), runs("mid", 2, **MID), runs("high", 2, **HIGH), waits("new", 2, **HIGH)),
        expected={"low": None, "mid": on(2), "high": on(2), "new": on(2)},
    ),
    case(
        "kueue-several-victims",
        (KUEUE, PREEMPTION, "preempt multiple"),
        BY_PRIORITY,
        one_queue(6, runs("low", 2, **LOW), runs("mid", 2, **MID), runs("high", 2, **HIGH), waits("new", 3, **HIGH)),
        expected={"low": None, "mid": None, "high": on(2), "new": on(3)},
    ),
    case(
        "kueue-low-priority-waits",
        (KUEUE, PREEMPTION, "no preemption for low priority"),
        BY_PRIORITY,
        one_queue(6, runs("low", 3, **LOW), runs("mid", 3, **MID), waits("new", 1, **LOW)),
        expected={"low": on(3), "mid": on(3), "new": None},
    ),
    case(
        "kueue-some-free",
        (KUEUE, PREEMPTION, "some free quota, preempt low priority"),
        BY_PRIORITY,
        one_queue(6, runs("low", 1, **LOW), runs("mid", 1, **MID), runs("high", 3, **HIGH), waits("new", 2, **HIGH)),
        expected={"low": None, "mid": on(1), "high": on(3), "new": on(2)},
    ),
    case(
        "kueue-minimal-victims",
        (KUEUE, PREEMPTION, "minimal set excludes low priority"),
        BY_PRIORITY,
        one_queue(6, runs("low", 1, **LOW), runs("mid", 2, **MID), runs("high", 3, **HIGH), waits("new", 2, **HIGH)),
        expected={"low": on(1), "mid": None, "high": on(3), "new": on(2)},
    ),
    case(
        "kueue-newer-of-equals",
        (KUEUE, PREEMPTION, "preempt newer workloads with the same priority"),
        BY_PRIORITY,
        one_queue(
            6,
            runs("first", 2, priority=2, submitted=20.0),
            runs("newest", 2, priority=1, submitted=21.0),
            runs("older", 2, priority=1, submitted=20.0),
            waits("oldest", 2, priority=1, submitted=5.0),
        ),
        expected={"first": on(2), "newest": None, "older": on(2), "oldest": on(2)},
    ),
)

TREE = Cluster(
    levels=("block", "rack"),
    nodes=tuple(
        Node(id=name, gpus=gpus, rack=rack, levels={"block": block})
        for name, gpus, block, rack in (
            ("x3", 1, "b1", "b1-r1"),
            ("x5", 1, "b1", "b1-r2"),
            ("x1", 1, "b1", "b1-r2"),
            ("x6", 1, "b1", "b1-r2"),
            ("x2", 1, "b2", "b2-r1"),
            ("x4", 2, "b2", "b2-r2"),
        )
    ),
)


def inside(level: str, gpus: int, cluster: Cluster = TREE, *, required: bool = True) -> Round:
    gang = waits("gang", gpus, within=Within(level=level, required=required))
    return Round(now=60.0, cluster=cluster, jobs=(gang,))


BLOCKS = Cluster(
    levels=("block",),
    nodes=tuple(
        Node(id=block, gpus=gpus, levels={"block": block}) for block, gpus in (("b1", 2), ("b2", 1), ("b3", 4))
    ),
)


CORDONED = Cluster(nodes=(Node(id="x3", gpus=1, labels=("zone-a",), state="drain"),))
KUEUE_TOPOLOGY = (
    case(
        "kueue-rack-of-three",
        (KUEUE, TOPOLOGY, "rack required; multiple Pods fit in a rack; BestFit"),
        "fifo",
        inside("rack", 3),
        expected={"gang": {"x1": 1, "x5": 1, "x6": 1}},
    ),
    case(
        "kueue-tightest-rack",
        (KUEUE, TOPOLOGY, "rack required; multiple Pods fit in some racks; BestFit"),
        "fifo:nodes=fewest",
        inside("rack", 2),
        expected={"gang": {"x4": 2}},
    ),
    case(
        "kueue-no-rack-of-four",
        (KUEUE, TOPOLOGY, "rack required; too many pods to fit in any rack; BestFit"),
        "fifo",
        inside("rack", 4),
        expected={"gang": None},
    ),
    case(
        "kueue-no-block-of-five",
        (KUEUE, TOPOLOGY, "block required; too many Pods to fit requested; BestFit"),
        "fifo",
        inside("block", 5),
        expected={"gang": None},
    ),
    case(
        "kueue-prefers-a-block",
        (KUEUE, TOPOLOGY, "block preferred; Pods fit in 2 blocks; BestFit"),
        "fifo:nodes=fewest",
        inside("block", 5, BLOCKS, required=False),
        expected={"gang": {"b2": 1, "b3": 4}},
    ),
    case(
        "kueue-prefers-a-rack",
        (KUEUE, TOPOLOGY, "rack preferred; but only block can accommodate the workload; BestFit"),
        "fifo",
        inside("rack", 4, required=False),
        expected={"gang": {"x1": 1, "x3": 1, "x5": 1, "x6": 1}},
        also={"gang": {"x3": 1, "x4": 2, "x5": 1}},
        differs="No rack holds the gang, so all places are worth the same to it here, and fewer nodes are taken; Kueue "
        "tries the next wider level, and stays inside one block.",
    ),
    case(
        "kueue-cordoned-node",
        (KUEUE, TOPOLOGY, "no assignment as node is unschedulable; BestFit"),
        "fifo",
        Round(now=60.0, cluster=CORDONED, jobs=(waits("gang", 1, requires=("zone-a",)),)),
        expected={"gang": None},
    ),
)
