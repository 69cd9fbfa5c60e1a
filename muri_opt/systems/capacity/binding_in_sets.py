"""Why a gang does not start that may not start just anywhere: by order, by quota, or for want of nodes it may use."""

from __future__ import annotations

from typing import NamedTuple

from muri_opt.rounds import Round
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.decision import WaitingReason
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.gang_fit import empty_room, fewest_nodes
from muri_opt.systems.capacity.node_sets import Demand, is_lost
from muri_opt.systems.capacity.quota_text import quota_remedy, type_quota_text
from muri_opt.systems.capacity.shaped_fit import fit_in_sets, only_where


class Binding(NamedTuple):
    """The first rule that binds, all of them in words, and what would help where no change is worked out.

    ``quota`` are the GPUs above the tenant's quota, ``room`` whether it fits on what is free, the quota aside.
    """

    reason: WaitingReason
    detail: str
    remedy: str
    quota: int
    room: bool


def kept_back(round_: Round, job: int) -> Binding:
    """Return what binds for a job that is held, or is to begin later."""
    one = round_.jobs[job]
    said, remedies = list[str](), list[str]()
    if one.held is not None:
        said.append(f"is held: {one.held}" if one.held else "is held")
        remedies.append("release it")
    if one.not_before is not None and one.not_before > round_.now:
        said.append(f"is not to start before {one.not_before:g} s; now it is {round_.now:g} s")
        remedies.append(f"wait for {one.not_before - round_.now:g} s")
    reason = WaitingReason.NOT_BEFORE if one.held is None else WaitingReason.HELD
    return Binding(reason, "; ".join(said), " and ".join(remedies), 0, room=False)


def binding_in_sets(
    round_: Round, left: Leftover, job: int, demand: Demand, *, over: int, quota: str, consolidate: bool
) -> Binding:
    """Return what binds for a job that asks for certain nodes; it is ``over`` its quota by so much, which says so."""
    asks, nodes = int(left.asks[job]), len(left.gpus)
    said, remedies = [*_before(round_, job), f"asks for {gpus_text(asks)}"], list[str]()
    reasons = list[WaitingReason]()
    open_to = left.demand(job) or demand
    most, fewest = int(empty_room(round_, job).sum()), fewest_nodes(round_, job)
    if fewest > nodes:
        said.append(f"the nodes where it may start have {most} that it could use{_asked(demand) * (most >= asks)}")
        remedies.append("ask for fewer GPUs or for other nodes, or enlarge the cluster")
        reasons.append(WaitingReason.CAPACITY)
    if over:
        said.append(quota)
        remedies.append(quota_remedy(left, over))
        reasons.append(WaitingReason.QUOTA)
    limit = fewest if consolidate else None
    by_type = fewest <= nodes and fit_in_sets(empty_room(round_, job), asks, open_to) is None
    if by_type:
        said.append(type_quota_text(round_, left, job))
        remedies.append("free GPUs of that type of the tenant, or raise its quota")
        reasons.append(WaitingReason.QUOTA)
    fits = fewest <= nodes and fit_in_sets(left.room(job), asks, open_to, limit) is not None
    if fewest <= nodes and not fits and not by_type:
        free = int(only_where(left.gpus, open_to).sum())
        said.append(f"{free} are free where it may start{_asked(open_to) * (free >= asks)}")
        remedies.append(_freed(asks - free) if asks > free else "free GPUs that it can use together")
        reasons.append(WaitingReason.CAPACITY if asks > free else WaitingReason.FRAGMENTATION)
    if not reasons:
        said[-1] = f"asks for {gpus_text(asks)}, free now; the decision keeps them free"
        remedies.append("decide again; the methods 'auto' and 'exact' leave no such job waiting")
        reasons.append(WaitingReason.PRIORITY)
    return Binding(reasons[0], "; ".join(said), " and ".join(remedies), over, fits)


def _before(round_: Round, job: int) -> list[str]:
    """Return what a running job must be told first: that it is lost, or that it may not go elsewhere."""
    if is_lost(round_, job):
        return ["it is lost: it ran on a node that is down"]
    return ["it may not be moved from where it runs"] if round_.jobs[job].stays_put else []


def _asked(demand: Demand) -> str:
    """Return what a gang asks beside nodes, in words."""
    few = "" if demand.most is None else f" and at most {demand.most}"
    words = [f", on at least {demand.least}{few} nodes"] if demand.least > 1 or few else []
    words += [", equally many on each node"] * demand.even
    words += [", in one of several parts of the cluster"] * (len(demand.sets) > 1)
    return f", not as it asks for them{''.join(words)}"


def _freed(gpus: int) -> str:
    return f"free {gpus} more GPU{'s' * (gpus != 1)} where it may start"
