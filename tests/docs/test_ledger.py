"""The ledger: one row per version, which is there for this version, and gaps as parts of the optimum."""

import pytest

from benchmarks import ledger
from muri_opt import __version__
from muri_opt.studies.compare import CompareRow

PAGE = f"before\n{ledger.BEGIN}\n{ledger.END}\nafter\n"


def row(instance, policy, method, value, bound):
    proof = None if bound is None else "Counting"
    return CompareRow(
        instance=instance,
        jobs=2,
        nodes=1,
        gpus=4,
        policy=policy,
        method=method,
        fingerprint="f",
        reason="OPTIMAL" if value == bound else "FEASIBLE",
        detail="",
        value=value,
        bound=bound,
        gap=None,
        proof=proof,
        solve_seconds=0.1,
    )


def cells(version, filler):
    return [version, *[filler] * (len(ledger.HEAD) - 1)]


def rows_of(page):
    return [line.split(" | ")[0].strip("| ") for line in page.splitlines() if line.startswith("| 0")]


def test_a_version_has_one_row_and_the_others_stay():
    page = ledger.with_row(ledger.with_row(PAGE, cells("0.1.0", "a")), cells("0.2.0", "b"))
    assert rows_of(page) == ["0.1.0", "0.2.0"]
    again = ledger.with_row(page, cells("0.2.0", "c"))
    assert rows_of(again) == ["0.1.0", "0.2.0"]
    assert again == page.replace("b |", "c |")
    assert again.startswith("before\n")
    assert again.endswith("\nafter\n")


def test_a_page_without_a_ledger_is_refused():
    with pytest.raises(ValueError, match="no ledger"):
        ledger.with_row("nothing", cells("0.1.0", "a"))


def test_gaps_are_parts_of_the_optimum_by_system():
    rows = [
        row("one", "muri-s", "heuristic", 75, None),
        row("one", "muri-s", "auto", 100, 100),
        row("two", "muri-l:preset=authors", "heuristic", 100, None),
        row("two", "muri-l:preset=authors", "auto", 100, 100),
        row("one", "srtf", "heuristic", 90, None),
        row("one", "srtf", "auto", 95, 100),
    ]
    proved, *gaps = ledger.gap_cells(rows)
    assert proved == "2 of 3"
    assert dict(zip([*ledger.SYSTEMS, ledger.OTHERS], gaps, strict=True)) == {
        "Muri": "12.5 % (25.0 %)",
        "AFS": "",
        "Rubick": "",
        "AITurbo": "",
        "Philly": "",
        "baselines": "10.0 % (10.0 %)",
    }


def test_a_pair_without_a_bound_is_named():
    with pytest.raises(ValueError, match="one, fifo"):
        ledger.gap_cells([row("one", "fifo", "heuristic", 1, None)])


def test_this_version_is_in_the_ledger():
    assert __version__ in rows_of(ledger.LEDGER.read_text())
