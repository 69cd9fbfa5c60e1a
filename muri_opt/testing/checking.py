"""Search rounds on which an allocator breaks an invariant, shrink them, and report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from muri_opt.instance import Round
from muri_opt.testing.allocators import Allocator
from muri_opt.testing.invariant import SECONDS, Breach, Case, Invariant, Tier
from muri_opt.testing.invariants_safety import ANSWERS, SAFETY
from muri_opt.testing.judge import PLAIN, Judge
from muri_opt.testing.strategies_families import family_of, family_rounds

EXAMPLES = 100
MOST_HANGS = 3
"""An allocator that took too long this often is not asked again: each time costs the whole limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The breach of an invariant on the smallest round that was found, and how many rounds were drawn until one."""

    breach: Breach
    round_: Round
    after_examples: int

    @property
    def json(self) -> str:
        """The round as a file that ``read_round`` reads."""
        return msgspec.json.format(msgspec.json.encode(self.round_), indent=2).decode()

    def __str__(self) -> str:
        size = f"{_count(len(self.round_.jobs), 'job')} on {_count(len(self.round_.cluster.nodes), 'node')}"
        found = f"found after {_count(self.after_examples, 'example')}; the smallest round has {size}:"
        return f"{self.breach}\n{found}\n{self.json}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found: which invariants broke, which held on all rounds drawn, and the worst amount of each."""

    examples: int
    broken: tuple[Broken, ...]
    kept: tuple[str, ...]
    untested: tuple[str, ...]
    worst: dict[str, float]

    @property
    def ok(self) -> bool:
        """Whether every invariant was tested and held."""
        return not self.broken and not self.untested

    def of(self, name: str) -> Broken | None:
        """Return what broke the invariant of this name, if anything did."""
        return next((one for one in self.broken if one.breach.invariant == name), None)

    def __str__(self) -> str:
        parts = [f"{len(self.broken)} of {len(self.broken) + len(self.kept) + len(self.untested)} invariants broken"]
        parts += [str(one) for one in self.broken]
        parts += [f"held on {_count(self.examples, 'example')}: {', '.join(self.kept)}"] if self.kept else []
        parts += [f"not tested, as it does not answer: {', '.join(self.untested)}"] if self.untested else []
        return "\n\n".join(parts)


def check_allocator(
    allocator: Allocator,
    invariants: Sequence[Invariant] = SAFETY,
    *,
    policy: str | None = None,
    strategy: st.SearchStrategy[Round] | None = None,
    max_examples: int = EXAMPLES,
    seed: int = 0,
    seconds: float | None = SECONDS,
) -> Report:
    """Raise ``AssertionError`` with the report where an allocator breaks an invariant; otherwise return the report.

    The arguments are those of ``find_breaches``.
    """
    report = find_breaches(
        allocator,
        invariants,
        policy=policy,
        strategy=strategy,
        max_examples=max_examples,
        seed=seed,
        seconds=seconds,
    )
    if not report.ok:
        raise AssertionError(str(report))
    return report


def find_breaches(
    allocator: Allocator,
    invariants: Sequence[Invariant] = SAFETY,
    *,
    policy: str | None = None,
    strategy: st.SearchStrategy[Round] | None = None,
    max_examples: int = EXAMPLES,
    seed: int = 0,
    seconds: float | None = SECONDS,
    shrink: bool = True,
) -> Report:
    """Return which of the invariants an allocator breaks on rounds of the strategy, each on its smallest round.

    ``policy`` names the rules and the value that invariants without any of their own are judged by. The rounds are
    those of its family unless a ``strategy`` is given. The same seed draws the same rounds. ``seconds`` is how long one
    call of the allocator may take; one that does not answer is not tested any further. Shrinking takes longer than the
    search; without ``shrink`` the report has the first round that breaks each.
    """
    chosen = [one if policy is None or one.judge != PLAIN else one.under(policy) for one in invariants]
    drawn = family_rounds(family_of(policy)) if strategy is None else strategy
    search = _Search(allocator=allocator, strategy=drawn, examples=max_examples, seed=seed, seconds=seconds)
    others = [one for one in chosen if one.name != ANSWERS.name]
    worst = search.survey([ANSWERS, *others])
    if worst[ANSWERS.name]:
        silent = search.smallest(ANSWERS, shrink=shrink)
        untested = tuple(one.name for one in others)
        return Report(examples=search.drawn, broken=(silent,), kept=(), untested=untested, worst={})
    found = tuple(search.smallest(one, shrink=shrink) for one in others if worst[one.name] > one.most)
    names = {one.breach.invariant for one in found}
    worst |= {one.breach.invariant: max(one.breach.amount, worst[one.breach.invariant]) for one in found}
    kept = tuple(one.name for one in chosen if one.name not in names)
    return Report(examples=search.drawn, broken=found, kept=kept, untested=(), worst=worst)


class _FoundError(Exception):
    """Tells Hypothesis that a round breaks the invariant."""


@dataclass(slots=True, kw_only=True)
class _Search:
    """Draws the same rounds for each question asked of an allocator."""

    allocator: Allocator
    strategy: st.SearchStrategy[Round]
    examples: int
    seed: int
    seconds: float | None
    drawn: int = 0
    hangs: int = 0
    seen: dict[str, tuple[int, Breach, Round]] = field(default_factory=dict)

    def survey(self, invariants: Sequence[Invariant]) -> dict[str, float]:
        """Return the worst amount of each invariant over the rounds.

        One that holds or not is not asked again once it broke; amounts of fairness are. An allocator that does not
        answer ends the survey.
        """
        worst = {one.name: 0.0 for one in invariants}
        shown: set[str] = set()
        amounts = any(one.tier is Tier.FAIRNESS for one in invariants)
        settled = invariants if amounts else [one for one in invariants if one is not ANSWERS]

        def look(round_: Round) -> None:
            if ANSWERS.name in self.seen or (settled and all(one.name in self.seen for one in settled)):
                raise _FoundError  # nothing is left to ask; Hypothesis may show the last round once more
            self.drawn += 1
            if round_.fingerprint in shown:  # about one in six is drawn twice
                return
            cases: dict[Judge, Case] = {}
            for one in invariants:
                if worst[one.name] > one.most and one.tier is not Tier.FAIRNESS:
                    continue
                case = cases.setdefault(one.judge, self._case(round_, one))
                found = one.measured(case)
                amount = 0.0 if found is None else found.amount
                worst[one.name] = max(worst[one.name], amount)
                if found is not None and amount > one.most:
                    self.seen.setdefault(one.name, (self.drawn, one.breach(found), round_))
                    if one is ANSWERS:
                        self.hangs += case.timed_out
                        raise _FoundError
            shown.add(round_.fingerprint)  # not before, as Hypothesis shows a round again that raised something

        self._draw(look, (Phase.generate,))
        return worst

    def smallest(self, one: Invariant, *, shrink: bool) -> Broken:
        """Return the smallest round on which an invariant breaks that Hypothesis comes to from the first one seen.

        Where an allocator breaks it now and then only, or takes too long, that may be the first one itself.
        """
        after, breach, round_ = self.seen[one.name]
        found = [(_size(round_), breach, round_)]

        def look(round_: Round) -> None:
            if self.hangs >= MOST_HANGS:
                return
            case = self._case(round_, one)
            breach = one.checked(case)
            self.hangs += case.timed_out
            if breach is not None:
                found.append((_size(round_), breach, round_))
                raise _FoundError

        if shrink:
            self._draw(look, (Phase.generate, Phase.shrink))
        _, breach, round_ = min(found, key=lambda item: item[0])
        return Broken(breach=breach, round_=round_, after_examples=after)

    def _case(self, round_: Round, one: Invariant) -> Case:
        return Case(allocator=self.allocator, round_=round_, judge=one.judge, seconds=self.seconds)

    def _draw(self, look: Callable[[Round], None], phases: Sequence[Phase]) -> None:
        """Show rounds to ``look`` until it raises, then smaller ones."""
        run = settings(
            max_examples=self.examples,
            phases=phases,
            database=None,
            deadline=None,
            derandomize=False,
            report_multiple_bugs=False,
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
        )
        try:
            seed(self.seed)(run(given(self.strategy)(look)))()
        except (_FoundError, Flaky):
            return


def _size(round_: Round) -> tuple[int, ...]:
    """Return how large a round is to read: jobs, nodes, GPUs, text."""
    return (len(round_.jobs), len(round_.cluster.nodes), round_.cluster.total_gpus, len(msgspec.json.encode(round_)))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
