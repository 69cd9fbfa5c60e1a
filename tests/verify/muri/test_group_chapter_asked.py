"""The verifier's rules for groups that ask for nodes: each has a name, and together they are the definitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import pytest
from asked_groupings import AskedGroupings, Split
from by_policy import broken_rules, chapter_of, decision_value, under, wrong_reasons
from msgspec.structs import replace
from plain_groups import OBJECTIVES, Plain
from seeds import some_then_all
from shared_rounds import sharer
from sharing_asked_rounds import GROUPS, asked_sharing_round

from muri_opt import RefusalError, policy_from, solve_round, verify
from muri_opt.rounds import (
    Assignment,
    Cluster,
    Decision,
    Job,
    Node,
    Round,
    Tenant,
    Waiting,
    WaitingReason,
    Within,
)

UNITS = {"n0": {"rack": "r0"}, "n1": {"rack": "r1"}, "n2": {}}
SLOTS = ((3, 1), (1, 3))
"""Stages of two jobs that interleave."""


def cluster(**said: object) -> Cluster:
    """Return three nodes of 2 GPUs, the last with more said of it."""
    nodes = [Node(id=f"n{s}", gpus=2, gpu_type="a", levels=UNITS[f"n{s}"]) for s in range(3)]
    return Cluster(levels=("rack",), nodes=(*nodes[:2], replace(nodes[2], **said)))


def two(said: dict[str, object], here: Cluster | None = None) -> Round:
    """Return two jobs of two GPUs, the second of which says more."""
    jobs = tuple(sharer(j, SLOTS[j], 2, iteration_seconds=4.0, **(said if j else {})) for j in range(2))
    return Round(format="muri-opt/round/2", now=100.0, resources=("cpu", "gpu"), cluster=here or cluster(), jobs=jobs)


def decided(plain: Plain, groups: Sequence[tuple[Sequence[Job], dict[str, int]]]) -> Decision:
    """Return the decision in which groups have GPUs per node, and all others wait for no true reason."""
    chapter = chapter_of(plain.round_, policy_from(plain.spec).rules)
    assignments = []
    for jobs, gpus in groups:
        best = chapter.rules.period(jobs)
        order = next(
            order
            for order in product(range(len(jobs)), repeat=len(jobs))
            if sorted(order) == list(range(len(jobs))) and chapter.rules.period(jobs, order) == best
        )
        period = float(best * chapter.rules.slowdown(len(jobs)) / 1_000_000)
        alone = jobs[0].iteration_seconds
        assignments.append(
            Assignment(
                jobs=tuple(job.id for job in jobs),
                order=order,
                gpus=gpus,
                period_seconds=alone if len(jobs) == 1 else period,
            )
        )
    running = {job.id for jobs, _ in groups for job in jobs}
    waiting = (job.id for job in plain.round_.jobs if job.id not in running)
    return Decision(
        assignments=tuple(assignments),
        waiting=tuple(Waiting(job=job, reason=WaitingReason.PRIORITY, detail="", remedy="") for job in waiting),
    )


RUNNING = {"state": "running", "placement": {"n2": 2}}
MUTANTS = {
    "gpu-type/mixed": (two({}, cluster(gpu_type="b")), {"n1": 1, "n2": 1}),
    "gpu-type/asked": (two({"gpu_types": ("a",)}, cluster(gpu_type="b")), {"n2": 2}),
    "labels/lacking": (two({"requires": ("x",)}, cluster(labels=("x",))), {"n1": 2}),
    "labels/excluded": (two({"excludes": ("x",)}, cluster(labels=("x",))), {"n2": 2}),
    "labels/moved": (two({"requires": ("x",), **RUNNING}), {"n1": 2}),
    "within/two": (two({"within": Within(level="rack")}), {"n0": 1, "n1": 1}),
    "within/none": (two({"within": Within(level="rack")}), {"n2": 2}),
    "available-until/limit": (two({"time_limit_seconds": 51.0}, cluster(available_until=150.0)), {"n2": 2}),
    "available-until/over": (two({}, cluster(available_until=100.0)), {"n2": 2}),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_group_of_which_one_job_breaks_a_rule_is_told_which(name: str) -> None:
    round_, gpus = MUTANTS[name]
    plain = Plain(round_=round_)
    found = broken_rules(round_, decided(plain, [(round_.jobs, gpus)]), plain.spec)
    assert {breach.rule for breach in found} == {name.partition("/")[0]}


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("spec", ["muri-s", "muri-l:objective=progress,sizes=mixed", "muri-s:matching=queue"])
def test_no_policy_breaks_it(name: str, spec: str) -> None:
    round_, _ = MUTANTS[name]
    for method in ("heuristic", "exact"):
        result = solve_round(round_, spec, method)
        assert result.certificate.violations == ()
    assert result.value == result.bound


def test_jobs_may_go_on_together_where_neither_could_start() -> None:
    said = {"requires": ("gone",), **RUNNING}
    round_ = two(said)
    jobs = tuple(replace(job, **said) for job in round_.jobs)
    small = replace(round_, jobs=jobs)
    for spec in ("muri-s", "muri-s:group=2,objective=progress"):
        for method in ("heuristic", "exact"):
            result = solve_round(small, spec, method)
            assert [(one.jobs, one.gpus) for one in result.decision.assignments] in (
                [(("j0", "j1"), {"n2": 2})],
                [(("j1", "j0"), {"n2": 2})],
            )
            assert result.certificate.violations == ()


def test_jobs_at_one_home_need_it_once_each_if_they_are_apart() -> None:
    said = {"requires": ("gone",), "state": "running", "placement": {"n0": 1, "n1": 1}}
    jobs = tuple(sharer(j, SLOTS[j], 2, **said) for j in range(2))
    nodes = (Node(id="n0", gpus=1), Node(id="n1", gpus=3))  # by count there would be room for both
    round_ = Round(resources=("cpu", "gpu"), cluster=Cluster(nodes=nodes), jobs=jobs)
    result = solve_round(round_, "muri-s:group=1", "exact")
    assert (len(result.decision.running), result.value, result.bound) == (1, 500_000, 500_000)
    together = solve_round(round_, "muri-s", "exact")
    assert (together.decision.running, together.value) == ({"j0", "j1"}, 1_000_000)


def test_a_job_may_go_on_with_a_larger_one_where_it_could_not_start() -> None:
    here = {"state": "running", "placement": {"n0": 2}}
    jobs = (sharer(0, SLOTS[0], 2, **here), sharer(1, SLOTS[1], 1, requires=("gone",), **here))
    round_ = Round(resources=("cpu", "gpu"), cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=jobs)
    mixed = solve_round(round_, "muri-s:sizes=mixed", "exact")
    assert (mixed.decision.running, mixed.value, mixed.bound) == ({"j0", "j1"}, 750_000, 750_000)
    equal = solve_round(round_, "muri-s", "exact")
    assert (equal.decision.running, equal.value, equal.bound) == ({"j0"}, 500_000, 500_000)


def every_decision(plain: Plain) -> Iterator[list[tuple[tuple[Job, ...], Split]]]:
    """Yield every grouping of the jobs with every split of their GPUs, allowed or not."""
    groupings = AskedGroupings(plain)
    sizes = [range(node.gpus + 1) for node in groupings.nodes]

    def decide(left: Sequence[Job]) -> Iterator[list[tuple[tuple[Job, ...], Split]]]:
        if not left:
            yield []
            return
        yield from decide(left[1:])
        for group in groupings.groups(left):
            rest = [job for job in left if job not in group]
            for split in product(*sizes):
                if sum(split) == max(job.gpus for job in group):
                    yield from ([(group, split), *more] for more in decide(rest))

    return decide(plain.round_.jobs)


@pytest.mark.parametrize("group", GROUPS)
@some_then_all(4, 18)
def test_the_rules_allow_what_the_definitions_allow_and_nothing_else(seeds: range, group: str) -> None:
    for seed in seeds:
        round_ = asked_sharing_round(seed, group, most_jobs=3)
        plain = Plain(round_=round_, mixed=bool(seed % 2))
        nodes = [node.id for node in round_.cluster.nodes]
        allowed = {repr(decision) for decision in AskedGroupings(plain).decisions()}
        for choice in every_decision(plain):
            groups = [
                (jobs, {node: given for node, given in zip(nodes, split, strict=True) if given})
                for jobs, split in choice
            ]
            feasible = broken_rules(round_, decided(plain, groups), plain.spec) == []
            assert feasible == (repr(choice) in allowed), (seed, choice)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("pattern", ["cyclic", "muri-4slot"])
def test_values_are_in_the_order_of_what_priorities_get(objective: str, pattern: str) -> None:
    several = 0
    for seed in range(12):
        round_ = asked_sharing_round(seed, "priority", most_jobs=3)
        if pattern == "muri-4slot" and len(round_.resources) != 3:
            continue
        plain = Plain(round_=round_, objective=objective, pattern=pattern, mixed=bool(seed % 2), worst=seed % 3 == 0)
        groupings, found = AskedGroupings(plain), list[tuple[tuple[int, ...], int]]()
        nodes = [node.id for node in round_.cluster.nodes]
        for choice in groupings.decisions():
            parts = [groupings.vector(jobs) for jobs, _ in choice]
            worth = tuple(map(sum, zip((0,) * len(groupings.priorities), *parts, strict=True)))
            gpus = [{node: given for node, given in zip(nodes, split, strict=True) if given} for _, split in choice]
            decision = decided(plain, [(jobs, given) for (jobs, _), given in zip(choice, gpus, strict=True)])
            found.append((worth, decision_value(round_, plain.spec, decision)))
        several += len(groupings.priorities) > 1
        assert [value for _, value in sorted(found)] == sorted(value for _, value in found)
        assert len({value for _, value in found}) == len({worth for worth, _ in found})
    assert several


def test_a_higher_priority_is_not_slowed_down_for_lower_ones() -> None:
    jobs = (
        sharer(0, (2, 2), priority=1),
        sharer(1, (3, 1)),
        sharer(2, (1, 3)),
    )
    round_ = Round(resources=("cpu", "gpu"), cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=jobs)
    exact = solve_round(round_, "muri-s", "exact")
    assert exact.decision.running == {"j0"}  # the others would fill their GPU
    assert solve_round(replace(round_, jobs=jobs[1:]), "muri-s", "exact").decision.running == {"j1", "j2"}
    # A unit of the first class outweighs all of the second: two jobs, each of at most 2 x 10**6.
    assert exact.value == 500_000 * 10**7 == exact.bound
    wrong = replace(exact, value=exact.value + 1)
    assert "value" in {breach.rule for breach in verify(round_, wrong).violations}


def test_priorities_beyond_the_last_class_count_as_one() -> None:
    jobs = tuple(sharer(place, (1, 1), priority=-place) for place in range(107))
    round_ = Round(resources=("cpu", "gpu"), cluster=Cluster(nodes=(Node(id="n0", gpus=3),)), jobs=jobs)
    plain = Plain(round_=round_, largest=1)
    values = [decision_value(round_, plain.spec, decided(plain, [([job], {"n0": 1})])) for job in jobs]
    assert values[99:] == [500_000] * 8
    assert all(first > 10**6 * second for first, second in pairwise(values[:100]))
    result = solve_round(round_, plain.spec, "heuristic")
    assert result.decision.running == {"j0", "j1", "j2"}
    assert result.value == sum(values[:3])


def test_the_quota_of_a_tenant_counts_groups_of_all_below_it() -> None:
    tenants = (Tenant(id="org", quota_gpus=3), Tenant(id="vision", parent="org"), Tenant(id="speech", parent="org"))
    jobs = (sharer(0, SLOTS[0], 2, tenant="vision"), sharer(1, SLOTS[1], 2, tenant="speech"))
    round_ = Round(
        resources=("cpu", "gpu"),
        cluster=replace(cluster(), levels=(), tenants=tenants, nodes=(Node(id="n0", gpus=2),)),
        jobs=jobs,
    )
    plain = Plain(round_=round_)
    (breach,) = broken_rules(round_, decided(plain, [(jobs, {"n0": 2})]), plain.spec)
    assert (breach.rule, breach.where, breach.detail) == ("quota", "org", "4 GPUs in use; the quota is 3")
    for method in ("heuristic", "exact"):
        result = solve_round(round_, "muri-s", method)
        assert len(result.decision.running) == 1
        assert result.certificate.violations == ()
        assert [wait.reason.value for wait in result.decision.waiting] == ["quota"]


def test_a_level_that_is_only_preferred_is_refused() -> None:
    round_ = two({"within": Within(level="rack", required=False)})
    with pytest.raises(RefusalError, match=r"within\.required"):
        solve_round(round_, "muri-s")
    with pytest.raises(RefusalError, match=r"within\.required"):
        broken_rules(round_, Decision(), "muri-s")


def test_prices_of_all_gpus_as_one_are_refused_where_nodes_differ() -> None:
    round_ = two({"requires": ("x",)}, cluster(labels=("x",)))
    result = solve_round(round_, "muri-s", "exact")
    (prices,) = [item for item in result.certificate.evidence if hasattr(item, "multipliers")]
    assert len(prices.multipliers["gpus"]) == 3
    one = replace(prices, multipliers={**prices.multipliers, "gpus": (1,)})
    wrong = replace(result, certificate=replace(result.certificate, evidence=(one,)))
    assert {breach.where for breach in verify(round_, wrong).violations} >= {"multipliers.gpus"}
    assert under(result, "muri-s").rules == result.rules


def test_why_a_job_waits_counts_only_nodes_where_it_may_be() -> None:
    round_ = two({"requires": ("x",)}, cluster(labels=("x",)))
    third = sharer(2, SLOTS[0], 2, requires=("x",), priority=1)
    fourth = sharer(3, SLOTS[0], 4, requires=("x",))
    asked = replace(round_, jobs=(*round_.jobs, third, fourth))
    decision = policy_from("muri-s:group=1").decide(asked, 0)
    assert {wait.job: wait.reason.value for wait in decision.waiting} == {"j1": "capacity", "j3": "capacity"}
    assert wrong_reasons(asked, decision, "muri-s:group=1") == []
    swapped = tuple(replace(wait, reason=WaitingReason.QUOTA) for wait in decision.waiting)
    found = wrong_reasons(asked, replace(decision, waiting=swapped), "muri-s:group=1")
    assert [breach.rule for breach in found] == ["waiting-reason"] * 2
