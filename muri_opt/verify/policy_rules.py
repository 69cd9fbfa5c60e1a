"""What the verifier knows of each policy: its own reading, shared with no other part."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING

from muri_opt.errors import InputError, unknown_name
from muri_opt.verify.amounts import micro

if TYPE_CHECKING:
    from muri_opt.verify.afs.value import Elastic
    from muri_opt.verify.gangs.tiresias import Queues
    from muri_opt.verify.muri.rules import Sharing
    from muri_opt.verify.philly.rules import Tenancy
    from muri_opt.verify.plans.value import Planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules a decision of a policy must keep, and how its value is counted.

    Gangs are worth by rank, weighted or lexicographically; the rank of Tiresias is by ``queues``. A policy that
    ``keeps_running`` jobs stops and moves none of them. What jobs that may
    share GPUs are worth, ``sharing`` says, what shares of any size are worth, ``elastic``, what execution plans are
    worth, ``plans``, and what gangs of tenants are worth where they are, ``placement``.
    """

    order: str
    lexicographic: bool = False
    fewest_nodes: bool = False
    keeps_running: bool = False
    largest_group: int = 1
    sharing: Sharing | None = None
    elastic: Elastic | None = None
    plans: Planned | None = None
    queues: Queues | None = None
    placement: Tenancy | None = None

    @property
    def mixed(self) -> bool:
        """Whether jobs of unequal GPU counts may share GPUs."""
        return self.sharing is not None and self.sharing.mixed

    def most_jobs(self, stages: int) -> int:
        """Return how many jobs of so many stages one group may have."""
        return self.largest_group if self.sharing is None else min(self.largest_group, self.sharing.most_jobs(stages))


_DECIMAL = "a decimal from 0 to 1"
_AT_LEAST_ONE = "a whole number from 1"
_POSITIVE = "a number above 0"
_SECONDS = "seconds from 0"
_MICROSECONDS = "seconds, at least a microsecond"
_FACTOR = "a number from 0"
_SERVICE = "GPU-seconds, at least a millisecond"
_SERVICES = "GPU-seconds separated by /"
_MOMENT = "seconds from 0 to 2e9"
_STRETCH = "seconds from 1e-6 to 2e9"
_ANY_GPUS = "a whole number from 0 to 1000000"
_SOME_GPUS = "a whole number from 1 to 1000000"
_SPEED = "a decimal from 0.001 to 1"
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII)
_NUMBERS: dict[str, Callable[[float], bool]] = {
    _DECIMAL: lambda number: number <= 1,
    _AT_LEAST_ONE: lambda number: 1 <= number < inf and number.is_integer(),
    _POSITIVE: lambda number: 0 < number < inf,
    _SECONDS: lambda number: number < inf,
    _MICROSECONDS: lambda number: 1e-6 <= number < 1e18,
    _FACTOR: lambda number: number < inf,
    _SERVICE: lambda number: 1e-3 <= number <= 2e12,
    _SERVICES: lambda number: 1e-3 <= number <= 2e12,
    _MOMENT: lambda number: number <= 2e9,
    _STRETCH: lambda number: 1e-6 <= number <= 2e9,
    _ANY_GPUS: lambda number: number <= 1e6 and number.is_integer(),
    _SOME_GPUS: lambda number: 1 <= number <= 1e6 and number.is_integer(),
    _SPEED: lambda number: 1e-3 <= number <= 1,
}
_GANGS: dict[str, tuple[str, ...]] = {
    "objective": ("weighted", "lexicographic"),
    "nodes": ("any", "fewest"),
    "preempt": ("yes", "no"),
}
_TIRESIAS: dict[str, tuple[str, ...]] = {
    **_GANGS,
    "queues": ("3250/7200", _SERVICES),
    "knob": ("0", _FACTOR),
    "rank": ("fifo", "gittins"),
    "samples": ("none", _SERVICES),
    "quantum": ("3250", _SERVICE),
    "form": ("authors", "textbook"),
}
_MURI: dict[str, tuple[str, ...]] = {
    "preset": ("paper", "authors"),
    "group": ("4", "3", "2", "1"),
    "autopack": ("on", "off"),
    "pattern": ("preset", "cyclic", "muri-cyclic", "muri-4slot", "muri-4slot-steady"),
    "ordering": ("best", "worst"),
    "matching": ("blossom", "queue"),
    "least_weight": (_DECIMAL,),
    "objective": ("efficiency", "gpu-time", "progress"),
    "sizes": ("equal", "mixed"),
}
_ELASTIC: dict[str, tuple[str, ...]] = {
    "packing": ("any", "node"),
    "restarts": ("pay", "ignore"),
    "objective": ("speed", "speed-up", "time"),
}
_AFS: dict[str, tuple[str, ...]] = {
    **_ELASTIC,
    "scan": ("longest", "arrival", "shortest"),
    "tie": ("longer", "shorter"),
    "phi": (_AT_LEAST_ONE, "inf"),
}
_WORTH: dict[str, tuple[str, ...]] = {"reference": ("best", "requested"), "horizon": (_MICROSECONDS,)}
_PLANNED: dict[str, dict[str, tuple[str, ...]]] = {
    "rubick": {
        "change": ("both", "plans", "resources", "neither"),
        **_WORTH,
        "gate": (_DECIMAL,),
        "patience": ("inf", _SECONDS),
    },
    **dict.fromkeys(("synergy", "antman", "equal-share"), _WORTH),
    "sia": {"change": ("resources", "both", "plans", "neither"), "power": ("-0.5", "-1")},
    "aiturbo": {
        "objective": ("service", "time"),
        "switch": ("on", "off"),
        "step": ("on", "off"),
        "ranks": ("normalised", "raw"),
        "first": (_DECIMAL,),
        "second": (_DECIMAL,),
        "within": ("score", "running"),
        "patience": ("inf", _SECONDS),
    },
    "optimus-ps": {"switch": ("off", "on")},
}
_PHILLY: dict[str, tuple[str, ...]] = {
    "rack_after": ("600", _MOMENT),
    "any_after": ("1800", _MOMENT),
    "hold": ("150", _STRETCH),
    "backoff": ("0", _MOMENT),
    "preempt_at": ("0.9", "never", _DECIMAL),
    "migrate": ("0", "inf", _ANY_GPUS),
    "dedicated": ("never", _SOME_GPUS),
    "rack_speed": ("0.854", _SPEED),
    "any_speed": ("0.729", _SPEED),
    "aging": ("86400", _STRETCH),
    "horizon": ("600", _STRETCH),
    "objective": ("lexicographic", "weighted"),
}
_KEPT_CHANGE = {"synergy": "neither", "antman": "resources", "equal-share": "both"}
_SETTINGS: dict[str, dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("max-min-elastic", "srtf-elastic"), _ELASTIC),
    "optimus": {**_ELASTIC, "objective": ("time", "speed", "speed-up")},
    "afs-l": _AFS,
    "afs-p": {**_ELASTIC, "restarts": ("ignore",), "objective": ("speed-up",), "quantum": (_POSITIVE,)},
    "fifo": {**_GANGS, "objective": ("lexicographic", "weighted"), "preempt": ("no", "yes")},
    **dict.fromkeys(("srtf", "srsf", "las", "max-min"), _GANGS),
    "tiresias": _TIRESIAS,
    **dict.fromkeys(("muri-s", "muri-l"), _MURI),
    **_PLANNED,
    "philly": _PHILLY,
}
_MURI_ORDER = {"muri-s": "srsf", "muri-l": "las"}


@lru_cache(maxsize=64)
def rules_of(policy: str) -> Rules:
    """Return the rules of a policy given as in a result: ``name`` or ``name:key=value,...``."""
    name, _, rest = policy.partition(":")
    if name not in _SETTINGS:
        raise unknown_name("policy", name, _SETTINGS)
    allowed = _SETTINGS[name]
    chosen = {key: values[0] for key, values in allowed.items()}
    for pair in rest.split(",") if rest else ():
        key, _, value = pair.partition("=")
        if not _is_allowed(value, allowed.get(key, ())):
            known = ", ".join(f"{key}={'|'.join(values)}" for key, values in allowed.items())
            raise InputError("policy", repr(pair), known)
        chosen[key] = value
    if "nodes" in allowed:
        lexicographic, fewest = chosen["objective"] == "lexicographic", chosen["nodes"] == "fewest"
        return Rules(
            order=name,
            lexicographic=lexicographic,
            fewest_nodes=fewest,
            keeps_running=chosen["preempt"] == "no",
            queues=_queues(chosen) if allowed is _TIRESIAS else None,
        )
    if "packing" in allowed:
        from muri_opt.verify.afs.value import Elastic

        by_node = chosen["packing"] == "node"
        return Rules(order=name, elastic=Elastic(objective=chosen["objective"], by_node=by_node))
    if allowed is _PHILLY:
        from muri_opt.verify.philly.rules import Tenancy

        return Rules(order=name, placement=Tenancy.of(chosen))
    if name in _PLANNED:
        return Rules(order=name, plans=_planned(name, chosen))
    return Rules(order=_MURI_ORDER[name], largest_group=int(chosen["group"]), sharing=_sharing(chosen))


def _is_allowed(value: str, allowed: tuple[str, ...]) -> bool:
    if value in allowed and value not in _NUMBERS:
        return True
    within = next((test for kind, test in _NUMBERS.items() if kind in allowed), None)
    if within is None:
        return False
    parts = value.split("/") if _SERVICES in allowed else [value]
    return all(_NUMBER.fullmatch(part) is not None and within(float(part)) for part in parts)


def _queues(chosen: dict[str, str]) -> Queues:
    """Return the queues of Tiresias under its settings."""
    from muri_opt.verify.gangs.tiresias import Queues

    return Queues.of(chosen)


def _planned(name: str, chosen: dict[str, str]) -> Planned:
    """Return which plans the policy may choose and what they are worth; how it chooses is its own affair."""
    from muri_opt.verify.plans.value import Planned

    if "switch" in chosen:
        change = {"on": "neighbours", "off": "same"}[chosen["step"]] if "step" in chosen else "configurations"
        return Planned(change=change, objective=chosen.get("objective", "time"), switch=chosen["switch"] == "on")
    change = _KEPT_CHANGE.get(name) or chosen["change"]
    if "power" in chosen:
        return Planned(change=change, power=chosen["power"])
    usual = Planned(change=change, reference=chosen["reference"])
    horizon = chosen["horizon"]
    return usual if horizon == _MICROSECONDS else replace(usual, horizon=micro(float(horizon)))


def _sharing(chosen: dict[str, str]) -> Sharing:
    """Return how jobs share under the settings of Muri; which of them are grouped is the policy's own affair."""
    from muri_opt.verify.muri.rules import AUTHORS_SLOWDOWN, NO_SLOWDOWN, QUEUE_SLOWDOWN, Sharing

    authors, queue = chosen["preset"] == "authors", chosen["matching"] == "queue"
    if queue and chosen["ordering"] == "worst":
        raise InputError("policy", "ordering=worst with matching=queue", "one of the two ablations at a time")
    pattern = chosen["pattern"]
    if pattern == "preset":
        pattern = "muri-4slot" if authors else "cyclic"
    slowdowns = (QUEUE_SLOWDOWN if queue else AUTHORS_SLOWDOWN) if authors else NO_SLOWDOWN
    return Sharing(
        pattern=pattern,
        slowdowns=slowdowns,
        worst=chosen["ordering"] == "worst",
        objective=chosen["objective"],
        mixed=chosen["sizes"] == "mixed",
    )
