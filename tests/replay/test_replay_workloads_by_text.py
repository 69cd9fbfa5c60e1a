"""Generated workloads follow what was published, and one text stands for any workload."""

from statistics import median

import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt.errors import InputError
from muri_opt.replay.traces import EXAMPLES
from muri_opt.replay.workloads.files import read_workload
from muri_opt.replay.workloads.generated import MOST_GAP, MOST_JOBS, generate_workload
from muri_opt.replay.workloads.rubick_tables import BATCH
from muri_opt.rounds.quantities import MAX_SECONDS

WEEK = 604_800


def seconds(job):
    return job.remaining_iterations * job.iteration_seconds


@pytest.fixture(scope="module")
def philly():
    return generate_workload("philly", jobs=40_000, seed=3)


def test_phillys_sizes_are_as_published(philly):
    sizes = [job.gpus for job in philly.jobs]
    for gpus, percent in {1: 93.17, 2: 2.21, 4: 2.27, 8: 2.0, 16: 0.24, 32: 0.08}.items():
        expected = percent / 100 * len(sizes)
        assert abs(sizes.count(gpus) - expected) < 5 * expected**0.5
    assert sum(sizes.count(gpus) for gpus in (1, 2, 4, 8, 16, 32)) == len(sizes)


@pytest.mark.parametrize(
    ("sizes", "minutes", "above"), [((1,), 18.6, 0.0016), ((2, 4), 6.1, 0.013), ((8,), 394.7, 0.037)]
)
def test_phillys_times_have_the_published_medians_and_tails(philly, sizes, minutes, above):
    times = sorted(seconds(job) for job in philly.jobs if job.gpus in sizes)
    # A median lies between the order statistics five deviations of the binomial distribution away.
    middle, deviation = len(times) / 2, 2.5 * len(times) ** 0.5
    assert times[int(middle - deviation)] <= minutes * 60 <= times[int(middle + deviation)]
    expected = above * len(times)
    assert abs(sum(time > WEEK for time in times) - expected) < 5 * expected**0.5
    assert times[0] >= 1
    assert times[-1] <= 4_628_226


def test_phillys_tenants_and_gaps(philly):
    tenants = [job.tenant for job in philly.jobs]
    expected = 41_226 / 82_229 * len(tenants)
    assert abs(tenants.count("6214e9") - expected) < 5 * expected**0.5
    assert len(set(tenants)) == 11
    gap = philly.jobs[-1].submitted / (len(tenants) - 1)
    assert abs(gap / 114.5 - 1) < 5 / len(tenants) ** 0.5
    assert philly.jobs[0].submitted == 0


def test_tiresias_workload_has_exactly_the_published_sizes():
    workload = generate_workload("tiresias")
    sizes = [job.gpus for job in workload.jobs]
    assert {gpus: sizes.count(gpus) for gpus in sizes} == {2: 40, 4: 80, 8: 90, 16: 25, 32: 5}
    assert sizes != sorted(sizes)
    times = [seconds(job) for job in workload.jobs]
    assert 120 <= min(times) < 300 < 3000 < median(times) < 4300 < 7000 < max(times) <= 7200
    more = [job.gpus for job in generate_workload("tiresias", jobs=500).jobs]
    assert sorted(more[240:480]) == sorted(sizes)
    assert more[240:480] != more[:240]


@more_examples(30)
@given(st.sampled_from(["philly", "tiresias"]), st.integers(1, 30), st.integers(0, 2**63 - 1), st.floats(0, MOST_GAP))
def test_the_same_arguments_give_the_same_jobs(family, jobs, seed, gap):
    first, again = (generate_workload(family, jobs=jobs, seed=seed, gap=gap) for _ in range(2))
    assert first.jobs == again.jobs
    assert len(first.jobs) == jobs
    assert first.name == again.name
    if gap == 0:
        assert {job.submitted for job in first.jobs} == {0}


def test_seeds_differ_and_a_million_jobs_fit():
    assert generate_workload("philly", seed=1).jobs != generate_workload("philly", seed=2).jobs
    assert 1.5 * MOST_JOBS * MOST_GAP < MAX_SECONDS


@pytest.mark.parametrize("name", ["philly", "philly-csv", "openb", "helios"])
def test_public_traces_are_found_from_the_file(tmp_path, name):
    (tmp_path / "t.x").write_text(EXAMPLES[name])
    workload = read_workload(str(tmp_path / "t.x"))
    assert workload.name == "t"
    assert len(workload.jobs) >= 3


def test_a_text_with_options(tmp_path):
    (tmp_path / "t.csv").write_text(EXAMPLES["philly-csv"])
    (tmp_path / "c.csv").write_text("model,gpus,iteration_seconds\nx,1,1\nx,4,0.5\n")
    workload = read_workload(f"{tmp_path}/t.csv?tenant=speech&most-gpus=4&scaling={tmp_path}/c.csv")
    assert (workload.name, [job.gpus for job in workload.jobs]) == ("t/speech", [4, 1, 2])
    assert {tuple(job.scaling.items()) for job in workload.jobs} == {((1, 1.0), (4, 2.0))}


def test_generated_workloads_by_text():
    workload = read_workload("generate:tiresias?jobs=50&seed=4&gap=2.5&most-gpus=8")
    made = generate_workload("tiresias", jobs=50, seed=4, gap=2.5)
    assert workload.name == "tiresias/50-jobs-gap-2.5-seed-4"
    assert workload.jobs == tuple(job for job in made.jobs if job.gpus <= 8)
    assert {job.restart_seconds for job in workload.jobs} == {None}
    assert {job.restart_seconds for job in read_workload("generate:philly?jobs=9&restart=2.5").jobs} == {2.5}
    assert workload.notes == {"too-large": sum(job.gpus > 8 for job in made.jobs)}
    assert read_workload("generate:philly").jobs == generate_workload("philly", seed=0).jobs


def test_muri_and_rubick_by_text(tmp_path):
    (tmp_path / "m.csv").write_text(
        "job_id,num_gpu,submit_time,iterations,model_name,iteration_time,"
        "resource_time_0,resource_time_1,resource_time_2\n0,1,0,5,bert,178,0.5,160,0\n"
    )
    assert read_workload(f"{tmp_path}/m.csv").jobs[0].stage_seconds == (0.0005, 0.16, 0)
    (tmp_path / "tables").mkdir()
    for model in BATCH:
        (tmp_path / "tables" / f"placements_{model}.csv").write_text("exec_plan,placement,iter_time\nga,1,0.5\n")
    (tmp_path / "r.csv").write_text(
        "name,submission_time,duration,application,num_gpus,exec_plan,steps,is_sla\nv,0,5,vit,1,ga,10,0\n"
    )
    job = read_workload(f"{tmp_path}/r.csv?measured={tmp_path}/tables&restart=260").jobs[0]
    assert (job.remaining_iterations, job.restart_seconds) == (640, 260)
    (tmp_path / "tables" / "r.csv").write_text((tmp_path / "r.csv").read_text())
    assert read_workload(f"{tmp_path}/tables/r.csv").jobs[0].restart_seconds == 78


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("", "workload"),
        ("generate:phily", "family of workloads"),
        ("generate:philly?job=1", "option of this workload"),
        ("generate:philly?tenant=a", "option of this workload"),
        ("generate:philly?jobs", "options of the workload"),
        ("generate:philly?jobs=1&jobs=2", "option jobs"),
        ("generate:philly?jobs=0", "jobs"),
        ("generate:philly?jobs=1e3", "jobs"),
        ("generate:philly?jobs=1000001", "jobs"),
        ("generate:philly?seed=-1", "seed"),
        ("generate:philly?gap=soon", "gap"),
        ("generate:philly?gap=nan", "gap"),
        ("generate:philly?gap=1001", "gap"),
        ("generate:philly?most-gpus=many", "most-gpus"),
        ("generate:philly?restart=-1", "restart"),
        ("nowhere.csv", "nowhere.csv"),
    ],
)
def test_a_bad_text_is_named(text, field):
    with pytest.raises(InputError) as error:
        read_workload(text)
    assert error.value.field == field


def test_an_unknown_format_names_all_formats(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError) as error:
        read_workload(str(path))
    assert error.value.field == f"{path}: line 1"
    assert all(name in error.value.allowed for name in ("philly", "openb", "helios", "muri", "rubick"))
