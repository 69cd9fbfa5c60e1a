"""Cases of Kueue in which queues borrow of a cohort: quotas that are lent, limits of both sides, cohorts in a tree."""

from __future__ import annotations

from benchmarks.peer_cases import BY_PRIORITY, HIGH, KUEUE, LOW, MID, PREEMPTION, case, on, runs, waits
from muri_opt import Cluster, Job, Node, Round, Tenant

SCHEDULER = "pkg/scheduler/scheduler_test.go"
OWNERS = (
    "Kueue gives a queue its own quota back before it looks at priorities of other queues; here the larger one goes "
    "first wherever it is, and GPUs that nobody of a larger priority uses are lent."
)


def cohort(gpus: int, tenants: tuple[Tenant, ...], *jobs: Job) -> Round:
    return Round(now=60.0, cluster=Cluster(nodes=(Node(id="n0", gpus=gpus),), tenants=tenants), jobs=jobs)


PAIR = tuple(Tenant(id=name, quota_gpus=6, borrow_gpus=6) for name in ("red", "blue"))
LENDERS = (
    Tenant(id="red", quota_gpus=6, borrow_gpus=6, lend_gpus=4),
    Tenant(id="blue", quota_gpus=6, borrow_gpus=6, lend_gpus=2),
)
TREE = (Tenant(id="root", quota_gpus=15), Tenant(id="child", parent="root", quota_gpus=15))


def family(lend: int) -> tuple[Tenant, ...]:
    """Return a lender and a borrower below a cohort that is below another one."""
    return (
        *TREE,
        Tenant(id="lender", parent="child", quota_gpus=10, lend_gpus=lend),
        Tenant(id="borrower", parent="child", quota_gpus=5, borrow_gpus=10),
    )


THREE = tuple(Tenant(id=name, quota_gpus=10, borrow_gpus=10) for name in ("red", "blue", "green"))
SMALL = (
    Tenant(id="red", quota_gpus=3, borrow_gpus=5, lend_gpus=2),
    Tenant(id="blue", quota_gpus=2, borrow_gpus=5, lend_gpus=2),
)

BORROWING = (
    case(
        "kueue-reclaim-from-borrower",
        (KUEUE, PREEMPTION, "reclaim quota from borrower"),
        BY_PRIORITY,
        cohort(
            12,
            PAIR,
            runs("red-low", 3, tenant="red", **LOW),
            runs("blue-mid", 3, tenant="blue", **MID),
            runs("blue-high", 6, tenant="blue", **HIGH),
            waits("red-new", 3, tenant="red", **HIGH),
        ),
        expected={"red-low": on(3), "blue-mid": None, "blue-high": on(6), "red-new": on(3)},
        also={"red-low": None, "blue-mid": on(3)},
        differs=OWNERS,
    ),
    case(
        "kueue-reclaim-from-lender",
        (KUEUE, PREEMPTION, "reclaim quota from lender"),
        BY_PRIORITY,
        cohort(
            12,
            LENDERS,
            runs("red-low", 3, tenant="red", **LOW),
            runs("blue-mid", 3, tenant="blue", **MID),
            runs("blue-high", 4, tenant="blue", **HIGH),
            waits("red-new", 3, tenant="red", **HIGH),
        ),
        expected={"red-low": on(3), "blue-mid": None, "blue-high": on(4), "red-new": on(3)},
        also={"red-low": None, "blue-mid": on(3)},
        differs=OWNERS,
    ),
    case(
        "kueue-above-lending-limit",
        (KUEUE, SCHEDULER, "workload exceeds lending limit when borrow in cohort"),
        "fifo",
        cohort(5, SMALL, runs("blue-1", 2, tenant="blue"), waits("blue-2", 3, tenant="blue")),
        expected={"blue-1": on(2), "blue-2": None},
    ),
    case(
        "kueue-tree-above-lending-limit",
        (KUEUE, SCHEDULER, "hierarchical cohort respects lending limit when borrowing"),
        "fifo",
        cohort(15, family(3), runs("first", 5, tenant="borrower"), waits("second", 4, tenant="borrower")),
        expected={"first": on(5), "second": None},
        note="The quota of a cohort is the sum of its queues'.",
    ),
    case(
        "kueue-tree-up-to-lending-limit",
        (KUEUE, SCHEDULER, "hierarchical cohort allows borrowing up to lending limit"),
        "fifo",
        cohort(15, family(5), runs("first", 5, tenant="borrower"), waits("second", 5, tenant="borrower")),
        expected={"first": on(5), "second": on(5)},
        note="The quota of a cohort is the sum of its queues'.",
    ),
    case(
        "kueue-one-of-two-borrows",
        (KUEUE, SCHEDULER, "only one workload can borrow one resources from the same flavor ..."),
        "fifo",
        cohort(
            30,
            THREE,
            waits("red-1", 16, tenant="red", priority=-1),
            waits("blue-1", 16, tenant="blue", priority=-2),
        ),
        expected={"red-1": on(16), "blue-1": None},
    ),
)
