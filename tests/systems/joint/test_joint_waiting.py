"""Why jobs of a joint round wait, told for all at once, against asking of each by itself."""

import pytest
from bound_joint_rounds import with_all
from joint_rounds import large_joint_round

from muri_opt import policy_from
from muri_opt.systems.capacity.binding_rules import BindingRules
from muri_opt.systems.capacity.decision import left_by
from muri_opt.systems.capacity.free_capacity import entries
from muri_opt.systems.capacity.holders import Holders
from muri_opt.systems.joint import decision as of_groups


@pytest.mark.parametrize("seed", range(12))
def test_all_at_once_are_told_what_each_is_told(seed, monkeypatch):
    round_ = with_all(large_joint_round(seed, jobs=120, nodes=6), seed, 1 + seed % 3)
    told, real = [], of_groups.group_decision

    def seen(given, groups, *, of, left, **more):
        decision = real(given, groups, of=of, left=left, **more)
        told.append((given, groups, left.asks, decision))
        return decision

    monkeypatch.setattr(of_groups, "group_decision", seen)
    policy_from("joint-s").decide(round_, 0)
    ((given, groups, asks, decision),) = told
    of = entries([group.share for group in groups])
    place = {job.id: at for at, job in enumerate(given.jobs)}
    assert len(decision.waiting) > 20
    for waits in decision.waiting:
        left = left_by(given, groups, of, asks)  # anew for each: nothing is known of any other
        holders = Holders.of_entries(given, [group.jobs for group in groups], of)
        alone = BindingRules(given, left, holders, consolidate=False).of(place[waits.job])
        assert (waits.reason, waits.detail, waits.remedy) == (alone.reason, alone.detail, alone.remedy)
