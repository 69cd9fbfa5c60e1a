"""The Gittins index, by hand and against its definition."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given, strategies as st

from muri_opt import InputError
from muri_opt.systems.orders import gittins_index

SAMPLES = (4000, 1000, 8000, 2000)
TEXTBOOK = "textbook"


@pytest.mark.parametrize(
    ("attained", "authors", "textbook"),
    [
        (0, Fraction(2, 1000 + 2000 + 2 * 3250), Fraction(2, 1000 + 2000 + 2 * 3250)),
        (1500, Fraction(2, 2000 + 4000 + 3250), Fraction(2, 500 + 2500 + 3250)),
        (2000, Fraction(1, 4000 + 3250), Fraction(1, 2000 + 3250)),  # a sample that was attained is no longer ahead
        (4000, 0, 0),  # nobody ends within the quantum
        (4750, Fraction(1, 8000), Fraction(1, 3250)),  # exactly at the end of the quantum is within
        (7999.999, Fraction(1, 8000), 1000),
        (8000, 0, 0),  # no sample is longer
        (1e9, 0, 0),
    ],
)
def test_by_hand(attained: float, authors: Fraction, textbook: Fraction) -> None:
    assert gittins_index(SAMPLES, attained, 3250) == authors
    assert gittins_index(SAMPLES, attained, 3250, "authors") == authors
    assert gittins_index(SAMPLES, attained, 3250, TEXTBOOK) == textbook


def test_the_forms_can_disagree_about_who_is_first() -> None:
    """Counting from the start of the job, as the authors' code does, an old job that is about to end looks long."""
    young, old = 0, 7000
    assert gittins_index(SAMPLES, young, 3250) > gittins_index(SAMPLES, old, 3250)
    assert gittins_index(SAMPLES, young, 3250, TEXTBOOK) < gittins_index(SAMPLES, old, 3250, TEXTBOOK)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(0, 31), st.integers(1, 12))
@example([5, 5, 5], 5, 1)
def test_the_definition(samples: list[int], attained: int, quantum: int) -> None:
    """The share of the samples ahead that ends within the quantum, over the mean of what is served meanwhile."""
    ahead = [sample for sample in samples if sample > attained]
    if not ahead:
        assert gittins_index(samples, attained, quantum, TEXTBOOK) == gittins_index(samples, attained, quantum) == 0
        return
    chance = Fraction(sum(sample <= attained + quantum for sample in ahead), len(ahead))
    mean = Fraction(sum(min(sample - attained, quantum) for sample in ahead), len(ahead))
    assert gittins_index(samples, attained, quantum, TEXTBOOK) == chance / mean
    slip = Fraction(sum(sample if sample <= attained + quantum else quantum for sample in ahead), len(ahead))
    assert gittins_index(samples, attained, quantum) == chance / slip


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(0, 31), st.integers(1, 12))
def test_a_new_job_has_the_same_index_in_both_forms(samples: list[int], attained: int, quantum: int) -> None:
    assert gittins_index(samples, 0, quantum) == gittins_index(samples, 0, quantum, TEXTBOOK)
    assert gittins_index(samples, attained, quantum) <= gittins_index(samples, attained, quantum, TEXTBOOK)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (([], 0, 1), "samples"),
        (([1, 0], 0, 1), "samples[1]"),
        (([1, -1], 0, 1), "samples[1]"),
        (([float("nan")], 0, 1), "samples[0]"),
        (([float("inf")], 0, 1), "samples[0]"),
        (([1], -1, 1), "attained"),
        (([1], float("nan"), 1), "attained"),
        (([1], 0, 0), "quantum"),
        (([1], 0, 0.0004), "quantum"),
        (([1], 0, 1, "author"), "form"),
    ],
)
def test_bad_input_is_refused_by_name(arguments: tuple[object, ...], field: str) -> None:
    with pytest.raises(InputError) as refused:
        gittins_index(*arguments)
    assert refused.value.field == field
