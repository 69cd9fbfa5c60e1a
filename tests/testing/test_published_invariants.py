"""The published policies keep, by their own rules and value, the invariants that the documentation promises."""

import re
from pathlib import Path

import pytest

from muri_opt.testing import INVARIANTS, RATIONALITY, SAFETY, Tier, check_allocator, published

PAGE = Path(__file__).resolve().parents[2] / "docs" / "testing.md"


def promised():
    """Return, for each policy of the table, the names of the rationality invariants it is said to keep."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    start = next(at for at, row in enumerate(rows) if row[0] == "invariant" and "fifo" in row)
    policies, kept = rows[start][1:], {}
    for row in rows[start + 1 :]:
        name = row[0].strip("`")
        for policy, cell in zip(policies, row[1:], strict=False):
            if name in INVARIANTS and INVARIANTS[name].tier is not Tier.FAIRNESS and cell.strip() == "yes":
                kept.setdefault(policy, []).append(name)
    return kept


def test_the_table_speaks_of_every_invariant_and_policy():
    kept = promised()
    assert set(kept) == {
        *("fifo", "srtf", "srsf", "las", "max-min", "tiresias", "muri-s", "muri-l", "afs-l", "rubick", "philly")
    }
    for one in (*RATIONALITY, *SAFETY):
        assert re.search(rf"`{one.name}`", PAGE.read_text()), one.name


@pytest.mark.parametrize("policy", sorted(promised()))
def test_a_policy_keeps_what_is_promised(policy):
    kept = [*SAFETY, *(INVARIANTS[name] for name in promised()[policy])]
    report = check_allocator(published(policy), kept, policy=policy, max_examples=25, seed=7)
    assert set(report.kept) == {one.name for one in kept}


@pytest.mark.parametrize("policy", ["fifo", "afs-l"])
def test_the_exact_method_is_at_the_optimum(policy):
    near = INVARIANTS["near-optimum"].allowing(0.0)
    assert check_allocator(published(policy, "exact"), [*SAFETY, near], policy=policy, max_examples=6).ok
