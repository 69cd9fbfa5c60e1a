"""The groups of the chapter *grouping*: multisets of equal jobs, with their efficiencies."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from muri_opt.errors import RefusalError
from muri_opt.instance import Round
from muri_opt.instance.amounts import Ints
from muri_opt.instance.quantities import microseconds
from muri_opt.interleaving import SLOWDOWN, group_periods, slot_count, weights_ppm

MOST_COLUMNS = 400_000
"""Groups beyond which the program is refused: more of them do not fit a solver's time or memory."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupColumns:
    """Types of equal jobs, and every group of up to p of them with equal GPU count.

    Two jobs are of one type if they have the same GPUs, stage times, CPUs, memory and tenant. ``groups[i]`` are the
    types of group i in ascending order, filled up with -1.
    """

    type_of: Ints
    count: Ints
    stages: Ints
    c: Ints
    m: Ints
    tenant: Ints
    groups: Ints
    gpus: Ints
    efficiency: Ints

    @classmethod
    def of(cls, round_: Round, largest_group: int, pattern: str, slowdown: str) -> GroupColumns:
        """Return types and groups of a round, from the last call if it was the same."""
        key = (round_.fingerprint, largest_group, pattern, slowdown)
        for made_for, made in _made[:]:
            if made_for == key:
                return made
        made = _columns(round_, largest_group, pattern, slowdown)
        _made[:] = [(key, made)]
        return made

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


_made: list[tuple[tuple[str, int, str, str], GroupColumns]] = []
"""The last columns made in this process: building, encoding and decoding one round need the same."""


def _columns(round_: Round, largest_group: int, pattern: str, slowdown: str) -> GroupColumns:
    amounts = round_.amounts
    stages = np.array(
        [[microseconds(seconds) for seconds in job.stage_seconds or ()] for job in round_.jobs], dtype=np.int64
    ).reshape(len(round_.jobs), len(round_.resources))
    traits = np.column_stack([amounts.g, amounts.c, amounts.m, amounts.tenant, stages])
    kinds, type_of, count = np.unique(traits, axis=0, return_inverse=True, return_counts=True)
    types = kinds[:, 4:]
    largest = min(largest_group, slot_count(pattern, len(round_.resources)))
    able = np.where(kinds[:, 0] <= round_.cluster.total_gpus, count, 0)  # a job larger than the cluster is in no group
    groups = _all_groups(kinds[:, 0], able, largest)
    return GroupColumns(
        type_of=type_of.ravel(),
        count=count.astype(np.int64),
        stages=types,
        c=kinds[:, 1],
        m=kinds[:, 2],
        tenant=kinds[:, 3],
        groups=groups,
        gpus=kinds[groups[:, 0], 0] if len(groups) else np.zeros(0, dtype=np.int64),
        efficiency=_efficiencies(types, groups, pattern, slowdown),
    )


def _all_groups(gpus: Ints, count: Ints, largest: int) -> Ints:
    """Return all multisets of up to ``largest`` types of equal GPU count, none more often than it has jobs."""
    buckets = [np.flatnonzero(gpus == size) for size in np.unique(gpus)]
    total = sum(comb(len(bucket) + size - 1, size) for bucket in buckets for size in range(1, largest + 1))
    if total > MOST_COLUMNS:
        found = f"{total:,} groups of {max(map(len, buckets))} types of equal GPU count"
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


def _efficiencies(types: Ints, groups: Ints, pattern: str, slowdown: str) -> Ints:
    """Return the efficiency of every group in parts per million."""
    result = np.zeros(len(groups), dtype=np.int64)
    sizes = (groups >= 0).sum(axis=1)
    slots = slot_count(pattern, types.shape[1])
    for size in np.unique(sizes).tolist():
        at = np.flatnonzero(sizes == size)
        members = types[groups[at, :size]]
        periods = group_periods(members, pattern).microseconds
        result[at] = weights_ppm(members.sum(axis=(1, 2)), periods, slots, SLOWDOWN[slowdown][size])
    return result
