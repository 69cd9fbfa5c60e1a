"""Stage times of measured models given to any workload: which model, how many iterations, and what Muri makes of it."""

import pytest
from hypothesis import given, strategies as st

from muri_opt import Cluster, Job, Node, Plan
from muri_opt.errors import InputError
from muri_opt.replay import Workload
from muri_opt.replay.engine.bad_decisions import ReplayError
from muri_opt.replay.run import replay
from muri_opt.replay.traces import EXAMPLES
from muri_opt.replay.workloads.files import read_workload
from muri_opt.replay.workloads.muri_trace import RESOURCES
from muri_opt.replay.workloads.stages import Measured, parsed_models, read_models, with_stages

HEADER = (
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,iteration_time,"
    "resource_time_0,resource_time_1,resource_time_2\n"
)
ROWS = (
    "0,1,9000,5,vgg16,16,107,117,68,0\n"
    "1,2,0,5,bert,4,195,0.5,163,18\n"
    "2,1,0,5,bert,4,178,0.5,160,0\n"
    "3,1,0,7,vgg16,16,107,117,68,0\n"
    "4,1,0,5,new,8,400,100,200,100\n"
)
VGG = Measured(iteration_seconds=0.107, stage_seconds=(0.117, 0.068, 0), restart_seconds=7)
BERT = Measured(iteration_seconds=0.178, stage_seconds=(0.0005, 0.16, 0), restart_seconds=10)
BERT_2 = Measured(iteration_seconds=0.195, stage_seconds=(0.0005, 0.163, 0.018), restart_seconds=10)
NEW = Measured(iteration_seconds=0.4, stage_seconds=(0.1, 0.2, 0.1), restart_seconds=10)
ONE = Cluster(nodes=(Node(id="n", gpus=1),))


def job(name, gpus=1, work=60_000, **fields):
    return Job(
        id=name, gpus=gpus, **{"submitted": 0.0, "remaining_iterations": work, "iteration_seconds": 0.001} | fields
    )


def given_to(found):
    return Measured(
        iteration_seconds=found.iteration_seconds,
        stage_seconds=found.stage_seconds,
        restart_seconds=found.restart_seconds,
    )


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "muri.csv"
    path.write_text(HEADER + ROWS)
    return path


def test_models_are_read_by_gpus_in_the_order_of_the_file(trace):
    models = read_models(trace)
    assert models == {"vgg16 (16)": {1: VGG}, "bert (4)": {2: BERT_2, 1: BERT}, "new (8)": {1: NEW}}
    assert list(models) == ["vgg16 (16)", "bert (4)", "new (8)"]  # though the first row was submitted last


def test_another_batch_size_is_another_model_and_none_is_needed():
    models = parsed_models(HEADER + "0,1,0,5,bert,4,178,0.5,160,0\n1,1,0,5,bert,8,300,1,280,0\n")
    assert [model[1].iteration_seconds for model in models.values()] == [0.178, 0.3]
    assert list(parsed_models(HEADER.replace("batch_size", "other") + ROWS)) == ["vgg16", "bert", "new"]


def test_models_are_dealt_in_turn_to_the_jobs_on_whose_gpus_they_were_measured(trace):
    jobs = (job("a"), job("b", 4), job("c", 2), job("d"), job("e"), job("f", 0), job("g"))
    found = with_stages(Workload(name="w", jobs=jobs, notes={"no-work": 2}), read_models(trace))
    # a is 0th of (vgg16, bert, new), d 3rd, e 4th and g 5th; b and c have the only one measured on 2 GPUs.
    expected = {"a": VGG, "b": BERT_2, "c": BERT_2, "d": VGG, "e": BERT, "g": NEW}
    assert {j.id: given_to(j) for j in found.jobs} == expected
    assert [j.gpus for j in found.jobs] == [1, 4, 2, 1, 1, 1]
    assert found.notes == {"no-work": 2, "no-stages": 1}
    assert (found.name, found.resources) == ("w", RESOURCES)


@given(work=st.integers(1, 10**10), unit=st.integers(1, 10**6), iteration=st.integers(1, 10**6))
def test_the_time_alone_is_kept_to_half_an_iteration(work, unit, iteration):
    model = Measured(iteration_seconds=iteration / 10**6, stage_seconds=(0.1, 0.2, 0.3), restart_seconds=1)
    work = min(work, 10**12 * iteration // unit) or 1  # no more iterations than a job may have
    before = job("a", work=work, iteration_seconds=unit / 10**6)
    (after,) = with_stages(Workload(name="w", jobs=(before,)), {"m": {1: model}}).jobs
    count = after.remaining_iterations
    assert after.iteration_seconds == model.iteration_seconds
    if work * unit < iteration:
        assert count == 1
    else:
        assert 2 * abs(count * iteration - work * unit) <= iteration


def test_muri_shares_gpus_among_jobs_of_a_public_trace(trace):
    public = Workload(name="w", jobs=(job("a", work=107_000), job("b", work=178_000)))
    with pytest.raises(ReplayError, match="stage_seconds"):
        replay(public, ONE, "muri-s")
    staged = with_stages(public, read_models(trace))
    assert replay(staged, ONE, "fifo").jobs.completion.tolist() == replay(public, ONE, "fifo").jobs.completion.tolist()
    found = replay(staged, ONE, "muri-s").jobs
    # Both have 1,000 iterations. With bert first, the slots take 0.5, max(160, 117) and 68 ms.
    assert found.completion.tolist() == pytest.approx([228.5, 228.5], rel=1e-12)


def test_one_text_asks_for_stages_and_the_option_restart_wins(trace, tmp_path):
    (tmp_path / "t.csv").write_text(EXAMPLES["philly-csv"])
    text = f"{tmp_path}/t.csv?most-gpus=2&stages={trace}"
    found, plain = read_workload(text), read_workload(f"{tmp_path}/t.csv?most-gpus=2")
    assert [j.id for j in found.jobs] == [j.id for j in plain.jobs]
    assert {j.restart_seconds for j in found.jobs} == {7, 10}
    assert {j.restart_seconds for j in read_workload(text + "&restart=30").jobs} == {30}
    again = read_workload(f"{trace}?stages={trace}&first=3")
    assert [given_to(j) for j in again.jobs] == [BERT_2, BERT, NEW]  # 0th of one model, then 1st and 2nd of three


def test_scaling_tables_and_plans_go_with_stages(trace, tmp_path):
    (tmp_path / "c.csv").write_text("model,gpus,iteration_seconds\nx,1,1\nx,2,0.5\nx,4,0.25\n")
    (tmp_path / "t.csv").write_text(EXAMPLES["philly-csv"])
    text = f"{tmp_path}/t.csv?most-gpus=2&scaling={tmp_path}/c.csv&plans=rubick@1x4&stages={trace}"
    for found in read_workload(text).jobs:
        assert found.stage_seconds is not None
        assert found.scaling == {1: 1.0, 2: 2.0, 4: 4.0}
        (own,) = (plan for plan in found.plans if plan.name == found.plan)
        # A plan counts the iterations of the model: on the GPUs asked for it takes the measured time.
        assert own.throughput == pytest.approx(1 / found.iteration_seconds, rel=1e-14)


def test_jobs_with_plans_are_refused():
    plans = (Plan(name="dp1", gpus=1, nodes=1, throughput=2.0),)
    with pytest.raises(InputError) as error:
        with_stages(Workload(name="w", jobs=(job("a"), job("b", plans=plans))), {"m": {1: VGG}})
    assert error.value.field == "jobs[1] ('b').plans"


def test_no_model_is_refused():
    with pytest.raises(InputError, match="models: found no model"):
        with_stages(Workload(name="w", jobs=(job("a"),)), {})


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("model,gpus,iteration_seconds\nx,1,1\n", "line 1", "resource_time_2"),
        (HEADER, "line 2", "one job or more"),
        (HEADER + "0,1,0,5,,4,178,0.5,160,0\n", "line 2.model_name", "a name"),
        (HEADER + "0,1,0,5,bert,4,0,0.5,160,0\n", "line 2.iteration_time", "above 0"),
        (HEADER + ROWS + "5,1,0,5,new,8,400,101,200,100\n", "line 7", "the same times"),
    ],
)
def test_a_bad_file_of_stages_is_named_with_what_is_allowed(tmp_path, text, field, words):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_workload(f"generate:tiresias?jobs=2&stages={path}")
    assert error.value.field == f"{path}: {field}"
    assert words in error.value.allowed
