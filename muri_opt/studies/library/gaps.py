"""How far a policy's algorithm is from the optimum of a stored round, with all that is needed to check it again."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from muri_opt.errors import InputError
from muri_opt.systems import policy_from


class ValueGap(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="measure", tag="value"):
    """The value of the algorithm's decision against the optimum that is stored for the same policy."""

    policy: str
    reached: int
    optimum: int

    def __post_init__(self) -> None:
        _check_policy(self.policy)
        if self.optimum <= 0:
            raise InputError("optimum", str(self.optimum), "more than 0")

    @property
    def relative(self) -> Fraction:
        """The part of the optimum that is missed."""
        return Fraction(self.optimum - self.reached, self.optimum)


class SharesHeld(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For how many seconds, an exact rational, each job holds how many GPUs."""

    seconds: str
    shares: tuple[int, ...]

    def __post_init__(self) -> None:
        rational("seconds", self.seconds)


class OrderPrices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exact prices of an iteration of each job and of a second of each period, for a beginning of the events."""

    events: tuple[int, ...]
    work: tuple[str, ...]
    periods: tuple[str, ...]

    def __post_init__(self) -> None:
        for price in (*self.work, *self.periods):
            rational("prices", price)


class CompletionGap(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="measure", tag="completion"
):
    """Total completion time, in seconds, of a rule asked at every completion against the elastic optimum.

    ``schedule`` reaches the optimum, ``prices`` prove that nothing is below it.
    """

    policy: str
    reached: str
    optimum: str
    schedule: tuple[SharesHeld, ...]
    prices: tuple[OrderPrices, ...]

    def __post_init__(self) -> None:
        _check_policy(self.policy)
        rational("reached", self.reached)
        if rational("optimum", self.optimum) <= 0:
            raise InputError("optimum", self.optimum, "more than 0")

    @property
    def relative(self) -> Fraction:
        """By which part of the optimum the rule is above it."""
        return Fraction(self.reached) / Fraction(self.optimum) - 1


Gap = ValueGap | CompletionGap


def measure_name(gap: Gap) -> str:
    """Return the name of what a gap measures."""
    return str(gap.__struct_config__.tag)


def rational(field: str, text: str) -> Fraction:
    """Return the exact number that a text such as ``22/7`` is; one spelling only, so that equal files are equal."""
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(field, repr(text), "a whole number or a fraction such as 22/7") from None
    if str(number) != text:
        raise InputError(field, repr(text), repr(str(number)))
    return number


def _check_policy(policy: str) -> None:
    spec = policy_from(policy).spec
    if spec != policy:
        raise InputError("policy", repr(policy), repr(spec))
