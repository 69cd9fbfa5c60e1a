"""What every small joint round must hold: the program, the search, the bounds and going through all decisions agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from by_policy import formulation_of
from joint_rounds import SPECS

from muri_opt import InputError, Limits, Policy, Round, policy_from
from muri_opt.solve.exact import optimise, relax
from muri_opt.verify import broken_rules, chapter_of

STEPS = 2_000_000
UNHURRIED = Limits(seconds=None)


def drawn(draw: Callable[[int], Round], seeds: Iterable[int]) -> Iterator[tuple[int, Round, Policy]]:
    """Yield the rounds of some seeds; of one that a running job makes impossible there is none."""
    for seed in seeds:
        try:
            yield seed, draw(seed), policy_from(SPECS[seed % len(SPECS)])
        except InputError:
            continue


def assert_agreement(seed: int, round_: Round, policy: Policy) -> None:
    """Hold the program against going through all decisions, and the search and all bounds against both."""
    chapter, program = chapter_of(round_, policy.rules), formulation_of(policy)
    best = chapter.optimum(STEPS)
    answer = optimise(round_, program, "highs", UNHURRIED, None)
    assert answer.decision is not None
    assert not broken_rules(round_, policy.rules, answer.decision), seed
    assert chapter.value(answer.decision) == answer.bound == best, seed
    decision = policy.decide(round_, 0)
    assert not broken_rules(round_, policy.rules, decision), seed
    assert not [*chapter.reason_breaches(decision)], seed
    assert chapter.value(decision) <= best, seed
    values, model = program.encode(round_, decision), program.build(round_)
    stages = program.stages(round_, model)
    assert sum(stage.weight * int(values @ stage.objective) for stage in stages) == chapter.value(decision), seed
    for prices in (program.quick_duals(round_), relax(round_, program, None)):
        assert chapter.bound(decision, [prices])[0] >= best, seed
