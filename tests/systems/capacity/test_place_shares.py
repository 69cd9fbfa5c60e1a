"""Elastic shares on the nodes: whole where they fit, kept where they are, cut where something is in the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plain_place_shares
import pytest
from elastic_draws import elastic, elastic_rounds, round_with
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import Node, Round, Tenant
from muri_opt.rounds.generate.families import generate
from muri_opt.systems.afs import share_sizes
from muri_opt.systems.capacity import held_gpus, place_parts

LINEAR = tuple(range(1, 9))


def placed(round_: Round, shares: list[int], packing: str = "any") -> dict[int, list[int]]:
    """Return GPUs per node of every job, once the shares are found unchanged."""
    given_ = np.array(shares, dtype=np.int64)
    found = place_parts(round_, given_, share_sizes(round_.cluster, packing), by_node=packing == "node")
    assert given_.tolist() == shares
    return on_nodes(round_, found)


def on_nodes(round_: Round, found: Mapping[int, Sequence[tuple[int, int]]]) -> dict[int, list[int]]:
    """Return GPUs per node of every job."""
    return {
        job: [dict(parts).get(node, 0) for node in range(len(round_.cluster.nodes))] for job, parts in found.items()
    }


def running(position: int, **held: int):
    return elastic(position, LINEAR, state="running", placement=held)


def test_the_largest_share_is_placed_first_on_as_few_nodes_as_can_be() -> None:
    jobs = [elastic(j, LINEAR) for j in range(3)]
    assert placed(round_with([2, 4], jobs), [1, 4, 0]) == {1: [0, 4], 0: [1, 0]}
    assert placed(round_with([2, 4], jobs), [1, 3, 2]) == {1: [0, 3], 2: [2, 0], 0: [0, 1]}
    assert placed(round_with([2, 2, 2], jobs), [0, 5, 0]) == {1: [2, 2, 1]}


def test_jobs_stay_where_they_are_if_nothing_is_lost_by_it() -> None:
    here = [running(0, n1=1), running(1, n0=1, n1=1), elastic(2, LINEAR)]
    assert placed(round_with([2, 2], here), [1, 2, 1]) == {0: [0, 1], 1: [1, 1], 2: [1, 0]}
    assert placed(round_with([2, 2], here), [1, 1, 2]) == {0: [0, 1], 2: [2, 0], 1: [0, 1]}  # another share: it moves


def test_jobs_are_moved_where_staying_would_cut_a_share() -> None:
    here = [running(0, n0=1), running(1, n1=1), elastic(2, LINEAR)]
    assert placed(round_with([4, 4], here), [1, 1, 4], "any") == {0: [1, 0], 1: [0, 1], 2: [3, 1]}
    assert placed(round_with([4, 4], here), [1, 1, 4], "node") == {2: [4, 0], 0: [0, 1], 1: [0, 1]}
    assert placed(round_with([4, 4], here), [1, 1, 2], "node") == {0: [1, 0], 1: [0, 1], 2: [2, 0]}


def test_moving_all_is_no_use_where_it_runs_no_more_gpus() -> None:
    cpus = [Node(id="n0", gpus=4, cpus=2), Node(id="n1", gpus=4, cpus=2)]
    here = [elastic(0, LINEAR, cpus=1), elastic(1, LINEAR, cpus=1, state="running", placement={"n1": 2})]
    assert placed(round_with(cpus, here), [3, 2]) == {1: [0, 2], 0: [2, 0]}


def test_a_share_across_nodes_is_moved_onto_one() -> None:
    here = [running(0, n0=1, n1=1)]
    assert placed(round_with([4, 4], here), [2], "any") == {0: [1, 1]}
    assert placed(round_with([4, 4], here), [2], "node") == {0: [2, 0]}
    assert placed(round_with([4, 4], [running(0, n0=4, n1=4)]), [8], "node") == {0: [4, 4]}


@pytest.mark.parametrize(("limit", "unit"), [("cpus", 1.5), ("memory_gib", 3.0)])
def test_a_share_without_cpus_or_memory_is_cut_to_the_next_legal_one(limit: str, unit: float) -> None:
    nodes = [Node(id="n0", gpus=4, **{limit: 3 * unit}), Node(id="n1", gpus=4, **{limit: 2 * unit})]
    jobs = [elastic(0, LINEAR, **{limit: unit}), elastic(1, LINEAR)]
    assert placed(round_with(nodes, jobs), [6, 0]) == {0: [3, 2], 1: [1, 0]}  # what was cut is a GPU for the other
    assert placed(round_with(nodes, jobs), [4, 4]) == {0: [3, 1], 1: [1, 3]}
    assert placed(round_with(nodes, jobs), [4, 4], "node") == {0: [0, 2], 1: [4, 0]}
    nothing = [Node(id="n0", gpus=4, **{limit: unit / 2})]
    assert placed(round_with(nothing, jobs), [2, 2]) == {1: [2]}


def test_a_cut_share_stays_where_the_job_is() -> None:
    nodes = [Node(id="n0", gpus=4), Node(id="n1", gpus=4, cpus=2)]
    here = [elastic(0, LINEAR, cpus=1, state="running", placement={"n1": 2}), elastic(1, LINEAR)]
    assert placed(round_with(nodes, here), [3, 4]) == {1: [4, 0], 0: [0, 2]}


def test_quotas_count_shares() -> None:
    jobs = [elastic(j, LINEAR, gpus=4, tenant="a") for j in range(3)]
    assert placed(round_with([8], jobs, [Tenant(id="a", quota_gpus=3)]), [2, 2, 1]) == {0: [2], 1: [1]}


@given(st.data(), elastic_rounds(equal=True, tight=True), st.sampled_from(["any", "node"]))
@more_examples(300)
def test_what_is_placed_is_legal_fits_and_is_never_more_than_was_given(
    data: st.DataObject, round_: Round, packing: str
) -> None:
    shares = [data.draw(st.integers(0, 12)) for _ in round_.jobs]
    found = placed(round_, shares, packing)
    legal = share_sizes(round_.cluster, packing).tolist()
    size = max((node.gpus for node in round_.cluster.nodes), default=0)
    used = np.zeros((3, len(round_.cluster.nodes)), dtype=np.int64)
    amounts = round_.amounts
    held = np.zeros(len(round_.cluster.tenants), dtype=np.int64)
    for job, share in found.items():
        assert sum(share) in legal
        assert sum(share) <= max(1, shares[job])
        if packing == "node":
            assert sum(map(bool, share)) == max(1, sum(share) // size)
        used += np.outer([1, amounts.c[job], amounts.m[job]], share)
        if amounts.tenant[job] >= 0:
            held[amounts.tenant[job]] += sum(share)
    assert used[0].sum() <= sum(shares)
    assert (used <= np.array([amounts.G, amounts.C, amounts.M])).all()
    assert (held <= amounts.U).all()


@given(st.data(), elastic_rounds(equal=True), st.sampled_from(["any", "node"]))
@more_examples(200)
def test_legal_shares_are_placed_whole_where_only_gpus_are_limited(
    data: st.DataObject, round_: Round, packing: str
) -> None:
    legal = share_sizes(round_.cluster, packing).tolist()
    left, quota = round_.cluster.total_gpus, round_.amounts.U.copy()
    shares = []
    for job in range(len(round_.jobs)):
        tenant = round_.amounts.tenant[job]
        most = left if tenant < 0 else min(left, int(quota[tenant]))
        shares.append(data.draw(st.sampled_from([0, *(gpus for gpus in legal if gpus <= most)])))
        left -= shares[-1]
        if tenant >= 0:
            quota[tenant] -= shares[-1]
    found = placed(round_, shares, packing)
    assert [sum(found.get(job, [])) for job in range(len(shares))] == shares
    if packing == "any":
        for job, share in found.items():
            here = held_gpus(round_, job)
            assert here is None or here.sum() != shares[job] or here.tolist() == share


@given(st.data(), elastic_rounds(equal=True, tight=True), st.sampled_from(["any", "node"]))
@more_examples(200)
def test_shares_are_placed_as_if_every_node_were_asked(data: st.DataObject, round_: Round, packing: str) -> None:
    shares = np.array([data.draw(st.integers(0, 12)) for _ in round_.jobs], dtype=np.int64)
    sizes = share_sizes(round_.cluster, packing)
    plain = plain_place_shares.place_shares(round_, shares, sizes, by_node=packing == "node")
    assert [*placed(round_, shares.tolist(), packing).items()] == [
        (job, share.tolist()) for job, share in plain.items()
    ]


def test_many_shares_are_placed_as_if_every_node_were_asked() -> None:
    for seed in range(3):
        round_ = generate("elastic", jobs=150, nodes=15, seed=seed)
        shares = np.random.default_rng(seed).integers(0, 4, len(round_.jobs))
        plain = plain_place_shares.place_shares(round_, shares, share_sizes(round_.cluster, "any"))
        assert [*placed(round_, shares.tolist()).items()] == [(job, share.tolist()) for job, share in plain.items()]


def test_all_are_placed_anew_only_where_that_is_worth_more() -> None:
    here = [running(0, n0=1), running(1, n1=1), elastic(2, LINEAR)]
    round_, shares = round_with([4, 4], here), np.array([1, 1, 4])
    sizes = share_sizes(round_.cluster, "node")

    def held(found: Mapping[int, list[tuple[int, int]]]) -> int:
        return sum(gpus for parts in found.values() for _, gpus in parts)

    for worth, expected in (
        (lambda _: 0, {0: [1, 0], 1: [0, 1], 2: [2, 0]}),
        (held, {0: [0, 1], 1: [0, 1], 2: [4, 0]}),
    ):
        found = place_parts(round_, shares, sizes, by_node=True, worth=worth)
        assert on_nodes(round_, found) == expected
