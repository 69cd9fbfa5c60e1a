"""What is left of quotas, told by plain numbers, against the one place where capacity is taken."""

from random import Random

import pytest

from muri_opt import Cluster, Job, Node, Round, Tenant
from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.systems.joint.nodes.quota_left import QuotaLeft

KINDS = ("none", "flat", "parents", "borrowing")


def drawn(kind, draw):
    """Return a round of a few jobs of tenants of a kind, and of jobs of none."""
    quota = [draw.choice([None, 0, 2, 5, 9]) for _ in range(4)] if kind != "none" else [None] * 4
    tenants = [Tenant(id=f"t{number}", quota_gpus=quota[number]) for number in range(4)]
    if kind == "parents":
        tenants[2:] = [
            Tenant(id=f"t{number}", quota_gpus=quota[number], parent=draw.choice(["t0", "t1"])) for number in (2, 3)
        ]
    if kind == "borrowing":
        tenants = [
            Tenant(id=f"t{number}", quota_gpus=draw.randint(0, 4), borrow_gpus=draw.choice([0, 1, 3]))
            for number in range(4)
        ]
    names = [None, *(tenant.id for tenant in tenants)]
    jobs = [Job(id=f"j{number}", gpus=1, tenant=draw.choice(names)) for number in range(8)]
    return Round(cluster=Cluster(nodes=(Node(id="n", gpus=16),), tenants=tuple(tenants)), jobs=tuple(jobs))


@pytest.mark.parametrize("kind", KINDS)
def test_as_much_is_left_as_where_capacity_is_taken(kind):
    for seed in range(60):
        draw = Random(f"{kind} {seed}")
        amounts = drawn(kind, draw).amounts
        left, free = QuotaLeft(amounts), FreeCapacity(amounts)
        assert left.is_limited == (free.borrowed is not None or bool((amounts.U < UNLIMITED).any()))
        for _ in range(6):
            group, size = tuple(sorted(draw.sample(range(8), draw.choice([1, 1, 2, 3])))), draw.randint(1, 4)
            most = max((gpus for gpus in range(40) if fits(free, group, gpus)), default=-1)
            assert min(left.most(group), 39) == most or left.most(group) < 0
            if len(group) == 1 and left.most(group) >= size:
                assert left.can_borrow(group, size) == free.has_quota(int(amounts.tenant[group[0]]), size)
            if left.most(group) >= size and left.can_borrow(group, size):
                left.take(group, size)
                for job in group:
                    free.charge(int(amounts.tenant[job]), size)


def fits(free, group, gpus):
    """Return whether each of the jobs could have so many GPUs, by what their tenants have left, without loans."""
    lines = [free.amounts.line(int(free.amounts.tenant[job])) for job in group]
    counted = [tenant for line in lines for tenant in line]
    return all(counted.count(tenant) * gpus <= free.quota[tenant] for tenant in counted)
