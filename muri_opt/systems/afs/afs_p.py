"""Policy ``afs-p``: shares of jobs of unknown length, with a quantum where jobs outnumber GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.afs.afs_p_rule import afs_p_shares
from muri_opt.systems.afs.demand import Demand
from muri_opt.systems.afs.policy import ElasticPolicy
from muri_opt.systems.afs.seeded_coin import SeededCoin
from muri_opt.systems.history import JobHistory, soonest
from muri_opt.systems.policy import Allowed, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownLengthPolicy(ElasticPolicy):
    """AFS without lengths; ``quantum`` is how many seconds a job keeps its share where jobs outnumber GPUs.

    A round does not say when a quantum began. How many a job has had, and whether it is within one, therefore follow
    from its ``executed_seconds``, as if every decision in between had left it its share; a running job that does not
    say them is in no quantum. What the rule leaves to chance the seed decides. Whether a change of shares pays is told
    by speed-up alone: how long a job will run nobody knows, and the horizon is all it is expected to.

    >>> policy_from("afs-p:quantum=3600").decide(shipped_round("toy/three-elastic"), 0).assignments[0].gpus
    {'n0': 1}
    """

    objective: str = "jobs-then-speed-up"
    quantum: str = "7200"

    own_name: ClassVar[str] = "afs-p"
    choices: ClassVar[Mapping[str, Allowed]] = {
        **ElasticPolicy.choices,
        "objective": ("speed-up", "jobs-then-speed-up", "completion"),
        "quantum": Span(0.001, 2_000_000_000),
    }
    knows_lengths: ClassVar[bool] = False

    def shares(self, round_: Round, demand: Demand, gpus: int, seed: int) -> Ints:
        """Return AFS-P's shares; jobs of equally many quanta take turns in the order of submission."""
        if self.objective == "completion":
            return self.worth_shares(round_, demand, gpus)
        jobs = [round_.jobs[job] for job in demand.jobs.tolist()]
        quantum = microseconds(float(self.quantum))
        executed = np.array([microseconds(job.executed_seconds or 0.0) for job in jobs], dtype=np.int64)
        quanta, inside = executed // quantum, executed % quantum > 0
        begun = np.array([job.executed_seconds == 0.0 for job in jobs], dtype=bool)
        keeps = demand.held(round_) * (inside | begun)
        order, coin = demand.arrivals(round_), SeededCoin(seed)
        return afs_p_shares(demand.speed, demand.cap, gpus, quanta=quanta, keeps=keeps, order=order, coin=coin)

    def unchanged_may_reach(self, round_: Round, value: int) -> bool:
        """Return that it may not where a quantum has just ended.

        Whose turn it is then is not in the value, by which leaving all as it is would do as well.
        """
        quantum = microseconds(float(self.quantum))
        executed = (microseconds(job.executed_seconds or 0.0) for job in round_.jobs if job.state == "running")
        ended = self.objective != "completion" and any(had and had % quantum == 0 for had in executed)
        return not ended and ElasticPolicy.unchanged_may_reach(self, round_, value)

    def wakes(self, running: JobHistory, waiting: JobHistory) -> float:
        """Return when a running job is at the end of a quantum."""
        quantum = microseconds(float(self.quantum))
        return soonest(quantum - had % quantum for had in running.executed_microseconds.tolist())
