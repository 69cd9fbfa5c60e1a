"""The public job table: inverted codes, empty cells, statistics, and what is refused."""

import pytest

from muri_opt.errors import InputError
from muri_opt.profiling.job_length import (
    JobRecord,
    parse_job_table,
    parse_losses,
    read_job_table,
    read_losses,
    statistics,
)

HEAD = (
    "Job type,Running time,Ps,Worker,Epoch,Accuracy,Loss,GPU,Memory,CPU,Batch Size,Learning rate,Step,Throughput,"
    "Resubmit,Predictability"
)
ROWS = [
    "3,600,2,2,100,0.7,0.8,0,2,1,32,0.0001,1875,184.5,1,0",
    "9,100,3,3,40,0.1,0.7,6,52,20,96,1e-06,921,303.9,1,1",
    "1,300,,1,50,0.9,0.04,6,54,24,96,1e-06,921,559.7,0,0",
    "13,200,2,2,50,,0.2,1,54,64,96,1e-06,921,560.7,0,0",
    "13,500,2,2,50,0.9,0.2,1,54,24,96,1e-06,921,560.7,0,1",
]


def table(*rows, head=HEAD):
    return parse_job_table("\r\n".join([head, *rows]) + "\r\n")


def test_rows_become_records():
    first, second, third, fourth, _ = table(*ROWS).records
    assert first == JobRecord(
        kind=3,
        seconds=600.0,
        ps=2,
        workers=2,
        epochs=100,
        accuracy=0.7,
        loss=0.8,
        gpus=0,
        memory_gb=2.0,
        cpus=1,
        batch=32,
        learning_rate=0.0001,
        steps=1875,
        throughput=184.5,
        repeated=False,
        predictable=True,
    )
    assert (second.repeated, second.predictable) == (False, False)
    assert (third.ps, third.repeated, third.predictable) == (None, True, True)
    assert (first.missing, third.missing, fourth.missing) == ((), ("ps",), ("accuracy",))


def test_statistics_by_hand():
    found = statistics(table(*ROWS).records)
    assert (found.jobs, found.predictable, found.repeated, found.repeated_predictable) == (5, 3, 3, 2)
    assert (found.first, found.first_predictable) == (2, 1)
    assert (found.precision, found.recall, found.accuracy) == (2 / 3, 2 / 3, 3 / 5)
    assert found.incomplete == (("accuracy", 1), ("ps", 1))
    assert (found.times.median, found.times.mean, found.times.p90, found.times.most) == (300, 340, 600, 600)
    assert (found.predictable_times.median, found.unpredictable_times.p90) == (300, 500)
    assert found.gpus == ((0, 1), (1, 2), (6, 2))
    assert found.tasks == (((2, 2), 3), ((3, 3), 1))
    assert (found.fewest_cpus, found.most_cpus) == (1, 64)


def test_ninety_per_cent_take_no_longer():
    rows = [f"1,{seconds},1,1,1,1,1,1,1,1,1,1,1,1,1,0" for seconds in range(10, 210, 10)]
    times = statistics(table(*rows).records).times
    assert (times.median, times.p90) == (105, 180)


def test_jobs_of_one_kind_only():
    found = statistics(table(ROWS[1]).records)
    assert found.predictable_times is None
    assert (found.precision, found.recall, found.accuracy) == (None, None, 1.0)


def test_rows_without_what_every_job_needs_are_left_out():
    found = table(ROWS[0], ",300,2,1,50,0.9,0.04,6,54,24,96,1e-06,921,559.7,0,0", "", ROWS[1].rstrip("1"))
    assert (len(found.records), found.left_out) == (1, (3, 5))


def test_columns_in_any_order_and_case(tmp_path):
    path = tmp_path / "jobs.csv"
    names = HEAD.lower().split(",")
    cells = ROWS[0].split(",")
    path.write_text("\ufeff" + " , ".join(reversed(names)) + "\n" + ",".join(reversed(cells)) + "\n", encoding="utf-8")
    assert read_job_table(path).records == table(ROWS[0]).records


@pytest.mark.parametrize(
    ("position", "cell", "place", "allowed"),
    [
        (15, "2", "line 2.predictability", "0 (predictable) or 1 (not)"),
        (14, "-1", "line 2.resubmit", "0 (repeated) or 1 (first submission)"),
        (14, "yes", "line 2.resubmit", "a whole number"),
        (1, "nan", "line 2.running time", "a finite number from 0 to 2,000,000,000"),
        (1, "-5", "line 2.running time", "a finite number from 0 to 2,000,000,000"),
        (3, "0", "line 2.worker", "a whole number from 1 to 1,000,000,000"),
        (7, "1.5", "line 2.gpu", "a whole number"),
        (5, "1.2", "line 2.accuracy", "a finite number from 0 to 1"),
    ],
)
def test_bad_cells(position, cell, place, allowed):
    cells = ROWS[0].split(",")
    cells[position] = cell
    with pytest.raises(InputError) as caught:
        table(",".join(cells))
    assert (caught.value.field, caught.value.allowed) == (place, allowed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file: found no line"),
        (HEAD.replace("Worker", "Workers"), r"column: found 'workers' \(did you mean 'worker'\?\)"),
        (HEAD.replace("Ps,", ""), "column: found no 'ps'"),
        (HEAD + ",ps", "column: found 'ps' twice"),
        (HEAD + "\n1,2,3", "line 2: found 3 cells; allowed: 16 cells"),
        (HEAD + '\n"1', "file: found text that is not CSV"),
    ],
)
def test_bad_tables(text, message):
    with pytest.raises(InputError, match=message):
        parse_job_table(text)


def test_nothing_to_count():
    with pytest.raises(InputError, match="records: found none"):
        statistics([])
    with pytest.raises(InputError, match=r"records\[0\]: found 1; allowed: a JobRecord"):
        statistics([1])


def test_losses_in_a_file(tmp_path):
    assert parse_losses("loss,step\n2.5,1\n\n2,10\n") == ((1, 10), (2.5, 2.0))
    assert parse_losses("step,loss\n") == ((), ())
    path = tmp_path / "losses.csv"
    path.write_text("step,loss\n1,2\n2,nan\n")
    with pytest.raises(InputError) as caught:
        read_losses(path)
    assert caught.value.field == f"{path}: line 3.loss"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError) as caught:
        read_losses(path)
    assert caught.value.field == str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("step,loss\n2,3\n1,2\n", "line 3.step: found 1 after 2; allowed: steps that grow"),
        ("step,loss\n2,3\n2,2\n", "line 3.step: found 2 after 2"),
        ("step,loss\n1,-3\n", "line 2.loss: found -3.0"),
        ("step,loss\n1,\n", "line 2.loss: found nothing; allowed: a number"),
        ("step,loss\n,1\n", "line 2.step: found nothing; allowed: a whole number"),
        ("step,loss\n1.5,1\n", "line 2.step: found '1.5'; allowed: a whole number"),
        ("step,loss\n-1,1\n", "line 2.step: found -1"),
        ("step,loss\n1,low\n", "line 2.loss: found 'low'; allowed: a number"),
        ("step,los\n1,1\n", r"column: found 'los' \(did you mean 'loss'\?\)"),
    ],
)
def test_bad_losses(text, message):
    with pytest.raises(InputError, match=message):
        parse_losses(text)
