"""What the nodes of a cluster have room for when nothing runs on them."""

from __future__ import annotations

from dataclasses import dataclass

from muri_opt.rounds import Cluster
from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.rounds.quantities import mebibytes, milli_cpus


@dataclass(frozen=True, slots=True)
class Room:
    """(GPUs, milli-CPUs, MiB) of every node that has a GPU."""

    parts: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, cluster: Cluster, gpu_type: str | None) -> Room:
        """Return the room of the cluster's nodes, of one type of GPU or of all."""
        return cls(
            tuple(
                (
                    node.gpus,
                    UNLIMITED if node.cpus is None else milli_cpus(node.cpus),
                    UNLIMITED if node.memory_gib is None else mebibytes(node.memory_gib),
                )
                for node in cluster.nodes
                if node.gpus and gpu_type in (None, node.gpu_type)
            )
        )

    @property
    def gpus(self) -> int:
        """GPUs of all nodes together."""
        return sum(gpus for gpus, _, _ in self.parts)

    @property
    def widest(self) -> int:
        """GPUs of the largest node."""
        return max(gpus for gpus, _, _ in self.parts)

    def nodes_with(self, gpus: int) -> int:
        """Return how many nodes have that many GPUs."""
        return sum(held >= gpus for held, _, _ in self.parts)

    def lacks(self, nodes: int, gpus: int, cpus: float, memory_gib: float) -> str | None:
        """Return what first keeps ``nodes`` equal parts from fitting, ``memory_gib`` or ``cpus``, or ``None``.

        CPUs count on nodes that have the memory: elsewhere they are of no use.
        """
        c, m = milli_cpus(cpus), mebibytes(memory_gib)
        with_memory = [part for part in self.parts if part[0] >= gpus and part[2] >= m]
        if len(with_memory) < nodes:
            return "memory_gib"
        return None if sum(part[1] >= c for part in with_memory) >= nodes else "cpus"
