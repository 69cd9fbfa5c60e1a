"""The scan with skipping against the best admitted set for its order, by trying all sets."""

from __future__ import annotations

import random
from itertools import combinations

from configuration_rounds import job, round_of

from muri_opt import Round
from muri_opt.systems import policy_from


def worth(order: tuple[str, ...], jobs: set[str], objective: str) -> int:
    n = len(order)
    by_rank = [n - r if objective == "weighted" else 2 ** (n - 1 - r) for r in range(n)]
    return sum(value for name, value in zip(order, by_rank, strict=True) if name in jobs)


def one_node(seed: int, jobs: int = 6) -> Round:
    """Return jobs of one configuration each on a node of 3 GPUs and 11 CPUs that does not hold all of them."""
    rng = random.Random(seed)
    names = [f"cpu-p{p}-w{w}" for p in (1, 2) for w in (1, 2)] + [f"gpu-p1-w{w}-s1" for w in (1, 2, 3)]
    made = [job(f"j{j}", {rng.choice(names): 1.0}, executed_seconds=float(rng.randint(0, 99))) for j in range(jobs)]
    return round_of([(3, 11.0)], *made)


def fitting_sets(round_: Round) -> list[set[str]]:
    need = {one.id: (one.plans[0].gpus, one.plans[0].cpus) for one in round_.jobs}
    sets = [set(some) for size in range(len(need) + 1) for some in combinations(need, size)]
    return [s for s in sets if sum(need[j][0] for j in s) <= 3 and sum(need[j][1] for j in s) <= 11]


def test_on_one_node_the_scan_with_skipping_is_lexicographically_best() -> None:
    beaten = 0
    for seed in range(30):
        round_ = one_node(seed)
        policy = policy_from("aiturbo:step=off")
        order = policy.admission_order(round_)
        scan = set(policy.decide(round_, 0).running)
        fitting = fitting_sets(round_)
        assert scan in fitting
        assert max(fitting, key=lambda some: worth(order, some, "lexicographic")) == scan
        best = max(worth(order, some, "weighted") for some in fitting)
        beaten += best > worth(order, scan, "weighted")
    assert beaten > 0  # by weights it may lose, even on one node
