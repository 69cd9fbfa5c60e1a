"""Numbers among the parameters of a policy: one text for each, and whatever is none is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import example, given, strategies as st

from muri_opt import Decision, InputError, Round
from muri_opt.systems.policy import Allowed, Policy, Span, parse_parameters

PART, UPWARDS = Span(0, 1), Span(1, words=("inf",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Paced(Policy):
    """A policy with numbers of each kind."""

    part: str = "0"
    factor: str = "inf"

    choices: ClassVar[Mapping[str, Allowed]] = {"part": PART, "factor": UPWARDS}

    def check(self, round_: Round) -> None:
        """Refuse nothing."""

    def decide(self, round_: Round, seed: int) -> Decision:
        return Decision()


@pytest.mark.parametrize(
    ("span", "text", "canonical"),
    [
        (PART, "0", "0"),
        (PART, "0.50", "0.5"),
        (PART, ".5", "0.5"),
        (PART, "1.", "1"),
        (PART, "00.250", "0.25"),
        (PART, "1e-3", "0.001"),
        (PART, "25E-2", "0.25"),
        (UPWARDS, "2.0", "2"),
        (UPWARDS, "1e3", "1000"),
        (UPWARDS, "inf", "inf"),
    ],
)
def test_a_number_has_one_text(span: Span, text: str, canonical: str) -> None:
    assert span.canonical("field", text) == canonical
    assert span.canonical("field", canonical) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "0.5 ",
        " 0.5",
        "-0",
        "-1",
        "+1",
        "1.0001",
        "nan",
        "inf",
        "Infinity",
        "1e999",
        "0x1",
        "0_1",
        "½",
        "٣",
        ".",
    ],
)
def test_what_is_no_number_of_the_span_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refused:
        PART.canonical("policy 'paced'.part", text)
    assert (refused.value.field, refused.value.found) == ("policy 'paced'.part", repr(text))
    assert refused.value.allowed == "a number of at least 0 and at most 1"


@pytest.mark.parametrize("text", ["0.999", "1e309", "Inf", "infinity", "nan"])
def test_a_word_is_allowed_beside_numbers_and_nothing_like_it(text: str) -> None:
    with pytest.raises(InputError) as refused:
        UPWARDS.canonical("f", text)
    assert refused.value.allowed == "a number of at least 1 or inf"


@pytest.mark.parametrize("value", [0.5, None, 1, ["0.5"]])
def test_a_number_is_given_as_text(value: object) -> None:
    with pytest.raises(InputError, match="a number of at least 0 and at most 1 as text"):
        Paced(name="paced", part=value)


def test_equal_numbers_make_equal_policies() -> None:
    assert Paced(name="paced", part="0.50") == Paced(name="paced", part="5e-1")
    assert Paced(name="paced", part="0.50").spec == "paced:part=0.5"
    assert Paced(name="paced", part="0.0", factor="inf").spec == "paced"


@given(st.floats(0, 1), st.floats(1, 1e300) | st.just("inf"))
@example(5e-324, 1e300)
@example(0.1 + 0.2, 123456789.0)
def test_the_text_of_a_policy_with_numbers_makes_it_again(part: float, factor: float | str) -> None:
    policy = Paced(name="paced", part=repr(abs(part)), factor=str(factor))
    _, _, text = policy.spec.partition(":")
    assert Paced(name="paced", **(parse_parameters("paced", text, Paced.choices) if text else {})) == policy
    assert float(policy.part) == part
    assert float(policy.factor) == float(factor)
