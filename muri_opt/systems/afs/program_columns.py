"""The shares of the chapter *sharing*: every GPU count a job may have, and what it is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.systems.afs.node_sizes import share_sizes
from muri_opt.systems.afs.present_shares import PresentShares
from muri_opt.systems.afs.share_values import ShareValues
from muri_opt.systems.curves import Curves


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShareTable:
    """Pairs of a job and a GPU count it may have, in ascending order, and the value of each.

    ``value`` is that of a share which stays as it is where the job holds so many GPUs now; ``moved`` is what the same
    share is worth elsewhere.
    """

    jobs: Ints
    gpus: Ints
    value: Ints
    moved: Ints

    @classmethod
    def of(cls, round_: Round, objective: str, packing: str, horizon: int | None = None) -> ShareTable:
        """Return the shares of a round and what they are worth (:class:`ShareValues`)."""
        return _table(round_, objective, packing, horizon)


@last_recalled
def _table(round_: Round, objective: str, packing: str, horizon: int | None) -> ShareTable:
    curves = Curves.of(round_.jobs, round_.cluster.total_gpus)
    legal = share_sizes(round_.cluster, packing)
    legal = legal[legal < curves.speed.shape[1]]
    jobs, place = np.nonzero(legal <= curves.cap[:, None])
    gpus = legal[place]
    values = ShareValues.of(round_, objective, packing, horizon)
    moved = value = values.changed[jobs, gpus]
    if values.changed is not values.fresh:
        stays = PresentShares.of(round_).held[jobs] == gpus
        value = np.where(stays, values.fresh[jobs, gpus], moved)
    return ShareTable(jobs=jobs, gpus=gpus, value=value, moved=moved)
