"""What a plan runs on: equal parts on distinct nodes, CPUs with every GPU, and the links between them."""

from __future__ import annotations

from dataclasses import dataclass

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed.number_checks import set_bandwidth, set_positive, set_whole
from muri_opt.rounds.field_checks import check_kind
from muri_opt.rounds.quantities import MAX_CPUS, MAX_GPUS


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Bandwidths in GB/s: between GPUs of a node, between nodes, and between a GPU and host memory.

    ``None`` is "not known": a plan that needs the link is refused.
    """

    intra_gb_s: float
    inter_gb_s: float | None = None
    host_gb_s: float | None = None

    def __post_init__(self) -> None:
        set_bandwidth(self, "intra_gb_s", missing=False)
        set_bandwidth(self, "inter_gb_s", missing=True)
        set_bandwidth(self, "host_gb_s", missing=True)

    def between_nodes(self) -> float:
        """Return the bandwidth between nodes, or refuse links that do not say it."""
        return _known("inter_gb_s", self.inter_gb_s, "a bandwidth between nodes in GB/s: the plan spans nodes")

    def to_host(self) -> float:
        """Return the bandwidth to host memory, or refuse links that do not say it."""
        return _known("host_gb_s", self.host_gb_s, "a bandwidth to host memory in GB/s: the plan offloads")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """``gpus_per_node`` GPUs on each of ``nodes`` nodes, each GPU with ``cpus_per_gpu`` CPU threads."""

    nodes: int = 1
    gpus_per_node: int
    cpus_per_gpu: float = 1.0
    links: Links

    def __post_init__(self) -> None:
        set_whole(self, "nodes", MAX_GPUS)
        set_whole(self, "gpus_per_node", MAX_GPUS)
        set_positive(self, "cpus_per_gpu", MAX_CPUS)
        check_kind("links", self.links, Links)

    @property
    def gpus(self) -> int:
        """GPUs of all nodes together."""
        return self.nodes * self.gpus_per_node


def _known(field: str, value: float | None, allowed: str) -> float:
    if value is None:
        raise InputError(field, "nothing", allowed)
    return value
