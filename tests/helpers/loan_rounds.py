"""Small random rounds of gangs whose tenants borrow of each other, or have quotas by GPU type."""

from __future__ import annotations

from random import Random

from asked_rounds import asked_round
from msgspec.structs import replace

from muri_opt.rounds import Round, Tenant

LOANS = {
    "borrow": ("priority", ("borrow",)),
    "pinned": ("tenants", ("borrow",)),
    "types": ("types", ("by_type",)),
    "both": ("all", ("borrow", "by_type")),
}
"""What else the jobs of a group ask, and what tenants say beside quotas and parents."""
BORROWED, LENT = (None, 0, 1, 2, 4, 4), (None, 0, 0, 1, 2)


def share_round(seed: int, most_jobs: int = 4) -> Round:
    """Return a round of tenants with weights and decayed use, some of which borrow."""
    draw, round_ = Random(f"shares/{seed}"), loan_round(seed, draw_group(seed), most_jobs)
    tenants = tuple(
        replace(tenant, weight=draw.choice([1.0, 0.5, 3.0]), used_gpu_seconds=draw.choice([None, 0.0, 1.5, 8.0]))
        for tenant in round_.cluster.tenants
    )
    return replace(round_, cluster=replace(round_.cluster, tenants=tenants))


def draw_group(seed: int) -> str:
    """Return the group that a seed is of."""
    return [*LOANS][seed % len(LOANS)]


def loan_round(seed: int, group: str, most_jobs: int = 4) -> Round:
    """Return one round of a group, the same for the same seed."""
    base, said = LOANS[group]
    draw, round_ = Random(f"loans/{group}/{seed}"), asked_round(seed, base, most_jobs)
    tenants = tuple(_tenant(draw, place, said) for place in range(draw.randint(2, 4)))
    if "borrow" in said and draw.random() < 0.6:
        tenants = _lenders(draw)
    names = [None, *(tenant.id for tenant in tenants), *[tenants[-1].id] * 3]
    jobs = tuple(replace(job, tenant=draw.choice(names)) for job in round_.jobs)
    cluster = replace(round_.cluster, tenants=tenants)
    return replace(round_, name=f"loans/{group}/{seed}", cluster=cluster, jobs=jobs)


def _lenders(draw: Random) -> tuple[Tenant, ...]:
    """Return tenants with one borrower, which finds nothing but what the other lends."""
    quota = draw.randint(2, 4)
    lender = Tenant(id="t1", parent="t0", quota_gpus=quota, lend_gpus=draw.choice([0, 1, 1, 2, None]))
    borrower = Tenant(id="t2", parent="t0", quota_gpus=draw.randint(0, 2), borrow_gpus=draw.randint(1, 4))
    whole = quota + (borrower.quota_gpus or 0)
    return Tenant(id="t0", quota_gpus=draw.choice([None, whole, whole])), lender, borrower


def _tenant(draw: Random, place: int, said: tuple[str, ...]) -> Tenant:
    quota = draw.choice([None, 0, 1, 1, 2, 2, 3, 4])
    more: dict[str, object] = {}
    if "borrow" in said and quota is not None:
        more |= {"borrow_gpus": draw.choice(BORROWED), "lend_gpus": draw.choice(LENT)}
    if "by_type" in said:
        more["quota_by_type"] = draw.choice([None, {"a": 1}, {"a": 2, "b": 1}, {"a": 0}, {"b": 0}])
    parent = f"t{draw.randrange(place)}" if place and draw.random() < 0.4 else None
    return Tenant(id=f"t{place}", quota_gpus=quota, parent=parent, **more)
