"""``what_if()``: a round decided as it is and as it would be, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muri_opt.replay.what_if.scenario import Scenario
from muri_opt.replay.what_if.start_times import StartTimes, start_times
from muri_opt.rounds import Job, Limits, Node, Result, Round, Waiting
from muri_opt.solve.round import solve_round
from muri_opt.systems import DEFAULT_POLICY, Named


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A round and its result ``before``, and the changed round and its result ``after``.

    ``starts_before`` and ``starts_after`` say when waiting jobs would start, if that was asked for.

    >>> found = what_if(shipped_round("toy/two-gangs"), "fifo", remove_nodes=["n0"])
    >>> found.waits, [wait.job for wait in found.still_waiting]
    (('job-2',), ['job-1'])
    """

    round_before: Round
    round_after: Round
    before: Result
    after: Result
    starts_before: StartTimes | None = None
    starts_after: StartTimes | None = None

    @property
    def starts(self) -> tuple[str, ...]:
        """The jobs that run in the changed round and not in the other one."""
        run = _running(self.before)
        return tuple(job for job in _running(self.after) if job not in run)

    @property
    def waits(self) -> tuple[str, ...]:
        """The jobs that run in the round as it is and no longer in the changed one."""
        run = _running(self.after)
        return tuple(job for job in _running(self.before) if job not in run and job in self.round_after.job_index)

    @property
    def still_waiting(self) -> tuple[Waiting, ...]:
        """The jobs that wait in both, with what binds in the changed round."""
        waited = {wait.job for wait in _waiting(self.before)}
        return tuple(wait for wait in _waiting(self.after) if wait.job in waited)


def what_if(
    round_: Round,
    policy: Named = DEFAULT_POLICY,
    *,
    add_nodes: Sequence[Node] = (),
    remove_nodes: Sequence[str] = (),
    quotas: Mapping[str, int | None] | None = None,
    jobs: Sequence[Job] = (),
    release: Sequence[str] = (),
    method: str = "auto",
    limits: Limits | None = None,
    when: bool = False,
) -> WhatIf:
    """Return what a policy decides now, and what it would decide with other nodes, quotas or jobs.

    A job of ``jobs`` takes the place of the one that has its id, or is new; ``release`` are held jobs that may start; a
    quota of ``None`` is no limit. ``method`` and ``limits`` are those of :func:`~muri_opt.solve_round`, for each of the
    two. With ``when``, the queue is replayed too, to say when waiting jobs would start.

    >>> found = what_if(shipped_round("toy/two-gangs"), "fifo", add_nodes=[Node(id="more", gpus=8)])
    >>> found.starts, found.still_waiting
    (('job-1',), ())
    """
    scenario = Scenario(
        add_nodes=tuple(add_nodes),
        remove_nodes=tuple(remove_nodes),
        quotas=dict(quotas or {}),
        jobs=tuple(jobs),
        release=tuple(release),
    )
    then = scenario.applied(round_)
    return WhatIf(
        round_before=round_,
        round_after=then,
        before=solve_round(round_, policy, method, limits),
        after=solve_round(then, policy, method, limits),
        starts_before=start_times(round_, policy) if when else None,
        starts_after=start_times(then, policy) if when else None,
    )


def _running(result: Result) -> dict[str, None]:
    """Return the jobs that run, in the order of the decision."""
    if result.decision is None:
        return {}
    return dict.fromkeys(job for one in result.decision.assignments for job in one.jobs)


def _waiting(result: Result) -> tuple[Waiting, ...]:
    return () if result.decision is None else result.decision.waiting
