"""What a replay found: when every job started and ended, what it lost, and how full the cluster was."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobOutcomes:
    """One entry per job, in the order of the workload; times are seconds of the trace.

    ``ideal`` is how long the job would run alone on the GPUs it asks for. ``held`` is how long it had GPUs,
    ``gpu_seconds`` these times the GPUs. Waiting is split into ``fairness`` (its tenant's quota), ``fragmentation``
    (enough GPUs, in the wrong places) and ``capacity`` (all else). ``lost`` are GPU seconds of restarts, ``failed`` of
    attempts that failed.
    """

    ids: tuple[str, ...]
    tenants: tuple[str | None, ...]
    gpus: Ints
    submitted: Floats
    started: Floats
    ended: Floats
    ideal: Floats
    held: Floats
    gpu_seconds: Floats
    fairness: Floats
    fragmentation: Floats
    capacity: Floats
    lost: Floats
    failed: Floats
    restarts: Ints
    preemptions: Ints
    migrations: Ints

    @property
    def completion(self) -> Floats:
        """Job completion times: from submission to end."""
        return self.ended - self.submitted


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Timeline:
    """The cluster over time: from ``seconds[i]`` to ``seconds[i + 1]`` the values at i held.

    ``busy`` are GPUs in use, ``queue`` jobs that wait, ``running`` jobs that run, ``stages[i, r]`` how many GPUs' worth
    of resource r was at work (no columns where jobs have no stages), ``nodes[i, s]`` GPUs in use of node s (no columns
    where the clock only counts GPUs). The last entry is the end of the replay.
    """

    seconds: Floats
    busy: Ints
    queue: Ints
    running: Ints
    stages: Floats
    nodes: NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """One replay: of which workload, under which policy, clock and seed, on which cluster, and what came of it.

    ``rounds`` decisions took ``decision_seconds`` of this machine. ``counted`` are decisions that broke a rule or could
    not be made, where the replay was told to go on. ``settled`` are those of ``solve_round()`` whose bound says that
    they are as near to the optimum as was asked for; the policies' own algorithms know no bound.
    """

    workload: str
    policy: str
    clock: str
    cluster: str
    seed: int
    total_gpus: int
    jobs: JobOutcomes
    timeline: Timeline
    rounds: int
    decision_seconds: float
    counted: int = 0
    settled: int = 0
    resources: tuple[str, ...] = field(default=())
