"""Running gangs that can stay where they are, all at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.gang_fit import fewest_nodes, held_gpus


def staying_jobs(
    round_: Round, order: Iterable[int], *, within_rules: bool = False, consolidate: bool = False
) -> dict[int, Ints]:
    """Return GPUs per node of the running gangs that stay, gone through in order.

    A running job stays if it holds as many GPUs as it asks for and no earlier one holds the same ones, as jobs that
    share GPUs under another policy do. ``within_rules`` keeps quotas, and with ``consolidate`` the fewest nodes, too.
    """
    left, stays = Leftover(round_), dict[int, Ints]()
    for job in order:
        held = held_gpus(round_, job)
        if held is None or held.sum() != round_.amounts.g[job] or (held > left.room(job)).any():
            continue
        if within_rules and not left.within_quota(job):
            continue
        if within_rules and consolidate and np.count_nonzero(held) > fewest_nodes(round_, job):
            continue
        left.take(held, job)
        stays[job] = held
    return stays
