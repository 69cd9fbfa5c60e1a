"""The verifier's rules for what jobs ask of nodes and times: each has a name, and together they are the definitions."""

from __future__ import annotations

from itertools import product

import pytest
from asked_brute_force import asked_decisions
from asked_rounds import GROUPS, asked_round
from by_policy import broken_rules, decision_value, wrong_reasons
from handmade import gang
from msgspec.structs import replace
from seeds import some_then_all

from muri_opt import InputError, RefusalError, policy_from, solve_round
from muri_opt.rounds import (
    Assignment,
    Change,
    Cluster,
    Decision,
    Job,
    Node,
    NodeRange,
    Round,
    Tenant,
    Waiting,
    WaitingReason,
    Within,
)
from muri_opt.verify.demands import asked_of

SPEC = "srtf:preempt=yes"
UNITS = {"n0": {"block": "b0", "rack": "r0"}, "n1": {"block": "b0", "rack": "r1"}, "n2": {"block": "b0"}}


def cluster(**said: object) -> Cluster:
    """Return three nodes of 4 GPUs, the last with more said of it."""
    nodes = [Node(id=f"n{s}", gpus=4, gpu_type="a", levels=UNITS[f"n{s}"]) for s in range(3)]
    return Cluster(levels=("block", "rack"), nodes=(*nodes[:2], replace(nodes[2], **said)))


def one(job: Job, here: Cluster | None = None) -> Round:
    return Round(format="muri-opt/round/2", now=100.0, cluster=here or cluster(), jobs=(job,))


def placed(round_: Round, runs: dict[str, dict[str, int]]) -> Decision:
    """Return the decision in which jobs have GPUs per node, and all others wait for no true reason."""
    return Decision(
        assignments=tuple(
            Assignment(
                jobs=(job.id,),
                gpus=runs[job.id],
                cpus={node: gpus * 1.0 for node, gpus in runs[job.id].items()} if job.cpus else {},
                period_seconds=job.iteration_seconds,
            )
            for job in round_.jobs
            if job.id in runs
        ),
        waiting=tuple(
            Waiting(job=job.id, reason=WaitingReason.PRIORITY, detail="", remedy="")
            for job in round_.jobs
            if job.id not in runs
        ),
    )


RUNNING = {"state": "running", "placement": {"n0": 2}}
MUTANTS = {
    "node-state/down": (one(gang(0, 2), cluster(state="down")), {"n2": 2}),
    "node-state/drain": (one(gang(0, 2), cluster(state="drain")), {"n2": 2}),
    "node-state/moved": (one(gang(0, 2, **RUNNING), cluster(state="drain")), {"n2": 2}),
    "available-until/limit": (
        one(gang(0, 2, time_limit_seconds=51.0), cluster(available_until=150.0)),
        {"n2": 2},
    ),
    "available-until/over": (one(gang(0, 2), cluster(available_until=100.0)), {"n2": 2}),
    "gpu-type/mixed": (one(gang(0, 2), cluster(gpu_type="b")), {"n1": 1, "n2": 1}),
    "gpu-type/asked": (one(gang(0, 2, gpu_types=("a",)), cluster(gpu_type="b")), {"n2": 2}),
    "labels/lacking": (one(gang(0, 2, requires=("x",)), cluster(labels=("x",))), {"n1": 2}),
    "labels/excluded": (one(gang(0, 2, excludes=("x",)), cluster(labels=("x",))), {"n2": 2}),
    "within/two": (one(gang(0, 2, within=Within(level="rack"))), {"n0": 1, "n1": 1}),
    "within/none": (one(gang(0, 2, within=Within(level="rack"))), {"n2": 2}),
    "shape/many": (one(gang(0, 2, nodes=NodeRange(most=1))), {"n0": 1, "n1": 1}),
    "shape/few": (one(gang(0, 2, nodes=NodeRange(least=2))), {"n0": 2}),
    "even": (one(gang(0, 3, even=True)), {"n0": 1, "n1": 2}),
    "held": (one(gang(0, 2, held="asked")), {"n0": 2}),
    "not-before": (one(gang(0, 2, not_before=101.0)), {"n0": 2}),
    "preemptible": (one(gang(0, 2, preemptible=False, movable=True, **RUNNING)), None),
    "preemptible/fixed": (one(gang(0, 2, preemptible=False, **RUNNING)), None),
    "movable": (one(gang(0, 2, movable=False, **RUNNING)), {"n1": 2}),
    "movable/fixed": (one(gang(0, 2, preemptible=False, **RUNNING)), {"n1": 2}),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_decision_that_breaks_one_rule_is_told_which(name: str) -> None:
    round_, gpus = MUTANTS[name]
    found = broken_rules(round_, placed(round_, {} if gpus is None else {"j0": gpus}), SPEC)
    assert {breach.rule for breach in found} == {name.partition("/")[0]}


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("spec", [SPEC, "fifo", "las:nodes=fewest", "tiresias"])
def test_no_policy_breaks_it(name: str, spec: str) -> None:
    round_, _ = MUTANTS[name]
    for method in ("heuristic", "exact"):
        result = solve_round(round_, spec, method)
        assert result.certificate.violations == ()
        assert result.termination.reason == ("FEASIBLE" if method == "heuristic" and result.gap else "OPTIMAL")


@pytest.mark.parametrize("group", GROUPS)
@some_then_all(40, 200)
def test_the_rules_allow_what_the_definitions_allow_and_nothing_else(seeds: range, group: str) -> None:
    for seed in seeds:
        round_ = asked_round(seed, group, most_jobs=2)
        fewest, preempt = bool(seed % 2), bool(seed // 2 % 2)
        spec = f"srtf:nodes={'fewest' if fewest else 'any'},preempt={'yes' if preempt else 'no'}"
        nodes = [node.id for node in round_.cluster.nodes]
        allowed = {tuple(sorted(runs.items())) for _, runs in asked_decisions(round_, "srtf", False, fewest, preempt)}
        splits = [
            [None, *(split for split in product(*(range(5) for _ in nodes)) if sum(split) == job.gpus)]
            for job in round_.jobs
        ]
        for choice in product(*splits):
            runs = {job.id: split for job, split in zip(round_.jobs, choice, strict=True) if split is not None}
            gpus = {
                job: {node: given for node, given in zip(nodes, split, strict=True) if given}
                for job, split in runs.items()
            }
            feasible = broken_rules(round_, placed(round_, gpus), spec) == []
            assert feasible == (tuple(sorted(runs.items())) in allowed), (seed, runs)


def test_a_job_that_is_held_or_begins_later_is_told_so() -> None:
    jobs = [gang(0, 2, held="asked"), gang(1, 2, not_before=101.0), gang(2, 2, held="", not_before=101.0)]
    round_ = Round(now=100.0, cluster=cluster(), jobs=tuple(jobs))
    waiting = policy_from("fifo").decide(round_, 0).waiting
    assert [(wait.reason.value, wait.detail, wait.remedy, wait.changes) for wait in waiting] == [
        ("held", "is held: asked", "release it", ()),
        (
            "not-before",
            "is not to start before 1 min 41 s; now it is 1 min 40 s",
            "wait 1 s",
            (Change(wait_seconds=1.0),),
        ),
        ("held", "is held; is not to start before 1 min 41 s; now it is 1 min 40 s", "release it and wait for 1 s", ()),
    ]


def test_a_job_on_a_node_that_is_down_is_lost_and_told_so() -> None:
    lost = gang(0, 4, state="running", placement={"n2": 4}, requires=("x",))
    round_ = one(lost, cluster(state="down"))
    (wait,) = policy_from("fifo").decide(round_, 0).waiting
    assert wait.reason == WaitingReason.STOPPED
    assert wait.detail.startswith("it is lost: it ran on a node that is down; asks for 4 GPUs")


def test_a_job_on_a_node_that_is_drained_goes_on_there() -> None:
    round_ = one(gang(0, 4, state="running", placement={"n2": 4}), cluster(state="drain"))
    for spec in ("fifo", "srtf", "srtf:nodes=fewest"):
        assert policy_from(spec).decide(round_, 0).assignments[0].gpus == {"n2": 4}


def test_free_gpus_of_other_types_are_no_room() -> None:
    jobs = (gang(0, 6, gpu_types=("b",)), gang(1, 9), gang(2, 4, gpu_types=("b",)))
    round_ = Round(format="muri-opt/round/2", cluster=cluster(gpu_type="b"), jobs=jobs)
    decision = policy_from("fifo").decide(round_, 0)
    assert [(wait.job, wait.reason.value) for wait in decision.waiting] == [("j0", "capacity"), ("j1", "capacity")]
    assert "have 4 that it could use" in decision.waiting[0].detail
    assert "not as it asks for them, in one of several parts of the cluster" in decision.waiting[1].detail


def test_a_pinned_job_is_not_to_be_stopped_for_another() -> None:
    pinned = gang(0, 4, preemptible=False, state="running", placement={"n0": 4})
    stopped = gang(1, 4, state="running", placement={"n1": 4})
    round_ = Round(cluster=cluster(), jobs=(pinned, stopped, gang(2, 8)))
    decision = policy_from("fifo").decide(round_, 0)
    (wait,) = decision.waiting
    assert [change.preempt for change in wait.changes] == [("j1",), ()]
    wrong = replace(wait, changes=(Change(preempt=("j0",), gpus=4),))
    found = wrong_reasons(round_, replace(decision, waiting=(wrong,)), "fifo")
    assert [(breach.rule, breach.detail) for breach in found] == [
        ("waiting-change", "changes[0]: job 'j0' may not be stopped")
    ]


def test_a_level_that_is_only_preferred_costs_value_and_no_more() -> None:
    jobs = (gang(0, 2, within=Within(level="rack", required=False)), gang(1, 1))
    round_ = Round(format="muri-opt/round/2", now=100.0, cluster=cluster(), jobs=jobs)
    # Ranks make a GPU of j0 worth 2, of j1 1; one job has a wish, so all counts twice, and its wish once.
    for held, worth in (({"n0": 2}, 11), ({"n0": 1, "n1": 1}, 10), ({"n2": 2}, 10), ({"n1": 1, "n2": 1}, 10)):
        decision = placed(round_, {"j0": held, "j1": {"n2": 1}})
        assert broken_rules(round_, decision, SPEC) == []
        assert decision_value(round_, SPEC, decision) == worth
    for method in ("heuristic", "exact"):
        result = solve_round(round_, SPEC, method)
        assert (result.value, result.bound) == (11, 11)
    # Room for both is worth more than one wish.
    full = replace(round_, jobs=(*(replace(job, gpus=4) for job in jobs), gang(2, 2), gang(3, 2)))
    assert solve_round(full, SPEC, "exact").decision.running == {"j0", "j1", "j2", "j3"}


def test_rules_without_wishes_refuse_them() -> None:
    round_ = one(gang(0, 2, within=Within(level="rack", required=False)))
    with pytest.raises(RefusalError, match=r"within\.required"):
        asked_of(round_)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"scaling": {1: 1.0, 4: 1.9}, "placement": {"n0": 1}}, "asks for 4 GPUs and runs with 1"),
        ({"stage_seconds": (1.0, 1.0, 1.0, 1.0), "placement": {"n0": 4}}, "shares its GPUs"),
    ],
)
def test_a_pinned_job_that_cannot_go_on_alone_is_refused(said: dict[str, object], found: str) -> None:
    jobs = tuple(gang(j, 4, preemptible=False, state="running", **said) for j in range(2))
    with pytest.raises(InputError, match=found):
        solve_round(Round(cluster=cluster(), jobs=jobs), "srtf")


TREE = (
    Tenant(id="org", quota_gpus=6),
    Tenant(id="vision", parent="org", quota_gpus=4),
    Tenant(id="speech", parent="org"),
)


def test_the_quota_of_a_tenant_counts_all_below_it() -> None:
    jobs = (gang(0, 4, tenant="vision"), gang(1, 4, tenant="speech"), gang(2, 2, tenant="org"))
    round_ = Round(cluster=replace(cluster(), tenants=TREE), jobs=jobs)
    (breach,) = broken_rules(round_, placed(round_, {"j0": {"n0": 4}, "j1": {"n1": 4}}), SPEC)
    assert (breach.rule, breach.where, breach.detail) == ("quota", "org", "8 GPUs in use; the quota is 6")
    for method in ("heuristic", "exact"):
        result = solve_round(round_, "fifo", method)
        assert result.decision.running == {"j0", "j2"}
        assert result.certificate.violations == ()
    (wait,) = result.decision.waiting
    assert (wait.reason.value, wait.changes) == ("quota", (Change(raise_quota=4),))
    assert wait.detail == "asks for 4 GPUs; tenant 'org' has 0 left of its quota of 6"
    for change in (Change(raise_quota=3), Change(preempt=("j2",), raise_quota=1, gpus=2)):
        wrong = replace(result.decision, waiting=(replace(wait, changes=(change,)),))
        assert [breach.rule for breach in wrong_reasons(round_, wrong, "fifo")] == ["waiting-change"]
    right = replace(wait, changes=(Change(preempt=("j2",), raise_quota=2, gpus=2),))
    assert list(wrong_reasons(round_, replace(result.decision, waiting=(right,)), "fifo")) == []


def test_every_quota_that_is_short_is_named() -> None:
    tenants = (TREE[0], replace(TREE[1], quota_gpus=3))
    round_ = Round(
        cluster=replace(cluster(), tenants=tenants), jobs=(gang(0, 3, tenant="vision"), gang(1, 4, tenant="vision"))
    )
    (wait,) = policy_from("fifo").decide(round_, 0).waiting
    both = "tenant 'vision' has 0 left of its quota of 3; tenant 'org' has 3 left of its quota of 6"
    assert (wait.detail, wait.changes) == (f"asks for 4 GPUs; {both}", (Change(raise_quota=4),))


def test_a_pinned_job_keeps_its_gpus_above_a_quota_of_the_tree() -> None:
    pinned = gang(0, 4, tenant="vision", preemptible=False, movable=True, state="running", placement={"n0": 4})
    tenants = (replace(TREE[0], quota_gpus=2), *TREE[1:])
    round_ = Round(cluster=replace(cluster(), tenants=tenants), jobs=(pinned, gang(1, 1, tenant="speech")))
    for method in ("heuristic", "exact"):
        result = solve_round(round_, "srtf", method)
        assert result.decision.running == {"j0"}
        assert result.certificate.violations == ()
