"""What a drawn job of servers and workers has besides a plain gang: configurations, and what has happened to it.

Configurations have one or two servers, one or two workers, and up to two GPU shares a worker, so that those of one job
are often a single step apart. Each server and worker takes one CPU, as a configuration on CPUs takes nothing else.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from muri_opt.rounds import JobConfiguration, Plan

Shape = tuple[int, int, int, int, int]
"""GPU shares of a worker (0 on CPUs), servers, workers, nodes if they divide evenly, throughput."""

_FEW: Final = st.integers(1, 2)
_SHAPES: Final[st.SearchStrategy[Shape]] = st.tuples(st.integers(0, 2), _FEW, _FEW, _FEW, st.integers(1, 8))

CONFIGURED: Final[dict[str, st.SearchStrategy[Any]]] = {
    "configurations": st.lists(_SHAPES, min_size=1, max_size=5),
    "executed_seconds": st.integers(0, 9).map(float),
    "waiting_seconds": st.sampled_from((0.0, 600.0, 3000.0)),
    "restart_seconds": st.sampled_from((1.0, 30.0)),
    "predictable": st.sampled_from((None, None, False)),
}
"""The fields of a draft; some have waited longer than the patience of ``aiturbo``, some cannot be predicted."""


def configured(shapes: list[Shape]) -> tuple[Plan, ...]:
    """Return plans of different configurations, or of one on other nodes; the first is the one a job asks for."""
    plans: dict[tuple[str, int], Plan] = {}
    for share, servers, workers, nodes, rate in shapes:
        kind = "gpu" if share else "cpu"
        at = JobConfiguration(kind=kind, servers=servers, workers=workers, share=share)
        split = nodes if servers % nodes == workers % nodes == 0 else 1
        cpus = float(servers + workers)
        plan = Plan(name=at.name, gpus=at.gpus, nodes=split, cpus=cpus, throughput=float(rate))
        plans.setdefault((at.name, split), plan)
    return tuple(plans.values())
