"""Whose quota keeps a gang from starting, in words."""

from __future__ import annotations

from muri_opt.rounds import Round
from muri_opt.systems.capacity.free_capacity import Leftover


def quota_text(round_: Round, left: Leftover, job: int) -> str:
    """Return which tenant, the job's own or one above it, may have too few GPUs more, and of what."""
    asks, line = int(left.asks[job]), left.line(job)
    place = min(line, key=lambda one: int(left.quota[one]))
    spare = int(left.quota[place])
    if spare >= asks and left.borrowed is not None:
        return _pool_text(round_, left, job)
    tenant = round_.cluster.tenants[place]
    has = f"has {spare} left of" if spare >= 0 else f"is {-spare} over"
    more = f" and the {tenant.borrow_gpus} that it may borrow" if tenant.borrow_gpus else ""
    return f"tenant {tenant.id!r} {has} its quota of {tenant.quota_gpus}{more}"


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
    if left.types is None or left.sets is None:
        return ""
    words = []
    for kind in dict.fromkeys(int(left.types.types[nodes[0]]) for nodes in left.sets.of(job).sets):
        place = min(left.line(job), key=lambda one: int(left.types.left[one, kind]) if left.types else 0)
        spare, tenant = int(left.types.left[place, kind]), round_.cluster.tenants[place]
        name = round_.cluster.nodes[left.types.types.tolist().index(kind)].gpu_type
        quota = (tenant.quota_by_type or {}).get(name or "")
        if quota is not None and spare < left.asks[job]:
            has = f"has {spare} left of" if spare >= 0 else f"is {-spare} over"
            words.append(f"tenant {tenant.id!r} {has} its quota of {quota} of the type {name!r}")
    return "; ".join(words)


def _pool_text(round_: Round, left: Leftover, job: int) -> str:
    """Return in which pool too little is left to borrow."""
    if left.borrowed is None:
        return ""
    full = left.borrowed.full_pool(int(left.amounts.tenant[job]), int(left.asks[job]))
    if full is None:
        return ""
    tenant, rules = round_.cluster.tenants[full], left.borrowed.rules
    pool = rules.pool[full]
    spare = max(0, rules.most[pool] - left.borrowed.total[pool])
    beside = "of the cluster" if tenant.parent is None else f"below {tenant.parent!r}"
    has = f"tenant {tenant.id!r} has {left.borrowed.use[full]} GPUs with a quota of {tenant.quota_gpus}"
    return f"{has}, and the tenants {beside} leave it {spare} to borrow"
