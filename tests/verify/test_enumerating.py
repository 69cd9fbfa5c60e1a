"""One search for all chapters: every way to split a job over nodes, the best of all outcomes, and its steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import pytest
from hypothesis import given, strategies as st

from muri_opt.verify.enumeration import OutOfStepsError, Steps, best_of, splits


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), max_size=5), st.integers(0, 6), st.integers(0, 5))
def test_every_split_is_found_once_up_to_like_nodes(nodes: list[tuple[int, str]], parts: int, limit: int) -> None:
    def pattern(counts: tuple[int, ...]) -> tuple[object, ...]:
        return tuple(sorted((look, count) for look, count in zip(nodes, counts, strict=True)))

    every = {
        pattern(counts)
        for counts in product(*(range(hold + 1) for hold, _ in nodes))
        if sum(counts) == parts and sum(count > 0 for count in counts) <= limit
    }
    found = splits([hold for hold, _ in nodes], nodes, parts, nodes=limit, steps=Steps(10**6))
    shares = [tuple(share.get(node, 0) for node in range(len(nodes))) for share in found]
    assert {pattern(share) for share in shares} == every
    assert len(shares) == len(every)


@dataclass(frozen=True)
class Knapsack:
    """Items with a size and a value; a state is what is left. An end may be forbidden."""

    items: list[tuple[int, int]]
    forbidden: int | None = None
    steps: Steps = field(default_factory=lambda: Steps(10**6))

    def decided(self, job: int, state: int) -> bool:
        return job == len(self.items)

    def outcomes(self, job: int, state: int) -> Iterator[tuple[int, int]]:
        size, value = self.items[job]
        if size <= state:
            yield value, state - size
        yield 0, state

    def key(self, job: int, state: int) -> int:
        return state

    def most(self, job: int, state: int) -> int:
        return sum(max(0, value) for _, value in self.items[job:])

    def end(self, state: int) -> int | None:
        return None if state == self.forbidden else 0


ITEMS = st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 9)), max_size=6)


@given(ITEMS, st.integers(0, 12), st.none() | st.integers(0, 12), st.integers(-1, 20))
def test_the_best_above_a_number_is_found(
    items: list[tuple[int, int]], room: int, forbidden: int | None, above: int
) -> None:
    values = [
        sum(value for _, value in chosen)
        for picks in product([False, True], repeat=len(items))
        for chosen in [[item for item, taken in zip(items, picks, strict=True) if taken]]
        for left in [room - sum(size for size, _ in chosen)]
        if left >= 0 and left != forbidden
    ]
    best = max((value for value in values if value > above), default=None)
    search = Knapsack(items, forbidden)
    found = best_of(search, room, above=above)
    assert best == (None if found is None else found[0])
    any_ = best_of(search, room, above=above, first=True)
    assert (any_ is None) == (best is None)
    assert any_ is None or any_[0] in values


def test_a_state_that_was_reached_with_no_less_is_left() -> None:
    """Forty equal items: only how many were taken matters. Their number is bounded by nothing else."""
    search = Knapsack([(1, 1)] * 40, steps=Steps(2_000))
    assert best_of(search, 20, above=-1) == (20, 0)


def test_the_steps_are_kept() -> None:
    with pytest.raises(OutOfStepsError):
        best_of(Knapsack([(1, 1)] * 6, steps=Steps(3)), 3, above=-1)
    with pytest.raises(OutOfStepsError):
        list(splits([9] * 9, range(9), 9, nodes=9, steps=Steps(50)))
