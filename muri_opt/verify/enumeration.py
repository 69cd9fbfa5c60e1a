"""The best decision of a small round by enumeration: an exact method that shares nothing with the solvers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

State = TypeVar("State")


class OutOfStepsError(Exception):
    """There is more to enumerate than was allowed."""


class Steps:
    """How many steps are left; a step too many is an error."""

    def __init__(self, allowed: int) -> None:
        self.left = allowed

    def count(self) -> None:
        """Count one more step."""
        self.left -= 1
        if self.left < 0:
            raise OutOfStepsError


class Choices(Protocol[State]):
    """Jobs one after another, each with its outcomes; a state is what the jobs so far leave to the others."""

    @property
    def steps(self) -> Steps:
        """The steps that are left to the search."""

    def decided(self, job: int, state: State) -> bool:
        """Return whether there is no job from this one on."""

    def outcomes(self, job: int, state: State) -> Iterable[tuple[int, State]]:
        """Return what each outcome of a job adds to the value, and the state after it; the most promising first."""

    def key(self, job: int, state: State) -> Hashable:
        """Return all of a state that matters to the jobs from this one on, and to the end."""

    def most(self, job: int, state: State) -> int:
        """Return no less than what the jobs from this one on, and the end, can add."""

    def end(self, state: State) -> int | None:
        """Return what is added when all jobs are decided; ``None`` if they may not be so."""


def best_of(choices: Choices[State], start: State, *, above: int, first: bool = False) -> tuple[int, State] | None:
    """Return the largest value above a number, and a last state that has it; ``None`` if there is none.

    Depth first; the ``first`` value that is found may be enough. A branch that cannot be worth more than what was found
    is left, and so is a state that was reached before with no less worth.
    """
    found: tuple[int, State] | None = None
    reached: dict[tuple[int, Hashable], int] = {}
    stack = [(0, iter([(0, start)]))]  # for each job decided: the value before it, and its outcomes still to be tried
    while stack:
        before, outcomes = stack[-1]
        more, state = next(outcomes, (0, None))
        if state is None:
            stack.pop()
            continue
        choices.steps.count()
        job, worth = len(stack) - 1, before + more
        if worth + choices.most(job, state) <= above:
            continue
        if choices.decided(job, state):
            last = choices.end(state)
            if last is not None and worth + last > above:
                above = worth + last
                found = (above, state)
                if first or above >= choices.most(0, start):
                    break
            continue
        key = (job, choices.key(job, state))
        if reached.get(key, worth - 1) < worth:
            reached[key] = worth
            stack.append((worth, iter(choices.outcomes(job, state))))
    return found


def splits(
    holds: Sequence[int], looks: Sequence[Hashable], parts: int, *, nodes: int, steps: Steps
) -> Iterator[Mapping[int, int]]:
    """Yield every way to put so many parts on at most so many nodes, each of which ``holds`` some of them.

    Of nodes with equal ``looks`` any may stand for another: the first of them has no fewer parts than the next.
    """
    if sum(holds) < parts:
        return iter(())
    largest = max(holds, default=0)
    last: dict[Hashable, int] = {}
    before: list[int | None] = []
    for node, look in enumerate(looks):
        before.append(last.get(look))
        last[look] = node

    def ways(first: int, given: dict[int, int], missing: int) -> Iterator[Mapping[int, int]]:
        steps.count()
        if missing == 0:
            yield given
        for node in range(first, len(holds)) if missing and len(given) < nodes else ():
            like = before[node]
            most = min(missing, holds[node], missing if like is None else given.get(like, 0))
            least = missing - (nodes - len(given) - 1) * largest  # what the nodes that are left cannot hold
            for count in range(most, max(least, 1) - 1, -1):
                yield from ways(node + 1, {**given, node: count}, missing - count)

    return ways(0, {}, parts)
