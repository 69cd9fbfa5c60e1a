"""Which jobs can be in any group at all."""

from __future__ import annotations

from muri_opt.rounds import Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.demands import asked_of
from muri_opt.verify.gangs.counting import able_jobs
from muri_opt.verify.muri.rules import Sharing


@recalled
def able_to_share(round_: Round, rules: Sharing) -> list[int]:
    """Return the places of jobs that could run alone, and of those that run with a larger one and could go on there."""
    asked = asked_of(round_)
    names = {job.id for job in able_jobs(round_, asked)}
    if asked is not None and rules.mixed:
        names |= {job.id for job in round_.jobs if sum((job.placement or {}).values()) > job.gpus}
    return [place for place, job in enumerate(round_.jobs) if job.id in names]
