"""Looked at together, shares are sound exactly where no rule, asked one by one, names a breach."""

from __future__ import annotations

from random import Random

import pytest
from elastic_draws import elastic, elastic_rounds, round_with
from hypothesis import given, strategies as st
from more_examples import more_examples
from msgspec.structs import replace

from muri_opt import Assignment, Decision, Node, Round, Tenant, policy_from
from muri_opt.verify.afs.chapter import ShareChapter
from muri_opt.verify.chapter import Chapter

SPECS = ("afs-l", "afs-l:packing=node", "optimus", "max-min-elastic:restarts=ignore")


def chapter_of(round_: Round, spec: str) -> ShareChapter:
    """Return the chapter of a round under the rules of a policy."""
    chapter = ShareChapter.of(round_, policy_from(spec).rules)
    assert isinstance(chapter, ShareChapter)
    return chapter


def faulty(draw: Random, round_: Round, decision: Decision) -> Decision:
    """Return a decision with one thing changed, which may or may not break a rule."""
    some = [*decision.assignments]
    if not some or draw.random() < 0.1:
        return replace(decision, waiting=decision.waiting[1:])
    place = draw.randrange(len(some))
    one, nodes = some[place], [node.id for node in round_.cluster.nodes]
    node = draw.choice([*one.gpus, *nodes])
    given = {**one.gpus, node: one.gpus.get(node, 0) + draw.choice([-1, 1, 1, 8])}
    changed = [
        replace(one, gpus={name: gpus for name, gpus in given.items() if gpus}),
        replace(one, gpus=given),
        replace(one, gpus={}),
        replace(one, gpus={"nowhere": 1}),
        replace(one, cpus={**one.cpus, node: one.cpus.get(node, 0.0) + draw.choice([0.0, 0.001, 1e-7, float("nan")])}),
        replace(one, period_seconds=draw.choice([None, 0.0, (one.period_seconds or 1.0) * (1 + 1e-11)])),
        replace(one, order=(1,)),
        replace(one, plan="dp"),
        replace(one, jobs=draw.choice([(), ("nobody",), (one.jobs[0], one.jobs[0]), (round_.jobs[0].id,)])),
    ]
    some[place] = draw.choice(changed)
    return replace(decision, assignments=tuple(some))


@given(elastic_rounds(equal=True, tight=True), st.sampled_from(SPECS), st.integers(0, 1 << 20))
@more_examples(250)
def test_all_together_find_what_the_rules_find_one_by_one(round_: Round, spec: str, seed: int) -> None:
    draw, chapter = Random(seed), chapter_of(round_, spec)
    decision = policy_from(spec).decide(round_, 0)
    assert chapter.breaches(decision) == Chapter.breaches(chapter, decision) == []
    for _ in range(4):
        other = faulty(draw, round_, decision)
        assert chapter.breaches(other) == Chapter.breaches(chapter, other)


@pytest.mark.parametrize(
    ("gpus", "rule"), [({"n0": 3}, "gpu-capacity"), ({"n1": 2}, "cpu-capacity"), ({"n2": 2}, "memory-capacity")]
)
def test_what_a_node_has_not_is_found(gpus: dict[str, int], rule: str) -> None:
    nodes = [Node(id="n0", gpus=2), Node(id="n1", gpus=4, cpus=1), Node(id="n2", gpus=4, memory_gib=1)]
    round_ = round_with(nodes, [elastic(0, (1, 2, 3), gpus=1, cpus=1, memory_gib=1)])
    chapter = chapter_of(round_, "afs-l")
    period = chapter.period_alone(round_.jobs[0], sum(gpus.values()))
    one = Assignment(jobs=("j0",), gpus=gpus, cpus={node: float(n) for node, n in gpus.items()}, period_seconds=period)
    assert [breach.rule for breach in chapter.breaches(Decision(assignments=(one,), waiting=()))] == [rule]


def test_a_quota_is_found() -> None:
    jobs = [elastic(0, (1, 2, 3), tenant="a")]
    round_ = round_with([4], jobs, [Tenant(id="a", quota_gpus=1)])
    chapter = chapter_of(round_, "afs-l")
    one = Assignment(jobs=("j0",), gpus={"n0": 2}, period_seconds=chapter.period_alone(round_.jobs[0], 2))
    assert [breach.rule for breach in chapter.breaches(Decision(assignments=(one,), waiting=()))] == ["quota"]
