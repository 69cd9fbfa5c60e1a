"""Hill climbing over rounds: where is an algorithm farthest from the optimum?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Required, TypedDict, Unpack

from muri_opt.errors import RefusalError, unknown_name
from muri_opt.rounds import Limits, Round
from muri_opt.rounds.generate.families import FAMILIES
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.rounds.quantities import whole
from muri_opt.studies.worst_case.measure import LIMITS, Distance, Measure, measure_of
from muri_opt.studies.worst_case.neighbours import NODE_GPUS, Room, neighbour
from muri_opt.studies.worst_case.rounds import drawn_round
from muri_opt.systems import Policy

STARTS: Final = 6
"""Random rounds that are looked at before each climb; it begins at the worst of them."""
PATIENCE: Final = 40
"""Neighbours in a row without a larger gap after which a climb is over."""
MOST_JOBS: Final = 64
MOST_NODES: Final = 16
MOST_GPUS: Final = 64
MOST_BUDGET: Final = 10_000_000
_SEEDS: Final = 1 << 40

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """After so many evaluations the largest gap so far was found."""

    evaluations: int
    gap: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """The round with the largest proved gap that was found, and how the search came to it."""

    round: Round
    distance: Distance
    evaluations: int
    unproved: int
    """Candidates that did not count: refused by the policy, or without a proved optimum."""
    trail: tuple[Step, ...]


def find_worst(
    policy: str | Policy, *, measure: str = "value", limits: Limits = LIMITS, **options: Unpack[SearchOptions]
) -> WorstCase:
    """Return the round on which the policy's algorithm is farthest from the optimum, of at most ``budget`` looked at.

    ``measure`` is one of ``MEASURES``. The same arguments find the same round, unless an optimum was not proved within
    seconds of ``limits``: such a candidate does not count. The other options are those of :func:`search_worst`.
    """
    return search_worst(measure_of(measure, policy, limits), **options)


class SearchOptions(TypedDict, total=False):
    """What a search takes besides its measure."""

    family: Required[str]
    jobs: Required[int]
    nodes: Required[int]
    budget: Required[int]
    seed: int
    gpus: int | None
    at_least: float | None
    progress: Progress | None


def search_worst(
    measure: Measure,
    *,
    family: str,
    jobs: int,
    nodes: int,
    budget: int,
    seed: int = 0,
    gpus: int | None = None,
    at_least: float | None = None,
    progress: Progress | None = None,
) -> WorstCase:
    """Return the round of the largest distance that a search finds.

    Random rounds of the family, with at most so many jobs and nodes, are the starts of climbs over neighbours; a climb
    that gets no further is followed by another. With ``gpus`` there are exactly ``nodes`` nodes, of so many GPUs each,
    in every round. The search ends early at a gap of ``at_least``.
    """
    if family not in FAMILIES:
        raise unknown_name("family", family, FAMILIES)
    room = Room(
        family=family,
        jobs=whole("jobs", jobs, MOST_JOBS, least=1),
        nodes=whole("nodes", nodes, MOST_NODES, least=1),
        gpus=None if gpus is None else whole("gpus", gpus, MOST_GPUS, least=1),
    )
    search = _Search(
        measure=measure,
        room=room,
        draws=Draws(whole("seed", seed, 2**63 - 1)),
        budget=whole("budget", budget, MOST_BUDGET, least=1),
        goal=None if at_least is None else exactly(at_least),
        progress=progress,
    )
    while not search.over:
        search.climb()
    return search.found()


def exactly(number: float) -> Fraction:
    """Return the number that a person wrote: 0.1 is a tenth."""
    return Fraction(repr(float(number)))


@dataclass(slots=True, kw_only=True)
class _Search:
    measure: Measure
    room: Room
    draws: Draws
    budget: int
    goal: Fraction | None
    progress: Progress | None
    evaluations: int = 0
    unproved: int = 0
    best: tuple[Round, Distance] | None = None
    trail: list[Step] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """Whether the budget is spent or the goal reached."""
        reached = self.goal is not None and self.best is not None and self.best[1].gap >= self.goal
        return self.evaluations >= self.budget or reached

    def climb(self) -> None:
        """Go from the worst of some random rounds to neighbours that are no better, until none is worse for long."""
        current: tuple[Round, Fraction] | None = None
        for _ in range(STARTS):
            start = self._start()
            gap = self._look_at(start)
            if gap is not None and (current is None or gap > current[1]):
                current = (start, gap)
            if self.over:
                return
        patience = PATIENCE
        while current is not None and patience > 0 and not self.over:
            candidate = neighbour(self.room, current[0], self.draws)
            gap = self._look_at(candidate)
            patience -= 1
            if gap is not None and gap >= current[1]:
                patience = PATIENCE if gap > current[1] else patience
                current = (candidate, gap)

    def found(self) -> WorstCase:
        """Return the worst round."""
        if self.best is None:
            raised = "" if self.measure.raised is None else f" (the policy raised {self.measure.raised})"
            found = f"{self.evaluations} rounds, none with a proved optimum{raised}"
            raise RefusalError("budget", found, "a family whose rounds the policy takes, fewer jobs, or more of both")
        round_, distance = self.best
        return WorstCase(
            round=round_,
            distance=distance,
            evaluations=self.evaluations,
            unproved=self.unproved,
            trail=tuple(self.trail),
        )

    def _start(self) -> Round:
        fewer, servers, size, seed = (
            int(self.draws.below(1, count)[0])
            for count in (self.room.jobs // 2 + 1, self.room.nodes, len(NODE_GPUS), _SEEDS)
        )
        room = self.room
        servers, size = (1 + servers, NODE_GPUS[size]) if room.gpus is None else (room.nodes, room.gpus)
        return drawn_round(room.family, room.jobs - fewer, servers, seed, size)

    def _look_at(self, round_: Round) -> Fraction | None:
        distance = self.measure.of(round_)
        self.evaluations += 1
        if self.progress is not None:
            self.progress(self.evaluations, self.budget)
        if distance is None:
            self.unproved += 1
            return None
        if self.best is None or distance.gap > self.best[1].gap:
            self.best = (round_, distance)
            self.trail.append(Step(evaluations=self.evaluations, gap=distance.gap))
        return distance.gap
