"""How Muri groups: the authors' options and rules by name, with and without the slips of their code."""

from __future__ import annotations

from dataclasses import dataclass

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds.quantities import finite, whole
from muri_opt.systems.muri.interleaving import PATTERNS, SLOWDOWN
from muri_opt.systems.muri.ways import LOCK_STEP, Ways

MERGE_ORDERS = ("queue", "least-waste")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupingOptions:
    """Largest group, pattern and slow-down of its period, and which matched pairs are merged first.

    ``least_weight`` is the efficiency a pair of k of 4 jobs must exceed k/4 times to be an edge (the authors'
    ``weight_lbd``). ``worst_order`` takes the worst order of the jobs in a group instead of the best. ``matching`` off
    takes jobs in queue order, ``largest_group`` at a time. ``merge_order`` is ``queue``, from the front of the queue,
    or ``least-waste``, from the pair that leaves the fewest GPUs idle, which the authors' code means and does not do.
    ``ways`` says in which way groups may run.

    >>> GroupingOptions(largest_group=2).pattern
    'cyclic'
    """

    largest_group: int = 4
    pattern: str = "cyclic"
    slowdown: str = "none"
    least_weight: float = 0.0
    worst_order: bool = False
    matching: bool = True
    merge_order: str = "least-waste"
    ways: Ways = LOCK_STEP

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest_group", whole("options.largest_group", self.largest_group, 4, least=1))
        object.__setattr__(self, "least_weight", finite("options.least_weight", self.least_weight, 1.0))
        for field, known in (("pattern", PATTERNS), ("slowdown", SLOWDOWN), ("merge_order", MERGE_ORDERS)):
            if getattr(self, field) not in known:
                raise unknown_name(f"options.{field}", getattr(self, field), known)
        if self.worst_order and not self.matching:
            raise InputError("options.worst_order", "True without matching", "one of the two ablations at a time")


PAPER = GroupingOptions()
"""The formula of the paper and none of the slips."""

AUTHORS = GroupingOptions(pattern="muri-4slot", slowdown="muri", merge_order="queue")
"""The rules of the authors' simulator, slips included where they decide the result."""
