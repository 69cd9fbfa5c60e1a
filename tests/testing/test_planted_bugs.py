"""The kit finds each planted bug within 200 examples and shrinks it to at most three jobs."""

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from muri_opt import POLICIES, parse_round
from muri_opt.testing import (
    INVARIANTS,
    RATIONALITY,
    SAFETY,
    allocator_machine,
    check_allocator,
    find_breaches,
    from_dicts,
    machine as machines,
    published,
)
from muri_opt.testing.examples import preemption_loop, quota_off_by_one, refuses_a_full_node

PLANTED = [
    ("alone", refuses_a_full_node, RATIONALITY),
    ("quota", from_dicts(quota_off_by_one), SAFETY),
    ("settles", preemption_loop, RATIONALITY),
]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("name", "allocator", "tier"), PLANTED, ids=[one[0] for one in PLANTED])
def test_a_planted_bug_is_found_and_small(name, allocator, tier, seed):
    wanted = [INVARIANTS[name]]
    found = find_breaches(allocator, wanted, max_examples=200, seed=seed).of(name)
    assert found.after_examples <= 200
    assert len(found.round_.jobs) <= 3
    assert len(found.round_.cluster.nodes) == 1
    assert wanted[0] in tier
    assert wanted[0].check(allocator, parse_round(found.json.encode())) == found.breach


def test_what_the_bugs_do_not_touch_holds():
    check_allocator(preemption_loop, SAFETY)
    safe = [one for one in SAFETY if one.name != "running-kept"]  # a job that fills the cluster is refused, too
    check_allocator(refuses_a_full_node, safe)
    check_allocator(from_dicts(quota_off_by_one), [INVARIANTS["alone"], INVARIANTS["capacity"]])


QUICK = settings(max_examples=60, stateful_step_count=12, database=None, derandomize=True, phases=[Phase.generate])


@pytest.mark.parametrize(
    ("allocator", "words"),
    [(from_dicts(quota_off_by_one), "quota: t"), (preemption_loop, "preemption loop: job 'j")],
)
def test_many_rounds_find_the_bugs_that_show_in_one_or_in_many(allocator, words):
    with pytest.raises(AssertionError) as caught:
        run_state_machine_as_test(allocator_machine(allocator), settings=QUICK)
    assert str(caught.value).startswith(words)
    round_ = parse_round("\n".join(str(caught.value).splitlines()[1:]).encode())
    assert len(round_.jobs) <= 2
    assert len(round_.cluster.nodes) == 1


def drive(policy, examples):
    machine = allocator_machine(published(policy), policy=policy, seconds=None)
    run_state_machine_as_test(machine, settings=settings(QUICK, max_examples=examples))
    assert machine.TestCase is not None


@pytest.mark.parametrize(
    "policy", ["fifo", "muri-s", "afs-l", "rubick", "philly", "optimus-ps", "aiturbo:patience=inf"]
)
def test_published_policies_are_driven_over_many_rounds(policy, monkeypatch):
    """They begin with one of few rounds: to draw very many takes longer than what is done from one of them."""
    monkeypatch.setattr(machines, "STARTS", 20)
    drive(policy, 2)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_is_driven_over_more_rounds(policy):
    drive(policy, 30)


def test_a_machine_reports_an_allocator_that_fails():
    def fails(round_):
        raise RuntimeError("no luck")

    with pytest.raises(AssertionError, match="answers: raised RuntimeError: no luck"):
        run_state_machine_as_test(allocator_machine(fails, [INVARIANTS["capacity"]]), settings=QUICK)
