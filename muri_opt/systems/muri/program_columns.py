"""The groups of the chapter *grouping*: multisets of equal jobs, with their values.

Columns x_S of the set packing program in the chapter *grouping*: instead of Muri's rounds of pairwise matching (SIGCOMM
2022), every group is enumerated once per multiset of types, n_St and e_S being ``entries`` and ``value``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from muri_opt.errors import RefusalError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.muri.group_values import GroupRules, Members, group_values
from muri_opt.systems.muri.interleaving import alone_microseconds, slot_count
from muri_opt.systems.orders import priority_order

MOST_COLUMNS = 400_000
"""Groups beyond which the program is refused: more of them do not fit a solver's time or memory."""
_TRAITS = 7  # columns of the table of types before the stage times


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupColumns:
    """Types of equal jobs, and every group of up to p of them.

    Two jobs are of one type if they have the same GPUs, stage times, CPUs, memory and tenant, and whatever else the
    objective looks at. ``groups[i]`` are the types of group i in ascending order, filled up with -1; ``gpus[i]`` are
    the GPUs it takes, those of its largest job. ``g`` are the GPUs of each type.
    """

    type_of: Ints
    count: Ints
    stages: Ints
    g: Ints
    c: Ints
    m: Ints
    tenant: Ints
    groups: Ints
    gpus: Ints
    value: Ints

    @classmethod
    def of(cls, round_: Round, rules: GroupRules) -> GroupColumns:
        """Return types and groups of a round, from the last call if it was the same."""
        return _columns(round_, rules)

    @property
    def most(self) -> Ints:
        """How often each group can run at most."""
        group, kind, times = self.entries
        result = np.full(len(self.groups), np.iinfo(np.int64).max)
        np.minimum.at(result, group, self.count[kind] // times)
        return result

    @property
    def entries(self) -> tuple[Ints, Ints, Ints]:
        """Group, type and number of jobs of that type in it, one row per pair of group and type."""
        group = np.repeat(np.arange(len(self.groups)), self.groups.shape[1])
        kind = self.groups.ravel()
        used = kind >= 0
        key, times = np.unique(group[used] * len(self.count) + kind[used], return_counts=True)
        return key // max(1, len(self.count)), key % max(1, len(self.count)), times.astype(np.int64)

    def members(self, group: int) -> tuple[int, ...]:
        """Return the types of a group, as often as they occur."""
        return tuple(kind for kind in self.groups[group].tolist() if kind >= 0)


@last_recalled
def _columns(round_: Round, rules: GroupRules) -> GroupColumns:
    kinds, type_of, count = np.unique(_traits(round_, rules), axis=0, return_inverse=True, return_counts=True)
    g, c, m, tenant, _, alone, weight = kinds[:, :_TRAITS].T
    stages = np.ascontiguousarray(kinds[:, _TRAITS:])
    largest = min(rules.largest_group, slot_count(rules.pattern, len(round_.resources)))
    able = np.where(g <= round_.cluster.total_gpus, count, 0)  # a job larger than the cluster is in no group
    groups = _all_groups(g if rules.sizes == "equal" else np.zeros_like(g), able, largest)
    value = np.zeros(len(groups), dtype=np.int64)
    sizes = (groups >= 0).sum(axis=1)
    for size in np.unique(sizes).tolist():
        at = np.flatnonzero(sizes == size)
        of = groups[at, :size]
        value[at] = group_values(rules, Members(stages=stages[of], alone=alone[of], gpus=g[of], weight=weight[of]))
    return GroupColumns(
        type_of=type_of.ravel(),
        count=count.astype(np.int64),
        stages=stages,
        g=g,
        c=c,
        m=m,
        tenant=tenant,
        groups=groups,
        gpus=np.where(groups >= 0, g[groups], 0).max(axis=1, initial=0) if len(g) else np.zeros(0, dtype=np.int64),
        value=value,
    )


def _traits(round_: Round, rules: GroupRules) -> Ints:
    """Return what makes jobs equal, a row per job: what they ask, what the objective looks at, their stage times."""
    amounts, jobs = round_.amounts, np.arange(len(round_.jobs))
    same = np.zeros_like(jobs)
    weight, alone = same.copy(), same
    if rules.objective == "progress":
        weight[priority_order(round_, rules.order)] = jobs[::-1] + 1
    if rules.objective != "efficiency":
        alone = np.array([alone_microseconds(job) for job in round_.jobs], dtype=np.int64)
    stages = np.array([_stages(job) for job in round_.jobs], dtype=np.int64)
    position = jobs if rules.distinct else same
    asked = [amounts.g, amounts.c, amounts.m, amounts.tenant, position, alone, weight]
    return np.column_stack([*asked, stages.reshape(len(jobs), len(round_.resources))])


def _stages(job: Job) -> list[int]:
    return [microseconds(seconds) for seconds in job.stage_seconds or ()]


def _all_groups(bucket_of: Ints, count: Ints, largest: int) -> Ints:
    """Return all multisets of up to ``largest`` types of one bucket, none more often than it has jobs."""
    buckets = [np.flatnonzero(bucket_of == bucket) for bucket in np.unique(bucket_of)]
    total = sum(comb(len(bucket) + size - 1, size) for bucket in buckets for size in range(1, largest + 1))
    if total > MOST_COLUMNS:
        found = f"{total:,} groups of {max(map(len, buckets))} types of jobs that may share"
        raise RefusalError("grouping", found, f"at most {MOST_COLUMNS:,}; take smaller groups, or the heuristic")
    parts = [np.zeros((0, largest), dtype=np.int64)]
    for bucket in buckets:
        for size in range(1, largest + 1):
            number = comb(len(bucket) + size - 1, size)
            flat = (kind for group in combinations_with_replacement(range(len(bucket)), size) for kind in group)
            chosen = bucket[np.fromiter(flat, dtype=np.int64, count=number * size).reshape(number, size)]
            used = (chosen[:, :, None] == chosen[:, None, :]).sum(axis=2)
            chosen = chosen[(used <= count[chosen]).all(axis=1)]
            parts.append(np.pad(chosen, ((0, 0), (0, largest - size)), constant_values=-1))
    return np.concatenate(parts)
