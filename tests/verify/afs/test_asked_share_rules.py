"""The verifier's rules for where shares may be and who counts first: each has a name, and they are the definitions."""

from __future__ import annotations

from itertools import product

import pytest
from asked_shares import GROUPS, POLICIES, Runs, allowed_splits, asked_shares_round, plain_values, random_spec, weighed
from by_policy import broken_rules, decision_value, proved_bound, settings_of
from elastic_draws import elastic
from msgspec.structs import replace

from muri_opt import Assignment, Decision, InputError, Node, RefusalError, Waiting, WaitingReason, solve_round, verify
from muri_opt.rounds import Cluster, Job, NodeRange, Proof, Round, Tenant, Within
from muri_opt.studies.explain import elastic_gap
from muri_opt.studies.explain.followed_rule import follow_rule
from muri_opt.verify.afs.curve import Curve
from muri_opt.verify.afs.places import SharePlaces
from muri_opt.verify.afs.value import Elastic

LINEAR = (1, 2, 3, 4)
UNITS = {"n0": {"block": "b0", "rack": "r0"}, "n1": {"block": "b0", "rack": "r1"}, "n2": {"block": "b0"}}
TREE = (
    Tenant(id="org", quota_gpus=3),
    Tenant(id="vision", parent="org", quota_gpus=4),
    Tenant(id="speech", parent="org"),
)


def cluster(**said: object) -> Cluster:
    """Return three nodes of 4 GPUs, the last with more said of it."""
    nodes = [Node(id=f"n{s}", gpus=4, gpu_type="a", levels=UNITS[f"n{s}"]) for s in range(3)]
    return Cluster(levels=("block", "rack"), nodes=(*nodes[:2], replace(nodes[2], **said)))


def one(job: Job, here: Cluster | None = None) -> Round:
    return Round(format="muri-opt/round/2", now=100.0, cluster=here or cluster(), jobs=(job,))


def placed(round_: Round, runs: Runs | dict[str, dict[str, int]]) -> Decision:
    """Return the decision in which jobs have GPUs per node, and all others wait for no true reason."""
    assignments = []
    for job in round_.jobs:
        gpus = runs.get(job.id)
        if isinstance(gpus, tuple):
            gpus = {node.id: given for node, given in zip(round_.cluster.nodes, gpus, strict=True) if given}
        if gpus is not None:
            cpus = {node: given * 1.0 for node, given in gpus.items()} if job.cpus else {}
            period = Curve.of(job).period_seconds(sum(gpus.values()))
            assignments.append(Assignment(jobs=(job.id,), gpus=gpus, cpus=cpus, period_seconds=period))
    waiting = tuple(
        Waiting(job=job.id, reason=WaitingReason.PRIORITY, detail="", remedy="")
        for job in round_.jobs
        if job.id not in runs
    )
    return Decision(assignments=tuple(assignments), waiting=waiting)


def share(**fields: object) -> Job:
    return elastic(0, LINEAR, **fields)


HOME = {"state": "running", "placement": {"n2": 2}, "requires": ("gone",)}
MUTANTS = {
    "available-until/limit": (one(share(time_limit_seconds=51.0), cluster(available_until=150.0)), {"n2": 2}),
    "available-until/over": (one(share(), cluster(available_until=100.0)), {"n2": 2}),
    "gpu-type/mixed": (one(share(), cluster(gpu_type="b")), {"n1": 1, "n2": 1}),
    "gpu-type/asked": (one(share(gpu_types=("a",)), cluster(gpu_type="b")), {"n2": 2}),
    "labels/lacking": (one(share(requires=("x",)), cluster(labels=("x",))), {"n1": 2}),
    "labels/excluded": (one(share(excludes=("x",)), cluster(labels=("x",))), {"n2": 2}),
    "labels/resized": (one(share(**HOME)), {"n2": 1}),
    "labels/moved": (one(share(**HOME)), {"n1": 2}),
    "within/two": (one(share(within=Within(level="rack"))), {"n0": 1, "n1": 1}),
    "within/none": (one(share(within=Within(level="rack"))), {"n2": 2}),
    "shape/many": (one(share(nodes=NodeRange(most=1))), {"n0": 1, "n1": 1}),
    "shape/few": (one(share(gpus=2, nodes=NodeRange(least=2))), {"n0": 2}),
    "even": (one(share(even=True)), {"n0": 1, "n1": 2}),
    "quota/above": (one(share(tenant="vision"), replace(cluster(), tenants=TREE)), {"n0": 4}),
    "quota/beside": (one(share(tenant="speech"), replace(cluster(), tenants=TREE)), {"n0": 4}),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_share_that_breaks_one_rule_is_told_which(name: str) -> None:
    round_, gpus = MUTANTS[name]
    found = broken_rules(round_, placed(round_, {"j0": gpus}), "afs-l")
    assert {breach.rule for breach in found} == {name.partition("/")[0]}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", MUTANTS)
def test_no_policy_breaks_it(name: str, policy: str) -> None:
    round_, _ = MUTANTS[name]
    for method in ("heuristic", "exact"):
        result = solve_round(round_, policy, method)
        assert result.certificate.violations == ()
    assert result.value == result.bound


def test_what_runs_may_keep_its_share_where_it_could_not_start() -> None:
    round_ = one(share(**HOME))
    assert broken_rules(round_, placed(round_, {"j0": {"n2": 2}}), "afs-l") == []
    for policy in POLICIES:
        for method in ("heuristic", "exact"):
            assert solve_round(round_, policy, method).decision.assignments[0].gpus == {"n2": 2}


@pytest.mark.parametrize("group", GROUPS)
def test_the_rules_allow_what_the_definitions_allow_and_nothing_else(group: str) -> None:
    """All places of all shares of each job alone; what jobs take together is counted as ever."""
    for seed in range(12):
        by_node = bool(seed % 2)
        round_, spec = asked_shares_round(seed, group, by_node=by_node), random_spec(seed, by_node=by_node)
        for job, table in zip(round_.jobs, plain_values(round_, spec), strict=True):
            alone = replace(round_, jobs=(job,), cluster=replace(round_.cluster, tenants=()), format="muri-opt/round/2")
            allowed = set(allowed_splits(round_, job, [*table], by_node=by_node))
            known = [*Curve.of(job).speeds]
            for split in product(*(range(node.gpus + 1) for node in round_.cluster.nodes)):
                if sum(split) in known:
                    rules = {breach.rule for breach in broken_rules(alone, placed(alone, {job.id: split}), spec)}
                    assert (rules - {"cpu-capacity"} == set()) == (split in allowed), (seed, job.id, split)


def test_a_larger_priority_counts_before_all_smaller_ones() -> None:
    jobs = (elastic(0, (1, 1.001)), elastic(1, LINEAR), elastic(2, LINEAR, priority=1), elastic(3, LINEAR, priority=-1))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=6),)), jobs=jobs)
    for policy in POLICIES:
        best = max([0, *settings_of(policy).values(round_)[2].values()])
        for method in ("heuristic", "exact"):
            result = solve_round(round_, policy, method)
            assert sum(result.decision.assignments[-1].gpus.values()) == 4
            assert result.decision.assignments[-1].jobs == ("j2",)
            assert result.value >= best
        assert result.value == weighed(round_, policy, _sums(round_, policy, result.decision))
        assert result.value == decision_value(round_, policy, result.decision) == result.bound
        flat = replace(round_, jobs=tuple(replace(job, priority=0) for job in jobs))
        wrong = replace(result, value=decision_value(flat, policy, result.decision))
        assert "value" in {breach.rule for breach in verify(round_, wrong).violations}


def _sums(round_: Round, policy: str, decision: Decision) -> list[int]:
    given = {one.jobs[0]: sum(one.gpus.values()) for one in decision.assignments}
    sums = dict.fromkeys(sorted({job.priority for job in round_.jobs}, reverse=True), 0)
    for job, table in zip(round_.jobs, plain_values(round_, policy), strict=True):
        sums[job.priority] += table[given[job.id]] if job.id in given else 0
    return [*sums.values()]


def test_classes_that_make_too_long_a_number_together_are_counted_apart() -> None:
    """Each class could have all its GPUs, all of them together could not."""
    jobs = tuple(elastic(j, LINEAR, priority=j % 3) for j in range(200))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=700),)), jobs=jobs)
    tables = plain_values(round_, "afs-l")
    best = [sum(tables[j][4] for j, job in enumerate(jobs) if job.priority == priority) for priority in (2, 1, 0)]
    assert proved_bound(round_, "afs-l", Decision(), ()) == (weighed(round_, "afs-l", best), Proof.COUNTING)


def test_very_many_priorities_still_make_a_number_that_can_be_written() -> None:
    jobs = tuple(elastic(j, (1, 2), priority=j) for j in range(1000))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=64),)), jobs=jobs)
    result = solve_round(round_, "afs-l", "heuristic")
    assert result.certificate.violations == ()
    assert {f"j{j}" for j in range(968, 1000)} == result.decision.running
    assert 500 < len(str(result.value)) < 4000


def test_what_no_share_can_be_is_refused() -> None:
    preferred = one(share(within=Within(level="rack", required=False)))
    ranged = one(share(nodes=NodeRange(most=1)))
    for round_, spec, field in ((preferred, "afs-l", "within.required"), (ranged, "afs-l:packing=node", "nodes")):
        for call in (
            lambda round_=round_, spec=spec: solve_round(round_, spec),
            lambda round_=round_, spec=spec: broken_rules(round_, placed(round_, {}), spec),
        ):
            with pytest.raises(RefusalError) as caught:
                call()
            assert caught.value.field.endswith(field)
    with pytest.raises(InputError, match="at least 3 nodes for a job that scales to 2 GPUs"):
        solve_round(one(elastic(0, (1, 2), gpus=3, nodes=NodeRange(least=3))), "afs-l")


def test_packing_by_node_beside_jobs_that_go_on_as_they_are() -> None:
    """A job that is set apart need not divide a node; what it leaves must be nodes of one size."""
    nodes = (Node(id="n0", gpus=4), Node(id="n1", gpus=4))
    stays = {"state": "running", "preemptible": False}
    pair = tuple(share(id=f"s{s}", placement={f"n{s}": 3}, **stays) for s in range(2))
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=(*pair, share(id="new")))
    for method in ("heuristic", "exact"):
        result = solve_round(round_, "afs-l:packing=node", method)
        assert [dict(one.gpus) for one in result.decision.assignments][:2] == [{"n0": 3}, {"n1": 3}]
        assert result.certificate.violations == ()
    alone = replace(round_, jobs=(pair[0], round_.jobs[2]))
    with pytest.raises(RefusalError, match="leave nodes of 1, 4 GPUs"):
        solve_round(alone, "afs-l:packing=node")
    assert solve_round(alone, "afs-l").certificate.violations == ()


def test_rules_that_are_followed_on_one_pool_refuse_what_they_would_ignore() -> None:
    round_ = one(share(priority=1))
    for call in (lambda: follow_rule(round_, "afs-l"), lambda: elastic_gap(round_)):
        with pytest.raises(RefusalError, match="one pool of GPUs does not honour it"):
            call()


def test_a_waiting_job_is_told_what_keeps_its_smallest_share_from_starting() -> None:
    jobs = (
        elastic(0, LINEAR, gpu_types=("a",), priority=1),
        elastic(1, LINEAR, gpus=8, gpu_types=("a",)),
        elastic(2, LINEAR, gpu_types=("c",)),
        elastic(3, LINEAR, gpus=2, nodes=NodeRange(least=2)),
        elastic(4, LINEAR, tenant="vision"),
    )
    nodes = (Node(id="n0", gpus=4, gpu_type="a"), Node(id="n1", gpus=2, gpu_type="b"))
    tenants = (Tenant(id="org", quota_gpus=0), Tenant(id="vision", parent="org"))
    round_ = Round(now=1.0, cluster=Cluster(nodes=nodes, tenants=tenants), jobs=jobs)
    for method in ("heuristic", "exact"):
        result = solve_round(round_, "afs-l", method)
        assert result.certificate.violations == ()
        assert [(wait.job, wait.reason.value) for wait in result.decision.waiting] == [
            ("j1", "capacity"),
            ("j2", "capacity"),
            ("j3", "capacity"),
            ("j4", "quota"),
        ]
    assert "asks for 1 GPU; 0 are free where it may start" in result.decision.waiting[0].detail
    assert "asks for 2 GPUs; the nodes where it may start have 6" in result.decision.waiting[2].detail


def test_a_cluster_without_nodes_has_room_for_no_share() -> None:
    round_ = Round(format="muri-opt/round/2", cluster=Cluster(nodes=()), jobs=(elastic(0, LINEAR, gpu_types=("a",)),))
    places = SharePlaces.of(round_, Elastic(objective="speed-up", by_node=True))
    assert places.possible([{1: 5, 2: 6}]) == [{}]
