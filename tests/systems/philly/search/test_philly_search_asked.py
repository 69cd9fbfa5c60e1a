"""The search of the chapter *placement* in rounds where jobs ask for certain nodes: it keeps all rules, and bounds."""

from __future__ import annotations

import pytest
from asked_placements import asked_placement_round
from by_policy import broken_rules, decision_value, enumerated_optimum, settings_of

from muri_opt import Limits, policy_from
from muri_opt.rounds import Budget
from muri_opt.solve.solvers import relaxation
from muri_opt.systems.philly import JobStatus, placement_decision
from muri_opt.systems.philly.search import place_round
from muri_opt.verify.philly.dual_bound import placed_bound
from muri_opt.verify.philly.job_status import Reading

SEEDS = 8


@pytest.mark.parametrize("group", ["states", "types", "pins", "shape"])
def test_places_keep_all_rules_and_prices_bound_the_round(group: str) -> None:
    reached = 0
    for seed in range(SEEDS):
        round_, spec = asked_placement_round(seed, group)
        status = JobStatus.of(round_, policy_from(spec).tenant_rules)
        found = place_round(round_, status, None, Budget(limits=Limits(work=0.1)), relaxation)
        decision = placement_decision(round_, status, found.places)
        assert broken_rules(round_, decision, spec) == []
        best = enumerated_optimum(round_, spec, steps=500_000)
        assert best is not None
        assert decision_value(round_, spec, decision) <= best
        assert placed_bound(round_, Reading.of(round_, settings_of(spec)), found.duals) >= best
        reached += decision_value(round_, spec, decision) == best
    assert reached >= SEEDS - 2
