"""What every policy is: a name, its parameters, and its published algorithm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

from muri_opt.errors import InputError, unknown_name
from muri_opt.instance import Round
from muri_opt.solution import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(ABC):
    """A policy with its parameters; every parameter is a field with a default and a fixed set of allowed values."""

    name: str

    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __post_init__(self) -> None:
        for parameter, allowed in self.choices.items():
            value = getattr(self, parameter)
            if value not in allowed:
                raise InputError(f"policy {self.name!r}.{parameter}", repr(value), "one of " + ", ".join(allowed))

    @property
    def spec(self) -> str:
        """The policy as text, such as ``fifo`` or ``fifo:objective=lexicographic``; defaults are left out."""
        set_ = [
            f"{field.name}={getattr(self, field.name)}"
            for field in fields(self)
            if field.name != "name" and getattr(self, field.name) != field.default
        ]
        return self.name + (":" + ",".join(set_) if set_ else "")

    @abstractmethod
    def check(self, round_: Round) -> None:
        """Refuse a round that neither the algorithm nor the exact program of the policy can decide."""

    @abstractmethod
    def decide(self, round_: Round, seed: int) -> Decision:
        """Return the decision of the published algorithm; ``seed`` decides what the algorithm leaves to chance."""


def parse_parameters(policy: str, text: str, known: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the ``key=value`` pairs of a policy's text, refusing keys the policy does not have."""
    parameters: dict[str, str] = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"policy {policy!r}", repr(pair), "parameters written as key=value, separated by commas")
        if key not in known:
            raise unknown_name(f"parameter of policy {policy!r}", key, known)
        parameters[key] = value
    return parameters
