"""Why no plan of a job fits the empty cluster, or none of those that fit is one it may run by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from muri_opt.rounds import Cluster, Job, Round
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.rounds.memoise import last_recalled
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU
from muri_opt.systems.capacity.node_sets import node_sets
from muri_opt.systems.plans.job_options import JobOptions, JobPlans
from muri_opt.systems.plans.plan_parts import Entry, entries_of


def unfit_plans(round_: Round, options: Sequence[JobOptions], job: int) -> tuple[str, str]:
    """Return why a job has no way to run, all that is in the way, and what would help; ``options`` are of all jobs.

    Where no job asks anything of nodes, that is the same in every round with the cluster as long as the job keeps its
    plans and what it asks for.
    """
    if node_sets(round_) is not None:
        return _words(round_, options[job].plans, job)
    known, given = _said_on(round_.cluster).words, round_.jobs[job]
    known.expect(len(round_.jobs))
    promised = None if given.guarantee is None else given.guarantee.throughput
    asks = given.gpus, given.cpus, given.memory_gib, promised
    words = known.get(given.plans, asks)
    if words is None:
        words = _words(round_, options[job].plans, job)
        known.put(given.plans, asks, words)
    return words


@dataclass(frozen=True, slots=True, eq=False)
class _Said:
    """What was said of jobs on a cluster, by their plans."""

    cluster: Cluster
    words: KeptByObject[tuple[str, str]] = field(default_factory=KeptByObject)


@last_recalled
def _said_on(cluster: Cluster) -> _Said:
    """Return what was said on the cluster of the last time, or nothing yet on another."""
    return _Said(cluster)


def _words(round_: Round, plans: JobPlans, job: int) -> tuple[str, str]:
    given, apart = round_.jobs[job], node_sets(round_) is not None
    promised = 0.0 if given.guarantee is None else given.guarantee.throughput
    fastest = max((plan.throughput for plan in given.plans or ()), default=0.0)
    fitting = max((one.entry.plan.throughput for one in plans.fitting), default=0.0)
    said, remedies = list[str](), list[str]()
    if promised > fastest:
        said.append(f"guaranteed a throughput of {promised:g}; its fastest plan has {fastest:g}")
        remedies.append(f"guarantee at most {fastest:g}, or offer a faster plan")
    elif plans.fitting and promised > fitting:
        said.append(f"guaranteed a throughput of {promised:g}; its fastest plan that fits the cluster has {fitting:g}")
        remedies.append(f"guarantee at most {fitting:g}, or offer a faster plan")
    elif plans.fitting:
        said.append("plans fit the empty cluster, but none to which the policy lets it change")
        remedies.append("offer a plan that it may run by with less on each node, or enlarge the nodes")
    if not plans.fitting:
        said += ["no plan fits the empty cluster" + ", where the job may start" * apart, *_too_large(round_, job)]
        more = "; or ask for less of them" * apart
        remedies.append(f"offer a plan with less on each node, or enlarge the nodes{more}")
    return "; ".join(said), "; ".join(remedies)


def _too_large(round_: Round, job: int) -> list[str]:
    """Return how many plans are not in the shape that the job asks for, and what the smallest of the others lacks."""
    given, words = round_.jobs[job], list[str]()
    entries = entries_of(given)
    shaped = [entry for entry in entries if _in_shape(given, entry)]
    if len(shaped) < len(entries) and given.nodes is not None:
        most = "" if given.nodes.most is None else f" and at most {given.nodes.most}"
        count = f"{len(entries) - len(shaped)} of its {len(entries)} plans"
        words.append(f"{count} not on at least {given.nodes.least}{most} nodes, as it asks")
    known = {node.gpu_type for node in round_.cluster.nodes}
    typed = [one for one in shaped if one.plan.types is None or not known.isdisjoint(one.plan.types)]
    if len(typed) < len(shaped):
        words.append(f"{len(shaped) - len(typed)} of its {len(entries)} plans for GPU types that no node has")
    if typed:
        words.append(_lacks(round_, job, min(typed, key=lambda one: (one.plan.gpus, one.part.milli, one.part.mib))))
    return words


def _lacks(round_: Round, job: int, entry: Entry) -> str:
    """Return of how many of the nodes where a job may start each resource is enough for a part of a plan."""
    amounts, sets, part, parts = round_.amounts, node_sets(round_), entry.part, entry.plan.nodes
    types = entry.plan.types
    here = np.array([types is None or node.gpu_type in types for node in round_.cluster.nodes], dtype=np.bool_)
    if sets is not None:
        here[~np.isin(np.arange(len(here)), np.concatenate([[-1], *sets.of(job).sets]))] = False
    takes = f"its smallest plan takes {gpus_text(entry.plan.gpus)}{f' on {parts} nodes' if parts > 1 else ''}"
    total = int(np.count_nonzero(here))
    short = [
        f"{count} with {need / unit:g} {name}"
        for name, need, unit, has in (
            ("GPUs", part.gpus, 1, amounts.G),
            ("CPUs", part.milli, MILLI_PER_CPU, amounts.C),
            ("GiB", part.mib, MIB_PER_GIB, amounts.M),
        )
        if (count := int(np.count_nonzero(here & (has >= need)))) < min(parts, total)
    ]
    where = f"{takes}; it may be on {total} node{'s' * (total != 1)}"
    if short:
        return f"{where}, {', '.join(short)}"
    return where if total < parts else f"{where}, too few with all of that or in one part of the cluster"


def _in_shape(job: Job, entry: Entry) -> bool:
    """Return whether a plan is on as many nodes as its job asks for."""
    shape = job.nodes
    return shape is None or shape.least <= entry.plan.nodes <= (shape.most or entry.plan.nodes)
