"""Moves of jobs that ask for types, units, labels and states of nodes, and of jobs that may not be moved."""

from __future__ import annotations

from asked_moves import asked_fragments, least_asked_cost

from muri_opt import Reason, Round
from muri_opt.rounds import Proof
from muri_opt.solve.solvers import backend_named, relaxation
from muri_opt.systems.defragment import free_nodes, make_room
from muri_opt.verify.defragment.check import check_defragmentation

HIGHS = {"highs": backend_named("highs").solve}
SEEDS = 100


def goals(round_: Round) -> list[dict[str, object]]:
    held = {node for job in round_.jobs for node in job.placement or {}}
    usable = [node.id for node in round_.cluster.nodes if node.gpus and node.state != "down"]
    empty = sum(node not in held for node in usable)
    return [{"nodes": min(empty + 1, len(usable))}, {"job": "w0"}]


def checked(seed: int) -> list[tuple[int, int] | None]:
    """Check both goals of a round; return the least costs."""
    round_ = asked_fragments(seed, most_nodes=4, most_jobs=5)
    found = []
    for asked in goals(round_):
        least = least_asked_cost(round_, **asked)
        ask = make_room if "job" in asked else free_nodes
        greedy, exact = ask(round_, **asked), ask(round_, **asked, solvers=HIGHS, relax=relaxation)
        assert exact.cost == least, (seed, asked, least, exact)
        assert exact.termination.reason is (Reason.INFEASIBLE if least is None else Reason.OPTIMAL)
        assert greedy.cost is None or (least is not None and greedy.cost >= least)
        assert greedy.bound is None or least is None or greedy.bound <= least
        for answer in (greedy, exact):
            assert check_defragmentation(round_, answer).violations == (), (seed, asked)
        assert check_defragmentation(round_, exact).proof is not Proof.CLAIM_ONLY
        found.append(least)
    return found


def test_brute_force_equals_program_and_verifier() -> None:
    costs = [cost for seed in range(SEEDS) for cost in checked(seed)]
    assert sum(cost is None for cost in costs) > SEEDS / 10
    assert sum(cost is not None and cost > (0, 0) for cost in costs) > SEEDS / 10
