"""What a check of an allocator says: what broke on which smallest round, what held, and what was put to the test."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from muri_opt.rounds import Round, canonical_json
from muri_opt.testing.invariant import Breach


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The breach of an invariant on the smallest round that was found, and how many rounds were drawn until one.

    >>> breach = Breach(invariant="capacity", tier=Tier.SAFETY, amount=1.0, detail="node 'n0' has 3 of 2 GPUs")
    >>> Broken(breach=breach, round_=shipped_round("toy/two-gangs"), after_examples=7).breach.invariant
    'capacity'
    """

    breach: Breach
    round_: Round
    after_examples: int

    @property
    def json(self) -> str:
        """The round as a file that ``read_round`` reads."""
        return round_text(self.round_)

    def __str__(self) -> str:
        size = f"{_count(len(self.round_.jobs), 'job')} on {_count(len(self.round_.cluster.nodes), 'node')}"
        found = f"found after {_count(self.after_examples, 'example')}; the smallest round has {size}:"
        return f"{self.breach}\n{found}\n{self.json}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found: which invariants broke, which held on all rounds drawn, and the worst amount of each.

    ``exercised`` says of each invariant in how many different rounds each of its aspects was. ``refused`` counts the
    rounds that do not say what the allocator needs, or say what it or its rules do not honour; they count for nothing
    else. ``complete`` is whether every aspect has to have been exercised.

    >>> report = find_breaches(published("fifo"), SAFETY[:1], max_examples=3, require_exercised=False)
    >>> report.ok, report.kept
    (True, ('answers',))
    """

    examples: int
    broken: tuple[Broken, ...]
    kept: tuple[str, ...]
    untested: tuple[str, ...]
    worst: dict[str, float]
    exercised: dict[str, dict[str, int]] = field(default_factory=dict)
    refused: int = 0
    refusal: str = ""
    complete: bool = True

    @property
    def not_exercised(self) -> dict[str, tuple[str, ...]]:
        """The aspects of each invariant that held which no round put to the test."""
        missing = {
            name: tuple(aspect for aspect, count in self.exercised.get(name, {}).items() if count == 0)
            for name in self.kept
        }
        return {name: names for name, names in missing.items() if names}

    @property
    def ok(self) -> bool:
        """Whether every invariant was tested, in all its aspects unless told otherwise, and held."""
        return not self.broken and not self.untested and not (self.complete and self.not_exercised)

    def of(self, name: str) -> Broken | None:
        """Return what broke the invariant of this name, if anything did."""
        return next((one for one in self.broken if one.breach.invariant == name), None)

    def __str__(self) -> str:
        parts = [f"{len(self.broken)} of {len(self.broken) + len(self.kept) + len(self.untested)} invariants broken"]
        parts += [str(one) for one in self.broken]
        parts += [f"held on {_count(self.examples, 'example')}: {', '.join(self.kept)}"] if self.kept else []
        parts += [f"not tested, as it does not answer: {', '.join(self.untested)}"] if self.untested else []
        parts += [f"refused {_count(self.refused, 'example')}, such as: {self.refusal}"] if self.refused else []
        told = [self._told(name) for name in self.kept if self.exercised.get(name)]
        parts += ["different rounds that put it to the test:\n" + "\n".join(told)] if told else []
        missing = [f"NOT EXERCISED: {name}: {', '.join(names)}" for name, names in self.not_exercised.items()]
        parts += ["\n".join(missing)] if missing else []
        return "\n\n".join(parts)

    def _told(self, name: str) -> str:
        return f"  {name}: " + ", ".join(f"{aspect} {count}" for aspect, count in self.exercised[name].items())


def round_text(round_: Round) -> str:
    """Return a round as the text of a file."""
    return msgspec.json.format(canonical_json(round_), indent=2).decode()


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
