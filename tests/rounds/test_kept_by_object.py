"""What is kept by object is that of the very object, and not more than is said."""

from __future__ import annotations

from hypothesis import given, strategies as st

from muri_opt.rounds.kept_by_object import KeptByObject


@given(st.integers(1, 6), st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=60))
def test_what_is_kept_is_what_was_put_and_the_last_used_are_kept(most: int, calls: list[tuple[int, bool]]) -> None:
    things = [[number] for number in range(10)]  # equal to others that are not the same
    kept, put, used = KeptByObject[int](most), dict[int, int](), list[int]()
    for turn, (number, writes) in enumerate(calls):
        if writes:
            kept.put(things[number], "beside", turn)
            put[number] = turn
        else:
            found = kept.get(things[number], "beside")
            assert found in (None, put.get(number))
            if number in used[-most:]:
                assert found == put[number]
            if found is None:
                continue
        used = [one for one in used if one != number] + [number]
        assert len(kept) <= 2 * most
        assert kept.get_all([things[number], [number]], ["beside", "beside"]) == [put[number], None]
        assert kept.get_all([things[number]]) == [None]
        assert kept.get([number], "beside") is None
        assert kept.get(things[number], "other") is None


@given(st.integers(1, 6), st.lists(st.integers(0, 9), unique=True))
def test_many_values_are_kept_as_one_by_one(most: int, numbers: list[int]) -> None:
    things, besides = [[number] for number in numbers], [None if number % 2 else "beside" for number in numbers]
    together, singly = KeptByObject[int](most), KeptByObject[int](most)
    together.put_all(things, besides, numbers)
    for thing, beside, number in zip(things, besides, numbers, strict=True):
        singly.put(thing, beside, number)
    found = [(together.get(*one), singly.get(*one)) for one in zip(things, besides, strict=True)]
    assert all(one == other for one, other in found)
    assert len(together) == len(singly)
