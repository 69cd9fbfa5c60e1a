"""What tenants may borrow: the count of the package and of the verifier, the definition by numbers, and Kueue's."""

from __future__ import annotations

from collections import Counter
from random import Random

from plain_loans import Cohorts, loans_exist, may_use

from muri_opt import Cluster, Job, Node, Round, Tenant
from muri_opt.rounds.amounts import Amounts
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.verify.feasibility import quota_breaches
from muri_opt.verify.loans import spare_gpus

SMALL = (None, 0, 1, 2)


def drawn_tree(draw: Random, *, most: int = 3, kueue: bool = False) -> Cluster:
    """Return a cluster of few tenants; for ``kueue`` each has a quota, a parent no less than those below it have."""
    tenants: list[Tenant] = []
    for place in range(draw.randint(1, most)):
        parent = draw.choice(tenants).id if tenants and draw.random() < 0.7 else None
        quota = draw.randint(0, 4) if kueue else draw.choice([None, 0, 1, 2, 3])
        loans = {} if quota is None else {"borrow_gpus": draw.choice(SMALL), "lend_gpus": draw.choice(SMALL)}
        tenants.append(Tenant(id=f"t{place}", parent=parent, quota_gpus=quota, **loans))
    if kueue:
        quotas = {tenant.id: tenant.quota_gpus for tenant in tenants}
        for tenant in reversed(tenants):
            if tenant.parent is not None:
                quotas[tenant.parent] += quotas[tenant.id]
        tenants = [_with(tenant, quotas[tenant.id]) for tenant in tenants]
    return Cluster(nodes=(Node(id="n0", gpus=draw.randint(0, 8)),), tenants=tuple(tenants))


def _with(tenant: Tenant, quota: int) -> Tenant:
    borrow = None if tenant.parent is None else tenant.borrow_gpus
    return Tenant(id=tenant.id, parent=tenant.parent, quota_gpus=quota, borrow_gpus=borrow, lend_gpus=tenant.lend_gpus)


def drawn_gpus(draw: Random, cluster: Cluster, *, leaves: bool = False) -> dict[str, int]:
    """Return GPUs of the jobs of each tenant, of those alone that have none below if ``leaves``."""
    inner = {tenant.parent for tenant in cluster.tenants} if leaves else set()
    return {tenant.id: 0 if tenant.id in inner else draw.randint(0, 4) for tenant in cluster.tenants}


def with_below(cluster: Cluster, gpus: dict[str, int]) -> dict[str, int]:
    above = {tenant.id: tenant.parent for tenant in cluster.tenants}
    uses = Counter[str]()
    for tenant, number in gpus.items():
        at: str | None = tenant
        while at is not None:
            uses[at] += number
            at = above[at]
    return dict(uses)


def counted(cluster: Cluster, gpus: dict[str, int]) -> bool:
    """Return what the package's free capacity says of the GPUs of tenants, given one by one."""
    free = FreeCapacity(Amounts.of(cluster, ()))
    for place, tenant in enumerate(cluster.tenants):
        if gpus[tenant.id] and not free.has_quota(place, gpus[tenant.id]):
            return False
        free.charge(place, gpus[tenant.id])
    return True


def verified(cluster: Cluster, gpus: dict[str, int]) -> bool:
    round_ = Round(cluster=cluster, jobs=())
    return not any(quota_breaches(round_, Counter(gpus)))


def test_the_numbers_of_the_definition_exist_where_all_counts_say_so() -> None:
    allowed = 0
    for seed in range(250):
        draw = Random(seed)
        cluster = drawn_tree(draw)
        gpus = drawn_gpus(draw, cluster)
        uses = with_below(cluster, gpus)
        said = loans_exist(cluster, uses)
        assert may_use(cluster, uses, {}) == counted(cluster, gpus) == verified(cluster, gpus) == said, seed
        allowed += said
    assert 50 < allowed < 200


def test_cohorts_of_kueue_allow_the_same() -> None:
    allowed = borrowed = 0
    for seed in range(1000):
        draw = Random(f"kueue/{seed}")
        cluster = drawn_tree(draw, most=6, kueue=True)
        gpus = drawn_gpus(draw, cluster, leaves=True)
        uses = with_below(cluster, gpus)
        said = Cohorts(cluster).allow(uses)
        assert said == may_use(cluster, uses, {}) == counted(cluster, gpus) == verified(cluster, gpus), seed
        allowed += said
        borrowed += said and any(uses[tenant.id] > tenant.quota_gpus for tenant in cluster.tenants)
    assert allowed > 200
    assert borrowed > 20


def test_what_is_left_is_the_most_that_can_be_added() -> None:
    for seed in range(200):
        draw = Random(f"left/{seed}")
        cluster = drawn_tree(draw, most=5)
        gpus = drawn_gpus(draw, cluster)
        spare = spare_gpus(Round(cluster=cluster, jobs=()), Counter(gpus))
        free = FreeCapacity(Amounts.of(cluster, ()))
        for place, tenant in enumerate(cluster.tenants):
            free.charge(place, gpus[tenant.id])
        for place, tenant in enumerate(cluster.tenants):
            for more in range(1, 6):
                assert free.has_quota(place, more) == (more <= spare.get(tenant.id, more)), (seed, tenant.id, more)


def test_what_is_given_back_was_never_taken() -> None:
    for seed in range(60):
        draw = Random(f"back/{seed}")
        cluster = drawn_tree(draw, most=5)
        free, fresh = (FreeCapacity(Amounts.of(cluster, ())) for _ in range(2))
        taken = [(draw.randrange(len(cluster.tenants)), draw.randint(1, 4)) for _ in range(4)]
        for sign in (1, -1):
            for place, gpus in taken:
                free.charge(place, sign * gpus)
        assert (free.quota == fresh.quota).all()
        if free.borrowed is not None:
            assert (free.borrowed.net, free.borrowed.total) == (fresh.borrowed.net, fresh.borrowed.total)


def test_a_tenant_borrows_what_its_parent_borrows() -> None:
    tenants = (
        Tenant(id="org", quota_gpus=4, borrow_gpus=4),
        Tenant(id="vision", parent="org", quota_gpus=2, borrow_gpus=6),
        Tenant(id="speech", parent="org", quota_gpus=2, lend_gpus=1),
        Tenant(id="other", quota_gpus=4),
    )
    cluster = Cluster(nodes=(Node(id="n0", gpus=8),), tenants=tenants)
    none = dict.fromkeys((tenant.id for tenant in tenants), 0)
    most = {
        name: max(gpus for gpus in range(9) if counted(cluster, none | said | {"vision": gpus}))
        for name, said in {"alone": {}, "beside": {"speech": 2}, "taken": {"other": 3}}.items()
    }
    # Of 8 GPUs speech keeps one to itself, or uses two; or another tenant uses three.
    assert most == {"alone": 7, "beside": 6, "taken": 4}


def test_a_thousand_tenants_ten_deep() -> None:
    tenants = [Tenant(id="t0", quota_gpus=1000, borrow_gpus=5)]
    tenants += [
        Tenant(id=f"t{place}", parent=f"t{(place - 1) // 2}", quota_gpus=2, borrow_gpus=3, lend_gpus=place % 3)
        for place in range(1, 1000)
    ]
    cluster = Cluster(nodes=(Node(id="n0", gpus=4000),), tenants=tuple(tenants))
    jobs = tuple(Job(id=f"j{place}", gpus=1, tenant=f"t{place}", submitted=0.0) for place in range(1000))
    round_ = Round(cluster=cluster, jobs=jobs)
    free = FreeCapacity(round_.amounts)
    held = Counter[str]()
    for place in range(999, -1, -1):
        if free.has_quota(place, 1):
            free.charge(place, 1)
            held[f"t{place}"] += 1
    assert not any(quota_breaches(round_, held))
    assert held.total() == 11  # 5 below each of its two tenants, and 1 of the root's own
