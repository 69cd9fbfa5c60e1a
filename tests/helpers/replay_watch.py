"""Small workloads, and a scheduler that looks over the shoulder of another and keeps accounts of its own."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from muri_opt import Cluster, Job, Node
from muri_opt.replay import Workload
from muri_opt.replay.engine.engine import Engine


def job(name: str, submitted: float, iterations: int, gpus: int = 1, **fields: object) -> Job:
    """Return a job of iterations of a second each."""
    given: dict[str, object] = {
        "id": name,
        "submitted": submitted,
        "remaining_iterations": iterations,
        "gpus": gpus,
        "iteration_seconds": 1.0,
    }
    return Job(**given | fields)


def cluster_of(*gpus: int) -> Cluster:
    """Return nodes ``n0``, ``n1``, ... with these GPUs."""
    return Cluster(nodes=tuple(Node(id=f"n{place}", gpus=count) for place, count in enumerate(gpus)))


def work_of(*jobs: Job) -> Workload:
    return Workload.of("by hand", jobs)


@st.composite
def workloads(draw: st.DrawFn, most_gpus: int, most_jobs: int = 8) -> Workload:
    """Return jobs of at most so many GPUs; times are multiples of a quarter, so that ends and arrivals coincide."""
    count = draw(st.integers(1, most_jobs))
    quarters = st.integers(1, 12).map(lambda number: number / 4)
    return Workload.of(
        "drawn",
        [
            Job(
                id=f"j{place}",
                submitted=draw(st.integers(0, 40)) / 4,
                remaining_iterations=draw(st.integers(1, 20)),
                iteration_seconds=draw(quarters),
                gpus=draw(st.integers(1, most_gpus)),
                restart_seconds=draw(st.sampled_from([None, 0.0, 0.25, 1.5])),
            )
            for place in range(count)
        ],
    )


class Watched:
    """Asks another scheduler, and notes the placements of each round; what they were good for is summed up later."""

    def __init__(self, inner: object, workload: Workload, cluster: Cluster) -> None:
        self.inner, self.workload = inner, workload
        self.whole = [node.gpus for node in cluster.nodes]
        self.rounds: list[tuple[float, dict[int, object]]] = []
        self.done = np.zeros(len(workload.jobs))
        self.gpu_seconds = 0.0

    def decide(self, live):
        given = self.inner.decide(live)
        after = {member: placement for member, placement in live.placements.items() if member not in given.stops}
        after |= {member: placement for placement in given.placements for member in placement.jobs}
        used = [0] * len(self.whole)
        for placement in _different(after):
            for node, gpus in placement.gpus.items():
                used[node] += gpus
        assert all(count <= has for count, has in zip(used, self.whole, strict=True))
        self.rounds.append((live.now, after))
        return given

    def wakes(self, live):
        return self.inner.wakes(live)

    def sum_up(self, ended: np.ndarray) -> None:
        """Count work and GPU seconds from round to round; a job pays when it comes back or runs elsewhere."""
        begun: set[int] = set()
        ready, last = {}, {}
        moments = [*(now for now, _ in self.rounds), ended.max()]
        for (now, placements), then in zip(self.rounds, moments[1:], strict=True):
            for member, placement in placements.items():
                before = last.get(member)
                stays = before is not None and (before.gpus, before.plan) == (placement.gpus, placement.plan)
                if member in begun and not stays:
                    ready[member] = now + (self.workload.jobs[member].restart_seconds or 0.0)
                until, began = min(then, ended[member]), max(now, ready.get(member, 0.0))
                self.done[member] += placement.rates[placement.jobs.index(member)] * max(0.0, until - began)
                begun.add(member)
            for placement in _different(placements):
                until = min(then, max(ended[member] for member in placement.jobs))
                self.gpu_seconds += placement.count * max(0.0, until - now)
            last = placements


def _different(placements: dict[int, object]) -> list:
    return list({id(placement): placement for placement in placements.values()}.values())


def watched(inner: object, workload: Workload, cluster: Cluster, **settings: object) -> tuple[Engine, Watched]:
    """Return an engine that has run, and who watched it."""
    watch = Watched(inner, workload, cluster)
    engine = Engine(workload, cluster, watch, **settings)
    engine.run()
    watch.sum_up(engine.outcomes().ended)
    return engine, watch
