"""Quotas of tenants by GPU type: how many GPUs on nodes of a type a tenant, with all below it, may have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from muri_opt.rounds import Decision, Job, Round, Violation
from muri_opt.verify.demands import Asked
from muri_opt.verify.tenant_lines import tenant_lines

ByType = Counter[tuple[str, str]]
"""GPUs of a tenant and a GPU type."""


def quotas_by_type(round_: Round) -> dict[tuple[str, str], int]:
    """Return the quotas of tenants by type."""
    return {
        (tenant.id, kind): gpus
        for tenant in round_.cluster.tenants
        for kind, gpus in (tenant.quota_by_type or {}).items()
    }


def used_by_type(round_: Round, held: Iterable[tuple[Job, Mapping[str, int]]]) -> ByType:
    """Return the GPUs of each type that tenants and those above them have, of jobs with GPUs per node."""
    lines, index, found = tenant_lines(round_), round_.cluster.node_index, ByType()
    for job, gpus in held:
        for node, number in gpus.items():
            kind = round_.cluster.nodes[index[node]].gpu_type
            if kind is not None:
                for tenant in lines.get(job.tenant or "", ()):
                    found[tenant, kind] += number
    return found


def used_of(round_: Round, decision: Decision) -> ByType:
    """Return the GPUs of each type that tenants have in a decision."""
    jobs, index = round_.jobs, round_.job_index
    return used_by_type(round_, ((jobs[index[name]], one.gpus) for one in decision.assignments for name in one.jobs))


def type_breaches(round_: Round, used: ByType, stay: ByType) -> Iterator[Violation]:
    """No tenant has more GPUs of a type than its quota, or than its jobs hold that ``stay`` in any case."""
    for (tenant, kind), quota in quotas_by_type(round_).items():
        if used[tenant, kind] > max(quota, stay[tenant, kind]):
            detail = f"{used[tenant, kind]} GPUs of the type {kind!r} in use; the quota is {quota}"
            yield Violation(rule="quota-by-type", where=tenant, detail=detail)


class OpenTypes:
    """On which types the tenants of jobs have enough left of their quotas, beside what is used."""

    def __init__(self, round_: Round, used: ByType) -> None:
        self._nodes, self._lines = round_.cluster.nodes, tenant_lines(round_)
        self._left = {key: quota - used[key] for key, quota in quotas_by_type(round_).items()}

    def parts(self, job: Job, asked: Asked) -> tuple[tuple[int, ...], ...]:
        """Return those parts of the nodes where a job may start on whose type its tenants may have its GPUs."""
        line = self._lines.get(job.tenant or "", ())
        return tuple(part for part in asked.parts if self._has(line, self._nodes[part[0]].gpu_type, job.gpus))

    def _has(self, line: tuple[str, ...], kind: str | None, gpus: int) -> bool:
        return kind is None or all(gpus <= self._left.get((tenant, kind), gpus) for tenant in line)
