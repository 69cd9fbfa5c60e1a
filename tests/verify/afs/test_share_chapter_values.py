"""The verifier's arithmetic of shares: against the policies' own, and against plain fractions."""

from __future__ import annotations

from fractions import Fraction
from math import floor, isqrt

import pytest
from by_policy import decision_value, settings_of
from elastic_draws import POLICIES, elastic, elastic_rounds, round_with
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import InputError, Job, Node, Round
from muri_opt.systems.afs import NEVER, Curves
from muri_opt.systems.afs.program_columns import ShareTable
from muri_opt.systems.afs.share_values import OBJECTIVES
from muri_opt.verify.afs.curve import Curve
from muri_opt.verify.afs.value import Elastic

RATES = st.one_of(
    st.floats(1e-9, 1e12, exclude_min=True),
    st.integers(1, 10**6).map(lambda thousandths: thousandths / 1000),
    st.sampled_from([5e-324, 1e12, 1.0, 2.0**30, 2.0**30 + 1, 10.7374182451, 0.1, 1 / 3]),
)


@st.composite
def any_tables(draw: st.DrawFn) -> dict[int, float]:
    counts = sorted({1, *draw(st.sets(st.integers(2, 40), max_size=4))})
    return {k: draw(RATES) for k in counts}


@given(
    any_tables(),
    st.integers(1, 40),
    st.none() | st.floats(1e-6, 2e9),
    st.integers(1, 50),
    st.sampled_from([0, 1, 999, 10**6, 10**12]),
)
@more_examples(400)
def test_both_sides_read_a_table_alike(
    table: dict[int, float], gpus: int, iteration: float | None, most: int, work: int
) -> None:
    job = Job(id="j", gpus=min(gpus, max(table)), iteration_seconds=iteration, scaling=table, remaining_iterations=work)
    theirs, mine = Curves.of((job,), most), Curve.of(job)
    cap = int(theirs.cap[0])
    assert cap == min(most, max(mine.speeds))
    assert [mine.speeds[k] for k in range(1, cap + 1)] == theirs.speed[0, 1 : cap + 1].tolist()
    assert mine.unit == theirs.unit[0]
    time = theirs.microseconds([work])[0, 1 : cap + 1].tolist()
    assert time == [min(NEVER - 1, work * mine.unit // mine.speeds[k]) for k in range(1, cap + 1)]


@given(
    elastic_rounds(equal=True),
    st.sampled_from(OBJECTIVES),
    st.sampled_from(["any", "node"]),
    st.sampled_from([None, 1, 10**6, 600 * 10**6, 2 * 10**15]),
)
@more_examples(300)
def test_both_sides_give_shares_the_same_value(
    round_: Round, objective: str, packing: str, horizon: int | None
) -> None:
    table = ShareTable.of(round_, objective, packing, horizon)
    theirs: list[list[dict[int, int]]] = [[{} for _ in round_.jobs] for _ in range(2)]
    rows = zip(table.jobs.tolist(), table.gpus.tolist(), table.value.tolist(), table.moved.tolist(), strict=True)
    for job, gpus, value, moved in rows:
        theirs[0][job][gpus], theirs[1][job][gpus] = value, moved
    worth = Elastic(objective=objective, by_node=packing == "node", horizon=horizon).worth(round_)
    assert [list(worth.kept), list(worth.changed)] == theirs


@given(elastic_rounds(gaps=False), st.sampled_from(["speed", "speed-up", "time"]))
@more_examples(200)
def test_values_are_those_of_plain_fractions(round_: Round, objective: str) -> None:
    total = round_.cluster.total_gpus
    rates = [{k: Fraction(rate) for k, rate in job.scaling.items() if k <= total} for job in round_.jobs]
    times = []
    for job, table in zip(round_.jobs, rates, strict=True):
        second = Fraction(1)
        if job.iteration_seconds is not None:
            second = Fraction(job.iteration_seconds) * Fraction(job.scaling[job.gpus])
        times.append({k: floor(job.remaining_iterations * second / rate * 10**6) for k, rate in table.items()})
    everything = 1 + sum(row[1] // 10_000 for row in times if row)
    expected = []
    for table, row in zip(rates, times, strict=True):
        if objective == "time":
            expected.append({k: everything - row[k] // 10_000 for k in table})
        elif objective == "speed-up":
            expected.append({k: floor(1000 * rate / table[1]) for k, rate in table.items()})
        else:
            weight = 10**10 // max(1000, isqrt(row[1])) if row else 0
            expected.append({k: floor(weight * rate / table[1]) for k, rate in table.items()})
    assert Elastic(objective=objective, by_node=False).values(round_) == expected


def test_values_by_hand() -> None:
    jobs = [elastic(0, (1, 1.8), remaining_iterations=9), elastic(1, (2, 1), remaining_iterations=8)]
    round_ = round_with([2, 1], jobs)

    def values(objective: str) -> list[dict[int, int]]:
        return Elastic(objective=objective, by_node=False).values(round_)

    assert values("speed-up") == [{1: 1000, 2: 1800}, {1: 1000, 2: 500}]
    # 9 s or 5 s, 4 s or 8 s: on one GPU each they take 13 s
    assert values("time") == [{1: 401, 2: 801}, {1: 901, 2: 501}]
    # the root of 9 s is 3,000 milliseconds' worth of root microseconds, that of 4 s 2,000
    assert values("speed") == [{1: 3_333_333, 2: 5_999_999}, {1: 5_000_000, 2: 2_500_000}]


@pytest.mark.parametrize("objective", ["speed", "speed-up", "time"])
def test_every_first_gpu_is_worth_something(objective: str) -> None:
    jobs = [elastic(j, (1, 2), remaining_iterations=work) for j, work in enumerate((0, 1, 10**12))]
    assert all(row[1] >= 1 for row in Elastic(objective=objective, by_node=False).values(round_with([2], jobs)))


def test_no_job_weighs_more_than_one_of_a_second() -> None:
    jobs = [elastic(j, (1, 2), remaining_iterations=work) for j, work in enumerate((0, 1, 4))]
    values = Elastic(objective="speed", by_node=False).values(round_with([2], jobs))
    assert [row[1] for row in values] == [10_000_000, 10_000_000, 5_000_000]


def test_under_time_one_more_job_outweighs_any_speed() -> None:
    jobs = [elastic(j, (1, 5), remaining_iterations=work) for j, work in enumerate((1, 20, 3000))]
    values = [*Elastic(objective="time", by_node=False).values(round_with([2], jobs))]
    assert min(row[1] + other[1] for row in values for other in values if row is not other) > max(
        row[2] for row in values
    )


def test_which_value_a_policy_counts() -> None:
    assert {name: settings_of(name).objective for name in POLICIES} == {
        "afs-l": "jobs-then-speed",
        "afs-p": "jobs-then-speed-up",
        "optimus": "time",
        "max-min-elastic": "jobs-then-speed",
        "srtf-elastic": "speed",
    }
    spec = "afs-l:objective=time,packing=node"
    assert settings_of(spec) == Elastic(objective="time", by_node=True, horizon=600_000_000)
    assert settings_of(f"{spec},horizon=0.5") == Elastic(objective="time", by_node=True, horizon=500_000)
    assert settings_of(f"{spec},restarts=ignore") == Elastic(objective="time", by_node=True)
    for text in ("afs-l:phi=0", "afs-l:phi=1.5", "afs-p:quantum=0", "afs-p:objective=time", "optimus:tie=longer"):
        with pytest.raises(InputError):
            settings_of(text)


def test_sizes_of_shares() -> None:
    by_node = Elastic(objective="speed", by_node=True)
    assert by_node.sizes(round_with([4, 4, 0], [])) == [1, 2, 4, 8]
    assert by_node.sizes(round_with([6, 6], [])) == [1, 2, 3, 6, 12]
    assert by_node.sizes(round_with([0], [])) == by_node.sizes(round_with([], [])) == []
    assert Elastic(objective="speed", by_node=False).sizes(round_with([2, 1], [])) == [1, 2, 3]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"scaling": None}, "scaling"),
        ({"scaling": {2: 1.0}}, "scaling"),
        ({"remaining_iterations": None}, "remaining_iterations"),
        ({"gpus": 3, "iteration_seconds": 1.0}, "iteration_seconds"),
        ({"iteration_seconds": 0.0}, "iteration_seconds"),
    ],
)
def test_jobs_without_a_value_are_refused_by_name(fields: dict[str, object], field: str) -> None:
    round_ = round_with([4], [elastic(0, (1, 2)), elastic(1, (1, 2), **fields)])
    with pytest.raises(InputError) as caught:
        decision_value(round_, "afs-l", None)
    assert caught.value.field == f"job 'j1'.{field}"


def test_an_unknown_length_needs_no_time_under_speed_up() -> None:
    round_ = round_with([Node(id="n0", gpus=2)], [elastic(0, (1, 2), remaining_iterations=None)])
    assert Elastic(objective="speed-up", by_node=False).values(round_) == [{1: 1000, 2: 2000}]
