"""Decisions of elastic jobs: shares, periods, CPUs, and why the others wait."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from elastic_draws import elastic, round_with

from muri_opt import Node, Round, Tenant, WaitingReason
from muri_opt.rounds import Decision
from muri_opt.systems.afs import Curves, share_decision


def decision(round_: Round, shares: dict[int, list[int]]) -> Decision:
    curves = Curves.of(round_.jobs, round_.cluster.total_gpus)
    return share_decision(round_, curves, {job: np.array(share) for job, share in shares.items()})


def test_a_share_has_its_own_period_and_cpus() -> None:
    jobs = [
        elastic(0, (1, 1.6, 2), gpus=2, iteration_seconds=0.5, cpus=3),
        elastic(1, {1: 4.0, 3: 8.0}),
    ]
    found = decision(round_with([3, 4], jobs), {1: [0, 2], 0: [2, 1]})
    first, second = found.assignments
    assert (first.jobs, dict(first.gpus), dict(first.cpus)) == (("j0",), {"n0": 2, "n1": 1}, {"n0": 3.0, "n1": 1.5})
    assert first.period_seconds == 0.4  # half a second at speed 1.6
    assert (second.jobs, dict(second.gpus), dict(second.cpus)) == (("j1",), {"n1": 2}, {})
    # iteration time in the middle of a quarter and an eighth: speed 16/3, of which nine digits are kept
    assert second.period_seconds == float(Fraction(100_000_000, 533_333_333))
    assert found.waiting == ()


def test_a_waiting_job_waits_for_its_first_gpu() -> None:
    nodes = [Node(id="n0", gpus=3, cpus=1)]
    tenants = [Tenant(id="full", quota_gpus=1), Tenant(id="free", quota_gpus=2)]
    jobs = [
        elastic(0, (1, 2), tenant="full"),
        elastic(1, (1, 2), tenant="full"),
        elastic(2, (1, 2), gpus=8, tenant="free"),  # asks for eight, but one would let it start
        elastic(3, (1, 2), cpus=1),
        elastic(4, (1, 2), cpus=2),
        elastic(5, (1, 2), cpus=0.5),
    ]
    found = decision(round_with(nodes, jobs, tenants), {0: [1], 3: [1]})
    assert {wait.job: wait.reason for wait in found.waiting} == {
        "j1": WaitingReason.QUOTA,
        "j2": WaitingReason.PRIORITY,
        "j4": WaitingReason.CAPACITY,
        "j5": WaitingReason.FRAGMENTATION,
    }
    full = decision(round_with([2], jobs[2:4]), {0: [2]})
    assert [(wait.job, wait.reason) for wait in full.waiting] == [("j3", WaitingReason.CAPACITY)]
    assert full.waiting[0].detail == "asks for 1 GPU; 0 of 2 are free"


def test_a_quota_counts_the_share_and_not_what_was_asked() -> None:
    jobs = [elastic(0, (1, 2, 3), gpus=1, tenant="a"), elastic(1, (1, 2), tenant="a")]
    tenants = [Tenant(id="a", quota_gpus=3)]
    assert [w.reason for w in decision(round_with([4], jobs, tenants), {0: [3]}).waiting] == [WaitingReason.QUOTA]
    assert [w.reason for w in decision(round_with([4], jobs, tenants), {0: [2]}).waiting] == [WaitingReason.PRIORITY]
