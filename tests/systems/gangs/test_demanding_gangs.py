"""All fields that gang policies honour at once: decisions keep every rule, and are points of the program."""

from __future__ import annotations

from by_policy import broken_rules, decision_value, enumerated_optimum, formulation_of, proved_bound, wrong_reasons
from hypothesis import assume, given, strategies as st
from more_examples import more_examples

from muri_opt import InputError, Round, policy_from
from muri_opt.modelling import combined_value, evaluate
from muri_opt.testing import demanding_rounds, rounds, tenant_rounds

HONOURED = policy_from("fair-share").honours
SPECS = st.builds(
    "fair-share:objective={},nodes={},preempt={}".format,
    st.sampled_from(["weighted", "lexicographic"]),
    st.sampled_from(["any", "fewest"]),
    st.sampled_from(["yes", "no"]),
)
DRAWN = demanding_rounds(tenant_rounds(max_jobs=5), fields=HONOURED) | demanding_rounds(
    rounds(max_jobs=5), fields=HONOURED
)


@given(DRAWN, SPECS)
@more_examples(30)
def test_a_decision_keeps_the_rules_and_is_a_point_of_the_program(round_: Round, spec: str) -> None:
    policy, program = policy_from(spec), formulation_of(spec)
    try:
        policy.check(round_)
    except InputError:  # a job that nobody may stop, and that shares its GPUs
        assume(False)
    decision = policy.decide(round_, 0)
    assert broken_rules(round_, decision, spec) == []
    assert wrong_reasons(round_, decision, spec) == []
    value = decision_value(round_, spec, decision)
    model = program.build(round_)
    point = program.encode(round_, decision)
    assert evaluate(model, point).broken == ()
    stages = program.stages(round_, model)
    assert combined_value(stages, [int(stage.objective @ point) for stage in stages]) == value
    again = program.decode(round_, point)
    assert broken_rules(round_, again, spec) == []
    assert decision_value(round_, spec, again) >= value
    best = enumerated_optimum(round_, spec, steps=20_000)
    assert best is None or best >= value
    bound = proved_bound(round_, spec, decision, ())
    assert bound is None or best is None or bound[0] >= best
