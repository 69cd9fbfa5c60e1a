"""Which policies and methods a study compares, checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from muri_opt.errors import InputError
from muri_opt.studies.compare.sources import NamedRound
from muri_opt.studies.runner.methods import check_method
from muri_opt.systems import POLICIES, policy_from

ALL: Final = "all"
STORED: Final = "stored"


def chosen_policies(texts: Iterable[str], rounds: Sequence[NamedRound]) -> list[tuple[NamedRound, tuple[str, ...]]]:
    """Return every round with the policies it is solved under, each written in full and once.

    ``all`` are all policies with the parameters they have by default; ``stored`` those that the library has the best
    value of, which only rounds of the library have.
    """
    specs = [text if text in (ALL, STORED) else policy_from(text).spec for text in texts]
    if not specs:
        raise InputError("policies", "nothing", f"policies, {ALL} or {STORED}")
    return [(named, _policies_of(named, specs)) for named in rounds]


def chosen_methods(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the methods, each once; unknown ones are refused."""
    methods = tuple(dict.fromkeys(texts))
    for method in methods:
        check_method(method)
    if not methods:
        raise InputError("methods", "nothing", "heuristic, auto, exact or exact@BACKEND")
    return methods


def _policies_of(named: NamedRound, specs: Sequence[str]) -> tuple[str, ...]:
    found: list[str] = []
    for spec in specs:
        if spec == ALL:
            found += [policy_from(name).spec for name in POLICIES]
        elif spec != STORED:
            found.append(spec)
        elif named.best is None:
            allowed = f"policies by name, or {ALL}: only rounds of the library have stored optima"
            raise InputError("policies", f"{STORED!r} for {named.name}", allowed)
        else:
            found += [optimum.policy for optimum in named.optima]
    return tuple(dict.fromkeys(found))
