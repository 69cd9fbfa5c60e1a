"""Rows of arrays say what tables of single jobs say: the same price, the same bound."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from muri_opt import Limits, Round, solve_round
from muri_opt.rounds.generate.families import generate
from muri_opt.rounds.next_round import after
from muri_opt.verify.counting import counted_best, quota_pools
from muri_opt.verify.deadline import optimum
from muri_opt.verify.deadline.priced_rows import all_rows
from muri_opt.verify.deadline.value import Values, values_of

INTERVAL = 300_000_000


def drawn(seed: int) -> Round:
    """Return a round with deadlines of a few hours, some passed, in which about half of what fits runs already."""
    round_ = generate("elastic", jobs=30, nodes=4, seed=seed)
    hours = (-1, 0, 1, 2, 8, 24)
    jobs = [
        replace(
            job, deadline=max(0.0, round_.now + 3600.0 * hours[place % 6]), restart_seconds=60.0, priority=place % 2
        )
        for place, job in enumerate(round_.jobs)
    ]
    return replace(round_, jobs=tuple(jobs))


def tables_of(round_: Round, values: Values) -> list[dict[int, int]]:
    """Return what each job is worth by its GPUs."""
    tables = []
    for job in round_.jobs:
        table: dict[int, int] = {}
        for way in optimum.ways_of(round_, job):
            table[way.gpus] = max(table.get(way.gpus, 0), values[job.id][way.gpus, way.home is not None])
        tables.append(table)
    return tables


@pytest.mark.parametrize("seed", range(8))
def test_rows_have_the_price_and_the_sum_of_tables(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    round_ = drawn(seed)
    decision = solve_round(round_, "deadline", "heuristic", Limits(seconds=None)).answer
    for one in (round_, after(round_, decision)):
        values, total = values_of(one, INTERVAL), one.cluster.total_gpus
        rows = all_rows(one, values)
        assert rows is not None
        assert rows.priced(total) == optimum.priced_bound(total, tables_of(one, values))
        counted = optimum.counted_bound(one, values)
        monkeypatch.setattr(optimum, "MOST_STEPS", 0)
        assert counted <= optimum.counted_bound(one, values) == rows.priced(total)
        monkeypatch.undo()


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_jobs_that_ask_for_nodes_are_their_tables(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, round_ = Random(seed), drawn(seed)
    nodes = [replace(node, labels=tuple(draw.sample(["x", "y", "z"], 2)), cpus=24.0) for node in round_.cluster.nodes]
    jobs = [replace(job, requires=tuple(draw.sample("xyz", draw.choice([0, 1, 2]))), cpus=2.0) for job in round_.jobs]
    round_ = replace(round_, cluster=replace(round_.cluster, nodes=tuple(nodes)), jobs=tuple(jobs))
    decision = solve_round(round_, "deadline", "heuristic", Limits(seconds=None))
    for one in (round_, after(round_, decision.answer)):
        values, total = values_of(one, INTERVAL), one.cluster.total_gpus
        tables, rows = tables_of(one, values), all_rows(one, values)
        assert rows is not None
        assert rows.tables() == tables
        alone = [
            {gpus: value // unit for gpus, value in own.items()} for unit, own in zip(rows.unit, tables, strict=True)
        ]
        assert rows.in_units() == alone
        assert rows.priced(total) == optimum.priced_bound(total, tables)
        exact = optimum.counted_bound(one, values)
        monkeypatch.setattr(optimum, "SOME_STEPS", 0)
        assert optimum.counted_bound(one, values) == exact
        monkeypatch.setattr(optimum, "MOST_STEPS", 0)
        assert optimum.counted_bound(one, values) == rows.priced(total) >= exact
        monkeypatch.undo()
    assert decision.value is not None
    assert decision.value <= optimum.counted_bound(round_, values_of(round_, INTERVAL))


@pytest.mark.parametrize("seed", range(8))
def test_what_a_price_leaves_open_counts_as_all_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    round_ = replace(drawn(seed), cluster=replace(drawn(seed).cluster, tenants=()))
    round_ = replace(round_, jobs=tuple(replace(job, tenant=None) for job in round_.jobs))
    decision = solve_round(round_, "deadline", "heuristic", Limits(seconds=None)).answer
    for one in (round_, after(round_, decision)):
        counted = optimum.counted_bound(one, values_of(one, INTERVAL))
        monkeypatch.setattr(optimum, "SOME_STEPS", 0)
        monkeypatch.setattr(optimum, "counted_best", None)  # it must do without
        assert optimum.counted_bound(one, values_of(one, INTERVAL)) == counted
        monkeypatch.undo()


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_so_many_priorities_that_floats_do_not_hold_them(seed: int) -> None:
    drawn_jobs = generate("elastic", jobs=90, nodes=4, seed=seed).jobs
    jobs = [replace(job, deadline=10_000.0 * (1 + at % 3), priority=at) for at, job in enumerate(drawn_jobs)]
    round_ = replace(drawn(seed), jobs=tuple(jobs))
    values, total = values_of(round_, INTERVAL), round_.cluster.total_gpus
    rows, decision = all_rows(round_, values), solve_round(round_, "deadline", "heuristic", Limits(seconds=None))
    assert rows is not None
    assert decision.value is not None
    assert decision.value.bit_length() > 1_024
    bound, same = rows.priced(total), optimum.priced_bound(total, tables_of(round_, values))
    assert decision.value <= bound
    assert abs(bound - same) <= bound >> 40
    assert decision.value <= optimum.counted_bound(round_, values) <= bound  # each priority by itself


@pytest.mark.parametrize("seed", range(3))
def test_each_priority_by_itself_is_a_bound(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, round_ = Random(seed), drawn(seed)
    round_ = replace(round_, jobs=tuple(replace(job, priority=draw.choice([0, 5, 9, 40])) for job in round_.jobs))
    values, best = values_of(round_, INTERVAL), solve_round(round_, "deadline", "heuristic", Limits(seconds=None)).value
    exact = optimum.counted_bound(round_, values)
    monkeypatch.setattr(optimum.Rows, "tables", lambda _: None)  # as if they were beyond machine words
    monkeypatch.setattr(optimum, "SOME_STEPS", 0)
    assert best is not None
    assert (
        best
        <= exact
        <= optimum.counted_bound(round_, values)
        <= all_rows(round_, values).priced(round_.cluster.total_gpus)
    )
    monkeypatch.setattr(optimum.Rows, "priced", lambda *_: 1 << 200)
    assert exact <= optimum.counted_bound(round_, values) < 1 << 200  # each priority by itself


@pytest.mark.parametrize("seed", range(3))
def test_few_gpus_are_counted_exactly_however_many_priorities_there_are(seed: int) -> None:
    drawn_jobs = generate("elastic", jobs=60, nodes=4, seed=seed).jobs
    jobs = [replace(job, deadline=10_000.0 * (1 + at % 3), priority=at) for at, job in enumerate(drawn_jobs)]
    round_ = replace(drawn(seed), jobs=tuple(jobs))
    values, total = values_of(round_, INTERVAL), round_.cluster.total_gpus
    pools = quota_pools(optimum.with_room_for_staying(round_), zip(jobs, tables_of(round_, values), strict=True))
    best = counted_best(total, pools, steps=optimum.MOST_STEPS)
    assert best is not None
    assert best.bit_length() > 800
    assert optimum.counted_bound(round_, values) == best
