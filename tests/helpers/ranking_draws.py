"""Random lists, and the least disagreement by going through all orders."""

from itertools import combinations, permutations

import numpy as np
from hypothesis import strategies as st

from muri_opt.algorithms.ranking import Rankings


@st.composite
def drawn_rankings(draw, most_jobs=6, most_lists=4, complete=False, most_weight=3):
    jobs = draw(st.integers(1, most_jobs))
    lists = []
    for _ in range(draw(st.integers(1, most_lists))):
        order = draw(st.permutations(range(jobs)))
        lists.append(order if complete else order[: draw(st.integers(0, jobs))])
    weights = draw(st.lists(st.integers(1, most_weight), min_size=len(lists), max_size=len(lists)))
    return Rankings.of(lists, jobs=jobs, weights=weights)


def random_lists(jobs, lists, seed):
    draw = np.random.default_rng([jobs, lists, seed])
    return [draw.permutation(jobs) for _ in range(lists)]


def split_lists(jobs, seed):
    """A list of all jobs, and two lists that share most of them between them."""
    draw = np.random.default_rng([jobs, seed])
    known = draw.permutation(jobs)[: round(0.85 * jobs)]
    cut = round(0.6 * len(known))
    return [draw.permutation(jobs), known[:cut], known[cut:]]


def plain_cost(rankings, order):
    place = {int(job): at for at, job in enumerate(order)}
    return sum(
        weight
        for jobs, weight in zip(rankings.lists, rankings.weights.tolist(), strict=True)
        for a, b in combinations(jobs.tolist(), 2)
        if place[a] > place[b]
    )


def every_cost(rankings):
    return {order: plain_cost(rankings, order) for order in permutations(range(rankings.jobs))}
