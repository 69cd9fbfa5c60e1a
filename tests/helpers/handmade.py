"""Small rounds written by hand, for tests that know the answer."""

from __future__ import annotations

from collections.abc import Iterable

from muri_opt import Cluster, Job, Node, Round, Tenant


def gang(position: int, gpus: int, **fields: object) -> Job:
    """Return a job with every field the gang policies order by; by default lower positions come first."""
    given: dict[str, object] = {
        "id": f"j{position}",
        "gpus": gpus,
        "submitted": float(position),
        "remaining_iterations": position + 1,
        "iteration_seconds": 1.0,
        "attained_gpu_seconds": float(position),
    }
    return Job(**given | fields)


def round_of(nodes: Iterable[int | Node], jobs: Iterable[int | Job], tenants: Iterable[Tenant] = ()) -> Round:
    """Return a round of nodes ``n0``, ``n1``, ... and jobs ``j0``, ``j1``, ..., each given whole or by its GPUs."""
    return Round(
        cluster=Cluster(
            nodes=tuple(Node(id=f"n{s}", gpus=node) if isinstance(node, int) else node for s, node in enumerate(nodes)),
            tenants=tuple(tenants),
        ),
        jobs=tuple(gang(j, job) if isinstance(job, int) else job for j, job in enumerate(jobs)),
    )
