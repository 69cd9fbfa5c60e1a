"""Elastic jobs that go on with the share they have, where they have it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Assignment, Round
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.systems.afs.curves import Curves
from muri_opt.systems.capacity import Leftover, Placed, held_gpus
from muri_opt.systems.capacity.decision import assignment_of
from muri_opt.systems.capacity.set_apart import Groups


def kept_jobs(round_: Round, groups: Groups) -> tuple[tuple[Assignment, ...], FreeCapacity]:
    """Return running jobs as they are, each with the period of its share, and what they leave."""
    curves = Curves.of(round_.jobs, round_.cluster.total_gpus)
    shares = {job: held for (job,) in groups if (held := held_gpus(round_, job)) is not None}
    asks = np.ones(len(round_.jobs), dtype=np.int64)
    for job, share in shares.items():
        asks[job] = share.sum()
        if not 1 <= asks[job] <= curves.cap[job]:
            where = f"jobs[{job}] ({round_.jobs[job].id!r}).placement"
            allowed = f"1 to {curves.cap[job]}, as it scales: the job goes on as it is"
            raise InputError(where, f"{asks[job]} GPUs", allowed)
    left, kept = Leftover(round_, asks), list[Assignment]()
    for job, share in shares.items():
        left.take(share, job)
        speed = int(curves.speed[job, asks[job]]) * MICROSECONDS_PER_SECOND
        period = float(Fraction(curves.unit[job], speed))
        kept.append(assignment_of(round_, Placed(jobs=(job,), share=share, period_seconds=period)))
    return tuple(kept), left
