"""Whether leaving all as it is may be worth as much as another decision, told before it is worked out."""

import pytest
from msgspec.structs import replace

from muri_opt import Round, policy_from
from muri_opt.rounds import after
from muri_opt.rounds.generate.families import generate
from muri_opt.verify import Audit


def later(round_: Round, policy: str) -> Round:
    """Return the round after a decision of the policy: some jobs that ran are gone, and the others had service."""
    then = after(round_, policy_from(policy).decide(round_, 0))
    jobs = [
        replace(job, attained_gpu_seconds=1e6) if job.state == "running" else job
        for place, job in enumerate(then.jobs)
        if place % 5 or job.state == "waiting"
    ]
    return replace(then, jobs=tuple(jobs))


@pytest.mark.parametrize("policy", ["srtf", "srsf", "las", "max-min", "fair-share", "tiresias"])
def test_what_leaving_all_as_it_is_is_worth_is_never_denied(policy: str) -> None:
    chosen, denied = policy_from(policy), 0
    for seed in range(6):
        round_ = later(generate("gangs", jobs=40, nodes=4, seed=seed), policy)
        draft, audit = chosen.unchanged_draft(round_), Audit(round_, chosen.rules)
        assert draft is not None
        assert chosen.unchanged_may_reach(round_, audit.value(draft))
        denied += not chosen.unchanged_may_reach(round_, 2 * audit.value(draft))
    assert denied >= 4


def test_nothing_is_denied_where_places_or_digits_count() -> None:
    round_ = later(generate("gangs", jobs=40, nodes=4, seed=1), "las")
    assert policy_from("las:objective=lexicographic").unchanged_may_reach(round_, 1 << 80)
    asking = replace(round_, jobs=(replace(round_.jobs[0], priority=1), *round_.jobs[1:]))
    assert policy_from("las").unchanged_may_reach(asking, 1 << 60)
