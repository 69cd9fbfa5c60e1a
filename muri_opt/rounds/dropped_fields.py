"""A round without some fields of format 2: for a policy that does not honour them, by the caller's own word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from muri_opt.errors import unknown_name
from muri_opt.rounds.job import Job
from muri_opt.rounds.round import Round
from muri_opt.rounds.used_fields import ABSENT, FIELDS, GPU_TYPES, LEVELS, PLAN_NODES, PLAN_TYPES, TOGETHER

_Item = TypeVar("_Item", bound=msgspec.Struct)


def without_fields(round_: Round, fields: Iterable[str]) -> tuple[Round, dict[str, int]]:
    """Return the round as if nobody had said some fields, and how many nodes, tenants, jobs or plans had said each.

    What refers to a field that is gone has to go, too: ``job.within`` with ``cluster.levels``, for one. Without
    ``plan.nodes`` jobs have no plans of unequal parts.

    >>> job = Job(id="a", gpus=1, deadline=60.0, priority=1)
    >>> round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=(job,))
    >>> plain, lost = without_fields(round_, ["job.deadline"])
    >>> list(plain.used_fields), lost
    (['job.priority'], {'job.deadline': 1})
    """
    gone = list(dict.fromkeys(fields))
    for field in gone:
        if field not in FIELDS:
            raise unknown_name("field", field, FIELDS)
    dropping = _Dropping(gone)
    cluster = round_.cluster
    plain = replace(
        round_,
        cluster=replace(
            cluster,
            levels=() if LEVELS in gone else cluster.levels,
            nodes=tuple(dropping.bare("node", node) for node in cluster.nodes),
            tenants=tuple(dropping.bare("tenant", tenant) for tenant in cluster.tenants),
        ),
        jobs=tuple(dropping.job(job) for job in round_.jobs),
        together=() if TOGETHER in gone else round_.together,
    )
    lost = dropping.lost + Counter({LEVELS: int(bool(cluster.levels)), TOGETHER: len(round_.together)})
    return plain, {field: lost[field] for field in gone}


class _Dropping:
    """Takes fields out of one item after another, and counts those that had said them."""

    def __init__(self, gone: list[str]) -> None:
        self.lost = Counter[str]()
        self._absent: dict[str, Mapping[str, object]] = {
            kind: {name: plain for name, plain in fields.items() if f"{kind}.{name}" in gone}
            for kind, fields in ABSENT.items()
        }
        of_nodes = {"gpu_type": GPU_TYPES, "levels": LEVELS}
        self._absent["node"] = {**self._absent["node"], **{name: None for name in of_nodes if of_nodes[name] in gone}}
        self._even_only = PLAN_NODES in gone
        self._absent["plan"] = {"gpu_types": None} if PLAN_TYPES in gone else {}

    def bare(self, kind: str, item: _Item) -> _Item:
        """Return an item without the fields."""
        said = {name: plain for name, plain in self._absent[kind].items() if getattr(item, name) != plain}
        self.lost.update(f"{kind}.{name}" for name in said)
        return replace(item, **said) if said else item

    def job(self, job: Job) -> Job:
        """Return a job without the fields, in its plans neither."""
        bare = self.bare("job", job)
        if not bare.plans or not (self._absent["plan"] or self._even_only):
            return bare
        plans = [self.bare("plan", plan) for plan in bare.plans]
        if self._even_only:
            even = [plan for plan in plans if not plan.larger_parts]
            self.lost[PLAN_NODES] += len(plans) - len(even)
            plans = even
        known = {plan.name for plan in plans}
        return replace(bare, plans=tuple(plans) or None, plan=bare.plan if not plans or bare.plan in known else None)
