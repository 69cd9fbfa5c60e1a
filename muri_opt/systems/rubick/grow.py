"""What Rubick does for one job: the best change it can have, and making it."""

from __future__ import annotations

import numpy as np

from muri_opt.systems.rubick.reclaim import Move, Offer, move_to, offers
from muri_opt.systems.rubick.state import State


def serve(state: State, job: int, *, taking: bool) -> bool:
    """Give a job the option that adds most throughput, what others lose for it taken off; return whether it got one.

    From others it is taken only where ``taking`` says so. A job that waits may also start where that adds nothing.
    """
    if state.refuses(job, taking=taking) or (job not in state.seats and not state.free.within_quota(job)):
        return False
    move = _best_move(state, job, taking=taking)
    if move is None:
        state.refuse(job, taking=taking)
        return False
    _make(state, job, move)
    return True


def force(state: State, job: int) -> bool:
    """Start a guaranteed job by the smallest option for which room can be made; return whether there is one."""
    if not state.free.within_quota(job):
        return False
    options = sorted(state.options.of_job(job), key=lambda o: state.curves.total[o])
    for offer in offers(state, job, options, state.short(options), forced=True):
        move = move_to(state, job, offer, forced=True)
        if move is not None:
            _make(state, job, move)
            return True
    return False


def _best_move(state: State, job: int, *, taking: bool) -> Move | None:
    """Return the move with the highest net gain; a move into free room needs nobody, so nothing smaller can beat it."""
    seat, now = state.seats.get(job), state.option(job)
    reach = [o for o in state.within_reach(job) if seat is None or state.curves.gain(now, o) > 0]
    best: Move | None = None
    asked: list[Offer] = []
    if seat is not None:
        state.free.give(*seat)
    short = state.short(reach)
    taking = taking and not (seat is None and np.all(short[:, 0]) and state.too_flat(job))
    room: list[bool] = np.any(~np.any(short, axis=1), axis=1).tolist()
    for at, option in enumerate(reach):
        gain = state.curves.gain(now, option)
        if best is not None and best.net >= gain:
            break
        free = state.seat_for(option, None if seat is None else seat.nodes) if room[at] else None
        if free is not None:
            best = Move(option=free.option, nodes=free.nodes, net=gain)
            break
        if taking:
            asked = asked or offers(state, job, reach, short)
            above = 0 if best is None else best.net
            if gain - above > asked[at].least:
                best = move_to(state, job, asked[at], above) or best
    if seat is not None:
        state.free.take(*seat)
    return best


def _make(state: State, job: int, move: Move) -> None:
    """Change the options of those who give, then seat the job."""
    for other, seat in move.given.items():
        state.leave(other)
        if seat is not None:
            state.take(other, *seat)
    if job in state.seats:
        state.leave(job)
    state.take(job, move.option, move.nodes)
