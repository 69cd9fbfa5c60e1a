"""Jobs that ask for certain nodes share only where all of them may be: candidates, matchings, places, program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as changed

import numpy as np
import pytest
from by_policy import broken_rules, decision_value, formulation_of
from msgspec.structs import replace
from shared_rounds import random_round, sharer, sharing_round
from sharing_asked_rounds import asked_sharing_round

from muri_opt import Job, Limits, Node, RefusalError, Round, policy_from
from muri_opt.rounds import Tenant
from muri_opt.solve.exact import optimise
from muri_opt.systems.muri import PAPER, group_jobs, grouping, program_columns, program_types
from muri_opt.systems.muri.candidates import candidates
from muri_opt.systems.muri.group_locations import Location, group_locations
from muri_opt.systems.muri.grouping import Grouping

FOREVER = Limits(seconds=None)
FAST, SLOW = (3, 1), (1, 3)
"""Stages of jobs that interleave with each other; two of the same kind do not."""


def labelled(labels: Sequence[str], jobs: Sequence[tuple[tuple[int, int], str]], gpus: int = 1) -> Round:
    """Return nodes with a label for each letter, and jobs of one GPU with their stages and the label they require."""
    nodes = [Node(id=f"n{s}", gpus=gpus, labels=tuple(said)) for s, said in enumerate(labels)]
    asked = [sharer(j, stages, iteration_seconds=4.0, requires=tuple(label)) for j, (stages, label) in enumerate(jobs)]
    return sharing_round(nodes, asked)


def grouped(round_: Round) -> Grouping:
    locations = group_locations(round_)
    return group_jobs(round_.jobs, round_.cluster.total_gpus, changed(PAPER, largest_group=2), locations)


def test_locations_of_a_group_are_those_of_all_members() -> None:
    round_ = labelled(["x", "xy", "y"], [(FAST, "x"), (SLOW, "y"), (FAST, "xy"), (SLOW, "z")])
    locations = group_locations(round_)
    found = [locations.of(locations.kinds(group), 1) for group in ((0,), (1,), (0, 1), (0, 1, 2), (3,), (0, 3))]
    middle = (Location(frozenset({1})),)
    assert found == [(Location(frozenset({0, 1})),), (Location(frozenset({1, 2})),), middle, middle, (), ()]
    assert locations.of(locations.kinds((0, 1)), 2) == ()  # one node of one GPU is all they have in common
    assert locations.pairs([locations.kinds((job,)) for job in range(4)], 1).tolist() == [
        [True, True, True, False],
        [True, True, True, False],
        [True, True, True, False],
        [False] * 4,
    ]


def test_there_is_no_edge_between_jobs_that_can_be_nowhere_together() -> None:
    jobs = [(FAST, "x"), (SLOW, "y"), (FAST, "y"), (SLOW, "x")]
    assert set(grouped(labelled(["x", "y"], jobs))) == {(0, 3), (1, 2)}
    assert grouped(labelled(["xy", "xy"], [(stages, "") for stages, _ in jobs])).groups in (
        ((0, 1), (2, 3)),
        ((0, 3), (1, 2)),
    )
    apart = grouped(labelled(["x", "y", "z"], [(FAST, "x"), (SLOW, "y"), (FAST, "z"), (SLOW, "z")]))
    assert apart.groups == ((0,), (1,), (2, 3))


def test_jobs_are_merged_where_a_part_of_the_cluster_is_asked_too_much() -> None:
    # Two jobs for one GPU, and two other GPUs that are free.
    assert grouped(labelled(["x", "y", "y"], [(FAST, "x"), (SLOW, "x"), (FAST, "y")])).groups == ((0, 1), (2,))
    # Whoever may be elsewhere is not merged for that.
    assert grouped(labelled(["xy", "y", "y"], [(FAST, "x"), (SLOW, "y"), (FAST, "y")])).groups == ((0,), (1,), (2,))
    queue = changed(PAPER, largest_group=2, matching=False)
    round_ = labelled(["x", "y", "y"], [(FAST, "x"), (SLOW, "x"), (FAST, "y"), (SLOW, "y")])
    assert group_jobs(round_.jobs, 3, queue, group_locations(round_)).groups == ((0, 1), (2,), (3,))
    round_ = labelled(["x", "y"], [(FAST, "x"), (SLOW, "y"), (FAST, "y"), (SLOW, "x")])
    assert group_jobs(round_.jobs, 2, queue, group_locations(round_)).groups == ((0,), (1,), (2,), (3,))


def test_types_of_many_groups_are_told_apart_by_where_they_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(6):
        draw = np.random.default_rng(seed)
        kinds = [(FAST, "x"), (SLOW, "x"), (FAST, "y"), (SLOW, "y"), (SLOW, "")]
        round_ = labelled(["x", "y", "xy"], [kinds[kind] for kind in draw.integers(0, 5, 12)])
        one_by_one = grouped(round_).rounds[0]
        with monkeypatch.context() as patched:
            patched.setattr(grouping, "MANY", 0)
            patched.setattr(grouping, "ALIKE", 0)
            grouping._match.cache_clear()
            by_type = grouped(round_)
        grouping._match.cache_clear()
        assert [bucket.weight for bucket in by_type.rounds[0]] == pytest.approx([one.weight for one in one_by_one])
        locations = group_locations(round_)
        assert all(locations.of(locations.kinds(group), 1) for group in by_type)


def test_who_may_not_be_in_a_slot_does_not_join_it() -> None:
    round_ = labelled(["x", "y"], [(FAST, "x"), (SLOW, "y"), (SLOW, "x"), (FAST, "x"), (FAST, "y")])
    assert candidates(round_, range(5), 2) == [0, 1, 2, 4]


def test_a_tenant_above_counts_the_partners_of_all_below_it() -> None:
    tenants = [Tenant(id="org", quota_gpus=3), Tenant(id="a", parent="org"), Tenant(id="b", parent="org")]
    jobs = [sharer(j, FAST, tenant="ab"[j % 2]) for j in range(5)]
    assert candidates(sharing_round([1], jobs, tenants), range(5), 4) == [0, 1, 2]


def two_clusters(seed: int) -> tuple[Round, list[Round]]:
    """Return a round whose jobs ask for one of two GPU types, and the rounds of either."""
    drawn = [random_round(2 * seed + which, resources=4, quotas=False) for which in range(2)]
    parts = [
        sharing_round([round_.cluster.total_gpus], [replace(job, tenant=None) for job in round_.jobs])
        for round_ in drawn
    ]

    def asking(job: Job, which: int) -> Job:
        return replace(job, id=f"{which}-{job.id}", gpu_types=(f"type-{which}",))

    nodes = tuple(
        replace(node, id=f"{which}-{node.id}", gpu_type=f"type-{which}")
        for which, part in enumerate(parts)
        for node in part.cluster.nodes
    )
    jobs = tuple(asking(job, which) for which, part in enumerate(parts) for job in part.jobs)
    first = parts[0]
    return replace(first, format="muri-opt/round/2", cluster=replace(first.cluster, nodes=nodes), jobs=jobs), parts


@pytest.mark.parametrize("spec", ["muri-s:autopack=off", "muri-l:group=2,autopack=off,objective=gpu-time"])
def test_two_types_are_two_clusters(spec: str) -> None:
    program, groups = formulation_of(spec), 0
    for seed in range(8):
        both, parts = two_clusters(seed)
        answers = [optimise(round_, program, "highs", FOREVER, None) for round_ in (both, *parts)]
        assert answers[0].bound == answers[1].bound + answers[2].bound
        assert broken_rules(both, answers[0].decision, spec) == []
        alone = [policy_from(spec).decide(part, 0) for part in parts]
        together = policy_from(spec).decide(both, 0)
        groups += sum(len(one.jobs) > 1 for one in together.assignments)
        assert decision_value(both, spec, together) == sum(
            decision_value(part, spec, decision) for part, decision in zip(parts, alone, strict=True)
        )
        model = program.build(both)
        assert [family.label for family in model.columns] == ["x"]  # nothing to share between them
    assert groups


def test_a_program_of_too_many_locations_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    round_ = replace(asked_sharing_round(3, "types"), name="again")
    program = formulation_of("muri-s")
    columns = len(program_columns.GroupColumns.of(round_, program.rules).value)
    monkeypatch.setattr(program_types, "MOST_COLUMNS", columns - 1)
    with pytest.raises(RefusalError, match="at most"):
        program.build(replace(round_, name="once more"))
