"""What is measured of a run, against numbers worked out by hand; and the table of several runs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from examples.common.measures import Measures, quantile
from examples.simulators import SIMULATORS
from examples.study import add_row, cells, command
from examples.tables import against_theirs, read_rows, tables


def two_jobs() -> Measures:
    """a: 0 to 30 s, stopped once; b: 0 to 20 s, moved once; four GPUs."""
    measures = Measures({"n0": 2, "n1": 2})
    measures.arrived("a", 0.0, 4, 10.0)
    measures.arrived("b", 0.0, 1, 15.0)
    measures.round(0.0, {"a": {"n0": 2, "n1": 2}})
    measures.round(5.0, {"b": {"n0": 1}})
    measures.round(15.0, {"b": {"n1": 1}})
    measures.round(25.0, {"a": {"n0": 2, "n1": 2}})
    measures.ended("b", 20.0)
    measures.ended("a", 30.0)
    return measures


def test_times_stops_use_and_fairness_by_hand() -> None:
    row = two_jobs().row()
    assert (row["mean"], row["median"], row["p99"], row["makespan"]) == (25.0, 20.0, 30.0, 30.0)
    assert row["stops"] == 2  # a is stopped at 5 s, b is moved at 15 s; that b ends is no stop
    assert row["utilisation"] == pytest.approx((4 * 5 + 1 * 10 + 1 * 5 + 4 * 5) / (4 * 30))
    # While a is there, 50 / 30 jobs are there; its part is 4 GPUs for 3/5 of the time: 10 s take 50 / 3 s.
    assert row["ftf_worst"] == pytest.approx(30 / (10 * 5 / 3))
    assert row["ftf_above_1"] == 1.0
    assert row["over_capacity"] == 0


def test_nodes_that_hold_more_than_they_have_are_counted() -> None:
    measures = Measures({"n0": 2})
    measures.round(0.0, {"a": {"n0": 2}, "b": {"n0": 1}})
    assert measures.over_capacity == 1
    measures.round(1.0, {"a": {"n9": 1}})
    assert measures.over_capacity == 2


def test_jobs_that_share_count_their_gpus_once() -> None:
    measures = Measures({"n0": 2})
    for name in "ab":
        measures.arrived(name, 0.0, 2, 10.0)
    measures.round(0.0, {"a": {"n0": 2}, "b": {"n0": 2}}, {"a": ("b",), "b": ("a",)})
    measures.ended("a", 5.0)
    measures.ended("b", 10.0)
    row = measures.row()
    assert (row["over_capacity"], row["utilisation"], row["stops"]) == (0, 1.0, 0)


def test_what_decides_is_timed() -> None:
    measures = two_jobs()
    assert measures.timed(max, 3, 4) == 4
    assert measures.row()["decision_ms"] > 0


def test_quantiles_are_values() -> None:
    assert [quantile([1, 2, 3, 4], share) for share in (0.5, 0.99, 0.25)] == [2, 4, 1]
    assert quantile([], 0.5) == 0.0


def test_a_table_of_rows_that_were_written(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    assert read_rows(file) == []
    for seed, mean in enumerate((100.0, 300.0)):
        named = {"simulator": "gavel", "trace": "makespan", "seed": seed, "policy": "rubick", "method": "auto"}
        row = {**two_jobs().row(), "mean": mean, "proved": 0.5, "violations": 0}
        add_row(file, {**named, **row})
        add_row(file, {**named, **row, "policy": "fifo_perf", "method": "theirs", "mean": 150.0, "proved": ""})
    with file.open(newline="") as written:
        assert len(list(csv.reader(written))) == 5
    text = tables(read_rows(file))
    lines = text.splitlines()
    assert lines[0] == "### gavel, `makespan`: 2 jobs, 4 GPUs"
    assert [line.split(" | ")[0] for line in lines[4:6]] == ["| `fifo_perf`", "| `rubick`"]  # the shorter mean first
    assert lines[5].startswith("| `rubick` | auto | 200 ± 1,271 | 20 | 30 | 30 | 1.80 ± 0.00 | 100% |")
    assert lines[5].endswith("| 50% | 0 | 2 |")
    alone = tables(read_rows(file)[:1]).splitlines()[4]
    assert alone.startswith("| `rubick` | auto | 100 | 20 | 30 | 30 | 1.80 | 100% |")  # one seed has no interval


def test_ours_over_the_best_of_theirs_on_the_same_jobs() -> None:
    rows = [
        {"simulator": "blox", "trace": trace, "seed": seed, "policy": policy, "method": method, "mean": mean}
        for trace, seed, policy, method, mean in [
            ("small", "0", "Fifo", "theirs", "200"),
            ("small", "0", "Las", "theirs", "100"),
            ("small", "0", "srtf", "auto", "80"),
            ("small", "1", "Fifo", "theirs", "50"),
            ("small", "1", "Las", "theirs", "100"),
            ("small", "1", "srtf", "auto", "60"),
            ("gavel", "0", "Las", "theirs", "10"),
            ("gavel", "0", "srtf", "auto", "9"),
            ("gavel", "0", "joint-s", "auto", "10"),
            ("gavel", "1", "srtf", "auto", "9"),  # nothing of theirs was run
        ]
    ]
    lines = against_theirs(rows).splitlines()
    assert lines[0] == "### blox: mean completion time over that of the best of theirs"
    whole = "0.952 (0.567 to 1.599)"  # the cube root of 0.8 x 1.2 x 0.9; 4.303 deviations of the mean of logarithms
    assert lines[4] == f"| `srtf` | auto | 1.000 ± 2.541 | 0.900 | {whole} | 2 of 3 | 0.750 |"
    assert lines[5] == "| `joint-s` | auto |  | 1.000 | 1.000 | 0 of 1 |  |"


def test_a_study_has_every_policy_on_every_trace_with_every_seed() -> None:
    names = list(SIMULATORS)
    found = list(cells(names, 2))
    assert len({tuple(cell.values()) for cell in found}) == len(found)
    expected = sum(len(SIMULATORS[name].policies(trace)) for name in names for trace in SIMULATORS[name].traces)
    assert len(found) == 2 * expected
    assert [cell["seed"] for cell in found] == sorted(cell["seed"] for cell in found)
    said = command(found[0], Path("/folder"), "python3.8", 0.3)
    assert said[:3] == ["python3.8", "-m", f"examples.{names[0]}.run"]
