"""Which rules bar a job from how many GPUs: states, GPU types, labels, levels and times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from muri_opt.rounds import Job, Node, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import listed
from muri_opt.rounds.quantities import microseconds

_FAR = np.iinfo(np.int64).max


class _Counted:
    """GPUs on each node: how many of them there are in all, and on nodes that have something."""

    def __init__(self, nodes: Sequence[Node], gpus: Ints) -> None:
        self._nodes, self.gpus, self.total = nodes, gpus, int(gpus.sum())
        self._by: dict[str, Mapping[str | None, int]] = {}

    def by(self, what: str) -> Mapping[str | None, int]:
        """Return how many are on nodes of each state, type, label, or that are in a unit of each level."""
        if what not in self._by:
            found = self._by[what] = Counter[str | None]()
            for node, gpus in zip(self._nodes, self.gpus.tolist(), strict=True):
                for name in _said(node, what) if gpus else ():
                    found[name] += gpus
        return self._by[what]


class BarredNodes:
    """The nodes of a round by what jobs may ask of them; each property of nodes is looked at once."""

    def __init__(self, round_: Round) -> None:
        self._round, self._nodes = round_, round_.cluster.nodes
        self._now = microseconds(round_.now)
        self._counted: dict[int, _Counted] = {}
        self._told: dict[object, list[str]] = {}

    def words(self, job: int, gpus: Ints) -> list[str]:
        """Return for each rule that bars a job from nodes with some of these ``gpus`` how many it bars, and why.

        Jobs that ask for the same are told the same: the array must not change from one to the next.
        """
        one = self._round.jobs[job]
        key = one.gpu_types, one.requires, one.excludes, one.within, one.time_limit_seconds, id(gpus)
        if key not in self._told:
            if id(gpus) not in self._counted:
                self._counted[id(gpus)] = _Counted(self._nodes, gpus)
            known = self._counted[id(gpus)]
            rules = self._rules(one, known) if known.total else ()  # where no GPU is free no rule bars one
            self._told[key] = [f"{count} {why}" for count, why in rules if count]
        return self._told[key]

    def _rules(self, job: Job, known: _Counted) -> Iterator[tuple[int, str]]:
        """Yield every rule with the number of GPUs that it bars a job from."""
        states, labels = known.by("state"), known.by("label")
        yield states.get("down", 0), "on nodes that are down"
        yield states.get("drain", 0), "on nodes that drain"
        if job.gpu_types is not None:
            types = known.by("gpu_type")
            others = known.total - sum([types.get(name, 0) for name in {*job.gpu_types}])
            yield others, f"of other types than {listed([*map(repr, job.gpu_types)])}"
        for label in job.requires:
            yield known.total - labels.get(label, 0), f"on nodes without the label {label!r}"
        for label in job.excludes:
            yield labels.get(label, 0), f"on nodes with the label {label!r}"
        if job.within is not None and job.within.required:
            there = known.by("level").get(job.within.level, 0)
            yield known.total - there, f"on nodes in no {job.within.level}"
        if self._ends is not None:
            limit = 1 if job.time_limit_seconds is None else microseconds(job.time_limit_seconds)
            barred = self._ends < self._now + limit
            yield int(known.gpus[barred].sum()), "on nodes that are not available long enough"

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
