"""Prices of what tenants may borrow and have of each GPU type: more of what a bound can be made of.

A GPU of a job pays for the quota of its tenant, and of all above it, that it uses or makes them borrow (``borrow``),
and for that of its type (``type``). What a tenant borrows pays in its pool (``pool``), and to its parent, which has it
or borrows it (``pass``); whatever it borrows, between lending all it lends and borrowing the whole cluster, its profit
is no more than at one of these ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from muri_opt.rounds import Round
from muri_opt.verify.dual_bound import PriceTable, Supply
from muri_opt.verify.gangs.rules import GangRules
from muri_opt.verify.gangs.value import kept_jobs
from muri_opt.verify.loans import Loans, loans_of
from muri_opt.verify.tenant_lines import tenant_lines, with_parents
from muri_opt.verify.type_quotas import quotas_by_type, used_by_type


class TenantSupply:
    """What there is of loans and of types, beside the jobs that stay; nothing where tenants have neither."""

    def __init__(self, round_: Round, rules: GangRules) -> None:
        kept = kept_jobs(round_, rules)
        stay = [(job, job.placement or {}) for job in round_.jobs if job.id in kept]
        must = [(job, job.placement or {}) for job in round_.jobs if job.stays and job.id not in kept]
        self.names = [tenant.id for tenant in round_.cluster.tenants]
        self.lines, self.loans = tenant_lines(round_), loans_of(round_)
        self.total = round_.cluster.total_gpus
        quotas = quotas_by_type(round_)
        used, held = used_by_type(round_, stay), used_by_type(round_, must)
        self.types = list(quotas)
        self.supply: dict[str, Sequence[int | None]] = {}
        if quotas:
            self.supply["type"] = [max(held[key], quota - used[key]) for key, quota in quotas.items()]
        if self.loans is not None:
            staying, pinned = Counter[str](), Counter[str]()
            for job, _ in stay:
                staying[job.tenant or ""] += job.gpus
            for job, _ in must:
                pinned[job.tenant or ""] += job.gpus
            self.supply |= self._loans(
                self.loans, with_parents(round_, staying), with_parents(round_, staying + pinned)
            )

    def _loans(self, loans: Loans, used: Mapping[str, int], stay: Mapping[str, int]) -> Supply:
        least = loans.above(stay)
        most = {parent: max(limit, least[parent]) for parent, limit in loans.limit.items()}
        return {
            "borrow": [loans.quota[one] - used[one] if one in loans.quota else None for one in self.names],
            "pass": [loans.spare[one] if one in loans.quota else None for one in self.names],
            "pool": [most.get(parent) for parent in (*self.names, None)],
        }


class TenantPrices:
    """What a GPU of each tenant pays beside its quota, by its type, and the profit of what tenants borrow."""

    def __init__(self, there: TenantSupply, prices: PriceTable) -> None:
        self._lines = there.lines
        self._types = dict(zip(there.types, prices.of.get("type", ()), strict=True))
        self.by_type = any(self._types.values())
        self._borrow, self.profit = dict[str | None, int](), 0
        if there.loans is None:
            return
        self._borrow, passed, pool = (
            dict(zip((*there.names, None), prices.of[label], strict=False)) for label in ("borrow", "pass", "pool")
        )
        for tenant in there.loans.quota:
            parent = there.loans.parent[tenant]
            gain = self._borrow[tenant] + passed[tenant] - pool[parent]
            gain -= passed[parent] if parent in there.loans.quota else 0
            self.profit += max(-gain * there.loans.lend(tenant), gain * there.total)

    def of_gpu(self, tenant: str) -> int:
        """Return what a GPU of a tenant pays for what tenants borrow."""
        return sum(self._borrow.get(one, 0) for one in self._lines.get(tenant, ()))

    def of_type(self, tenant: str, kind: str | None) -> int:
        """Return what a GPU of a tenant pays for its type."""
        return sum(self._types.get((one, kind or ""), 0) for one in self._lines.get(tenant, ()))
