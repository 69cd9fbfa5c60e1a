"""``muri-opt fit``: samples in, a performance model out."""

import json

import pytest

from muri_opt.profiling.plan_speed import COEFFICIENTS, read_performance, read_samples
from muri_opt.profiling.plan_speed.example import example_samples


@pytest.fixture
def samples(tmp_path):
    path = tmp_path / "samples.json"
    path.write_text(example_samples())
    return path


def test_an_example_to_start_from(run, tmp_path):
    code, out, _ = run("fit", "--example")
    assert (code, out) == (0, example_samples())
    assert run("fit", "--example", "--output", tmp_path / "s.json")[:2] == (0, "")
    assert len(read_samples([tmp_path / "s.json"]).samples) == 10


def test_samples_become_a_model_file(run, samples, tmp_path):
    code, out, err = run("fit", samples, "--output", tmp_path / "model.json")
    assert (code, err) == (0, "")
    assert out.startswith("example-1b: 10 samples, form published\n")
    model = read_performance(tmp_path / "model.json")
    for name in COEFFICIENTS:
        assert f"{getattr(model.coefficients, name):.6g}" in out
    assert "held out" in out
    assert "10 of 10 samples, one by one" in out


def test_json_is_the_model_file(run, samples, tmp_path):
    code, out, _ = run("fit", samples, "--json", "--output", tmp_path / "model.json")
    assert code == 0
    assert (tmp_path / "model.json").read_text() == out
    assert json.loads(out)["format"] == "muri-opt/performance/1"


def test_fixed_coefficients_and_a_table(run, samples, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("gpus,dp,throughput\n2,2,9.5\n")
    code, out, _ = run("fit", samples, table, "--form", "shipped", "--fix", "k_opt=0.04", "--fix", "k_off=0", "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["form"] == "shipped"
    assert (answer["coefficients"]["k_opt"], answer["coefficients"]["k_off"]) == (0.04, 0.0)
    assert answer["measured"][0]["throughput"] == 9.5


def test_what_cannot_be_held_out_is_said(run, samples):
    fixed = [word for name in COEFFICIENTS[1:] for word in ("--fix", f"{name}={2 if name != 'k_opt' else 0.04}")]
    one = json.loads(samples.read_text())
    samples.write_text(json.dumps(one | {"samples": one["samples"][:1]}))
    code, out, _ = run("fit", samples, *fixed)
    assert code == 0
    assert "held out     not known, 0 of 1 samples" in out


def test_a_coefficient_at_its_bound_is_marked(run, samples):
    profile = json.loads(samples.read_text())
    for row in profile["samples"]:
        if row["states"] != "offload":
            row["step_ms"] = 1e-6
            row["iteration_ms"] = 3 * row["forward_ms"]
    samples.write_text(json.dumps(profile))
    code, out, _ = run("fit", samples)
    assert code == 0
    assert "at its bound" in out


def test_bad_arguments(refused, samples, tmp_path):
    assert refused("fit") == "samples: found nothing; allowed: at least one file, or --example"
    assert "No such file or directory" in refused("fit", tmp_path / "absent.json")
    assert "did you mean 'shipped'?" in refused("fit", samples, "--form", "shiped")
    assert "--fix: found 'k_opt'; allowed: a coefficient and its value" in refused("fit", samples, "--fix", "k_opt")
    assert "did you mean 'k_opt'?" in refused("fit", samples, "--fix", "k_op=1")
    assert "fixed[k_sync]: found nan" in refused("fit", samples, "--fix", "k_sync=nan")
    assert "a directory" in refused("fit", samples, "--output", tmp_path)


def test_samples_that_cannot_tell(refused, samples, tmp_path):
    profile = json.loads(samples.read_text())
    rows = [row for row in profile["samples"] if row["states"] != "offload"]
    samples.write_text(json.dumps(profile | {"samples": rows}))
    out = tmp_path / "model.json"
    assert "found nothing that tells k_opt_offload, k_off, k_swap" in refused("fit", samples, "--output", out)
    assert not out.exists()
