"""Each rationality invariant finds an allocator made to break it, on a round small enough to see why."""

from itertools import count

import msgspec
import pytest

from muri_opt import Assignment, Cluster, Decision, Job, Node, Plan, Round
from muri_opt.testing import INVARIANTS, RATIONALITY, Tier, published
from muri_opt.testing.changed_rounds import has_ties, jobs_reversed, nodes_reversed, renamed, with_node, with_twin


def job(place, gpus=1, **fields):
    return Job(id=f"j{place}", gpus=gpus, submitted=float(place), **fields)


def round_of(gpus, *jobs):
    return Round(cluster=Cluster(nodes=tuple(Node(id=f"n{s}", gpus=g) for s, g in enumerate(gpus))), jobs=tuple(jobs))


def running(place, node="n0", gpus=1, **fields):
    return job(place, gpus, state="running", placement={node: gpus}, **fields)


def packed(round_, jobs):
    """Return the decision that places these jobs, one after another, on the first free GPUs."""
    free, started = {node.id: node.gpus for node in round_.cluster.nodes}, []
    for one in jobs:
        if sum(free.values()) >= one.gpus:
            taken = {}
            for node in free:
                share = min(free[node], one.gpus - sum(taken.values()))
                free[node] -= share
                taken |= {node: share} if share else {}
            started.append(Assignment(jobs=(one.id,), gpus=taken))
    return Decision(assignments=tuple(started))


def nobody(round_):
    return Decision()


def in_order(round_):
    return packed(round_, round_.jobs)


def by_name(round_):
    return packed(round_, sorted(round_.jobs, key=lambda one: one.id))


def smallest_if_many_nodes(round_):
    return packed(round_, sorted(round_.jobs, key=lambda one: one.gpus)[: 3 - len(round_.cluster.nodes)])


def first_node_only(round_):
    return packed(msgspec.structs.replace(round_, cluster=Cluster(nodes=round_.cluster.nodes[:1])), round_.jobs)


def last_listed_alone(round_):
    return packed(round_, [one for one in round_.jobs[-1:] if one.gpus == 1 or len(round_.jobs) > 2])


def one_if_two(round_):
    return packed(round_, round_.jobs[: 1 if len(round_.jobs) == 2 else 0])


def waiting_first(round_):
    return packed(round_, sorted(round_.jobs, key=lambda one: one.state == "running"))


def stops_one(round_):
    return packed(round_, [one for one in round_.jobs if one.id != "j0"])


TWO = round_of([1], job(0), job(1))
UNEQUAL = round_of([2], job(0, 1), job(1, 2))
BREAKS = [
    ("alone", nobody, round_of([2], job(0)), "job 'j0' alone in the cluster waits; 1 of n0 would do"),
    ("more-capacity", smallest_if_many_nodes, round_of([2], job(0), job(1)), "worth 2, with one more node of 2 GPUs 1"),
    ("names", by_name, UNEQUAL, "worth 1, under other names 2"),
    ("job-order", in_order, UNEQUAL, "worth 1, with the jobs listed backwards 2"),
    ("node-order", first_node_only, round_of([1, 2], job(0, 2)), "worth 0, with the nodes listed backwards 2"),
    ("same-jobs", in_order, TWO, "['j0'] run; with the jobs listed backwards ['j1']"),
    ("same-jobs", by_name, TWO, "['j0'] run; under other names ['j1']"),
    ("waiting-removed", one_if_two, TWO, "worth 1 while job 'j1' waits, 0 without that job"),
    ("idempotent", waiting_first, TWO, "job 'j0' has 1 of n0, and waits when asked again at once"),
    ("settles", waiting_first, TWO, "job 'j0' is preempted 3 times in 6 decisions with nothing arriving"),
    ("preempts-for-a-start", nobody, round_of([1], running(0)), "'j0' preempted; no job starts or gets more GPUs"),
    ("minimal-victims", stops_one, round_of([2], running(0), job(1)), "job 'j0' is preempted; 1 of n0, where it was"),
]


@pytest.mark.parametrize(("name", "allocator", "round_", "words"), BREAKS, ids=[one[0] for one in BREAKS])
def test_an_allocator_made_to_break_an_invariant_does(name, allocator, round_, words):
    breach = INVARIANTS[name].check(allocator, round_)
    assert words in breach.detail
    assert str(breach) == f"{name}: {breach.detail}"
    assert (breach.invariant, breach.tier) == (name, Tier.RATIONALITY)
    assert breach.amount > 0


@pytest.mark.parametrize("one", RATIONALITY, ids=lambda one: one.name)
@pytest.mark.parametrize("round_", [TWO, UNEQUAL, round_of([1, 2], running(0), running(1, "n1", 2), job(2, 2))])
def test_the_list_schedule_breaks_none_of_them_here(one, round_):
    timed = [msgspec.structs.replace(job, remaining_iterations=1, iteration_seconds=1.0) for job in round_.jobs]
    given = msgspec.structs.replace(round_, jobs=tuple(timed))
    assert one.under("fifo").check(published("fifo"), given) is None
    assert one.text


def test_twins_that_are_told_apart_are_found():
    calls = count()
    assert INVARIANTS["twins"].check(lambda round_: [nobody, in_order][next(calls) % 2](round_), TWO) is not None
    assert INVARIANTS["twins"].check(in_order, round_of([1], running(0))) is None


def test_ties_are_left_out_where_the_order_may_matter():
    tied = round_of([2], *(msgspec.structs.replace(one, submitted=0.0) for one in UNEQUAL.jobs))
    assert has_ties(tied)
    assert INVARIANTS["job-order"].check(in_order, tied) is None
    assert INVARIANTS["same-jobs"].check(in_order, tied) is None


def over_full(round_):
    return Decision(assignments=tuple(Assignment(jobs=(one.id,), gpus={"n0": one.gpus}) for one in round_.jobs))


@pytest.mark.parametrize(
    "name", ["more-capacity", "names", "twins", "waiting-removed", "idempotent", "settles", "minimal-victims"]
)
def test_a_decision_that_is_not_possible_is_left_to_safety(name):
    assert INVARIANTS["capacity"].check(over_full, TWO) is not None
    assert INVARIANTS[name].check(over_full, TWO) is None


def test_a_value_of_your_own_can_be_used():
    jobs = INVARIANTS["names"].worth(lambda _round, decision: len(decision.running))
    assert jobs.check(by_name, UNEQUAL) is None
    assert INVARIANTS["names"].worth(lambda _round, decision: 0.5 * len(decision.assignments)).judge != jobs.judge


def test_a_plan_is_kept_by_a_job_that_could_have_stayed():
    plan = Plan(name="p1x1", gpus=1, throughput=1.0)
    stays = running(0, plans=(plan,), plan="p1x1")
    breach = INVARIANTS["minimal-victims"].under("rubick").check(nobody, round_of([1], stays))
    assert "job 'j0' is preempted; 1 of n0, where it was, are free" in breach.detail


def on_cpus(place, *plans, **fields):
    return job(place, 0, plans=plans, plan=plans[0].name, executed_seconds=0.0, **fields)


def by_plan(**plans):
    return lambda _round: Decision(
        assignments=tuple(Assignment(jobs=(name,), plan=plan, gpus={"n0": 0}) for name, plan in plans.items())
    )


def test_a_job_on_cpus_starts_and_grows_too():
    small, large = (Plan(name=f"cpu-p1-w{w}", gpus=0, cpus=1.0 + w, throughput=1.0) for w in (1, 2))
    held = {"state": "running", "placement": {"n0": 0}, "remaining_iterations": 1}
    stops, other = on_cpus(0, small, **held), on_cpus(1, small, large, **held)
    waits = on_cpus(1, small, remaining_iterations=1)
    checked = INVARIANTS["preempts-for-a-start"].under("aiturbo")
    assert "'j0' preempted" in checked.check(by_plan(j1="cpu-p1-w1"), round_of([1], stops, other)).detail
    assert checked.check(by_plan(j1="cpu-p1-w2"), round_of([1], stops, other)) is None
    assert checked.check(by_plan(j1="cpu-p1-w1"), round_of([1], stops, waits)) is None


def test_a_further_node_has_as_much_of_everything_as_any():
    nodes = (Node(id="n0", gpus=1, cpus=8.0, memory_gib=4.0), Node(id="n1", gpus=2, cpus=2.0))
    more = with_node(Round(cluster=Cluster(nodes=nodes), jobs=())).cluster.nodes[-1]
    assert (more.gpus, more.cpus, more.memory_gib) == (2, 8.0, None)


def test_changed_rounds_differ_in_one_respect_only():
    round_ = round_of([1, 2], running(0, "n1", 2, tenant="a"), job(1, tenant="b"))
    other = renamed(round_)
    assert [one.id for one in other.jobs] == ["j002", "j001"]
    assert other.jobs[0].placement == {"n001": 2}
    assert [one.tenant for one in other.jobs] == ["t002", "t001"]
    assert jobs_reversed(jobs_reversed(round_)) == nodes_reversed(nodes_reversed(round_)) == round_
    assert [node.gpus for node in with_node(with_node(round_)).cluster.nodes] == [1, 2, 2, 2]
    assert [node.gpus for node in with_node(round_of([])).cluster.nodes] == [1]
    assert [one.id for one in with_twin(round_, round_.jobs[1], first=True).jobs] == ["j0", "twin", "j1"]
