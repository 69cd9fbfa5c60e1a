"""List scheduling of gangs: an order, then each gang that still fits, skipping those that do not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

from muri_opt.errors import InputError, unknown_name
from muri_opt.instance import Round
from muri_opt.instance.amounts import Ints
from muri_opt.ordering import ORDERS, TiresiasOrder, priority_order
from muri_opt.placement import Leftover, place_gang
from muri_opt.policies.base import Allowed, Policy
from muri_opt.solution import Decision, gang_decision

MOST_DIGITS = 10_000
"""Jobs up to which a lexicographic value, a binary digit per job, can be written and read as a decimal number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangPolicy(Policy):
    """``fifo``, ``srtf``, ``srsf``, ``las`` or ``max-min``: the order decides who is tried first.

    ``objective`` is what the exact program of the same round maximises (chapter *gangs*); ``nodes`` says whether a gang
    may spread over any nodes or must sit on as few as it could in the empty cluster.
    """

    objective: str = "weighted"
    nodes: str = "any"

    choices: ClassVar[Mapping[str, Allowed]] = {
        "objective": ("weighted", "lexicographic"),
        "nodes": ("any", "fewest"),
    }
    chapter: ClassVar[str] = "gangs"
    names: ClassVar[Collection[str]] = tuple(ORDERS)

    def __post_init__(self) -> None:
        if self.name not in self.names:
            raise unknown_name("policy", self.name, self.names)
        Policy.__post_init__(self)

    @property
    def order(self) -> str | TiresiasOrder:
        """Who comes first: the name of an order, or an order with settings of its own."""
        return self.name

    def check(self, round_: Round) -> None:
        """Refuse a job of no GPUs (a gang has at least one), and more jobs than a lexicographic value can hold."""
        for position, job in enumerate(round_.jobs):
            if job.gpus < 1:
                where = f"jobs[{position}] ({job.id!r}).gpus"
                raise InputError(where, "0", f"at least 1: the policy {self.name!r} places gangs")
        if self.objective == "lexicographic" and len(round_.jobs) > MOST_DIGITS:
            found = f"lexicographic with {len(round_.jobs):,} jobs"
            raise InputError(f"policy {self.name!r}.objective", found, f"weighted, or at most {MOST_DIGITS:,} jobs")

    def decide(self, round_: Round, seed: int) -> Decision:
        """Return the list schedule: jobs in order, each placed whole where it fits, others skipped (back-filling)."""
        self.check(round_)
        left = Leftover(round_)
        shares: dict[int, Ints] = {}
        free = round_.cluster.total_gpus
        for job in priority_order(round_, self.order):
            gpus = int(round_.amounts.g[job])
            if gpus > free or not left.within_quota(job):
                continue
            share = place_gang(round_, left, job, consolidate=self.nodes == "fewest")
            if share is not None:
                left.take(share, job)
                shares[job] = share
                free -= gpus
        return gang_decision(round_, shares, consolidate=self.nodes == "fewest")
