"""What work is worth: by hand, on one machine, and against the formula in fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from joint_rounds import joint_round

from muri_opt import Cluster, Job, Node, Round, policy_from
from muri_opt.rounds import after
from muri_opt.systems.joint.decision import joint_decision
from muri_opt.systems.joint.jobs import power_worth
from muri_opt.systems.joint.jobs.models import models_of
from muri_opt.systems.joint.jobs.power_worth import hour_over
from muri_opt.systems.joint.jobs.worth import worth_of
from muri_opt.systems.joint.nodes.state import Case, State
from muri_opt.systems.joint.rules import POWERS, JointRules
from muri_opt.systems.joint.search.by_priority import decided
from muri_opt.verify.joint.rules import Joint
from muri_opt.verify.joint.value import workers_of


def worth_on(round_, **rules):
    said = JointRules.of(rules)
    return worth_of(round_, models_of(round_, said), said)


def machine(*lengths):
    jobs = (Job(id=f"j{k}", gpus=1, iteration_seconds=2.0, remaining_iterations=n) for k, n in enumerate(lengths))
    return Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=tuple(jobs))


def test_on_one_machine_work_is_worth_the_jobs_at_or_behind_it():
    worth = worth_on(machine(30, 10, 20))
    assert (worth.work / (worth.unit * 2_000_000_000)).tolist() == [1, 3, 2]


def test_on_one_machine_the_shortest_remaining_time_goes_first():
    decision = policy_from("joint-s").decide(machine(30, 10, 20), 0)
    assert [one.jobs for one in decision.assignments] == [("j1",)]


def test_jobs_of_equal_service_weigh_the_same():
    work = worth_on(machine(10, 10, 5)).work.tolist()
    assert work[0] == work[1] < work[2]


def test_the_size_that_is_dear_at_the_end_is_not_the_fastest():
    jobs = [Job(id="short", gpus=1, scaling={1: 1.0, 2: 1.5, 4: 2.0}, remaining_iterations=1)]
    jobs += [Job(id=f"long{k}", gpus=1, scaling={1: 1.0}, remaining_iterations=100) for k in range(8)]
    worth = worth_on(Round(cluster=Cluster(nodes=(Node(id="n0", gpus=4),)), jobs=tuple(jobs)))
    # lambda = 8 / 4: 1 + 2 g over the speed is 3 with one GPU, 10 / 3 with two, 9 / 2 with four; the last: lambda = 0
    assert Fraction(int(worth.work[0]), worth.unit * 10**9) == 3
    assert Fraction(int(worth.work[1]), worth.unit * 10**9) == 1


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"kappa": "0.25"},
        {"lengths": "attained"},
        {"restarts": "ignore"},
        {"weights": "pow", "power": "0.35"},
        {"weights": "pow", "power": "1", "lengths": "attained", "kappa": "0.25"},
        {"weights": "chance", "lengths": "attained"},
        {"weights": "chance", "lengths": "attained", "kappa": "0.25"},
        {"restarts": "pay"},
        {"restarts": "pay", "weights": "chance", "lengths": "attained"},
        {"weights": "gittins", "lengths": "attained", "samples": "1/2/2/6/40"},
    ],
)
def test_the_policy_and_the_verifier_say_the_same_worth(rules):
    checked = Joint(
        lengths=rules.get("lengths", "known"),
        kappa=Fraction(rules.get("kappa", "1")),
        pay=rules.get("restarts") != "ignore",
        stops=rules.get("restarts", "stops") == "stops",
        power=Fraction(rules["power"]) if "power" in rules else None,
        chance=rules.get("weights") == "chance",
        samples=tuple(1000 * int(part) for part in rules["samples"].split("/")) if "samples" in rules else (),
    )
    for seed in range(40):
        round_ = joint_round(seed)
        worth, workers = worth_on(round_, **rules), workers_of(round_, checked)
        assert worth.work.tolist() == [job.fresh for job in workers.jobs]
        assert worth.changed.tolist() == [job.changed for job in workers.jobs]


@pytest.mark.parametrize("spec", ["joint-l", "joint-s", "joint-s:restarts=pay", "joint-l:restarts=ignore"])
def test_what_work_is_worth_once_a_decision_is_carried_out_is_what_the_next_round_says(spec):
    rules = JointRules.of(policy_from(spec).rules)
    for seed in range(20):
        round_ = joint_round(seed, most_jobs=9)
        models = models_of(round_, rules)
        case = Case(round_=round_, models=models, worth=worth_of(round_, models, rules), rules=rules)
        placed = decided(case)
        seen = State.of(case).after(placed).worth
        then = after(round_, joint_decision(round_, models, rules, placed))
        said = worth_of(then, models_of(then, rules), rules)
        assert seen.work.tolist() == said.work.tolist(), seed
        assert seen.changed.tolist() == said.changed.tolist(), seed


def test_lengths_unknown_rank_by_attained_service():
    attained = (50.0, 0.0, 7.0)
    jobs = (Job(id=f"j{k}", gpus=1, attained_gpu_seconds=had) for k, had in enumerate(attained))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=tuple(jobs))
    worth = worth_on(round_, lengths="attained")
    assert (worth.work // (worth.unit * 10**9)).tolist() == [1, 3, 2]
    assert [one.jobs for one in policy_from("joint-l").decide(round_, 0).assignments] == [("j1",)]


def by_chance(*attained):
    jobs = (Job(id=f"j{k}", gpus=1, attained_gpu_seconds=had) for k, had in enumerate(attained))
    return Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=tuple(jobs))


def test_by_chance_jobs_behind_are_counted_by_how_likely_they_need_more():
    worth = worth_on(by_chance(49.152, 16.384, 16.384), lengths="attained", weights="chance")
    # the first needs more than another with a chance of 3 / 4; of equal ones each with 1 / 2
    assert (worth.work / (worth.unit * 10**9)).tolist() == [1.5, 2.25, 2.25]


def test_by_chance_jobs_are_alike_until_they_have_had_a_restart():
    jobs = [
        Job(id=f"j{k}", gpus=2, attained_gpu_seconds=had, restart_seconds=60.0) for k, had in enumerate((0.0, 119.0))
    ]
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=tuple(jobs))
    work = worth_on(round_, lengths="attained", weights="chance").work.tolist()
    assert work[0] == work[1]


def test_by_chance_a_job_that_has_had_a_little_more_is_worth_a_little_less():
    near = [100.0 + at for at in range(40)]
    parts = []
    for weights in ("rank", "chance"):
        work = worth_on(by_chance(*near), lengths="attained", weights=weights).work.tolist()
        assert work == sorted(work, reverse=True)
        parts.append(work[0] / work[-1])
    assert parts[0] == 40
    assert 1 < parts[1] < 1.2


def test_by_a_power_a_gpu_second_is_worth_one_over_the_service_left():
    worth = worth_on(machine(1800 // 8, 1800 // 2, 1800), weights="pow", power="0.5")
    parts = [Fraction(int(work), worth.unit * 2_000_000_000) for work in worth.work]
    assert [float(part) for part in parts] == pytest.approx([8**0.5, 2**0.5, 1.0], rel=1e-6)
    assert all(float(hour_over(900, 1, Fraction(power))) == pytest.approx(4 ** float(power)) for power in POWERS)


@pytest.mark.parametrize("power", POWERS)
def test_powers_are_exact_however_long_jobs_are(power):
    over, under = Fraction(power).as_integer_ratio()
    for digits in range(0, 31, 3):
        for service in (10**digits, 10**digits + 1, 7 * 10**digits - 1):
            hour = hour_over(service, 1, Fraction(power))
            below = power_worth._root(3600, Fraction(power)) / hour  # millionths of the service to the power
            assert below**under <= service**over * 10 ** (6 * under) < (below + 1) ** under
