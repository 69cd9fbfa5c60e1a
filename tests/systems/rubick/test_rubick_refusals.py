"""What Rubick remembers of jobs that get nothing, and of jobs that are alike, changes no decision."""

from __future__ import annotations

from unittest.mock import patch

import msgspec
from hypothesis import given, strategies as st
from more_examples import more_examples
from plan_rounds_for_policies import gpus, plan_round, planned, planned_rounds

from muri_opt import Round
from muri_opt.systems import policy_from
from muri_opt.systems.rubick.cached_costs import CachedCosts


def with_twins(round_: Round, copies: int) -> Round:
    """Return the round with so many jobs more like each one that waits; a twin has another name, or no promise."""
    twins = [
        msgspec.structs.replace(job, id=f"{job.id}-{copy}", guarantee=job.guarantee if copy % 2 else None)
        for job in round_.jobs
        if job.state == "waiting"
        for copy in range(copies)
    ]
    return msgspec.structs.replace(round_, jobs=(*round_.jobs, *twins))


@given(planned_rounds(), st.integers(1, 3), st.sampled_from(["rubick", "rubick:reference=requested", "rubick:gate=0"]))
@more_examples(60)
def test_asking_every_job_again_gives_the_same_decision(round_: Round, copies: int, spec: str) -> None:
    crowded, policy = with_twins(round_, copies), policy_from(spec)
    remembered = policy.decide(crowded, 0)
    asked_anew = {"refuses": lambda *_, **__: False, "_standing": lambda _, job: job}
    with patch.multiple(CachedCosts, **asked_anew):
        assert policy.decide(crowded, 0) == remembered


def test_alike_jobs_are_asked_once_while_no_placement_changes() -> None:
    round_ = plan_round([1], [planned(j, {1: 1.0}) for j in range(9)])
    asked = []
    refuse = CachedCosts.refuse
    with patch.object(
        CachedCosts, "refuse", lambda costs, job, *, taking: (asked.append(job), refuse(costs, job, taking=taking))
    ):
        assert gpus(round_, "rubick") == [1] + [0] * 8
    assert len(asked) < 9
