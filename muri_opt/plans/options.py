"""Every way the jobs of a round may run: plan, parts, what a part takes, and what the whole is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.instance import Job, Round
from muri_opt.instance.amounts import Ints
from muri_opt.instance.quantities import microseconds
from muri_opt.plans.entries import Entry, check_promises, entries_of, fits_empty, is_home, may_run
from muri_opt.plans.rules import PlanRules
from muri_opt.plans.steps import known_configurations, next_names, remaining_cost
from muri_opt.plans.worth import MILLION, fair_worth, kept_after_restart, reference_of, worth

_ANYWHERE: Final = -1
LARGEST: Final = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanOptions:
    """The options of a round, those of a job together, under the letters of the chapter *planning*.

    Option o runs job ``job[o]`` by its plan ``plan[o]`` in ``q[o]`` parts on distinct nodes, each with ``g[o]`` GPUs,
    ``c[o]`` milli-CPUs and ``m[o]`` MiB, at ``throughput[o]``, and is worth ``e[o]``. It may use node s where
    ``hosts[kind[o], s]``. A running job has each plan it is at home with twice: with ``home[o]`` >= 0 on the nodes
    ``homes[home[o]]`` it holds, without a restart, and once anywhere. The options of job j are ``first[j]`` up to
    ``first[j + 1]``. That a ``guaranteed`` job runs is worth ``served``, and that any job runs ``started``, both in
    ``e`` already: more than all else together. ``started`` is 0 unless remaining times count.
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

    def __len__(self) -> int:
        return len(self.job)

    def of_job(self, job: int) -> range:
        """Return the options of a job."""
        return range(int(self.first[job]), int(self.first[job + 1]))

    def nodes(self, option: int) -> NDArray[np.bool_]:
        """Return which nodes may have a part of the option, as their GPU types and a home allow."""
        allowed: NDArray[np.bool_] = self.hosts[self.kind[option]]
        if self.home[option] < 0:
            return allowed
        mask = np.zeros(len(allowed), dtype=np.bool_)
        mask[self.homes[self.home[option]]] = True
        return mask & allowed

    @classmethod
    def of(cls, round_: Round, rules: PlanRules) -> PlanOptions:
        """Return the options of a round, refusing plans and promises that contradict each other or the round."""
        key = (round_.fingerprint, rules)
        if not _last or _last[0][0] != key:
            options = cls._read(round_, rules)
            for field in fields(options):
                value = getattr(options, field.name)
                if isinstance(value, np.ndarray):
                    value.setflags(write=False)  # others may be given the same object
            _last[:] = [(key, options)]
        return _last[0][1]

    @classmethod
    def _read(cls, round_: Round, rules: PlanRules) -> PlanOptions:
        types: dict[str | None, int] = {None: 0}
        for node in round_.cluster.nodes:
            types.setdefault(node.gpu_type, len(types))
        hosts = np.array(
            [[kind is None or node.gpu_type == kind for node in round_.cluster.nodes] for kind in types],
            dtype=np.bool_,
        ).reshape(len(types), len(round_.cluster.nodes))
        rows: list[tuple[int, ...]] = []
        speeds: list[float] = []
        homes: list[Ints] = []
        first, best, worst = [0], [], 0
        for j, job in enumerate(round_.jobs):
            try:
                found = _options(round_, job, rules, types, hosts)
            except InputError as error:
                raise error.inside(f"jobs[{j}] ({job.id!r})") from None
            for entry, value, at_home in found:
                home = _ANYWHERE
                if at_home:
                    home = len(homes)
                    held = [round_.cluster.node_index[node] for node in job.placement or ()]
                    homes.append(np.array(held, dtype=np.int64))
                plan = entry.plan
                rows.append((j, entry.position, plan.nodes, *entry.part, value, types[plan.gpu_type], home))
                speeds.append(plan.throughput)
            first.append(len(rows))
            if found:
                best.append(max(value for _, value, _ in found))
                worst -= min(value for _, value, _ in found)
        guaranteed = np.array([job.guarantee is not None for job in round_.jobs], dtype=np.bool_)
        started = 1 + worst if rules.objective != "throughput" else 0
        served = 1 + sum(best) + started * len(best) if guaranteed.any() else 0
        if (served + started + max(best, default=0)) * len(best) >= LARGEST:
            large = f"{len(best):,} jobs, each worth up to {served + started:,}"
            raise InputError("jobs", large, "fewer jobs, or shorter ones: sums of values must fit 62 bits")
        job_, plan_, q, g, c, m, e, kind, home_ = np.array(rows, dtype=np.int64).reshape(len(rows), 9).T.copy()
        return cls(
            job=job_,
            plan=plan_,
            q=q,
            g=g,
            c=c,
            m=m,
            e=e + started + served * guaranteed[job_],
            kind=kind,
            home=home_,
            throughput=np.array(speeds, dtype=np.float64),
            hosts=hosts,
            homes=tuple(homes),
            first=np.array(first, dtype=np.int64),
            guaranteed=guaranteed,
            served=served,
            started=started,
        )


_last: list[tuple[tuple[str, PlanRules], PlanOptions]] = []
"""The options of the last round: checking, deciding and solving one round ask for them again."""


def _options(
    round_: Round, job: Job, rules: PlanRules, types: dict[str | None, int], hosts: NDArray[np.bool_]
) -> list[tuple[Entry, int, bool]]:
    """Return the plans a job may run by, each with its value and whether that is for the nodes it holds.

    Where remaining times count, the value is what that costs, negative.
    """
    entries = entries_of(job)
    check_promises(round_, job, rules.change)
    known = known_configurations(job, rules)
    names = next_names(job, rules, known)
    fitting = [
        entry
        for entry in entries
        if entry.plan.gpu_type in types and fits_empty(round_, entry, hosts[types[entry.plan.gpu_type]])
    ]
    ways = [
        (entry, at_home)
        for entry in fitting
        if may_run(job, entry.plan, rules.change) and (names is None or entry.plan.name in names)
        for at_home in ((True, False) if is_home(job, entry) else (False,))
    ]
    restarts = job.state == "running" and bool(job.placement)
    if rules.objective != "throughput":
        lost = microseconds(job.restart_seconds or 0.0) if restarts else 0
        return [
            (entry, -remaining_cost(job, entry.plan, 0 if at_home else lost, rules, known), at_home)
            for entry, at_home in ways
        ]
    values = _values(round_, job, fitting, ways, rules, restarts=restarts)
    return [(entry, value, at_home) for (entry, at_home), value in zip(ways, values, strict=True)]


def _values(
    round_: Round,
    job: Job,
    fitting: Sequence[Entry],
    ways: Sequence[tuple[Entry, bool]],
    rules: PlanRules,
    *,
    restarts: bool,
) -> list[int]:
    if rules.power is not None:
        lowest = min((entry.plan.throughput for entry, _ in ways), default=1.0)
        kept = kept_after_restart(round_, job) if restarts else Fraction(1)
        return [
            fair_worth(entry.plan.throughput, lowest, Fraction(1) if at_home else kept, rules.power)
            for entry, at_home in ways
        ]
    scale = MILLION / reference_of(job, [entry.plan for entry in fitting], rules.reference)
    cost = microseconds(job.restart_seconds or 0.0) if restarts else 0
    return [worth(entry.plan.throughput, scale, 0 if at_home else cost, rules) for entry, at_home in ways]
