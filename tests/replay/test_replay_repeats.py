"""Repetitions of replays: what is one, what each is compared with, and what tables say of them."""

from __future__ import annotations

import pytest

from muri_opt.errors import InputError
from muri_opt.replay.studies.repeats import FIGURES, HEAD, repeats_of
from muri_opt.replay.studies.runs import RunRow, StudyRun
from muri_opt.replay.studies.tables import write_markdown
from muri_opt.replay.workloads.files import read_workload, workload_texts

OTHERS = {"jobs": 2, "waiting": 0.0, "utilisation": 0.5, "rounds": 8, "settled": 0}


def row(policy, workload, mean, *, seed=0, method="heuristic", interval=None, makespan=200.0):
    run = StudyRun(workload=workload, cluster="1x4", policy=policy, seed=seed, method=method, interval=interval)
    figures = {**OTHERS, "mean": mean, "p95": mean, "p99": 2 * mean, "makespan": makespan}
    return RunRow(run=run, fingerprint="f", figures=figures, run_seconds=1.0, notes={})


def of(rows, figure="mean"):
    return {(one.policy, one.method): one for one in repeats_of(rows) if one.figure == figure}


def test_workloads_are_repetitions_and_pairs():
    means = {"fifo": (100.0, 400.0, 50.0), "srtf": (50.0, 200.0, 25.0)}
    rows = [row(policy, f"{k}.csv", mean) for k in range(3) for policy in means for mean in [means[policy][k]]]
    found = of(rows)
    first, second = found["fifo", "heuristic"], found["srtf", "heuristic"]
    assert (first.repetitions, first.ratio, first.against) == (3, None, None)
    assert first.value.mean == pytest.approx(550 / 3)
    assert (second.ratio.mean, second.ratio.low, second.ratio.high) == pytest.approx((0.5, 0.5, 0.5))
    assert (second.against.smaller, second.against.larger, second.against.p) == (3, 0, 0.25)
    assert [one.figure for one in repeats_of(rows)] == [figure for figure in FIGURES for _ in means]


def test_seeds_of_several_workloads_are_averaged():
    rows = [row("fifo", name, 10.0, seed=seed) for name in "ab" for seed in (0, 1)]
    rows += [row("afs-p", name, mean, seed=seed) for name in "ab" for seed, mean in ((0, 10.0), (1, 30.0))]
    found = of(rows)["afs-p", "heuristic"]
    assert (found.repetitions, found.value.mean, found.ratio.mean) == (2, 20.0, pytest.approx(2.0))


def test_seeds_of_one_workload_count_where_they_change_something():
    same = [row(policy, "a.csv", mean, seed=seed) for seed in range(5) for policy, mean in (("fifo", 10), ("srtf", 5))]
    assert repeats_of(same) == []
    coins = [row("fifo", "a.csv", 10.0, seed=seed) for seed in range(5)]
    coins += [row("afs-p", "a.csv", mean, seed=seed) for seed, mean in enumerate((5.0, 6.0, 5.0, 5.0, 7.0))]
    found = of(coins)
    assert [one.repetitions for one in found.values()] == [3, 3]
    assert found["afs-p", "heuristic"].value.mean == 6.0


def test_a_single_workload_repeats_nothing():
    assert repeats_of([]) == []
    assert repeats_of([row("fifo", "a.csv", 10.0), row("srtf", "a.csv", 5.0)]) == []


def test_methods_are_lines_and_other_settings_other_studies():
    rows = [
        row("fifo", name, 10.0 + place, method=method)
        for method in ("heuristic", "exact")
        for place, name in enumerate("ab")
    ]
    assert list(of(rows)) == [("fifo", "heuristic"), ("fifo", "exact")]
    slower = [row("srtf", name, 99.0 + place, interval=60.0) for place, name in enumerate("ab")]
    assert of(rows + slower)["srtf", "heuristic"].ratio is None  # the first of its own setting


def test_a_run_that_failed_is_missing_in_the_pairs_only():
    rows = [row("fifo", name, 10.0) for name in "abc"] + [row("srtf", name, 5.0) for name in "bcd"]
    found = of(rows)["srtf", "heuristic"]
    assert (found.repetitions, found.against.pairs) == (3, 2)
    apart = of([row("fifo", name, 10.0) for name in "ab"] + [row("srtf", name, 5.0) for name in "cd"])
    assert (apart["srtf", "heuristic"].ratio, apart["srtf", "heuristic"].against) == (None, None)


def test_no_ratio_of_nothing():
    rows = [row(policy, name, 1.0, makespan=0.0) for name in "ab" for policy in ("fifo", "srtf")]
    found = of(rows, "makespan")["srtf", "heuristic"]
    assert (found.ratio, found.against) == (None, None)
    assert found.cells()[-5:] == ["-"] * 5


def test_an_interval_of_times_is_cut_at_0():
    found = of([row("fifo", "a", 1.0), row("fifo", "b", 99.0)])["fifo", "heuristic"]
    assert found.value.low < 0
    assert found.cells()[5].startswith("0.0 to ")


def test_the_table_is_in_the_file(tmp_path):
    rows = [row(policy, name, mean) for name in "ab" for policy, mean in (("fifo", 10.0), ("srtf", 5.0))]
    write_markdown(rows, tmp_path / "table.md")
    text = (tmp_path / "table.md").read_text()
    assert "| " + " | ".join(HEAD) + " |" in text
    assert "| mean JCT, s | srtf | heuristic | 2 | 5.0 | 5.0 to 5.0 | 0.500 | 0.500 to 0.500 | 2 | 0 | 0.5 |" in text


def test_one_text_for_several_workloads():
    texts = workload_texts("generate:tiresias?count=3&jobs=9&seed=4")
    assert texts == [f"generate:tiresias?jobs=9&seed={seed}" for seed in (4, 5, 6)]
    assert len({read_workload(text).jobs for text in texts}) == 3
    assert workload_texts("generate:philly?count=1") == ["generate:philly?seed=0"]
    assert workload_texts("trace.csv?first=9") == ["trace.csv?first=9"]
    with pytest.raises(InputError, match="count: found 0"):
        workload_texts("generate:philly?count=0")
    with pytest.raises(InputError, match="option of this workload"):
        read_workload("generate:philly?count=3")
