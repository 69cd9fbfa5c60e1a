"""What the verifier knows of each policy: its own reading, shared with no other part."""

from __future__ import annotations

from dataclasses import dataclass

from muri_opt.errors import InputError, unknown_name
from muri_opt.verification.sharing import Sharing


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules a decision of a policy must keep, and how its value is counted.

    Gangs are worth by rank, weighted or lexicographically; jobs that may share GPUs are worth their efficiency.
    """

    order: str
    lexicographic: bool = False
    fewest_nodes: bool = False
    largest_group: int = 1
    sharing: Sharing | None = None

    def most_jobs(self, stages: int) -> int:
        """Return how many jobs of so many stages one group may have."""
        return self.largest_group if self.sharing is None else min(self.largest_group, self.sharing.most_jobs(stages))


_GANGS: dict[str, tuple[str, ...]] = {"objective": ("weighted", "lexicographic"), "nodes": ("any", "fewest")}
_MURI: dict[str, tuple[str, ...]] = {
    "preset": ("paper", "authors"),
    "group": ("4", "3", "2", "1"),
    "autopack": ("on", "off"),
}
_SETTINGS: dict[str, dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("fifo", "srtf", "srsf", "las", "max-min"), _GANGS),
    **dict.fromkeys(("muri-s", "muri-l"), _MURI),
}


def rules_of(policy: str) -> Rules:
    """Return the rules of a policy given as in a result: ``name`` or ``name:key=value,...``."""
    name, _, rest = policy.partition(":")
    if name not in _SETTINGS:
        raise unknown_name("policy", name, _SETTINGS)
    allowed = _SETTINGS[name]
    chosen = {key: values[0] for key, values in allowed.items()}
    for pair in rest.split(",") if rest else ():
        key, _, value = pair.partition("=")
        if value not in allowed.get(key, ()):
            known = ", ".join(f"{key}={'|'.join(values)}" for key, values in allowed.items())
            raise InputError("policy", repr(pair), known)
        chosen[key] = value
    if allowed is _GANGS:
        lexicographic, fewest = chosen["objective"] == "lexicographic", chosen["nodes"] == "fewest"
        return Rules(order=name, lexicographic=lexicographic, fewest_nodes=fewest)
    sharing = Sharing(four_slots=chosen["preset"] == "authors")
    return Rules(order=name, largest_group=int(chosen["group"]), sharing=sharing)
