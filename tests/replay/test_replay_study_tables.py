"""Tables of studies: every figure as CSV and Parquet, ratios to the first policy as Markdown."""

from __future__ import annotations

import csv
import sys

import pyarrow.parquet
import pytest
from replay_traces import write_trace

from muri_opt.errors import RefusalError
from muri_opt.replay.studies.runs import RunRow, StudyRun
from muri_opt.replay.studies.study import run_study
from muri_opt.replay.studies.tables import columns_of, comparison, write_markdown


def row(policy: str, *, workload: str = "a.csv", seed: int = 0, method: str = "heuristic", **figures: float) -> RunRow:
    run = StudyRun(workload=workload, cluster="1x4", policy=policy, seed=seed, method=method)
    plain = {
        "jobs": 2,
        "mean": 100.0,
        "p95": 150.0,
        "p99": 180.0,
        "makespan": 200.0,
        "waiting": 0.0,
        "utilisation": 0.5,
        "rounds": 8,
        "settled": 0,
    }
    return RunRow(run=run, fingerprint="f", figures={**plain, **figures}, run_seconds=1.0, notes={})


def test_ratios_are_to_the_first_run_of_the_same_workload() -> None:
    rows = [row("fifo", mean=200.0), row("srtf", mean=100.0), row("fifo", workload="b.csv", mean=50.0)]
    rows.append(row("srtf", workload="b.csv", mean=75.0))
    head, cells = comparison(rows)
    assert head[:5] == ["workload", "policy", "jobs", "mean JCT, min", "ratio"]
    assert [line[3:5] for line in cells] == [
        ["3.33", "1.000"],
        ["1.67", "0.500"],
        ["0.83", "1.000"],
        ["1.25", "1.500"],
    ]


def test_methods_and_seeds_are_columns_where_they_differ() -> None:
    rows = [row("fifo"), row("fifo", method="exact", mean=90.0, settled=6), row("fifo", seed=1, mean=50.0)]
    head, cells = comparison(rows)
    assert head[:5] == ["workload", "policy", "method", "seed", "jobs"]
    assert [line[5:7] for line in cells] == [["100.0", "1.000"], ["90.0", "0.900"], ["50.0", "1.000"]]
    assert (head[-1], [line[-1] for line in cells]) == ("settled", ["-", "75.0%", "-"])
    assert comparison([row("fifo", method="exact", rounds=0)])[1][0][-1] == "-"
    assert comparison([row("fifo")])[0][-1] == "GPUs used"


def test_no_ratio_to_nothing() -> None:
    _, cells = comparison([row("fifo", p95=0.0), row("srtf")])
    assert [line[6] for line in cells] == ["-", "-"]
    head, cells = comparison([])
    assert (head[3], cells) == ("mean JCT, s", [])


def test_markdown(tmp_path) -> None:
    write_markdown([row("fifo", workload="a|b.csv")], tmp_path / "table.md")
    first, rule, line = (tmp_path / "table.md").read_text().splitlines()
    assert first.startswith("| workload | policy | jobs | mean JCT, s | ratio |")
    assert rule.startswith("| --- | --- | ---: |")
    assert line.startswith("| a\\|b.csv | fifo | 2 | 100.0 | 1.000 |")


def test_a_figure_that_only_some_have_is_empty_for_the_others() -> None:
    columns = columns_of([row("fifo"), row("srtf", utilisation_gpu=0.25)])
    assert columns["utilisation_gpu"] == [None, 0.25]
    assert list(columns)[-1] == "run_seconds"


def test_csv_and_parquet_hold_the_rows(tmp_path) -> None:
    trace, folder = write_trace(tmp_path / "trace.csv"), tmp_path / "study"
    runs = [StudyRun(workload=trace, cluster="1x4", policy=policy, clock="muri") for policy in ("srtf", "srsf")]
    runs.append(StudyRun(workload=trace, cluster="1x4", policy="fifo", interval=60))
    rows = run_study(runs, folder=folder, engine="here", parquet=True)
    wanted = [row.as_dict() for row in rows]
    with (folder / "results.csv").open(newline="") as file:
        for text, values in zip(csv.DictReader(file), wanted, strict=True):
            assert text == {name: "" if values.get(name) is None else str(values[name]) for name in text}
            assert values.keys() <= text.keys()
    read = pyarrow.parquet.read_table(folder / "results.parquet").to_pylist()
    assert [
        {name: value for name, value in entry.items() if name in wanted[k]} for k, entry in enumerate(read)
    ] == wanted


def test_parquet_without_pyarrow_is_refused_before_anything_runs(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    trace = write_trace(tmp_path / "trace.csv")
    run = StudyRun(workload=trace, cluster="1x4", policy="srtf", clock="muri")
    with pytest.raises(
        RefusalError, match=r"pyarrow is not installed; allowed: CSV, or pip install 'muri-opt\[parquet"
    ):
        run_study([run], folder=tmp_path / "study", engine="here", parquet=True)
    assert not (tmp_path / "study").exists()
