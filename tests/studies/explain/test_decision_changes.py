"""Two decisions of any policy: the changes between them sum exactly, are their own mirror image, and stand apart."""

from collections import Counter
from itertools import chain

import pytest
from by_policy import decision_value, rules_of
from hypothesis import given, settings, strategies as st

from muri_opt import Assignment, Cluster, Decision, Job, Node, Plan, Round, Tenant, policy_from
from muri_opt.studies.explain import Difference, compare_decisions, value_parts
from muri_opt.studies.explain.linked_changes import fitting
from muri_opt.systems import POLICIES
from muri_opt.testing import decisions, family_of, family_rounds

SETTINGS = (
    "fifo",
    "fifo:objective=weighted,preempt=yes",
    "muri-s:sizes=mixed,objective=gpu-time",
    "muri-l:objective=progress",
    "afs-l:objective=time",
    "philly:objective=weighted",
    "philly:migrate=inf",
    "aiturbo:objective=time",
)
KINDS = set(Difference)
PLANS = (("tp", 2.0, 1.0), ("dp", 4.0, 2.0), ("dp", 2.0, 1.5))


def gpus(parts):
    return sum(part.gpus for part in parts)


@pytest.mark.parametrize("policy", [*POLICIES, *SETTINGS])
@settings(max_examples=6, database=None)
@given(data=st.data())
def test_parts_sum_to_values_and_changes_to_their_difference(policy, data):
    round_ = data.draw(family_rounds(family_of(policy), max_jobs=6, tight=data.draw(st.booleans())))
    chosen = policy_from(policy)
    first = chosen.decide(round_, 0)
    second = data.draw(decisions(round_, policy=chosen.spec))
    found = compare_decisions(round_, rules_of(chosen.spec), first, second)
    values = [decision_value(round_, chosen.spec, decision) for decision in (first, second)]
    assert list(found.values) == values
    assert found.gap == values[1] - values[0] == sum(change.gain for change in found.changes)
    for side in (0, 1):
        assert found.same + sum(change.worth[side] for change in found.changes) == values[side]
    assert [change.gain for change in found.changes] == sorted((c.gain for c in found.changes), reverse=True)

    # every job that differs is in one change, with all the jobs it runs with; no other job is
    named = Counter(chain.from_iterable(change.jobs for change in found.changes))
    assert named == Counter(job for job, kind in found.differences.items() if kind.differs)
    for change in found.changes:
        for parts in (change.first, change.second):
            assert set(chain.from_iterable(part.jobs for part in parts)) == set(change.jobs)

    # any of the changes can be made without the others, as far as GPUs go, from either side
    total = round_.cluster.total_gpus
    shifts = [change.gpus[1] - change.gpus[0] for change in found.changes]
    for decision, sign in ((first, 1), (second, -1)):
        used = sum(sum(one.gpus.values()) for one in decision.assignments)
        assert used + sum(max(0, sign * shift) for shift in shifts) <= total

    mirrored = compare_decisions(round_, rules_of(chosen.spec), second, first)
    assert {change.jobs: -change.gain for change in mirrored.changes} == {c.jobs: c.gain for c in found.changes}
    assert (mirrored.same, mirrored.moved) == (found.same, found.moved)
    assert compare_decisions(round_, rules_of(chosen.spec), first, first).changes == ()


@settings(max_examples=15, database=None)
@given(data=st.data())
def test_a_part_is_worth_what_it_is_worth_alone(data):
    policy = data.draw(st.sampled_from(["srsf", "muri-s", "afs-l", "rubick"]))
    round_ = data.draw(family_rounds(family_of(policy)))
    for part in value_parts(round_, rules_of(policy), data.draw(decisions(round_, policy=policy))):
        alone = Decision() if part.assignment is None else Decision(assignments=(part.assignment,))
        assert part.value == decision_value(round_, policy, alone)


@settings(max_examples=100, database=None)
@given(st.lists(st.integers(-6, 6), max_size=9), st.integers(0, 8))
def test_changes_are_joined_until_they_fit_and_no_further_than_pairs_need(deltas, spare):
    free = max(0, sum(deltas)) + spare  # both decisions leave at least nothing
    groups = fitting(deltas, free)
    assert sorted(chain.from_iterable(groups)) == list(range(len(deltas)))
    sums = [sum(deltas[place] for place in group) for group in groups]
    assert sum(max(0, delta) for delta in sums) <= free
    assert all(min(deltas[place] for place in group) < 0 < max(deltas[place] for place in group)
               for group in groups if len(group) > 1)  # fmt: skip
    if sum(max(0, delta) for delta in deltas) <= free:
        assert len(groups) == len(deltas)
    mirrored = fitting([-delta for delta in deltas], free - sum(deltas))
    assert sorted(mirrored) == sorted(groups)


@pytest.mark.parametrize(
    ("deltas", "free", "groups"),
    [
        ([2, -2, 1, -1], 0, [[0, 1], [2, 3]]),  # equal amounts first
        ([2, -2, 1], 3, [[0], [1], [2]]),  # all that take fit beside each other
        ([3, -1, -2], 0, [[0, 1, 2]]),  # two give what one takes
        ([3, -2, 1], 2, [[0, 1], [2]]),  # 1 remains to be taken of what is free
        ([4, 1, -5], 0, [[0, 1, 2]]),
        ([], 0, []),
    ],
)
def test_who_gives_to_whom(deltas, free, groups):
    assert fitting(deltas, free) == groups


def gangs(gpus, **fields):
    return tuple(
        Job(id=name, gpus=count, submitted=float(at), **fields) for at, (name, count) in enumerate(gpus.items())
    )


def on(*jobs, node="n0", gpus=1, **fields):
    return Assignment(jobs=jobs, gpus={node: gpus}, **fields)


def test_a_quota_ties_jobs_that_free_gpus_do_not():
    round_ = Round(
        cluster=Cluster(nodes=(Node(id="n0", gpus=8),), tenants=(Tenant(id="t", quota_gpus=1),)),
        jobs=gangs({"a": 1, "b": 1}, tenant="t"),
    )
    first, second = (Decision(assignments=(on(name),)) for name in "ba")
    found = compare_decisions(round_, rules_of("fifo:objective=weighted"), first, second)
    assert [(change.jobs, change.gain) for change in found.changes] == [(("a", "b"), 1)]


def test_a_tenant_above_its_quota_ties_its_jobs():
    cluster = Cluster(nodes=(Node(id="n0", gpus=8),), tenants=(Tenant(id="t", quota_gpus=3),))
    round_ = Round(cluster=cluster, jobs=(*gangs({"a": 2, "b": 2}, tenant="t"), Job(id="c", gpus=2, submitted=0.0)))
    everyone = Decision(assignments=tuple(on(job, gpus=2) for job in "abc"))
    found = compare_decisions(round_, rules_of("philly"), Decision(), everyone)
    assert {change.jobs for change in found.changes} == {("a", "b"), ("c",)}
    (tied,) = (change for change in found.changes if "a" in change.jobs)
    assert [(part.tenant, part.over_quota) for part in tied.second[2:]] == [("t", 1)]


def test_nodes_differ_only_where_that_changes_a_value():
    nodes = tuple(Node(id=f"n{s}", gpus=2, rack=f"r{s}") for s in range(2))
    job = Job(id="a", gpus=2, submitted=0.0, state="running", placement={"n0": 2}, restart_seconds=60.0)
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=(job,))
    stays, moves = (Decision(assignments=(on("a", node=node, gpus=2),)) for node in ("n0", "n1"))
    plain = compare_decisions(round_, rules_of("fifo:objective=weighted"), stays, moves)
    assert (plain.changes, plain.moved, plain.differences["a"]) == ((), ("a",), Difference.SAME)
    charged = compare_decisions(round_, rules_of("philly"), stays, moves)
    assert (charged.differences["a"], charged.moved) == (Difference.NODES, ())
    assert charged.gap == charged.changes[0].gain < 0


def test_a_preempted_job_costs_what_preempting_takes_away():
    job = Job(id="a", gpus=2, submitted=0.0, state="running", placement={"n0": 2}, restart_seconds=60.0, tenant="t")
    cluster = Cluster(nodes=(Node(id="n0", gpus=2),), tenants=(Tenant(id="t", quota_gpus=0),))
    round_ = Round(cluster=cluster, jobs=(job,))
    stays = Decision(assignments=(on("a", gpus=2),))
    kept, stopped = (value_parts(round_, rules_of("philly"), decision) for decision in (stays, Decision()))
    assert [(part.jobs, part.tenant, part.over_quota) for part in kept] == [(("a",), None, 0), ((), "t", 2)]
    assert [(part.jobs, part.assignment) for part in stopped] == [(("a",), None)]
    assert stopped[0].value < 0 == kept[1].value + kept[0].value - decision_value(round_, "philly", stays)
    (change,) = compare_decisions(round_, rules_of("philly"), stays, Decision()).changes
    assert (change.first, change.second) == (kept, stopped)


def test_every_kind_of_difference_has_its_name():
    stages = (1.0, 2.0, 3.0)
    jobs = gangs({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}, stage_seconds=stages, iteration_seconds=6.0,
                 remaining_iterations=9)  # fmt: skip
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=8),)), jobs=jobs, resources=("x", "y", "z"))
    order = {"order": (0, 1), "period_seconds": 7.0}
    first = Decision(assignments=(on("a", "b", **order), on("c"), on("e")))
    second = Decision(assignments=(on("b"), on("a", "d", **order), on("e")))
    found = compare_decisions(round_, rules_of("muri-s"), first, second)
    kinds = ["PARTNERS", "PARTNERS", "FIRST_ONLY", "SECOND_ONLY", "SAME", "WAITS"]
    assert {job: kind.name for job, kind in found.differences.items()} == dict(zip("abcdef", kinds, strict=True))
    assert {change.jobs for change in found.changes} == {("a", "b", "d"), ("c",)}  # GPUs are free: c is on its own
    assert sum(kind.differs for kind in KINDS) == len(KINDS) - 2


def test_planned_jobs_differ_by_plan_or_by_cpus():
    plans = tuple(Plan(name=name, gpus=2, cpus=cpus, throughput=rate) for name, cpus, rate in PLANS)
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2, cpus=8.0),)), jobs=(Job(id="a", gpus=2, plans=plans),))
    slow, fast, lean = (
        Decision(assignments=(on("a", gpus=2, plan=name, cpus={"n0": cpus}),)) for name, cpus, _ in PLANS
    )
    for other, gain in ((slow, -500_000), (lean, -250_000)):
        found = compare_decisions(round_, rules_of("rubick"), fast, other)
        assert (found.differences, found.gap) == ({"a": Difference.PLAN}, gain)


def test_elastic_jobs_differ_by_gpus():
    elastic = tuple(Job(id=name, gpus=1, remaining_iterations=9, scaling={1: 1.0, 2: 1.5}) for name in "ab")
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=3),)), jobs=elastic)
    first = Decision(assignments=(on("a", gpus=2), on("b")))
    second = Decision(assignments=(on("a"), on("b", gpus=2)))
    found = compare_decisions(round_, rules_of("afs-l"), first, second)
    assert set(found.differences.values()) == {Difference.GPUS}
    assert [(change.jobs, change.gain, change.gpus) for change in found.changes] == [(("a", "b"), 0, (3, 3))]
