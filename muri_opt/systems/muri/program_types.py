"""Types of equal jobs in the chapter *grouping*: what groups are multisets of, and what groups of them are worth."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from muri_opt.errors import RefusalError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.muri.group_locations import group_locations
from muri_opt.systems.muri.group_values import GroupRules, Members, after_restart, class_values
from muri_opt.systems.muri.group_worth import restarts_of
from muri_opt.systems.muri.interleaving import slot_count
from muri_opt.systems.muri.job_weights import job_weights, times_alone
from muri_opt.systems.muri.priority_classes import class_ranges, class_weights
from muri_opt.systems.muri.program_kept import KeptColumns
from muri_opt.systems.priority_levels import levels_of

MOST_COLUMNS = 400_000
"""Groups beyond which they are not listed: more of them do not fit a solver's time or memory."""
_TRAITS = 11  # columns of the table of types before the stage times


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupTypes:
    """Types of equal jobs: which one each job is of, how many there are, and all that a group of them depends on.

    Two jobs are of one type if they have the same GPUs, stage times, CPUs, memory, tenant and priority, may be on the
    same nodes, lose the same by a change, are of the same model where that was measured, and agree in whatever else the
    objective looks at.
    ``rules`` are those of the round, and no group is larger than ``largest``. ``kept`` are the groups that may go on
    as they are, and class c of priority counts ``weights[c]`` times.
    """

    rules: GroupRules
    largest: int
    type_of: Ints
    count: Ints
    stages: Ints
    g: Ints
    c: Ints
    m: Ints
    tenant: Ints
    alone: Ints
    weight: Ints
    priority: Ints
    place: Ints
    restart: Ints
    model: Ints
    kept: KeptColumns
    weights: tuple[int, ...]

    @classmethod
    def of(cls, round_: Round, rules: GroupRules) -> GroupTypes:
        """Return the types of a round, from the last call if it was the same."""
        return _types(round_, rules)

    @property
    def first_job(self) -> Ints:
        """A job of each type."""
        return np.unique(self.type_of, return_index=True)[1]

    def able(self, round_: Round) -> Ints:
        """Return how many jobs of each type can be in groups: none that is larger than the cluster."""
        return np.where(self.g <= round_.cluster.total_gpus, self.count, 0)

    def gpus_of(self, groups: Ints) -> Ints:
        """Return the GPUs that groups take, those of their largest job."""
        if not len(self.g):
            return np.zeros(0, dtype=np.int64)
        return np.asarray(np.where(groups >= 0, self.g[groups], 0).max(axis=1, initial=0))

    def members(self, kinds: Ints) -> Members:
        """Return the jobs of groups of one size."""
        return Members(
            stages=self.stages[kinds],
            alone=self.alone[kinds],
            gpus=self.g[kinds],
            weight=self.weight[kinds],
            models=self.model[kinds],
        )

    def values(self, groups: Ints, placement: Ints) -> Ints:
        """Return what groups are worth to each class of priority; those at no ``placement`` lose their restarts."""
        values = np.zeros((len(self.weights), len(groups)), dtype=np.int64)
        sizes = (groups >= 0).sum(axis=1)
        for size in np.unique(sizes).tolist():
            at = np.flatnonzero(sizes == size)
            of = groups[at, :size]
            values[:, at] = class_values(self.rules, self.members(of), self.priority[of], len(self.weights))
            if self.rules.horizon is not None:
                lost = np.where(placement[at] >= 0, 0, self.restart[of].max(axis=1))
                values[:, at] = after_restart(values[:, at], lost, self.rules.horizon)
        return values


@last_recalled
def _types(round_: Round, said: GroupRules) -> GroupTypes:
    rules = said.for_round(round_)
    kinds, type_of, count = np.unique(_traits(round_, rules), axis=0, return_inverse=True, return_counts=True)
    g, c, m, tenant, _, alone, weight, priority, place, restart, model = kinds[:, :_TRAITS].T
    stages, jobs = np.ascontiguousarray(kinds[:, _TRAITS:]), type_of.ravel()
    largest = min(rules.largest_group, slot_count(rules.pattern, len(round_.resources)))
    kept = KeptColumns.none(round_, len(g), largest)
    if rules.horizon is not None and any(job.state == "running" for job in round_.jobs):
        kept = KeptColumns.of(round_, jobs, g, largest, all_groups, mixed=rules.sizes == "mixed")
    ranges = [0]
    if priority.any():  # the range of the only class does not matter
        members = Members(stages=stages[:, None], alone=alone[:, None], gpus=g[:, None], weight=weight[:, None])
        ranges = class_ranges(rules, members.of(jobs), priority[jobs], round_.cluster.total_gpus)
    return GroupTypes(
        rules=rules,
        largest=largest,
        type_of=jobs,
        count=count.astype(np.int64),
        stages=stages,
        g=g,
        c=c,
        m=m,
        tenant=tenant,
        alone=alone,
        weight=weight,
        priority=priority,
        place=place,
        restart=restart,
        model=model,
        kept=kept,
        weights=tuple(class_weights(ranges)),
    )


def all_groups(bucket_of: Ints, count: Ints, largest: int) -> Ints:
    """Return all multisets of up to ``largest`` types of one bucket, none more often than it has jobs.

    Groups of one size more are those of the size before with a type that does not come before their last one.
    """
    buckets = [np.flatnonzero(bucket_of == bucket) for bucket in np.unique(bucket_of)]
    total = sum(comb(len(bucket) + size - 1, size) for bucket in buckets for size in range(1, largest + 1))
    check_number(total, f"groups of {max(map(len, buckets), default=0)} types of jobs that may share")
    parts = [np.zeros((0, largest), dtype=np.int64)]
    for bucket in buckets:
        groups = np.zeros((1, 0), dtype=np.int64)
        last, often = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)  # its last type, and how often it has it
        for size in range(1, largest + 1):
            choices = len(bucket) - last
            parent = np.repeat(np.arange(len(groups)), choices)
            first = np.cumsum(choices) - choices
            added = np.arange(len(parent)) - first[parent] + last[parent]
            often = np.where(added == last[parent], often[parent], 0) + 1
            enough = often <= count[bucket[added]]
            last, often = added[enough], often[enough]
            groups = np.column_stack([groups[parent[enough]], bucket[last]])
            parts.append(np.pad(groups, ((0, 0), (0, largest - size)), constant_values=-1))
    return np.concatenate(parts)


def check_number(groups: int, what: str) -> None:
    """Refuse a program of too many groups."""
    if groups > MOST_COLUMNS:
        allowed = f"at most {MOST_COLUMNS:,}; take smaller groups, exact or auto without a backend, or the heuristic"
        raise RefusalError("grouping", f"{groups:,} {what}", allowed)


def _traits(round_: Round, rules: GroupRules) -> Ints:
    """Return what makes jobs equal, a row per job: what they ask, what the objective looks at, their stage times."""
    amounts, jobs = round_.amounts, np.arange(len(round_.jobs))
    same = np.zeros_like(jobs)
    weight = job_weights(round_, rules.objective, rules.order)
    alone = times_alone(round_, rules.objective)
    stages = np.array([_stages(job) for job in round_.jobs], dtype=np.int64)
    position = jobs if rules.distinct else same
    locations = group_locations(round_)
    place = same if locations is None else locations.kind
    restart = same if rules.horizon is None else restarts_of(round_)
    asked = [amounts.g, amounts.c, amounts.m, amounts.tenant, position, alone, weight, levels_of(round_), place]
    asked += [restart, rules.ways.numbers(round_.jobs)]
    return np.column_stack([*asked, stages.reshape(len(jobs), len(round_.resources))])


def _stages(job: Job) -> list[int]:
    return [microseconds(seconds) for seconds in job.stage_seconds or ()]
