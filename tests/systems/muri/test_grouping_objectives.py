"""Every objective, order and size of groups: the optimum is that of every grouping, and the prices prove it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from math import floor

import pytest
from by_policy import broken_rules, decision_value, formulation_of, settings_of
from plain_groups import Plain
from seeds import some_then_all
from shared_rounds import best_grouping, random_round, sharer, sharing_round

from muri_opt import Job, Limits, Node, Round, Tenant, policy_from, solve_round
from muri_opt.modelling import evaluate
from muri_opt.rounds import Reason
from muri_opt.solve.exact import optimise, relax
from muri_opt.systems.orders import priority_order
from muri_opt.verify.muri.dual_bound import sharing_bound

FOREVER = Limits(seconds=None)


class Worth:
    """What a group is worth, from the definitions, in fractions of a second."""

    def __init__(self, round_: Round, objective: str, *, worst: bool = False) -> None:
        ranked = [round_.jobs[job].id for job in priority_order(round_, "srsf")]
        self.weight = {job: len(ranked) - rank for rank, job in enumerate(ranked)}
        self.objective = objective
        self.plain = Plain(round_=round_, objective=objective)
        self.pick = max if worst else min

    def period(self, jobs: Sequence[Job]) -> Fraction:
        stages = [[Fraction(str(seconds)) for seconds in job.stage_seconds] for job in jobs]
        slots = range(len(stages[0]))
        return self.pick(
            sum(max(times[(i - seat) % len(slots)] for times, seat in zip(stages, seats, strict=True)) for i in slots)
            for seats in permutations(slots, len(jobs))
        )

    def __call__(self, jobs: Sequence[Job]) -> int:
        period = self.period(jobs)
        if not period:
            return 0
        taken = max(job.gpus for job in jobs)
        alone = sum(job.gpus * Fraction(str(job.iteration_seconds)) for job in jobs)
        if self.objective == "efficiency":
            done = sum(job.gpus * sum(Fraction(str(seconds)) for seconds in job.stage_seconds) for job in jobs)
            return floor(10**6 * done / (taken * len(jobs[0].stage_seconds) * period))
        if self.objective == "gpu-time":
            return 0 if len(jobs) == 1 else floor(10**6 * (alone / period - taken))
        if self.objective == "completion":
            return self.plain.value(jobs)
        if len(jobs) == 1:
            return 1000 * jobs[0].gpus * self.weight[jobs[0].id]
        speed = sum(job.gpus * self.weight[job.id] * Fraction(str(job.iteration_seconds)) for job in jobs)
        return floor(1000 * speed / period)


def timed_round(seed: int) -> Round:
    """Return a random round whose jobs take other times alone than their stages say."""
    round_ = random_round(seed)
    jobs = [
        sharer(place, job.stage_seconds, job.gpus, tenant=job.tenant, iteration_seconds=1.0 + 0.75 * (place % 4))
        for place, job in enumerate(round_.jobs)
    ]
    return sharing_round(round_.cluster.nodes, jobs, round_.cluster.tenants)


CASES = [
    ("objective=gpu-time", 0),
    ("objective=progress", 100),
    ("sizes=mixed", 200),
    ("objective=gpu-time,sizes=mixed", 300),
    ("objective=progress,sizes=mixed", 400),
    ("ordering=worst", 500),
    ("objective=completion,sizes=mixed", 700),
]


@pytest.mark.parametrize(("settings", "first"), CASES)
@some_then_all(10, 50)
def test_the_optimum_is_that_of_every_grouping_and_its_prices_bound_it(seeds: range, settings: str, first: int) -> None:
    spec = f"muri-s:{settings}"
    program, rules = formulation_of(policy_from(spec)), spec
    chosen = dict(pair.split("=") for pair in settings.split(","))
    for seed in (first + place for place in seeds):
        round_ = timed_round(seed)
        worth = Worth(round_, chosen.get("objective", "efficiency"), worst="ordering" in chosen)
        best = best_grouping(round_, worth, min(4, len(round_.resources)), mixed="sizes" in chosen)
        for backend in ("highs", "cp-sat"):
            answer = optimise(round_, program, backend, FOREVER, None)
            assert (seed, answer.termination.reason, answer.bound) == (seed, Reason.OPTIMAL, best)
            assert broken_rules(round_, answer.decision, rules) == []
            assert decision_value(round_, spec, answer.decision) == best
        assert best <= sharing_bound(round_, settings_of(rules), relax(round_, program, None))
        published = policy_from(spec).decide(round_, seed=0)
        found = evaluate(program.build(round_), program.encode(round_, published))
        assert (found.broken, found.value) == ((), decision_value(round_, spec, published))
        assert found.value <= best


def test_the_price_of_a_quota_makes_the_bound_tight() -> None:
    jobs = [sharer(place, (1, 1, 1, 1), tenant="a" if place < 6 else "b") for place in range(8)]
    round_ = sharing_round([8], jobs, [Tenant(id="a", quota_gpus=2), Tenant(id="b")])
    result = solve_round(round_, "muri-s", "exact", FOREVER)
    # Two jobs of a and both of b run alone or together, at a quarter of their resources each.
    assert result.value == result.bound == result.certificate.checked_bound == 1_000_000
    assert any(result.certificate.evidence[0].multipliers["quota"])


@pytest.mark.parametrize(("resource", "fields"), [("cpus", {"cpus": 4}), ("memory", {"memory_gib": 4})])
def test_the_price_of_cpus_and_memory_makes_the_bound_tight(resource: str, fields: dict[str, float]) -> None:
    jobs = [sharer(place, (1, 1, 1, 1), **fields) for place in range(8)]
    round_ = sharing_round([Node(id="n0", gpus=8, cpus=12, memory_gib=12)], jobs)
    result = solve_round(round_, "muri-s", "exact", FOREVER)
    assert result.value == result.bound == result.certificate.checked_bound == 750_000
    assert any(result.certificate.evidence[0].multipliers[resource])


def test_a_job_that_saves_nothing_runs_where_there_is_room() -> None:
    jobs = [sharer(0, (1, 0, 0, 0)), sharer(1, (0, 1, 0, 0)), sharer(2, (0, 0, 1, 0), gpus=2)]
    result = solve_round(sharing_round([3], jobs), "muri-s:objective=gpu-time", "exact", FOREVER)
    assert {frozenset(group.jobs) for group in result.decision.assignments} == {
        frozenset({"j0", "j1"}),
        frozenset({"j2"}),
    }
    assert result.value == 1_000_000  # two jobs of a second each in one: a GPU is saved


def test_mixed_sizes_let_a_small_job_share_the_gpus_of_a_large_one() -> None:
    jobs = [sharer(0, (1, 1, 0, 0), gpus=4), sharer(1, (0, 0, 1, 1), gpus=2)]
    round_ = sharing_round([4], jobs)
    equal = solve_round(round_, "muri-s", "exact", FOREVER)
    mixed = solve_round(round_, "muri-s:sizes=mixed", "exact", FOREVER)
    assert len(equal.decision.waiting) == 1
    (group,) = mixed.decision.assignments
    assert (set(group.jobs), group.gpus) == ({"j0", "j1"}, {"n0": 4})
    # Four GPUs are used for two seconds of a period of two by the one, two GPUs by the other: 12 of 4 x 4 x 2.
    assert mixed.value == 375_000
