"""What plans take, which a job may run by, and what they are worth: the verifier's own arithmetic."""

from __future__ import annotations

import pytest
from by_policy import decision_value, settings_of
from handmade import round_of
from hypothesis import event, given, strategies as st
from more_examples import more_examples
from plan_rounds import NAMES, choices, plan_rounds, planning_policies, rules_for, worth_of

from muri_opt import Assignment, Decision, Guarantee, InputError, Job, Node, Plan, Round, Tenant
from muri_opt.systems import policy_from
from muri_opt.systems.plans import PlanOptions, PlanRules, plan_decision
from muri_opt.systems.plans.plan_rules import strategy
from muri_opt.verify.amounts import need_of
from muri_opt.verify.plans.plan_choices import PlanChoices
from muri_opt.verify.plans.plan_parts import Piece, piece_of, strategy_of
from muri_opt.verify.plans.value import Planned


def job(*plans: Plan, **fields: object) -> Job:
    return Job(**{"id": "j0", "gpus": 2, "plans": plans} | fields)


def plan(name: str = "dp2", gpus: int = 2, throughput: float = 1.0, **fields: object) -> Plan:
    return Plan(name=name, gpus=gpus, throughput=throughput, **fields)


@given(plan_rounds(), planning_policies(), st.data())
@more_examples(150)
def test_both_sides_value_a_decision_alike(round_: Round, policy: str, data: st.DataObject) -> None:
    options = PlanOptions.of(round_, rules_for(policy))
    chosen = data.draw(choices(round_, options))
    decision = plan_decision(round_, options, chosen)
    assert decision_value(round_, policy, decision) == worth_of(round_, options, chosen)
    event(f"running {len(chosen)}, at home {sum(int(options.home[o]) >= 0 for o in chosen)}")


@given(plan_rounds(), planning_policies())
@more_examples(150)
def test_both_sides_read_the_same_options(round_: Round, policy: str) -> None:
    options = PlanOptions.of(round_, rules_for(policy))
    theirs = [
        (
            int(options.job[o]),
            int(options.plan[o]),
            (int(options.g[o]), int(options.c[o]), int(options.m[o])),
            int(options.e[o]),
            int(options.home[o]) >= 0,
        )
        for o in range(len(options))
    ]
    planned = settings_of(policy)
    assert planned is not None
    menu = PlanChoices.of(round_, planned)
    mine = []
    for j, ways in enumerate(menu.ways):
        plans = round_.jobs[j].plans or ()
        for way in ways:
            position = next(p for p, plan in enumerate(plans) if plan == way.plan)
            if way.home is not None:
                mine.append((j, position, way.piece, menu.bonus[j] + way.home, True))
            mine.append((j, position, way.piece, menu.bonus[j] + way.away, False))
    assert mine == theirs


@given(st.lists(st.sampled_from(["dp2", "dp", "dp16", "tp4", "", "dp2x", "zero", "@", "4"])).map("-".join))
def test_both_sides_read_the_same_strategy(name: str) -> None:
    assert strategy_of(name) == strategy(name)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("offload-dp2@1x2c4", "offload"),
        ("tp4-dp2", "tp4"),
        ("dp4", ""),
        ("zero-dp", "zero-dp"),
        ("ga", "ga"),
        ("dp2-tp4@dp8", "-tp4"),
        ("dp\N{ARABIC-INDIC DIGIT TWO}", "dp\N{ARABIC-INDIC DIGIT TWO}"),
    ],
)
def test_a_strategy_is_a_name_without_shape_and_data_parallel_degree(name: str, found: str) -> None:
    assert strategy_of(name) == found


@pytest.mark.parametrize(
    ("fields", "plan_fields", "piece"),
    [
        ({}, {}, (2, 0, 0)),
        ({"gpus": 3, "cpus": 1, "memory_gib": 1}, {"gpus": 4}, (4, 4 * 334, 4 * 342)),
        ({"gpus": 3, "cpus": 1, "memory_gib": 1}, {"gpus": 4, "nodes": 4}, (1, 334, 342)),
        ({"gpus": 0, "cpus": 1}, {"gpus": 4, "nodes": 2}, (2, 2000, 0)),
        ({"cpus": 8, "memory_gib": 8}, {"gpus": 3, "nodes": 3, "cpus": 1, "memory_gib": 0.5}, (1, 334, 171)),
        ({"cpus": 8, "memory_gib": 8}, {"cpus": 0, "memory_gib": 0}, (2, 0, 0)),
    ],
)
def test_a_part_takes_an_equal_share_rounded_up(
    fields: dict[str, object], plan_fields: dict[str, object], piece: tuple[int, int, int]
) -> None:
    some = plan(**{"gpus": 2} | plan_fields)
    assert piece_of(some, need_of(job(some, **fields))) == Piece(*piece)


def valued(round_: Round, policy: str, name: str, gpus: dict[str, int]) -> int:
    """Return what it is worth that the first job runs by a plan on some nodes, and the others wait."""
    return decision_value(round_, policy, Decision(assignments=(Assignment(jobs=("j0",), plan=name, gpus=gpus),)))


RUNNING = {"state": "running", "placement": {"n0": 2}, "plan": "dp2", "restart_seconds": 150.0}


@pytest.mark.parametrize(
    ("policy", "fields", "name", "node", "value"),
    [
        ("rubick", {}, "dp2", "n0", 500_000),
        ("rubick", {}, "tp2", "n0", 1_000_000),
        ("rubick", RUNNING, "dp2", "n0", 500_000),  # as it was
        ("rubick", RUNNING, "dp2", "n1", 375_000),  # 150 of 600 seconds are lost
        ("rubick", RUNNING, "tp2", "n0", 750_000),
        ("rubick:horizon=150", RUNNING, "tp2", "n0", 0),
        ("rubick:horizon=100", RUNNING, "tp2", "n0", 0),
        ("rubick", RUNNING | {"state": "waiting"}, "dp2", "n1", 500_000),
        ("rubick", RUNNING | {"plan": None}, "dp2", "n0", 375_000),
        ("rubick:reference=requested", {"plan": "dp2"}, "tp2", "n0", 2_000_000),
        ("rubick:reference=requested", {}, "tp2", "n0", 1_000_000),
        ("rubick:change=resources", {"plan": "dp2"}, "tp2", "n0", 0),  # which it may not
        # Sia: 1.1 less the root of 1/2, or 1/2; a restart at 60 seconds, the first, keeps 60 of 210.
        ("sia:change=both", {}, "tp2", "n0", 1_100_000 - 707_106),
        ("sia:change=both,power=-1", {}, "tp2", "n0", 600_000),
        ("sia:change=both", {}, "dp2", "n0", 100_000),
        ("sia:change=both,power=-1", RUNNING | {"submitted": 40.0}, "tp2", "n0", 0),
        ("sia:change=both,power=-1", RUNNING | {"submitted": 40.0, "restart_seconds": 10.0}, "tp2", "n0", 516_667),
        ("sia:change=both,power=-1", RUNNING | {"submitted": 40.0, "restarts": 1}, "tp2", "n0", 0),
        (
            "sia:change=both,power=-1",
            RUNNING | {"executed_seconds": 1200, "waiting_seconds": 150},
            "tp2",
            "n0",
            544_445,
        ),
        ("sia:change=both,power=-1", RUNNING | {"restart_seconds": None}, "tp2", "n0", 600_000),
    ],
)
def test_a_plan_is_worth_its_throughput(
    policy: str, fields: dict[str, object], name: str, node: str, value: int
) -> None:
    some = job(plan(), plan("tp2", throughput=2.0), plan("tp4", gpus=8, throughput=9.0), **fields)
    round_ = Round(now=100.0, cluster=round_of([2, 2], []).cluster, jobs=(some,))
    assert valued(round_, policy, name, {node: 2}) == value


def test_a_promise_kept_is_worth_more_than_all_throughput_together() -> None:
    """Three jobs are worth a million each at best: the first 3,000,001 more, and by its fast plan only."""
    plans = (plan(), plan("tp2", throughput=2.0))
    jobs = [job(*plans, id=f"j{j}", guarantee=None if j else Guarantee(throughput=1.5)) for j in range(3)]
    round_ = round_of([2, 2, 2], jobs)
    assert valued(round_, "rubick", "tp2", {"n0": 2}) == 3_000_001 + 1_000_000
    assert valued(round_, "rubick", "dp2", {"n0": 2}) == 0


def test_what_is_no_way_to_run_adds_nothing() -> None:
    round_ = round_of([2, 2], [job(plan(cpus=1.0))])
    right = Assignment(jobs=("j0",), plan="dp2", gpus={"n1": 2}, cpus={"n1": 1.0})
    wrong = [
        Assignment(jobs=("j1",), plan="dp2", gpus={"n1": 2}, cpus={"n1": 1.0}),
        Assignment(jobs=(), plan="dp2", gpus={"n1": 2}, cpus={"n1": 1.0}),
        Assignment(jobs=("j0",), gpus={"n1": 2}, cpus={"n1": 1.0}),
        Assignment(jobs=("j0",), plan="dp2", gpus={"n1": 2}),
        Assignment(jobs=("j0",), plan="dp2", gpus={"n1": 1, "n0": 1}, cpus={"n1": 1.0}),
    ]
    assert decision_value(round_, "rubick", Decision(assignments=(right, *wrong))) == 1_000_000


def test_plans_for_unlike_gpus_may_have_one_name_and_nodes_tell_them_apart() -> None:
    plans = (plan(gpu_type="a"), plan(gpu_type="b", throughput=2.0))
    nodes = [Node(id=f"n{s}", gpus=2, gpu_type=kind) for s, kind in enumerate(["a", "b", None])]
    held = {"state": "running", "placement": {"n0": 2}, "plan": "dp2", "restart_seconds": 300.0}
    round_ = round_of(nodes, [job(*plans, **held)])
    assert [valued(round_, "rubick", "dp2", {node.id: 2}) for node in nodes] == [500_000, 500_000, 0]


@pytest.mark.parametrize(
    ("policy", "some", "field", "found"),
    [
        ("rubick", job(), "plans", "nothing"),
        ("rubick", job(id="j0", plans=None), "plans", "nothing"),
        ("rubick", job(plan(), plan()), "plans", "two plans 'dp2' of 2 GPUs on 1 node with equal CPUs"),
        (
            "rubick",
            job(plan(nodes=2, gpu_type="a"), plan(nodes=2)),
            "plans",
            "two plans 'dp2' of 2 GPUs on 2 nodes with equal CPUs",
        ),
        (
            "rubick",
            job(plan(), plan(gpu_type="a", cpus=0.0)),
            "plans",
            "two plans 'dp2' of 2 GPUs on 1 node with equal CPUs",
        ),
        ("antman", job(plan()), "plan", "nothing"),
        ("synergy", job(plan()), "plan", "nothing"),
        ("sia", job(plan()), "plan", "nothing"),
        ("rubick:change=neither", job(plan()), "plan", "nothing"),
        ("rubick:reference=requested", job(plan(gpus=1)), "plans", "no plan of 2 GPUs"),
    ],
)
def test_what_contradicts_itself_is_refused(policy: str, some: Job, field: str, found: str) -> None:
    round_ = round_of([2], [job(plan(), id="first", plan="dp2"), some], [Tenant(id="red", quota_gpus=1)])
    with pytest.raises(InputError) as refused:
        decision_value(round_, policy, Decision())
    assert (refused.value.field, refused.value.found) == (f"jobs[1] ('j0').{field}", found)
    with pytest.raises(InputError) as again:
        policy_from(policy).check(round_)
    assert (again.value.field, again.value.found) == (f"jobs[1] ('j0').{field}", found)


def test_a_job_that_runs_by_a_plan_for_other_gpus_is_measured_by_the_best_for_those_it_asked_for() -> None:
    slow, fast, now = plan("ga", throughput=2.0), plan("tp", throughput=4.0), plan(gpus=1, throughput=3.0)
    round_ = round_of([2], [job(slow, fast, now, plan="dp2")])
    assert valued(round_, "rubick:reference=requested", "ga", {"n0": 2}) == 500_000
    assert PlanOptions.of(round_, PlanRules(reference="requested")).e.tolist() == [500_000, 1_000_000, 750_000]


def test_throughputs_beyond_all_measure_are_refused() -> None:
    round_ = round_of([2], [job(plan(throughput=1e-6), plan("tp", gpus=1, throughput=2.0), gpus=2)])
    with pytest.raises(InputError, match=r"plans: found a throughput of 2; allowed: at most 1,000,000 times"):
        PlanOptions.of(round_, PlanRules(reference="requested"))


def test_plans_that_a_decision_can_tell_apart_are_welcome() -> None:
    plans = (
        plan(),
        plan(cpus=1.0),
        plan(nodes=2),
        plan("ga"),
        plan(gpus=4),
        plan("tp", gpu_type="a"),
        plan("tp", gpu_type="b"),
    )
    assert decision_value(round_of([2], [job(*plans)]), "rubick", Decision()) == 0


def test_a_job_none_of_whose_plans_fits_has_no_way_to_run() -> None:
    menu = PlanChoices.of(round_of([1], [job(plan(), plan(gpus=1, gpu_type="b"))]), Planned(change="both"))
    assert tuple(menu.ways) == ((),)
    assert len(menu.entries[0]) == 2


@pytest.mark.parametrize(
    ("policy", "planned"),
    [
        ("rubick", Planned(change="both")),
        ("rubick:change=plans,gate=1,patience=0", Planned(change="plans")),
        ("rubick:gate=0.5,horizon=.5,restarts=gate", Planned(change="both", horizon=500_000, gate="0.5")),
        ("rubick:patience=3600.5,restarts=ignore", Planned(change="both")),
        ("rubick:reference=requested", Planned(change="both", reference="requested")),
        ("synergy", Planned(change="neither")),
        ("antman:horizon=60", Planned(change="resources", horizon=60_000_000)),
        ("equal-share:reference=requested", Planned(change="both", reference="requested")),
        ("sia", Planned(change="resources", power="-0.5")),
        ("sia:power=-1,change=both", Planned(change="both", power="-1")),
    ],
)
def test_settings_are_read_from_the_text_of_a_policy(policy: str, planned: Planned) -> None:
    assert settings_of(policy) == planned


@pytest.mark.parametrize(
    "policy",
    [
        "rubick:change=all",
        "rubick:horizon=0",
        "rubick:horizon=1e-07",
        "rubick:horizon=1e300",
        "rubick:horizon=inf",
        "rubick:horizon=seconds, at least a microsecond",
        "rubick:gate=1.5",
        "rubick:gate=inf",
        "rubick:patience=-1",
        "rubick:patience=1e999",
        "rubick:power=-1",
        "synergy:change=both",
        "antman:gate=1",
        "equal-share:patience=inf",
        "sia:horizon=600",
        "sia:power=1",
        "fifo:change=both",
    ],
)
def test_a_policy_of_other_settings_is_refused(policy: str) -> None:
    with pytest.raises(InputError) as refused:
        settings_of(policy)
    assert refused.value.field.startswith(("policy", "parameter of policy"))


def test_the_drawn_names_are_of_equal_and_unequal_strategies() -> None:
    assert [strategy_of(name) for name in NAMES] == ["", "", "tp2", "tp2", "ga"]
