"""What is decided anew together: changes unlike each other, however many cheaper ones are alike."""

import numpy as np

from muri_opt.algorithms.knapsack import Options, priced
from muri_opt.algorithms.knapsack.candidates import candidates
from muri_opt.algorithms.knapsack.local_search import polished, unlike_changes
from muri_opt.rounds import unlimited


def even_jobs_and_an_odd_one():
    """Return 200 jobs that hold 2 or, losing next to nothing, 4 GPUs, and one of 3 that loses 50 with 4."""
    job = np.append(np.repeat(np.arange(200), 2), [200, 200])
    value = np.append(np.array([[2_000 + j, 4_000] for j in range(200)]).ravel(), [3_060, 4_010])
    use = np.append(np.tile([2, 4], 200), [3, 4]).reshape(-1, 1)
    options = Options.of(job, value, use, [602], jobs=201)
    return options, priced(options, 1, [1_000])


def test_the_only_odd_change_is_among_those_decided_together():
    options, given = even_jobs_and_an_odd_one()
    choice = np.append(2 * np.arange(200), 400)
    known = candidates(options, given, choice, most=10**6)
    for draw in (None, np.random.default_rng(1)):
        lists = unlike_changes(known, draw)
        assert any(401 in known.option[places] for places in lists)
        for places in lists:
            assert len(set(known.job[places].tolist())) == 1
            assert known.now[known.job[places[0]]] in places
            assert np.all(np.diff(known.loss[places]) >= 0)
        dearest = [int(known.loss[places[1]]) for places in lists]
        assert dearest == sorted(dearest, reverse=True)


def test_nothing_is_changed_where_all_candidates_take_the_same():
    options = Options.of([0, 0, 1], [5, 4, 3], [[1], [1], [1]], [2], jobs=2)
    known = candidates(options, priced(options, 1, [0]), np.array([0, 2]), most=2)
    assert unlike_changes(known, None) == []


def test_the_last_gpu_is_given_by_the_one_job_that_can_take_it():
    options, given = even_jobs_and_an_odd_one()
    four = np.arange(200) < 98
    choice = np.append(2 * np.arange(200) + four, 400)
    assert options.fits(choice)
    assert options.capacity[0] - options.taken(choice)[0] == 3
    better = polished(options, given, choice, unlimited())
    assert options.fits(better)
    assert better[200] == 401
    assert options.taken(better) == [602]
