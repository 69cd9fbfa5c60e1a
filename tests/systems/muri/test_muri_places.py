"""Where groups run: chosen by priority, placed by size, and nothing lost by either."""

from __future__ import annotations

from handmade import gang, round_of
from hypothesis import given, strategies as st

from muri_opt import Node, Round
from muri_opt.systems.capacity import Leftover, first_fit
from muri_opt.systems.muri.node_places import share_of
from muri_opt.systems.muri.place_groups import place_groups


def places(nodes: list[int | Node], sizes: list[int]) -> dict[int, dict[int, int]]:
    """Return node and GPUs of each job that runs; every job is a group, in the order of its priority."""
    round_ = round_of(nodes, sizes)
    found = place_groups(round_, [(job,) for job in range(len(sizes))])
    return {job: dict(where) for (job,), where in found.items()}


def test_large_groups_are_placed_first_and_leave_whole_nodes() -> None:
    assert places([4, 4], [1, 2, 3]) == {2: {0: 3}, 1: {1: 2}, 0: {0: 1}}


def test_groups_of_equal_size_are_placed_by_priority() -> None:
    assert places([2, 2, 2], [2, 1, 2, 1]) == {0: {0: 2}, 2: {1: 2}, 1: {2: 1}, 3: {2: 1}}


def test_what_the_first_order_fragments_the_second_packs() -> None:
    """By priority 1 and 2 fill most of a node and 3 of the other: the last 2 would find 1 and 1."""
    assert places([4, 4], [1, 2, 3, 2]) == {2: {0: 3}, 1: {1: 2}, 0: {0: 1}, 3: {1: 2}}


def test_nothing_is_lost_where_the_second_order_does_not_fit() -> None:
    """By size 4 would take the node of 5, and 2 would find 1 and 1."""
    assert places([5, 4], [2, 3, 4]) == {0: {0: 2}, 1: {0: 3}, 2: {1: 4}}


def test_a_small_group_leaves_the_large_node_to_a_large_one() -> None:
    """By first fit as the nodes are listed, 2 would take two GPUs of the node of 4 and 4 would wait."""
    assert places([4, 2], [2, 4]) == {0: {1: 2}, 1: {0: 4}}
    cpus = [Node(id="n0", gpus=2, cpus=8), Node(id="n1", gpus=2, cpus=2)]
    round_ = round_of(cpus, [gang(0, 2, cpus=2), gang(1, 2, cpus=8)])
    found = place_groups(round_, [(0,), (1,)])
    assert found == {(0,): ((1, 2),), (1,): ((0, 2),)}


def test_priority_decides_who_runs() -> None:
    assert places([4], [1, 4, 3]) == {2: {0: 3}, 0: {0: 1}}


def test_a_group_takes_the_cpus_of_all_its_jobs() -> None:
    round_ = round_of([Node(id="n0", gpus=2, cpus=5)], [gang(j, 1, cpus=2) for j in range(3)])
    assert set(place_groups(round_, [(0, 1), (2,)])) == {(0, 1)}
    assert set(place_groups(round_, [(0,), (1, 2)])) == {(0,)}


def published(round_: Round, groups: list[tuple[int, ...]]) -> dict[tuple[int, ...], list[int]]:
    """Return the places of the published algorithm: who fits by priority, placed by size, and no third try."""
    shares: dict[tuple[int, ...], list[int]] = {}
    tried = groups
    for _ in range(2):
        left, shares = Leftover(round_), {}
        for group in tried:
            share = first_fit(left.room(*group), round_.jobs[group[0]].gpus, round_.amounts.G)
            if share is not None:
                left.take(share, *group)
                shares[group] = share.tolist()
        tried = sorted(shares, key=lambda group: -round_.jobs[group[0]].gpus)
    return shares


@given(st.integers(1, 5), st.lists(st.sampled_from([1, 1, 2, 4, 8, 16, 32]), max_size=16))
def test_with_powers_of_two_the_places_are_the_published_ones(nodes: int, sizes: list[int]) -> None:
    round_ = round_of([8] * nodes, sizes)
    groups = [(job,) for job in range(len(sizes))]
    found = place_groups(round_, groups)
    shares = {group: share_of(where, nodes).tolist() for group, where in found.items()}
    assert shares == published(round_, groups)


def by_first_fit(nodes: list[int], sizes: list[int]) -> set[int]:
    """Return the jobs that run by first fit in the order of their priority."""
    round_ = round_of(nodes, sizes)
    left = Leftover(round_)
    found = set()
    for job, gpus in enumerate(sizes):
        share = first_fit(left.room(job), gpus, round_.amounts.G)
        if share is not None:
            left.take(share, job)
            found.add(job)
    return found


SIZES = st.lists(st.integers(1, 9), max_size=10)


@given(st.integers(0, 6), st.integers(1, 4), SIZES)
def test_on_equal_nodes_no_group_that_fits_by_priority_is_lost(gpus: int, count: int, sizes: list[int]) -> None:
    assert by_first_fit([gpus] * count, sizes) <= set(places([gpus] * count, sizes))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), SIZES)
def test_no_group_that_fits_by_priority_is_lost_for_a_later_one_and_none_is_placed_twice(
    nodes: list[int], sizes: list[int]
) -> None:
    """The first that one order of the nodes serves and another does not decides between them."""
    found = places(list(nodes), sizes)
    for listed in (nodes, sorted(nodes)):
        before = by_first_fit(listed, sizes)
        assert [job in found for job in range(len(sizes))] >= [job in before for job in range(len(sizes))]
    assert all(sum(share.values()) == sizes[job] for job, share in found.items())
    assert all(sum(share.get(s, 0) for share in found.values()) <= gpus for s, gpus in enumerate(nodes))
