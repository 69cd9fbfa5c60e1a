"""What is tested: any function from a round to a decision, called with a time limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import msgspec

from muri_opt.errors import InputError, RefusalError
from muri_opt.rounds import Assignment, Decision, Limits, Round, canonical_json
from muri_opt.solve.round import solve_round
from muri_opt.systems import Named, policy_from
from muri_opt.testing.call_threads import CallThread, StopError

Allocator = Callable[[Round], Decision]
"""Decides a round. A job that the decision does not name waits."""


@runtime_checkable
class Stoppable(Protocol):
    """An allocator that can end a call of its own that takes too long, as one in another process does."""

    def stop_call(self) -> None:
        """End the call that goes on now; it may return or raise anything."""


DICT_FIELDS = frozenset({"assignments", "waiting"})
NOT_SAID = "nothing"
"""What an ``InputError`` found that asks for a field which was left out."""


class NoAnswerError(Exception):
    """The allocator raised, returned something else than a decision, or took too long; the text says which."""


class TooLateError(NoAnswerError):
    """The allocator took too long."""


class RefusedError(NoAnswerError):
    """The allocator declines: ``InputError`` for what the round does not say, ``RefusalError`` for what it says."""


class MutationError(Exception):
    """The allocator changed what it was given."""


def from_dicts(function: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Allocator:
    """Return the allocator of a function that takes a round as a dict and returns a decision as a dict.

    The round is what ``read_round`` reads. The decision is what ``muri-opt solve --json`` prints as ``decision``, or
    just the GPUs per node of each job that runs: ``{"j0": {"n0": 2}}``. Jobs that are not named wait. CPUs, periods and
    reasons may be left out.

    >>> nothing = from_dicts(lambda round_: {"assignments": []})
    >>> nothing(shipped_round("toy/two-gangs")).assignments
    ()
    """

    def decide(round_: Round) -> Decision:
        given = msgspec.json.decode(canonical_json(round_))
        before = msgspec.json.encode(given)
        answer = function(given)
        if msgspec.json.encode(given) != before:
            raise MutationError("the dict it was given is another one after the call")
        return decision_from(answer)

    return decide


@dataclass(frozen=True, slots=True)
class _Honouring:
    """An allocator that says which fields of format 2 it honours."""

    function: Allocator
    honours: frozenset[str]

    def __call__(self, round_: Round) -> Decision:
        return self.function(round_)


def published(policy: Named, method: str = "heuristic", *, seconds: float = 10.0) -> Allocator:
    """Return a policy as an allocator: its algorithm, or ``solve_round`` by another method.

    >>> sorted(published("fifo")(shipped_round("toy/two-gangs")).running)
    ['job-0', 'job-2']
    """
    chosen = policy_from(policy)
    if method == "heuristic":

        def decide(round_: Round) -> Decision:
            chosen.check_honoured(round_)
            return chosen.decide(round_, 0)

        return _Honouring(decide, chosen.honoured)

    def solve(round_: Round) -> Decision:
        result = solve_round(round_, chosen, method, Limits(seconds=seconds))
        if result.decision is None:
            raise NoAnswerError(f"{method} ended with {result.termination.reason}: {result.termination.detail}")
        return result.decision

    return _Honouring(solve, chosen.honoured)


def answer(allocator: Allocator, round_: Round, seconds: float | None) -> Decision:
    """Return the allocator's decision of a round, or raise ``NoAnswerError``.

    An ``InputError`` that found ``nothing`` in a field is a refusal: the round does not say what the allocator needs.
    So is a ``RefusalError``: the round says what the allocator does not honour.
    With a limit it runs in another thread. One that is not done after ``seconds`` is told to stop, which ends a
    loop in Python; a call into other code that never returns is left behind in its thread, which ends with the program.
    One that is ``Stoppable`` ends its call itself.
    """
    call = _Call(allocator=allocator, round_=round_)
    if seconds is None:
        call.run()
    else:
        thread = CallThread.idle()
        if not thread.run(call.run, seconds):
            running: object = allocator  # more than a function, perhaps
            if isinstance(running, Stoppable):
                running.stop_call()
            else:
                thread.stop()
            raise TooLateError(f"no decision after {seconds:g} s")
    if isinstance(call.error, (MutationError, NoAnswerError)):
        raise call.error
    if isinstance(call.error, RefusalError) or (isinstance(call.error, InputError) and call.error.found == NOT_SAID):
        raise RefusedError(str(call.error)) from call.error
    if call.error is not None:
        raise NoAnswerError(f"raised {type(call.error).__name__}: {call.error}") from call.error
    if not isinstance(call.answer, Decision):
        raise NoAnswerError(f"returned {type(call.answer).__name__}, not a Decision")
    return call.answer


@dataclass(slots=True, kw_only=True)
class _Call:
    """One call, and what came of it."""

    allocator: Allocator
    round_: Round
    answer: object = None
    error: Exception | None = field(default=None)

    def run(self) -> None:
        try:
            self.answer = self.allocator(self.round_)
        except Exception as error:
            self.error = error
        except StopError:
            return


def decision_from(answer: object) -> Decision:
    """Return the decision that a dict says, in full or as the GPUs per node of each job."""
    if not isinstance(answer, Mapping):
        raise InputError("decision", type(answer).__name__, "a dict: a decision, or GPUs per node for each job")
    if set(answer) & DICT_FIELDS and set(answer) <= DICT_FIELDS:
        return msgspec.convert(dict(answer), Decision)
    alone = [{"jobs": [job], "gpus": gpus} for job, gpus in answer.items()]
    return Decision(assignments=tuple(msgspec.convert(alone, list[Assignment])))
