"""From options on nodes to a decision: who runs by which plan, and why the others wait."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.decision import Assignment, Decision, Waiting, WaitingReason
from muri_opt.rounds.quantities import MILLI_PER_CPU, milli_cpus
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.plans.free_nodes import FreeNodes
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_binding import PlanBindingRules, plan_holders


def plan_decision(round_: Round, options: PlanOptions, chosen: Mapping[int, Ints]) -> Decision:
    """Return the decision in which option o runs in one part on each node of ``chosen[o]``; other jobs wait.

    Larger parts, where an option has some, are on the first of its nodes.

    >>> round_ = shipped_round("toy/five-plans")
    >>> options = PlanOptions.of(round_, PlanRules())
    >>> sorted(plan_decision(round_, options, {0: np.array([0])}).running)
    ['a']
    """
    free = FreeNodes(round_, options)
    free.take_all(chosen)
    running = set(options.job[list(chosen)].tolist())
    waits = [job for job in range(len(round_.jobs)) if job not in running]
    rules = PlanBindingRules(round_, options, free, plan_holders(round_, options, chosen if waits else {}))
    return Decision(
        assignments=assignments_of(round_, options, chosen),
        waiting=tuple(_waiting(round_, rules, job) for job in waits),
    )


def assignments_of(round_: Round, options: PlanOptions, chosen: Mapping[int, Ints]) -> tuple[Assignment, ...]:
    """Return the options that run on their nodes as assignments, in the order of the options."""
    some = sorted(chosen)
    jobs, plans, gpus, milli = (column[some].tolist() for column in (options.job, options.plan, options.g, options.c))
    ids = [node.id for node in round_.cluster.nodes]
    return tuple(
        _assignment(options, ids, o, round_.jobs[job], plan, each, cpus, chosen[o].tolist())
        for o, job, plan, each, cpus in zip(some, jobs, plans, gpus, milli, strict=True)
    )


def chosen_in(round_: Round, options: PlanOptions, decision: Decision) -> dict[int, Ints] | None:
    """Return the options that a decision takes, and their nodes; ``None`` where a job has no such option."""
    found = {}
    for assignment in decision.assignments:
        most_first = sorted(assignment.gpus, key=assignment.gpus.__getitem__, reverse=True)
        nodes = np.array([round_.cluster.node_index[node] for node in most_first], dtype=np.int64)
        option = _option_of(round_, options, assignment, nodes)
        if option is None:
            return None
        found[option] = nodes
    return found


def _option_of(round_: Round, options: PlanOptions, assignment: Assignment, nodes: Ints) -> int | None:
    """Return the option an assignment runs by; of a job the option at home comes before the same one anywhere."""
    job = round_.job_index[assignment.jobs[0]]
    plans = round_.jobs[job].plans or ()
    given = sorted((gpus, milli_cpus(assignment.cpus.get(node, 0.0))) for node, gpus in assignment.gpus.items())
    matching = (
        o
        for o in options.of_job(job)
        if plans[options.plan[o]].name == assignment.plan
        and options.q[o] == len(nodes)
        and given == _given(options, o)
        and options.nodes(o)[nodes].all()
        and (o not in options.larger or options.wide_nodes(o)[nodes[: options.larger[o].number]].all())
    )
    return next(matching, None)


def _given(options: PlanOptions, option: int) -> list[tuple[int, int]]:
    """Return the GPUs and milli-CPUs of all parts of an option, the fewest first."""
    parts = [(int(options.g[option]), int(options.c[option]))] * int(options.q[option])
    if option in options.larger:
        count, part = options.larger[option]
        parts[-count:] = [(part.gpus, part.milli)] * count
    return parts


def _assignment(
    options: PlanOptions, ids: list[str], o: int, job: Job, plan: int, gpus: int, milli: int, nodes: list[int]
) -> Assignment:
    """Return an option as an assignment: of this job by this plan, each part with so much; ``ids`` are of all nodes."""
    names, cpus = [ids[s] for s in sorted(nodes)], milli / MILLI_PER_CPU
    gpus_on, cpus_on = dict.fromkeys(names, gpus), dict.fromkeys(names, cpus) if cpus else {}
    if o in options.larger:
        count, part = options.larger[o]
        wide = [ids[s] for s in nodes[:count]]
        gpus_on |= dict.fromkeys(wide, part.gpus)
        cpus_on |= dict.fromkeys(wide, part.milli / MILLI_PER_CPU) if part.milli else {}
    return Assignment(jobs=(job.id,), plan=(job.plans or ())[plan].name, gpus=gpus_on, cpus=cpus_on)


def _waiting(round_: Round, rules: PlanBindingRules, job: int) -> Waiting:
    """Return why a job waits: the first rule that binds, or that it is stopped, and all of them in words."""
    look_at_clock()
    binding, one = rules.of(job), round_.jobs[job]
    reason = WaitingReason.STOPPED if one.state == "running" else binding.reason
    return Waiting(job=one.id, reason=reason, detail=binding.detail, remedy=binding.remedy)
