"""Records of another shape than their program writes are one clear error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from muri_opt.errors import InputError


@contextmanager
def shape_told(what: str, program: str) -> Iterator[None]:
    """Refuse, by name, records that do not have the shape that a program gives them."""
    try:
        yield
    except InputError as error:
        raise error.inside(what) from None
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(what, str(error)[:200], f"the shape that it has in {program}") from None
