"""The round after a decision: what was decided is what is, and nothing else has changed."""

from __future__ import annotations

import msgspec
import pytest
from handmade import gang, round_of
from hypothesis import given
from more_examples import more_examples

from muri_opt import (
    Assignment,
    Cluster,
    Decision,
    InputError,
    Job,
    Node,
    Plan,
    Round,
    parse_round,
    policy_from,
    solve_round,
)
from muri_opt.rounds import Change, after, changed
from muri_opt.rounds.round import canonical_json
from muri_opt.testing import rounds
from muri_opt.testing.strategies_tenants import NOW, tenant_policies, tenant_rounds


@given(tenant_rounds(), tenant_policies())
@more_examples(100)
def test_assigned_jobs_run_where_they_were_put_and_the_others_wait(round_: Round, text: str) -> None:
    decision = policy_from(text).decide(round_, 0)
    then = after(round_, decision)
    placed = {job: assignment.gpus for assignment in decision.assignments for job in assignment.jobs}
    for before, job in zip(round_.jobs, then.jobs, strict=True):
        assert job.placement == placed.get(job.id)
        assert (job.state == "running") == (job.id in placed)
        assert msgspec.structs.replace(job, state=before.state, placement=before.placement) == before
    assert msgspec.structs.replace(then, jobs=round_.jobs) == round_


def test_an_added_node_is_in_the_units_of_its_rack() -> None:
    nodes = [Node(id=f"n{k}", gpus=1, levels={"block": f"b{k}", "rack": f"r{k}"}) for k in range(2)]
    round_ = Round(cluster=Cluster(levels=("block", "rack"), nodes=tuple(nodes)), jobs=(Job(id="a", gpus=2),))
    for rack, levels in (("r1", {"block": "b1"}), ("r9", None), (None, None)):
        then = changed(round_, Decision(), "a", Change(add_gpus=2, rack=rack, gpus=2))
        assert (then.cluster.nodes[-1].rack, then.cluster.nodes[-1].levels) == (rack, levels)


def test_an_added_node_is_of_the_type_of_its_rack() -> None:
    typed = tuple(Node(id=f"n{k}", gpus=2, rack="r0", gpu_type="a100", labels=("fast",)) for k in range(2))
    round_ = Round(cluster=Cluster(nodes=typed), jobs=(Job(id="a", gpus=6),))
    further = changed(round_, Decision(), "a", Change(add_gpus=2, rack="r0", gpus=2)).cluster.nodes[-1]
    assert (further.gpu_type, further.labels) == ("a100", ("fast",))


@given(rounds())
@more_examples(50)
def test_the_round_after_is_a_round_that_reads_back_equal(round_: Round) -> None:
    then = after(round_, solve_round(round_, "fifo", "heuristic").decision)
    assert parse_round(canonical_json(then)) == then
    assert parse_round(canonical_json(then)).fingerprint == then.fingerprint


@given(rounds())
@more_examples(50)
def test_the_decision_that_changes_nothing_gives_the_same_round(round_: Round) -> None:
    running = [job for job in round_.jobs if job.state == "running"]
    same = Decision(assignments=tuple(Assignment(jobs=(job.id,), gpus=job.placement) for job in running))
    assert after(round_, same) == round_
    assert after(round_, same).fingerprint == round_.fingerprint


def test_jobs_that_share_their_gpus_have_one_placement() -> None:
    group = Assignment(jobs=("j0", "j1"), order=(0, 1), gpus={"n0": 1, "n1": 1})
    then = after(round_of([4, 4], [2, 2, 2]), Decision(assignments=(group,)))
    assert [job.placement for job in then.jobs] == [{"n0": 1, "n1": 1}, {"n0": 1, "n1": 1}, None]
    assert [job.state for job in then.jobs] == ["running", "running", "waiting"]


def test_a_plan_is_kept_until_another_is_chosen() -> None:
    plans = (Plan(name="cpu", gpus=0, nodes=2, throughput=1.0), Plan(name="gpu", gpus=2, throughput=2.0))
    jobs = [Job(id="a", gpus=2, plans=plans, plan="gpu"), Job(id="b", gpus=2, plans=plans, plan="gpu")]
    assignments = (
        Assignment(jobs=("a",), plan="cpu", gpus={"n0": 0, "n1": 0}),
        Assignment(jobs=("b",), gpus={"n0": 2}),
    )
    a, b = after(round_of([4, 4], jobs), Decision(assignments=assignments)).jobs
    assert (a.plan, a.placement) == ("cpu", {"n0": 0, "n1": 0})
    assert (b.plan, b.placement) == ("gpu", {"n0": 2})


def test_nodes_of_which_only_cpus_are_used_are_no_placement() -> None:
    share = Assignment(jobs=("j0",), gpus={"n0": 2, "n1": 0})
    (job,) = after(round_of([4, 4], [2]), Decision(assignments=(share,))).jobs
    assert job.placement == {"n0": 2}


RUNNING = [gang(0, 2, restart_seconds=1.0), gang(1, 2, restart_seconds=1.0)]
ROUND = round_of([2, 2, Node(id="added-0", gpus=1)], [*RUNNING, gang(2, 2, submitted=None), 1])
DECISION = Decision(assignments=tuple(Assignment(jobs=(f"j{j}",), gpus={f"n{j}": 2}) for j in range(2)))


def test_who_is_preempted_is_gone_and_who_else_waits_is_left_out() -> None:
    then = changed(ROUND, DECISION, "j2", Change(preempt=("j0",), gpus=2))
    assert [job.id for job in then.jobs] == ["j1", "j2"]
    assert [job.state for job in then.jobs] == ["running", "waiting"]
    assert then.cluster == ROUND.cluster


def test_who_is_moved_is_elsewhere() -> None:
    then = changed(ROUND, DECISION, "j3", Change(move={"j1": {"n1": 1, "added-0": 1}}, gpus=2))
    assert [job.id for job in then.jobs] == ["j0", "j1", "j3"]
    assert [job.placement for job in then.jobs] == [{"n0": 2}, {"added-0": 1, "n1": 1}, None]


def test_time_passes_for_the_round_and_for_the_job() -> None:
    then = changed(ROUND, DECISION, "j2", Change(wait_seconds=0.1))
    assert (then.now, then.jobs[-1].waiting_seconds) == (0.1, 0.1)
    late = msgspec.structs.replace(ROUND, now=NOW)
    then = changed(late, DECISION, "j3", Change(wait_seconds=2.5))
    assert (then.now, then.jobs[-1].waiting_seconds) == (NOW + 2.5, NOW - 3 + 2.5)


def test_a_node_is_added_under_a_new_name() -> None:
    then = changed(ROUND, DECISION, "j2", Change(add_gpus=2, rack="r1", gpus=2))
    assert then.cluster.nodes[:-1] == ROUND.cluster.nodes
    assert then.cluster.nodes[-1] == Node(id="added-1", gpus=2, rack="r1")


@pytest.mark.parametrize(
    ("job", "change", "field", "found"),
    [
        ("j2", Change(preempt=("j3",)), "change", "'j3', which does not run"),
        ("j2", Change(move={"j2": {"n0": 2}}), "change", "'j2', which does not run"),
        ("j2", Change(preempt=("j9",)), "decision", "'j9'"),
        ("j1", Change(wait_seconds=1.0), "job", "'j1', which runs"),
        ("j9", Change(wait_seconds=1.0), "decision", "'j9'"),
    ],
)
def test_a_change_for_other_jobs_is_refused(job: str, change: Change, field: str, found: str) -> None:
    with pytest.raises(InputError) as refused:
        changed(ROUND, DECISION, job, change)
    assert refused.value.field == field
    assert found in refused.value.found


def test_a_decision_about_unknown_jobs_is_refused() -> None:
    with pytest.raises(InputError, match="j9"):
        after(ROUND, Decision(assignments=(Assignment(jobs=("j9",), gpus={"n0": 1}),)))
