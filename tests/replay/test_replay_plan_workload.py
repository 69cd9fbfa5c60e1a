"""Plans made of scaling tables: sizes, nodes, throughput, what is left out, and that policies of plans replay them."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from muri_opt import Cluster, Job, Node
from muri_opt.errors import InputError
from muri_opt.replay import Workload
from muri_opt.replay.run import replay
from muri_opt.replay.workloads.files import read_workload
from muri_opt.replay.workloads.plans import with_plans
from muri_opt.rounds import configurations_of
from muri_opt.systems.curves import scaling_table
from muri_opt.systems.plans.plan_rules import strategy

LINEAR = {1: 2.0, 4: 8.0, 16: 32.0}
"""Interpolated in iteration time: 3 GPUs take 1/2 - 2/3 x 3/8 = 1/4 s an iteration, so they do 4 of them a second."""


def cluster(nodes=4, gpus=4):
    return Cluster(nodes=tuple(Node(id=f"n{k}", gpus=gpus) for k in range(nodes)))


def workload(*asked, scaling=LINEAR, seconds=0.5):
    return Workload.of(
        "curves",
        (
            Job(
                id=f"j{place}",
                gpus=gpus,
                submitted=10.0 * place,
                remaining_iterations=100,
                iteration_seconds=seconds,
                restart_seconds=5.0,
                scaling=scaling,
            )
            for place, gpus in enumerate(asked)
        ),
    )


def shapes(job):
    return [(plan.name, plan.gpus, plan.nodes, plan.throughput) for plan in job.plans]


def test_powers_of_two_and_what_the_job_asks_for_on_as_few_nodes_as_they_fill():
    (job,) = with_plans(workload(3), cluster()).jobs
    assert job.plan == "dp3"
    # 3 GPUs do an iteration in 0.5 s and have speed 4 of the table: 1 GPU is half as fast, 2 do 2 / (5/6), ...
    assert [(name, gpus, nodes) for name, gpus, nodes, _ in shapes(job)] == [
        ("dp1", 1, 1),
        ("dp2", 2, 1),
        ("dp3", 3, 1),
        ("dp4", 4, 1),
        ("dp8", 8, 2),
        ("dp16", 16, 4),
    ]
    rates = {gpus: rate for _, gpus, _, rate in shapes(job)}
    assert (rates[1], rates[3], rates[4], rates[16]) == (1.0, 2.0, 4.0, 16.0)
    assert {strategy(plan.name) for plan in job.plans} == {""}


def test_no_plan_is_larger_than_the_table_or_the_cluster():
    (job,) = with_plans(workload(1), cluster(nodes=2)).jobs
    assert [plan.gpus for plan in job.plans] == [1, 2, 4, 8]
    (job,) = with_plans(workload(1, scaling={1: 1.0, 6: 3.0}), cluster(nodes=2)).jobs
    assert [plan.gpus for plan in job.plans] == [1, 2, 4]


def test_workers_have_equal_shares_of_a_node():
    (job,) = with_plans(workload(4, scaling={1: 1.0, 6: 6.0}), cluster(nodes=3, gpus=4), "aiturbo").jobs
    assert job.plan == "gpu-p1-w4-s1"
    found = {(name, nodes) for name, _, nodes, _ in shapes(job)}
    assert found == {
        ("gpu-p1-w1-s1", 1),
        ("gpu-p1-w2-s1", 1),
        ("gpu-p1-w3-s1", 1),
        ("gpu-p1-w4-s1", 1),
        ("gpu-p1-w6-s1", 2),  # five workers divide among one node of five GPUs, or five nodes: there are neither
        ("gpu-p1-w1-s2", 1),
        ("gpu-p1-w2-s2", 1),
        ("gpu-p1-w3-s2", 3),
        ("gpu-p1-w1-s3", 1),
        ("gpu-p1-w2-s3", 2),
        ("gpu-p1-w1-s4", 1),
    }
    assert len(configurations_of(job)) == len(job.plans)


def test_jobs_whose_gpus_divide_among_no_nodes_are_left_out_and_counted():
    found = with_plans(workload(1, 5, 8, 7), cluster())
    assert [job.id for job in found.jobs] == ["j0", "j2"]
    assert found.notes == {"no-plan": 2}


@pytest.mark.parametrize("kind", ["rubick", "aiturbo"])
@given(
    asked=st.integers(1, 12),
    nodes=st.integers(1, 6),
    gpus=st.integers(1, 8),
    rates=st.lists(st.integers(1, 50), min_size=12, max_size=12),
)
def test_plans_run_as_fast_as_the_table_says(kind, asked, nodes, gpus, rates):
    table = {k: float(rate) for k, rate in enumerate(rates, start=1)}
    for job in with_plans(workload(asked, scaling=table), cluster(nodes, gpus), kind).jobs:
        speeds = scaling_table(table).speeds
        assert any(plan.name == job.plan and plan.gpus == asked for plan in job.plans)
        for plan in job.plans:
            exact = Fraction(speeds[plan.gpus], speeds[asked]) * 2
            assert plan.throughput == pytest.approx(float(exact), rel=1e-14)
            assert plan.nodes <= nodes
            assert plan.gpus // plan.nodes <= gpus


@pytest.mark.parametrize(
    ("kind", "policy"),
    [
        ("rubick", "rubick"),
        ("rubick", "sia"),
        ("rubick", "synergy"),
        ("rubick", "equal-share"),
        ("rubick", "antman"),
        ("aiturbo", "aiturbo:objective=time"),
        ("aiturbo", "optimus-ps"),
        ("aiturbo", "rubick"),
    ],
)
def test_policies_of_plans_replay_what_had_curves_only(kind, policy):
    found = replay(with_plans(workload(1, 2, 4, 8), cluster(), kind), cluster(), policy).jobs
    assert (found.ended > found.submitted).all()
    if policy == "synergy":  # GPUs stay as asked for, and there is room for all
        assert found.completion.tolist() == [50.0] * 4


def test_one_text_asks_for_prefix_tables_and_plans(tmp_path):
    curves = tmp_path / "curves.csv"
    curves.write_text("model,gpus,iteration_seconds\nm,1,1\nm,2,0.5\nm,4,0.25\nm,32,0.1\n")
    found = read_workload(f"generate:tiresias?jobs=20&first=5&scaling={curves}&plans=rubick@8x4")
    assert len(found.jobs) == 5
    assert found.notes == {"later": 15}
    assert all(plan.throughput > 0 for job in found.jobs for plan in job.plans)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("generate:tiresias?jobs=2&plans=rubick@8x4", "jobs[0] ('job-0').scaling"),
        ("generate:tiresias?jobs=2&plans=gavel@8x4", "plans"),
        ("generate:tiresias?jobs=2&plans=rubick", "plans"),
        ("generate:tiresias?jobs=2&first=x", "first"),
    ],
)
def test_what_cannot_be_made_plans_of_is_refused(text, field):
    with pytest.raises(InputError) as raised:
        read_workload(text)
    assert raised.value.field == field
