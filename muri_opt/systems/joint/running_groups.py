"""Who shares GPUs now: a round says where jobs run, and not with whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.systems.joint.offers import Offers

Group = tuple[int, ...]


def running_groups(round_: Round, offers: Offers) -> dict[Group, int]:
    """Return running jobs in groups with their GPUs, such that all can go on where they are; none where they cannot.

    Jobs that fit side by side do not share. Where they do not, jobs of one placement share: one seat after the other
    is given up at the placement that loses least by it for each GPU.
    """
    jobs = np.flatnonzero(offers.place >= 0)
    if not len(jobs) or not offers.rate[offers.kind[jobs], offers.position(offers.held[jobs])].all():
        return {}
    places = [
        _Place(offers=offers, jobs=jobs[offers.place[jobs] == at].tolist()) for at in np.unique(offers.place[jobs])
    ]
    taken = [round_.jobs[place.jobs[0]].placement or {} for place in places]
    for node in round_.cluster.nodes:
        here = [at for at, gpus in enumerate(taken) if node.id in gpus]
        while sum(taken[at][node.id] * places[at].seats for at in here) > node.gpus:
            able = [places[at] for at in here if places[at].seats > places[at].fewest]
            if not able:
                return {}
            min(able, key=lambda place: place.loss(place.seats)).seats -= 1
    return {group: place.gpus for place in places for group in place.groups(place.seats)}


@dataclass(slots=True, kw_only=True)
class _Place:
    """Jobs of one placement, on so many ``seats``: as many as they are, to begin with; ``fewest`` are possible."""

    offers: Offers
    jobs: list[int]
    seats: int = 0
    fewest: int = 0
    _losses: dict[int, float] = field(default_factory=dict)
    _known: dict[int, list[Group]] = field(default_factory=dict)
    _values: dict[Group, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.seats = len(self.jobs)
        sharers = int(self.offers.shares[self.jobs].sum())
        self.fewest = len(self.jobs) - sharers + -(-sharers // self.offers.most_jobs)

    @property
    def gpus(self) -> int:
        """The GPUs of each seat."""
        return int(self.offers.held[self.jobs[0]])

    def loss(self, seats: int) -> float:
        """Return what they lose, for each GPU, if they give up one of so many seats."""
        if seats not in self._losses:
            before, after = (sum(self._worth(self.groups(count)).values()) for count in (seats, seats - 1))
            self._losses[seats] = (before - after) / self.gpus
        return self._losses[seats]

    def groups(self, seats: int) -> list[Group]:
        """Return them in so many groups: again and again the two that lose least are put together."""
        if seats not in self._known:
            groups: list[Group] = [(job,) for job in self.jobs]
            while len(groups) > seats:
                groups = self._merged(groups, seats)
            self._known[seats] = groups
        return self._known[seats]

    def _merged(self, groups: list[Group], seats: int) -> list[Group]:
        most = self.offers.most_jobs
        sharing = [group for group in groups if self.offers.shares[list(group)].all()]
        pairs = [(one, two) for one, two in combinations(sharing, 2) if len(one) + len(two) <= most]
        sizes = [len(group) for group in sharing]
        alone = len(groups) - len(sharing)
        kinds = {(len(one), len(two)) for one, two in pairs}
        fits = {kind for kind in kinds if alone + _fewest_groups(_joined(sizes, kind), most) <= seats}
        pairs = [pair for pair in pairs if (len(pair[0]), len(pair[1])) in fits]
        worth = self._worth({*sharing, *(one + two for one, two in pairs)})
        one, two = min(pairs, key=lambda pair: worth[pair[0]] + worth[pair[1]] - worth[pair[0] + pair[1]])
        return [group for group in groups if group not in (one, two)] + [one + two]

    def _worth(self, groups: Iterable[Group]) -> dict[Group, float]:
        """Return what groups add on the GPUs of a seat."""
        asked = set(groups)
        new = asked - self._values.keys()
        for size in {len(group) for group in new}:
            members = [group for group in new if len(group) == size]
            rows = np.array(members)
            value = self.offers.alone(rows[:, 0]) if size == 1 else self.offers.groups(rows)
            at = int(self.offers.position(np.array(self.gpus)))
            self._values |= dict(zip(members, value[:, at].tolist(), strict=True))
        return {group: self._values[group] for group in asked}


def _joined(sizes: list[int], kind: tuple[int, int]) -> list[int]:
    left = list(sizes)
    for size in kind:
        left.remove(size)
    return [*left, sum(kind)]


def _fewest_groups(sizes: list[int], most: int) -> int:
    """Return in how few groups of at most so many jobs groups of these sizes can end, of at most three jobs each."""
    ones, twos = sizes.count(1), sizes.count(2)
    full = len(sizes) - ones - twos
    if most < 3:
        return full + twos + -(-ones // 2)
    return full + twos + -(-max(0, ones - twos) // 3)
