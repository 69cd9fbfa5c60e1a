"""Options behind a question mark: ``trace.csv?tenant=a&first=9``, ``generate:gangs?jobs=12``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds.error_text import number_range, shown, whole_range
from muri_opt.rounds.quantities import finite, whole

_DIGITS: Final = 20


@dataclass(frozen=True, slots=True)
class TextOptions:
    """The options of a text, all still as they were written; ``thing`` is what errors say they belong to."""

    thing: str
    values: Mapping[str, str]

    @classmethod
    def of(cls, thing: str, text: str) -> TextOptions:
        """Return the options in what follows the question mark."""
        values: dict[str, str] = {}
        for pair in text.split("&") if text else ():
            key, _, value = pair.partition("=")
            if not key or not value:
                raise InputError(f"options of the {thing}", shown(pair), "pairs written as key=value, joined by &")
            if key in values:
                raise InputError(f"option {key}", "the option twice", "every option once")
            values[key] = value
        return cls(thing, values)

    def check(self, *known: str) -> None:
        """Refuse options that are not known."""
        for key in self.values:
            if key not in known:
                raise unknown_name(f"option of this {self.thing}", key, known)

    def text(self, key: str) -> str | None:
        """Return an option as it was written."""
        return self.values.get(key)

    def whole(self, key: str, most: int) -> int | None:
        """Return an option that is a whole number."""
        text = self.values.get(key)
        if text is not None and not (text.isascii() and text.isdecimal() and len(text) < _DIGITS):
            raise InputError(key, shown(text), whole_range(0, most))
        return None if text is None else whole(key, int(text), most)

    def number(self, key: str, most: float) -> float | None:
        """Return an option that is a number."""
        text = self.values.get(key)
        try:
            return None if text is None else finite(key, float(text), most)
        except InputError:
            raise
        except ValueError:
            raise InputError(key, shown(text), number_range(most, positive=False)) from None
