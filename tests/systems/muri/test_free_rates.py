"""Rates of jobs that share freely: by the formulas in exact fractions, by the verifier, and as measured."""

from __future__ import annotations

import numpy as np
import pytest
from handmade import gang, round_of
from msgspec.structs import replace
from plain_free import exact_rates

from muri_opt import InputError, Round, Together
from muri_opt.systems.muri.mean_value import MILLION, free_rates
from muri_opt.systems.muri.ways import OWN, Ways
from muri_opt.verify.muri import free as verifier

NEAR = 8
"""Parts per million between rates in whole millionths and exact ones: all that rounding down can do."""


def random_groups(count: int, seed: int) -> list[tuple[np.ndarray, tuple[bool, ...]]]:
    """Return groups of 1 to 4 jobs of 1 to 5 stages, of times that differ by orders of magnitude, some of them 0."""
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        jobs, kinds = int(draw.integers(1, 5)), int(draw.integers(1, 6))
        times = (10 ** draw.uniform(0, 12, (jobs, kinds))).astype(np.int64)
        times[draw.random((jobs, kinds)) < 0.15] = 0
        found.append((times, tuple((draw.random(kinds) < 0.3).tolist())))
    return found


def check(count: int, seed: int) -> None:
    for times, own in random_groups(count, seed):
        ours = free_rates(times[None], own)
        assert (ours == verifier.predicted(times[None], own)).all()
        exact = exact_rates(times.tolist(), own)
        assert all(abs(rate - MILLION * true) <= NEAR for rate, true in zip(ours[0].tolist(), exact, strict=True))


def test_rates_are_those_of_the_formulas() -> None:
    check(250, 1)


@pytest.mark.slow
def test_rates_are_those_of_the_formulas_on_ten_thousand_groups() -> None:
    check(10_000, 2)


def test_many_groups_at_once_are_as_one_by_one_and_the_order_of_jobs_does_not_matter() -> None:
    draw = np.random.default_rng(3)
    stages, own = draw.integers(0, 10**6, (60, 4, 4)), (False, True, False, False)
    together = free_rates(stages, own)
    assert (together == np.concatenate([free_rates(one[None], own) for one in stages])).all()
    order = [2, 0, 3, 1]
    assert (free_rates(stages[:, order], own) == together[:, order]).all()
    assert together.min() >= MILLION // 4
    assert together.max() <= MILLION


def test_by_hand() -> None:
    one_station = np.full((1, 3, 1), 7)
    assert free_rates(one_station, (False,)).tolist() == [[333333] * 3]  # a third each
    assert free_rates(one_station, (True,)).tolist() == [[MILLION] * 3]  # nobody waits for what is his own
    assert free_rates(np.array([[[0, 0], [3, 1]]]), (False, False)).tolist() == [[MILLION, MILLION]]
    # Half and half beside the same: at each station 1 + 1/2 times as long.
    assert free_rates(np.array([[[1, 1], [1, 1]]]), (False, False)).tolist() == [[666666, 666666]]


def test_more_jobs_than_numbers_are_made_for_are_refused() -> None:
    with pytest.raises(InputError, match="at most 4 of 2"):
        free_rates(np.ones((1, 5, 2), dtype=np.int64), (False, False))


def test_both_sides_know_the_same_resources_of_ones_own() -> None:
    assert OWN == verifier.OWN


def measured_round() -> Round:
    times = ((4.0, 1.0, 2.0, 1.0), (1.0, 1.0, 4.0, 2.0), (1.0, 2.0, 1.0, 5.0))
    models = ("resnet", "gpt", "gpt", None)
    jobs = [gang(j, 1, stage_seconds=times[j % 3], model=model) for j, model in enumerate(models)]
    together = (
        Together(models=("gpt", "resnet"), rates=(0.5, 1.25)),
        Together(models=("gpt", "gpt"), rates=(0.25, 0.75)),
        Together(models=("gpt", "resnet", "gpt"), rates=(0.3, 0.9, 0.4)),
    )
    return replace(round_of([2], jobs), format="muri-opt/round/2", together=together)


def test_measured_rates_win_over_the_model() -> None:
    round_ = measured_round()
    ways = Ways.of(round_, "free", "cpu")
    stages = np.array([[round(10**6 * time) for time in job.stage_seconds or ()] for job in round_.jobs])
    models = ways.numbers(round_.jobs)
    checked = verifier.FreeRates.of(round_, "cpu")

    def rates(*group: int) -> list[int]:
        of = np.array([group])
        ours, theirs = ways.rates(stages[of], models[of]), checked.rates(of, stages[of])
        assert (ours == theirs).all()
        return ours[0].tolist()

    assert rates(0, 1) == [1_000_000, 500_000]  # a measured rate above 1 counts as 1
    assert rates(2, 0) == [500_000, 1_000_000]  # by the model, whichever job comes first
    assert rates(1, 2) == [500_000, 500_000]  # the mean of one model that was measured twice
    assert rates(1, 0, 2) == [350_000, 900_000, 350_000]
    assert rates(0, 3) == free_rates(stages[[[0, 3]]], ways.own)[0].tolist()  # a job of no model
