"""The best admitted set for an order: against trying all sets, and against the scan with skipping."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from configuration_rounds import job, random_round, round_of

from muri_opt import InputError, Limits, Reason, Round
from muri_opt.solve.exact import build, optimise
from muri_opt.systems import policy_from
from muri_opt.systems.aiturbo import AdmissionFormulation
from muri_opt.systems.plans import PlanOptions, PlanRules

SAME = PlanRules(change="same", objective="time")
FOREVER = Limits(seconds=None)


def admitted(round_: Round, order: tuple[str, ...], objective: str, backend: str = "highs") -> tuple[set[str], int]:
    """Return who is admitted and what that is worth."""
    program = AdmissionFormulation(rules=SAME, order=order, objective=objective)
    answer = optimise(round_, program, backend, FOREVER, None)
    assert answer.termination.reason is Reason.OPTIMAL
    assert program.encode(round_, answer.decision) @ build(round_, program).objective == answer.bound
    return set(answer.decision.running), answer.bound


def worth(order: tuple[str, ...], jobs: set[str], objective: str) -> int:
    n = len(order)
    by_rank = [n - r if objective == "weighted" else 2 ** (n - 1 - r) for r in range(n)]
    return sum(value for name, value in zip(order, by_rank, strict=True) if name in jobs)


def one_node(seed: int, jobs: int = 6) -> Round:
    """Return jobs of one configuration each on a node that does not hold all of them."""
    rng = random.Random(seed)
    names = [f"cpu-p{p}-w{w}" for p in (1, 2) for w in (1, 2)] + [f"gpu-p1-w{w}-s1" for w in (1, 2, 3)]
    made = [job(f"j{j}", {rng.choice(names): 1.0}, executed_seconds=float(rng.randint(0, 99))) for j in range(jobs)]
    return round_of([(3, 11.0)], *made)


@pytest.mark.parametrize("objective", ["weighted", "lexicographic"])
@pytest.mark.parametrize("backend", ["highs", "cp-sat"])
def test_the_best_set_is_what_trying_all_sets_finds(objective: str, backend: str) -> None:
    for seed in range(10):
        round_ = one_node(seed)
        order = policy_from("aiturbo:step=off").admission_order(round_)
        need = {one.id: (one.plans[0].gpus, one.plans[0].cpus) for one in round_.jobs}
        sets = [set(some) for size in range(7) for some in combinations(order, size)]
        fitting = [s for s in sets if sum(need[j][0] for j in s) <= 3 and sum(need[j][1] for j in s) <= 11]
        best = max(worth(order, some, objective) for some in fitting)
        assert admitted(round_, order, objective, backend)[1] == best


def test_on_one_node_the_scan_with_skipping_is_lexicographically_best() -> None:
    beaten = 0
    for seed in range(30):
        round_ = one_node(seed)
        policy = policy_from("aiturbo:step=off")
        order = policy.admission_order(round_)
        scan = set(policy.decide(round_, 0).running)
        assert admitted(round_, order, "lexicographic")[0] == scan
        best = admitted(round_, order, "weighted")[1]
        assert best >= worth(order, scan, "weighted")
        beaten += best > worth(order, scan, "weighted")
    assert beaten > 0


def test_on_several_nodes_the_scan_never_does_better() -> None:
    for seed in range(30):
        round_ = random_round(random.Random(seed), jobs=6, nodes=3)
        policy = policy_from("aiturbo:step=off")
        order = policy.admission_order(round_)
        for objective in ("weighted", "lexicographic"):
            scan = worth(order, set(policy.decide(round_, 0).running), objective)
            found, bound = admitted(round_, order, objective)
            assert bound == worth(order, found, objective)
            assert bound >= scan


def test_a_long_order_is_decided_in_stages() -> None:
    round_ = round_of([(0, 60.0)], *(job(f"j{j:02}", {"cpu-p1-w1": 1.0}) for j in range(40)))
    order = tuple(one.id for one in round_.jobs)
    program = AdmissionFormulation(rules=SAME, order=order, objective="lexicographic")
    stages = program.stages(round_, build(round_, program))
    assert [(stage.weight, stage.best) for stage in stages] == [(1 << 24, 65_535), (1 << 8, 65_535), (1, 255)]
    assert admitted(round_, order, "lexicographic")[0] == set(order[:20])


def test_an_order_must_have_every_job_once() -> None:
    round_ = one_node(0, jobs=3)
    for order in (("j0", "j1"), ("j0", "j1", "j1"), ("j0", "j1", "j2", "j3")):
        with pytest.raises(InputError, match="order"):
            build(round_, AdmissionFormulation(rules=SAME, order=order))
    many = round_of([(0, 9.0)], *(job(f"j{j}", {"cpu-p1-w1": 1.0}) for j in range(61)))
    order = tuple(one.id for one in many.jobs)
    with pytest.raises(InputError, match="at most 60"):
        build(many, AdmissionFormulation(rules=SAME, order=order, objective="lexicographic"))
    assert len(PlanOptions.of(many, SAME)) == 61
    nobody = round_of([(0, 9.0)])
    assert admitted(nobody, (), "lexicographic") == (set(), 0)
