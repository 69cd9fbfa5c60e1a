"""The one error a caller's input can raise, and the refusals built on it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Bad input: names the field, what was found there and what is allowed.

    >>> try: Limits(gap=-1)
    ... except InputError as error: print(error)
    limits.gap: found -1; allowed: a finite number from 0 to 1,000,000,000
    """

    def __init__(self, field: str, found: str, allowed: str) -> None:
        super().__init__(field, found, allowed)
        self.field = field
        self.found = found
        self.allowed = allowed

    def __str__(self) -> str:
        return f"{self.field}: found {self.found}; allowed: {self.allowed}"

    def inside(self, prefix: str) -> InputError:
        """Return the same error with its field placed inside ``prefix``."""
        return type(self)(f"{prefix}.{self.field}", self.found, self.allowed)


class RefusalError(InputError):
    """A backend or formulation declines a valid model; ``allowed`` names the remedy.

    >>> RefusalError("seconds", "0.001", "at least 0.01")
    RefusalError('seconds', '0.001', 'at least 0.01')
    """


class NoAnswer(RuntimeError):  # noqa: N818 - it is no error that a round is not decided in time
    """A result has no decision: infeasible, or out of time; the text says which.

    >>> raise NoAnswer("NO_SOLUTION: no time left")
    Traceback (most recent call last):
    muri_opt.errors.NoAnswer: NO_SOLUTION: no time left
    """


def unknown_name(kind: str, name: object, known: Iterable[str]) -> InputError:
    """Return the error for an unknown name, with the nearest known one suggested."""
    names = sorted(known)
    near = get_close_matches(str(name), names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return InputError(kind, f"{name!r}{hint}", "one of " + ", ".join(names))
