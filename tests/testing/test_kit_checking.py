"""The report: what broke, on which smallest round, what held, and what could not be tested."""

import time

import pytest
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from muri_opt import Assignment, Cluster, Decision, InputError, Job, Node, Round, parse_round
from muri_opt.testing import INVARIANTS, RATIONALITY, SAFETY, check_allocator, family_rounds, find_breaches, published
from muri_opt.testing.drawing import rounds_of_family

PLAIN = tuple(one.name for one in SAFETY if not one.fields)


def greedy(round_):
    """Give every job all its GPUs on the first node, free or not."""
    if not round_.cluster.nodes:
        return Decision()
    first = round_.cluster.nodes[0].id
    return Decision(assignments=tuple(Assignment(jobs=(job.id,), gpus={first: job.gpus}) for job in round_.jobs))


def test_a_report_says_all_there_is_to_paste():
    with pytest.raises(AssertionError) as caught:
        check_allocator(greedy, max_examples=60)
    text = str(caught.value)
    assert text.startswith("2 of 9 invariants broken\n\n")
    assert "capacity: n0: 2 GPUs in use; the node has 1 (gpu-capacity)" in text
    assert "the smallest round has 1 job on 1 node:\n{" in text
    assert "\n\nheld on 60 examples: answers, input-kept, once, gang, other-rules, deterministic, running-kept" in text
    report = find_breaches(greedy, max_examples=60)
    assert str(report) == text
    assert [one.breach.invariant for one in report.broken] == ["capacity", "quota"]
    for one in report.broken:
        assert INVARIANTS[one.breach.invariant].check(greedy, parse_round(one.json.encode())) == one.breach
    assert report.of("gang") is None
    assert not report.ok


def test_an_allocator_that_keeps_all_gives_a_report_too():
    report = check_allocator(published("fifo"), policy="fifo", fields=(), max_examples=60)
    assert report.ok
    assert report.kept == PLAIN
    assert report.examples == 60
    assert str(report).startswith("0 of 9 invariants broken\n\nheld on 60 examples: answers, ")


def test_an_answer_can_be_all_that_is_asked_for():
    assert check_allocator(greedy, [INVARIANTS["answers"]], max_examples=60).kept == ("answers",)
    with pytest.raises(AssertionError, match="answers: raised"):
        check_allocator(lambda _round: 1 // 0, [INVARIANTS["answers"]], max_examples=10)


def test_the_rounds_can_be_your_own():
    only = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=(Job(id="mine", gpus=1),))
    report = find_breaches(lambda _round: Decision(), [INVARIANTS["alone"]], strategy=st.just(only))
    assert report.examples == report.broken[0].after_examples == 1
    assert report.broken[0].round_ == only
    assert "found after 1 example; the smallest round has 1 job on 1 node" in str(report)


def test_a_fault_of_the_strategy_is_not_hidden():
    with pytest.raises(InvalidArgument):
        check_allocator(greedy, strategy=st.integers(3, 1))
    bare = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=(Job(id="j0", gpus=1),))
    with pytest.raises(InputError, match="submitted"):
        check_allocator(lambda _round: Decision(), RATIONALITY, policy="fifo", strategy=st.just(bare))


def test_the_same_seed_gives_the_same_report():
    only = [INVARIANTS["capacity"]]
    first, again = (str(find_breaches(greedy, only, max_examples=30, seed=3)) for _ in range(2))
    assert first == again
    assert first.startswith("1 of 1 invariants broken")


def test_an_allocator_that_hangs_is_reported_at_once():
    calls = []

    def hangs_on_two_jobs(round_):
        calls.append(len(round_.jobs))
        while len(round_.jobs) >= 2:
            time.sleep(0.001)
        return Decision()

    report = find_breaches(hangs_on_two_jobs, seconds=2.0)
    assert report.of("answers").breach.detail == "no decision after 2 s"
    assert len(report.of("answers").round_.jobs) >= 2
    assert sum(jobs >= 2 for jobs in calls) <= 3
    assert report.untested == PLAIN[1:]
    assert "not tested, as it does not answer: input-kept" in str(report)


def test_an_allocator_that_raises_is_shrunk():
    def fails_on_two_jobs(round_):
        if len(round_.jobs) > 1:
            raise KeyError("second")
        return Decision()

    report = find_breaches(fails_on_two_jobs)
    assert report.of("answers").breach.detail == "raised KeyError: 'second'"
    assert len(report.of("answers").round_.jobs) == 2


def test_invariants_keep_the_rules_they_were_given():
    strict = [INVARIANTS["gang"].under("srtf:nodes=fewest"), INVARIANTS["other-rules"].under("srtf:nodes=fewest")]
    spread = Round(
        cluster=Cluster(nodes=(Node(id="n0", gpus=2), Node(id="n1", gpus=1))),
        jobs=(Job(id="j0", gpus=2, submitted=0.0),),
    )

    def splits(round_):
        return Decision(assignments=(Assignment(jobs=("j0",), gpus={"n0": 1, "n1": 1}),))

    report = find_breaches(splits, [*strict, INVARIANTS["capacity"]], policy="fifo", strategy=st.just(spread))
    assert [one.breach.invariant for one in report.broken] == ["other-rules"]
    assert "sits on 2 nodes, 1 would do" in report.broken[0].breach.detail


def test_without_shrinking_the_first_round_is_told():
    only = [INVARIANTS["capacity"]]
    small = find_breaches(greedy, only, max_examples=60).of("capacity")
    first = find_breaches(greedy, only, max_examples=60, shrink=False).of("capacity")
    assert first.after_examples == small.after_examples
    assert len(first.json) > len(small.json)
    assert only[0].check(greedy, first.round_) == first.breach
    silent = find_breaches(lambda _round: 1 // 0, only, shrink=False)
    assert silent.of("answers").after_examples == 1


def test_a_round_that_is_drawn_again_is_not_asked_for_again():
    asked = []

    def counts(round_):
        asked.append(round_)
        return Decision()

    only = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=(Job(id="j0", gpus=1),))
    twice = st.booleans().map(lambda _draw: only)
    assert find_breaches(counts, [INVARIANTS["gang"]], strategy=twice).examples == 2
    assert len(asked) == 1


def test_amounts_go_on_being_measured_after_the_first_breach():
    report = find_breaches(published("srtf"), [INVARIANTS["envy"]], policy="srtf", max_examples=30)
    assert report.examples == 30
    assert report.worst["envy"] >= report.of("envy").breach.amount > 0


def test_an_allocator_that_breaks_something_once_is_reported_with_that_round():
    calls = []

    def once(round_):
        calls.append(round_)
        return greedy(round_) if len(calls) == 40 else Decision()

    report = find_breaches(once, [INVARIANTS["capacity"]], strategy=family_rounds(max_nodes=1, max_jobs=3))
    assert report.of("capacity") is None or report.of("capacity").round_ == calls[39]


def test_the_report_says_in_how_many_rounds_each_aspect_was():
    report = check_allocator(published("fifo"), fields=())
    assert report.examples == 100
    assert tuple(report.exercised) == PLAIN
    assert report.exercised["capacity"]["memory binds"] >= 10
    assert min(min(counts.values()) for counts in report.exercised.values()) >= 1
    memory = report.exercised["capacity"]["memory binds"]
    assert f", memory binds {memory}, " in str(report)
    assert "NOT EXERCISED" not in str(report)


def test_an_aspect_that_no_round_had_is_a_failure_of_the_check():
    plain = family_rounds()
    with pytest.raises(AssertionError, match="NOT EXERCISED: capacity: CPUs bind, memory binds, "):
        check_allocator(published("fifo"), [INVARIANTS["capacity"]], strategy=plain)
    report = find_breaches(published("fifo"), [INVARIANTS["capacity"]], strategy=plain)
    assert report.kept == ("capacity",)
    assert not report.broken
    assert not report.ok
    assert "memory binds" in report.not_exercised["capacity"]
    told = check_allocator(published("fifo"), [INVARIANTS["capacity"]], strategy=plain, require_exercised=False)
    assert told.not_exercised == report.not_exercised


def test_rounds_that_are_refused_count_for_nothing():
    report = check_allocator(published("srtf"), fields=(), max_examples=200)
    assert report.refused > 20
    assert "iteration_seconds" in report.refusal or "remaining_iterations" in report.refusal
    assert report.exercised["answers"]["a time that is not said"] >= report.refused
    refuses_all = find_breaches(published("muri-s"), max_examples=50)
    assert not refuses_all.broken
    assert not refuses_all.ok
    assert "refused " in str(refuses_all)


def test_the_first_rounds_of_a_seed_do_not_depend_on_how_many_follow():
    assert rounds_of_family("gangs", 50, 3) == rounds_of_family("gangs", 80, 3)[:50]
