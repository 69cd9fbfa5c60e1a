"""Policy ``srs``: shortest remaining service over plans and GPU types, on rounds worked out by hand and drawn ones."""

from __future__ import annotations

import pytest
from by_policy import broken_rules, decision_value, value_unit_of
from planning_rounds import EveryChoice, plan_round

from muri_opt import InputError, Job, Node, Plan, Round, policy_from, solve_round
from muri_opt.systems.plans import PlanRules
from muri_opt.verify import decision_value as value_by_rules

SLOW = Plan(name="dp1", gpus=1, throughput=1.0, gpu_type="v100")
FAST = Plan(name="dp1", gpus=1, throughput=4.0, gpu_type="a100")
NODES = (Node(id="a", gpus=1, gpu_type="a100"), Node(id="v", gpus=1, gpu_type="v100"))


def job(place: int, left: int | None, *plans: Plan, **said: object) -> Job:
    given = {"gpus": plans[0].gpus, "plan": plans[0].name, "submitted": float(place), "restart_seconds": 10.0}
    return Job(id=f"j{place}", remaining_iterations=left, plans=plans, **given | said)


def runs(round_: Round, method: str = "heuristic") -> dict[str, tuple[str, dict[str, int]]]:
    """Return the plan and the GPUs of each job that runs, by a feasible decision."""
    result = solve_round(round_, "srs", method)
    assert result.certificate.violations == ()
    return {one.jobs[0]: (one.plan, dict(one.gpus)) for one in result.decision.assignments}


def test_the_type_is_part_of_the_service() -> None:
    # On the fast GPU the jobs need 25, 50 and 100 GPU-seconds, on the slow one four times as many.
    round_ = plan_round(NODES, [job(0, 400, SLOW, FAST), job(1, 100, SLOW, FAST), job(2, 200, SLOW, FAST)])
    for method in ("heuristic", "exact"):
        assert runs(round_, method) == {"j1": ("dp1", {"a": 1}), "j2": ("dp1", {"v": 1})}


def test_a_job_grows_when_that_gains_more_than_the_next_one() -> None:
    one, two = Plan(name="dp1", gpus=1, throughput=1.0), Plan(name="dp2", gpus=2, throughput=1.5)
    # The second GPU adds 0.5 / 100 to the first job; the second job would have 1 / 300, or 1 / 150.
    long = plan_round([2], [job(0, 100, one, two), job(1, 300, one)])
    assert runs(long) == runs(long, "exact") == {"j0": ("dp2", {"n0": 2})}
    short = plan_round([2], [job(0, 100, one, two), job(1, 150, one)])
    assert set(runs(short)) == set(runs(short, "exact")) == {"j0", "j1"}


def test_what_runs_stays_and_others_take_what_is_free() -> None:
    one = Plan(name="dp1", gpus=1, throughput=1.0)
    running = job(0, 100, one, state="running", placement={"n0": 1})
    round_ = plan_round([1, 1], [running, job(1, 50, one)])
    assert runs(round_) == {"j0": ("dp1", {"n0": 1}), "j1": ("dp1", {"n1": 1})}
    # Where there is no other room, the shorter job takes it, if the other restarts elsewhere or stops.
    assert runs(plan_round([1], [running, job(1, 50, one)])) == {"j1": ("dp1", {"n0": 1})}
    assert runs(plan_round([1], [running, job(1, 101, one)])) == {"j0": ("dp1", {"n0": 1})}


def test_a_value_is_completions_a_second_in_billionths() -> None:
    round_ = plan_round(NODES, [job(0, 400, SLOW, FAST), job(1, 0, FAST)])
    found = solve_round(round_, "srs", "exact")
    assert found.value == 10**9 // 400 + 10**12  # nothing left to do counts as a millisecond
    assert found.value_unit == value_unit_of("srs")
    assert value_by_rules(round_, {"chapter": "planning", "objective": "completions"}, found.decision) == found.value
    assert solve_round(plan_round(NODES, [job(0, 10**12, SLOW)]), "srs").value == 1


def test_lengths_must_be_known() -> None:
    round_ = plan_round(NODES, [job(0, 1, SLOW), job(1, None, SLOW)])
    decided = policy_from("rubick").decide(round_, 0)
    for refuses in (policy_from("srs").check, lambda round_: decision_value(round_, "srs", decided)):
        with pytest.raises(InputError, match=r"jobs\[1\] \('j1'\).remaining_iterations"):
            refuses(round_)


def test_the_list_is_close_to_the_best_and_never_above() -> None:
    plans = [Plan(name=f"dp{gpus}", gpus=gpus, throughput=gpus**0.8) for gpus in (1, 2, 4)]
    worst = 1.0
    for seed in range(12):
        left = [10 + 37 * (seed + 1) * (place + 3) % 400 for place in range(5)]
        round_ = plan_round([4, 3], [job(place, many, *plans) for place, many in enumerate(left)])
        best = EveryChoice(round_, PlanRules(objective="completions")).best()
        found = policy_from("srs").decide(round_, 0)
        assert broken_rules(round_, found, "srs") == []
        worst = min(worst, decision_value(round_, "srs", found) / best)
    assert 0.8 < worst <= 1.0
