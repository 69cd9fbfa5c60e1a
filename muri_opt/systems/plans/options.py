"""Every way the jobs of a round may run: plan, parts, what a part takes, and what the whole is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.systems.plans.equal_rows import equal_rows
from muri_opt.systems.plans.job_options import JobOptions, JobReader, ReadOnDemand
from muri_opt.systems.plans.plan_parts import Larger
from muri_opt.systems.plans.plan_rules import PlanRules
from muri_opt.systems.plans.restart_gate import is_shut
from muri_opt.systems.plans.table_options import TableOptions, table_options
from muri_opt.systems.priority_levels import level_weights, levels_of

_ANYWHERE: Final = -1
LARGEST: Final = 1 << 62


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanOptions:
    """The options of a round, those of a job together, under the letters of the chapter *planning*.

    Option o runs job ``job[o]`` by its plan ``plan[o]`` in ``q[o]`` parts on distinct nodes, each with ``g[o]`` GPUs,
    ``c[o]`` milli-CPUs and ``m[o]`` MiB, at ``throughput[o]``, and is worth ``e[o]``. It may use node s where
    ``hosts[kind[o], s]``. Where parts are of two sizes, g, c and m are those of the smaller ones and ``larger[o]`` says
    how many there are of the others; the nodes of such an option are given with those of larger parts first. A running
    job has each plan it is at home with twice: with ``home[o]`` >= 0 on the nodes ``homes[home[o]]`` it holds, without
    a restart, and once anywhere. The options of job j are ``first[j]`` up to ``first[j + 1]``. That a ``guaranteed``
    job runs is worth ``served``, and that any job runs ``started``, both in ``e`` already: more than all else together.
    ``started`` is 0 unless remaining times count.
    ``jobs`` has the options of each job by themselves. Job j is on ``level[j]`` of priorities, 0 the first, on which a
    unit of ``e`` counts ``weights[level[j]]``; without priorities there is one level, of weight 1.

    >>> options = PlanOptions.of(shipped_round("toy/five-plans"), PlanRules())
    >>> len(options.job)
    12
    """

    job: Ints
    plan: Ints
    q: Ints
    g: Ints
    c: Ints
    m: Ints
    e: Ints
    kind: Ints
    home: Ints
    throughput: NDArray[np.float64]
    hosts: NDArray[np.bool_]
    homes: tuple[Ints, ...]
    first: Ints
    guaranteed: NDArray[np.bool_]
    served: int
    started: int
    jobs: Sequence[JobOptions]
    level: Ints
    weights: tuple[int, ...]
    larger: Mapping[int, Larger]

    def __len__(self) -> int:
        return len(self.job)

    def of_job(self, job: int) -> range:
        """Return the options of a job."""
        return range(int(self.first[job]), int(self.first[job + 1]))

    def nodes(self, option: int) -> NDArray[np.bool_]:
        """Return which nodes may have a part of the option, as their GPU types and a home allow."""
        return self.place(int(self.kind[option]), int(self.home[option]))

    def place(self, kind: int, home: int) -> NDArray[np.bool_]:
        """Return which nodes are of a kind and, unless it is -1, in a home."""
        allowed: NDArray[np.bool_] = self.hosts[kind]
        if home < 0:
            return allowed
        mask = np.zeros(len(allowed), dtype=np.bool_)
        mask[self.homes[home]] = True
        return mask & allowed

    def wide_nodes(self, option: int) -> NDArray[np.bool_]:
        """Return which nodes may have a larger part of an option that has some: at home those that have one now."""
        mask = self.nodes(option)
        if self.home[option] >= 0:
            mask[self.homes[self.home[option]][self.larger[option].number :]] = False
        return mask

    @cached_property
    def parts(self) -> Ints:
        """The GPUs, milli-CPUs and MiB of a part of each option, in rows."""
        return np.column_stack([self.g, self.c, self.m])

    @cached_property
    def totals(self) -> tuple[Ints, Ints, Ints]:
        """The GPUs, milli-CPUs and MiB of all parts of each option."""
        gpus, milli, mib = self.q * self.g, self.q * self.c, self.q * self.m
        for option, (count, part) in self.larger.items():
            gpus[option] += count * (part.gpus - self.g[option])
            milli[option] += count * (part.milli - self.c[option])
            mib[option] += count * (part.mib - self.m[option])
        return gpus, milli, mib

    def more(self, option: int) -> tuple[int, int, int]:
        """Return what a larger part of an option that has some takes more than the others."""
        part = self.larger[option].part
        return part.gpus - int(self.g[option]), part.milli - int(self.c[option]), part.mib - int(self.m[option])

    @cached_property
    def best_first(self) -> list[list[int]]:
        """The options of each job, worth most first; equal ones without a restart first, then the smallest."""
        gpus, milli, mib = self.totals
        order: list[int] = np.lexsort((mib, milli, gpus, self.home < 0, -self.e, self.job)).tolist()
        return [order[begin:end] for begin, end in pairwise(self.first.tolist())]

    @cached_property
    def demands(self) -> list[tuple[int, ...]]:
        """What decides where each option has room: options with the same demand fit on the same nodes."""
        columns = (self.q, self.g, self.c, self.m, self.kind, self.home)
        found = list(zip(*(column.tolist() for column in columns), strict=True))
        for option, (count, part) in self.larger.items():
            found[option] = (*found[option], count, *part)
        return found

    @cached_property
    def demand(self) -> list[int]:
        """The number of each option's demand, the same for equal ones."""
        columns = np.stack([self.q, self.g, self.c, self.m, self.kind, self.home])
        if self.larger:
            more = np.zeros((4, len(self)), dtype=np.int64)
            more[:, list(self.larger)] = np.array([(count, *part) for count, part in self.larger.values()]).T
            columns = np.vstack([columns, more])
        numbers: list[int] = equal_rows(columns)[1].tolist()
        return numbers

    @cached_property
    def moves(self) -> list[bool]:
        """Whether each option is anywhere, not just on the nodes that its job holds."""
        found: list[bool] = (self.home < 0).tolist()
        return found

    @cached_property
    def same_at_home(self) -> dict[int, int]:
        """For the options of plans that a job is at home with: the one at home, for that one itself."""
        homes = np.flatnonzero(self.home >= 0)
        width = int(self.plan.max(initial=0)) + 1
        keys = self.job[homes] * width + self.plan[homes]
        order = np.argsort(keys, kind="stable")  # where a plan is at home twice, the last one counts
        runs = np.zeros(len(self.first), dtype=np.bool_)
        runs[self.job[homes]] = True
        some = np.flatnonzero(runs[self.job])
        wanted = self.job[some] * width + self.plan[some]
        place = np.searchsorted(keys[order], wanted, side="right") - 1
        found = (place >= 0) & (keys[order][place] == wanted)
        return dict(zip(some[found].tolist(), homes[order][place[found]].tolist(), strict=True))

    @classmethod
    def of(cls, round_: Round, rules: PlanRules) -> PlanOptions:
        """Return the options of a round, refusing plans and promises that contradict each other or the round."""
        return _options(round_, rules)

    @classmethod
    def read(cls, round_: Round, rules: PlanRules) -> PlanOptions:
        """Return the options of a round: all jobs at once, or one by one where that cannot be."""
        found = table_options(round_, rules)
        return cls.read_one_by_one(round_, rules) if found is None else cls._of_table(round_, rules, found)

    @classmethod
    def read_one_by_one(cls, round_: Round, rules: PlanRules) -> PlanOptions:
        """Return the same, job by job; what is refused is told with the job."""
        reader = JobReader(round_)
        jobs: list[JobOptions] = []
        homes: list[Ints] = []
        for j, job in enumerate(round_.jobs):
            try:
                jobs.append(reader.options(j, rules))
            except InputError as error:
                raise error.inside(f"jobs[{j}] ({job.id!r})") from None
            homes += [_held(round_, job, most_first=bool(jobs[-1].larger))] * int(np.count_nonzero(jobs[-1].at_home))
        first = np.cumsum([0, *map(len, jobs)], dtype=np.int64)
        rows = np.concatenate([np.zeros((0, 7), dtype=np.int64), *(mine.rows for mine in jobs if len(mine))])
        plan_, q, g, c, m, worth, kind = rows.T.copy()
        return cls._of_columns(
            round_,
            rules,
            plan=plan_,
            q=q,
            g=g,
            c=c,
            m=m,
            worth=worth,
            kind=kind,
            at_home=np.concatenate([np.zeros(0, dtype=np.bool_), *(mine.at_home for mine in jobs)]),
            throughput=np.concatenate([np.zeros(0), *(mine.throughput for mine in jobs)]),
            hosts=reader.places.hosts,
            homes=tuple(homes),
            first=first,
            jobs=jobs,
            larger={
                int(first[j]) + row: larger
                for j, mine in enumerate(jobs)
                if mine.larger
                for row, larger in mine.larger.items()
            },
        )

    @classmethod
    def _of_table(cls, round_: Round, rules: PlanRules, found: TableOptions) -> PlanOptions:
        """Return the options of a round whose plans were read at once."""
        table, at = found.table, found.at
        job = table.job[at]
        return cls._of_columns(
            round_,
            rules,
            plan=at - table.first[job],
            q=table.nodes[at],
            g=table.gpus[at],
            c=table.milli[at],
            m=table.mib[at],
            worth=found.worth,
            kind=table.kind[at],
            at_home=found.home,
            throughput=table.throughput[at],
            hosts=table.places.hosts,
            homes=_all_held(round_, job[found.home].tolist()),
            first=np.searchsorted(job, np.arange(len(round_.jobs) + 1)),
            jobs=ReadOnDemand(round_, rules),
            larger={},
        )

    @classmethod
    def _of_columns(
        cls,
        round_: Round,
        rules: PlanRules,
        *,
        plan: Ints,
        q: Ints,
        g: Ints,
        c: Ints,
        m: Ints,
        worth: Ints,
        kind: Ints,
        at_home: NDArray[np.bool_],
        throughput: NDArray[np.float64],
        hosts: NDArray[np.bool_],
        homes: tuple[Ints, ...],
        first: Ints,
        jobs: Sequence[JobOptions],
        larger: Mapping[int, Larger],
    ) -> PlanOptions:
        """Return the options, with what it is worth that jobs run at all on top of what each is ``worth``."""
        count = np.diff(first)
        able, job = np.flatnonzero(count), np.repeat(np.arange(len(round_.jobs)), count)
        if rules.gate is not None and len(able):
            held = [_is_held(one, rules.gate) for one in round_.jobs]
            outweighs = 1 + sum(np.maximum.reduceat(worth, first[able]).tolist())
            worth = worth + outweighs * (at_home & np.array(held, dtype=np.bool_)[job])
        best, least = np.zeros(len(count), dtype=np.int64), np.zeros(len(count), dtype=np.int64)
        if len(able):
            best[able] = np.maximum.reduceat(worth, first[able])
            least[able] = np.minimum.reduceat(worth, first[able])
        guaranteed = np.array([one.guarantee is not None for one in round_.jobs], dtype=np.bool_)
        started = 1 - sum(least[able].tolist()) if rules.counts_time else 0
        served = 1 + sum(best[able].tolist()) + started * len(able) if guaranteed.any() else 0
        if (served + started + max(best[able].tolist(), default=0)) * len(able) >= LARGEST:
            large = f"{len(able):,} jobs, each worth up to {served + started:,}"
            raise InputError("jobs", large, "fewer jobs, or shorter ones: sums of values must fit 62 bits")
        level = levels_of(round_)
        most = np.where(count > 0, best + started + served * guaranteed, 0)
        return cls(
            job=job,
            plan=plan,
            q=q,
            g=g,
            c=c,
            m=m,
            e=worth + started + served * guaranteed[job],
            kind=kind,
            home=np.where(at_home, np.cumsum(at_home) - 1, _ANYWHERE),
            throughput=throughput,
            hosts=hosts,
            homes=homes,
            first=first,
            guaranteed=guaranteed,
            served=served,
            started=started,
            jobs=jobs,
            level=level,
            weights=level_weights(level, most.tolist()),
            larger=larger,
        )


def _is_held(job: Job, gate: str) -> bool:
    """Return whether a job runs and may not restart: that it stays outweighs what others gain."""
    return job.state == "running" and bool(job.placement) and is_shut(job, gate)


def _held(round_: Round, job: Job, *, most_first: bool = False) -> Ints:
    """Return the nodes of a running job, those where it has most GPUs first if so asked."""
    there = job.placement or {}
    order = sorted(there, key=there.__getitem__, reverse=True) if most_first else there
    return np.array([round_.cluster.node_index[node] for node in order], dtype=np.int64)


def _all_held(round_: Round, jobs: Sequence[int]) -> tuple[Ints, ...]:
    """Return the same of many jobs, as parts of one array."""
    index, there = round_.cluster.node_index, [round_.jobs[job].placement or {} for job in jobs]
    nodes = np.array([index[node] for held in there for node in held], dtype=np.int64)
    ends = accumulate(map(len, there), initial=0)
    return tuple(nodes[begin:end] for begin, end in pairwise(ends))


@recalled
def _options(round_: Round, rules: PlanRules) -> PlanOptions:
    """Return the options of a round, from one of the last calls if it was the same."""
    options = PlanOptions.read(round_, rules)
    for field in fields(options):
        value = getattr(options, field.name)
        if isinstance(value, np.ndarray):
            value.setflags(write=False)  # others may be given the same object
    return options
