"""The verifier's rules for quotas that are borrowed and quotas by GPU type: named, and no more than the definitions."""

from __future__ import annotations

from itertools import product

import pytest
from asked_brute_force import asked_decisions
from by_policy import broken_rules, wrong_reasons
from handmade import gang
from loan_rounds import LOANS, loan_round
from msgspec.structs import replace
from test_asked_rules import placed

from muri_opt import Cluster, Node, Round, Tenant, policy_from, solve_round
from muri_opt.rounds import Change

SPECS = ("fifo", "srtf", "las:nodes=fewest", "fair-share", "tiresias")
NODES = (Node(id="n0", gpus=4, gpu_type="a"), Node(id="n1", gpus=4, gpu_type="b"))
BORROWER = Tenant(id="x", parent="o", quota_gpus=2, borrow_gpus=4)
HALF = Tenant(id="y", parent="o", quota_gpus=4, lend_gpus=2)


def asked(tenants: tuple[Tenant, ...], *jobs: tuple[str, int]) -> Round:
    """Return a round of jobs of some tenants, each with so many GPUs."""
    some = tuple(gang(j, gpus, tenant=owner) for j, (owner, gpus) in enumerate(jobs))
    return Round(format="muri-opt/round/2", cluster=Cluster(nodes=NODES, tenants=tenants), jobs=some)


MUTANTS = {
    # x has 2 of its own, and y lends 2 of its 4.
    "borrowing/unlent": (asked((Tenant(id="o"), BORROWER, HALF), ("x", 4), ("x", 1)), {"j0": "n0", "j1": "n1"}, "o"),
    # y uses 3 of its 4, so that 1 is left.
    "borrowing/used": (asked((Tenant(id="o"), BORROWER, HALF), ("x", 4), ("y", 3)), {"j0": "n0", "j1": "n1"}, "o"),
    # All 8 GPUs are in quotas, and y lends none.
    "borrowing/cluster": (
        asked((replace(BORROWER, parent=None), Tenant(id="y", quota_gpus=6, lend_gpus=0)), ("x", 3)),
        {"j0": "n0"},
        "cluster",
    ),
    # What z lends is that of o, which gives none away: y keeps all it has.
    "borrowing/passed-on": (
        asked(
            (Tenant(id="o", quota_gpus=4), replace(HALF, lend_gpus=0), Tenant(id="z", quota_gpus=4, borrow_gpus=4)),
            ("z", 4),
            ("z", 1),
        ),
        {"j0": "n0", "j1": "n1"},
        "cluster",
    ),
    "quota": (asked((replace(BORROWER, parent=None, borrow_gpus=1),), ("x", 4)), {"j0": "n0"}, "x"),
    "quota-by-type": (asked((Tenant(id="x", quota_by_type={"a": 1}),), ("x", 2)), {"j0": "n0"}, "x"),
    "quota-by-type/above": (
        asked((Tenant(id="o", quota_by_type={"a": 3}), Tenant(id="x", parent="o")), ("x", 2), ("o", 2)),
        {"j0": "n0", "j1": "n0"},
        "o",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_decision_that_breaks_one_rule_is_told_which(name: str) -> None:
    round_, where, who = MUTANTS[name]
    runs = {job: {node: round_.jobs[round_.job_index[job]].gpus} for job, node in where.items()}
    found = broken_rules(round_, placed(round_, runs), "srtf")
    assert [(breach.rule, breach.where) for breach in found] == [(name.partition("/")[0], who)]


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("spec", SPECS)
def test_no_policy_breaks_it(name: str, spec: str) -> None:
    round_, _, _ = MUTANTS[name]
    for method in ("heuristic", "exact"):
        result = solve_round(round_, spec, method)
        assert result.certificate.violations == ()


@pytest.mark.parametrize("group", LOANS)
def test_the_rules_allow_what_the_definitions_allow_and_nothing_else(group: str) -> None:
    for seed in range(30):
        round_ = loan_round(seed, group, most_jobs=2)
        preempt = bool(seed % 2)
        spec = f"srtf:preempt={'yes' if preempt else 'no'}"
        nodes = [node.id for node in round_.cluster.nodes]
        allowed = {tuple(sorted(runs.items())) for _, runs in asked_decisions(round_, "srtf", False, False, preempt)}
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


def test_a_job_is_told_what_is_left_to_borrow() -> None:
    round_ = asked((Tenant(id="o"), BORROWER, HALF), ("x", 3), ("x", 2), ("y", 2), ("y", 3))
    decision = policy_from("fifo").decide(round_, 0)
    assert decision.running == {"j0", "j2"}
    told = {wait.job: (wait.reason.value, wait.detail, wait.changes) for wait in decision.waiting}
    assert told == {
        "j1": (
            "quota",
            "asks for 2 GPUs; tenant 'x' has 3 GPUs with a quota of 2, and the tenants below 'o' leave it 1 to borrow",
            (),
        ),
        "j3": (
            "quota",
            "asks for 3 GPUs; tenant 'y' has 2 left of its quota of 4; 3 are free where it may start, not as it asks "
            "for them, in one of several parts of the cluster",
            (),
        ),
    }
    assert wrong_reasons(round_, decision, "fifo") == []
    wrong = replace(decision, waiting=(replace(decision.waiting[0], changes=(Change(raise_quota=1),)),))
    assert [breach.rule for breach in wrong_reasons(round_, wrong, "fifo")] == ["waiting-change"]


def test_a_job_is_told_what_it_may_borrow_at_most() -> None:
    round_ = asked((Tenant(id="o"), replace(BORROWER, borrow_gpus=1), HALF), ("x", 4))
    (wait,) = policy_from("fifo").decide(round_, 0).waiting
    assert wait.detail == "asks for 4 GPUs; tenant 'x' has 3 left of its quota of 2 and the 1 that it may borrow"


def test_a_job_is_told_which_types_its_tenants_may_have_no_more_of() -> None:
    tenants = (Tenant(id="o", quota_by_type={"a": 4, "b": 3}), Tenant(id="x", parent="o", quota_by_type={"a": 1}))
    round_ = asked(tenants, ("o", 2), ("x", 2), ("x", 2))
    decision = policy_from("fifo").decide(round_, 0)
    assert {one.jobs[0]: dict(one.gpus) for one in decision.assignments} == {"j0": {"n0": 2}, "j1": {"n1": 2}}
    (wait,) = decision.waiting
    assert (wait.reason.value, wait.changes) == ("quota", ())
    assert wait.detail == (
        "asks for 2 GPUs; tenant 'x' has 1 left of its quota of 1 of the type 'a'; "
        "tenant 'o' has 1 left of its quota of 3 of the type 'b'"
    )
    assert wrong_reasons(round_, decision, "fifo") == []


def test_what_nobody_may_stop_stays_above_a_quota_of_its_type() -> None:
    pinned = gang(0, 3, tenant="x", preemptible=False, state="running", placement={"n0": 3})
    tenants = (Tenant(id="x", quota_by_type={"a": 2}), Tenant(id="y", quota_gpus=1, borrow_gpus=1))
    cluster = Cluster(nodes=NODES, tenants=tenants)
    round_ = Round(cluster=cluster, jobs=(pinned, gang(1, 1, tenant="x"), gang(2, 1, tenant="y")))
    for method in ("heuristic", "exact"):
        result = solve_round(round_, "srtf", method)
        assert result.decision.running == {"j0", "j1", "j2"}
        assert [one.gpus for one in result.decision.assignments][:2] == [{"n0": 3}, {"n1": 1}]
        assert result.certificate.violations == ()


def test_a_wrong_reason_is_found() -> None:
    round_ = asked((Tenant(id="x", quota_by_type={"a": 0, "b": 0}),), ("x", 1))
    decision = policy_from("fifo").decide(round_, 0)
    told = [(breach.rule, breach.detail) for breach in wrong_reasons(round_, placed(round_, {}), "fifo")]
    assert decision.waiting[0].reason.value == "quota"
    assert told == [("waiting-reason", "said priority; it is quota")]


def test_a_tenant_may_borrow_more_than_a_quota_can_say() -> None:
    boundless = Tenant(id="x", parent="o", quota_gpus=2, borrow_gpus=1_000_000)
    result = solve_round(asked((Tenant(id="o", quota_gpus=4), boundless, HALF), ("x", 3)), "fifo", "heuristic")
    assert (result.value, result.bound) == (1, 1)
