"""``muri-opt predict``: losses in, the steps left out; or what a job table says."""

import json

import pytest

from muri_opt.profiling.job_length.loss_files import example_losses

HEAD = (
    "Job type,Running time,Ps,Worker,Epoch,Accuracy,Loss,GPU,Memory,CPU,Batch Size,Learning rate,Step,Throughput,"
    "Resubmit,Predictability"
)


@pytest.fixture
def losses(tmp_path):
    """Return a function that writes losses, one an epoch, and returns the name of the file."""

    def write(*values, text=None):
        path = tmp_path / "losses.csv"
        path.write_text(text or "step,loss\n" + "".join(f"{k},{v}\n" for k, v in enumerate(values, start=1)))
        return path

    return write


@pytest.fixture
def table(tmp_path):
    def write(*rows):
        path = tmp_path / "jobs.csv"
        path.write_text("\n".join([HEAD, *rows]) + "\n")
        return path

    return write


def row(seconds=10, ps=1, workers=2, gpus=1, repeated=1, predictable=1):
    """The last two are codes of the table: 0 means yes."""
    return f"1,{seconds},{ps},{workers},5,0.5,0.5,{gpus},8,4,32,0.1,100,9,{repeated},{predictable}"


def test_an_example_to_start_from(run, tmp_path):
    assert run("predict", "--example")[:2] == (0, example_losses())
    path = tmp_path / "made.csv"
    assert run("predict", "--example", "--output", path)[:2] == (0, "")
    code, out, err = run("predict", path, "--target", 0.8)
    assert (code, err) == (0, "")
    assert out.startswith("losses       60\nfit          1 / (0.02")
    assert "accuracy     99." in out
    assert "\nremaining    " in out
    assert "steps until a loss of 0.8\n" in out


def test_exact_losses(run, losses):
    path = losses(*(1 / (0.02 * k + 0.25) + 0.4 for k in range(1, 31)))
    code, out, _ = run("predict", path, "--target", "1.2", "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["fit"]["b0"] == pytest.approx(0.02)
    assert (answer["losses"], answer["remaining_steps"], answer["not_predictable"]) == (30, 20, None)
    assert answer["accuracy"] == pytest.approx(1)
    assert "remaining    20 steps until a loss of 1.2\n" in run("predict", path, "--target", "1.2")[1]


def test_the_rule_counts_epochs(run, losses):
    path = losses(*(1 / (k + 1) + 3 for k in range(1, 16)))
    assert "remaining    5 steps until its loss hardly falls\n" in run("predict", path)[1]
    assert "remaining    5,485 steps until its loss hardly falls\n" in run("predict", path, "--epoch", 500)[1]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ((), "0 of the 3 losses that a curve needs"),
        ((2.0, 1.0), "2 of the 3 losses that a curve needs"),
        ((2.0, 2.0, 2.0, 2.0), "the losses are constant"),
        ((1.0, 2.0, 3.0, 4.0), "the losses do not fall: the last third is no lower than the first"),
    ],
)
def test_not_predictable_yet(run, losses, values, reason):
    code, out, err = run("predict", losses(*values))
    assert (code, err) == (0, "")
    assert out == f"losses       {len(values)}\nnot predictable yet: {reason}\n"
    answer = json.loads(run("predict", losses(*values), "--json")[1])
    assert (answer["fit"], answer["remaining_steps"], answer["not_predictable"]) == (None, None, reason)


def test_a_target_never_reached(run, losses):
    code, out, _ = run("predict", losses(*(1 / (0.02 * k + 0.25) + 0.4 for k in range(1, 31))), "--target", "0.3")
    assert code == 0
    assert out.endswith("not predictable yet: the fitted loss stays above 0.4 and never falls to 0.3\n")


def test_a_prediction_that_did_not_come_true(run, losses):
    code, out, _ = run("predict", losses(*(10 / k if k <= 20 else 0.01 / k for k in range(1, 41))))
    assert code == 0
    assert "accuracy     0.0% on the later losses, predicted from the earlier ones: not predictable by it" in out


def test_statistics_of_a_table(run, table):
    rows = [row(seconds=10 * i, ps=i % 9, repeated=i % 2, predictable=i % 3 == 1) for i in range(1, 13)]
    path = table(*(r.replace("True", "1").replace("False", "0") for r in rows), row(ps=""), row(gpus=""))
    code, out, err = run("predict", "--table", path)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "               jobs  median s  mean s  p90 s  most s",
        "all jobs         13        60      61    110     120",
        "predictable       8        70      70    120     120",
        "unpredictable     5        40      46    100     100",
        "",
        "predictable  8 of 13 jobs (61.5%)",
        "repeated     4 of 6 jobs (66.7%) are predictable",
        "first        4 of 7 jobs (57.1%) are predictable",
        "repeated means predictable: precision 66.7%, recall 50.0%, accuracy 53.8%",
        "GPUs         1: 13",
        "CPUs         4 to 4",
        "ps, workers  (1, 2) 2, (2, 2) 2, (3, 2) 2, (0, 2) 1, (4, 2) 1, (5, 2) 1, (6, 2) 1, (7, 2) 1, others 1",
        "incomplete   1 without ps",
        "left out     1 row",
    ]
    answer = json.loads(run("predict", "--table", path, "--json")[1])
    assert (answer["jobs"], answer["left_out"], answer["incomplete"]) == (13, [15], [["ps", 1]])
    assert answer["times"]["most"] == 120


def test_a_table_of_unpredictable_first_submissions(run, table):
    out = run("predict", "--table", table(row(), row()))[1]
    assert "predictable       0         -       -      -       -\n" in out
    assert "repeated     0 of 0 jobs (unknown) are predictable\n" in out
    assert "precision unknown, recall unknown, accuracy 100.0%\n" in out
    assert "incomplete   none\nleft out     0 rows\n" in out


def test_bad_arguments(refused, losses, tmp_path):
    path = losses(3.0, 2.0, 1.5)
    assert refused("predict") == "losses: found nothing; allowed: one of a file of losses, --table and --example"
    assert refused("predict", path, "--table", path).startswith("losses: found losses and table; ")
    assert "--output: found" in refused("predict", path, "--output", tmp_path / "x")
    assert "target: found nan" in refused("predict", path, "--target", "nan")
    assert "target: found -1.0" in refused("predict", path, "--target=-1")
    assert "invalid float value" in refused("predict", path, "--target", "low")
    assert "epoch: found 0" in refused("predict", path, "--epoch", "0")
    assert "No such file or directory" in refused("predict", tmp_path / "absent.csv")
    assert "a directory" in refused("predict", "--example", "--output", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("step,loss\n1,3\n3,2\n2,1\n", "line 4.step: found 2 after 3; allowed: steps that grow from one to the next"),
        ("step,loss\n1,3\n2,nan\n", "line 3.loss: found nan; allowed: a finite number from 0"),
        ("step,loss\n1,3\n2,-1\n", "line 3.loss: found -1.0"),
        ("step,loss,speed\n1,3,2\n", "column: found 'speed'"),
        ("step\n1\n", "column: found no 'loss'"),
    ],
)
def test_bad_losses_are_refused_with_their_place(refused, losses, text, message):
    path = losses(text=text)
    assert refused("predict", path).startswith(f"{path}: {message}")


def test_bad_tables_are_refused_with_their_place(refused, table, tmp_path):
    path = table(row(), row(predictable=3))
    assert refused("predict", "--table", path) == (
        f"{path}: line 3.predictability: found 3; allowed: 0 (predictable) or 1 (not)"
    )
    assert "records: found none" in refused("predict", "--table", table())
