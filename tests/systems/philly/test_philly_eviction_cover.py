"""The cheapest jobs to take from a node: equal to trying every set of them."""

from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from muri_opt.systems.philly import eviction_cover as cover
from muri_opt.systems.philly.eviction_cover import Item, cheapest_cover


@st.composite
def items(draw):
    amount = st.integers(0, 3)
    frees = (draw(st.integers(1, 3)), draw(amount), draw(amount))
    gpus = frees[0] + draw(st.sampled_from((0, 0, 2)))
    dear = draw(st.sampled_from((gpus, gpus, 0)))
    return {
        "frees": frees,
        "gpus": gpus,
        "dear": dear,
        "cheap": draw(st.integers(1, 4)),
        "tenant": draw(st.integers(-1, 1)),
    }


def freed(chosen):
    return [sum(item.frees[kind] for item in chosen) for kind in range(3)]


def allowed(chosen, spare):
    return all(sum(item.gpus for item in chosen if item.tenant == tenant) <= most for tenant, most in spare.items())


@given(
    drawn=st.lists(items(), max_size=7),
    need=st.tuples(*[st.integers(-1, 6)] * 3),
    spare=st.dictionaries(st.integers(-1, 1), st.integers(0, 6)),
    most=st.none() | st.tuples(st.integers(0, 8), st.integers(0, 8)),
)
def test_the_cover_is_the_cheapest_of_all_sets(drawn, need, spare, most):
    given_ = [Item(job=job, **fields) for job, fields in enumerate(drawn)]
    sets = [chosen for count in range(len(given_) + 1) for chosen in combinations(given_, count)]
    costs = [
        (sum(item.dear for item in chosen), sum(item.cheap for item in chosen))
        for chosen in sets
        if all(gain >= lack for gain, lack in zip(freed(chosen), need, strict=True)) and allowed(chosen, spare)
    ]
    best = min((cost for cost in costs if most is None or cost < most), default=None)
    found = cheapest_cover(given_, need, spare, most)
    assert (found and found[0]) == best
    if found is not None:
        chosen = [given_[job] for job in found[1]]
        assert len(set(found[1])) == len(chosen)
        assert all(gain >= lack for gain, lack in zip(freed(chosen), need, strict=True))
        assert allowed(chosen, spare)
        assert best == (sum(item.dear for item in chosen), sum(item.cheap for item in chosen))


def ones(count, **fields):
    plain = {"frees": (1, 0, 0), "dear": 1, "cheap": 1, "tenant": 0, "gpus": 1}
    return [Item(job=job, **plain | fields) for job in range(count)]


def test_equal_jobs_are_one_choice():
    found = cheapest_cover(ones(150), (100, 0, 0), {0: 100})
    assert found == ((100, 100), tuple(range(100)))
    assert cheapest_cover(ones(150), (100, 0, 0), {0: 99}) is None


def test_a_node_of_very_many_jobs_is_covered_from_the_cheapest_on():
    many = [*ones(150, cheap=2), *[Item(job=150 + item.job, **fields_of(item)) for item in ones(150)]]
    assert cheapest_cover(many, (160, 0, 0), {}) == ((160, 170), (*range(150, 300), *range(10)))
    assert cheapest_cover(many, (160, 0, 0), {0: 160})[0] == (160, 170)
    assert cheapest_cover(many, (160, 0, 0), {0: 159}) is None
    assert cheapest_cover(many, (160, 0, 0), {}, (160, 170)) is None


def fields_of(item):
    return {name: getattr(item, name) for name in ("frees", "dear", "cheap", "tenant", "gpus")}


@pytest.mark.parametrize(("steps", "found"), [(3, None), (4, ((3, 3), (0, 1, 2)))])
def test_a_search_ends_after_its_steps_with_what_it_has(monkeypatch, steps, found):
    monkeypatch.setattr(cover, "MOST_STEPS", steps)
    assert cheapest_cover(ones(8), (3, 0, 0), {}) == found
