"""Why the solver process is not asked for a round, if it is not."""

from __future__ import annotations

from math import inf
from typing import Final

from muri_opt.rounds import Limit, Limits, Reason, Termination

SENDING: Final = 1e-5
"""Seconds for each job that handing a round to the solver process takes here."""


def barred(left: Limits, jobs: int, *, answered: bool, work: float) -> Termination | None:
    """Return why a solver is not asked: nothing is ``left``, or less than sending so many jobs or that work takes.

    ``answered`` says whether there is an answer already: one that is looked for at all is asked for in any case.
    """
    seconds = inf if left.seconds is None else left.seconds
    has = min(seconds, inf if left.work is None else left.work)
    limit = Limit.TIME if has == seconds else Limit.WORK
    if left.nothing_left or (answered and seconds < SENDING * jobs):
        detail = f"no {limit.lower()} left for a solver"
    elif work > has:
        detail = f"the exact program was not begun: it takes about {work:.2g} units of work, and {has:.2g} are left"
    else:
        return None
    return Termination(reason=Reason.NO_SOLUTION, limit=limit, detail=detail)
