"""Who shares GPUs now: what a decision made goes on, and a group goes on only where it may be one that runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from handmade import gang, round_of
from hypothesis import given, strategies as st
from more_examples import more_examples
from msgspec.structs import replace

from muri_opt import Assignment, Cluster, Decision, Job, Node, Round, changes, solve_round
from muri_opt.rounds import Plan, after
from muri_opt.rounds.sharing_now import homes_now, on_same_gpus, sharing_now
from muri_opt.verify.sharing_now import RunningJobs, running_groups

STAGES = (1.0, 1.0, 1.0, 1.0)


@st.composite
def decisions(draw: st.DrawFn) -> tuple[Round, Decision]:
    """Draw groups on GPUs that they have alone, some on two nodes, some of jobs that cannot share."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    left, jobs, given_ = dict(enumerate(sizes)), [], []
    for _ in range(draw(st.integers(1, 4))):
        nodes = draw(st.lists(st.sampled_from(sorted(left)), min_size=1, max_size=2, unique=True))
        gpus = {node: draw(st.integers(1, 2)) for node in nodes}
        if any(left[node] < more for node, more in gpus.items()):
            continue
        shares = draw(st.booleans())
        names = []
        for _ in range(draw(st.integers(1, 4)) if shares else 1):
            job = gang(len(jobs), sum(gpus.values()), stage_seconds=STAGES if shares else None, restart_seconds=9.0)
            jobs.append(job)
            names.append(job.id)
        for node, more in gpus.items():
            left[node] -= more
        where = {f"n{node}": more for node, more in gpus.items()}
        given_.append(Assignment(jobs=tuple(names), order=tuple(range(len(names))), gpus=where))
    return round_of(sizes, jobs), Decision(assignments=tuple(given_))


@given(decisions())
def test_every_decision_goes_on_as_it_is(case: tuple[Round, Decision]) -> None:
    round_, decision = case
    then = after(round_, decision)
    assert set(changes(then, decision).counts) <= {"keep"}
    now, running = homes_now(then), RunningJobs(then)
    for one in decision.assignments:
        assert now.goes_on([then.job_index[job] for job in one.jobs], one.gpus)
        assert running.may_be(one.jobs, one.gpus)


def groupings(jobs: Sequence[int]) -> Iterator[list[tuple[int, ...]]]:
    """Yield every way to split jobs into groups of at most four."""
    if not jobs:
        yield []
        return
    first, rest = jobs[0], jobs[1:]
    for mask in range(1 << len(rest)):
        others = [job for place, job in enumerate(rest) if mask >> place & 1]
        if len(others) < 4:
            left = [job for job in rest if job not in others]
            for more in groupings(left):
                yield [(first, *others), *more]


def possible(round_: Round) -> set[tuple[int, ...]]:
    """Return all groups that are in some state of the cluster: all groups side by side, of one placement each."""
    has = {node.id: node.gpus for node in round_.cluster.nodes}
    found: set[tuple[int, ...]] = set()
    runs = [place for place, job in enumerate(round_.jobs) if job.state == "running"]
    for state in groupings(runs):
        used: Counter[str] = Counter()
        for group in state:
            jobs = [round_.jobs[place] for place in group]
            used.update(dict(jobs[0].placement))
            alike = all(job.placement == jobs[0].placement for job in jobs)
            if not alike or (len(jobs) > 1 and any(job.stage_seconds is None for job in jobs)):
                break
        else:
            if all(used[node] <= gpus for node, gpus in has.items()):
                found.update(state)
    return found


@given(decisions(), st.integers(0, 3))
@more_examples(60)
def test_a_group_goes_on_where_some_state_of_the_cluster_has_it(case: tuple[Round, Decision], ended: int) -> None:
    round_, decision = case
    then = after(round_, decision)
    then = replace(then, jobs=then.jobs[ended : ended + 6])
    states, now, running = possible(then), homes_now(then), RunningJobs(then)
    places = range(len(then.jobs))
    for mask in range(1, 1 << len(then.jobs)):
        group = tuple(place for place in places if mask >> place & 1)
        gpus = then.jobs[group[0]].placement
        expected = gpus is not None and group in states
        assert now.goes_on(group, gpus or {}) == expected
        assert running.may_be([then.jobs[place].id for place in group], gpus or {}) == expected
    read = [tuple(sorted(group)) for group in on_same_gpus(then)]
    assert set(read) <= states
    assert read == [tuple(then.job_index[job.id] for job in group) for group in running_groups(then)]


def test_pairs_of_one_placement_are_not_taken_for_a_group_of_four() -> None:
    jobs = [gang(j, 4, stage_seconds=STAGES, state="running", placement={"n0": 4}) for j in range(4)]
    round_ = round_of([8], jobs)
    for pairs in ((("j0", "j1"), ("j2", "j3")), (("j0", "j3"), ("j1", "j2"))):
        given_ = tuple(Assignment(jobs=pair, order=(0, 1), gpus={"n0": 4}) for pair in pairs)
        decision = Decision(assignments=given_)
        assert changes(round_, decision).counts == {"keep": 4}
        assert sharing_now(round_, decision)["j0"] == set(pairs[0])
    alone = Decision(assignments=(Assignment(jobs=("j0",), gpus={"n0": 4}),))
    assert changes(round_, alone).counts == {"keep": 1, "stop": 3}  # the other three may be a group
    crowded = round_of([4], jobs)
    assert changes(crowded, alone).counts == {"regroup": 1, "stop": 3}


def test_a_job_that_runs_by_a_plan_is_alone_where_that_can_be() -> None:
    plans = (Plan(name="dp2", gpus=2, throughput=2.0),)
    held: dict[str, Any] = {"gpus": 2, "state": "running", "placement": {"n0": 2}, "remaining_iterations": 9}
    said: dict[str, Any] = held | {"stage_seconds": (0.1, 0.2, 0.6, 0.1)}
    jobs = (
        Job(id="a", **said),
        Job(id="planned", **said, plans=plans, plan="dp2", movable=False),
        Job(id="b", **said),
    )
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=4),)), jobs=jobs)
    assert on_same_gpus(round_) == [(1,), (0, 2)]
    assert [tuple(job.id for job in group) for group in running_groups(round_)] == [("planned",), ("a", "b")]
    result = solve_round(round_, "joint-s", "heuristic")
    assert result.certificate.feasible
    assert {one.jobs for one in result.answer.assignments} >= {("planned",)}
    tight = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=jobs)
    assert on_same_gpus(tight) == [(0, 1, 2)]
    assert [len(group) for group in running_groups(tight)] == [3]
