"""Gap studies: rows in order, nothing done twice, refusals and failures told, results that read back."""

from __future__ import annotations

import csv
import json

import msgspec
import pyarrow.parquet
import pytest
from comparison_library import own_library, spoil

from muri_opt.errors import InputError
from muri_opt.rounds import Proof, Reason, Violation
from muri_opt.solve.round import solve_round
from muri_opt.studies.compare import REFUSED, VIOLATED, CompareRow, StoredOptimumError, compare, pairs_of, summary_of
from muri_opt.studies.library import instances

HANDFUL = ("small/gangs-02", "small/elastic-01", "small/interleaving-01", "small/configurations-01", "small/philly-01")
ROUND = "generate:gangs?jobs=4&nodes=1"


def here(sources, folder, **more):
    """Run a study in this process; return its rows and how many runs were done, not found done."""
    told = []
    rows = compare(sources, folder=folder, engine="here", progress=lambda over, _: told.append(over), **more)
    return rows, len(told) - 1


def key(row: CompareRow) -> tuple[str, str, str]:
    return row.instance, row.policy, row.method


def test_two_exact_methods_prove_the_same_optima(tmp_path):
    rows, _ = here(HANDFUL, tmp_path / "study", seconds=60)
    known = {one.name: one for one in instances(family="small")}
    pairs = pairs_of(rows)
    assert [(pair.instance, pair.policy) for pair in pairs] == [
        (name, one.policy) for name in HANDFUL for one in known[name].best.optima
    ]
    for pair in pairs:
        heuristic, *exact = pair.rows
        assert [row.method for row in pair.rows] == ["heuristic", "exact@cp-sat", "exact@highs"]
        assert [(row.reason, row.value, row.bound) for row in exact] == [(Reason.OPTIMAL, pair.best, pair.best)] * 2
        assert heuristic.value <= pair.best == heuristic.known_value == heuristic.known_bound
        assert pair.optimal
        assert pair.proof not in (None, Proof.CLAIM_ONLY)
    summary = summary_of(rows)
    assert (summary.pairs, summary.exact, summary.proved, summary.agreed) == (len(pairs),) * 4
    assert (summary.refused, summary.contradictions, summary.open) == (0, (), ())


def test_a_row_is_what_solve_round_says(tmp_path):
    rows, _ = here(["small/gangs-02"], tmp_path / "study", policies=["srtf"], methods=["heuristic", "exact@highs"])
    (instance,) = [one for one in instances(family="small") if one.name == "small/gangs-02"]
    for row in rows:
        result = solve_round(instance.round(), "srtf", row.method)
        assert (row.value, row.bound, row.gap) == (result.value, result.bound, result.gap)
        assert (row.reason, row.proof) == (result.termination.reason, result.certificate.proof)
        assert (row.jobs, row.nodes) == (instance.jobs, instance.nodes)
        assert row.solve_seconds > 0
    assert rows[0].detail == "HEURISTIC: srtf ran to its end" or rows[0].proved


def test_what_does_not_take_a_round_is_a_row_that_says_why(tmp_path):
    methods = ["heuristic", "exact@exhaustive"]
    rows, done = here(
        ["generate:gangs?jobs=40&nodes=4"], tmp_path / "study", policies=["srtf", "afs-l"], methods=methods
    )
    assert done == 4
    assert [row.reason for row in rows] == ["FEASIBLE", REFUSED, REFUSED, REFUSED]
    assert "exhaustive" in rows[1].detail
    assert ".scaling: found nothing; allowed: a table of GPU counts" in rows[2].detail
    assert rows[2].refused
    assert (rows[2].value, rows[2].bound, rows[2].proof) == (None, None, None)
    summary = summary_of(rows)
    assert (summary.pairs, summary.refused, summary.exact) == (1, 1, 0)
    assert (
        here(["generate:gangs?jobs=40&nodes=4"], tmp_path / "study", policies=["srtf", "afs-l"], methods=methods)[1]
        == 0
    )


def test_processes_give_the_same_rows(tmp_path):
    words = {"policies": ["fifo", "afs-l"], "methods": ["heuristic", "exact@highs"], "seconds": 30}
    alone, _ = here([ROUND], tmp_path / "here", **words)
    beside = compare([ROUND], folder=tmp_path / "processes", jobs=1, **words)
    assert [timeless(row) for row in beside] == [timeless(row) for row in alone]


def timeless(row: CompareRow) -> dict:
    return {name: value for name, value in row.as_dict().items() if name != "solve_seconds"}


def test_what_is_done_is_not_done_again_and_settings_make_another_run(tmp_path):
    folder, words = tmp_path / "study", {"methods": ["heuristic"]}
    first, done = here([ROUND], folder, policies=["fifo"], **words)
    assert done == 1
    both, done = here([ROUND], folder, policies=["srtf", "fifo"], **words)
    assert (done, both[1]) == (1, first[0])
    assert here([ROUND], folder, policies=["fifo", "srtf"], **words) == (both[::-1], 0)
    for changes in ({"seconds": 3.0}, {"gap": 0.5}, {"methods": ["auto"]}):
        other, done = here([ROUND], folder, policies=["fifo"], **{**words, **changes})
        assert done == 1
        assert other[0].fingerprint != first[0].fingerprint


def test_csv_and_parquet_read_back(tmp_path):
    folder = tmp_path / "study"
    policies = ["las:objective=lexicographic", "afs-l"]
    rows, _ = here(["generate:gangs?jobs=80"], folder, policies=policies, methods=["heuristic"], parquet=True)
    assert rows[0].value > 2**64
    with (folder / "results.csv").open(newline="") as file:
        for read, row in zip(csv.DictReader(file), rows, strict=True):
            assert read == {name: "" if cell is None else str(cell) for name, cell in row.as_dict().items()}
    for read, row in zip(pyarrow.parquet.read_table(folder / "results.parquet").to_pylist(), rows, strict=True):
        wanted = row.as_dict()
        wanted |= {name: None if wanted[name] is None else str(wanted[name]) for name in ("value", "bound")}
        assert read == wanted


def test_a_run_that_fails_is_told_not_kept_and_tried_again(tmp_path, monkeypatch):
    def broken(round_, policy, method, limits):
        result = solve_round(round_, policy, method, limits)
        if policy == "srtf":
            raise ZeroDivisionError("by zero")
        if policy == "las":
            bad = Violation(rule="gpus", where="n0", detail="9 of 8")
            certificate = msgspec.structs.replace(result.certificate, feasible=False, violations=(bad,))
            return msgspec.structs.replace(result, certificate=certificate)
        return result

    words = {"policies": ["fifo", "srtf", "las"], "methods": ["heuristic"]}
    with monkeypatch.context() as patch:
        patch.setattr("muri_opt.studies.compare.runs.solve_round", broken)
        rows, done = here([ROUND], tmp_path / "study", **words)
    assert done == 3
    assert [row.reason for row in rows[1:]] == [Reason.FAILED, VIOLATED]
    assert [row.detail for row in rows[1:]] == ["ZeroDivisionError: by zero", "gpus (n0): 9 of 8"]
    assert [row.value for row in rows[1:]] == [None, None]
    summary = summary_of(rows)
    name = "generate:gangs?jobs=4&nodes=1&seed=0"
    assert summary.failed == (f"{name}, srtf, heuristic: ZeroDivisionError: by zero",)
    assert summary.violated == (f"{name}, las, heuristic: gpus (n0): 9 of 8",)
    assert (tmp_path / "study" / "comparison.md").read_text().count("by zero") == 2
    again, done = here([ROUND], tmp_path / "study", **words)
    assert done == 2
    assert all(row.value is not None for row in again)


def test_a_solver_that_dies_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr("muri_opt.solve.search.relax_within", _exits)
    rows, _ = here([ROUND], tmp_path / "study", policies=["fifo"], methods=["exact@highs"])
    (row,) = rows
    assert row.reason == Reason.FAILED
    assert row.detail.startswith("the solver process ended with code ")


def _exits(*arguments):
    raise SystemExit(3)


def test_a_stored_optimum_that_was_tampered_with_is_named(tmp_path):
    library, folder = own_library(tmp_path / "library", "small/gangs-01", "small/gangs-02"), tmp_path / "study"
    spoil(library, "small/gangs-02", "srtf", value=1)
    with pytest.raises(StoredOptimumError, match=r"small/gangs-02, srtf: value \(value\)") as wrong:
        here(["small"], folder, library=library)
    assert [(one.instance, one.policy) for one in wrong.value.findings] == [("small/gangs-02", "srtf")]
    assert not folder.exists()
    rows, _ = here(["small"], folder, library=library, policies=["fifo"], methods=["heuristic"])
    assert [row.instance for row in rows] == ["small/gangs-01", "small/gangs-02"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"value": 10**6}, "exact@highs reaches 1000000, and heuristic says that"),
        ({"value": 10**6}, "exact@highs reaches 1000000, and the library says that"),
        ({"bound": 1}, "and exact@highs says that 1 is the most"),
        ({"value": None, "bound": None, "reason": "INFEASIBLE"}, "exact@highs says that there is no decision"),
    ],
)
def test_a_row_that_cannot_be_true_is_a_contradiction(tmp_path, changes, said):
    folder, words = tmp_path / "study", {"policies": ["las"], "methods": ["heuristic", "exact@highs"]}
    rows, _ = here(["small/gangs-01"], folder, **words)
    assert summary_of(rows).contradictions == ()
    lines = (folder / "results.jsonl").read_text().splitlines()
    line = json.loads(lines[2])
    line["found"] |= changes
    (folder / "results.jsonl").write_text("\n".join([*lines[:2], json.dumps(line)]) + "\n")
    rows, done = here(["small/gangs-01"], folder, **words)
    assert done == 0
    found = summary_of(rows).contradictions
    assert any(line.startswith("small/gangs-01, las: ") and said in line for line in found)


def test_bad_input_makes_no_folder(tmp_path):
    folder = tmp_path / "study"
    for changes, said in [
        ({"policies": ["fifi"]}, "did you mean 'fifo'"),
        ({"methods": ["exat"]}, "did you mean 'exact'"),
        ({"seconds": float("nan")}, "limits.seconds: found nan"),
        ({"gap": -1.0}, "limits.gap: found -1"),
        ({"engine": "dask"}, "engine: found 'dask'"),
        ({"policies": ["stored"]}, "only rounds of the library have stored optima"),
    ]:
        with pytest.raises(InputError, match=said):
            compare([ROUND], **{"folder": folder, "policies": ["fifo"], **changes})
    assert not folder.exists()


def test_results_of_another_version_or_study_are_refused(tmp_path):
    words = {"policies": ["fifo"], "methods": ["heuristic"]}
    for header, said in [
        (
            '{"format":"muri-opt/comparison/1","version":"0.0.9"}',
            "results of version '0.0.9'; allowed: those of version",
        ),
        (
            '{"format":"muri-opt/study/1","version":"0.1.0"}',
            "found 'muri-opt/study/1'; allowed: 'muri-opt/comparison/1'",
        ),
    ]:
        (tmp_path / "results.jsonl").write_text(header + "\n")
        with pytest.raises(InputError, match=said):
            here([ROUND], tmp_path, **words)
        assert (tmp_path / "results.jsonl").read_text() == header + "\n"
