"""Groups that pay too little are found without listing all: the bound is the same as by listing them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from muri_opt import Cluster, Job, Node, Round
from muri_opt.rounds import LinearDuals
from muri_opt.verify.muri import dual_bound, pair_scan
from muri_opt.verify.muri.rules import SLOWDOWNS, Sharing

_SCALE = {"efficiency": 300_000, "gpu-time": 1_000_000, "progress": 10_000, "completion": 3_000_000}


def _round(rng: Any, count: int, stages: int, *, running: bool) -> Round:
    pool = rng.integers(0, 100, (4, stages)) / 10
    jobs = []
    for j in range(count):
        times = pool[rng.integers(4)] if rng.integers(2) else rng.integers(0, 100, stages) / 10
        gpus = int(rng.integers(1, 3))
        now: Any = {}
        if j < 3 * running:
            now = {"state": "running", "placement": {f"r{j}": gpus}, "restart_seconds": 200.0}
        jobs.append(
            Job(
                id=f"j{j}",
                gpus=gpus,
                stage_seconds=tuple(map(float, times)),
                iteration_seconds=float(times.sum()) + 0.5,
                remaining_iterations=int(rng.integers(1, 100)),
                **now,
            )
        )
    nodes = [Node(id="n0", gpus=8), *(Node(id=f"r{j}", gpus=2) for j in range(3 * running))]
    return Round(cluster=Cluster(nodes=tuple(nodes)), jobs=tuple(jobs), resources=tuple("abcdef"[:stages]))


def _prices(rng: Any, count: int, scale: int) -> LinearDuals:
    once = (rng.random(count) * scale * rng.random() * 1.5).astype(int).tolist()
    return LinearDuals(
        denominator=int(rng.integers(1, 50)),
        multipliers={"once": tuple(once), "gpus": (int(rng.random() * scale * 2),)},
    )


def _both(round_: Round, rules: Sharing, duals: LinearDuals, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    listed = dual_bound.sharing_bound._function(round_, rules, duals)
    with monkeypatch.context() as patched:
        patched.setattr(dual_bound, "LISTED", 0)
        return listed, dual_bound.sharing_bound._function(round_, rules, duals)


@pytest.mark.parametrize("objective", list(_SCALE))
@pytest.mark.parametrize("pattern", pair_scan.MONOTONE)
def test_the_bound_is_the_same_as_by_listing_all_groups(
    pattern: str, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(len(pattern) + len(objective))
    unpaid = 0
    for trial in range(12):
        stages = 3 if pattern == "muri-4slot-steady" else int(rng.integers(2, 7))
        count = int(rng.integers(3, 12))
        round_ = _round(rng, count, stages, running=trial % 3 == 0)
        rules = Sharing(
            pattern=pattern,
            objective=objective,
            mixed=bool(rng.integers(2)),
            slowdowns=SLOWDOWNS["muri" if trial % 2 else "none"],
            horizon=600_000_000 if trial % 3 == 0 else None,
        )
        duals = _prices(rng, count, _SCALE[objective])
        listed, scanned = _both(round_, rules, duals, monkeypatch)
        assert scanned == listed
        total = sum(duals.multipliers["once"]) + duals.multipliers["gpus"][0] * round_.cluster.total_gpus
        unpaid += scanned > total // duals.denominator
    assert unpaid  # some prices were too low, so that groups were found


@pytest.mark.parametrize(("most", "together"), [(10**6, 1), (10**6, 5), (10**6, 100), (0, 100)])
@pytest.mark.parametrize("pattern", ["cyclic", "muri-cyclic"])
def test_pairs_that_meet_all_others_miss_no_group(
    pattern: str, most: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prices are such that hardly a group is above them: either pair of it may be the one that is found.

    Pairs are looked at in the order of what they are above their price, or of their jobs; and with jobs one by one,
    where they cannot all be kept.
    """
    monkeypatch.setattr(pair_scan, "MOST_PAIRS", most)
    monkeypatch.setattr(pair_scan, "_TOGETHER", together)
    rng = np.random.default_rng(len(pattern))
    for _ in range(30):
        times = rng.integers(1, 100, (4, 4))[rng.integers(0, 4, 9)] + rng.integers(0, 5, (9, 4))
        jobs = tuple(
            Job(id=f"j{j}", gpus=1, stage_seconds=tuple(map(float, row)), iteration_seconds=1.0, remaining_iterations=1)
            for j, row in enumerate(times)
        )
        round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=jobs, resources=tuple("abcd"))
        free = LinearDuals(denominator=1, multipliers={"once": tuple(rng.integers(0, 150_000, 9).tolist())})
        best = dual_bound.sharing_bound._function(round_, Sharing(pattern=pattern), free)
        assert best is not None
        gpu = best - sum(free.multipliers["once"]) - int(rng.integers(1, 30_000))
        duals = LinearDuals(denominator=1, multipliers=dict(free.multipliers) | {"gpus": (gpu,)})
        listed, scanned = _both(round_, Sharing(pattern=pattern), duals, monkeypatch)
        assert scanned == listed == best


@pytest.mark.parametrize("large", [1e9, 1e30, 1e37])
def test_large_numbers_hide_no_group(large: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where floats of 32 bits do not hold them, pairs do not meet all others."""
    rng = np.random.default_rng(7)
    stages = rng.integers(1, 1000, (12, 4)).astype(np.float64)
    adds, pays = stages.sum(axis=1) * large, rng.random(12) * large / 10
    every = np.ones(12)
    bidders = pair_scan.Bidders(
        pattern="cyclic", stages=stages, adds=adds, pays=pays, left=every, fixed=large, exact=True
    )
    found = pair_scan.most_profitable(bidders, 4, 0.0)
    monkeypatch.setattr(pair_scan, "LARGEST", 0.0)
    alone = pair_scan.most_profitable(bidders, 4, 0.0)
    assert {tuple(sorted(group)) for group in found.groups.tolist()} == {
        tuple(sorted(group)) for group in alone.groups.tolist()
    }
    assert len(found.groups)
    assert found.conceded == alone.conceded == 0.0


def test_where_not_all_is_looked_at_more_is_conceded(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    round_, rules = _round(rng, 12, 4, running=False), Sharing()
    duals = LinearDuals(denominator=1, multipliers={"once": (1_000,) * 12, "gpus": (500_000,)})
    listed, scanned = _both(round_, rules, duals, monkeypatch)
    with monkeypatch.context() as patched:  # pairs that cannot all be kept
        patched.setattr(pair_scan, "MOST_PAIRS", 0)
        patched.setattr(pair_scan, "MOST_STEPS", 12 * 3)
        short = _both(round_, rules, duals, patched)
    monkeypatch.setattr(pair_scan, "MOST_FOURS", 2)
    few = _both(round_, rules, duals, monkeypatch)
    assert listed == scanned == short[0] == few[0]
    assert short[1] > listed
    assert few[1] >= listed


@pytest.mark.parametrize("stages", [6, 7, 8])
def test_two_opposite_pairs_that_are_not_a_quarter_apart_are_not_taken_for_each_other(
    stages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All four jobs are busy in one slot only if c and d, which pay nearly all they add, sit just there."""
    half = stages // 2
    begins = {"a": 0, "b": half, "c": half - 1, "d": stages - 1}
    jobs = []
    for name, slot in begins.items():
        times = [0.0] * stages
        times[-slot % stages] = 10.0
        jobs.append(Job(id=name, gpus=1, stage_seconds=tuple(times), iteration_seconds=10.0, remaining_iterations=1))
    cluster = Cluster(nodes=(Node(id="n0", gpus=1),))
    round_ = Round(cluster=cluster, jobs=tuple(jobs), resources=tuple("abcdefgh"[:stages]))
    add = 1_000_000 // stages
    once = (0, 0, add * 9 // 10, add * 9 // 10)
    duals = LinearDuals(denominator=1, multipliers={"once": once, "gpus": (add * 19 // 10,)})
    listed, scanned = _both(round_, Sharing(), duals, monkeypatch)
    assert scanned == listed
