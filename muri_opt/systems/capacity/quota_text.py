"""Whose quota keeps a gang from starting, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from muri_opt.rounds import Round, Tenant
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.borrowing import Borrowed
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.systems.capacity.free_capacity import Leftover


def quota_text(round_: Round, left: Leftover, job: int) -> str:
    """Return which tenants, the job's own and those above it, may have too few GPUs more, and of what."""
    asks = int(left.asks[job])
    words = short_tenants(round_, left.line(job), left.quota, asks)
    pool = [] if left.borrowed is None else _pool_text(round_, left.borrowed, left.line(job), asks)
    return "; ".join([*words.values(), *(text for tenant, text in pool if tenant not in words)])


def short_tenants(round_: Round, line: Sequence[int], quota: Ints, asks: int) -> dict[int, str]:
    """Return the tenants of a line that have fewer GPUs left of their ``quota`` than a job asks for, each in words."""
    short = [one for one in line if quota[one] < asks]
    return {one: _limit_text(round_.cluster.tenants[one], int(quota[one])) for one in short}


def _limit_text(tenant: Tenant, spare: int) -> str:
    """Return what a tenant has left."""
    has = f"has {spare} left of" if spare >= 0 else f"is {-spare} over"
    more = f" and the {tenant.borrow_gpus} that it may borrow" if tenant.borrow_gpus else ""
    return f"tenant {tenant.id!r} {has} its quota of {tenant.quota_gpus}{more}"


class OverQuota(NamedTuple):
    """How many GPUs of a job are above the quotas of its tenants, which quotas in words, and what would help."""

    gpus: int
    said: str
    remedy: str


WITHIN_QUOTA: Final = OverQuota(0, "", "")
"""That of a job whose tenants may have all of its GPUs."""


def over_quota_text(round_: Round, left: Leftover, job: int) -> OverQuota:
    """Return what keeps a job from starting by the quotas of its tenants."""
    over = over_quota(left, job)
    if not over:
        return WITHIN_QUOTA
    remedy = f"free {gpus_text(over)} of the tenant or of those that could lend them, or raise its quota"
    if left.borrowed is None:
        remedy = " and ".join(quota_remedies(round_, left, job, int(left.asks[job])))
    return OverQuota(over, quota_text(round_, left, job), remedy)


def quota_remedies(round_: Round, left: Leftover, job: int, asks: int) -> Iterator[str]:
    """Yield for each tenant of a job that may have too few GPUs more what would help; all of it is needed."""
    for place in left.line(job):
        tenant, lacks = round_.cluster.tenants[place], asks - int(left.quota[place])
        if lacks > 0 and tenant.quota_gpus is not None:
            if asks <= tenant.quota_gpus:
                yield f"free {gpus_text(lacks)} of tenant {tenant.id!r}, or raise its quota by as many"
            else:  # all that it has would be too few
                yield f"raise the quota of tenant {tenant.id!r} by {gpus_text(lacks)}"


def over_quota(left: Leftover, job: int) -> int:
    """Return the GPUs of a job that it may not have beside what runs, by all quotas and what can be borrowed."""
    asks, tenant = int(left.asks[job]), int(left.amounts.tenant[job])
    short = max([0, *(asks - int(left.quota[one]) for one in left.line(job))])
    if left.borrowed is None or left.borrowed.allows(tenant, asks):
        return short
    few, many = 0, asks  # from some number of GPUs on too little is left to borrow
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if left.borrowed.allows(tenant, middle) else (few, middle)
    return max(asks - few, short)


def type_quota_text(round_: Round, left: Leftover, job: int) -> str:
    """Return what the tenants of a job have left of each GPU type on which it could be."""
    types, line, words = left.types, left.line(job), list[str]()
    if types is None or left.sets is None:
        return ""
    for kind in dict.fromkeys(int(types.types[nodes[0]]) for nodes in left.sets.of(job).sets):
        place = line[int(types.left[list(line), kind].argmin())]
        spare, tenant = int(types.left[place, kind]), round_.cluster.tenants[place]
        name = round_.cluster.nodes[types.types.tolist().index(kind)].gpu_type
        quota = (tenant.quota_by_type or {}).get(name or "")
        if quota is not None and spare < left.asks[job]:
            has = f"has {spare} left of" if spare >= 0 else f"is {-spare} over"
            words.append(f"tenant {tenant.id!r} {has} its quota of {quota} of the type {name!r}")
    return "; ".join(words)


def _pool_text(round_: Round, borrowed: Borrowed, line: Sequence[int], asks: int) -> list[tuple[int, str]]:
    """Return the tenant in whose pool too little is left to borrow, if there is one, and what is left."""
    full = borrowed.full_pool(line[0], asks) if line else None
    if full is None:
        return []
    tenant, pool = round_.cluster.tenants[full], borrowed.rules.pool[full]
    spare = max(0, borrowed.rules.most[pool] - borrowed.total[pool])
    beside = "of the cluster" if tenant.parent is None else f"below {tenant.parent!r}"
    has = f"tenant {tenant.id!r} has {borrowed.use[full]} GPUs with a quota of {tenant.quota_gpus}"
    return [(full, f"{has}, and the tenants {beside} leave it {spare} to borrow")]
