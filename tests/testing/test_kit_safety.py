"""Each safety invariant finds the fault it is for, says it in numbers, and finds nothing in a good allocator."""

import msgspec
import pytest

from muri_opt import Assignment, Cluster, Decision, InputError, Job, Node, Round, Tenant
from muri_opt.rounds import Waiting, WaitingReason
from muri_opt.testing import INVARIANTS, SAFETY, Tier, from_dicts, published

ROUND = Round(
    cluster=Cluster(
        nodes=(Node(id="n0", gpus=2, cpus=4.0), Node(id="n1", gpus=1)), tenants=(Tenant(id="t0", quota_gpus=1),)
    ),
    jobs=(
        Job(id="j0", gpus=2, cpus=4.0, submitted=0.0, iteration_seconds=2.0),
        Job(id="j1", gpus=1, tenant="t0", submitted=1.0, state="running", placement={"n1": 1}),
        Job(id="j2", gpus=1, tenant="t0", submitted=2.0),
    ),
)


def says(**shares):
    """Return an allocator that says one thing of every round, but lets jobs run on where nobody waits."""

    def decide(round_):
        idle = all(job.state == "running" for job in round_.jobs)
        told = {job.id: job.placement for job in round_.jobs} if idle else shares
        return Decision(assignments=tuple(Assignment(jobs=(job,), gpus=gpus) for job, gpus in told.items()))

    return decide


WAITS = {job.id: Waiting(job=job.id, reason=WaitingReason.CAPACITY, detail="", remedy="") for job in ROUND.jobs}


def broken_by(allocator, round_=ROUND):
    found = {one.name: one.check(allocator, round_) for one in SAFETY}
    return {name: breach.detail for name, breach in found.items() if breach is not None}


def test_every_safety_invariant_says_what_it_is():
    assert sum(not one.fields for one in SAFETY) == 9
    assert len({one.name for one in SAFETY}) == len(SAFETY) == 21
    assert {one.tier for one in SAFETY} == {Tier.SAFETY}
    assert all(one.text.endswith(".") for one in SAFETY)


@pytest.mark.parametrize(
    "good",
    [published("fifo"), published("srtf:nodes=fewest"), says(), says(j0={"n0": 2}), says(j0={"n0": 1, "n1": 1})],
)
def test_a_good_allocator_breaks_nothing(good):
    round_ = msgspec.structs.replace(
        ROUND,
        jobs=tuple(msgspec.structs.replace(job, remaining_iterations=1, iteration_seconds=2.0) for job in ROUND.jobs),
    )
    assert broken_by(good, round_) == {}


@pytest.mark.parametrize(
    ("allocator", "name", "words"),
    [
        (says(j0={"n0": 2}, j1={"n0": 1}), "capacity", "n0: 3 GPUs in use; the node has 2"),
        (says(j0={"n9": 2}), "capacity", "the cluster has no node 'n9'"),
        (says(j0={"n0": 1}), "gang", "job 'j0' asks for 2 GPUs, has 1"),
        (says(j1={"n0": 1}, j2={"n1": 1}), "quota", "t0: 2 GPUs in use; the quota is 1"),
        (says(j7={"n0": 1}), "once", "the round has no such job"),
        (
            lambda _round: Decision(assignments=(Assignment(jobs=("j1", "j2"), order=(0, 1), gpus={"n0": 1}),)),
            "other-rules",
            "2 jobs; allowed: 1 to 1",
        ),
    ],
)
def test_a_bad_decision_breaks_the_invariant_it_should(allocator, name, words):
    found = broken_by(allocator)
    assert list(found) == [name]
    assert words in found[name]


def test_a_job_that_runs_twice_is_found():
    twice = Assignment(jobs=("j0",), gpus={"n0": 2})
    found = broken_by(lambda _round: Decision(assignments=(twice, twice)))
    assert "listed 2 times" in found["once"]


def test_another_answer_to_the_same_round_is_found():
    answers = iter([says(j0={"n0": 2}), says(j1={"n1": 1}), says(j1={"n0": 1}), says(j1={"n1": 1})])
    flips = INVARIANTS["deterministic"]
    assert flips.check(lambda round_: next(answers)(round_), ROUND).detail == "first ['j0'] run, then ['j1']"
    moved = flips.check(lambda round_: next(answers)(round_), ROUND).detail
    assert moved == "['j1'] run both times, with other GPUs or reasons"


def changes_a_placement(round_):
    round_.jobs[1].placement["n1"] = 2
    return Decision()


def changes_the_moment(round_):
    msgspec.structs.force_setattr(round_, "now", 9.0)
    return Decision()


def changes_a_dict(given):
    given["jobs"].pop()
    return {}


@pytest.mark.parametrize("allocator", [changes_a_placement, changes_the_moment, from_dicts(changes_a_dict)])
def test_a_changed_round_is_found_and_the_round_itself_is_safe(allocator):
    before = ROUND.fingerprint, dict(ROUND.jobs[1].placement)
    found = INVARIANTS["input-kept"].check(allocator, ROUND)
    assert "after the call" in found.detail
    assert INVARIANTS["answers"].check(allocator, ROUND) is None
    assert (ROUND.fingerprint, dict(ROUND.jobs[1].placement)) == before


def test_without_an_answer_every_invariant_says_so():
    def fails(round_):
        raise RuntimeError("out of luck")

    found = broken_by(fails)
    assert found.pop("answers") == "raised RuntimeError: out of luck"
    assert set(found.values()) == {"no answer: raised RuntimeError: out of luck"}
    assert len(found) == len(SAFETY) - 1


def goes_by_a_set(round_):
    """Start the job that a set of names happens to give first."""
    names = {job.id for job in round_.jobs if job.gpus == 1}
    return Decision(assignments=(Assignment(jobs=(next(iter(names)),), gpus={round_.cluster.nodes[1].id: 1}),))


def test_what_goes_by_the_order_of_a_set_is_found():
    jobs = tuple(Job(id=f"j{place}", gpus=1, submitted=0.0) for place in range(12))
    nodes = (Node(id="n0", gpus=1), Node(id="n1", gpus=1))
    found = INVARIANTS["deterministic"].check(goes_by_a_set, Round(cluster=Cluster(nodes=nodes), jobs=jobs))
    # One set in twelve gives the same job first under both names.
    assert found is None or "under other names that sort as before" in found.detail


def test_a_lost_running_job_is_found_and_a_stopped_one_is_not():
    kept = INVARIANTS["running-kept"]
    assert kept.check(lambda _round: Decision(), ROUND).detail == (
        "'j1' ran, nobody waits for the GPUs, and they are left out"
    )
    assert kept.check(says(j0={"n0": 1, "n1": 1}), ROUND) is None
    moves = Decision(assignments=(Assignment(jobs=("j1",), gpus={"n0": 1}),))
    assert kept.check(lambda _round: moves, ROUND) is None


def test_a_list_of_who_waits_has_to_name_all():
    def names_one(round_):
        return Decision(waiting=tuple(WAITS[job.id] for job in round_.jobs[:1]))

    assert "neither runs nor waits" in INVARIANTS["once"].check(names_one, ROUND).detail
    assert INVARIANTS["once"].check(lambda _round: Decision(), ROUND) is None


def test_a_round_that_does_not_say_what_is_needed_may_be_refused():
    def refuses(round_):
        raise InputError("jobs[0].remaining_iterations", "nothing", "a value")

    assert broken_by(refuses) == {}

    def refuses_a_value(round_):
        raise InputError("jobs[0].gpus", "9", "at most 2")

    assert "raised InputError" in broken_by(refuses_a_value)["answers"]


def test_plans_and_shares_are_judged_by_the_rules_of_their_policies():
    scaled = Job(id="j0", gpus=1, remaining_iterations=5, scaling={1: 1.0, 2: 1.5})
    elastic = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=4),)), jobs=(scaled,))
    assert INVARIANTS["gang"].under("afs-l").check(says(j0={"n0": 2}), elastic) is None
    assert INVARIANTS["gang"].check(says(j0={"n0": 2}), elastic) is not None
    assert "its table goes from 1 to 2" in INVARIANTS["gang"].under("afs-l").check(says(j0={"n0": 3}), elastic).detail
