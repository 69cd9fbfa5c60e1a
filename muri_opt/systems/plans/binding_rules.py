"""Why a job with plans does not start beside what runs: all rules that bind, in words, and who holds what it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import gpus_text, listed
from muri_opt.rounds.decision import WaitingReason
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU
from muri_opt.systems.capacity.barred_nodes import BarredNodes
from muri_opt.systems.capacity.holders import Holders
from muri_opt.systems.capacity.lacking_amounts import holders_text
from muri_opt.systems.capacity.node_sets import node_sets
from muri_opt.systems.capacity.quota_text import short_tenants
from muri_opt.systems.plans.free_nodes import FreeNodes
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.unfit_plans import unfit_plans

Bools = NDArray[np.bool_]


class Binding(NamedTuple):
    """The first rule that binds, all of them in words, and what would help."""

    reason: WaitingReason
    detail: str
    remedy: str


def plan_holders(round_: Round, options: PlanOptions, chosen: Mapping[int, Ints]) -> Holders:
    """Return who holds what where option o runs in one part on each node of ``chosen[o]``."""
    parts = np.column_stack([options.g, options.c, options.m])
    return Holders.of_parts(
        round_,
        [(int(options.job[o]),) for o in chosen],
        list(chosen.values()),
        [(full[0], full[1], full[2]) for o, nodes in chosen.items() for full in (_repeated(parts[o], len(nodes)),)],
    )


class BindingRules:
    """The rules that keep jobs from starting beside what runs; ``free`` is what that leaves.

    Jobs whose options need the same, on the same nodes and of the same quotas, are told the same and looked at once.
    """

    def __init__(self, round_: Round, options: PlanOptions, free: FreeNodes, holders: Holders) -> None:
        self._round, self._options, self._free, self._holders = round_, options, free, holders
        self._total, self._now = round_.cluster.total_gpus, int(free.gpus.sum())
        self._sets, self._barred = node_sets(round_), BarredNodes(round_)
        self._types = [node.gpu_type for node in round_.cluster.nodes]
        self._typed = any(gpu_type is not None for gpu_type in self._types)
        self._known: dict[tuple[object, ...], Binding] = {}

    def of(self, job: int) -> Binding:
        """Return what binds for a job that waits."""
        mine = self._options.of_job(job)
        if not mine:
            return self._found(job, mine)
        quota = (int(self._free.amounts.g[job]), int(self._free.amounts.tenant[job]))
        key = (
            tuple(self._free.demands[mine.start : mine.stop]),
            quota if self._options.guaranteed[job] else None,
            None if self._sets is None else int(self._sets.kind[job]),
            self._types_of(job) if self._typed else None,
        )
        if key not in self._known:
            self._known[key] = self._found(job, mine)
        return self._known[key]

    def _found(self, job: int, mine: range) -> Binding:
        said, remedies, reasons = list[str](), list[str](), list[WaitingReason]()
        if not mine:
            words, remedy = unfit_plans(self._round, self._options.jobs[job].plans, job)
            said += [words, *self._others(job, self._round.amounts.G, "others are")]
            remedies.append(remedy)
            reasons.append(WaitingReason.CAPACITY)
        if not self._free.within_quota(job):
            words, remedy = self._quota(job)
            said.append(words)
            remedies.append(remedy)
            reasons.append(WaitingReason.QUOTA)
        if mine and not any(self._free.fits(o) for o in mine):
            reason, words, remedy = self._no_room(mine)
            said += [words, *self._others(job, self._free.gpus, "others are free")]
            remedies.append(remedy)
            reasons.append(reason)
        if not reasons:
            said.append("a plan fits what is free; the decision keeps it free")
            remedies.append("use method 'auto' or 'exact', which leave no such job waiting where it adds value")
            reasons.append(WaitingReason.PRIORITY)
        return Binding(reasons[0], "; ".join(said), "; ".join(remedies))

    def _quota(self, job: int) -> tuple[str, str]:
        """Return which of its tenants may promise too few GPUs more, and what would help."""
        amounts, quota = self._round.amounts, self._free.quota
        asks, line = int(amounts.g[job]), amounts.line(int(amounts.tenant[job]))
        short = short_tenants(self._round, line, quota, asks)
        words = f"guaranteed for {gpus_text(asks)}; {'; '.join(short.values())}"
        if any(asks > amounts.U[one] for one in short):
            return words, f"raise the quota to {asks}, or let the job ask for less"
        lacks = asks - min(int(quota[one]) for one in short)
        return words, f"free {gpus_text(lacks)} of the tenant's guaranteed jobs, or raise its quota by as many"

    def _no_room(self, mine: range) -> tuple[WaitingReason, str, str]:
        """Return what is free, and what the smallest plan lacks of it; it is told with the jobs that hold that."""
        options, free = self._options, self._free
        q, g, c, m = (column[mine.start : mine.stop] for column in (options.q, options.g, options.c, options.m))
        least = int(np.lexsort((q * m, q * c, q * g))[0])
        size = (int(q[least]), int(g[least]), int(c[least]), int(m[least]))
        alike = [o for o in mine if (options.q[o], options.g[o], options.c[o], options.m[o]) == size]
        parts, here = size[0], self._reach(alike)
        fewest, reach = parts * size[1], self._reach(mine)
        now = self._now if self._sets is None else int(free.gpus[reach].sum())
        usable = f"{now} of {self._total} are free" if self._sets is None else f"{now} that it could use are free"
        words = f"its smallest plan takes {gpus_text(fewest)}{f' on {parts} nodes' if parts > 1 else ''}; {usable}"
        if fewest > now:
            words += holders_text(self._holders, np.flatnonzero(reach), fewest - now)
            remedy = f"free {fewest - now} more GPU{'s' * (fewest - now != 1)}"
            remedy += " where it may be" * (self._sets is not None)
            lacking = self._lacking(size, here, gpus=False)
            return WaitingReason.CAPACITY, "; ".join([words, *lacking]), remedy
        words += ", but no plan finds its GPUs, CPUs and memory together on each of its nodes"
        words += ", in one part of the cluster" * (parts > 1 and len(alike) > 1)
        remedy = "free more on one node, or move a running job"
        return WaitingReason.FRAGMENTATION, "; ".join([words, *self._lacking(size, here, gpus=True)]), remedy

    def _lacking(self, size: tuple[int, int, int, int], here: Bools, *, gpus: bool) -> list[str]:
        """Return on how few nodes each resource is enough for a part, where they are too few, and who holds it."""
        free, holders, words = self._free, self._holders, list[str]()
        for name, need, unit, has, held in (
            ("GPUs", size[1] if gpus else 0, 1, free.gpus, holders.gpus),
            ("CPUs", size[2], MILLI_PER_CPU, free.cpus, holders.cpus),
            ("GiB", size[3], MIB_PER_GIB, free.memory, holders.memory),
        ):
            lacking = here & (has < need)
            count = int(np.count_nonzero(here & ~lacking))
            if count < size[0]:
                most = [f"{job!r} holds {amount / unit:g} {name}" for job, amount in self._most(held, lacking)]
                enough = f"{count} node{'s have' if count != 1 else ' has'} {need / unit:g} {name} free"
                words.append(enough + (f" ({', '.join(most)})" if most else ""))
        return words

    def _most(self, held: Ints, nodes: Bools) -> list[tuple[str, int]]:
        return self._holders.most(held, np.flatnonzero(nodes))

    def _reach(self, some: range | list[int]) -> Bools:
        """Return the nodes that may have a part of one of the options."""
        reach: Bools = np.logical_or.reduce([self._options.nodes(o) for o in some])
        return reach

    def _others(self, job: int, gpus: Ints, begin: str) -> list[str]:
        """Return which rules bar a job from other nodes with such GPUs, as one sentence or none."""
        words = list(self._barred.words(job, gpus)) if self._sets is not None else []
        types = self._types_of(job) if self._typed else None
        if types is not None:
            count = int(gpus[[gpu_type not in types for gpu_type in self._types]].sum())
            names = listed([repr(name) for name in sorted(types)])
            words += [f"{count} of other types than its plans are for: {names}"] * (count > 0)
        return [f"{begin}: {', '.join(words)}"] if words else []

    def _types_of(self, job: int) -> frozenset[str] | None:
        """Return the GPU types that the plans of a job are for; ``None`` where one is for any."""
        plans = self._round.jobs[job].plans or ()
        if any(plan.types is None for plan in plans):
            return None
        return frozenset(name for plan in plans for name in plan.types or ())


def _repeated(part: Ints, times: int) -> Ints:
    return np.repeat(part[:, None], times, axis=1)
