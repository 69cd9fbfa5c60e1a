"""Policies that stop nobody: which running jobs must stay, and the round that is left to decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from muri_opt.rounds import Decision, Job, Node, Round, Violation
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import Room, empty_rooms, need_of, node_with
from muri_opt.verify.demands import starts_of
from muri_opt.verify.gangs.rules import GangRules
from muri_opt.verify.gangs.value import Kept, kept_jobs
from muri_opt.verify.loans import loans_of
from muri_opt.verify.tenant_lines import most_gpus, with_parents


@recalled
def open_round(round_: Round, rules: GangRules) -> Round:
    """Return the round that is left to decide: without the jobs that stay, what they hold, and nodes that are down.

    A quota is at least what its jobs hold that may not be stopped, and has what its tenant may borrow; what others lend
    is not counted, nor are quotas by GPU type.
    """
    kept, asked = kept_jobs(round_, rules), starts_of(round_)
    if not kept and asked is None and loans_of(round_) is None:
        return round_
    rooms = dict(zip(round_.cluster.node_index, empty_rooms(round_), strict=True))
    used, least = Counter[str](), Counter[str]()
    for name, held in kept.items():
        job = round_.jobs[round_.job_index[name]]
        for node, gpus in held.items():
            rooms[node] = rooms[node].without(need_of(job), gpus)
        used[job.tenant or ""] += job.gpus
    for job in round_.jobs:
        if job.stays and job.id not in kept:
            least[job.tenant or ""] += job.gpus
    used, least = with_parents(round_, used), with_parents(round_, least)
    everything = round_.cluster.total_gpus  # what may be borrowed can be more than a quota can say
    quotas = {
        tenant: min(max(least[tenant], most - used[tenant]), everything) for tenant, most in most_gpus(round_).items()
    }
    tenants = tuple(
        replace(tenant, quota_gpus=quotas.get(tenant.id), quota_by_type=None, borrow_gpus=None, lend_gpus=None)
        for tenant in round_.cluster.tenants
    )
    nodes = tuple(_node(node, rooms[node.id]) for node in round_.cluster.nodes)
    jobs = tuple(_nowhere(job) for job in round_.jobs if job.id not in kept)
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes, tenants=tenants), jobs=jobs)


def staying_breaches(decision: Decision, kept: Kept) -> Iterator[Violation]:
    """Yield a breach for each job that must stay and does not: it is stopped, moved or shares its GPUs."""
    alone = {assignment.jobs[0]: assignment for assignment in decision.assignments if len(assignment.jobs) == 1}
    for job, held in kept.items():
        if job not in alone:
            yield Violation(rule="stays", where=job, detail="it runs, and the policy stops nobody; it is stopped")
        elif dict(alone[job].gpus) != dict(held):
            detail = f"it runs on {dict(held)}, and the policy moves nobody; it is on {dict(alone[job].gpus)}"
            yield Violation(rule="stays", where=job, detail=detail)


def _node(node: Node, room: Room) -> Node:
    """Return a node with what is left there; one that is down has no GPUs."""
    return node_with(node, room._replace(gpus=0) if node.state == "down" else room)


def _nowhere(job: Job) -> Job:
    return job if job.state == "waiting" else replace(job, state="waiting", placement=None)
