"""Where CPUs or nodes that jobs ask for are scarce: who is placed first, and who shares."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from bound_joint_rounds import offers_of, with_cpus, with_types
from joint_rounds import large_joint_round
from msgspec.structs import replace

from muri_opt import Cluster, Job, Node, Round, policy_from
from muri_opt.systems.joint.groups.price_search import rows_of_similar_periods, search
from muri_opt.systems.joint.jobs.models import models_of
from muri_opt.systems.joint.jobs.worth import worth_of
from muri_opt.systems.joint.nodes.places import has_scarce_nodes, place_groups
from muri_opt.systems.joint.nodes.regions import Regions
from muri_opt.systems.joint.rules import JointRules
from muri_opt.verify import broken_rules


def labelled(seed: int, jobs: int, nodes: int) -> Round:
    """Return a round in which half of the jobs ask for one of two labels that some nodes have, a few both."""
    round_ = large_joint_round(seed, jobs=jobs, nodes=nodes)
    labels = [("fast",) * (at % 3 == 0) + ("big",) * (at % 4 == 0) for at in range(nodes)]
    placed = tuple(replace(node, labels=own) for node, own in zip(round_.cluster.nodes, labels, strict=True))
    asked = ((), (), ("fast",), ("big",))
    said = tuple(replace(job, requires=asked[(at + seed) % 4]) for at, job in enumerate(round_.jobs))
    return replace(round_, cluster=replace(round_.cluster, nodes=placed), jobs=said)


def test_nodes_are_scarce_by_cpus_memory_and_what_jobs_ask_for():
    plain = large_joint_round(1, jobs=20, nodes=3)
    assert not has_scarce_nodes(plain)
    assert has_scarce_nodes(with_cpus(plain, 1, 8.0, None))
    assert has_scarce_nodes(with_cpus(plain, 1, None, 8.0))
    assert not has_scarce_nodes(with_cpus(plain, 1, None, None))  # jobs say what they need, nodes have any number
    assert has_scarce_nodes(labelled(1, 20, 4))


@pytest.mark.parametrize(("worth", "placed"), [(None, 0), ([1.0, 2.0], 1), ([2.0, 1.0], 0)])
def test_what_is_worth_most_for_a_gpu_is_placed_first_if_it_is_said(worth, placed):
    job = Job(id="-", gpus=2, cpus=6.0, iteration_seconds=1.0, remaining_iterations=10)
    round_ = Round(
        cluster=Cluster(nodes=(Node(id="n", gpus=4, cpus=8.0),)), jobs=(replace(job, id="a"), replace(job, id="b"))
    )
    rules = JointRules.of(policy_from("joint-s").rules)
    models = models_of(round_, rules)
    values = worth_of(round_, models, rules)
    found = place_groups(round_, models, values, [(0,), (1,)], [2, 2], [(0, None), (0, None)], worth)
    assert [*found] == [(placed,)]


@pytest.mark.parametrize("seed", range(8))
def test_of_nested_kinds_one_may_start_wherever_the_other_may(seed):
    regions = Regions.of(labelled(seed, 40, 12))
    inside = [{node for node, is_in in enumerate(row) if is_in} for row in regions.inside.tolist()]
    nested = [[bool(one and other) and (one <= other or other <= one) for other in inside] for one in inside]
    assert regions.nested.tolist() == nested
    assert not (regions.nested & ~regions.together).any()


@pytest.mark.parametrize("seed", range(8))
def test_kinds_of_jobs_stand_beside_those_that_they_can_best_share_with(seed):
    regions = Regions.of(with_types(labelled(seed, 60, 12), seed))
    inside = [{node for node, is_in in enumerate(row) if is_in} for row in regions.inside.tolist()]

    def suits(one, other):
        """How well: nested before others with nodes in common, then as many nodes."""
        one, other = inside[one], inside[other]
        share = min(len(one), len(other)) / max(1, len(one), len(other))
        return (bool(one and other) and (one <= other or other <= one), bool(one & other), share)

    line = regions.line.tolist()
    assert sorted(line) == [*range(len(inside))]
    assert len(inside[line[0]]) == min(map(len, inside))
    for at, kind in enumerate(line[1:], start=1):
        before = line[at - 1]
        found, *others = (suits(before, other) for other in (kind, *line[at + 1 :]))
        best = max([found, *others])
        assert found == best or not best[1]


@pytest.mark.parametrize("seed", range(4))
def test_offers_say_who_may_share_by_the_kinds_of_jobs(seed):
    round_ = with_types(labelled(seed, 60, 12), seed)
    offers, regions = offers_of(round_), Regions.of(round_)
    ranks = offers.order.rank.tolist()
    for job, rank in enumerate(ranks):
        for other, theirs in enumerate(ranks):
            kinds = regions.kind[job], regions.kind[other]
            assert offers.meet[rank, theirs] == regions.together[kinds]
            assert offers.order.nested[rank, theirs] == regions.nested[kinds]


@pytest.mark.parametrize("seed", range(4))
def test_rows_have_jobs_of_similar_periods_that_ask_for_the_same_nodes_together(seed):
    offers, order = offers_of(labelled(seed, 300, 24)), np.arange(300)
    wanted = np.ones(300, dtype=np.int64)
    rows = rows_of_similar_periods(offers, order, wanted)
    line = rows[rows >= 0]
    assert sorted(line.tolist()) == order.tolist()
    period = np.floor(-np.log2(offers.rate[offers.kind[line], 1]))
    keys = list(zip(period.tolist(), offers.order.rank[line].tolist(), strict=True))
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("nested", "charge", "rough", "width"),
    [
        (None, 0.0, False, 64),
        (None, 1.0, False, 48),
        (None, 0.0, True, 48),
        (np.ones((4, 4), dtype=np.bool_), 0.0, False, 64),
        (np.eye(4, dtype=np.bool_), 0.0, False, 64),
        (np.ones((4, 4), dtype=np.bool_), 0.0, True, 48),
        (np.eye(4, dtype=np.bool_), 0.0, True, 32),
        (np.eye(4, dtype=np.bool_), 1.0, True, 32),
    ],
)
def test_fewer_partners_are_looked_at_where_few_suit_and_for_an_answer_soon(nested, charge, rough, width):
    offers = offers_of(large_joint_round(1, jobs=300, nodes=24))
    order = SimpleNamespace(nested=nested, rank=offers.order.rank)
    offers = dataclasses.replace(offers, order=order, charge=np.full(300, charge), rough=rough)
    rows = rows_of_similar_periods(offers, np.arange(300), np.ones(300, dtype=np.int64))
    assert rows.shape[1] == width


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("jobs", [60, 300])
def test_of_very_many_jobs_only_such_share_that_no_other_confines(seed, jobs):
    round_ = labelled(seed, jobs, 24)
    offers, regions = offers_of(round_), Regions.of(round_)
    nested, kind = regions.nested, regions.kind
    found = search(offers, 192)
    pairs = [pair for part in found.shared for group in part.tolist() for pair in combinations(group, 2)]
    assert pairs
    if jobs > 192:
        assert all(nested[kind[one], kind[other]] for one, other in pairs)


@pytest.mark.parametrize("policy", ["joint-s", "joint-l"])
@pytest.mark.parametrize("jobs", [50, 300])
def test_decisions_keep_the_rules_where_labels_types_and_cpus_bind(policy, jobs):
    for seed in range(2):
        round_ = with_types(labelled(seed, jobs, 24), seed)
        round_ = with_cpus(round_, seed, 16.0, 64.0) if seed else round_
        chosen = policy_from(policy)
        assert not broken_rules(round_, chosen.rules, chosen.decide(round_, 0))
