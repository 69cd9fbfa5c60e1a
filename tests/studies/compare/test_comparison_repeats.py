"""Losses over many rounds: their means and intervals, and how they differ from those of the first line."""

from __future__ import annotations

import pytest

from muri_opt.studies.compare.pairs import pairs_of
from muri_opt.studies.compare.repeats import HEAD, loss_repeats
from muri_opt.studies.compare.rows import CompareRow
from muri_opt.studies.compare.summary import summary_of


def row(instance, policy, value, *, bound=100, method="heuristic"):
    what = {"jobs": 1, "nodes": 1, "gpus": 1, "fingerprint": "f", "reason": "FEASIBLE", "detail": "", "gap": None}
    return CompareRow(
        instance=instance,
        policy=policy,
        method=method,
        value=value,
        bound=bound,
        proof="Counting",
        solve_seconds=0.1,
        **what,
    )


def test_losses_are_compared_round_by_round():
    rows = [row(name, "fifo", value) for name, value in zip("abc", (90, 80, 100), strict=True)]
    rows += [row(name, "mine", value) for name, value in zip("abc", (80, 70, 90), strict=True)]
    first, second = loss_repeats(pairs_of(rows))
    assert (first.rounds, first.difference, first.against) == (3, None, None)
    assert (first.loss.mean, second.loss.mean) == pytest.approx((0.1, 0.2))
    assert (second.difference.mean, second.difference.low, second.difference.high) == pytest.approx((0.1,) * 3)
    assert (second.against.smaller, second.against.equal, second.against.larger, second.against.p) == (0, 0, 3, 0.25)
    assert second.cells()[:4] == ["mine", "heuristic", "3", "20.00 %"]
    assert second.cells()[5:] == ["+10.00", "+10.00 to +10.00", "0", "0", "3", "0.25"]


def test_rounds_without_a_loss_do_not_count():
    rows = [row("a", "fifo", 90), row("b", "fifo", 90), row("a", "mine", 50), row("b", "mine", None)]
    first, second = loss_repeats(pairs_of(rows))
    assert (first.rounds, second.rounds, second.against.pairs) == (2, 1, 1)
    assert second.cells()[4] == second.cells()[6] == "-"
    assert loss_repeats(pairs_of([row("a", "fifo", 90), row("a", "mine", 80)])) == ()
    assert loss_repeats([]) == ()


def test_an_interval_of_losses_is_cut_at_0():
    (only,) = loss_repeats(pairs_of([row("a", "fifo", 100), row("b", "fifo", 60)]))
    assert only.loss.low < 0
    assert only.cells()[4].startswith("0 % to ")


def test_the_summary_has_them_in_its_file_and_as_plain_values():
    summary = summary_of([row(name, policy, 90) for name in "ab" for policy in ("fifo", "mine")])
    assert "| " + " | ".join(HEAD) + " |" in summary.markdown()
    assert [one["policy"] for one in summary.as_dict()["repeats"]] == ["fifo", "mine"]
    assert "Differences" not in summary_of([row("a", "fifo", 90)]).markdown()
