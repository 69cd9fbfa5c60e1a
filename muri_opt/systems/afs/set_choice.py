"""Which of its sets of nodes an elastic job is to be inside, so that no set is crowded while another is idle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.afs.share_fit import ShareFit

Limit = tuple[Ints, int]
"""Some of the jobs, and the GPUs that they may have together."""
NOWHERE = np.zeros(0, dtype=np.int64)


def chosen_sets(
    fit: ShareFit, jobs: Sequence[int], cap: Sequence[int], free: Ints, homes: Mapping[int, Ints]
) -> list[Ints]:
    """Return the nodes of one set for each job, of ``free[s]`` GPUs on node s; a job without sets stays at home.

    A running job keeps the set that it is in. Then the jobs with the fewest GPUs to choose from choose first, each the
    set that would be asked for the least GPUs for every one it has, a job asking for all that it can use.
    """
    asked = np.zeros(len(free))
    chosen: dict[int, Ints] = {}

    def choose(place: int, nodes: Ints) -> None:
        chosen[place] = nodes
        has = int(free[nodes].sum())
        if has:
            asked[nodes] += free[nodes] * (min(cap[place], has) / has)

    waiting = []
    for place, job in enumerate(jobs):
        sets, home = fit.demand(job).sets, homes.get(job)
        used = NOWHERE if home is None else np.flatnonzero(home)
        mine = next((nodes for nodes in sets if len(used) and np.isin(used, nodes).all()), None)
        if mine is not None:
            choose(place, mine)
        elif len(sets) < 2:
            choose(place, sets[0] if sets else used)
        else:
            waiting.append((sum(int(free[nodes].sum()) for nodes in sets), place))
    for _, place in sorted(waiting):
        best: tuple[float, int] | None = None
        nodes = NOWHERE
        for some in fit.demand(jobs[place]).sets:
            has = int(free[some].sum())
            key = (float(asked[some].sum()) + min(cap[place], has)) / has if has else np.inf, -has
            if best is None or key < best:
                best, nodes = key, some
        choose(place, nodes)
    return [chosen[place] for place in range(len(jobs))]


def limits_of_sets(chosen: Sequence[Ints], free: Ints) -> list[Limit]:
    """Return what the jobs inside each chosen set may have together, smaller sets first.

    Where sets are apart or one inside the other, shares that keep all these limits can be placed; where they overlap
    otherwise, some may have to be cut.
    """
    known: dict[bytes, int] = {}
    of_job = np.array([known.setdefault(nodes.tobytes(), len(known)) for nodes in chosen], dtype=np.int64)
    inside = np.zeros((len(known), len(free)), dtype=np.int64)
    for place, nodes in enumerate(chosen):
        inside[of_job[place], nodes] = 1
    outside = inside @ (1 - inside).T  # [a, b]: nodes of a that are not in b
    limits = []
    for one in np.argsort(inside.sum(axis=1), kind="stable").tolist():
        within = np.flatnonzero(outside[:, one] == 0)
        limits.append((np.flatnonzero(np.isin(of_job, within)), int(free @ inside[one])))
    return limits
