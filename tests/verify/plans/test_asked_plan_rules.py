"""The verifier's rules for what jobs with plans ask of nodes: each has a name; what runs may go on by its own plan."""

from __future__ import annotations

import pytest
from by_policy import broken_rules, decision_value
from msgspec.structs import replace

from muri_opt import Guarantee, InputError, RefusalError, solve_round
from muri_opt.rounds import (
    Assignment,
    Cluster,
    Decision,
    Job,
    Node,
    NodeRange,
    Plan,
    Round,
    Tenant,
    Waiting,
    WaitingReason,
    Within,
)

SPEC = "rubick"
SPECS = ("rubick", "sia", "synergy", "antman", "equal-share")
UNITS = {"n0": {"block": "b0", "rack": "r0"}, "n1": {"block": "b0", "rack": "r1"}, "n2": {"block": "b0"}}
ONE, TWO = Plan(name="dp2", gpus=2, throughput=2.0), Plan(name="dp2", gpus=2, nodes=2, throughput=1.5)
OTHER = Plan(name="tp2", gpus=2, throughput=1.0)


def cluster(**said: object) -> Cluster:
    """Return three nodes of 4 GPUs, the last with more said of it."""
    nodes = [Node(id=f"n{s}", gpus=4, gpu_type="a", levels=UNITS[f"n{s}"]) for s in range(3)]
    return Cluster(levels=("block", "rack"), nodes=(*nodes[:2], replace(nodes[2], **said)))


def job(place: int = 0, *plans: Plan, **said: object) -> Job:
    return Job(id=f"j{place}", gpus=2, plan="dp2", plans=plans or (ONE, TWO, OTHER), **said)


def one(job: Job, here: Cluster | None = None) -> Round:
    return Round(format="muri-opt/round/2", now=100.0, cluster=here or cluster(), jobs=(job,))


def placed(round_: Round, *runs: tuple[str, str, dict[str, int]]) -> Decision:
    """Return the decision in which jobs run by plans, and all others wait for no true reason."""
    running = {name for name, _, _ in runs}
    return Decision(
        assignments=tuple(Assignment(jobs=(name,), plan=plan, gpus=gpus) for name, plan, gpus in runs),
        waiting=tuple(
            Waiting(job=job.id, reason=WaitingReason.PRIORITY, detail="", remedy="")
            for job in round_.jobs
            if job.id not in running
        ),
    )


LISTED = replace(ONE, gpu_types=("b", "c"))
AT_N2 = {"state": "running", "placement": {"n2": 2}}
MUTANTS = {
    "gpu-type/mixed": (one(job(), cluster(gpu_type="b")), "dp2", {"n1": 1, "n2": 1}),
    "gpu-type/asked": (one(job(gpu_types=("a",)), cluster(gpu_type="b")), "dp2", {"n2": 2}),
    "gpu-type/listed": (one(job(0, LISTED, OTHER), cluster(gpu_type="b")), "dp2", {"n0": 2}),
    "labels/lacking": (one(job(requires=("x",)), cluster(labels=("x",))), "dp2", {"n1": 2}),
    "labels/excluded": (one(job(excludes=("x",)), cluster(labels=("x",))), "dp2", {"n2": 2}),
    "labels/another-plan": (one(job(excludes=("x",), **AT_N2), cluster(labels=("x",))), "tp2", {"n2": 2}),
    "within/two": (one(job(within=Within(level="rack"))), "dp2", {"n0": 1, "n1": 1}),
    "within/none": (one(job(within=Within(level="rack"))), "dp2", {"n2": 2}),
    "available-until/limit": (one(job(time_limit_seconds=51.0), cluster(available_until=150.0)), "dp2", {"n2": 2}),
    "shape/many": (one(job(nodes=NodeRange(most=1))), "dp2", {"n0": 1, "n1": 1}),
    "shape/few": (one(job(nodes=NodeRange(least=2))), "dp2", {"n0": 2}),
    "available-until/over": (one(job(), cluster(available_until=100.0)), "dp2", {"n2": 2}),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_decision_that_breaks_one_rule_is_told_which(name: str) -> None:
    round_, plan, gpus = MUTANTS[name]
    found = broken_rules(round_, placed(round_, ("j0", plan, gpus)), SPEC)
    assert {breach.rule for breach in found} == {name.partition("/")[0]}


@pytest.mark.parametrize("name", MUTANTS)
def test_no_policy_breaks_it(name: str) -> None:
    round_, _, _ = MUTANTS[name]
    for spec in SPECS:
        result = solve_round(round_, spec, "heuristic")
        assert result.certificate.violations == ()
        assert result.decision.running == {"j0"}
    assert solve_round(round_, SPEC, "exact").certificate.violations == ()


def test_a_plan_may_list_gpu_types_and_never_mixes_them() -> None:
    wide = Plan(name="dp8", gpus=8, nodes=2, throughput=8.0, gpu_types=("a", "b"))
    round_ = one(job(0, wide, ONE), cluster(gpu_type="b"))
    found = solve_round(round_, "rubick", "exact").decision.assignments[0]
    assert (found.plan, set(found.gpus)) == ("dp8", {"n0", "n1"})
    mixed = broken_rules(round_, placed(round_, ("j0", "dp8", {"n1": 4, "n2": 4})), SPEC)
    assert {breach.rule for breach in mixed} == {"gpu-type"}
    with pytest.raises(InputError, match="gpu_types"):
        Plan(name="dp8", gpus=8, throughput=8.0, gpu_type="a", gpu_types=("a",))
    with pytest.raises(InputError, match="gpu_types"):
        Plan(name="dp8", gpus=8, throughput=8.0, gpu_types=())
    with pytest.raises(InputError, match="two plans"):
        solve_round(one(job(0, ONE, replace(ONE, gpu_types=("a",)))), "rubick")


def test_what_runs_may_go_on_where_it_could_not_start() -> None:
    round_ = one(job(excludes=("x",), restart_seconds=30.0, **AT_N2), cluster(labels=("x",)))
    stays = placed(round_, ("j0", "dp2", {"n2": 2}))
    assert broken_rules(round_, stays, SPEC) == []
    for spec in SPECS:
        for method in ("heuristic", "exact"):
            result = solve_round(round_, spec, method)
            assert result.certificate.violations == ()
            # Equal shares go by value and place; the others stay where nothing is lost.
            assert result.decision.assignments[0].gpus == {"n2": 2} or method == "heuristic"
    assert decision_value(round_, SPEC, stays) == 1_000_000


def test_a_larger_priority_outweighs_all_smaller_ones() -> None:
    whole, half = Plan(name="dp4", gpus=4, throughput=4.0), Plan(name="dp2", gpus=2, throughput=3.9)
    first = Job(id="first", gpus=4, plan="dp4", plans=(whole, half), priority=1)
    rest = [Job(id=f"j{j}", gpus=2, plan="dp2", plans=(half,), guarantee=Guarantee(throughput=1.0)) for j in range(2)]
    node = Cluster(nodes=(Node(id="n0", gpus=4),))
    running = replace(rest[0], state="running", placement={"n0": 2})
    round_ = Round(cluster=node, jobs=(running, rest[1], first))
    for spec in ("rubick", "sia:change=both", "rubick:reference=requested"):
        for method in ("heuristic", "exact"):
            result = solve_round(round_, spec, method)
            assert [one.plan for one in result.decision.assignments] == ["dp4"], (spec, method)
            assert result.certificate.violations == ()
    assert solve_round(replace(round_, jobs=(running, rest[1], replace(first, priority=0))), "rubick").value > 2_000_000


def test_values_of_many_priorities_are_exact_whole_numbers() -> None:
    plans = (Plan(name="dp2", gpus=2, throughput=2.0), Plan(name="dp1", gpus=1, throughput=1.5))
    jobs = [Job(id=f"j{j}", gpus=2, plan="dp2", plans=plans, priority=-j) for j in range(130)]
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=3),)), jobs=tuple(jobs))
    found = solve_round(round_, "rubick", "heuristic")
    assert found.decision.running == {"j0", "j1"}
    unit = 10**6 + 1
    # 31 jobs count as the last of 100 levels.
    assert found.value == (10**6 * unit + 750_000) * unit**97 * (1 + 31 * 10**6)
    assert found.certificate.violations == ()


TREE = (
    Tenant(id="org", quota_gpus=3),
    Tenant(id="vision", parent="org", quota_gpus=2),
    Tenant(id="speech", parent="org"),
)


def test_the_quota_of_a_tenant_counts_the_guaranteed_jobs_of_all_below_it() -> None:
    promise = Guarantee(throughput=1.0)
    jobs = [job(j, tenant=tenant, guarantee=promise) for j, tenant in enumerate(("vision", "speech"))]
    round_ = Round(cluster=replace(cluster(), tenants=TREE), jobs=tuple(jobs))
    both = placed(round_, ("j0", "dp2", {"n0": 2}), ("j1", "dp2", {"n1": 2}))
    (breach,) = broken_rules(round_, both, SPEC)
    assert (breach.rule, breach.where, breach.detail) == ("quota", "org", "4 GPUs in use; the quota is 3")
    for spec in SPECS:
        for method in ("heuristic", "exact"):
            result = solve_round(round_, spec, method)
            assert len(result.decision.running) == 1
            assert result.certificate.violations == ()
            (wait,) = result.decision.waiting
            assert wait.detail == "guaranteed for 2 GPUs; tenant 'org' has 1 left of its quota of 3"


def test_a_level_that_is_only_preferred_is_refused() -> None:
    round_ = one(job(within=Within(level="rack", required=False)))
    for call in (
        lambda: solve_round(round_, SPEC),
        lambda: broken_rules(round_, placed(round_), SPEC),
    ):
        with pytest.raises(RefusalError, match=r"within\.required"):
            call()


def test_free_gpus_where_it_may_not_start_are_no_room() -> None:
    four = Plan(name="dp4", gpus=4, throughput=4.0)
    jobs = [Job(id=f"j{j}", gpus=4, plan="dp4", plans=(four,), gpu_types=("b",), submitted=float(j)) for j in range(2)]
    round_ = Round(cluster=cluster(gpu_type="b"), jobs=tuple(jobs))
    (wait,) = solve_round(round_, "synergy", "heuristic").decision.waiting
    assert (wait.job, wait.reason.value) == ("j1", "capacity")
    assert wait.detail == (
        "its smallest plan takes 4 GPUs; 0 that it could use are free ('j0' holds 4 GPUs); "
        "others are free: 8 of other types than 'b'"
    )
