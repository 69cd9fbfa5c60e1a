"""Random lists, and how many pairs an order puts the other way round."""

from itertools import combinations

import numpy as np
from hypothesis import strategies as st


@st.composite
def drawn_lists(draw, most_jobs=6, most_lists=4, most_weight=3):
    """Draw lists of some jobs each, their weights, and the number of jobs."""
    jobs = draw(st.integers(1, most_jobs))
    count = draw(st.integers(1, most_lists))
    lists = [draw(st.permutations(range(jobs)))[: draw(st.integers(0, jobs))] for _ in range(count)]
    weights = draw(st.lists(st.integers(1, most_weight), min_size=len(lists), max_size=len(lists)))
    return lists, weights, jobs


def random_lists(jobs, lists, seed):
    draw = np.random.default_rng([jobs, lists, seed])
    return [draw.permutation(jobs) for _ in range(lists)]


def split_lists(jobs, seed):
    """A list of all jobs, and two lists that share most of them between them."""
    draw = np.random.default_rng([jobs, seed])
    known = draw.permutation(jobs)[: round(0.85 * jobs)]
    cut = round(0.6 * len(known))
    return [draw.permutation(jobs), known[:cut], known[cut:]]


def disagreement(lists, order):
    """Return how many pairs of a list are the other way round in the order, over all lists."""
    place = {int(job): at for at, job in enumerate(order)}
    pairs = (pair for entries in lists for pair in combinations(list(entries), 2))
    return sum(place[int(a)] > place[int(b)] for a, b in pairs)
