"""Jobs that share GPUs and ask for nodes, tried out grouping by grouping and split by split: shared with nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import floor

from brute_force import per_gpu
from plain_groups import Plain, micro, stages_of

from muri_opt import Job, Node

Split = tuple[int, ...]
"""GPUs of a group on each node."""
Vector = tuple[int, ...]
"""What a decision is worth to the jobs of each priority, from the largest on."""


class AskedGroupings:
    """Every decision of a round that the words of the round format allow, by the settings of a policy."""

    def __init__(self, plain: Plain) -> None:
        self.plain, self.round_ = plain, plain.round_
        self.jobs, self.nodes = self.round_.jobs, self.round_.cluster.nodes
        self.priorities = sorted({job.priority for job in self.jobs}, reverse=True) or [0]
        line = sorted(self.jobs, key=lambda job: (-job.priority, -plain.weight[job.id]))
        self.weight = {job.id: len(line) - rank for rank, job in enumerate(line)}
        self.quotas = [tenant for tenant in self.round_.cluster.tenants if tenant.quota_gpus is not None]

    def best(self) -> Vector:
        """Return the best worth, priority by priority."""

        @cache
        def best(left: tuple[int, ...], free: tuple[Fraction | None, ...], quotas: tuple[int, ...]) -> Vector:
            if not left:
                return (0,) * len(self.priorities)
            found = best(left[1:], free, quotas)
            for group in self.groups([self.jobs[job] for job in left]):
                spare = self.spare(quotas, group)
                if min(spare, default=0) < 0:
                    continue
                rest = tuple(job for job in left if self.jobs[job] not in group)
                for split in self.splits(group):
                    after = self.after(free, group, split)
                    if after is not None:
                        more = best(rest, after, spare)
                        found = max(found, tuple(map(sum, zip(self.vector(group), more, strict=True))))
            return found

        return best(tuple(range(len(self.jobs))), self.empty, tuple(tenant.quota_gpus for tenant in self.quotas))

    def decisions(self) -> Iterator[list[tuple[tuple[Job, ...], Split]]]:
        """Yield every decision: groups, with their GPUs per node."""

        def decide(left: Sequence[Job], free: object, quotas: tuple[int, ...]) -> Iterator[list[object]]:
            if not left:
                yield []
                return
            yield from decide(left[1:], free, quotas)
            for group in self.groups(left):
                spare = self.spare(quotas, group)
                for split in self.splits(group) if min(spare, default=0) >= 0 else ():
                    after = self.after(free, group, split)
                    if after is not None:
                        for more in decide([job for job in left if job not in group], after, spare):
                            yield [(group, split), *more]

        return decide(self.jobs, self.empty, tuple(tenant.quota_gpus for tenant in self.quotas))

    def groups(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, ...]]:
        """Yield every group that the first of the jobs may begin."""
        for more in range(self.plain.most):
            for others in combinations(jobs[1:], more):
                if self.plain.mixed or len({job.gpus for job in (jobs[0], *others)}) == 1:
                    yield (jobs[0], *others)

    def splits(self, group: Sequence[Job]) -> list[Split]:
        """Return the GPUs per node that every member may have."""
        gpus = max(job.gpus for job in group)
        every = (split for split in product(*(range(node.gpus + 1) for node in self.nodes)) if sum(split) == gpus)
        return [split for split in every if all(self.may_have(job, split) for job in group)]

    def may_have(self, job: Job, split: Split) -> bool:
        """Return whether a job runs there now, or may start there."""
        used = [node for node, gpus in zip(self.nodes, split, strict=True) if gpus]
        if job.state == "running" and split == tuple(job.placement.get(node.id, 0) for node in self.nodes):
            return True
        racks = {node.rack for node in used}
        inside = job.within is None or (None not in racks and len(racks) == 1)
        return inside and len({node.gpu_type for node in used}) == 1 and all(self.takes(node, job) for node in used)

    def takes(self, node: Node, job: Job) -> bool:
        ends = self.round_.now + (job.time_limit_seconds or 1e-6)
        return (
            (node.available_until is None or ends <= node.available_until)
            and (job.gpu_types is None or node.gpu_type in job.gpu_types)
            and set(job.requires) <= set(node.labels)
            and not set(job.excludes) & set(node.labels)
        )

    @property
    def empty(self) -> tuple[tuple[int, Fraction | None], ...]:
        cpus = [None if node.cpus is None else Fraction(str(node.cpus)) for node in self.nodes]
        return tuple((node.gpus, has) for node, has in zip(self.nodes, cpus, strict=True))

    def after(self, free: object, group: Sequence[Job], split: Split) -> object:
        """Return what a group leaves of the nodes, or ``None`` where it does not fit."""
        each = sum(per_gpu(job.cpus, job.gpus, 1000) for job in group)
        left = []
        for (gpus, cpus), given in zip(free, split, strict=True):
            left.append((gpus - given, None if cpus is None else cpus - given * each))
        return None if any(gpus < 0 or (cpus or 0) < 0 for gpus, cpus in left) else tuple(left)

    def spare(self, quotas: tuple[int, ...], group: Sequence[Job]) -> tuple[int, ...]:
        return tuple(
            left - sum(job.gpus for job in group if self.is_below(job.tenant, tenant.id))
            for left, tenant in zip(quotas, self.quotas, strict=True)
        )

    def is_below(self, tenant: str | None, other: str) -> bool:
        parents = {one.id: one.parent for one in self.round_.cluster.tenants}
        while tenant is not None and tenant != other:
            tenant = parents[tenant]
        return tenant == other

    def vector(self, group: Sequence[Job]) -> Vector:
        """Return what a group is worth to the jobs of each priority, by what they add."""
        first = max(job.priority for job in group)
        return tuple(self._part(group, priority, first == priority) for priority in self.priorities)

    def _part(self, group: Sequence[Job], priority: int, pays: bool) -> int:
        plain, gpus = self.plain, max(job.gpus for job in group)
        period = plain.period(group) * plain.slowdown(len(group))
        mine = [job for job in group if job.priority == priority]
        if not period or not mine:
            return 0
        if plain.objective == "efficiency":
            done = sum(job.gpus * sum(stages_of(job)) for job in mine)
            return floor(Fraction(10**6 * done) / (gpus * plain.slots * period))
        if plain.objective == "gpu-time":
            saved = sum(job.gpus * micro(job.iteration_seconds) for job in mine) - (gpus * period if pays else 0)
            return 0 if len(group) == 1 else floor(10**6 * Fraction(saved) / period)
        if plain.objective == "completion":
            whole = [plain.worth[job.id] * (micro(job.iteration_seconds) if len(group) > 1 else period) for job in mine]
            return floor(Fraction(sum(whole)) / period)
        if len(group) == 1:
            return 1000 * group[0].gpus * self.weight[group[0].id]
        speed = sum(job.gpus * self.weight[job.id] * micro(job.iteration_seconds) for job in mine)
        return floor(Fraction(1000 * speed) / period)
