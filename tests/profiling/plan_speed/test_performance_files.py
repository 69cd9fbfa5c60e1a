"""Samples and performance models in files: read as written, and every fault one error that names the place."""

import json

import pytest
from plan_cases import LINKS, SMALL, data_plan, grid_plan, performance

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed import (
    Links,
    Measurement,
    Sample,
    fit_profile,
    parse_performance,
    performance_json,
    read_performance,
    read_samples,
)
from muri_opt.profiling.plan_speed.example import example_samples

MEASURED = (
    Measurement(plan=grid_plan(2, 2, 1, accumulation=4, checkpointing=True), nodes=2, throughput=4.5),
    Measurement(plan=data_plan(2, "offload"), cpus_per_gpu=4, throughput=2.5),
)


@pytest.fixture
def write(tmp_path):
    def call(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return call


@pytest.fixture
def head(write):
    """Return a function that writes the JSON file of a profile, changed as asked."""

    def call(**changes):
        return write("head.json", json.dumps(json.loads(example_samples()) | changes))

    return call


def test_a_performance_model_reads_back_equal(write):
    model = performance(form="shipped", measured=MEASURED, forward_ms={1: 400.0, 8: 60.5}, links=Links(intra_gb_s=1.0))
    assert parse_performance(performance_json(model)) == model
    assert read_performance(write("model.json", performance_json(model))) == model


def test_the_fit_is_told_but_not_read(head):
    model, fit = fit_profile(read_samples([head()]))
    text = performance_json(model, fit)
    told = json.loads(text)["fit"]
    assert told["samples"] == 10
    assert told["mean_error"] == pytest.approx(sum(fit.errors) / 10, abs=1e-6)
    assert told["held_out_max_error"] == pytest.approx(max(fit.held_out), abs=1e-6)
    assert parse_performance(text) == model


def test_rows_of_a_csv_file_join_the_samples(head, write):
    rows = write(
        "more.csv",
        "gpus,pp,tp,dp,states,accumulation,checkpointing,nodes,cpus_per_gpu,forward_ms,step_ms,iteration_ms\n"
        "8,2,2,2,,4,TRUE,2,1.5,75.5,,300\n"
        "2,,,2,offload,1,0,,,80,12,90\n",
    )
    table = write("table.csv", "\ufeffgpus,dp,states,cpus_per_gpu,throughput\n4,4,zero,,6.5\n2,2,offload,4,2.5\n")
    found = read_samples([head(samples=[]), rows, table])
    assert found.samples == (
        Sample(
            plan=grid_plan(2, 2, 2, accumulation=4, checkpointing=True),
            nodes=2,
            cpus_per_gpu=1.5,
            forward_ms=75.5,
            iteration_ms=300.0,
        ),
        Sample(plan=data_plan(2, "offload"), forward_ms=80.0, step_ms=12.0, iteration_ms=90.0),
    )
    assert found.measured == (Measurement(plan=data_plan(4, "zero"), throughput=6.5), MEASURED[1])


def test_the_json_file_may_hold_measured_throughputs(head):
    found = read_samples([head(measured=[{"gpus": 2, "dp": 2, "throughput": 3}])])
    assert found.measured == (Measurement(plan=data_plan(2), throughput=3.0),)
    assert len(found.samples) == 10


SAMPLE = {"gpus": 4, "dp": 4, "forward_ms": 1.0, "iteration_ms": 4.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "muri-opt/round/1"}, r"head.json: format: found 'muri-opt/round/1'; allowed: 'muri-opt/samples/1'"),
        ({"sample": []}, r"head.json: field: found 'sample' \(did you mean 'samples'\?\)"),
        ({"samples": {"a": 1}}, r"head.json: samples: found .* allowed: a list"),
        ({"samples": [7]}, r"head.json: samples\[0\].sample: found 7; allowed: a mapping"),
        ({"samples": [SAMPLE | {"dp": 2}]}, r"samples\[0\].gpus: found 4; allowed: pp x tp x dp = 1 x 1 x 2 = 2"),
        ({"samples": [SAMPLE | {"steps": 2}]}, r"samples\[0\].field: found 'steps'"),
        (
            {"samples": [{"gpus": 4, "dp": 4, "forward_ms": 1.0}]},
            r"samples\[0\].iteration_ms: found nothing; .*required",
        ),
        ({"samples": [{"dp": 4}]}, r"samples\[0\].gpus: found nothing"),
        ({"measured": [{"gpus": 1, "throughput": 0}]}, r"measured\[0\].throughput: found 0"),
        ({"links": {"intra_gb_s": -5}}, r"links.intra_gb_s: found -5"),
        ({"links": {"inter_gb_s": 5}}, r"links.intra_gb_s: found nothing"),
        ({"links": None}, r"links.links: found None; allowed: a mapping"),
        ({"model": {"name": "m"}}, r"model.parameters: found nothing"),
    ],
)
def test_bad_json_files(head, changes, message):
    with pytest.raises(InputError, match=message):
        read_samples([head(**changes)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"bad.json: found text that is not JSON"),
        ("[1]", r"bad.json: found \[1\]; allowed: one JSON object"),
        ("{}", r"bad.json: format: found nothing"),
        ('{"format": "muri-opt/samples/1"}', r"bad.json: model: found nothing"),
        ("[" * 100_000, r"bad.json: found text that is not JSON"),
        ('{"format": "muri-opt/samples/1", "model": NaN}', r"bad.json: found text that is not JSON"),
    ],
)
def test_bad_text(write, text, message):
    with pytest.raises(InputError, match=message):
        read_samples([write("bad.json", text)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"bad.csv: found no row"),
        ("gpus,dp,forward_ms,iteration_ms\n", r"bad.csv: found no row"),
        ("gpus,dp,forward_ms,iteration_ms\n1,1,2,3\n1,1\n", r"bad.csv: line 3.row: found another number of cells"),
        ("gpus,dp,forward_ms,iteration_ms\n1,1,2,3,4\n", r"bad.csv: line 2.row: found another number of cells"),
        ("gpus,dp,forward_ms,iteration_ms\ntwo,1,2,3\n", r"line 2.gpus: found 'two'; allowed: a whole number"),
        ("gpus,dp,forward_ms,iteration_ms\n1,1,fast,3\n", r"line 2.forward_ms: found 'fast'; allowed: a number"),
        ("gpus,dp,forward_ms,iteration_ms\n1,1,nan,3\n", r"line 2.forward_ms: found nan"),
        ("gpus,dp,forward_ms,iteration_ms\n1,1,2,\n", r"line 2.iteration_ms: found nothing"),
        ("gpus,checkpointing,forward_ms,iteration_ms\n1,maybe,2,3\n", r"checkpointing: found 'maybe'; .*true or false"),
        ("gpus,speed\n1,2\n", r"line 2.field: found 'speed'"),
        ('gpus,dp\n"1,1\n', r"bad.csv: found text that is not CSV"),
    ],
)
def test_bad_csv_files(write, text, message):
    with pytest.raises(InputError, match=message):
        read_samples([write("bad.csv", text)])


def test_files_that_do_not_go_together(head, write, tmp_path):
    with pytest.raises(InputError, match=r"head.json: found a second JSON file"):
        read_samples([head(), head()])
    rows = write("rows.csv", "gpus,forward_ms,iteration_ms\n1,1,2\n")
    with pytest.raises(InputError, match=r"^files: found no JSON file"):
        read_samples([rows])
    with pytest.raises(InputError, match=r"absent.json: found No such file or directory"):
        read_samples([tmp_path / "absent.json"])
    (tmp_path / "latin.csv").write_bytes(b"gpus\n\xe9\n")
    with pytest.raises(InputError, match=r"latin.csv: found text that is not UTF-8"):
        read_samples([tmp_path / "latin.csv"])
    with pytest.raises(InputError, match="allowed: a readable file of samples"):
        read_samples(["a\0b.json"])


def test_a_file_that_is_too_large(write, monkeypatch):
    monkeypatch.setattr("muri_opt.rounds.text_files.MOST_BYTES", 10)
    with pytest.raises(InputError, match=r"large.csv: found more than 10 bytes"):
        read_samples([write("large.csv", "gpus,dp,forward_ms")])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "muri-opt/performance/2"}, r"^format: found"),
        ({"form": "mine"}, r"^form: found 'mine'"),
        ({"form": 3}, r"^form: found 3"),
        ({"coefficients": {"k_bwd": 2.0}}, r"^coefficients.k_sync: found nothing"),
        ({"forward_ms": {"one": 1.0}}, r"^forward_ms key: found 'one'; allowed: a number of GPUs in quotes"),
        ({"forward_ms": [1.0]}, r"^forward_ms: found \[1.0\]; allowed: a mapping"),
        ({"measured": [{"gpus": 2}]}, r"^measured\[0\].throughput: found nothing"),
        ({"links": {}}, r"^links.intra_gb_s: found nothing"),
        ({"speed": 1}, r"^field: found 'speed'"),
    ],
)
def test_bad_model_files(changes, message):
    text = json.dumps(json.loads(performance_json(performance())) | changes)
    with pytest.raises(InputError, match=message):
        parse_performance(text)


def test_a_fault_of_a_model_file_names_the_file(write, tmp_path):
    with pytest.raises(InputError, match=r"model.json: format: found nothing"):
        read_performance(write("model.json", "{}"))
    with pytest.raises(InputError, match=r"gone.json: found No such file"):
        read_performance(tmp_path / "gone.json")


def test_the_example_is_what_it_says(head):
    found = read_samples([head()])
    assert found.model.batch == 16
    assert found.links != LINKS
    assert found.model != SMALL
    _, fit = fit_profile(found)
    assert max(fit.errors) < 0.02
    assert None not in fit.held_out
