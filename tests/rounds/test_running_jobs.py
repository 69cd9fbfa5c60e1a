"""What running jobs hold must be possible: said, a number of GPUs they can run with, and within every node."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, strategies as st

from muri_opt import Cluster, InputError, Job, Limits, Node, Plan, Round, solve_round
from muri_opt.rounds import after, canonical_json, parse_round
from muri_opt.rounds.running_jobs import MOST_SHARING

STAGES = (0.1, 0.2, 0.3, 0.4)


def running(name: str, placement: dict[str, int] | None, gpus: int | None = None, **fields: object) -> Job:
    asked = sum((placement or {}).values()) if gpus is None else gpus
    return Job(**{"id": name, "gpus": asked, "state": "running", "placement": placement} | fields)


def made(*jobs: Job, **node: object) -> Round:
    nodes = tuple(Node(**{"id": f"n{place}", "gpus": 4} | node) for place in range(2))
    return Round(cluster=Cluster(nodes=nodes), jobs=jobs)


def refused(*jobs: Job, **node: object) -> tuple[str, str, str]:
    with pytest.raises(InputError) as caught:
        made(*jobs, **node)
    return caught.value.field, caught.value.found, caught.value.allowed


@pytest.mark.parametrize("placement", [None, {}])
def test_a_running_job_says_where_it_is(placement: dict[str, int] | None) -> None:
    field, found, allowed = refused(running("a", {"n0": 1}), running("b", placement, 2))
    assert (field, found) == ("jobs[1] ('b').placement", "nothing")
    assert allowed == "the nodes of its 2 GPUs: the job is running"
    made(running("b", placement, 0))  # on CPUs only, which no node need be named for


@pytest.mark.parametrize(
    ("job", "allowed"),
    [
        (running("a", {"n0": 3}, 2), "the 2 it asks for"),
        (running("a", {"n0": 1}, 2), "the 2 it asks for"),
        (running("a", {"n0": 3}, 1, scaling={1: 1.0, 2: 1.9}), "the 1 it asks for; 1 to 2, as it scales"),
        (
            running("a", {"n0": 3}, 1, plans=(Plan(name="dp2", gpus=2, throughput=1.0),)),
            "the 1 it asks for; those of a plan: [2]",
        ),
        (
            running(
                "a",
                {"n0": 2},
                1,
                plan="x",
                plans=tuple(Plan(name=n, gpus=g, throughput=1.0) for n, g in (("x", 1), ("x", 4), ("y", 2))),
            ),
            "the 1 it asks for; those of a plan 'x': [1, 4]",
        ),
        (
            running("a", {"n0": 1}, 2, stage_seconds=STAGES),
            "the 2 it asks for; more, of a larger job that it shares them with",
        ),
    ],
)
def test_a_job_runs_with_gpus_it_can_run_with(job: Job, allowed: str) -> None:
    held = sum((job.placement or {}).values())
    told = ("jobs[0] ('a').placement", f"{held} GPUs", f"GPUs it can run with: {allowed}")
    assert refused(job) == told


def test_shares_plans_and_larger_partners_are_other_numbers_a_job_can_run_with() -> None:
    made(running("a", {"n0": 3}, 1, scaling={1: 1.0, 4: 3.0}))
    made(running("a", {"n0": 1, "n1": 1}, 4, plan="dp2", plans=(Plan(name="dp2", gpus=2, nodes=2, throughput=1.0),)))
    made(running("a", {"n0": 0}, 4, plans=(Plan(name="cpu", gpus=0, throughput=1.0),)))
    small, large = (running(name, {"n0": 2}, gpus, stage_seconds=STAGES) for name, gpus in (("a", 1), ("b", 2)))
    made(small, large)
    made(small)  # the larger one has ended


def test_running_jobs_do_not_overfill_the_gpus_of_a_node() -> None:
    made(running("a", {"n0": 3}), running("b", {"n0": 1}))
    field, found, allowed = refused(running("a", {"n0": 3}), running("b", {"n0": 2}))
    assert field == "jobs[1] ('b').placement[n0]"
    assert found == "2 GPUs, which makes 5 with the running jobs before it"
    assert allowed == "at most the 4 GPUs of the node"


def test_jobs_that_wait_hold_nothing() -> None:
    made(running("a", {"n0": 3}), Job(id="b", gpus=3, placement={"n0": 3}))


def test_jobs_with_stages_and_the_same_placement_share_gpus_up_to_a_group() -> None:
    group = [running(f"j{place}", {"n0": 3}, stage_seconds=STAGES) for place in range(MOST_SHARING + 1)]
    made(*group[:MOST_SHARING])
    assert refused(*group)[0] == f"jobs[{MOST_SHARING}] ('j{MOST_SHARING}').placement[n0]"
    other = running("other", {"n0": 2}, stage_seconds=STAGES)
    assert refused(group[0], other)[0] == "jobs[1] ('other').placement[n0]"  # another placement: other GPUs
    plain = running("plain", {"n0": 3})
    assert refused(group[0], plain)[0] == "jobs[1] ('plain').placement[n0]"


def test_cpus_and_memory_go_with_the_gpus() -> None:
    one = running("a", {"n0": 1, "n1": 3}, cpus=8.0, memory_gib=16.0)
    two = running("b", {"n1": 1}, cpus=2.0, memory_gib=4.0)
    made(one, two, cpus=8.0, memory_gib=16.0)
    field, found, allowed = refused(one, two, cpus=7.5)
    assert field == "jobs[1] ('b').placement[n1]"
    assert (found, allowed) == (
        "2 CPUs, which makes 8 with the running jobs before it",
        "at most the 7.5 CPUs of the node",
    )
    assert refused(one, two, memory_gib=15.0)[2] == "at most the 15 GiB of the node"
    made(running("a", {"n0": 3}, cpus=10.0), cpus=10.0)  # a third is no whole milli-CPU: rounding refuses nobody


def test_cpus_of_a_plan_are_what_the_plan_says() -> None:
    plans = tuple(
        Plan(name=name, gpus=2, nodes=2, cpus=cpus, throughput=1.0) for name, cpus in (("x", 20.0), ("y", 8.0))
    )
    for name, fits in (("x", False), ("y", True), (None, True)):
        job = running("a", {"n0": 1, "n1": 1}, 1, plans=plans, plan=name, cpus=100.0)
        if fits:
            made(job, cpus=4.0)
        else:
            assert refused(job, cpus=4.0)[0] == "jobs[0] ('a').placement[n0]"


@pytest.mark.parametrize("asks_for", [None, "x"])
def test_a_job_may_run_by_none_of_its_plans(asks_for: str | None) -> None:
    plans = (Plan(name="x", gpus=2, cpus=8.0, throughput=1.0),)
    made(*[running(name, {"n0": 2}, plans=plans, cpus=4.0, plan=asks_for) for name in "ab"], cpus=8.0)
    wide = [running(name, {"n0": 2}, 1, plans=plans, cpus=2.0, plan=asks_for) for name in "ab"]
    assert refused(*wide, cpus=8.0)[1] == "8 CPUs, which makes 16 with the running jobs before it"
    made(*[msgspec.structs.replace(job, scaling={1: 1.0, 2: 1.5}) for job in wide], cpus=8.0)


@pytest.mark.parametrize("asks_for", [None, "x"])
@pytest.mark.parametrize("policy", ["fifo", "srtf", "philly", "afs-l", "muri-s"])
def test_where_plans_are_not_read_the_round_after_a_decision_can_be(policy: str, asks_for: str | None) -> None:
    said = {"iteration_seconds": 1.0, "remaining_iterations": 10, "submitted": 0.0, "attained_gpu_seconds": 0.0}
    said |= {"stage_seconds": (0.25, 0.25, 0.25, 0.25), "scaling": {1: 1.0, 4: 3.0}}
    plans = (Plan(name="x", gpus=2, cpus=8.0, throughput=1.0), Plan(name="y", gpus=4, cpus=64.0, throughput=1.0))
    jobs = tuple(Job(id=name, gpus=2, cpus=4.0, plans=plans, plan=asks_for, **said) for name in "ab")
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=4, cpus=8.0),)), jobs=jobs)
    then = after(round_, solve_round(round_, policy).decision)
    assert "running" in [job.state for job in then.jobs]


def test_what_a_plan_does_not_say_goes_with_its_gpus() -> None:
    plans = (Plan(name="cpu", gpus=0, cpus=2.0, throughput=1.0), Plan(name="gpu", gpus=2, throughput=2.0))
    made(running("a", {"n0": 0}, 0, plans=plans, plan="cpu", memory_gib=16.0), cpus=4.0, memory_gib=1.0)
    held = running("a", {"n0": 2}, 1, plans=plans, plan="gpu", memory_gib=16.0)
    made(held, memory_gib=32.0)
    assert refused(held, memory_gib=31.0)[1] == "32 GiB, which makes 32 with the running jobs before it"
    made(running("a", {"n0": 0}, 0, memory_gib=1.0), memory_gib=1.0)
    assert refused(running("a", {"n0": 0}, 0, memory_gib=2.0), memory_gib=1.0)[2] == "at most the 1 GiB of the node"


def test_files_are_refused_like_objects() -> None:
    good = canonical_json(made(running("a", {"n0": 3}), running("b", {"n1": 2})))
    parse_round(good)
    with pytest.raises(InputError, match="makes 5 with the running jobs before it"):
        parse_round(good.replace(b'"placement":{"n1":2}', b'"placement":{"n0":2}'))


@pytest.mark.parametrize("policy", ["muri-s", "muri-s:sizes=mixed,objective=gpu-time"])
@pytest.mark.parametrize("sizes", [[1, 1, 1, 1, 1], [2, 1, 2, 1, 1]])
def test_what_a_decision_of_muri_leads_to_can_be(policy: str, sizes: list[int]) -> None:
    """All five jobs run on two GPUs; some share, with GPUs of a larger job where sizes are mixed."""
    jobs = tuple(
        Job(id=f"j{place}", gpus=gpus, stage_seconds=STAGES, iteration_seconds=1.0, remaining_iterations=10)
        for place, gpus in enumerate(sizes)
    )
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=jobs)
    result = solve_round(round_, policy, "exact", Limits(seconds=600.0))
    then = after(round_, result.decision)
    assert sum(job.state == "running" for job in then.jobs) > 2


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans(), st.booleans()), max_size=8))
def test_a_node_is_overfilled_when_the_least_that_jobs_hold_is_too_much(drawn: list[tuple[int, bool, bool]]) -> None:
    """Counted in another way: all GPUs of jobs alone, and those of as few groups of equal placements as can be."""
    jobs = [
        running(f"j{place}", {"n0" if first else "n1": gpus}, stage_seconds=STAGES if shares else None)
        for place, (gpus, shares, first) in enumerate(drawn)
    ]
    used = {
        node: sum(gpus for gpus, shares, first in drawn if not shares and first == here)
        + sum(gpus * -(-sum(other == (gpus, True, here) for other in drawn) // MOST_SHARING) for gpus in range(1, 5))
        for node, here in (("n0", True), ("n1", False))
    }
    if max(used.values()) <= 4:
        made(*jobs)
    else:
        assert refused(*jobs)[2] == "at most the 4 GPUs of the node"
