"""The best joint round by going through all, for small rounds: GPUs are counted where nothing else can bind."""

from __future__ import annotations

from collections.abc import Iterator

from muri_opt.rounds import Round
from muri_opt.verify.demands import asked_of
from muri_opt.verify.enumeration import OutOfStepsError, Steps
from muri_opt.verify.joint.group_search import GroupSearch
from muri_opt.verify.joint.placed_enumeration import best_placed
from muri_opt.verify.joint.rules import Joint
from muri_opt.verify.joint.value import Workers, workers_of

Way = tuple[int, int, dict[str, int] | None]
"""Value, GPUs, and the nodes where a group stays."""
State = tuple[int, tuple[int, ...], tuple[int, ...]]
"""GPUs of the cluster that are left, GPUs of each node that those who stay leave, and what is left of quotas."""


def enumerated_joint(round_: Round, rules: Joint, *, steps: int) -> int | None:
    """Return the value of the best joint round, or ``None`` where it takes more steps.

    Who stays needs the GPUs of its nodes; all others may be anywhere, so that for them only the number counts. Where
    CPUs or memory may bind, jobs ask for certain nodes or run by plans, every way to place all of them is looked at.
    """
    workers = workers_of(round_, rules)
    try:
        if _binds(round_) or asked_of(round_) is not None or any(job.plans for job in workers.jobs):
            return best_placed(round_, workers, Steps(steps))
        return _Search(round_, workers, Steps(steps)).best_value()
    except OutOfStepsError:
        return None


def _binds(round_: Round) -> bool:
    cpus = any(node.cpus is not None for node in round_.cluster.nodes) and any(job.cpus for job in round_.jobs)
    memory = any(node.memory_gib is not None for node in round_.cluster.nodes)
    return cpus or (memory and any(job.memory_gib for job in round_.jobs))


class _Search(GroupSearch[State]):
    def __init__(self, round_: Round, workers: Workers, steps: Steps) -> None:
        super().__init__(round_, workers, steps)
        nodes = round_.cluster.nodes
        self._node = {node.id: place for place, node in enumerate(nodes)}
        self.start = (round_.cluster.total_gpus, tuple(node.gpus for node in nodes), self.quotas)
        self._ways: dict[tuple[int, ...], list[Way]] = {}

    def is_empty(self, state: State) -> bool:
        """Return whether no GPU is left."""
        return not state[0]

    def after(self, group: tuple[int, ...], state: State) -> Iterator[tuple[int, State]]:
        """Yield the value of each way of a group, and what is left then."""
        left, nodes, quotas = state
        for value, gpus, home in self._of(group):
            self._steps.count()
            then = list(nodes)
            for node, has in (home or {}).items():
                then[self._node[node]] -= has
            owed = self.quotas_after(group, gpus, quotas)
            if gpus <= left and min(then, default=0) >= 0 and owed is not None:
                yield value, (left - gpus, tuple(then), owed)

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
