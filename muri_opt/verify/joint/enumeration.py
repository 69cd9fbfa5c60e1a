"""The best joint round by going through all, for small rounds: GPUs are counted where nothing else can bind."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from muri_opt.rounds import Round
from muri_opt.verify.demands import asked_of
from muri_opt.verify.enumeration import OutOfStepsError, Steps
from muri_opt.verify.joint.placed_enumeration import best_placed
from muri_opt.verify.joint.rules import Joint
from muri_opt.verify.joint.value import Workers, workers_of
from muri_opt.verify.tenant_lines import most_gpus

Way = tuple[int, int, dict[str, int] | None]
"""Value, GPUs, and the nodes where a group stays."""
State = tuple[int, tuple[int, ...], tuple[int, ...]]
"""GPUs of the cluster that are left, GPUs of each node that those who stay leave, and what is left of quotas."""


def enumerated_joint(round_: Round, rules: Joint, *, steps: int) -> int | None:
    """Return the value of the best joint round, or ``None`` where it takes more steps.

    Who stays needs the GPUs of its nodes; all others may be anywhere, so that for them only the number counts. Where
    CPUs or memory may bind, jobs ask for certain nodes or run by plans, every way to place all of them is looked at.
    """
    if any(tenant.parent is not None for tenant in round_.cluster.tenants):
        return None
    workers = workers_of(round_, rules)
    try:
        if _binds(round_) or asked_of(round_) is not None or any(job.plans for job in workers.jobs):
            return best_placed(round_, workers, Steps(steps))
        search = _Search(round_, workers, Steps(steps))
        return search.best(frozenset(range(len(round_.jobs))), search.start)
    except OutOfStepsError:
        return None


def _binds(round_: Round) -> bool:
    cpus = any(node.cpus is not None for node in round_.cluster.nodes) and any(job.cpus for job in round_.jobs)
    memory = any(node.memory_gib is not None for node in round_.cluster.nodes)
    return cpus or (memory and any(job.memory_gib for job in round_.jobs))


class _Search:
    def __init__(self, round_: Round, workers: Workers, steps: Steps) -> None:
        self._workers, self._steps = workers, steps
        nodes = round_.cluster.nodes
        self._node = {node.id: place for place, node in enumerate(nodes)}
        limits = most_gpus(round_)
        self._tenants = [tenant.id for tenant in round_.cluster.tenants if tenant.id in limits]
        self._tenant = [job.tenant for job in round_.jobs]
        quotas = tuple(limits[tenant] for tenant in self._tenants)
        self.start: State = (round_.cluster.total_gpus, tuple(node.gpus for node in nodes), quotas)
        self._known: dict[tuple[frozenset[int], State], int] = {}
        self._ways: dict[tuple[int, ...], list[Way]] = {}

    def best(self, jobs: frozenset[int], state: State) -> int:
        """Return the most that jobs can add to what is left: the first of them waits, or is in one of its groups."""
        key = jobs, state
        if not jobs or not state[0]:
            return 0
        if key not in self._known:
            self._steps.count()
            first = min(jobs)
            rest = jobs - {first}
            found = self.best(rest, state)
            for size in range(self._workers.most_jobs):
                for others in combinations(sorted(rest), size):
                    group = (first, *others)
                    for value, then in self._after(group, state):
                        found = max(found, value + self.best(rest - set(others), then))
            self._known[key] = found
        return self._known[key]

    def _after(self, group: tuple[int, ...], state: State) -> Iterator[tuple[int, State]]:
        left, nodes, quotas = state
        for value, gpus, home in self._of(group):
            self._steps.count()
            then = list(nodes)
            for node, has in (home or {}).items():
                then[self._node[node]] -= has
            owed = list(quotas)
            for job in group:
                if self._tenant[job] in self._tenants:
                    owed[self._tenants.index(self._tenant[job] or "")] -= gpus
            if gpus <= left and min(then, default=0) >= 0 and min(owed, default=0) >= 0:
                yield value, (left - gpus, tuple(then), tuple(owed))

    def _of(self, group: tuple[int, ...]) -> list[Way]:
        """Return the ways of a group: with every number of GPUs, anywhere, or where it goes on as it is."""
        if group not in self._ways:
            workers = self._workers
            found = list[Way]()
            for gpus in sorted(workers.jobs[group[0]].by_gpus):
                if workers.able(group, gpus):
                    period, home = workers.period(group, gpus), workers.jobs[group[0]].home
                    found.append((workers.worth(group, period, goes_on=False), gpus, None))
                    if home is not None and sum(home.values()) == gpus and workers.goes_on(group, home):
                        found.append((workers.worth(group, period, goes_on=True), gpus, dict(home)))
            self._ways[group] = found
        return self._ways[group]
