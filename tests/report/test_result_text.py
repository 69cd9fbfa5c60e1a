"""A result and a round as text."""

import msgspec
from by_policy import rules_of

from muri_opt import (
    Assignment,
    Certificate,
    Cluster,
    Decision,
    Job,
    Node,
    Reason,
    Result,
    Round,
    Tenant,
    Termination,
    Violation,
)
from muri_opt.report.text.result import change_of, decision_lines, nodes_text, result_text, termination_text
from muri_opt.report.text.round import chart_lines, job_text, round_text


def a_round(*jobs, nodes=None):
    nodes = nodes or (Node(id="n0", gpus=4), Node(id="n1", gpus=4))
    return Round(name="small", cluster=Cluster(nodes=nodes), jobs=jobs)


def test_change_of_a_job():
    share = Assignment(jobs=("a",), gpus={"n0": 2})
    assert change_of(Job(id="a", gpus=2), share) == "starts"
    assert change_of(Job(id="a", gpus=2, state="running", placement={"n0": 2}), share) == "stays"
    assert change_of(Job(id="a", gpus=2, state="running", placement={"n1": 2}), share) == "moves"
    assert change_of(Job(id="a", gpus=2, state="running"), share) == "stays"


def test_a_plan_that_changes_on_the_same_nodes_is_told():
    job = Job(id="a", gpus=2, state="running", placement={"n0": 2}, plan="dp2")
    assert change_of(job, Assignment(jobs=("a",), gpus={"n0": 2}, plan="dp2")) == "stays"
    assert change_of(job, Assignment(jobs=("a",), gpus={"n0": 2}, plan="tp2")) == "new plan"


def test_plans_and_their_cpus_have_columns():
    round_ = a_round(Job(id="a", gpus=2), Job(id="b", gpus=1))
    assignments = (
        Assignment(jobs=("a",), gpus={"n0": 1, "n1": 1}, cpus={"n0": 4.0, "n1": 4.0}, plan="zero-dp2"),
        Assignment(jobs=("b",), gpus={"n0": 1}, plan="tp1"),
    )
    lines = decision_lines(round_, Decision(assignments=assignments))
    assert lines[1].split() == ["job", "plan", "GPUs", "CPUs", "change", "nodes"]
    assert lines[2].split() == ["a", "zero-dp2", "2", "8", "starts", "n0", "x1,", "n1", "x1"]
    assert lines[3].split()[:4] == ["b", "tp1", "1", "0"]


def test_many_nodes_are_counted():
    assert nodes_text({"n0": 4, "n1": 2}) == "n0 x4, n1 x2"
    assert nodes_text({f"n{s}": 8 for s in range(9)}).endswith("n5 x8, 3 more nodes")


def test_a_termination_says_reason_limit_and_detail():
    assert termination_text(Termination(reason=Reason.OPTIMAL)) == "OPTIMAL"
    assert termination_text(Termination(reason=Reason.FAILED, detail="it\ndied")) == "FAILED: it\\ndied"


def test_violations_of_an_answer_are_shown():
    wrong = Violation(rule="gang", where="job-0", detail="two of three GPUs")
    result = Result(
        fingerprint="sha256:0",
        policy="fifo",
        rules=rules_of("fifo"),
        method="auto",
        termination=Termination(reason=Reason.FAILED),
        certificate=Certificate(feasible=False, violations=(wrong,)),
    )
    text = result_text(a_round(), result)
    assert "violations: 1" in text
    assert "gang  job-0  two of three GPUs" in text


def test_interleaved_jobs_share_a_row_and_a_letter():
    round_ = a_round(Job(id="a", gpus=2), Job(id="b", gpus=2), Job(id="c", gpus=5))
    decision = Decision(
        assignments=(
            Assignment(jobs=("a", "b"), order=(0, 1), gpus={"n0": 2}),
            Assignment(jobs=("c",), gpus={"n0": 1, "n1": 4}),
        )
    )
    head, first, second = (line.split(maxsplit=2) for line in chart_lines(round_, decision))
    assert head == ["node", "GPUs", "jobs"]
    assert first == ["n0", "AAB.", "A a + b, B c (1 of 5), 1 free"]
    assert second == ["n1", "AAAA", "A c (4 of 5)"]
    assert "starts on n0 x2, interleaved with b" in job_text(round_.jobs[0], decision)


def test_wide_nodes_are_put_in_words_and_many_jobs_share_a_mark():
    nodes = (Node(id="wide", gpus=65), Node(id="full", gpus=60))
    jobs = tuple(Job(id=f"job-{j}", gpus=1) for j in range(60))
    round_ = a_round(*jobs, nodes=nodes)
    shares = tuple(Assignment(jobs=(job.id,), gpus={"full": 1}) for job in jobs)
    _, wide, full = chart_lines(round_, Decision(assignments=shares))
    assert "0 of 65 in use" in wide
    assert full.split()[1].endswith("xyz" + "#" * 8)


def test_a_job_that_stops_and_its_facts():
    job = Job(id="a", gpus=9, cpus=18, memory_gib=4.5, state="running", plan="dp")
    waiting = msgspec.convert(
        {"waiting": [{"job": "a", "reason": "stopped", "detail": "too large", "remedy": "ask for less"}]}, Decision
    )
    told = job_text(job, waiting).splitlines()
    assert "asks for     9 GPUs, 18 CPUs, 4.5 GiB" in told
    assert "plan         dp" in told
    assert told[-3:] == ["decision     is stopped", "because      too large", "remedy       ask for less"]


def test_kinds_of_nodes_and_tenants_without_a_quota():
    nodes = tuple(Node(id=f"n{s}", gpus=s, gpu_type="v100") for s in range(6))
    jobs = (Job(id="a", gpus=1, tenant="free"),)
    round_ = Round(cluster=Cluster(nodes=nodes, tenants=(Tenant(id="free"),)), jobs=jobs)
    text = round_text(round_)
    assert "1 with 0 GPUs (v100), CPUs without limit, memory without limit; " in text
    assert "; 2 more kinds" in text
    assert ["free", "none", "0", "1", "1"] in [line.split() for line in text.splitlines()]
