"""Search rounds on which an allocator breaks an invariant, make them small, and report."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from hypothesis import Phase, strategies as st

from muri_opt.rounds import INFORMATION, Round, canonical_json
from muri_opt.systems import Policy, policy_from
from muri_opt.testing.allocators import Allocator, published
from muri_opt.testing.drawing import FoundError, drawn_rounds, rounds_of_family, show
from muri_opt.testing.invariant import SECONDS, Breach, Case, Invariant, Tier
from muri_opt.testing.invariants_safety import ANSWERS, DETERMINISTIC, SAFETY
from muri_opt.testing.left_out import checked_limits, fields_beside
from muri_opt.testing.reduction import reduced
from muri_opt.testing.report import Broken, Report
from muri_opt.testing.rules_and_value import PLAIN, Judge
from muri_opt.testing.strategies_families import family_of
from muri_opt.verify.chapters import chapter_kind

EXAMPLES = 100
EXAMPLES_WITH_FIELDS = 300
"""How many rounds are drawn unless told: more where fields of format 2 are, as each round uses few of them."""
MOST_HANGS = 3
"""An allocator that took too long this often is not asked again: each time costs the whole limit."""

REPEATS = 5
"""How often a smaller round is asked of an allocator that goes by chance, before it is said to show none."""


def check_allocator(
    allocator: Allocator | Policy | type[Policy],
    invariants: Sequence[Invariant] = SAFETY,
    *,
    policy: str | Policy | None = None,
    strategy: st.SearchStrategy[Round] | None = None,
    fields: Collection[str] | None = None,
    without: Collection[str] = (),
    max_examples: int | None = None,
    seed: int = 0,
    seconds: float | None = SECONDS,
    require_exercised: bool = True,
) -> Report:
    """Raise ``AssertionError`` with the report where it is not ``ok``; otherwise return the report.

    That is where an allocator breaks an invariant, or where an aspect of one was in no round, so that nothing can be
    said of it. The arguments are those of ``find_breaches``.

    >>> check_allocator(published("fifo"), SAFETY, max_examples=5, require_exercised=False).broken
    ()
    """
    report = find_breaches(
        allocator,
        invariants,
        policy=policy,
        strategy=strategy,
        fields=fields,
        without=without,
        max_examples=max_examples,
        seed=seed,
        seconds=seconds,
        require_exercised=require_exercised,
    )
    if not report.ok:
        raise AssertionError(str(report))
    return report


def find_breaches(
    allocator: Allocator | Policy | type[Policy],
    invariants: Sequence[Invariant] = SAFETY,
    *,
    policy: str | Policy | None = None,
    strategy: st.SearchStrategy[Round] | None = None,
    fields: Collection[str] | None = None,
    without: Collection[str] = (),
    max_examples: int | None = None,
    seed: int = 0,
    seconds: float | None = SECONDS,
    shrink: bool = True,
    require_exercised: bool = True,
) -> Report:
    """Return which of the invariants an allocator breaks on rounds of the strategy, each on its smallest round.

    A policy, or a subclass of :class:`~muri_opt.Policy`, is tested by its own rules. For a bare function, ``policy``
    names the rules and the value that invariants without any of their own are judged by. The rounds are
    those of its family, ``full_rounds``, unless a ``strategy`` is given. The same seed draws the same rounds.
    ``fields`` are those of round format 2 that are drawn, too; unless told, those that the allocator ``honours``, as
    a policy or as a function with an attribute of that name, where nothing but safety is asked for and no strategy is
    given. ``without`` names the limits that the allocator knows nothing of, ``cpus``, ``memory`` or ``quotas``: the
    rounds do not say them. There are ``max_examples`` rounds: unless told 100, or 300 with fields.
    ``seconds`` is how long one call of the allocator may take; one that does not answer is not tested any further.
    Without ``shrink`` the report has the first round that breaks each. A report in which an aspect of an invariant that
    held was in no round is not ``ok``; ``require_exercised=False`` is for strategies and numbers of examples that leave
    something out on purpose.

    >>> find_breaches(published("fifo"), SAFETY, max_examples=5).broken
    ()
    """
    if isinstance(allocator, (Policy, type)):
        own = policy_from(allocator)
        allocator, policy = published(own), own if policy is None else policy
    chosen = [one if policy is None or one.judge != PLAIN else one.under(policy) for one in invariants]
    family = family_of(policy)
    left_out = checked_limits(without, family)
    chosen = [one for one in chosen if one.has_limits(left_out)]
    usual_fields = _honoured(allocator, chosen) if strategy is None else ()
    drawn = fields_beside(left_out, usual_fields if fields is None else fields)
    usual = EXAMPLES_WITH_FIELDS if drawn and strategy is None else EXAMPLES
    search = _Search(
        allocator=allocator,
        family=family,
        strategy=strategy,
        fields=drawn,
        without=left_out,
        examples=usual if max_examples is None else max_examples,
        seed=seed,
        seconds=seconds,
    )
    others = [one for one in chosen if one.name != ANSWERS.name]
    worst = search.survey([ANSWERS, *others])
    made = partial(
        Report, examples=search.drawn, refused=search.refused, refusal=search.refusal, complete=require_exercised
    )
    if worst[ANSWERS.name]:
        silent = search.smallest(ANSWERS, shrink=shrink)
        untested = tuple(one.name for one in others if one.speaks_of(search.fields))
        return made(broken=(silent,), kept=(), untested=untested, worst={})
    used = search.used_fields()
    chosen = [one for one in chosen if one.speaks_of(used)]
    found = tuple(search.smallest(one, shrink=shrink) for one in others if worst[one.name] > one.most)
    names = {one.breach.invariant for one in found}
    worst |= {one.breach.invariant: max(one.breach.amount, worst[one.breach.invariant]) for one in found}
    kept = tuple(one.name for one in chosen if one.name not in names)
    return made(broken=found, kept=kept, untested=(), worst=worst, exercised=search.exercised(chosen))


def _honoured(allocator: Allocator, invariants: Sequence[Invariant]) -> frozenset[str]:
    """Return the fields that are drawn unless told: what the allocator honours and the rules it is judged by check.

    Nothing where that are fields only that ask for nothing, and where more is asked than safety.
    """
    said = frozenset(getattr(allocator, "honours", ()))
    if said <= INFORMATION or any(one.tier is not Tier.SAFETY for one in invariants):
        return frozenset()
    return said.intersection(*(chapter_kind(one.judge.rules["chapter"]).honours for one in invariants))


@dataclass(slots=True, kw_only=True)
class _Search:
    """Draws rounds for all questions asked of an allocator: those of a family, or of a strategy of the caller's own."""

    allocator: Allocator
    family: str
    strategy: st.SearchStrategy[Round] | None
    fields: frozenset[str]
    without: frozenset[str]
    examples: int
    seed: int
    seconds: float | None
    drawn: int = 0
    hangs: int = 0
    refused: int = 0
    refusal: str = ""
    asked: dict[str, Round] = field(default_factory=dict)
    answered: dict[str, Round] = field(default_factory=dict)
    seen: dict[str, tuple[int, Breach, Round]] = field(default_factory=dict)

    def survey(self, invariants: Sequence[Invariant]) -> dict[str, float]:
        """Return the worst amount of each invariant over the rounds.

        One that holds or not is not asked again once it broke; amounts of fairness are. An allocator that does not
        answer ends the survey.
        """
        worst = {one.name: 0.0 for one in invariants}
        amounts = any(one.tier is Tier.FAIRNESS for one in invariants)
        settled = invariants if amounts else [one for one in invariants if one is not ANSWERS]
        if self.strategy is None:
            rounds = rounds_of_family(self.family, self.examples, self.seed, self.fields, self.without)
        else:
            rounds = drawn_rounds(self.strategy, self.examples, self.seed)
        for round_ in rounds:
            if ANSWERS.name in self.seen or (settled and all(one.name in self.seen for one in settled)):
                break
            self.drawn += 1
            if round_.fingerprint not in self.asked:  # about one in six is drawn twice
                self.asked[round_.fingerprint] = round_
                self._look(round_, invariants, worst)
        return worst

    def _look(self, round_: Round, invariants: Sequence[Invariant], worst: dict[str, float]) -> None:
        """Ask all that is still to be asked of one round."""
        cases: dict[Judge, Case] = {}
        for one in invariants:
            if worst[one.name] > one.most and one.tier is not Tier.FAIRNESS:
                continue
            case = cases.setdefault(one.judge, self._case(round_, one))
            found = one.measured(case)
            if case.unjudged is not None and self.strategy is not None:
                raise case.unjudged  # a strategy of the caller's own is to draw what the rules can judge
            refusal = case.refused if one is ANSWERS else None
            refusal = refusal if case.unjudged is None else str(case.unjudged)
            if refusal is not None:
                self.refused, self.refusal = self.refused + 1, self.refusal or refusal
                return
            amount = 0.0 if found is None else found.amount
            worst[one.name] = max(worst[one.name], amount)
            if found is not None and amount > one.most:
                self.seen.setdefault(one.name, (self.drawn, one.breach(found), round_))
                if one is ANSWERS:
                    self.hangs += case.timed_out
                    return
        self.answered[round_.fingerprint] = round_

    def used_fields(self) -> frozenset[str]:
        """Return the fields of format 2 that were to be drawn, and those that some round used."""
        return self.fields.union(*(round_.used_fields for round_ in self.asked.values()))

    def exercised(self, invariants: Sequence[Invariant]) -> dict[str, dict[str, int]]:
        """Return in how many different rounds each aspect of each invariant was.

        Rounds that were refused count for whether there is an answer, and for nothing else.
        """
        told: dict[str, dict[str, int]] = {}
        used = self.used_fields()
        counts: dict[tuple[str, bool], int] = {}
        for one in invariants:
            all_asked = one.name == ANSWERS.name
            rounds = (self.asked if all_asked else self.answered).values()
            told[one.name] = {}
            for aspect in (aspect for aspect in one.aspects if aspect.possible(self.family, used, self.without)):
                key = aspect.name, all_asked and self.refused > 0
                if key not in counts:
                    counts[key] = sum(map(aspect.holds, rounds))
                told[one.name][aspect.name] = counts[key]
        return told

    def smallest(self, one: Invariant, *, shrink: bool) -> Broken:
        """Return the smallest round on which an invariant breaks that is come to from the first one seen.

        Where an allocator breaks it now and then only, or takes too long, that may be the first one itself. A round of
        a strategy of the caller's own is made smaller by Hypothesis, which stays within the strategy.
        """
        after, breach, round_ = self.seen[one.name]
        found = [(_size(round_), breach, round_)]

        def breaks(round_: Round) -> bool:
            if self.hangs >= MOST_HANGS:
                return False
            for _ in range(REPEATS if one.name == DETERMINISTIC.name else 1):
                case = self._case(round_, one)
                breach = one.checked(case)
                self.hangs += case.timed_out
                if breach is not None:
                    found.append((_size(round_), breach, round_))
                    return True
            return False

        def look(round_: Round) -> None:
            if breaks(round_):
                raise FoundError

        if shrink and self.strategy is None:
            reduced(round_, breaks, family=self.family)
            _, breach, round_ = found[-1]  # each that breaks is a step from the one before
        elif shrink and self.strategy is not None:
            show(self.strategy, look, (Phase.generate, Phase.shrink), examples=self.examples, seed_=self.seed)
            _, breach, round_ = min(found, key=lambda item: item[0])
        return Broken(breach=breach, round_=round_, after_examples=after)

    def _case(self, round_: Round, one: Invariant) -> Case:
        return Case(allocator=self.allocator, round_=round_, judge=one.judge, seconds=self.seconds)


def _size(round_: Round) -> tuple[int, ...]:
    """Return how large a round is to read: jobs, nodes, GPUs, text."""
    return (len(round_.jobs), len(round_.cluster.nodes), round_.cluster.total_gpus, len(canonical_json(round_)))
