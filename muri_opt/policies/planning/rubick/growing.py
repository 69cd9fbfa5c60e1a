"""What Rubick does for one job: the best change it can have, and making it."""

from __future__ import annotations

from muri_opt.policies.planning.rubick.slopes import NOTHING
from muri_opt.policies.planning.rubick.state import State
from muri_opt.policies.planning.rubick.taking import Move, move_to


def serve(state: State, job: int, *, taking: bool) -> bool:
    """Give a job the option that adds most throughput, what others lose for it taken off; return whether it got one.

    From others it is taken only where ``taking`` says so. A job that waits may also start where that adds nothing.
    """
    if job not in state.seats and not state.free.within_quota(job):
        return False
    move = _best_move(state, job, taking=taking)
    if move is None:
        return False
    _make(state, job, move)
    return True


def force(state: State, job: int) -> bool:
    """Start a guaranteed job by the smallest option for which room can be made; return whether there is one."""
    if not state.free.within_quota(job):
        return False
    for option in sorted(state.options.of_job(job), key=lambda o: state.curves.total[o]):
        move = move_to(state, job, option, forced=True)
        if move is not None:
            _make(state, job, move)
            return True
    return False


def _best_move(state: State, job: int, *, taking: bool) -> Move | None:
    """Return the move with the highest net gain; a move into free room needs nobody, so nothing smaller can beat it."""
    seat = state.seats.get(job)
    own = None if seat is None else seat.nodes
    now = state.option(job)
    best: Move | None = None
    if seat is not None:
        state.free.give(*seat)
    for option in state.within_reach(job):
        gain = state.curves.gain(now, option)
        if (best is not None and best.net >= gain) or (now != NOTHING and gain <= 0):
            break
        if seat is None and state.hopeless(option, state.curves.slopes(now, option)[0] if taking else 0.0):
            continue
        free = state.seat_for(option, own)
        if free is not None:
            best = Move(option=free.option, nodes=free.nodes, net=gain)
            break
        move = move_to(state, job, option, forced=False) if taking else None
        if move is not None and move.net > (0 if best is None else best.net):
            best = move
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
