"""What differs between two decisions of a round, as changes that sum exactly to the difference of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muri_opt.rounds import Decision, Round
from muri_opt.studies.explain.differences import Difference, by_job, difference, is_moved
from muri_opt.studies.explain.linked_changes import linked_jobs
from muri_opt.studies.explain.shared_pools import shared_pools
from muri_opt.studies.explain.value_parts import Part, value_parts
from muri_opt.verify import Rules, chapter_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Jobs that change together: the parts they are in by each decision, and what the second gains by it."""

    jobs: tuple[str, ...]
    first: tuple[Part, ...]
    second: tuple[Part, ...]

    @property
    def worth(self) -> tuple[int, int]:
        """What the parts are worth in the first and in the second decision."""
        return _worth(self.first), _worth(self.second)

    @property
    def gpus(self) -> tuple[int, int]:
        """The GPUs in use in the first and in the second decision."""
        return sum(part.gpus for part in self.first), sum(part.gpus for part in self.second)

    @property
    def gain(self) -> int:
        """What the second decision is worth more."""
        return self.worth[1] - self.worth[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How every job fares in two decisions, and all that differs.

    The ``changes`` come by what they gain, the largest first; together they gain exactly the difference of the two
    ``values``. ``same`` is what all the rest is worth, equally in both. ``moved`` jobs run alike on other nodes.
    """

    values: tuple[int, int]
    differences: Mapping[str, Difference]
    changes: tuple[Change, ...]
    same: int
    moved: tuple[str, ...]

    @property
    def gap(self) -> int:
        """What the second decision is worth more than the first."""
        return self.values[1] - self.values[0]


def compare_decisions(round_: Round, rules: Rules, first: Decision, second: Decision) -> Comparison:
    """Return what differs between two decisions that keep the same rules, whoever made them."""
    here, there = (_Side.of(round_, rules, decision) for decision in (first, second))
    differences = {job: difference(here.jobs[job], there.jobs[job]) for job in round_.job_index}
    jobs = [job for job, kind in differences.items() if kind.differs]
    over = [tenant for tenant in here.over | there.over if here.excess(tenant) != there.excess(tenant)]
    tenants = {tenant: [job for job in jobs if _tenant(round_, job) == tenant] for tenant in sorted(over)}
    groups = (side.jobs[job].jobs for side in (here, there) for job in jobs)
    pools = shared_pools(round_, chapter_of(round_, rules), here.parts, there.parts)
    changes = []
    for one in linked_jobs(round_, jobs, (*groups, *tenants.values()), pools):
        inside = tuple(sorted(one, key=round_.job_index.__getitem__))
        above = [tenant for tenant, mine in tenants.items() if one.issuperset(mine)]
        changes.append(Change(jobs=inside, first=here.of_jobs(inside, above), second=there.of_jobs(inside, above)))
    return Comparison(
        values=(_worth(here.parts), _worth(there.parts)),
        differences=differences,
        changes=tuple(sorted(changes, key=lambda change: -change.gain)),
        same=_worth(here.parts) - sum(change.worth[0] for change in changes),
        moved=tuple(job for job in differences if is_moved(here.jobs[job], there.jobs[job])),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One decision: its parts, the part of each job, and of each tenant above its quota."""

    parts: tuple[Part, ...]
    jobs: dict[str, Part]
    over: dict[str, Part]

    @classmethod
    def of(cls, round_: Round, rules: Rules, decision: Decision) -> _Side:
        parts = value_parts(round_, rules, decision)
        over = {part.tenant: part for part in parts if part.tenant is not None}
        return cls(parts=parts, jobs=by_job(parts), over=over)

    def excess(self, tenant: str) -> int:
        """Return the GPUs of a tenant above its quota."""
        return self.over[tenant].over_quota if tenant in self.over else 0

    def of_jobs(self, jobs: Sequence[str], tenants: Sequence[str]) -> tuple[Part, ...]:
        """Return the parts of these jobs, each once, then those of these tenants."""
        mine = {part.jobs: part for part in (self.jobs[job] for job in jobs)}
        return (*mine.values(), *(self.over[tenant] for tenant in tenants if tenant in self.over))


def _worth(parts: Sequence[Part]) -> int:
    return sum(part.value for part in parts)


def _tenant(round_: Round, job: str) -> str | None:
    return round_.jobs[round_.job_index[job]].tenant
