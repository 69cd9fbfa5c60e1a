"""What is kept by object is that of the very object, and not more than is said."""

from __future__ import annotations

from collections.abc import Sequence

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


@given(st.integers(1, 6), st.lists(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=12), max_size=6))
def test_all_of_many_are_read_once_and_kept(most: int, calls: list[list[tuple[int, bool]]]) -> None:
    things, kept = [[number] for number in range(10)], KeptByObject[tuple[int, bool]](most)
    for asked in calls:
        kept.expect(len(asked))
        numbers, besides = [number for number, _ in asked], [beside for _, beside in asked]
        keys = [(id(things[number]), beside) for number, beside in asked]
        known = kept.get_all([things[number] for number in numbers], besides)
        read = list[tuple[int, bool]]()

        def values(
            places: Sequence[int], asked: list[tuple[int, bool]] = asked, read: list[tuple[int, bool]] = read
        ) -> list[tuple[int, bool]]:
            read.extend(asked[place] for place in places)
            return [asked[place] for place in places]

        assert kept.all_of(keys, [things[number] for number in numbers], values) == asked
        unknown = [one for one, found in zip(asked, known, strict=True) if found is None]
        assert read == list(dict.fromkeys(unknown))  # each once, in the order of their first places
        assert kept.get_all([things[number] for number in numbers], besides) == asked
        assert len(kept) <= 2 * max(most, 2 * len(asked), *map(len, calls), *(2 * len(one) for one in calls))


def test_jobs_of_a_round_before_are_forgotten_after_some_others() -> None:
    kept = KeptByObject[int](2)
    for turn in range(9):
        things = [[turn, number] for number in range(3)]
        kept.expect(len(things))
        kept.all_of([(id(thing),) for thing in things], things, lambda places: places)
        assert len(kept) <= 2 * 2 * 3
