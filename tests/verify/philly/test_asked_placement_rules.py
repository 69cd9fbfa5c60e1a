"""The chapter *placement* on what jobs ask of nodes, order and times: each rule has a name, and none is missing."""

from __future__ import annotations

from itertools import product

import pytest
from asked_placements import GROUPS, AskedPlacement, asked_placement_round
from asked_rounds import NOW
from by_policy import broken_rules, decision_value, wrong_reasons
from handmade import gang
from msgspec.structs import replace

from muri_opt import RefusalError, policy_from, solve_round
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

BUSY = "philly:preempt_at=0"
MOVING = "philly:preempt_at=0,migrate=inf"


RACKS = ("r0", "r1", None)
TREE = (
    Tenant(id="org", quota_gpus=6),
    Tenant(id="vision", parent="org", quota_gpus=4),
    Tenant(id="speech", parent="org"),
)
QUOTA = Tenant(id="t", quota_gpus=0)
RUNNING = {"state": "running", "placement": {"n0": 2}}
HERE, THERE, LAST, BOTH, APART = {"n0": 2}, {"n1": 2}, {"n2": 2}, {"n0": 1, "n1": 1}, {"n1": 1, "n2": 1}
MUTANTS = {
    "node-state/down": ({}, {"state": "down"}, LAST),
    "node-state/drain": ({}, {"state": "drain"}, LAST),
    "node-state/moved": (RUNNING, {"state": "drain"}, LAST),
    "available-until/limit": ({"time_limit_seconds": 51.0}, {"available_until": 150.0}, LAST),
    "available-until/over": ({}, {"available_until": 100.0}, LAST),
    "gpu-type/mixed": ({}, {"gpu_type": "b"}, APART),
    "gpu-type/asked": ({"gpu_types": ("a",)}, {"gpu_type": "b"}, LAST),
    "labels/lacking": ({"requires": ("x",)}, {"labels": ("x",)}, THERE),
    "labels/excluded": ({"excludes": ("x",)}, {"labels": ("x",)}, LAST),
    "within/two": ({"within": Within(level="rack")}, {}, BOTH),
    "within/none": ({"within": Within(level="rack")}, {}, LAST),
    "shape/many": ({"nodes": NodeRange(most=1)}, {}, BOTH),
    "shape/few": ({"nodes": NodeRange(least=2)}, {}, HERE),
    "even": ({"gpus": 3, "even": True}, {}, {"n0": 1, "n1": 2}),
    "held": ({"held": "asked"}, {}, HERE),
    "not-before": ({"not_before": 101.0}, {}, HERE),
    "preemptible": ({"preemptible": False, "movable": True, **RUNNING}, {}, None),
    "preemptible/fixed": ({"preemptible": False, **RUNNING}, {}, None),
    "movable": ({"movable": False, **RUNNING}, {}, THERE),
    "movable/fixed": ({"preemptible": False, **RUNNING}, {}, THERE),
}
"""By the rule that is broken: what is said of a job of 2 GPUs and of the last node, and where the job is put."""


def tenanted(*jobs: Job, tenants: tuple[Tenant, ...], **said: object) -> Round:
    """Return jobs of tenants on three nodes of 4 GPUs, two in racks of their own, the last with more said of it."""
    nodes = [Node(id=f"n{s}", gpus=4, gpu_type="a", rack=rack) for s, rack in enumerate(RACKS)]
    here = Cluster(levels=("rack",), nodes=(*nodes[:2], replace(nodes[2], **said)), tenants=tenants)
    return Round(format="muri-opt/round/2", now=NOW, cluster=here, jobs=tuple(jobs))


def mutant(name: str) -> tuple[Round, Decision]:
    """Return a round of one job that has waited for long, and a decision that breaks a rule."""
    job, node, gpus = MUTANTS[name]
    asks = {"gpus": 2, "tenant": "t", "restart_seconds": 30.0, "waiting_seconds": 2000.0, **job}
    round_ = tenanted(gang(0, **asks), tenants=(QUOTA,), **node)
    return round_, placed(round_, {} if gpus is None else {"j0": gpus})


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


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("spec", [BUSY, MOVING])
def test_a_decision_that_breaks_one_rule_is_told_which(name: str, spec: str) -> None:
    found = broken_rules(*mutant(name), spec)
    assert {breach.rule for breach in found} == {name.partition("/")[0]}


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("spec", ["philly", MOVING])
def test_the_policy_does_not_break_it(name: str, spec: str) -> None:
    round_, _ = mutant(name)
    for method in ("heuristic", "exact"):
        result = solve_round(round_, spec, method)
        assert result.certificate.violations == ()
    assert result.termination.reason == "OPTIMAL"


def test_a_job_that_may_be_moved_but_not_stopped_is_not_started_again_elsewhere() -> None:
    pinned = gang(0, 2, tenant="t", restart_seconds=30.0, preemptible=False, movable=True, **RUNNING)
    round_ = tenanted(pinned, tenants=(QUOTA,))
    elsewhere = placed(round_, {"j0": {"n1": 2}})
    assert [breach.rule for breach in broken_rules(round_, elsewhere, BUSY)] == ["preemptible"]
    assert broken_rules(round_, elsewhere, MOVING) == []


def test_a_job_that_may_be_stopped_but_not_moved_is_preempted_and_no_more() -> None:
    borrower = gang(0, 4, tenant="t", restart_seconds=0.0, movable=False, state="running", placement={"n0": 4})
    first = gang(1, 4, tenant="u", within=Within(level="rack"), excludes=("x",))
    blocker = gang(2, 4, tenant="u", preemptible=False, state="running", placement={"n1": 4})
    tenants = (QUOTA, Tenant(id="u", quota_gpus=8))
    round_ = tenanted(borrower, first, blocker, tenants=tenants)
    for method in ("heuristic", "exact"):
        result = solve_round(round_, BUSY, method)
        assert result.decision.running == {"j1", "j2"}
        assert result.certificate.violations == ()
        (wait,) = result.decision.waiting
        assert (wait.job, wait.reason) == ("j0", WaitingReason.STOPPED)
        assert wait.detail.startswith("it may not be moved from where it runs")
    # One that may be moved is started again at once, on the third node.
    free = replace(round_, jobs=(replace(borrower, movable=None), first, blocker))
    assert solve_round(free, BUSY, "exact").decision.running == {"j0", "j1", "j2"}
    assert policy_from(BUSY).decide(free, 0).running == {"j0", "j1", "j2"}


def test_a_job_is_preempted_only_if_the_nearest_tenant_with_a_quota_still_has_it() -> None:
    jobs = (
        gang(0, 4, tenant="vision", restart_seconds=0.0, state="running", placement={"n0": 4}),
        gang(1, 4, tenant="speech", restart_seconds=0.0, state="running", placement={"n1": 4}),
        gang(2, 4, tenant="other", waiting_seconds=0.0),
    )
    tenants = (*TREE, Tenant(id="other", quota_gpus=4))
    round_ = tenanted(*jobs, tenants=tenants, state="down")
    # 8 GPUs of the tree are 2 above its quota of 6; without either job 4 are left. The quota of vision is its own.
    stops = {"j1": {"n1": 4}, "j2": {"n0": 4}}
    (breach,) = broken_rules(round_, placed(round_, stops), BUSY)
    assert (breach.rule, breach.where) == ("preemption-quota", "vision")
    assert "0 GPUs are left to the tenant, its quota is 4" in breach.detail
    (breach,) = broken_rules(round_, placed(round_, {"j0": {"n0": 4}, "j2": {"n1": 4}}), BUSY)
    assert (breach.rule, breach.where) == ("preemption-quota", "org")
    lower = replace(round_, cluster=replace(round_.cluster, tenants=(replace(TREE[0], quota_gpus=4), *tenants[1:])))
    assert broken_rules(lower, placed(lower, {"j0": {"n0": 4}, "j2": {"n1": 4}}), BUSY) == []
    assert broken_rules(lower, placed(lower, stops), BUSY) != []
    for method in ("heuristic", "exact"):
        assert solve_round(round_, BUSY, method).decision.running == {"j0", "j1"}
        assert solve_round(lower, BUSY, method).decision.running == {"j0", "j2"}


def test_gpus_above_the_quota_of_a_part_count_no_further_up() -> None:
    jobs = (gang(0, 4, tenant="vision"), gang(1, 4, tenant="vision"), gang(2, 4, tenant="speech"))
    tenants = (Tenant(id="org", quota_gpus=6), Tenant(id="vision", parent="org", quota_gpus=2), TREE[2])
    round_ = tenanted(*jobs, tenants=tenants)
    all_three = placed(round_, {"j0": {"n0": 4}, "j1": {"n1": 4}, "j2": {"n2": 4}})
    # K for 2 of vision and 4 of speech: six of twelve are within quotas, and each GPU works.
    full = 1 + 1250 * 12
    assert decision_value(round_, "philly", all_three) == full * 6 + 12 * 1000
    two = placed(round_, {"j0": {"n0": 4}, "j1": {"n1": 4}})
    assert decision_value(round_, "philly", two) == full * 2 + 8 * 1000


def test_larger_priorities_come_first_within_quotas_and_above_them() -> None:
    tenants = (Tenant(id="t", quota_gpus=4), Tenant(id="u", quota_gpus=0))
    jobs = (
        gang(0, 4, tenant="t", priority=1),
        gang(1, 4, tenant="t", priority=2),
        gang(2, 4, tenant="u", priority=9),
        gang(3, 4, tenant="u", priority=8),
    )
    round_ = tenanted(*jobs, tenants=tenants, state="down")
    for method in ("heuristic", "exact"):
        # The quota comes first, for the larger of its two; what is left goes to the largest priority of all.
        assert solve_round(round_, "philly", method).decision.running == {"j1", "j2"}


def test_a_larger_priority_takes_the_place_of_a_smaller_one_of_its_tenant() -> None:
    small = gang(0, 4, tenant="t", restart_seconds=0.0, state="running", placement={"n0": 4})
    tenants = (Tenant(id="t", quota_gpus=4), Tenant(id="u", quota_gpus=4))
    full = gang(1, 4, tenant="u", preemptible=False, state="running", placement={"n1": 4})
    for priority, running in ((1, {"j1", "j2"}), (0, {"j0", "j1"}), (-1, {"j0", "j1"})):
        round_ = tenanted(small, full, gang(2, 4, tenant="t", priority=priority), tenants=tenants, state="down")
        for method in ("heuristic", "exact"):
            result = solve_round(round_, BUSY, method)
            assert result.decision.running == running, (priority, method)
            assert result.certificate.violations == ()
        pinned = replace(round_, jobs=(replace(small, preemptible=False), *round_.jobs[1:]))
        assert solve_round(pinned, BUSY, "exact").decision.running == {"j0", "j1"}


def test_many_priorities_need_numbers_of_any_size() -> None:
    jobs = [gang(j, 1, tenant="t", priority=7 * j % 23) for j in range(20)]
    round_ = tenanted(*jobs, tenants=(Tenant(id="t", quota_gpus=6),))
    result = solve_round(round_, "philly", "exact")
    assert result.value > 1 << 200
    first = sorted(range(20), key=lambda j: -jobs[j].priority)[:12]
    assert result.decision.running == {f"j{j}" for j in first}
    assert (result.termination.reason, result.certificate.violations) == ("OPTIMAL", ())
    assert policy_from("philly").decide(round_, 0).running == result.decision.running


@pytest.mark.parametrize("group", GROUPS)
def test_the_rules_allow_what_the_definitions_allow_and_nothing_else(group: str) -> None:
    for seed in range(25):
        round_, spec = asked_placement_round(seed, group, most_jobs=2)
        every = AskedPlacement(round_, spec)
        nodes = [node.id for node in round_.cluster.nodes]
        splits = [
            [None, *(split for split in product(*(range(5) for _ in nodes)) if sum(split) == job.gpus)]
            for job in round_.jobs
        ]
        options = [{place for place, _ in every._options(j)} for j in range(len(round_.jobs))]
        for choice in product(*splits):
            chosen = dict(enumerate(choice))
            runs = {
                job.id: {node: gpus for node, gpus in zip(nodes, split, strict=True) if gpus}
                for job, split in zip(round_.jobs, choice, strict=True)
                if split is not None
            }
            allowed = every.fits(chosen) and all(place in options[j] for j, place in chosen.items())
            allowed = allowed and every.allows(chosen)
            decision = placed(round_, runs)
            assert (broken_rules(round_, decision, spec) == []) == allowed, (seed, runs)
            if allowed:
                assert decision_value(round_, spec, decision) == every.value(chosen)


def test_a_job_that_is_held_or_begins_later_or_is_lost_is_told_so() -> None:
    jobs = (
        gang(0, 2, held="asked"),
        gang(1, 2, not_before=NOW + 1),
        gang(2, 4, state="running", placement={"n2": 4}, requires=("x",)),
    )
    round_ = tenanted(*jobs, tenants=(), state="down")
    waiting = policy_from("philly").decide(round_, 0).waiting
    assert [(wait.reason.value, wait.changes) for wait in waiting] == [
        ("held", ()),
        ("not-before", ()),
        ("stopped", ()),
    ]
    assert [wait.remedy for wait in waiting[:2]] == ["release it", "wait for 1 s"]
    lost = "it is lost: it ran on a node that is down"
    assert waiting[2].detail == (
        f"{lost}; asks for 4 GPUs; the nodes where it may start have 0 that it could use; "
        "others are: 4 on nodes that are down, 12 on nodes without the label 'x'"
    )


def test_changes_that_touch_pinned_jobs_or_nodes_not_asked_for_are_found_out() -> None:
    pinned = gang(0, 4, preemptible=False, restart_seconds=0.0, state="running", placement={"n0": 4})
    other = gang(1, 4, restart_seconds=0.0, excludes=("x",), state="running", placement={"n1": 4})
    round_ = tenanted(pinned, other, gang(2, 4, requires=("y",), tenant=None), tenants=(), labels=("x",))
    late = replace(round_, jobs=(pinned, other, gang(2, 4, excludes=("x",))))
    decision = policy_from("philly").decide(late, 0)
    (wait,) = decision.waiting
    assert wait.changes == (Change(preempt=("j1",), gpus=4), Change(add_gpus=4, gpus=4))
    wrong = {
        "may not be stopped": Change(preempt=("j0",), gpus=4),
        "may not be moved": Change(move={"j0": {"n2": 4}}, gpus=4),
        "may not be on the nodes it moves to": Change(move={"j1": {"n2": 4}}, gpus=4),
        "what the further node would be is not said": Change(add_gpus=4, rack="r0", gpus=4),
        "further node would be is not said": Change(add_gpus=4, like="n2", gpus=4),
        "the job could not start": Change(add_gpus=3, gpus=3),
    }
    for told, change in wrong.items():
        answer = replace(decision, waiting=(replace(wait, changes=(change,)),))
        (breach,) = wrong_reasons(late, answer, "philly")
        assert breach.rule == "waiting-change"
        assert told in breach.detail
    held = replace(late, jobs=(pinned, other, gang(2, 4, excludes=("x",), held="asked")))
    (wait,) = policy_from("philly").decide(held, 0).waiting
    answer = replace(decision, waiting=(replace(wait, changes=(Change(preempt=("j1",), gpus=4),)),))
    assert "may not start then" in wrong_reasons(held, answer, "philly")[0].detail


def test_nobody_is_told_to_wait_for_nodes_that_are_gone_then() -> None:
    """After 600 s the gang may be in one rack: on nodes that last until it has ended, or are gone by then."""
    half = [gang(j, 2, state="running", placement={f"n{j}": 2}) for j in range(2)]
    full = gang(2, 4, state="running", placement={"n2": 4})
    round_ = tenanted(*half, full, gang(3, 4, waiting_seconds=0.0, time_limit_seconds=100.0), tenants=())
    for until, told in ((NOW + 700.0, {600.0}), (NOW + 699.0, set())):
        nodes = tuple(replace(node, rack="r0", available_until=until) for node in round_.cluster.nodes)
        late = replace(round_, cluster=replace(round_.cluster, nodes=nodes))
        decision = policy_from("philly").decide(late, 0)
        (wait,) = decision.waiting
        assert {change.wait_seconds for change in wait.changes if change.wait_seconds} == told
        assert wrong_reasons(late, decision, "philly") == []
        answer = replace(decision, waiting=(replace(wait, changes=(Change(wait_seconds=600.0),)),))
        found = [breach.detail for breach in wrong_reasons(late, answer, "philly")]
        assert found == ([] if told else ["changes[0]: nodes may not be available then"])


def test_a_level_that_is_only_preferred_is_refused() -> None:
    round_ = tenanted(gang(0, 2, within=Within(level="rack", required=False)), tenants=())
    with pytest.raises(RefusalError, match=r"within\.required"):
        solve_round(round_, "philly")
    with pytest.raises(RefusalError, match=r"within\.required"):
        broken_rules(round_, placed(round_, {}), "philly")
