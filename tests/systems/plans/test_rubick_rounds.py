"""Rounds from published tables: which plans a job gets, who is there at a moment, and who runs after a decision."""

import pytest

from benchmarks import rubick_rounds
from muri_opt import Decision
from muri_opt.replay.workloads.rubick_tables import BATCH
from muri_opt.rounds import Assignment

TABLE = "exec_plan,placement,iter_time\n"
FILES = {
    "vit": "ga,1,0.5\ngc,1,0.4\nzero-dp,1,0.6\nzero-offload,1,0.2\nga,22,0.25\nga,13,0.3\n",
    "t5": "zero-dp,4,2\n141,4,1.6\n",
    "llama7": "182,88,1.25\n",
}
TRACE = """name,submission_time,duration,application,num_gpus,num_cpus,bandwidth,exec_plan,steps,is_sla
late,1000,40,t5,8,32,0,zero-dp,9,0
first,0,340,vit,60,8,0,zero-dp,9,0
small,1,40,vit,1,8,0,ga,9,0
large,0,100,llama7,16,128,1.25,182,9,0
"""


@pytest.fixture
def directory(tmp_path):
    for model in BATCH:
        (tmp_path / f"placements_{model}.csv").write_text(TABLE + FILES.get(model, "ga,1,1\n"))
    (tmp_path / "workload-base.csv").write_text(TRACE)
    return tmp_path


@pytest.fixture
def tasks(directory):
    return rubick_rounds.read_tasks(directory, rubick_rounds.read_plans(directory)[0])


def test_a_row_is_a_plan_if_its_nodes_have_equal_gpus(directory):
    plans, odd = rubick_rounds.read_plans(directory)
    assert odd == {**dict.fromkeys(BATCH, 0), "vit": 1}
    two = next(plan for plan in plans["vit"] if plan.nodes == 2)
    assert (two.name, two.gpus, two.cpus, two.memory_gib, two.throughput) == ("ga", 4, 4, 8, 256)
    offload = next(plan for plan in plans["vit"] if plan.name == "zero-offload")
    assert (offload.cpus, offload.memory_gib, offload.throughput) == (8, 3, 320)
    assert [(plan.memory_gib, plan.throughput) for plan in plans["t5"]] == [(round(32.4 * 1024) / 1024, 8), (6, 10)]
    assert [(plan.name, plan.gpus, plan.nodes, plan.throughput) for plan in plans["llama7"]] == [("182", 16, 2, 6.4)]


def test_beaten_plans_are_left_out_unless_they_are_the_jobs_own(tasks):
    kept = {task.job.id: [(plan.name, plan.nodes) for plan in task.job.plans] for task in tasks}
    assert kept["first"] == [("gc", 1), ("zero-dp", 1), ("zero-offload", 1), ("ga", 2)]
    assert kept["small"] == [("ga", 1), ("gc", 1), ("zero-offload", 1), ("ga", 2)]


def test_the_replay_passes_jobs_that_do_not_fit(tasks):
    assert {task.job.id: task.ends for task in tasks} == {"first": 600, "small": 301, "large": 960, "late": 1300}
    present = {moment: [job.id for job in rubick_rounds.round_at(tasks, moment).jobs] for moment in (0, 1, 301, 970)}
    assert present == {0: ["first", "large"], 1: ["first", "large", "small"], 301: ["first", "large"], 970: []}


def test_jobs_run_as_the_round_before_left_them(tasks):
    def placement(job, plan, *nodes):
        return Assignment(jobs=(job,), plan=plan, gpus=dict.fromkeys(nodes, 2 if len(nodes) > 1 else 1))

    earlier = rubick_rounds.round_at(tasks, 1)
    assert {job.state for job in earlier.jobs} == {"waiting"}
    after = rubick_rounds.placed(
        earlier,
        Decision(assignments=(placement("first", "ga", "node-1", "node-0"), placement("small", "gc", "node-2"))),
    )
    second = rubick_rounds.round_at(tasks, 100, after)
    first, large, _ = second.jobs
    assert (first.state, first.plan, first.placement) == ("running", "ga", {"node-0": 2, "node-1": 2})
    assert (first.executed_seconds, first.restarts, large.state, large.plan) == (99, 0, "waiting", "182")
    stayed = placement("first", "ga", "node-0", "node-1")
    third = rubick_rounds.placed(second, Decision(assignments=(stayed, placement("small", "gc", "node-3"))))
    assert [job.restarts for job in third.jobs] == [0, None, 1]
    evicted = rubick_rounds.placed(third, Decision(assignments=(stayed,))).jobs[2]
    assert (evicted.state, evicted.placement, evicted.restarts) == ("waiting", None, 1)
    assert [job.executed_seconds for job in rubick_rounds.round_at(tasks, 200, third).jobs] == [199, None, 199]
