"""What a job on a node can give: the next smaller way to run it, or that it stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.allocation import PlanPlacement
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.rubick.slopes import NOTHING, Curves, per_unit

_OF_LATER_LEVELS: Final = 2.0**-60
"""Part of what a job of a later level loses that others count: of several jobs, the one that loses least gives."""


class Step(NamedTuple):
    """What a job loses per unit it gives, and the placement it is left with, if any."""

    slope: float
    placement: PlanPlacement | None


class ShrinkSteps:
    """The steps by which jobs shrink.

    ``firm`` jobs run and may not restart, ``starving`` ones are not evicted; for a guaranteed job that does not run yet
    (``forced``) neither counts. No guaranteed job is ever left with nothing. All of this is among jobs of one ``level``
    of priorities: those of later levels lose next to nothing by whatever they give, and earlier ones give nothing.
    """

    def __init__(
        self,
        options: PlanOptions,
        curves: Curves,
        settled: Callable[[int, Ints], int],
        firm: set[int],
        starving: set[int],
        level: int = 0,
    ) -> None:
        self.firm = firm
        self._starving = starving
        self._options = options
        self.curves = curves
        self._settled = settled
        self._level, self._levels = level, options.level.tolist()
        self._known: dict[tuple[int, bytes, int, int, bool], Step | None] = {}

    def step(self, job: int, placement: PlanPlacement, node: int, resource: int, *, forced: bool) -> Step | None:
        """Return how a job on a placement gives some of a resource of a node, or ``None`` if it has nothing to give.

        It changes to the option worth most that takes less of the resource there and no more of anything on any node:
        on all of its nodes, or on some of the others. Where none is left, it stops if it may.
        """
        key = (placement.option, placement.nodes.tobytes(), node if len(placement.nodes) > 1 else -1, resource, forced)
        if key not in self._known:
            self._known[key] = self._smaller(job, placement, node, resource, forced=forced)
        return self._known[key]

    def loss(self, job: int, now: int, then: int) -> float:
        """Return what a job loses by a smaller option, or by being evicted, as those who get it count that."""
        loss = self.curves.loss(now, then)
        return loss if self._levels[job] == self._level else loss * _OF_LATER_LEVELS

    def _smaller(self, job: int, placement: PlanPlacement, node: int, resource: int, *, forced: bool) -> Step | None:
        curves, has = self.curves, self.curves.on(placement.option, placement.nodes, node)
        if not has[resource] or self._levels[job] < self._level:
            return None
        later = self._levels[job] > self._level
        held = not (forced or later) and job in self.firm
        smaller = self._placements(job, placement, node, resource)
        best = next((other for other in smaller if not held or self._options.home[other.option] >= 0), None)
        stays = self._options.guaranteed[job] or held or (not forced and job in self._starving)
        if best is None and stays and not later:
            return None
        then = NOTHING if best is None else best.option
        freed = -curves.more(placement.option, then)[resource]
        return Step(per_unit(self.loss(job, placement.option, then), freed, resource), best)

    def _placements(self, job: int, placement: PlanPlacement, node: int, resource: int) -> Iterator[PlanPlacement]:
        """Yield smaller placements, worth most first: a smaller part on the same nodes, or fewer on some of them."""
        options, part = self._options, self.curves.part
        here, has = self.curves.on(placement.option, placement.nodes, node), self.curves.least[placement.option]
        rest = placement.nodes[placement.nodes != node]
        for option in self.curves.best_first[job]:
            takes, parts = part[option], self.curves.q[option]
            if takes[0] > has[0] or takes[1] > has[1] or takes[2] > has[2]:
                continue
            if options.larger and option in options.larger and options.home[option] >= 0:
                continue  # its larger parts are on nodes of their own
            nodes = placement.nodes if parts == len(placement.nodes) and takes[resource] < here[resource] else rest
            if len(nodes) >= parts and not self.curves.anywhere[option]:
                nodes = nodes[options.nodes(option)[nodes]]
            if len(nodes) >= parts:
                nodes = nodes[:parts]
                yield PlanPlacement(self._settled(option, nodes), nodes)


def freed_on(
    curves: Curves, before: PlanPlacement | None, after: PlanPlacement | None, node: int
) -> tuple[int, int, int]:
    """Return what changing from a placement to a smaller one, or to none, frees on a node."""
    has, takes = _on(curves, before, node), _on(curves, after, node)
    return has[0] - takes[0], has[1] - takes[1], has[2] - takes[2]


def _on(curves: Curves, placement: PlanPlacement | None, node: int) -> tuple[int, int, int]:
    return curves.on(*placement, node) if placement is not None and node in placement.nodes.tolist() else (0, 0, 0)
