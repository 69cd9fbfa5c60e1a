"""Hypothesis strategies of small rounds of every family, and of decisions of a round.

A family is the fields that its policies need: plain ``gangs``, gangs of ``tenants`` with racks, ``stages`` that
interleave, tables of ``scaling``, execution ``plans``, ``configurations`` of servers and workers, and tables with
``deadlines``. Rounds are built up part by part so that no draw is thrown away, and shrink to few jobs and nodes
(``j0``, ``n0``) with small whole numbers: any job can go without the others, and what is drawn of a job does not
depend on the cluster.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate, islice
from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from muri_opt.errors import unknown_name
from muri_opt.rounds import Assignment, Cluster, Decision, Job, Node, Plan, Round, Tenant, after
from muri_opt.systems import Policy, policy_from, systems
from muri_opt.systems.capacity import Leftover
from muri_opt.systems.muri.interleaving import best_period
from muri_opt.testing.rules_and_value import Judge
from muri_opt.testing.strategies_configurations import CONFIGURED, configured
from muri_opt.testing.strategies_gangs import gang_rounds
from muri_opt.verify.demands import is_lost

FAMILIES: Final = ("gangs", "tenants", "stages", "scaling", "plans", "configurations", "deadlines")
NOW: Final = 4000.0
"""The moment of every drawn round: later than all the times at which rules of tenants relax."""
_MOSTLY: Final = st.sampled_from((False, True, True))
_WAITED: Final = (0.0, 30.0, 150.0, 600.0, 1800.0)
_AS_ASKED: Final = {"plans": "rubick", "configurations": "aiturbo:step=off"}
"""By the rules of which policy a job that runs already has started, where it runs by a plan."""
_NOT_FIELDS: Final = frozenset({"runs", "tenant", "gains", "shapes", "configurations"})
"""What of a draft is no field of a job as it is."""

Draft = dict[str, Any]
"""The fields of a job that has no name yet, and on which node it starts if it runs already."""


def family_of(policy: str | Policy | None) -> str:
    """Return the family of rounds that have what a policy needs.

    >>> family_of("afs-l")
    'scaling'
    """
    if policy is None:
        return "gangs"
    chapter = policy_from(policy).chapter
    return next((system.family for system in systems() if system.chapter == chapter), "gangs")


def full_rounds(family: str = "gangs") -> st.SearchStrategy[Round]:
    """Return a strategy of rounds of a family that say all that such a round can say: what checks draw by default.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(full_rounds("scaling"))
    ... def holds(round_):
    ...     assert all(job.scaling for job in round_.jobs)
    >>> holds()
    """
    return gang_rounds() if family == "gangs" else family_rounds(family, tight=True)


@st.composite
def family_rounds(
    draw: st.DrawFn,
    family: str = "gangs",
    *,
    max_jobs: int = 5,
    max_nodes: int = 3,
    max_gpus: int = 4,
    tight: bool = False,
    running: bool = True,
) -> Round:
    """Draw a round of a family, with up to ``max_jobs`` jobs on up to ``max_nodes`` nodes of up to ``max_gpus`` GPUs.

    GPUs and quotas are the only limits unless the round is ``tight``; then CPUs and memory bind at times, and nodes may
    have no GPU. A job may ask for one GPU more than the cluster has. With ``running``, some jobs hold GPUs already,
    scattered over the nodes. ``configurations`` are limited by CPUs in every round, have at most 4 GPUs, and meet nodes
    without any.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(family_rounds("scaling", max_jobs=3))
    ... def holds(round_):
    ...     assert len(round_.jobs) <= 3
    >>> holds()
    """
    cluster = draw(family_clusters(family, max_nodes=max_nodes, max_gpus=max_gpus, tight=tight))
    one = family_drafts(family, max_gpus=max_nodes * max_gpus + 1, tight=tight, running=running)
    drafts = [draw(one) for _ in range(max_jobs) if draw(_MOSTLY)]
    return built(family, cluster, drafts)


@st.composite
def family_clusters(
    draw: st.DrawFn, family: str = "gangs", *, max_nodes: int = 3, max_gpus: int = 4, tight: bool = False
) -> Cluster:
    """Draw a cluster of nodes ``n0``, ``n1``, ... and up to two tenants ``t0`` and ``t1`` with or without a quota.

    >>> from hypothesis import find
    >>> find(family_clusters("plans"), lambda cluster: cluster.total_gpus > 2).total_gpus
    3
    """
    if family not in FAMILIES:
        raise unknown_name("family", family, FAMILIES)
    one = _node_drafts(family, max_gpus, tight)
    drafts = [draw(one) for place in range(max_nodes) if place == 0 or draw(st.booleans())]
    nodes = tuple(Node(id=f"n{s}", **draft) for s, draft in enumerate(drafts))
    most = sum(node.gpus for node in nodes)
    quota = st.sampled_from((None, 0, 1, 2, 3, *range(max_nodes * max_gpus + 1)))
    quotas = [draw(quota) for _ in range(2) if draw(st.booleans())]
    tenants = tuple(Tenant(id=f"t{v}", quota_gpus=q if q is None else min(q, most)) for v, q in enumerate(quotas))
    return Cluster(nodes=nodes, tenants=tenants)


@lru_cache
def family_drafts(
    family: str, *, max_gpus: int = 13, tight: bool = False, running: bool = True
) -> st.SearchStrategy[Draft]:
    """Return a strategy of jobs that have no name yet and know no cluster, of up to ``max_gpus`` GPUs.

    A draft means something in every cluster, so that a cluster can shrink and leave its jobs as they are: ``tenant``
    is a number from 1, and ``runs`` that of the node on which a job that runs already starts; 0 is none.
    """
    amount = st.none() | st.integers(1, 8).map(float) if tight else st.none()
    gpus = st.sampled_from((1, 2, 3, 1, 2, 3, *range(1, max_gpus + 1)))
    fields: dict[str, st.SearchStrategy[Any]] = {
        "gpus": gpus,
        "tenant": st.integers(0, 2),
        "submitted": st.integers(0, 9).map(float),
        "cpus": amount,
        "memory_gib": amount,
        "remaining_iterations": st.integers(1, 9),
        "iteration_seconds": st.just(1.0),
        "attained_gpu_seconds": st.integers(0, 9).map(float),
        "runs": st.integers(0, 3 if running else 0),
    }
    if family == "tenants":
        fields["waiting_seconds"] = st.sampled_from(_WAITED)
        fields["restart_seconds"] = st.sampled_from((30.0, None))
    if family == "stages":
        fields["stage_seconds"] = st.lists(st.integers(1, 4).map(float), min_size=4, max_size=4).map(tuple)
        return st.fixed_dictionaries(fields).map(_alone_as_staged)
    if family == "deadlines":
        fields["deadline"] = st.sampled_from((None, NOW - 1, *(NOW + ahead for ahead in (0, 1, 2, 4, 8, 400))))
        fields["restart_seconds"] = st.sampled_from((None, 1.0, 30.0))
    if family in ("scaling", "deadlines"):
        fields["gains"] = st.lists(st.integers(0, 4), min_size=1, max_size=max_gpus)
    if family == "plans":
        fields["shapes"] = st.lists(st.tuples(gpus, st.integers(1, 2), st.integers(1, 8)), min_size=1, max_size=3)
        fields["restart_seconds"] = st.just(30.0)
    if family == "configurations":
        fields |= CONFIGURED
    return st.fixed_dictionaries(fields)


def named_job(draft: Draft, name: str, cluster: Cluster) -> Job:
    """Return the waiting job of a draft in a cluster: it asks for at most one GPU more than there are.

    A configuration is what it is, as its name tells its GPUs.
    """
    most, tenant = cluster.total_gpus + 1, draft["tenant"]
    fields = {field: value for field, value in draft.items() if field not in _NOT_FIELDS}
    if tenant and cluster.tenants:
        fields["tenant"] = cluster.tenants[(tenant - 1) % len(cluster.tenants)].id
    fields["gpus"] = min(draft["gpus"], most)
    if "gains" in draft:
        fields["scaling"] = _scaled(draft["gains"][:most])
        fields["gpus"] = min(fields["gpus"], len(fields["scaling"]))
    if "shapes" in draft or "configurations" in draft:
        plans = _planned(draft["shapes"], most) if "shapes" in draft else configured(draft["configurations"])
        fields["plans"] = plans
        fields |= {"plan": plans[0].name, "gpus": plans[0].gpus}
    return Job(id=name, **fields)


def built(family: str, cluster: Cluster, drafts: list[Draft]) -> Round:
    """Return the round of the drafts; a job that should run and has no room when its turn comes waits."""
    jobs = tuple(named_job(draft, f"j{j}", cluster) for j, draft in enumerate(drafts))
    round_ = Round(now=NOW, cluster=cluster, jobs=jobs)
    starts = {j: draft["runs"] - 1 for j, draft in enumerate(drafts) if draft["runs"]}
    if family in _AS_ASKED:
        judge, decision = Judge(policy=_AS_ASKED[family]), Decision()
        for j in starts:
            decision = next(judge.starts(round_, decision, jobs[j].id), decision)
        return after(round_, decision)
    left, held = Leftover(round_), list(jobs)
    for j, first in starts.items():
        room = left.room(j)
        share = room * 0
        for s in ((first + step) % len(room) for step in range(len(room))):
            share[s] = min(room[s], jobs[j].gpus - share.sum())
        if share.sum() == jobs[j].gpus and (family == "tenants" or left.within_quota(j)):
            left.take(share, j)
            placement = {node.id: int(share[s]) for s, node in enumerate(cluster.nodes) if share[s]}
            held[j] = msgspec.structs.replace(jobs[j], state="running", placement=placement)
    return msgspec.structs.replace(round_, jobs=tuple(held))


@st.composite
def decisions(draw: st.DrawFn, round_: Round, *, policy: str | None = None) -> Decision:
    """Draw a decision of a round that breaks no rule of the policy, or of plain gangs.

    Where rules say who may be preempted, nobody is.

    >>> from hypothesis import find
    >>> find(decisions(shipped_round("toy/two-gangs")), lambda decision: len(decision.running) == 1).running
    frozenset({'job-2'})
    """
    judge = Judge(policy=policy)
    decision = judge.completed(round_, Decision() if judge.chapter(round_).has_quotas else _kept(round_))
    for job in draw(st.permutations(round_.jobs)):
        if job.id not in decision.running and draw(st.booleans()):
            ways = list(islice(judge.starts(round_, decision, job.id), 4))
            decision = draw(st.sampled_from(ways)) if ways else _joined(judge, round_, decision, job)
    return judge.completed(round_, decision)


def _kept(round_: Round) -> Decision:
    """Return the decision in which everything stays as it is, but for jobs that are lost with their nodes."""
    running = [job for job in round_.jobs if job.state == "running" and job.placement and not is_lost(round_, job)]
    return Decision(assignments=tuple(Assignment(jobs=(job.id,), gpus=job.placement or {}) for job in running))


def _joined(judge: Judge, round_: Round, decision: Decision, job: Job) -> Decision:
    """Return the decision with a job on the GPUs of another one, where the rules have them interleave."""
    for place, one in enumerate(decision.assignments if judge.chapter(round_).most_jobs > 1 else ()):
        first = round_.jobs[round_.job_index[one.jobs[0]]]
        if len(one.jobs) == 1 and first.stage_seconds is not None and job.stage_seconds is not None:
            found = best_period([first.stage_seconds, job.stage_seconds])
            pair = Assignment(
                jobs=(first.id, job.id), order=found.order, gpus=one.gpus, period_seconds=found.period_seconds
            )
            others = (*decision.assignments[:place], pair, *decision.assignments[place + 1 :])
            waiting = tuple(wait for wait in decision.waiting if wait.job != job.id)
            both = Decision(assignments=others, waiting=waiting)
            if not judge.breaches(round_, both):
                return both
    return decision


@lru_cache
def _node_drafts(family: str, max_gpus: int, tight: bool) -> st.SearchStrategy[Draft]:
    amount = st.none() | st.integers(1, 2 * max_gpus).map(float) if tight else st.none()
    rack = st.sampled_from(("r0", "r1", None)) if family == "tenants" else st.none()
    gpus, cpus = st.sampled_from((*range(1, max_gpus + 1), *[0] * tight)), amount
    if family == "configurations":
        gpus, cpus = st.sampled_from((*range(1, max_gpus + 1), 0)), st.integers(2, 2 * max_gpus).map(float)
    return st.fixed_dictionaries({"gpus": gpus, "cpus": cpus, "memory_gib": amount, "rack": rack})


def _alone_as_staged(draft: Draft) -> Draft:
    """Return the draft of a job that takes, alone, as long as its stages one after another."""
    return {**draft, "iteration_seconds": sum(draft["stage_seconds"])}


def _scaled(gains: list[int]) -> dict[int, float]:
    """Return a table that never falls: 4 on one GPU, and each gain is at most as much again."""
    return dict(enumerate(accumulate((float(gain) for gain in gains), initial=4.0), 1))


def _planned(shapes: list[tuple[int, int, int]], most: int) -> tuple[Plan, ...]:
    """Return plans of different shapes; the first is the one a job asks for."""
    plans: dict[tuple[int, int], Plan] = {}
    for asked, nodes, rate in shapes:
        gpus = min(asked, most)
        split = nodes if gpus % nodes == 0 else 1
        plan = Plan(name=f"p{gpus}x{split}", gpus=gpus, nodes=split, throughput=float(rate))
        plans.setdefault((gpus, split), plan)
    return tuple(plans.values())
