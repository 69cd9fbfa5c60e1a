"""Which rules bar a job from which nodes, with the GPUs there: states, GPU types, labels, levels and times."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Node, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import listed
from muri_opt.rounds.quantities import microseconds

Bools = NDArray[np.bool_]


class BarredNodes:
    """The nodes of a round by what jobs may ask of them; each property of nodes is looked at once."""

    def __init__(self, round_: Round) -> None:
        self._round, self._nodes = round_, round_.cluster.nodes
        self._now = microseconds(round_.now)
        self._known: dict[tuple[str, str], Bools] = {}
        self._told: dict[object, list[str]] = {}

    def words(self, job: int, gpus: Ints) -> list[str]:
        """Return for each rule that bars a job from nodes with some of these ``gpus`` how many it bars, and why.

        Jobs that ask for the same are told the same: the array must not change from one to the next.
        """
        one = self._round.jobs[job]
        key = one.gpu_types, one.requires, one.excludes, one.within, one.time_limit_seconds, id(gpus)
        if key not in self._told:
            rules = self._rules(job) if gpus.any() else ()  # where no GPU is free no rule bars one
            counts = ((int(gpus[barred].sum()), why) for barred, why in rules)
            self._told[key] = [f"{count} {why}" for count, why in counts if count]
        return self._told[key]

    def _rules(self, job: int) -> Iterator[tuple[Bools, str]]:
        """Yield every rule with the nodes that it bars a job from."""
        one = self._round.jobs[job]
        yield self._are("state", "down"), "on nodes that are down"
        yield self._are("state", "drain"), "on nodes that drain"
        if one.gpu_types is not None:
            fit = np.zeros(len(self._nodes), dtype=np.bool_)
            for name in one.gpu_types:
                fit |= self._are("gpu_type", name)
            yield ~fit, f"of other types than {listed([repr(name) for name in one.gpu_types])}"
        for label in one.requires:
            yield ~self._are("label", label), f"on nodes without the label {label!r}"
        for label in one.excludes:
            yield self._are("label", label), f"on nodes with the label {label!r}"
        if one.within is not None and one.within.required:
            yield ~self._are("level", one.within.level), f"on nodes in no {one.within.level}"
        limit = 1 if one.time_limit_seconds is None else microseconds(one.time_limit_seconds)
        yield self._ends < self._now + limit, "on nodes that are not available long enough"

    def _are(self, what: str, name: str) -> Bools:
        """Return which nodes have a state, a type, a label or a unit of a level."""
        if (what, name) not in self._known:
            self._known[what, name] = np.fromiter((name in _said(node, what) for node in self._nodes), dtype=np.bool_)
        return self._known[what, name]

    @cached_property
    def _ends(self) -> Ints:
        """Until when each node is available, far in the future where that is not said."""
        far = np.iinfo(np.int64).max
        ends = (far if node.available_until is None else microseconds(node.available_until) for node in self._nodes)
        return np.fromiter(ends, dtype=np.int64)


def _said(node: Node, what: str) -> Collection[str | None]:
    """Return what a node has of a kind: its state, its GPU type, its labels, or the levels it is in."""
    if what == "label":
        return node.labels
    return node.units if what == "level" else (getattr(node, what),)
