"""A job's plans from a model of its step time: every configuration within limits, evenly spread over its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from muri_opt.errors import InputError
from muri_opt.profiling.job_length import Configuration, StepTime
from muri_opt.rounds import Plan
from muri_opt.rounds.configurations import KINDS, JobConfiguration
from muri_opt.rounds.quantities import MAX_CPUS, MAX_GPUS, MAX_MEMORY_GIB, MAX_RATE, finite, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLimits:
    """How far configurations go: servers, workers, GPU shares of a worker, ``shares_per_gpu`` of which are a GPU.

    Configurations run on at most ``nodes`` nodes, on CPUs, GPUs or either, as ``kinds`` says.
    """

    servers: int = 10
    workers: int = 4
    share: int = 1
    shares_per_gpu: int = 1
    nodes: int = 1
    kinds: tuple[str, ...] = KINDS

    def __post_init__(self) -> None:
        for name in ("servers", "workers", "share", "shares_per_gpu", "nodes"):
            object.__setattr__(self, name, whole(name, getattr(self, name), MAX_GPUS, 1))
        if self.share > self.shares_per_gpu:
            raise InputError("share", str(self.share), f"at most the {self.shares_per_gpu} shares of a GPU")
        if not self.kinds or not set(self.kinds) <= set(KINDS):
            raise InputError("kinds", str(self.kinds), "some of " + ", ".join(KINDS))


@dataclass(frozen=True, slots=True, kw_only=True)
class PodNeeds:
    """CPUs of a server, of a worker on CPUs and of a worker on a GPU, and the memory of each of them.

    The defaults are AITurbo's: five cores for a pod, and one for a worker that computes on a GPU.
    """

    server_cpus: float = 5.0
    cpu_worker_cpus: float = 5.0
    gpu_worker_cpus: float = 1.0
    server_memory_gib: float = 0.0
    worker_memory_gib: float = 0.0

    def __post_init__(self) -> None:
        for name in ("server_cpus", "cpu_worker_cpus", "gpu_worker_cpus"):
            object.__setattr__(self, name, finite(name, getattr(self, name), MAX_CPUS))
        for name in ("server_memory_gib", "worker_memory_gib"):
            object.__setattr__(self, name, finite(name, getattr(self, name), MAX_MEMORY_GIB))


def configuration_plans(
    step_time: StepTime, *, batch: int, limits: TaskLimits | None = None, pods: PodNeeds | None = None
) -> tuple[Plan, ...]:
    """Return a plan for each configuration and each number of nodes its servers and workers divide evenly among.

    Throughput is in steps a second with a global ``batch`` of so many samples. It is the same on any number of nodes,
    which the model does not know: policies prefer the fewest.
    """
    bounds, needs = limits or TaskLimits(), pods or PodNeeds()
    plans = []
    for configuration in _within(bounds):
        on_gpus = configuration.kind == "gpu"
        at = Configuration(
            ps=configuration.servers,
            workers=configuration.workers,
            cores=None if on_gpus else needs.cpu_worker_cpus,
            share=configuration.share / bounds.shares_per_gpu if on_gpus else None,
        )
        each = needs.gpu_worker_cpus if on_gpus else needs.cpu_worker_cpus
        memory = configuration.servers * needs.server_memory_gib + configuration.workers * needs.worker_memory_gib
        together = gcd(configuration.servers, configuration.workers)
        plans += [
            Plan(
                name=configuration.name,
                gpus=configuration.gpus,
                nodes=nodes,
                cpus=configuration.servers * needs.server_cpus + configuration.workers * each,
                memory_gib=memory,
                throughput=min(MAX_RATE, 1 / step_time.seconds_per_step(at, batch)),
            )
            for nodes in range(1, min(bounds.nodes, together) + 1)
            if together % nodes == 0
        ]
    return tuple(plans)


def _within(bounds: TaskLimits) -> Iterator[JobConfiguration]:
    """Yield all configurations within bounds, those on CPUs first."""
    for kind in KINDS:
        for servers in range(1, bounds.servers + 1) if kind in bounds.kinds else ():
            for workers in range(1, bounds.workers + 1):
                for share in (0,) if kind == "cpu" else range(1, bounds.share + 1):
                    yield JobConfiguration(kind=kind, servers=servers, workers=workers, share=share)
