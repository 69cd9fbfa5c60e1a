"""Cases from the public tests of KAI, Volcano, AdaptDL and Gavel, as rounds with names of our own."""

from __future__ import annotations

from benchmarks.peer_cases import BY_PRIORITY, KUEUE_QUEUES, KUEUE_TOPOLOGY, case, on, owned_by, runs, waits
from benchmarks.peer_cases_borrowing import BORROWING
from muri_opt import Cluster, Job, Node, Plan, Round, Tenant
from muri_opt.rounds import NodeRange

KAI = "NVIDIA/KAI-Scheduler 72de64fc"
VOLCANO = "volcano-sh/volcano ed72c7c81"
ADAPTDL = "petuum/adaptdl 542e123"
GAVEL = "stanford-futuredata/gavel c4fa400"
RECLAIM = "pkg/scheduler/actions/reclaim/reclaim_test.go"
PREEMPT = "pkg/scheduler/actions/preempt/preempt_test.go"
ALLOCATE = "pkg/scheduler/actions/allocate/allocate_test.go"


def queues(gpus: int, quotas: dict[str, int], *jobs: Job) -> Round:
    tenants = tuple(Tenant(id=name, quota_gpus=quota) for name, quota in quotas.items())
    return Round(now=60.0, cluster=Cluster(nodes=(Node(id="n0", gpus=gpus),), tenants=tenants), jobs=jobs)


FOUR = Cluster(nodes=tuple(Node(id=f"n{place}", gpus=1) for place in range(4)))
KAI_CASES = (
    case(
        "kai-reclaim-deserved",
        (KAI, RECLAIM, "2 jobs from queue0 running on node0 - 2 pending ..."),
        BY_PRIORITY,
        queues(
            2,
            {"red": 1, "blue": 1},
            runs("red-1", 1, tenant="red", submitted=1.0),
            runs("red-2", 1, tenant="red", submitted=2.0),
            waits("blue-1", 1, tenant="blue", submitted=3.0),
            waits("blue-2", 1, tenant="blue", submitted=4.0),
        ),
        expected={"red-1": on(1), "red-2": None, "blue-1": on(1), "blue-2": None},
        note="What a queue deserves is its quota.",
    ),
    case(
        "kai-both-at-deserved",
        (KAI, RECLAIM, "1 job from queue0 and 1 job from queue1 running ..."),
        BY_PRIORITY,
        queues(
            2,
            {"red": 1, "blue": 1},
            runs("red-1", 1, tenant="red", submitted=1.0),
            runs("blue-1", 1, tenant="blue", submitted=2.0),
            waits("red-2", 1, tenant="red", submitted=3.0),
            waits("blue-2", 1, tenant="blue", submitted=4.0),
        ),
        expected={"red-1": on(1), "blue-1": on(1), "red-2": None, "blue-2": None},
    ),
    case(
        "kai-interactive-stays",
        (
            KAI,
            RECLAIM,
            "1 interactive job is running with more GPUs than the quota, ...",
        ),
        BY_PRIORITY,
        queues(
            1,
            {"red": 0, "blue": 1},
            runs("red-1", 1, tenant="red", preemptible=False),
            waits("blue-1", 1, tenant="blue", preemptible=False),
        ),
        expected={"red-1": on(1), "blue-1": None},
    ),
    case(
        "kai-gang-too-large",
        (KAI, RECLAIM, "gang job fails to allocate enough pods"),
        BY_PRIORITY,
        Round(
            now=60.0,
            cluster=FOUR,
            jobs=(*(runs(f"red-{place}", 1, f"n{place}") for place in range(4)), waits("blue-gang", 5)),
        ),
        expected={**{f"red-{place}": on(1, f"n{place}") for place in range(4)}, "blue-gang": None},
        note="The queue that deserves nothing may go on while nobody can use its GPUs: it has no quota here.",
    ),
    case(
        "kai-fair-shares",
        (KAI, RECLAIM, "Reclaim jobs according to queue fair share"),
        BY_PRIORITY,
        queues(
            6,
            {"red": 2, "blue": 2, "green": 2},
            *(
                runs(f"{color}-{place}", 1, tenant=color, submitted=float(place), priority=0 if place < 2 else -1)
                for color in ("red", "blue")
                for place in range(3)
            ),
            waits("green-pair", 2, tenant="green"),
        ),
        expected={
            **{f"{color}-{place}": on(1) if place < 2 else None for color in ("red", "blue") for place in range(3)},
            "green-pair": on(2),
        },
        note="Quotas are the fair shares by KAI's rule: 1, 1 and 2 deserved, and the 2 left over to the first two.",
    ),
)

URGENT, PLAIN = {"priority": 100_000}, {"priority": 10}


def quota_of(quota: int, *jobs: Job) -> Round:
    owned = tuple(owned_by(job, "queue") for job in jobs)
    cluster = Cluster(nodes=(Node(id="n0", gpus=12),), tenants=(Tenant(id="queue", quota_gpus=quota),))
    return Round(now=60.0, cluster=cluster, jobs=owned)


MASTERS = Cluster(nodes=(Node(id="n1", gpus=1, labels=("master",)), Node(id="n2", gpus=2, labels=("worker",))))
VOLCANO_CASES = (
    case(
        "volcano-low-priority-goes",
        (VOLCANO, PREEMPT, "preempt low priority job in same queue"),
        BY_PRIORITY,
        quota_of(4, runs("low", 3, **PLAIN), waits("urgent", 3, **URGENT)),
        expected={"low": None, "urgent": on(3)},
    ),
    case(
        "volcano-enough-for-both",
        (
            VOLCANO,
            PREEMPT,
            "preempt low priority job in same queue: allocatable ...",
        ),
        BY_PRIORITY,
        quota_of(6, runs("low", 3, **PLAIN), waits("urgent", 3, **URGENT)),
        expected={"low": on(3), "urgent": on(3)},
    ),
    case(
        "volcano-only-who-may-be-stopped",
        (
            VOLCANO,
            PREEMPT,
            "preempt low priority job in same queue but not ...",
        ),
        BY_PRIORITY,
        quota_of(
            3,
            runs("pinned", 1, preemptible=False, **PLAIN),
            runs("low", 1, preemptible=True, **PLAIN),
            runs("high", 1, preemptible=True, **URGENT),
            waits("urgent", 1, **URGENT),
        ),
        expected={"pinned": on(1), "low": None, "high": on(1), "urgent": on(1)},
    ),
    case(
        "volcano-room-for-a-large-one",
        (VOLCANO, PREEMPT, "preempt enough tasks to fit large task of different job"),
        BY_PRIORITY,
        Round(
            now=60.0,
            cluster=Cluster(nodes=(Node(id="n0", gpus=6),)),
            jobs=(
                runs("low-1", 1, preemptible=True, **PLAIN),
                runs("low-2", 1, preemptible=True, **PLAIN),
                runs("pinned", 1, preemptible=False, **PLAIN),
                waits("urgent", 5, **URGENT),
            ),
        ),
        expected={"low-1": None, "low-2": None, "pinned": on(1), "urgent": on(5)},
    ),
    case(
        "volcano-minimum-not-met",
        (VOLCANO, ALLOCATE, "master's min member can not be allocated, ..."),
        "fifo",
        Round(now=60.0, cluster=MASTERS, jobs=(waits("masters", 2, requires=("master",)),)),
        expected={"masters": None},
    ),
    case(
        "volcano-large-does-not-block",
        (VOLCANO, ALLOCATE, "high priority queue should not block others"),
        "fifo",
        Round(
            now=60.0,
            cluster=Cluster(nodes=(Node(id="n1", gpus=2),)),
            jobs=(waits("large", 3, priority=1), waits("small", 1, priority=0)),
        ),
        expected={"large": None, "small": on(1, "n1")},
    ),
)

POLLUX = "sched/adaptdl_sched/policy/pollux_test.py"
THREE = Cluster(
    nodes=(Node(id="n0", gpus=1, cpus=0.5), Node(id="n1", gpus=1, cpus=8.0), Node(id="n2", gpus=1, cpus=8.0))
)
UNEQUAL = Cluster(
    nodes=(Node(id="n0", gpus=1, cpus=0.5), Node(id="n1", gpus=2, cpus=2.0), Node(id="n2", gpus=2, cpus=3.0))
)
ADAPTDL_CASES = (
    case(
        "adaptdl-unusable-node",
        (ADAPTDL, POLLUX, "test_unusable_node"),
        "fifo",
        Round(
            now=600.0,
            cluster=THREE,
            jobs=tuple(waits(f"job-{place}", 1, cpus=1.0, submitted=60.0 * place) for place in range(3)),
        ),
        expected={"job-0": on(1, "n1"), "job-1": on(1, "n2"), "job-2": None},
    ),
    case(
        "adaptdl-pair-on-one-node",
        (ADAPTDL, POLLUX, "test_allocate_job: the third job, of two replicas"),
        "fifo:nodes=fewest",
        Round(now=600.0, cluster=UNEQUAL, jobs=(waits("pair", 2, cpus=2.0),)),
        expected={"pair": on(2, "n1")},
    ),
    case(
        "adaptdl-pair-on-two-nodes",
        (ADAPTDL, POLLUX, "test_allocate_job: the fourth job, of two replicas with twice the CPUs"),
        "fifo",
        Round(now=600.0, cluster=UNEQUAL, jobs=(waits("pair", 2, cpus=4.0, nodes=NodeRange(most=2)),)),
        expected={"pair": None},
        also={"pair": {"n1": 1, "n2": 1}},
        differs="AdaptDL looks for one node that holds all replicas of a job that may not be resized; a gang may be "
        "on two, and two nodes hold one replica each. With at most one node it waits here, too.",
    ),
)

POLICIES = "scheduler/tests/policies_tests.py"
TYPES = {"v100": 2, "p100": 1, "k80": 3}


def by_type(name: str, rates: dict[str, float], **said: object) -> Job:
    """Return a job of one GPU with a plan for each type, which asks for the first of them."""
    plans = tuple(Plan(name=kind, gpus=1, gpu_type=kind, throughput=rate) for kind, rate in rates.items())
    return waits(name, 1, plans=plans, plan=plans[0].name, restart_seconds=0.0, **said)


def typed(counts: dict[str, int]) -> Cluster:
    return Cluster(nodes=tuple(Node(id=kind, gpus=gpus, gpu_type=kind) for kind, gpus in counts.items()))


RATES = ({"v100": 2.0, "p100": 1.0, "k80": 0.5}, {"v100": 3.0, "p100": 2.0, "k80": 1.0})
COSTS = {"v100": 3.1, "p100": 2.0, "k80": 0.8}
GAVEL_CASES = (
    case(
        "gavel-shortest-total",
        (GAVEL, POLICIES, "test_allox, first call"),
        "rubick",
        Round(
            now=60.0,
            cluster=typed(TYPES),
            jobs=(
                by_type("job-0", RATES[0], remaining_iterations=300),
                by_type("job-1", RATES[1], remaining_iterations=500),
                by_type("job-2", {"v100": 4.0, "p100": 3.0, "k80": 2.0}, remaining_iterations=1000),
                by_type("job-3", {"v100": 1.0, "p100": 1.0, "k80": 1.0}, remaining_iterations=500),
            ),
        ),
        expected={
            "job-0": on(1, "v100"),
            "job-1": on(1, "v100"),
            "job-2": on(1, "p100"),
            "job-3": on(1, "k80"),
        },
        note="The test asserts no allocation. The least sum of completion times on its figures is 1,150 s, and this is "
        "one of the two allocations that reach it; the other swaps job-1 and job-2.",
    ),
    case(
        "gavel-throughput-sum",
        (GAVEL, POLICIES, "test_throughput_sum"),
        "rubick",
        Round(
            now=60.0,
            cluster=typed({"v100": 1, "p100": 1, "k80": 1}),
            jobs=(by_type("job-0", RATES[0]), by_type("job-1", RATES[1])),
        ),
        expected={"job-0": on(1, "v100"), "job-1": on(1, "p100")},
        note="The test asserts no allocation. The largest sum on its figures is 4 steps a second; the other allocation "
        "that reaches it swaps the jobs.",
    ),
    case(
        "gavel-throughput-by-cost",
        (GAVEL, POLICIES, "test_throughput_sum_normalized_by_cost"),
        "rubick",
        Round(
            now=60.0,
            cluster=typed({"v100": 1, "p100": 1, "k80": 1}),
            jobs=tuple(
                by_type(f"job-{place}", {kind: rate / COSTS[kind] for kind, rate in rates.items()})
                for place, rates in enumerate(RATES)
            ),
        ),
        expected={"job-0": on(1, "v100"), "job-1": on(1, "k80")},
        note="The test asserts no allocation. The largest sum on its figures is 1.895 steps a second and unit of cost; "
        "throughputs here are divided by cost.",
    ),
)

CASES = (*KUEUE_QUEUES, *KUEUE_TOPOLOGY, *BORROWING, *KAI_CASES, *VOLCANO_CASES, *ADAPTDL_CASES, *GAVEL_CASES)
"""All cases, in the order in which they are told."""
