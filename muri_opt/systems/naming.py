"""Which policy is meant: by a name with parameters, by where it can be imported, or by the thing itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Final

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds import Decision, Round
from muri_opt.systems.policy import Policy, Rules, parse_parameters
from muri_opt.systems.registry import POLICIES

Decide = Callable[[Round], Decision]
"""A policy as a bare function."""
Named = str | Policy | type[Policy] | Decide
"""All that a policy may be given as."""

PLAIN_RULES: Final[Rules] = {"chapter": "gangs", "order": "fifo", "objective": "weighted", "preempt": "yes"}
"""Rules of a bare function: gangs within nodes and quotas, and who runs is its own affair."""
_PLACE: Final = re.compile(r"(?P<module>[^\W\d]\w*(\.\w+)*):(?P<attribute>[^\W\d]\w*(\.\w+)*)(:(?P<settings>.*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionPolicy(Policy):
    """A function from a round to a decision, as a policy.

    Its decisions are checked by the ``rules`` that the function carries as an attribute, or as plain gangs. What it
    leaves out of a decision (CPUs, periods, who waits and why) is filled in.
    """

    function: Decide
    checked_by: Rules | None = None

    @property
    def honoured(self) -> frozenset[str]:
        """What the function carries as ``honours``; nothing where it does not say."""
        return frozenset(getattr(self.function, "honours", ()))

    @property
    def spec(self) -> str:
        """Where the function can be imported, or its bare name where it cannot."""
        return self.name

    @property
    def written_in(self) -> str:
        """The module of the function."""
        return self.function.__module__

    @property
    def rules(self) -> Rules:
        """Those it was given, those that the function carries, or those of plain gangs."""
        said: Rules = getattr(self.function, "rules", PLAIN_RULES)
        return said if self.checked_by is None else self.checked_by

    def checked_as(self, rules: Rules) -> FunctionPolicy:
        """Return the function, checked by other rules."""
        return replace(self, checked_by=rules)

    def decide(self, round_: Round, seed: int) -> Decision:
        """Return what the function returns."""
        return self.function(round_)


def policy_from(policy: Named) -> Policy:
    """Return the policy that is meant.

    A text is the name of a policy, with parameters after a colon, or ``module:attribute``, where a policy, a subclass
    of :class:`Policy` (with parameters after another colon) or a function from a round to a decision is. All of these
    may be given themselves too.

    >>> policy_from("srtf:nodes=fewest").spec
    'srtf:nodes=fewest'
    """
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, type):
        if issubclass(policy, Policy):
            return _made(policy, _place_of(policy), "")
        raise InputError("policy", f"the class {policy.__name__}", "a subclass of Policy")
    if callable(policy):
        return FunctionPolicy(name=_place_of(policy), function=policy)
    name, _, settings = str(policy).partition(":")
    if name in POLICIES:
        return _made(POLICIES[name], name, settings, colon=":" in str(policy))
    place = _PLACE.fullmatch(str(policy))
    if place is None or "=" in settings.partition(":")[0]:
        raise unknown_name("policy", name, POLICIES)
    return _imported(f"{place['module']}:{place['attribute']}", place["settings"])


def _made(kind: type[Policy], name: str, settings: str, *, colon: bool = False) -> Policy:
    make: Callable[..., Policy] = kind
    return make(name=name, **parse_parameters(name, settings, kind.choices) if settings or colon else {})


def attribute_at(field: str, place: str, allowed: str) -> Any:
    """Return what is at ``module:attribute``; ``field`` is what a refusal names, with what is ``allowed`` there."""
    module, _, attribute = place.partition(":")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(field, f"{place!r} ({error})", allowed) from None
    return found


def _imported(place: str, settings: str | None) -> Policy:
    """Return the policy at ``module:attribute``."""
    allowed = "the name of a policy, or module:attribute of a Policy or of a function from a Round to a Decision"
    found = attribute_at("policy", place, allowed)
    if isinstance(found, type) and issubclass(found, Policy):
        return _made(found, place, settings or "", colon=settings is not None)
    if settings is not None:
        raise InputError("policy", f"parameters {settings!r} of {place!r}", "parameters of a subclass of Policy only")
    if isinstance(found, Policy):
        return found
    if not callable(found):
        raise InputError("policy", f"{place!r}, a {type(found).__name__}", allowed)
    return FunctionPolicy(name=place, function=found)


def _place_of(thing: Any) -> str:
    """Return ``module:attribute`` of a class or function, or its bare name where it cannot be imported by that."""
    name = getattr(thing, "__qualname__", type(thing).__name__)
    module = getattr(thing, "__module__", "__main__")
    return name if module == "__main__" or "<" in name else f"{module}:{name}"
