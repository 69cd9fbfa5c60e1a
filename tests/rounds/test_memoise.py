"""Answers that are remembered by what they were asked for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st

from muri_opt.rounds.memoise import ANSWERS, last_recalled, recalled

OBJECTS = [[number] for number in range(ANSWERS + 3)]


class Sum:
    """A function that counts how often it is run."""

    def __init__(self) -> None:
        self.runs = 0
        self.recalled = recalled(self.run)

    def run(self, first: list[int], second: list[int]) -> int:
        self.runs += 1
        if first == second == [0]:
            raise ValueError
        return 100 * first[0] + second[0]


@given(st.lists(st.tuples(st.sampled_from(OBJECTS), st.sampled_from(OBJECTS[1:]))))
def test_answers_are_those_of_the_function_and_the_last_ones_are_not_worked_out_again(
    asked: list[tuple[list[int], list[int]]],
) -> None:
    tried = Sum()
    known: list[tuple[list[int], list[int]]] = []
    for first, second in asked:
        before = tried.runs
        assert tried.recalled(first, second) == 100 * first[0] + second[0]
        assert tried.runs - before == ((first, second) not in known)
        if (first, second) not in known:
            known = [*known, (first, second)][-ANSWERS:]


def test_equal_objects_that_may_change_are_others_and_an_error_is_no_answer() -> None:
    tried = Sum()
    assert [tried.recalled([1], OBJECTS[2]), tried.recalled([1], OBJECTS[2])] == [102, 102]
    assert tried.runs == 2
    for runs in (3, 4):
        with pytest.raises(ValueError):
            tried.recalled(OBJECTS[0], OBJECTS[0])
        assert tried.runs == runs


def test_threads_do_not_disturb_each_other() -> None:
    tried = Sum()
    asked = [(OBJECTS[at % 5], OBJECTS[1 + at % 6]) for at in range(2000)]
    with ThreadPoolExecutor(max_workers=4) as pool:
        found = list(pool.map(lambda pair: tried.recalled(*pair), asked))
    assert found == [100 * first[0] + second[0] for first, second in asked]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([(0.0, "a"), (0.0, "b")]))))
def test_equal_objects_that_cannot_change_are_the_same(asked: list[tuple[int, tuple[float, str]]]) -> None:
    runs = []

    @last_recalled
    def text(number: int, pair: tuple[float, str]) -> str:
        runs.append((number, pair))
        return f"{number}{pair[1]}"

    for number, (zero, letter) in asked:
        assert text(number, (zero, "".join([letter]))) == f"{number}{letter}"
    assert runs == [pair for place, pair in enumerate(asked) if not place or pair != asked[place - 1]]
    assert text.kept == tuple(((number, pair), f"{number}{pair[1]}") for number, pair in asked[-1:])
    assert text.__name__ == "text"


def test_what_was_never_asked_is_not_recalled() -> None:
    tried, (first, second) = Sum(), OBJECTS[1:3]
    assert tried.recalled.recall(first, second) is None
    assert tried.recalled(first, second) == tried.recalled.recall(first, second) == 102
    assert tried.recalled.recall([*first], second) is None
    assert tried.runs == 1
