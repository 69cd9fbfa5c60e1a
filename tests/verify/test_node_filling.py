"""The most profit of parts on one node equals trying every set of them, or is more where the grid is coarse."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import event, given, strategies as st
from more_examples import more_examples

from muri_opt.verify import cell_grid, node_filling, node_items
from muri_opt.verify.amounts import NO_LIMIT, Sizes
from muri_opt.verify.cell_grid import Grid
from muri_opt.verify.node_filling import Spot, most_profits, profit_of_nodes, profit_of_room
from muri_opt.verify.node_items import Item, undominated

SIZES = st.tuples(st.integers(0, 4), st.sampled_from([0, 5, 10, 15, 31]), st.sampled_from([0, 1, 6, 7]))
ROOMS = st.tuples(
    st.sampled_from([4, 5, 8]), st.sampled_from([31, 50, 100, NO_LIMIT]), st.sampled_from([7, 12, 30, NO_LIMIT])
)


def items(jobs: int, most: int) -> st.SearchStrategy[list[Item]]:
    """Draw parts that fit any of the rooms."""
    return st.lists(st.builds(Item, st.integers(0, jobs - 1), SIZES, st.integers(1, 9)), max_size=most)


def brute(room: Sizes, some: Sequence[Item], extra: Sequence[Item] = ()) -> int:
    """Return the most profit of any set of items, no two of a job, by trying them all."""
    jobs = sorted({item.job for item in (*some, *extra)})
    best = 0
    for chosen in product(*([None, *(item for item in (*some, *extra) if item.job == job)] for job in jobs)):
        taken = [item for item in chosen if item is not None]
        if all(sum(item.sizes[axis] for item in taken) <= room[axis] for axis in range(3)):
            best = max(best, sum(item.profit for item in taken))
    return best


@given(
    ROOMS, items(5, 12), st.lists(items(6, 3), max_size=3), st.sampled_from([1, 1 << 16]), st.sampled_from([0, 4, 256])
)
@more_examples(200)
def test_the_grid_finds_the_best_set(
    room: Sizes, some: list[Item], extras: list[list[Item]], together: int, ways: int
) -> None:
    spots = [Spot(room), *(Spot(room, tuple(extra)) for extra in extras)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_filling, "MOST_WAYS", ways)  # extras are added in cells of the grid, or way by way
        patch.setattr(cell_grid, "MOST_TOGETHER", together)  # tables are filled one by one, or all together
        assert most_profits(spots, some) == [brute(room, some, spot.extras) for spot in spots]


@given(st.lists(ROOMS, min_size=1, max_size=4), items(5, 12))
@more_examples(100)
def test_one_grid_finds_the_best_set_of_many_rooms(rooms: list[Sizes], some: list[Item]) -> None:
    """Every item fits each of the rooms, as the smallest take the largest item."""
    assert most_profits([Spot(room) for room in rooms], some) == [brute(room, some) for room in rooms]


@given(st.lists(items(9, 7), min_size=1, max_size=3))
@more_examples(100)
def test_many_ways_to_add_that_leave_the_same_are_looked_at_once(extras: list[list[Item]]) -> None:
    """Of GPUs alone a node has few cells, so that most ways to add seven parts end in the same."""
    room = (4, NO_LIMIT, NO_LIMIT)
    spots = [Spot(room, tuple(extra)) for extra in extras]
    assert most_profits(spots, []) == [brute(room, [], spot.extras) for spot in spots]


@given(ROOMS, items(5, 12), st.lists(items(6, 3), min_size=1, max_size=3), st.integers(1, 300))
@more_examples(200)
def test_less_work_never_finds_less(room: Sizes, some: list[Item], extras: list[list[Item]], share: int) -> None:
    spots = [Spot(room, tuple(extra)) for extra in extras]
    found = most_profits(spots, some, share=node_filling.MOST_STEPS // share)
    best = [brute(room, some, extra) for extra in extras]
    assert all(more >= least for more, least in zip(found, best, strict=True))
    event("exact" if found == best else "more")


@given(ROOMS, items(12, 40), st.sampled_from([1, 3, 128]))
@more_examples(100)
def test_what_is_left_out_was_not_needed(room: Sizes, some: list[Item], block: int) -> None:
    smallest = (int(all(item.sizes[0] for item in some)), 0, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_items, "BLOCK", block)  # items are compared one by one, or many at once
        kept = undominated(room, some, smallest)
    assert kept == undominated(room, some, smallest)
    assert set(kept) <= set(some)
    event(f"{10 * len(kept) // max(1, len(some))} of 10 kept")
    grid = Grid.of(room, room, some, 10**9)
    everything = grid.filled(grid.empty(), node_filling._by_job(some).values())
    assert grid.filled(grid.empty(), node_filling._by_job(kept).values()).tolist() == everything.tolist()


def test_an_item_is_left_out_only_if_enough_others_are_free() -> None:
    """Of four GPUs one is for the worst item, so three jobs may be used and the fourth better one is free."""
    better = [Item(job, (1, 5, 5), 9) for job in range(4)]
    worst = Item(9, (1, 5, 5), 8)
    room = (4, 100, 100)
    assert undominated(room, [*better, worst], (1, 0, 0)) == better
    assert undominated(room, [*better[:3], worst], (1, 0, 0)) == [*better[:3], worst]
    assert undominated(room, [*better[:3], worst._replace(sizes=(1, 5, 4))], (1, 0, 0))[-1].job == 9
    assert undominated(room, [*better, worst._replace(sizes=(1, 5, 4))], (1, 0, 0))[-1].job == 9
    assert undominated(room, [*better, worst._replace(sizes=(1, 6, 5))], (1, 0, 0)) == better
    assert undominated(room, [*better[:1], worst._replace(sizes=(4, 5, 5))], (1, 0, 0)) == better[:1]
    assert undominated(room, [*better[:1], worst._replace(sizes=(3, 5, 5))], (2, 0, 0)) == better[:1]
    same = [better[0], better[0]._replace(profit=8, sizes=(2, 5, 5)), better[0]._replace(profit=10, sizes=(2, 5, 5))]
    assert undominated(room, same, (1, 0, 0)) == [same[2], same[0]]


def test_where_parts_take_no_gpus_their_cpus_tell_how_many_fit() -> None:
    better = [Item(job, (0, 5, 0), 9) for job in range(4)]
    worst = Item(9, (0, 5, 0), 8)
    assert undominated((2, 20, 100), [*better, worst], (0, 5, 0)) == better
    assert undominated((2, 25, 100), [*better, worst], (0, 5, 0)) == [*better, worst]
    assert undominated((2, 20, 100), [*better, worst], (0, 0, 0)) == [*better, worst]
    assert most_profits([Spot((0, 12, 0)), Spot((2, 20, 0))], [*better, worst]) == [18, 36]


@pytest.mark.parametrize(
    ("room", "sizes", "axes", "shape"),
    [
        ((8, 96_000, 1024), [(1, 1000, 0)] * 9, (0,), (9,)),  # twelve CPUs to a GPU
        ((8, 96_000, 1024), [(1, 12_000, 0)] * 9, (0,), (9,)),
        ((8, 96_000, 1024), [(1, 12_001, 0)] * 9, (0, 1), (9, 7 + 1)),
        ((8, 96_000, 1024), [(2, 16_000, 512), (2, 24_000, 256)], (0,), (3,)),  # both at once fit
        ((8, 96_000, 1024), [(2, 40_000, 512), (2, 64_000, 256)], (0, 1), (3, 13)),
        ((8, NO_LIMIT, 1024), [(2, 40_000, 512), (2, 64_000, 768)], (0, 2), (3, 5)),
        ((8, 96_000, 1024), [], (0,), (1,)),
        ((8, 96_000, 1024), [(0, 40_000, 0), (0, 64_000, 0)], (0, 1), (1, 13)),  # on CPUs only
        ((0, 96_000, 1024), [(0, 40_000, 0), (0, 64_000, 0)], (0, 1), (1, 13)),
    ],
)
def test_only_what_can_run_short_is_counted(
    room: Sizes, sizes: list[Sizes], axes: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    some = [Item(job, size, 1) for job, size in enumerate(sizes)]
    grid = Grid.of(room, room, some, 10**6)
    assert (grid.axes, grid.shape, grid.cells) == (axes, shape, len(grid.empty().ravel()))


def test_too_fine_a_grid_is_made_coarser() -> None:
    """Two parts of 501 and 499 MiB fit 999 by no count; in units of two MiB, as 250 and 249 of 499, they do."""
    some = [Item(0, (1, 0, 501), 5), Item(1, (1, 0, 499), 4)]
    room = (2, 0, 999)
    assert most_profits([Spot(room)], some) == [5]
    assert most_profits([Spot(room)], some, share=node_filling.MOST_STEPS // (2 * 1500)) == [9]
    grid = Grid.of(room, room, some, 1500)
    assert (grid.units, grid.shape) == ((1, 2), (3, 500))
    assert Grid.of(room, room, some, 1).cells == 1


def test_a_job_may_count_twice_where_counting_once_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    base, home = [Item(0, (2, 0, 0), 5), Item(1, (2, 0, 0), 3)], (Item(0, (2, 0, 0), 6),)
    spots = [Spot((4, 0, 0), home), Spot((4, 0, 0)), Spot((2, 0, 0), home)]
    assert most_profits(spots, base) == [9, 8, 6]
    monkeypatch.setattr(node_filling, "MOST_REPEATED", 0)
    assert most_profits(spots, base) == [11, 8, 6]


@given(ROOMS, items(5, 12), st.sampled_from([1, 1 << 40, 1 << 70]))
@more_examples(100)
def test_one_room_is_filled_exactly_whatever_the_size_of_profits(room: Sizes, some: list[Item], scale: int) -> None:
    dear = [item._replace(profit=item.profit * scale) for item in some]
    without = [Item(9, (1, 0, 0), 0), Item(8, (1, 0, 0), -5), Item(7, (9, 0, 0), 5)]  # no profit, and too large
    assert profit_of_room(room, [*dear, *without]) == brute(room, some) * scale


@given(ROOMS, items(5, 12), st.integers(0, 30), st.sampled_from([1, 1 << 70]))
@more_examples(100)
def test_a_room_with_too_many_contents_has_no_less(room: Sizes, some: list[Item], contents: int, scale: int) -> None:
    dear = [item._replace(profit=item.profit * scale) for item in some]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_filling, "MOST_CONTENTS", contents)
        found = profit_of_room(room, dear)
    best = brute(room, some) * scale
    assert found >= best
    event("exact" if found == best else "more")


@given(
    st.lists(st.tuples(st.sampled_from([None, "a"]), ROOMS), max_size=4),
    items(5, 8),
    items(5, 4),
    st.dictionaries(st.integers(0, 3), items(6, 3), max_size=3),
    st.integers(0, 3),
    st.sampled_from([1, 1 << 30, 1 << 70]),
)
@more_examples(100)
def test_all_nodes_together_have_the_best_of_each(
    nodes: list[tuple[str | None, Sizes]],
    some: list[Item],
    typed: list[Item],
    extras: dict[int, list[Item]],
    rooms_apart: int,
    scale: int,
) -> None:
    def scaled(chosen: Sequence[Item]) -> list[Item]:
        return [item._replace(profit=item.profit * scale) for item in chosen]

    of_kind = {None: some, "a": some + typed}
    best = sum(brute(room, of_kind[kind], extras.get(place, ())) for place, (kind, room) in enumerate(nodes)) * scale
    dear, more = scaled(some), scaled(typed)
    lists, own = {None: [dear], "a": [dear, more]}, {place: scaled(mine) for place, mine in extras.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_filling, "MOST_ROOMS", rooms_apart)
        found = profit_of_nodes(nodes, lists, own, parts=24)
        patch.setattr(node_filling, "MOST_TOLD", -1)  # so few items are too many, but not their cells
        assert profit_of_nodes(nodes, lists, own, parts=24) == found
        patch.setattr(node_filling, "MOST_CELLS", 0)  # which now are, too
        assert profit_of_nodes(nodes, lists, own, parts=24) >= best
    assert best <= found <= best + (best >> 50)  # rounded up where profits are too large for machine words
