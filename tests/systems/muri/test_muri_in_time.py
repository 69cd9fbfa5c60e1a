"""Muri within a budget: an answer comes before any matching, and without a limit it is that of the algorithm."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from muri_opt import Limits, Round, policy_from
from muri_opt.rounds import Budget, after
from muri_opt.rounds.generate.families import generate
from muri_opt.systems.muri import policy as written
from muri_opt.verify import Audit

OVER = Budget(limits=Limits(seconds=1e-9), began=0.0)
LONG = Limits(seconds=1e9)


def later(round_: Round, policy: str) -> Round:
    """Return the round after a decision: some jobs are new, and others had service."""
    then = after(round_, policy_from(policy).decide(round_, 0))
    jobs = [
        replace(job, id=f"new-{place}", state="waiting", placement=None, attained_gpu_seconds=0.0)
        if place % 7 == 0
        else job
        for place, job in enumerate(then.jobs)
    ]
    return replace(then, jobs=tuple(jobs))


@pytest.mark.parametrize("policy", ["muri-s", "muri-l", "muri-s:objective=completion", "muri-l:run=free"])
def test_what_is_found_soonest_keeps_the_rules_and_is_worth_no_less_than_to_change_nothing(policy: str) -> None:
    chosen = policy_from(policy)
    for seed in range(4):
        round_ = generate("interleaving", jobs=60, nodes=4, seed=seed)
        for then in (round_, later(round_, policy)):
            audit = Audit(then, chosen.rules)
            soon = chosen.decide_within(then, 0, OVER)
            assert not audit.breaches(soon)
            draft = chosen.unchanged_draft(then)
            assert draft is None or audit.value(soon) >= audit.value(draft)
            assert audit.value(soon) > 0


@pytest.mark.parametrize(
    "policy", ["muri-s", "muri-l", "muri-s:matching=queue", "muri-s:preset=authors,pattern=cyclic"]
)
def test_a_limit_that_cuts_nothing_changes_nothing(policy: str) -> None:
    chosen = policy_from(policy)
    for seed in range(4):
        round_ = later(generate("interleaving", jobs=60, nodes=4, seed=seed), policy)
        within = chosen.decide_within(round_, 0, Budget(limits=LONG)), chosen.unchanged(round_)
        again = replace(round_, now=round_.now)  # of which nothing is remembered
        assert within == (chosen.decide(again, 0), chosen.unchanged(again))


def test_no_matching_is_asked_for_to_read_what_runs_where_time_did_not_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = policy_from("muri-s")
    round_ = later(generate("interleaving", jobs=60, nodes=4, seed=9), "muri-s")
    soon = chosen.decide_within(round_, 0, OVER)
    monkeypatch.setattr(written, "group_jobs", None)
    draft = chosen.unchanged_draft(round_)
    audit = Audit(round_, chosen.rules)
    assert draft is not None
    assert audit.value(draft) <= audit.value(soon)


def test_what_leaving_all_as_it_is_is_worth_is_told_before_it_is_written() -> None:
    chosen = policy_from("muri-l")
    for seed in range(4):
        round_ = later(generate("interleaving", jobs=60, nodes=4, seed=seed), "muri-l")
        draft = chosen.unchanged_draft(round_)
        assert draft is not None
        value = Audit(round_, chosen.rules).value(draft)
        assert chosen.unchanged_may_reach(round_, value)
        assert not chosen.unchanged_may_reach(round_, value + 1)
    waiting = generate("interleaving", jobs=5, nodes=1, seed=1)
    assert chosen.unchanged_may_reach(replace(waiting, jobs=()), 1)
