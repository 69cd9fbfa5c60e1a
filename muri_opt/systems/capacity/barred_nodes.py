"""Which rules bar a job from how many GPUs: states, GPU types, labels, levels and times."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Job, Node, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import listed
from muri_opt.rounds.quantities import microseconds

Bools = NDArray[np.bool_]
_FAR = np.iinfo(np.int64).max


class BarredNodes:
    """The nodes of a round by what jobs may ask of them; each property of nodes is looked at once."""

    def __init__(self, round_: Round) -> None:
        self._round, self._nodes = round_, round_.cluster.nodes
        self._now = microseconds(round_.now)
        self._have: dict[tuple[str, str], Bools] = {}
        self._counts: dict[tuple[int, str, str], int] = {}
        self._told: dict[object, list[str]] = {}

    def words(self, job: int, gpus: Ints) -> list[str]:
        """Return for each rule that bars a job from nodes with some of these ``gpus`` how many it bars, and why.

        Jobs that ask for the same are told the same: the array must not change from one to the next.
        """
        one = self._round.jobs[job]
        key = one.gpu_types, one.requires, one.excludes, one.within, one.time_limit_seconds, id(gpus)
        if key not in self._told:
            rules = self._rules(one, gpus) if gpus.any() else ()  # where no GPU is free no rule bars one
            self._told[key] = [f"{count} {why}" for count, why in rules if count]
        return self._told[key]

    def _rules(self, job: Job, gpus: Ints) -> Iterator[tuple[int, str]]:
        """Yield every rule with the number of GPUs that it bars a job from."""
        total = int(gpus.sum())
        yield self._count(gpus, "state", "down"), "on nodes that are down"
        yield self._count(gpus, "state", "drain"), "on nodes that drain"
        if job.gpu_types is not None:
            fit = sum([self._count(gpus, "gpu_type", name) for name in dict.fromkeys(job.gpu_types)])
            yield total - fit, f"of other types than {listed([repr(name) for name in job.gpu_types])}"
        for label in job.requires:
            yield total - self._count(gpus, "label", label), f"on nodes without the label {label!r}"
        for label in job.excludes:
            yield self._count(gpus, "label", label), f"on nodes with the label {label!r}"
        if job.within is not None and job.within.required:
            there = self._count(gpus, "level", job.within.level)
            yield total - there, f"on nodes in no {job.within.level}"
        if self._ends is not None:
            limit = 1 if job.time_limit_seconds is None else microseconds(job.time_limit_seconds)
            barred = self._ends < self._now + limit
            yield int(gpus[barred].sum()), "on nodes that are not available long enough"

    def _count(self, gpus: Ints, what: str, name: str) -> int:
        """Return how many of the GPUs are on nodes that have a state, a type, a label or a unit of a level."""
        key = id(gpus), what, name
        if key not in self._counts:
            self._counts[key] = int(gpus[self._are(what, name)].sum())
        return self._counts[key]

    def _are(self, what: str, name: str) -> Bools:
        """Return which nodes have a state, a type, a label or a unit of a level."""
        if (what, name) not in self._have:
            self._have[what, name] = np.fromiter((name in _said(node, what) for node in self._nodes), dtype=np.bool_)
        return self._have[what, name]

    @cached_property
    def _ends(self) -> Ints | None:
        """Until when each node is available, far in the future where that is not said; ``None`` if no node says it."""
        said = [node.available_until for node in self._nodes]
        if not any(end is not None for end in said):
            return None
        return np.fromiter((_FAR if end is None else microseconds(end) for end in said), dtype=np.int64)


def _said(node: Node, what: str) -> Collection[str | None]:
    """Return what a node has of a kind: its state, its GPU type, its labels, or the levels it is in."""
    if what == "label":
        return node.labels
    return node.units if what == "level" else (getattr(node, what),)
