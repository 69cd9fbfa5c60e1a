"""What tenants may borrow and have of each GPU type, while decisions of a small round are enumerated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from muri_opt.rounds import Job, Round
from muri_opt.verify.gangs.value import Kept
from muri_opt.verify.loans import loans_of
from muri_opt.verify.tenant_lines import tenant_lines, with_parents
from muri_opt.verify.type_quotas import quotas_by_type, used_by_type


class TenantLimits:
    """The limits of jobs that are still to be decided, beside those that are ``kept`` where they are.

    ``left`` is the round of the others: its quotas have what tenants may have beside the kept jobs.
    """

    def __init__(self, round_: Round, left: Round, jobs: Sequence[Job], kept: Kept) -> None:
        staying = [(job, job.placement or {}) for job in round_.jobs if job.id in kept]
        pinned = [(job, job.placement or {}) for job in round_.jobs if job.stays and job.id not in kept]
        self._jobs, self._loans, self._lines = jobs, loans_of(round_), tenant_lines(round_)
        self._names = [tenant.id for tenant in left.cluster.tenants if tenant.quota_gpus is not None]
        self._most = [tenant.quota_gpus or 0 for tenant in left.cluster.tenants if tenant.quota_gpus is not None]
        self._used = with_parents(round_, _gpus(staying))
        self._stay = with_parents(round_, _gpus([*staying, *pinned]))
        self._kinds = [node.gpu_type for node in round_.cluster.nodes]
        quotas = quotas_by_type(round_)
        used, held = used_by_type(round_, staying), used_by_type(round_, pinned)
        self._keys = list(quotas)
        self.amounts = tuple(max(held[key], quotas[key] - used[key]) for key in self._keys)

    def taken(self, job: int, gpus: Mapping[int, int]) -> Sequence[int]:
        """Return what GPUs per node of a job take of each tenant's quota of a type."""
        line = self._lines.get(self._jobs[job].tenant or "", ())
        return [
            sum(number for node, number in gpus.items() if self._kinds[node] == kind) if tenant in line else 0
            for tenant, kind in self._keys
        ]

    def allow(self, quotas: Sequence[int]) -> bool:
        """Return whether tenants may borrow what they use if this is left of what they may have."""
        if self._loans is None:
            return True
        left = dict(zip(self._names, quotas, strict=False))
        most = dict(zip(self._names, self._most, strict=True))
        uses = {tenant: self._used[tenant] + most[tenant] - left[tenant] for tenant in self._names}
        return self._loans.allow(uses, self._stay)


def _gpus(jobs: Sequence[tuple[Job, Mapping[str, int]]]) -> Counter[str]:
    found = Counter[str]()
    for job, _ in jobs:
        found[job.tenant or ""] += job.gpus
    return found
