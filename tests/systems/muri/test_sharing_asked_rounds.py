"""Fields of format 2 under Muri: brute force, program and verifier agree, and decisions keep the rules."""

from __future__ import annotations

from random import Random

import pytest
from asked_groupings import AskedGroupings, Vector
from by_policy import broken_rules, decision_value, enumerated_optimum, formulation_of, proved_bound, wrong_reasons
from plain_groups import OBJECTIVES, Plain
from sharing_asked_rounds import GROUPS, asked_sharing_round

from muri_opt import Decision, Limits, Round, policy_from, solve_round, verify
from muri_opt.modelling import evaluate
from muri_opt.rounds import Reason
from muri_opt.solve.exact import optimise, relax
from muri_opt.systems.capacity.node_sets import ASKED

SEEDS = 6
FOREVER = Limits(seconds=None)


def plain_of(seed: int, round_: Round) -> Plain:
    """Return the settings of a policy for a round."""
    draw = Random(seed)
    three = len(round_.resources) == 3
    worst, matching = draw.choice([(False, "blossom"), (True, "blossom"), (False, "queue")])
    return Plain(
        round_=round_,
        order=draw.choice(["srsf", "las"]),
        pattern=draw.choice(["cyclic", "cyclic", "muri-cyclic", *["muri-4slot", "muri-4slot-steady"] * three]),
        preset=draw.choice(["paper", "authors"]),
        matching=matching,
        worst=worst,
        objective=draw.choice(OBJECTIVES),
        mixed=draw.random() < 0.4,
        largest=draw.choice([1, 2, 2, 3, 4, 4]),
    )


def worth(groupings: AskedGroupings, decision: Decision) -> Vector:
    """Return what a decision is worth, priority by priority, by the definitions."""
    jobs = {job.id: job for job in groupings.jobs}
    found = [groupings.vector([jobs[name] for name in one.jobs]) for one in decision.assignments]
    return tuple(sum(part) for part in zip((0,) * len(groupings.priorities), *found, strict=True))


def checked(seed: int, group: str) -> None:
    round_ = asked_sharing_round(seed, group)
    plain = plain_of(seed, round_)
    spec, groupings = plain.spec, AskedGroupings(plain)
    best, program = groupings.best(), formulation_of(spec)
    # The program, from the values of a solver to a decision.
    answer = optimise(round_, program, "highs", FOREVER, None)
    assert answer.termination.reason is Reason.OPTIMAL
    assert broken_rules(round_, answer.decision, spec) == []
    assert worth(groupings, answer.decision) == best
    value = decision_value(round_, spec, answer.decision)
    assert answer.bound == value
    # The verifier's own enumeration, where it matters on which nodes jobs are or who comes first.
    counts = not round_.used_fields.keys().isdisjoint({"job.priority", *ASKED})
    assert enumerated_optimum(round_, spec, steps=500_000) == (value if counts else None)
    # The heuristic is feasible, true in what it says, a point of the program, and never better.
    found = policy_from(spec).decide(round_, 0)
    assert broken_rules(round_, found, spec) == []
    assert wrong_reasons(round_, found, spec) == []
    assert worth(groupings, found) <= best
    assert decision_value(round_, spec, found) <= value
    point = program.encode(round_, found)
    model = program.build(round_)
    assert evaluate(model, point).broken == ()
    again = program.decode(round_, point)
    assert broken_rules(round_, again, spec) == []
    assert found.running <= again.running
    # The prices of the relaxation bound it.
    bound = proved_bound(round_, spec, found, (relax(round_, program, None),))
    assert bound is None or bound[0] >= value


@pytest.mark.parametrize("group", GROUPS)
def test_brute_force_equals_program_and_verifier(group: str) -> None:
    for seed in range(SEEDS):
        checked(seed, group)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_brute_force_equals_program_and_verifier_on_a_thousand_rounds(group: str) -> None:
    for seed in range(1000, 1170):
        checked(seed, group)


@pytest.mark.parametrize("group", GROUPS)
def test_solved_rounds_are_proved_and_verified(group: str) -> None:
    for seed in range(100, 104):
        round_ = asked_sharing_round(seed, group)
        spec = plain_of(seed, round_).spec
        result = solve_round(round_, spec, "exact")
        assert (result.termination.reason, result.value) == (Reason.OPTIMAL, result.bound)
        assert verify(round_, result) == result.certificate
        assert result.certificate.violations == ()


@pytest.mark.parametrize("group", ["labels", "types", "all"])
def test_cpus_of_single_nodes_leave_a_bound_and_a_feasible_decision(group: str) -> None:
    for seed in range(12):
        round_ = asked_sharing_round(seed, group, most_jobs=4, cpus=True)
        plain = plain_of(seed, round_)
        spec, groupings = plain.spec, AskedGroupings(plain)
        for method in ("heuristic", "exact"):
            result = solve_round(round_, spec, method)
            assert result.certificate.violations == ()
            assert worth(groupings, result.decision) <= groupings.best()
        if enumerated_optimum(round_, spec) is not None:
            assert result.bound >= enumerated_optimum(round_, spec) >= result.value
