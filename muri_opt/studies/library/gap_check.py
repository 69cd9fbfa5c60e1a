"""Does a stored gap hold? The algorithm is run again, and the proof of the optimum checked without a solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from muri_opt.errors import InputError
from muri_opt.rounds import Round, Violation
from muri_opt.studies.explain.followed_rule import follow_rule
from muri_opt.studies.library.best import Best
from muri_opt.studies.library.check import check_optimum
from muri_opt.studies.library.gaps import CompletionGap, Gap, ValueGap, measure_name
from muri_opt.studies.library.instance import Instance
from muri_opt.systems import Policy, policy_from
from muri_opt.verify import decision_value
from muri_opt.verify.certificates.elastic_case import elastic_case
from muri_opt.verify.certificates.elastic_optimum import check_elastic_optimum, total_completion


@dataclass(frozen=True, slots=True, kw_only=True)
class GapFinding:
    """What was found of one stored gap."""

    instance: str
    policy: str
    measure: str
    violations: tuple[Violation, ...]

    def lines(self) -> list[str]:
        """Return a line per violation that names the instance."""
        name = f"{self.instance}, {self.policy}, gap in {self.measure}"
        return [f"{name}: {one.rule} ({one.where}): {one.detail}" for one in self.violations]


def check_gaps(instance: Instance, policy: str | None = None) -> list[GapFinding]:
    """Return a finding for each gap of the instance, of one policy if one is named."""
    round_, best = instance.round(), instance.best
    return [
        GapFinding(
            instance=instance.name,
            policy=gap.policy,
            measure=measure_name(gap),
            violations=tuple(check_gap(round_, best, gap)),
        )
        for gap in instance.gaps(policy)
    ]


def check_gap(round_: Round, best: Best, gap: Gap) -> Iterator[Violation]:
    """Yield everything that is wrong with a gap that is stored of a round."""
    if round_.fingerprint != best.fingerprint:
        yield Violation(rule="fingerprint", where="gaps", detail=f"another round than {best.fingerprint}")
        return
    try:
        yield from _value(round_, best, gap) if isinstance(gap, ValueGap) else _completion(round_, gap)
    except InputError as error:
        yield Violation(rule="proof", where=error.field, detail=f"found {error.found}; allowed: {error.allowed}")


def decided_value(round_: Round, policy: Policy) -> int:
    """Return what the decision of the policy's own algorithm is worth."""
    return decision_value(round_, policy.rules, policy.decide(round_, 0))


def _value(round_: Round, best: Best, gap: ValueGap) -> Iterator[Violation]:
    yield from _differs("reached", gap.reached, decided_value(round_, policy_from(gap.policy)))
    known = [optimum for optimum in best.optima if optimum.policy == gap.policy]
    if not known or not known[0].proved:
        yield Violation(rule="proof", where="optimum", detail=f"no proved optimum of {gap.policy} is stored")
        return
    yield from _differs("optimum", gap.optimum, known[0].value)
    yield from check_optimum(round_, best.fingerprint, known[0])[1]


def _completion(round_: Round, gap: CompletionGap) -> Iterator[Violation]:
    case = elastic_case(round_)
    yield from _differs("reached", Fraction(gap.reached), total_completion(case, follow_rule(round_, gap.policy)))
    schedule = [(Fraction(piece.seconds), piece.shares) for piece in gap.schedule]
    prices = {one.events: (tuple(map(Fraction, one.work)), tuple(map(Fraction, one.periods))) for one in gap.prices}
    total, bound = check_elastic_optimum(case, schedule, prices)
    yield from _differs("optimum", Fraction(gap.optimum), total)
    if bound != total:
        yield Violation(rule="bound", where="prices", detail=f"the prices prove {bound}, the schedule takes {total}")


def _differs(where: str, said: int | Fraction, found: int | Fraction) -> Iterator[Violation]:
    if said != found:
        yield Violation(rule="gap", where=where, detail=f"said {said}; it is {found}")
