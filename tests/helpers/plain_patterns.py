"""The patterns again, in plain loops over plain numbers: slow, obvious, and sharing nothing with the package."""

from itertools import permutations
from math import isclose


def slot_by_slot(stages, starts):
    """Return the cyclic period: every slot waits for the slowest of the stages in it."""
    number = len(stages[0])
    period = 0
    for slot in range(number):
        longest = 0
        for times, start in zip(stages, starts, strict=True):
            longest = max(longest, times[(slot - start) % number])
        period += longest
    return period


def every_way(stages):
    """Return the cyclic period of each way to give the jobs different slots to start in, holes anywhere."""
    return [slot_by_slot(stages, starts) for starts in permutations(range(len(stages[0])), len(stages))]


def two_rounds(jobs):
    """Return the period that two rounds of the four slots show, for jobs on the first seats."""
    seat = dict(enumerate(jobs))
    f = [0.0] + [None] * 8
    for i in range(8):
        waits = [0.0]
        if (i + 1) % 4 in seat:
            waits.append(f[i] + seat[(i + 1) % 4][2])
        if (i + 2) % 4 in seat:
            waits.append(f[i] + seat[(i + 2) % 4][1])
        if i >= 1 and (i + 3) % 4 in seat:
            waits.append(f[i - 1] + seat[(i + 3) % 4][0])
        f[i + 1] = max(waits)
        if i >= 4 and isclose(f[i + 1] - f[i - 3], f[i] - f[i - 4], rel_tol=1e-3):
            return f[i + 1] - f[i - 3]
    return f[8] - f[4]


def authors_choice(jobs, *, worst=False):
    """Return period and slots of the jobs as the authors' search finds them: the first order that is better counts."""
    found = None
    ways = [(two_rounds([jobs[j] for j in order]), order, range(len(jobs))) for order in permutations(range(len(jobs)))]
    if len(jobs) == 2:
        (d, g, n), (e, h, m) = jobs
        ways.append((max(d, h + m) + max(e, g + n), (0, 1), (0, 2)))
    for period, order, seats in ways:
        if found is None or (period > found[0] if worst else period < found[0]):
            found = period, dict(zip(order, seats, strict=True))
    return found[0], tuple(found[1][j] for j in range(len(jobs)))


def long_run(stages, starts, rounds=400):
    """Return the mean period of the four slots after they have run for long, times 12: no cycle of it is longer.

    Every slot ends no sooner than it began, whoever sits in it.
    """
    seat = dict(zip(starts, stages, strict=True))
    nobody = (0, 0, 0)
    ends = [0, 0]  # when the slot before the last and the last one ended
    marks = []
    for slot in range(4 * rounds):
        network, gpu, data = (seat.get((slot + ahead) % 4, nobody) for ahead in (1, 2, 3))
        ends.append(max(ends[-1] + network[2], ends[-1] + gpu[1], ends[-2] + data[0]))
        if slot % 4 == 3:
            marks.append(ends[-1])
    return marks[-1] - marks[-13]
