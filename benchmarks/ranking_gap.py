"""How far Borda's order is from Kemeny's, on random lists and on lists split as AITurbo splits them.

Complete lists are uniformly random permutations. Split lists: a service list of all jobs, 85 % of the jobs predictable,
60 % of these in an increase list and the others in a decrease list, all in random order; Borda's scores are averages,
so that unpredictable jobs count their service rank twice. Kemeny's order comes with a proof that is checked.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from muri_opt.algorithms.ranking import Kemeny, Rankings, borda_order, borda_scores, disagreement, kemeny_order
from muri_opt.modelling import Ints
from muri_opt.rounds import Limits
from muri_opt.solve.solvers import backend_named, relaxation
from muri_opt.verify.certificates.ranking import check_ranking

SIZES = (4, 5, 6, 7, 8, 10, 12, 16)
SPLIT_SIZES = (10, 20, 40)


def main(arguments: list[str] | None = None) -> None:
    """Print the tables of ratios and of times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1000, help="pairs of complete lists")
    parser.add_argument("--rounds", type=int, default=200, help="rounds per line of the other tables")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of a large case")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    _pairs(given.pairs, given.seed)
    _three(given.rounds, given.seed)
    _split(given.rounds, given.seed)
    _times(given.seconds, given.seed)


def solved(rankings: Rankings, seconds: float | None = None) -> Kemeny:
    """Return Kemeny's order; its value and bound are counted again."""
    found = kemeny_order(rankings, backend_named("highs").solve, Limits(seconds=seconds), relax=relaxation)
    lists = [entries.tolist() for entries in rankings.lists]
    checked = check_ranking(lists, rankings.weights.tolist(), found.order, found.proof)
    assert checked.value == found.value >= found.bound >= checked.bound
    return found


def ratio(cost: int, least: int) -> float:
    return cost / least if least else 1.0 if cost == 0 else float("inf")


def split(draw: np.random.Generator, jobs: int) -> list[Ints]:
    known = draw.permutation(jobs)[: round(0.85 * jobs)]
    cut = round(0.6 * len(known))
    return [draw.permutation(jobs), known[:cut], known[cut:]]


def _pairs(pairs: int, seed: int) -> None:
    draw = np.random.default_rng([seed, 2])
    same = 0
    for jobs in draw.integers(2, 13, pairs).tolist():
        rankings = Rankings.of([draw.permutation(jobs) for _ in range(2)])
        same += disagreement(rankings, borda_order(rankings)) == solved(rankings).value
    print(f"Two complete lists of 2 to 12 jobs: Borda's order is optimal in {same} of {pairs} cases\n", flush=True)


def _three(rounds: int, seed: int) -> None:
    print(f"Three complete lists, {rounds} rounds a line: disagreement of Borda's order over the optimum\n")
    print("| jobs | optimal | mean | worst |\n| --- | --- | --- | --- |")
    for jobs in SIZES:
        draw = np.random.default_rng([seed, 3, jobs])
        found = []
        for _ in range(rounds):
            rankings = Rankings.of([draw.permutation(jobs) for _ in range(3)])
            found.append(ratio(disagreement(rankings, borda_order(rankings)), solved(rankings).value))
        print(f"| {jobs} | {np.mean(np.array(found) == 1):.0%} | {np.mean(found):.3f} | {max(found):.3f} |", flush=True)
    print()


def _split(rounds: int, seed: int) -> None:
    print(f"Split lists, {rounds} rounds a line: mean raw score, and disagreement over the optimum, mean (worst)\n")
    print("| jobs | weights | unpredictable, increase, decrease | raw | normalised | service list alone |")
    print("| --- | --- | --- | --- | --- | --- |")
    for jobs in SPLIT_SIZES:
        for weights in ((1, 1, 1), (1, 2, 2)):
            draw = np.random.default_rng([seed, jobs])
            every = np.array([_split_round(split(draw, jobs), weights) for _ in range(rounds)])
            scores = ", ".join(f"{score:.1f}" for score in every[:, 3:].mean(axis=0))
            cells = [f"{column.mean():.3f} ({column.max():.3f})" for column in every[:, :3].T]
            print(f"| {jobs} | {':'.join(map(str, weights))} | {scores} | " + " | ".join(cells) + " |", flush=True)
    print()


def _split_round(lists: Sequence[Ints], weights: Sequence[int]) -> list[float]:
    """Return three ratios to the optimum (raw, normalised, service list), and mean raw scores of the three kinds."""
    rankings = Rankings.of(lists, weights=weights)
    least = solved(rankings).value
    orders = [borda_order(rankings, normalised=way, average=True) for way in (False, True)]
    ratios = [ratio(disagreement(rankings, order), least) for order in (*orders, lists[0])]
    scores = 2 * np.array(borda_scores(Rankings.of(lists), normalised=False, average=True), dtype=np.float64)
    unknown = np.setdiff1d(lists[0], np.concatenate(lists[1:]))
    return [*ratios, *(float(scores[jobs].mean()) for jobs in (unknown, *lists[1:]))]


def _times(seconds: float, seed: int) -> None:
    print(f"Larger cases: seconds to the proof, or the gap after {seconds:g} s\n")
    print("| jobs | lists | seconds | value | bound | Borda |\n| --- | --- | --- | --- | --- | --- |")
    for jobs, lists, spread in ((50, 5, None), (100, 3, 0.2), (100, 3, None)):
        for number in range(2):
            draw = np.random.default_rng([seed, jobs, lists, number])
            if spread is None:
                kind, drawn = "random", [draw.permutation(jobs) for _ in range(lists)]
            else:
                kind = "similar"
                drawn = [np.argsort(np.arange(jobs) / jobs + spread * draw.normal(size=jobs)) for _ in range(lists)]
            rankings = Rankings.of(drawn)
            began = time.perf_counter()
            found = solved(rankings, seconds)
            spent = time.perf_counter() - began
            borda = disagreement(rankings, borda_order(rankings))
            print(f"| {jobs} | {lists} {kind} | {spent:.1f} | {found.value} | {found.bound} | {borda} |", flush=True)


if __name__ == "__main__":
    main()
