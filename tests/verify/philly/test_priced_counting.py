"""A price of a GPU bounds what jobs are worth: never less than the best of all sets, and near what counting says."""

from __future__ import annotations

import random

import pytest
from seeds import some_then_all

from muri_opt import Limits, solve_round, verify
from muri_opt.rounds import Proof
from muri_opt.rounds.generate.families import generate
from muri_opt.verify.counting import Pool, counted_best
from muri_opt.verify.philly import counting
from muri_opt.verify.philly.priced_counting import TenantJobs, priced_best


def drawn(draw: random.Random) -> TenantJobs:
    jobs = draw.randint(0, 5)
    gpus, values = [draw.randint(1, 5) for _ in range(jobs)], [draw.randint(-5, 40) for _ in range(jobs)]
    return TenantJobs(gpus, values, draw.choice((0, 1, 7, 100, 1 << 70)), draw.randint(0, 8))


def best_of_all_sets(total: int, tenants: list[TenantJobs]) -> int:
    """Return the best value of any set of jobs, each tried with and without."""
    items = [(at, *job) for at, one in enumerate(tenants) for job in zip(one.gpus, one.values, strict=True)]
    best = 0
    for chosen in range(1 << len(items)):
        some = [item for place, item in enumerate(items) if chosen >> place & 1]
        if sum(gpus for _, gpus, _ in some) > total:
            continue
        value = sum(value for _, _, value in some)
        for at, one in enumerate(tenants):
            value += one.premium * min(one.most, sum(gpus for of, gpus, _ in some if of == at))
        best = max(best, value)
    return best


def test_no_set_of_jobs_is_worth_more() -> None:
    for seed in range(300):
        draw = random.Random(seed)
        tenants = [drawn(draw) for _ in range(draw.randint(1, 2))]
        total = draw.randint(0, 14)
        assert priced_best(total, tenants) >= best_of_all_sets(total, tenants), seed


@some_then_all(70, 400)
def test_values_that_floats_do_not_hold(seeds: range) -> None:
    """Where jobs have many priorities each outweighs all below it: values have thousands of digits."""
    for seed in seeds:
        draw = random.Random(seed)
        tenants = [drawn(draw) for _ in range(draw.randint(1, 2))]
        total, digits = draw.randint(0, 14), draw.choice((100, 1_200, 9_000))
        large = [
            one._replace(values=[value << digits for value in one.values], premium=one.premium << digits)
            for one in tenants
        ]
        rounded = max((abs(worth) * 40 for one in large for worth in (*one.values, one.premium)), default=0) >> 50
        most = (priced_best(total, tenants) << digits) + rounded  # as prices are looked for in floats
        assert best_of_all_sets(total, large) <= priced_best(total, large) <= most, seed
        mixed = [one._replace(values=[value << draw.choice((0, digits)) for value in one.values]) for one in tenants]
        assert priced_best(total, mixed) >= best_of_all_sets(total, mixed), seed


def test_with_room_for_all_it_is_what_all_are_worth() -> None:
    assert priced_best(10, [TenantJobs([2, 3], [8, 6], 5, 10)]) == 14 + 25
    assert priced_best(10, []) == 0


@pytest.mark.parametrize("seed", range(3))
def test_of_many_jobs_it_is_at_most_one_job_above_counting(seed: int) -> None:
    draw = random.Random(seed)
    gpus = [draw.choice((1, 2, 4, 8)) for _ in range(200)]
    values = [draw.randint(1, 1000) * size for size in gpus]
    quota, premium = 150, 400

    def within(used: int) -> int:
        return premium * min(quota, used)

    tables = [{size: value} for size, value in zip(gpus, values, strict=True)]
    counted = counted_best(300, [Pool(tables, 300, within)], steps=10**9)
    priced = priced_best(300, [TenantJobs(gpus, values, premium, quota)])
    assert counted is not None
    assert counted <= priced <= counted + max(values) + premium * max(gpus)


def test_a_round_too_large_to_count_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    round_ = generate("philly", jobs=40, nodes=6, seed=3)
    plain = solve_round(round_, "philly", "heuristic", Limits(seconds=None))
    counting.counted_places._kept.clear()
    monkeypatch.setattr(counting, "_MOST_STEPS", 0)
    priced = solve_round(generate("philly", jobs=40, nodes=6, seed=3), "philly", "heuristic", Limits(seconds=None))
    counting.counted_places._kept.clear()
    assert plain.bound is not None
    assert priced.bound is not None
    assert priced.value <= plain.bound <= priced.bound
    assert priced.certificate.proof is Proof.COUNTING
    assert verify(round_, priced).feasible
