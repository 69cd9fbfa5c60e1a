"""Workload files: every format read to the last field, and what is wrong named by line and column."""

import pytest
from hypothesis import given, strategies as st

from muri_opt import Cluster, Node
from muri_opt.errors import InputError
from muri_opt.replay import Workload
from muri_opt.replay.clocks.afs_clock import replay_afs
from muri_opt.replay.traces import example, parse_trace
from muri_opt.replay.workloads.files import read_workload
from muri_opt.replay.workloads.muri_trace import muri_workload
from muri_opt.replay.workloads.public_traces import without_large, workload_of
from muri_opt.replay.workloads.rubick_tables import BATCH
from muri_opt.replay.workloads.rubick_trace import read_rubick_rows
from muri_opt.replay.workloads.scaling import parsed_curves, read_curves, with_scaling
from muri_opt.replay.workloads.skipped_rows import NOTES, ordered
from muri_opt.rounds import Job

MURI_HEADER = (
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,"
    "iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\n"
)
MURI = MURI_HEADER + (
    "a,8,1500,1000,a2c,64,555000,0,555,502,14,0.4,0\n"
    "b,1,500,20,vgg16,16,2140,0,107,117,68,0,1\n"
    "c,3,1500,7,vgg16,16,749,0,107,117,68,0,1\n"
    "d,1,1600,9,mine,16,749,0,107,117,68,0,1\n"
)
TABLES = {
    "vit": "ga,1,0.5\nga,11,0.4\nga,2,0.25\nga,12,0.3\n",
    "llama7": "182,88,1.25\nzero-offload,8,8\n",
}
RUBICK_HEADER = "name,submission_time,duration,application,num_gpus,num_cpus,bandwidth,exec_plan,steps,is_sla\n"
RUBICK = RUBICK_HEADER + "v,30,10,vit,2,16,0,ga,40,1\nl,0,125,llama7,16,128,1.25,182,100,0\n"
CURVES = "model,batch,gpus,iteration_seconds\nx,1,1,1\nx,1,2,0.5\ny,1,1,2\nz,1,1,1\nz,1,2,0.8\nz,1,4,0.5\n"


@pytest.fixture
def folder(tmp_path):
    for model in BATCH:
        rows = TABLES.get(model, "ga,1,1\n")
        (tmp_path / f"placements_{model}.csv").write_text("exec_plan,placement,iter_time,forward\n" + _wide(rows))
    (tmp_path / "base.csv").write_text(RUBICK)
    return tmp_path


def _wide(rows):
    return "".join(f"{row},0\n" for row in rows.splitlines())


def job(name, gpus=1, submitted=0.0, work=1000, **more):
    return Job(id=name, gpus=gpus, submitted=submitted, remaining_iterations=work, iteration_seconds=0.001, **more)


def test_a_muri_file_is_read_in_seconds_and_sorted_by_submission(tmp_path):
    (tmp_path / "small.csv").write_text(MURI)
    workload = read_workload(str(tmp_path / "small.csv"))
    assert (workload.name, workload.resources) == ("small", ("data", "gpu", "network"))
    assert workload.notes == {"out-of-order": 1}
    assert [(j.id, j.gpus, j.submitted, j.restart_seconds) for j in workload.jobs] == [
        ("b", 1, 0.5, 7),
        ("a", 8, 1.5, 46),
        ("c", 3, 1.5, 10),
        ("d", 1, 1.6, 10),
    ]
    first, second = workload.jobs[:2]
    assert (second.remaining_iterations, second.iteration_seconds) == (1000, 0.555)
    assert (first.stage_seconds, second.stage_seconds) == ((0.117, 0.068, 0.0), (0.502, 0.014, 0.0004))


@pytest.mark.parametrize(
    ("row", "field", "found"),
    [
        ("a,1,0,5,bert,4,0,0,178,1,1,1,0\na,1,0,5,bert,4,0,0,178,1,1,1,0", "line 3.job_id", "'a', used in line 2"),
        (",1,0,5,bert,4,0,0,178,1,1,1,0", "line 2.job_id", "nothing"),
        ("a,0,0,5,bert,4,0,0,178,1,1,1,0", "line 2.num_gpu", "0"),
        ("a,1,-1,5,bert,4,0,0,178,1,1,1,0", "line 2.submit_time", "-1"),
        ("a,1,0,0,bert,4,0,0,178,1,1,1,0", "line 2.iterations", "0"),
        ("a,1,0,2.5,bert,4,0,0,178,1,1,1,0", "line 2.iterations", "'2.5'"),
        ("a,1,0,5,bert,4,0,0,0,1,1,1,0", "line 2.iteration_time", "0"),
        ("a,1,0,5,bert,4,0,0,178,1,x,1,0", "line 2.resource_time_1", "'x'"),
        ("a,1,0,5", "line 2", "4 cells"),
    ],
)
def test_a_bad_muri_row_is_named(tmp_path, row, field, found):
    path = tmp_path / "bad.csv"
    path.write_text(MURI_HEADER + row + "\n")
    with pytest.raises(InputError) as error:
        read_workload(str(path))
    assert error.value.field == f"{path}: {field}"
    assert error.value.found.startswith(found)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError) as error:
        read_workload(str(tmp_path / "none.csv"))
    assert error.value.field == str(tmp_path / "none.csv")


def test_rubicks_jobs_count_samples_and_are_promised_what_they_ask_for(folder):
    workload = read_workload(str(folder / "base.csv"))
    large, small = workload.jobs
    assert (workload.name, workload.notes) == ("base", {"out-of-order": 1})
    assert (large.id, large.remaining_iterations, large.iteration_seconds) == ("l", 800, 0.15625)
    assert large.remaining_iterations * large.iteration_seconds == 125
    assert (large.guarantee, large.restart_seconds, large.plan) == (None, 78, "182")
    assert [(plan.name, plan.gpus, plan.nodes) for plan in large.plans] == [("182", 16, 2), ("zero-offload", 8, 1)]
    # Two GPUs were measured on one node and on two: the job asks for one.
    assert (small.id, small.submitted, small.remaining_iterations) == ("v", 30, 40 * 64)
    assert small.guarantee.throughput == 256
    assert small.iteration_seconds == 0.003906  # 1/256, to a microsecond
    assert [(plan.gpus, plan.nodes) for plan in small.plans] == [(1, 1), (2, 2), (2, 1)]


def test_rubicks_tables_may_be_elsewhere_and_restarts_may_cost_more(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "w.csv"
    other.write_text(RUBICK)
    workload = read_workload(f"{other}?measured={folder}&restart=260")
    assert {j.restart_seconds for j in workload.jobs} == {260}
    assert [row.line for row in read_rubick_rows(other)] == [2, 3]
    with pytest.raises(InputError, match=r"placements_vit\.csv: found No such file"):
        read_workload(str(other))


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ("v,0,10,bart,1,8,0,ga,40,0", "application"),
        ("v,0,10,vit,4,8,0,ga,40,0", "exec_plan"),
        ("v,0,10,vit,1,8,0,181,40,0", "exec_plan"),
        ("v,0,10,vit,1,8,0,,40,0", "exec_plan"),
        ("v,0,10,vit,1,8,0,ga,0,0", "steps"),
        ("v,0,10,vit,1,8,0,ga,40,2", "is_sla"),
        ("v,0,0,vit,1,8,0,ga,40,1", "duration"),
        ("v,,10,vit,1,8,0,ga,40,1", "submission_time"),
    ],
)
def test_a_bad_row_of_rubicks_is_named(folder, row, field):
    (folder / "bad.csv").write_text(RUBICK_HEADER + row + "\n")
    with pytest.raises(InputError) as error:
        read_workload(str(folder / "bad.csv"))
    assert error.value.field == f"{folder / 'bad.csv'}: line 2.{field}"


@pytest.mark.parametrize(
    ("row", "field"), [("ga,,1", "placement"), ("ga,10,1", "placement"), ("ga,1,0", "iter_time"), (",1,1", "exec_plan")]
)
def test_a_bad_measurement_is_named_once(folder, row, field):
    (folder / "placements_vit.csv").write_text(f"exec_plan,placement,iter_time\n{row}\n")
    with pytest.raises(InputError) as error:
        read_workload(str(folder / "base.csv"))
    assert error.value.field == f"{folder / 'placements_vit.csv'}: line 2.{field}"


def test_a_trace_is_replayed_by_the_time_its_jobs_held_gpus():
    trace = parse_trace(example("philly"))
    workload = workload_of(trace)
    # The second job ran 30 minutes, paused, and ran 3 hours; the fifth is still running.
    assert {j.id: j.remaining_iterations * j.iteration_seconds / 60 for j in workload.jobs} == {
        "application_1": 120,
        "application_2": 210,
        "application_3": 2,
        "application_4": 120,
        "application_6": 60,
    }
    assert workload.name == "philly"
    assert workload.notes == {"no-duration": 1}
    assert [(j.tenant, j.user, j.gpus, j.submitted) for j in workload.jobs[:2]] == [
        ("vision", "u1", 8, 0),
        ("speech", "u2", 4, 300),
    ]


def test_one_tenant_of_a_trace_without_large_jobs():
    trace = parse_trace(example("philly"))
    workload = workload_of(trace, name="p", tenant="vision", most_gpus=8)
    assert (workload.name, [j.id for j in workload.jobs]) == ("p/vision", ["application_1"])
    assert workload.notes == {"no-duration": 1, "too-large": 1}
    with pytest.raises(InputError, match=r"tenant: found 'visio' \(did you mean 'vision'\?\)"):
        workload_of(trace, tenant="visio")


def test_cpus_and_memory_are_kept_and_no_time_is_no_work():
    openb = workload_of(parse_trace(example("openb")))
    assert (openb.jobs[0].cpus, openb.jobs[0].memory_gib, openb.jobs[0].remaining_iterations) == (64, 256, 7_200_000)
    text = "timestamp,duration,num_gpus\n2017-10-09 07:00:00,0.0004,1\n2017-10-09 07:00:00,0.0006,1\n"
    short = workload_of(parse_trace(text))
    assert ([j.remaining_iterations for j in short.jobs], short.notes) == ([1], {"no-work": 1})


def test_models_are_dealt_in_turn_to_the_jobs_they_can_serve(tmp_path):
    (tmp_path / "curves.csv").write_text(CURVES)
    curves = read_curves(tmp_path / "curves.csv")
    assert curves == {"x": {1: 1, 2: 2}, "y": {1: 0.5}, "z": {1: 1, 2: 1.25, 4: 2}}
    jobs = [job("a", 1), job("b", 8), job("c", 2), job("d", 1), job("e", 3), job("f", 1)]
    workload = with_scaling(Workload(name="w", jobs=tuple(jobs), notes={"no-work": 2}), curves)
    names = {tuple(table.items()): name for name, table in curves.items()}
    given_models = {j.id: names[tuple(j.scaling.items())] for j in workload.jobs}
    # a is 0th of (x, y, z), c 1st of (x, z), d 2nd of (x, y, z), e 3rd of (z), f 4th of (x, y, z).
    assert given_models == {"a": "x", "c": "z", "d": "z", "e": "z", "f": "y"}
    assert workload.notes == {"no-work": 2, "no-model": 1}
    assert [j.remaining_iterations for j in workload.jobs] == [1000] * 5


def test_scaled_jobs_run_on_the_clock_of_afs():
    jobs = (job("a", 1, work=3_600_000), job("b", 1, submitted=1.0, work=3_600_000))
    workload = with_scaling(Workload(name="w", jobs=jobs), {"x": {1: 1, 2: 2}})
    outcome = replay_afs(workload, Cluster(nodes=(Node(id="n", gpus=2),)), "srtf-elastic")
    assert outcome.jobs.completion.tolist() == [1800, 3599]


def test_bad_scaling_tables_are_named():
    with pytest.raises(InputError, match=r"line 3\.gpus: found 1 of 'x' a second time"):
        parsed_curves("model,gpus,iteration_seconds\nx,1,1\nx,1,2\n")
    with pytest.raises(InputError, match=r"line 2\.iteration_seconds: found 0"):
        parsed_curves("model,gpus,iteration_seconds\nx,1,0\n")
    with pytest.raises(InputError, match="curves: found no model"):
        with_scaling(Workload(name="w", jobs=(job("a"),)), {})


@given(st.lists(st.integers(0, 5), max_size=8))
def test_readers_sort_and_count_what_a_workload_refuses(times):
    jobs = [job(str(position), submitted=float(at)) for position, at in enumerate(times)]
    late = sum(at < max(times[:position], default=0) for position, at in enumerate(times))
    workload = ordered("w", jobs)
    assert [j.id for j in workload.jobs] == [str(p) for p in sorted(range(len(times)), key=times.__getitem__)]
    assert workload.notes == ({"out-of-order": late} if late else {})
    if late:
        with pytest.raises(InputError, match="submitted"):
            Workload(name="w", jobs=tuple(jobs))


@given(st.lists(st.integers(1, 40), max_size=10), st.integers(1, 40))
def test_all_jobs_are_kept_or_counted(sizes, most):
    jobs = tuple(job(str(position), gpus) for position, gpus in enumerate(sizes))
    left = without_large(Workload(name="w", jobs=jobs), most)
    assert all(j.gpus <= most for j in left.jobs)
    assert len(left.jobs) + left.notes.get("too-large", 0) == len(jobs)
    assert set(left.notes) <= set(NOTES)


def test_a_muri_file_without_rows_is_an_empty_workload():
    assert muri_workload(MURI_HEADER, "none").jobs == ()
