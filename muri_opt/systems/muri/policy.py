"""Policies ``muri-s`` and ``muri-l``: choose candidates, group them, place the groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds import INFORMATION, Assignment, Budget, Decision, Round
from muri_opt.rounds.anytime import Steps, last_within
from muri_opt.rounds.budget import unlimited
from muri_opt.rounds.field_groups import PLACES, STATES
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.rounds.used_fields import TOGETHER
from muri_opt.systems.capacity import Leftover, Placed, group_decision
from muri_opt.systems.capacity.decision import assignments_of
from muri_opt.systems.capacity.held_parts import held_parts
from muri_opt.systems.capacity.set_apart import Groups, SetApart, set_apart
from muri_opt.systems.capacity.shares import flat
from muri_opt.systems.muri.candidates import candidates
from muri_opt.systems.muri.group_locations import group_locations
from muri_opt.systems.muri.group_values import GroupRules
from muri_opt.systems.muri.group_worth import GroupWorth, free_rates_of
from muri_opt.systems.muri.grouping import Grouping, group_jobs
from muri_opt.systems.muri.interleaving import PATTERNS, slot_count
from muri_opt.systems.muri.job_checks import check_jobs
from muri_opt.systems.muri.job_weights import worth_order
from muri_opt.systems.muri.node_places import Places, share_of
from muri_opt.systems.muri.options import AUTHORS, PAPER, GroupingOptions
from muri_opt.systems.muri.periods import Group, stages_in
from muri_opt.systems.muri.place_groups import place_groups
from muri_opt.systems.muri.queue_ranks import in_turn
from muri_opt.systems.muri.still_groups import Still
from muri_opt.systems.muri.still_places import placed_in
from muri_opt.systems.muri.timed_groups import UNSAID, packed_groups, timed_groups
from muri_opt.systems.muri.ways import OWN, RUNS, Ways, freely
from muri_opt.systems.orders import ORDERS, priority_order
from muri_opt.systems.orders.priority import check_sortable
from muri_opt.systems.policy import Allowed, Policy, Rules, Span

ORDER_OF = {"muri-s": "srsf", "muri-l": "las"}
SECONDS: Final = 2_000_000_000
"""The longest horizon."""
_PRESETS = {"paper": PAPER, "authors": AUTHORS}


@dataclass(frozen=True, slots=True, kw_only=True)
class MuriPolicy(Policy):
    """Muri with the shortest remaining service (``muri-s``) or the least attained service (``muri-l``) first.

    ``preset`` is the paper's formula without slips, or the rules of the authors' simulator; ``pattern`` replaces the
    way jobs interleave in it. ``group`` is the largest group, ``least_weight`` the efficiency a pair must exceed, as in
    ``GroupingOptions``. ``autopack`` dissolves a group that is slower than its jobs one after another. The ablations
    are ``ordering``, ``worst`` for the worst order of the jobs in a group, and ``matching``, ``queue`` for neighbours
    in the queue instead of a matching. ``objective`` says what the value counts and ``sizes`` whether the exact program
    may let jobs of different GPU counts share; the algorithm groups as it does without them, but by ``completion`` its
    queue is in the order of what a GPU's work is worth for completion times.

    ``restarts`` is ``pay``, to change running groups only where that is worth more than their restarts cost out of a
    ``horizon`` of so many seconds, or ``ignore``, to decide as if nothing ran; the preset ``paper`` pays.

    ``run`` says how groups run: in ``lock-step``, slot by slot, as published; ``free``, every job at a rate of its own,
    by mean value analysis or as measured (``together``); or each group as is ``best`` for its value. ``own`` are the
    resources of which every job has its own part, so that none waits there for another.

    >>> [one.jobs for one in policy_from("muri-s:group=2").decide(shipped_round("toy/eight-stages"), 0).assignments]
    [('a', 'c'), ('b', 'd')]
    """

    preset: str = "paper"
    group: str = "4"
    autopack: str = "on"
    pattern: str = "preset"
    ordering: str = "best"
    matching: str = "blossom"
    least_weight: str = "0"
    objective: str = "efficiency"
    sizes: str = "equal"
    restarts: str = "preset"
    horizon: str = "600"
    run: str = "lock-step"
    own: str = "cpu"

    chapter: ClassVar[str] = "grouping"
    honours: ClassVar[frozenset[str]] = INFORMATION | PLACES | STATES | {"job.priority", "tenant.parent"}
    honours_with: ClassVar[Mapping[str, str]] = {TOGETHER: "run=free"}
    choices: ClassVar[Mapping[str, Allowed]] = {
        "preset": tuple(_PRESETS),
        "group": ("4", "3", "2", "1"),
        "autopack": ("on", "off"),
        "pattern": ("preset", *PATTERNS),
        "ordering": ("best", "worst"),
        "matching": ("blossom", "queue"),
        "least_weight": Span(0, 1),
        "objective": ("efficiency", "gpu-time", "progress", "completion"),
        "sizes": ("equal", "mixed"),
        "restarts": ("preset", "pay", "ignore"),
        "horizon": Span(0.001, SECONDS),
        "run": RUNS,
        "own": OWN,
    }

    def __post_init__(self) -> None:
        if self.name not in ORDER_OF:
            raise unknown_name("policy", self.name, ORDER_OF)
        Policy.__post_init__(self)
        if self.ordering == "worst" and self.matching == "queue":
            field = f"policy {self.name!r}.ordering"
            raise InputError(field, "'worst' with matching=queue", "one of the two ablations at a time")

    @property
    def options(self) -> GroupingOptions:
        """How jobs are grouped; without matching, the authors assume another slow-down of four jobs."""
        preset = _PRESETS[self.preset]
        unmatched = self.matching == "queue"
        return replace(
            preset,
            largest_group=int(self.group),
            pattern=preset.pattern if self.pattern == "preset" else self.pattern,
            slowdown="muri-without-blossom" if unmatched and preset.slowdown == "muri" else preset.slowdown,
            least_weight=float(self.least_weight),
            worst_order=self.ordering == "worst",
            matching=not unmatched,
        )

    def options_in(self, round_: Round) -> GroupingOptions:
        """Return the same with the ways in which groups of a round may run."""
        return replace(self.options, ways=Ways.of(round_, self.run, self.own))

    @property
    def honoured(self) -> frozenset[str]:
        """Measured rates count where groups may run freely."""
        return self.honours if self.run == "lock-step" else self.honours | {TOGETHER}

    @property
    def pays(self) -> bool:
        """Whether changes of running groups are charged."""
        return self.restarts == "pay" or (self.restarts == "preset" and self.preset == "paper")

    @property
    def has_one_job_per_resource(self) -> bool:
        """In lock step by a cycle; not by four slots for three stages, or where jobs have parts of their own."""
        return self.run == "lock-step" and self.options.pattern.endswith("cyclic")

    @property
    def summary(self) -> str:
        """Who comes first, and that jobs share."""
        return f"groups of jobs that interleave on the same GPUs, {ORDERS[ORDER_OF[self.name]].summary}"

    @property
    def needs(self) -> tuple[str, ...]:
        """Stage times, and what the order sorts by."""
        return ("stage_seconds", *ORDERS[ORDER_OF[self.name]].requires)

    @property
    def rules(self) -> Rules:
        """How jobs may share; which of them are grouped is the algorithm's own affair."""
        options = self.options
        return {
            "chapter": self.chapter,
            "order": ORDER_OF[self.name],
            "group": self.group,
            "pattern": options.pattern,
            "slowdown": options.slowdown,
            "ordering": self.ordering,
            "objective": self.objective,
            "sizes": self.sizes,
            "restarts": "pay" if self.pays else "ignore",
            "horizon": self.horizon,
            **({} if self.run == "lock-step" else {"run": self.run, "own": self.own}),
        }

    def check(self, round_: Round) -> None:
        """Refuse a job of no GPUs, without stage times, or that prefers a place; a pattern for other stages."""
        check_jobs(round_, self.name)
        pattern = PATTERNS[self.options.pattern]
        if pattern.stages not in (None, len(round_.resources)):
            found = f"{len(round_.resources)} ({', '.join(round_.resources)})"
            said = f"preset={self.preset}" if self.pattern == "preset" else f"pattern={self.pattern}"
            raise InputError("resources", found, f"3 (data, gpu, network) under {said}; or use pattern=cyclic")
        self.set_apart(round_)

    def check_alone(self, alone: Round) -> None:
        """Refuse one job for that, or as it does not say what the order sorts by."""
        check_jobs(alone, self.name)
        check_sortable(alone, ORDER_OF[self.name])

    def set_apart(self, round_: Round) -> SetApart | None:
        """Return the round in two parts where some of it is not to be decided."""
        return set_apart(round_, self._kept, sharing=True)

    def _kept(self, round_: Round, groups: Groups) -> tuple[tuple[Assignment, ...], FreeCapacity]:
        """Return running groups as they are, with their orders and periods, and what they leave."""
        left, held = Leftover(round_), self._held(round_, groups)
        left.take_all([(group, share_of(places, len(left.gpus))) for group, places in held.items()])
        return self._assignments(round_, held), left

    def as_it_is(self, round_: Round, groups: Sequence[Group]) -> tuple[Assignment, ...]:
        """Return running groups as they are, with their orders and periods."""
        return self._assignments(round_, self._held(round_, groups))

    def _held(self, round_: Round, groups: Sequence[Group]) -> dict[Group, Places]:
        """Return running groups with the GPUs they have, and refuse one that the policy could not have made."""
        held, options = held_parts(round_), self.options
        most = min(options.largest_group, slot_count(options.pattern, len(round_.resources)))
        found: dict[Group, Places] = {}
        for group in groups:
            places = held[group[0]]
            asks = {round_.jobs[job].gpus for job in group}
            uneven = self.sizes == "equal" and len(asks) > 1
            if places is None or len(group) > most or sum([gpus for _, gpus in places]) != max(asks) or uneven:
                first = round_.jobs[group[0]]
                said = f"{[round_.jobs[job].id for job in group]} on {dict(first.placement or {})}, to go on as it is"
                allowed = f"a group that {self.spec!r} could make, with the GPUs of its largest job"
                raise InputError(f"jobs[{group[0]}] ({first.id!r}).placement", said, allowed)
            found[group] = tuple(places)
        return found

    def _assignments(self, round_: Round, placed: Mapping[Group, Places]) -> tuple[Assignment, ...]:
        return assignments_of(round_, [*self._timed(round_, [*placed])], flat(placed.values()))

    @property
    def answers_early(self) -> bool:
        """A quick search comes first."""
        return True

    def decide(self, round_: Round, seed: int) -> Decision:
        """Return the decision of the published algorithm, its groups in the order of their priority."""
        return self.decide_within(round_, seed, unlimited())

    def decide_within(self, round_: Round, seed: int, budget: Budget) -> Decision:
        """Return the same, or the best that was found when the seconds of the budget are over."""
        self.check_honoured(round_)
        self.check(round_)
        apart = self.set_apart(round_)
        if apart is not None:
            return self.joined(apart, self.decide_within(apart.rest, seed, budget))
        hurries = budget.limits.seconds is not None
        return _decided(self, round_, last_within(self._deciding(round_, hurries=hurries), budget))

    def _deciding(self, round_: Round, *, hurries: bool) -> Steps[dict[Group, Places]]:
        """Yield the groups that run, ever better; one that ``hurries`` finds some before the published ones."""
        look_at_clock()
        first, still = None, self._still(round_)
        if hurries and self.pays:
            soon = _hurried(self, round_)
            first = soon.filled()
            if still:
                first = max(_unchanged_soon(self, round_), first, key=soon.value)
            yield first
        if not still:
            return _published(self, round_)
        return (yield from self._keeping(round_, _published(self, round_)).deciding(first))

    def undone(self, round_: Round, decision: Decision) -> Decision:
        """Return the decision with running groups as they are where, all else as decided, that loses no value."""
        if not self._still(round_):
            return decision
        return self.decision(round_, self._keeping(round_, placed_in(round_, decision)).undone())

    def explained(self, round_: Round, decision: Decision) -> Decision:
        """Return a decision with the reasons for which others wait beside its groups."""
        return Decision(
            assignments=decision.assignments, waiting=self.decision(round_, placed_in(round_, decision)).waiting
        )

    def unchanged(self, round_: Round) -> Decision | None:
        """Return the decision that keeps all running groups as they are, with whoever fits beside them alone."""
        apart = self.set_apart(round_)
        if apart is not None:
            rest = self.unchanged(apart.rest)
            return None if rest is None else self.joined(apart, rest)
        return _decided(self, round_, _unchanged(self, round_)) if self._still(round_) else None

    def unchanged_may_reach(self, round_: Round, value: int) -> bool:
        """Return whether the groups that go on as they are, and who fits beside them, are worth so much."""
        if self.set_apart(round_) is not None or not self._still(round_):
            return True
        return self._keeping(round_, {}).value(_unchanged(self, round_))[0] >= value

    def unchanged_draft(self, round_: Round) -> Decision | None:
        """Return the same without saying why the others wait."""
        if self.set_apart(round_) is not None or not self._still(round_):
            return self.unchanged(round_)
        found = _unchanged(self, round_)
        whole = _decided.recall(self, round_, found)
        if whole is not None:
            return whole
        line = in_turn(self._queue(round_), [*found])
        return Decision(assignments=self._assignments(round_, {group: found[group] for group in line}))

    def beside_what_runs(self, round_: Round) -> dict[Group, Places]:
        """Return the running groups as they are, and whoever fits beside them alone, with their GPUs of nodes.

        Where time did not suffice for the published groups, they are read without.
        """
        soon = _unchanged_soon.recall(self, round_) if _published.recall(self, round_) is None else None
        return self._keeping(round_, _published(self, round_)).unchanged() if soon is None else soon

    def _still(self, round_: Round) -> bool:
        return self.pays and any(job.state == "running" for job in round_.jobs)

    def published(self, round_: Round) -> dict[Group, Places]:
        """Return the groups of the published algorithm, as if nothing ran, with their GPUs of nodes."""
        groups = self._packed(round_, self.grouped(round_).groups)
        return place_groups(round_, in_turn(self._queue(round_), groups))

    def _packed(self, round_: Round, groups: Sequence[Group]) -> list[Group]:
        stages, options = stages_in(round_), self.options_in(round_)
        return list(packed_groups(round_, stages, groups, options)) if self.autopack == "on" else list(groups)

    def _timed(self, round_: Round, groups: Sequence[Group]) -> Iterator[Placed]:
        """Yield the groups with orders and periods, or with rates if they run freely, and without their GPUs."""
        rates = free_rates_of(round_, GroupRules.of(self.rules), groups)
        in_step = [group for group, own in zip(groups, rates, strict=True) if own is None]
        timed = timed_groups(round_, stages_in(round_), in_step, self.options)
        for group, own in zip(groups, rates, strict=True):
            yield next(timed) if own is None else freely(group, UNSAID, own)

    def hurried(self, round_: Round) -> Still:
        """Return what is known before any matching: the jobs that may be grouped."""
        return self._keeping(round_, {(job,): () for job in _candidates(self, round_)})

    def _keeping(self, round_: Round, published: dict[Group, Places]) -> Still:
        return Still(
            round_=round_,
            line=self._queue(round_),
            options=self.options_in(round_),
            largest=min(self.options.largest_group, slot_count(self.options.pattern, len(round_.resources))),
            worth=_worth(round_, GroupRules.of(self.rules)),
            published=published,
            pack=lambda groups: self._packed(round_, groups),
        )

    def decision(self, round_: Round, found: Mapping[Group, Places]) -> Decision:
        """Return the decision of groups with their GPUs, in the order of their priority."""
        line = in_turn(self._queue(round_), [*found])
        where = flat(found[group] for group in line)
        return group_decision(round_, [*self._timed(round_, line)], consolidate=False, of=where)

    def grouped(self, round_: Round) -> Grouping:
        """Return the groups of candidates as positions in the round, before any of them is dissolved or placed."""
        options, locations = self.options_in(round_), group_locations(round_)
        chosen = _candidates(self, round_)
        jobs, gpus = [round_.jobs[job] for job in chosen], round_.cluster.total_gpus
        among = None if locations is None else locations.among(chosen)
        grouping = group_jobs(jobs, gpus, options, among, stages=stages_in(round_)[chosen])
        return replace(grouping, groups=tuple(tuple(chosen[position] for position in group) for group in grouping))

    def candidates(self, round_: Round) -> list[int]:
        """Return the jobs that may be grouped, in the order of the queue."""
        largest = min(self.options.largest_group, slot_count(self.options.pattern, len(round_.resources)))
        return candidates(round_, self._queue(round_), largest)

    def _queue(self, round_: Round) -> list[int]:
        line = worth_order if self.objective == "completion" else _queue
        return line(round_, ORDER_OF[self.name])


_queue = recalled(priority_order)
_worth = recalled(GroupWorth.of)


@recalled
def _candidates(policy: MuriPolicy, round_: Round) -> list[int]:
    return policy.candidates(round_)


@recalled
def _published(policy: MuriPolicy, round_: Round) -> dict[Group, Places]:
    return policy.published(round_)


@recalled
def _hurried(policy: MuriPolicy, round_: Round) -> Still:
    return policy.hurried(round_)


@recalled
def _unchanged_soon(policy: MuriPolicy, round_: Round) -> dict[Group, Places]:
    return _hurried(policy, round_).unchanged()


@recalled
def _decided(policy: MuriPolicy, round_: Round, found: dict[Group, Places]) -> Decision:
    return policy.decision(round_, found)


@recalled
def _unchanged(policy: MuriPolicy, round_: Round) -> dict[Group, Places]:
    return policy.beside_what_runs(round_)
