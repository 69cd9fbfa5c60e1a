"""Running jobs that are placed together have the placements that they have one after another."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from plan_reading_cases import drawn_rounds

from muri_opt import Round, policy_from
from muri_opt.systems.plans import plan_rows
from muri_opt.systems.plans.allocation import PlanAllocation, arrivals
from muri_opt.systems.plans.held_placements import HeldPlacements
from muri_opt.systems.plans.options import PlanOptions


def crowded(round_: Round, more: float) -> Round:
    """Return the round with plans that say more CPUs for half of the jobs: not all that runs may find them."""
    jobs = [
        msgspec.structs.replace(
            job, plans=tuple(msgspec.structs.replace(plan, cpus=(plan.cpus or 0.0) * more) for plan in job.plans or ())
        )
        if place % 2 and job.state == "waiting"
        else job
        for place, job in enumerate(round_.jobs)
    ]
    return msgspec.structs.replace(round_, jobs=tuple(jobs))


@pytest.mark.parametrize("allocation", [PlanAllocation, HeldPlacements])
@pytest.mark.parametrize(("family", "policy"), [("plans", "rubick"), ("configurations", "optimus-ps")])
def test_placements_of_all_are_those_of_one_after_another(allocation, family: str, policy: str, monkeypatch) -> None:
    together = PlanAllocation.stay_together
    for drawn, cpus in zip(drawn_rounds(family), (96.0, 12.0, 8.0, 96.0, 6.0, 32.0), strict=False):
        round_ = crowded(drawn, cpus)
        options = PlanOptions.read(round_, policy_from(policy).plan_rules)
        placements = []
        for method in (together, lambda *_: False):
            with monkeypatch.context() as patched:
                patched.setattr(PlanAllocation, "stay_together", method)
                found = allocation(round_, options)
                found.stay(arrivals(round_))
            free = found.free.left.tolist(), found.free.quota.tolist(), [sorted(jobs) for jobs in found.on_node]
            held = {job: (placement.option, placement.nodes.tolist()) for job, placement in found.placements.items()}
            placements.append((list(held.items()), free))
        assert placements[0] == placements[1]


def test_plans_are_read_once_and_anew_when_too_many_names_are_known(monkeypatch) -> None:
    round_ = next(iter(drawn_rounds("plans")))
    rules = policy_from("rubick").plan_rules
    reader = plan_rows.plan_row_reader()
    first = reader.rows(round_.jobs)
    assert first is not None
    again = msgspec.structs.replace(round_, now=round_.now + 1.0)
    assert all(one is other for one, other in zip(first, reader.rows(again.jobs) or (), strict=True))
    known = PlanOptions.read(round_, rules)
    monkeypatch.setattr(plan_rows, "_NAMES", 0)
    anew = PlanOptions.read(again, rules)
    assert plan_rows.plan_row_reader() is not reader
    assert np.array_equal(known.e, anew.e)
    assert np.array_equal(known.plan, anew.plan)
