"""Groups placed node by node are where first fit puts them on what is left of the whole cluster, smallest first."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from handmade import gang, round_of
from msgspec.structs import replace

from muri_opt import Node, Round, Tenant
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity import Leftover, first_fit
from muri_opt.systems.muri import node_places
from muri_opt.systems.muri.node_places import NodePlaces, places_of, share_of


def drawn(draw: Random) -> Round:
    amount = (None, 2.0, 4.0, 8.0)
    nodes = [
        Node(id=f"n{s}", gpus=draw.randint(1, 4), cpus=draw.choice(amount), memory_gib=draw.choice(amount))
        for s in range(draw.randint(1, 5))
    ]
    tenants = [Tenant(id="t", quota_gpus=draw.choice([None, 6]))]
    jobs = [
        gang(
            j,
            draw.choice([1, 1, 2, 3, 6]),
            cpus=draw.choice([None, 0.5, 1.0, 3.0]),
            memory_gib=draw.choice([None, 1.0]),
            tenant=draw.choice([None, "t"]),
        )
        for j in range(20)
    ]
    return round_of(nodes, jobs, tenants)


def fit_from_the_smallest(round_: Round, room: Ints, gpus: int) -> Ints | None:
    """Return what first fit finds where the nodes are listed from the smallest, as shares of the nodes as they are."""
    amounts = round_.amounts
    line = sorted(range(len(room)), key=lambda s: (amounts.G[s], amounts.C[s], amounts.M[s], s))
    found = first_fit(room[line], gpus, amounts.G[line])
    return None if found is None else found[np.argsort(line)]


def equal_nodes(round_: Round) -> Round:
    like = round_.cluster.nodes[0]
    nodes = tuple(replace(like, id=node.id) for node in round_.cluster.nodes)
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes))


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_first_fit_is_the_same(seed: int, equal: bool) -> None:
    draw = Random(seed)
    round_ = equal_nodes(drawn(draw)) if equal else drawn(draw)
    left, plain, count = NodePlaces(round_), Leftover(round_), len(round_.cluster.nodes)
    given: list[tuple[tuple[tuple[int, int], ...], tuple[int, ...]]] = []
    for _ in range(30):
        jobs = tuple(draw.sample(range(20), draw.randint(1, 3)))
        gpus = round_.jobs[jobs[0]].gpus
        share = fit_from_the_smallest(round_, plain.room(*jobs), gpus)
        if equal:
            share = first_fit(plain.room(*jobs), gpus, round_.amounts.G)
        places = left.first(gpus, jobs)
        assert places == (None if share is None else places_of(share))
        assert left.within_quota(*jobs) == plain.within_quota(*jobs)
        room = plain.room(*jobs)
        assert sorted(left.able(gpus, jobs).tolist()) == np.flatnonzero(room >= gpus).tolist()
        if share is not None and places is not None and plain.within_quota(*jobs):
            assert left.has(places, jobs)
            assert share_of(places, count).tolist() == share.tolist()
            plain.take(share, *jobs)
            left.give(places, jobs)
            given.append((places, jobs))
        elif given and draw.random() < 0.5:  # what is given back can be had again
            places, jobs = given.pop()
            share = share_of(places, count)
            left.put(places, jobs, -1)
            c, m = (int(part[list(jobs)].sum()) for part in (round_.amounts.c, round_.amounts.m))
            plain.release(slice(None), share, share * c, share * m)
        assert left.left.tolist() == plain.left.tolist()


def test_gpus_that_are_spared_are_not_given() -> None:
    left = NodePlaces(round_of([4, 4], [2, 8]))
    assert left.first(2, (0,), np.array([3, 0])) == ((1, 2),)
    assert left.first(2, (0,), np.array([3, 3])) is None
    assert left.first(8, (1,), np.array([0, 0])) == ((0, 4), (1, 4))
    assert left.first(8, (1,), np.array([1, 0])) is None


@pytest.mark.parametrize("seed", range(60))
def test_all_at_once_are_given_what_one_after_another_would_be(seed: int) -> None:
    draw = Random(seed)
    round_ = drawn(draw)
    nodes = range(len(round_.cluster.nodes))
    groups = []
    for _ in range(draw.randint(0, 4)):
        jobs = tuple(draw.sample(range(20), draw.randint(1, 3)))
        where = sorted(draw.sample(nodes, min(len(nodes), draw.randint(1, 2))))
        groups.append((tuple((node, draw.randint(1, 2)) for node in where), jobs))
    together, in_turn = NodePlaces(round_), NodePlaces(round_)
    fits = True
    for places, jobs in groups:
        fits = fits and in_turn.has(places, jobs)
        in_turn.give(places, jobs)
    quotas = any(tenant.quota_gpus is not None for tenant in round_.cluster.tenants)
    empty = NodePlaces(round_)
    assert together.give_all(groups) == (fits and not quotas)
    expected = in_turn if fits and not quotas else empty
    for name in ("gpus", "cpus", "memory"):
        assert getattr(together, name).tolist() == getattr(expected, name).tolist()


@pytest.mark.parametrize("seed", range(60))
def test_placing_is_first_fit_and_giving_what_it_finds(seed: int) -> None:
    draw = Random(seed)
    round_ = drawn(draw)
    left, plain = NodePlaces(round_), NodePlaces(round_)
    for _ in range(40):
        jobs = tuple(draw.sample(range(20), draw.randint(1, 3)))
        gpus = round_.jobs[jobs[0]].gpus
        found = plain.first(gpus, jobs)
        if found is None or not plain.within_quota(*jobs):
            assert left.place(gpus, jobs) is None
        elif draw.random() < 0.5:
            assert left.place(gpus, jobs) == found
            plain.give(found, jobs)
        else:
            assert left.give_if_free(found, jobs)
            plain.give(found, jobs)
        assert (left.left.tolist(), left.quota.tolist()) == (plain.left.tolist(), plain.quota.tolist())
        if found is not None and not plain.has(found, jobs):
            assert not left.give_if_free(found, jobs)


@pytest.mark.parametrize("near", [1, 2, 32])
@pytest.mark.parametrize("order", ["equal", "as listed", "smallest first"])
@pytest.mark.parametrize("seed", range(30))
def test_groups_one_after_another_are_where_first_fit_puts_each(
    seed: int, order: str, near: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_places, "_NEAR", near)
    draw = Random(seed)
    round_ = equal_nodes(drawn(draw)) if order == "equal" else drawn(draw)
    left, plain, expected = NodePlaces(round_, as_listed=order == "as listed"), Leftover(round_), {}
    groups = [*dict.fromkeys(tuple(draw.sample(range(20), draw.randint(1, 3))) for _ in range(40))]
    for jobs in groups:
        room, gpus = plain.room(*jobs), round_.jobs[jobs[0]].gpus
        if order == "smallest first":
            share = fit_from_the_smallest(round_, room, gpus)
        else:
            share = first_fit(room, gpus, round_.amounts.G)
        if share is not None and plain.within_quota(*jobs):
            plain.take(share, *jobs)
            expected[jobs] = places_of(share)
    assert left.place_each(groups) == expected
    assert left.left.tolist() == plain.left.tolist()


@pytest.mark.parametrize("seed", range(60))
def test_what_nodes_would_have_is_what_they_have_after_it(seed: int) -> None:
    draw = Random(seed)
    round_ = drawn(draw)
    left, nodes = NodePlaces(round_), range(len(round_.cluster.nodes))
    for _ in range(20):
        some = draw.sample(range(20), 6)
        where = [tuple((node, draw.randint(1, 3)) for node in sorted(draw.sample(nodes, 1))) for _ in range(3)]
        gone, come = {tuple(some[:2]): where[0]}, {(some[2],): where[1]}
        asked = tuple(sorted({**dict(where[2]), draw.choice(nodes): 1}.items()))
        told = left.would_have(asked, some[3:5], gone, come)
        for groups, times in ((gone, -1), (come, 1)):
            for jobs, places in groups.items():
                left.put(places, jobs, times)
        assert left.has(asked, some[3:5]) == told
