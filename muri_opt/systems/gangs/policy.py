"""List scheduling of gangs: an order, then each gang that still fits, skipping those that do not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds import INFORMATION, Budget, Decision, Round
from muri_opt.rounds.field_groups import PLACES, QUOTAS, SHAPES, SHARES, STATES
from muri_opt.systems.capacity import gang_decision
from muri_opt.systems.capacity.decision import gang_assignments
from muri_opt.systems.capacity.known_parts import KnownParts
from muri_opt.systems.capacity.list_schedule import ListSchedule
from muri_opt.systems.capacity.rearrangement import Shares
from muri_opt.systems.capacity.staying import all_fit_as_they_are, check_pinned, staying_jobs
from muri_opt.systems.orders import ORDERS, TiresiasOrder, priority_order
from muri_opt.systems.orders.priority import check_sortable
from muri_opt.systems.policy import Allowed, Policy, Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class GangPolicy(Policy):
    """``srtf``, ``srsf``, ``las`` or ``max-min``: the order decides who is tried first.

    ``objective`` is what the exact program of the same round maximises (chapter *gangs*); ``nodes`` says whether a gang
    may spread over any nodes or must sit on as few as it could in the empty cluster; ``preempt`` whether a running job
    may be stopped or moved for another. Where it may not, running jobs stay where they are and only the others are
    decided. With ``restarts=pay``, of the answers of one value that is looked for whose changes cost least, and of
    those the one on the fewest nodes.

    >>> sorted(policy_from("srsf").decide(shipped_round("toy/eight-gangs"), 0).running)
    ['bert', 'llama', 'lora', 'mobilenet', 'slowfast', 'yolo']
    """

    objective: str = "weighted"
    nodes: str = "any"
    preempt: str = "yes"
    restarts: str = "pay"

    choices: ClassVar[Mapping[str, Allowed]] = {
        "objective": ("weighted", "lexicographic"),
        "nodes": ("any", "fewest"),
        "preempt": ("no", "yes"),
        "restarts": ("ignore", "pay"),
    }
    chapter: ClassVar[str] = "gangs"
    honours: ClassVar[frozenset[str]] = INFORMATION | PLACES | SHAPES | STATES | QUOTAS | {"job.priority"}
    names: ClassVar[Collection[str]] = tuple(name for name in ORDERS if name not in ("fifo", "fair-share"))

    def __post_init__(self) -> None:
        if self.name not in self.names:
            raise unknown_name("policy", self.name, self.names)
        Policy.__post_init__(self)

    @property
    def order(self) -> str | TiresiasOrder:
        """Who comes first: the name of an order, or an order with settings of its own."""
        return self.name

    @property
    def summary(self) -> str:
        """The order in words."""
        return f"gangs, {ORDERS[self.name].summary}"

    @property
    def needs(self) -> tuple[str, ...]:
        """What the order sorts by."""
        return (ORDERS[self.order] if isinstance(self.order, str) else self.order).requires

    @property
    def rules(self) -> Rules:
        """The order, what counts, and what may be done to running jobs."""
        settings = {name: getattr(self, name) for name in self.choices}
        return {"chapter": self.chapter, "order": self.name, **settings}

    def check(self, round_: Round) -> None:
        """Refuse a job of no GPUs: a gang has at least one. Refuse, too, one that must go on and cannot."""
        self._check_gangs(round_)
        check_pinned(round_, self.name)

    def check_alone(self, alone: Round) -> None:
        """Refuse the same of one job, or one that does not say what the order sorts by."""
        self._check_gangs(alone)
        check_pinned(alone, self.name)
        check_sortable(alone, self.order)

    def _check_gangs(self, round_: Round) -> None:
        for position, job in enumerate(round_.jobs):
            if job.gpus < 1:
                where = f"jobs[{position}] ({job.id!r}).gpus"
                raise InputError(where, "0", f"at least 1: the policy {self.name!r} places gangs")

    def decide(self, round_: Round, seed: int) -> Decision:
        """Return the list schedule: jobs in order, each placed whole where it fits, others skipped (back-filling)."""
        return self._decided(round_, inf)

    def decide_within(self, round_: Round, seed: int, budget: Budget) -> Decision:
        """Return the same; once the seconds of a budget are over, the schedule is not made again from what it led to.

        It may then be that deciding at once again would change something.
        """
        return self._decided(round_, budget.deadline)

    def _decided(self, round_: Round, until: float) -> Decision:
        self.check_honoured(round_)
        self.check(round_)
        order, fewest = priority_order(round_, self.order), self.nodes == "fewest"
        preempt, pay = self.preempt == "yes", self.restarts == "pay"
        return list_decision(round_, order, fewest_nodes=fewest, preempt=preempt, restarts=pay, until=until)

    def starting(self, round_: Round, gpus: int) -> Sequence[tuple[int, int]]:
        """Return who starts where no time is left: all that wait, in the order of the policy."""
        jobs = round_.jobs
        line = (place for place in priority_order(round_, self.order) if jobs[place].state == "waiting")
        return [(place, jobs[place].gpus) for place in line]

    def unchanged(self, round_: Round) -> Decision | None:
        """Return the decision that stops and moves nobody, with whoever fits beside those that run."""
        known = KnownParts()
        shares, fewest = self._beside_what_runs(round_, known), self.nodes == "fewest"
        return None if shares is None else gang_decision(round_, shares, consolidate=fewest, known=known)

    def unchanged_draft(self, round_: Round) -> Decision | None:
        """Return the same without saying why the others wait."""
        known = KnownParts()
        shares = self._beside_what_runs(round_, known)
        return None if shares is None else gang_assignments(round_, shares, known)

    def unchanged_may_reach(self, round_: Round, value: int) -> bool:
        """Return whether all that run, with those that wait on all other GPUs in their order, are worth so much.

        That is known of GPUs weighted by rank, where all that run can go on and nothing but amounts is asked.
        """
        if self.objective != "weighted" or self.preempt == "no" or not INFORMATION.issuperset(round_.used_fields):
            return True
        line = np.array(priority_order(round_, self.order), dtype=np.int64)
        runs = np.array([job.state == "running" for job in round_.jobs], dtype=np.bool_)
        if not all_fit_as_they_are(round_, np.flatnonzero(runs).tolist()):
            return True
        gpus, worth, goes_on = round_.amounts.g[line], np.arange(len(line), 0, -1), runs[line]
        free = round_.cluster.total_gpus - int(gpus[goes_on].sum())
        waits = np.where(goes_on, 0, gpus)
        starts = np.clip(free - (np.cumsum(waits) - waits), 0, waits)  # the last one with a part of its GPUs
        return int(((gpus * goes_on + starts) * worth).sum()) >= value

    def _beside_what_runs(self, round_: Round, known: KnownParts) -> Shares | None:
        """Return who runs where nobody is stopped or moved; ``None`` where nothing runs, or nobody ever is."""
        if self.preempt == "no" or not any(job.state == "running" for job in round_.jobs):
            return None
        order, fewest = priority_order(round_, self.order), self.nodes == "fewest"
        keeps = staying_jobs(round_, order, within_rules=True, consolidate=fewest, known=known)
        schedule = ListSchedule(round_, order, consolidate=fewest, restarts=self.restarts == "pay", known=known)
        return schedule.beside(keeps)


@dataclass(frozen=True, slots=True, kw_only=True)
class FifoPolicy(GangPolicy):
    """``fifo``: first in, first out. By default nobody is stopped, and no job starts in place of an earlier one.

    >>> sorted(policy_from("fifo").decide(shipped_round("toy/two-gangs"), 0).running)
    ['job-0', 'job-2']
    """

    objective: str = "lexicographic"
    preempt: str = "no"

    names: ClassVar[Collection[str]] = ("fifo",)


@dataclass(frozen=True, slots=True, kw_only=True)
class FairSharePolicy(GangPolicy):
    """``fair-share``: tenants by weight and decayed use, level by level of their tree, by dominant share.

    >>> policy_from("fair-share").needs
    ('submitted',)
    """

    honours: ClassVar[frozenset[str]] = GangPolicy.honours | SHARES
    names: ClassVar[Collection[str]] = ("fair-share",)


def list_decision(
    round_: Round,
    order: Sequence[int],
    *,
    fewest_nodes: bool = False,
    preempt: bool = True,
    restarts: bool = True,
    until: float = inf,
) -> Decision:
    """Return the list schedule of an order of all jobs, given as their places in the round.

    Each job in turn is placed whole where it fits, within GPUs, CPUs, memory and quotas; others are skipped
    (back-filling). Without ``preempt``, running jobs stay where they are. With ``restarts``, once it is known who runs,
    what starts beside running jobs is put on fewer nodes if it can be. A policy that is only an order of one's own
    needs nothing else. After the moment ``until`` of ``time.monotonic`` no better places are looked for.

    >>> round_ = shipped_round("toy/eight-gangs")
    >>> largest_first = sorted(range(len(round_.jobs)), key=lambda job: -round_.jobs[job].gpus)
    >>> len(list_decision(round_, largest_first).running)
    5
    """
    known = KnownParts()
    schedule = ListSchedule(round_, list(order), consolidate=fewest_nodes, restarts=restarts, known=known)
    shares = schedule.anew(until) if preempt else schedule.beside(staying_jobs(round_, list(order), known=known))
    return gang_decision(round_, shares, consolidate=fewest_nodes, preempt=preempt, known=known)
