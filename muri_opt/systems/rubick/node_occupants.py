"""The jobs on one node, and how they make room there step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from muri_opt.systems.plans.allocation import PlanPlacement
from muri_opt.systems.rubick.shrink_steps import ShrinkSteps, Step, freed_on
from muri_opt.systems.rubick.slopes import NOTHING

Amounts = tuple[int, int, int]
Given = dict[int, PlanPlacement | None]
"""The placements that jobs change to, ``None`` for those that stop."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Occupants:
    """The ``placements`` on a node, latest job first, and what they leave ``free`` there.

    To come to this, jobs have ``given`` something and had some ``loss``. What comes of giving more is remembered:
    whoever needs room next finds the steps worked out.
    """

    steps: ShrinkSteps
    node: int
    forced: bool
    placements: Mapping[int, PlanPlacement]
    free: Amounts
    loss: float = 0
    given: Given = field(default_factory=dict)
    _after: dict[int, tuple[float, Occupants] | None] = field(default_factory=dict)

    def after(self, resource: int) -> tuple[float, Occupants] | None:
        """Return the slope of the next step that frees some of a resource, and who is there after it.

        The job that loses least per unit gives, of equals the latest; ``None`` if nobody has anything to give.
        """
        try:
            return self._after[resource]
        except KeyError:
            return self._after.setdefault(resource, self._give(resource))

    def changed(self, job: int, placement: PlanPlacement | None) -> Occupants:
        """Return who is there after a job changed its placement, perhaps to one elsewhere or to none."""
        curves, before = self.steps.curves, self.placements[job]
        more = freed_on(curves, before, placement, self.node)
        placements = dict(self.placements)
        if placement is not None and self.node in placement.nodes.tolist():
            placements[job] = placement
        else:
            del placements[job]
        return Occupants(
            steps=self.steps,
            node=self.node,
            forced=self.forced,
            placements=placements,
            free=(self.free[0] + more[0], self.free[1] + more[1], self.free[2] + more[2]),
            loss=self.loss + self.steps.loss(job, before.option, NOTHING if placement is None else placement.option),
            given=self.given | {job: placement},
        )

    def _give(self, resource: int) -> tuple[float, Occupants] | None:
        found: tuple[int, Step] | None = None
        for job, placement in self.placements.items():
            step = self.steps.step(job, placement, self.node, resource, forced=self.forced)
            if step is not None and (found is None or step.slope < found[1].slope):
                found = job, step
        return None if found is None else (found[1].slope, self.changed(found[0], found[1].placement))
