"""Running gangs that can stay where they are, all at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.gang_fit import fewest_nodes, held_gpus
from muri_opt.systems.capacity.going_on import no_room_for
from muri_opt.systems.capacity.held_parts import held_parts
from muri_opt.systems.capacity.known_parts import KnownParts
from muri_opt.systems.capacity.room_sets import RoomSets
from muri_opt.systems.capacity.shares import flat


def staying_jobs(
    round_: Round,
    order: Iterable[int],
    *,
    within_rules: bool = False,
    consolidate: bool = False,
    known: KnownParts | None = None,
) -> dict[int, Ints]:
    """Return GPUs per node of the running gangs that stay, gone through in order.

    A running job stays if it holds as many GPUs as it asks for and no earlier one holds the same ones, as jobs that
    share GPUs under another policy do. ``within_rules`` keeps quotas, and with ``consolidate`` the fewest nodes, too.
    Those that nobody may stop stay before all others, whatever the rules. ``known`` has the parts of shares.
    """
    stays, shares = pinned_jobs(round_), known or KnownParts()
    left, held = Leftover.beside(round_, stays), held_parts(round_)
    amounts, rooms = round_.amounts, RoomSets(*left.left.tolist())
    for job in order:
        parts = held[job]
        if parts is None or job in stays or sum([gpus for _, gpus in parts]) != amounts.g[job]:
            continue
        kind = int(amounts.c[job]), int(amounts.m[job])
        if not rooms.holds(kind, parts):
            continue
        share = shares.share(parts, len(left.gpus))
        if within_rules and not (left.within_quota(job) and left.within_types(job, share)):
            continue
        if within_rules and consolidate and len(parts) > fewest_nodes(round_, job):
            continue
        rooms.take(kind, parts)
        left.count_quota(job, share)
        stays[job] = share
    return stays


def all_fit_as_they_are(round_: Round, jobs: Sequence[int]) -> bool:
    """Return whether running gangs have as many GPUs as they ask for, and all of them together fit on their nodes."""
    amounts, held = round_.amounts, held_parts(round_)
    parts = [held[job] or [] for job in jobs]
    group, node, gpus = flat(parts)
    of = np.array(jobs, dtype=np.int64)
    if not np.array_equal(np.bincount(group, weights=gpus, minlength=len(of)), amounts.g[of]):
        return False
    for has, each in (
        (amounts.G, gpus),
        (amounts.C, gpus * amounts.c[of][group]),
        (amounts.M, gpus * amounts.m[of][group]),
    ):
        total = np.zeros(len(has), dtype=np.int64)
        np.add.at(total, node, each)
        if (total > has).any():
            return False
    return True


def pinned_jobs(round_: Round, *, movable: bool = True) -> dict[int, Ints]:
    """Return GPUs per node of the running gangs that nobody may stop; all of them, or those that are not movable."""
    if "job.preemptible" not in round_.used_fields:
        return {}
    stay = [place for place, job in enumerate(round_.jobs) if job.stays and (movable or job.stays_put)]
    return {job: held for job in stay if (held := held_gpus(round_, job)) is not None}


def check_pinned(round_: Round, policy: str) -> None:
    """Refuse a job that nobody may stop and that cannot go on alone with all its GPUs."""
    pinned = pinned_jobs(round_)
    if not pinned:
        return
    left = Leftover(round_)
    for job, held in pinned.items():
        where = f"jobs[{job}] ({round_.jobs[job].id!r}).preemptible"
        asks = int(round_.amounts.g[job])
        if held.sum() != asks:
            found = f"false, for a job that asks for {asks} GPUs and runs with {held.sum()}"
            raise InputError(where, found, f"a job that may be stopped: the policy {policy!r} places whole gangs")
        if (held > left.room(job)).any():
            raise no_room_for(round_, job, held, left, policy)
        left.take(held, job)
