"""What the charts of a gap study show: the axis of losses, classes of sizes, medians and worst."""

import pytest
from comparison_rows import found, refused, run, studies
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt.report.charts.comparison_series import (
    ACROSS,
    UP,
    Spread,
    loss_axis,
    runs_of,
    size_classes,
    spreads_by_policy,
    spreads_by_size,
)
from muri_opt.studies.compare.pairs import pairs_of


def test_the_axis_of_losses_by_hand():
    axis = loss_axis([0.0, 0.002, 0.05])
    assert (axis.low, axis.high) == (-3, -1)
    assert [words for _, words in axis.marks(UP)] == ["0 %", "10 %", "1 %", "0.1 %"]
    assert [place for place, _ in axis.marks(UP)] == pytest.approx([0.1, 1.0, 0.63, 0.26])
    assert axis.place(0.01) == pytest.approx(0.63)
    assert [axis.place(0.0, lane) for lane in (0.0, 0.5, 1.0)] == pytest.approx([0.0, 0.1, 0.2])
    assert axis.band == (0.0, 0.2)


def test_where_nothing_is_lost_the_axis_is_still_one():
    assert [words for _, words in loss_axis([0.0]).marks(UP)] == ["0 %", "1 %", "0.1 %", "0.01 %"]
    assert loss_axis([]) == loss_axis([0.0, 0.0])


def test_an_axis_of_many_powers_has_few_marks():
    words = [words for _, words in loss_axis([1e-12, 4.0]).marks(UP)]
    assert words == ["0 %", "1,000 %", "10 %", "0.1 %", "0.001 %", "1e-5 %", "1e-7 %", "1e-9 %"]
    assert len(loss_axis([1e-12, 4.0]).marks(ACROSS)) == 5


@given(st.lists(st.floats(1e-300, 1e300) | st.just(0.0), min_size=1, max_size=8))
def test_losses_lie_in_their_order_and_0_apart(losses):
    axis = loss_axis(losses)
    places = [axis.place(loss) for loss in sorted(losses)]
    assert places == sorted(places)
    for loss, place in zip(sorted(losses), places, strict=True):
        assert place == 0.1 if loss == 0 else 0.25 < place <= 1
    assert 2 <= len(axis.marks(UP)) <= 9


def test_few_sizes_are_classes_of_their_own_and_many_share_round_ones():
    assert size_classes([5, 3, 5]) == [range(3, 4), range(5, 6)]
    assert size_classes(range(3, 40)) == [range(2, 5), range(5, 10), range(10, 20), range(20, 50)]
    assert size_classes(range(1, 400))[-1] == range(300, 1000)
    assert size_classes(range(1, 90_000, 7)) == [range(10**k, 10 ** (k + 1)) for k in range(5)]
    assert len(size_classes(10**k for k in range(9))) == 9
    assert size_classes([]) == []


@given(st.sets(st.integers(0, 10**7), min_size=1, max_size=40))
def test_every_size_is_in_one_class_and_no_class_is_empty(sizes):
    classes = size_classes(sizes)
    assert [sum(size in entry for entry in classes) for size in sizes] == [1] * len(sizes)
    assert all(any(size in entry for size in sizes) for entry in classes)
    assert len(classes) <= 9


def test_spreads_by_hand():
    rows = []
    for number, value in enumerate((100, 80, 50)):
        about = {"instance": f"r{number}", "jobs": 4 if number < 2 else 9, "policy": "p" if number else "q"}
        rows += [found("quick", value, **about), run("exact", 100, **about), refused("none", **about)]
    pairs = pairs_of(rows)
    runs = runs_of(pairs)
    assert {method: [entry.loss for entry in mine] for method, mine in runs.items()} == {
        "quick": [0, 0.2, 0.5],
        "exact": [0, 0, 0],
        "none": [],
    }
    by_size = spreads_by_size(runs)
    assert [entry.label for entry in by_size] == ["4", "9"]
    assert by_size[0].of == (
        Spread(runs=2, median=0.1, worst=0.2),
        Spread(runs=2, median=0.0, worst=0.0),
        None,
    )
    by_policy = spreads_by_policy(pairs, runs)
    assert [(entry.label, entry.of[0]) for entry in by_policy] == [
        ("q", Spread(runs=1, median=0.0, worst=0.0)),
        ("p", Spread(runs=2, median=0.35, worst=0.5)),
    ]


def test_a_pair_that_contradicts_itself_has_no_loss():
    assert runs_of(pairs_of([run("a", 10), found("b", 11)])) == {"a": [], "b": []}


def test_a_time_of_nothing_has_a_place_on_a_logarithmic_axis():
    assert runs_of(pairs_of([run(seconds=0.0)]))["exact"][0].seconds == 1e-4


@given(studies())
@more_examples(30)
def test_spreads_count_every_run_once(rows):
    pairs = pairs_of(rows)
    runs = runs_of(pairs)
    for spreads in (spreads_by_size(runs), spreads_by_policy(pairs, runs)):
        counted = [sum(0 if entry.of[m] is None else entry.of[m].runs for entry in spreads) for m in range(len(runs))]
        assert counted == [len(mine) for mine in runs.values()]
