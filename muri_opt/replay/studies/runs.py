"""The runs of a study: what each replays and how, what makes two of them the same, and how one is run."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

import msgspec

from muri_opt import __version__
from muri_opt.errors import InputError, unknown_name
from muri_opt.replay.engine.bad_decisions import ReplayError
from muri_opt.replay.engine.round_scheduler import ON_BAD, OnBad
from muri_opt.replay.engine.spread_speeds import checked_speeds
from muri_opt.replay.metrics.summary import summary
from muri_opt.replay.run import OWN, check_settings, replay
from muri_opt.replay.studies.outcome_files import outcome_bytes
from muri_opt.replay.workload import Workload
from muri_opt.rounds import Cluster, Limits
from muri_opt.rounds.quantities import MAX_SECONDS, finite, whole
from muri_opt.studies.runner.methods import check_method
from muri_opt.studies.runner.policy_code import code_digest
from muri_opt.studies.runner.run_pool import Failed
from muri_opt.systems import policy_from

MOST_SEED: Final = 10**9
"""Rounds count their seeds up from that of the run."""
_DIGITS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRun:
    """One replay of a study, all in texts and numbers, as ``read_workload``, ``cluster_from`` and ``replay`` take them.

    ``round_seconds``, or instead of them ``round_work``, limit every round that is solved as in ``Limits``, and
    ``round_gap`` is how near to the optimum is near enough; other methods than ``heuristic`` use them. What the replay
    would not heed is refused.
    """

    workload: str
    cluster: str
    policy: str
    method: str = "heuristic"
    clock: str = OWN
    interval: float | None = None
    seed: int = 0
    round_seconds: float = 10.0
    round_work: float | None = None
    round_gap: float = 0.0
    launch_seconds: float = 0.0
    rack_speed: float = 1.0
    any_speed: float = 1.0
    fast: bool = False
    verify: bool = True
    on_bad: OnBad = "stop"

    def __post_init__(self) -> None:
        policy_from(self.policy)
        check_method(self.method)
        if self.on_bad not in ON_BAD:
            raise unknown_name("on_bad", self.on_bad, ON_BAD)
        if self.interval is not None:
            object.__setattr__(self, "interval", finite("interval", self.interval, MAX_SECONDS, positive=True))
        object.__setattr__(self, "seed", whole("seed", self.seed, MOST_SEED))
        if self.round_work is not None:
            object.__setattr__(self, "round_work", finite("round_work", self.round_work, 1e9, positive=True))
        for field in ("round_seconds", "round_gap", "launch_seconds"):
            object.__setattr__(self, field, finite(field, getattr(self, field), MAX_SECONDS))
        speeds = checked_speeds(self.rack_speed, self.any_speed, fast=self.fast)
        for field, speed in zip(("rack_speed", "any_speed"), speeds, strict=True):
            object.__setattr__(self, field, speed)
        check_settings(self.clock, asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run that is done: its figures by name, and how long all of it took on the machine it ran on.

    ``notes`` are those of the workload: what its reader left out or put in order.
    """

    run: StudyRun
    fingerprint: str
    figures: Mapping[str, int | float]
    run_seconds: float
    notes: Mapping[str, int]

    def as_dict(self) -> dict[str, str | int | float | None]:
        """Return the row as one flat mapping: what was run, its fingerprint, the figures."""
        return {
            **asdict(self.run),
            "fingerprint": self.fingerprint,
            **self.figures,
            "run_seconds": self.run_seconds,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """A run with all it needs, so that it can be done anywhere: no file is read again.

    ``bad_rounds`` is the folder for rounds whose decision was bad, ``keep`` asks for the whole outcome.
    """

    run: StudyRun
    fingerprint: str
    workload: Workload
    cluster: Cluster
    bad_rounds: str
    keep: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a task found; ``outcome`` are the bytes of its file, if they were asked for."""

    figures: Mapping[str, int | float]
    run_seconds: float
    outcome: bytes | None


def workload_digest(workload: Workload) -> str:
    """Return a digest of all that is replayed of a workload; equal workloads have equal ones."""
    text = msgspec.json.encode((workload.name, workload.resources, workload.jobs))
    return hashlib.sha256(text).hexdigest()


def _limits(run: StudyRun) -> Limits:
    seconds = run.round_seconds if run.round_work is None else None
    return Limits(seconds=seconds, work=run.round_work, gap=run.round_gap)


def fingerprint_of(run: StudyRun, digest: str, cluster: Cluster) -> str:
    """Return the fingerprint of a run: of what its texts stand for, not of the texts, and of this version.

    Of a policy from elsewhere, the code counts too.
    """
    settings = asdict(run) | {"workload": digest, "cluster": cluster, "version": __version__}
    code = code_digest(run.policy)
    if code is not None:
        settings["code"] = code
    return hashlib.sha256(msgspec.json.encode(settings)).hexdigest()[:_DIGITS]


def run_task(task: Task) -> Finished | Failed:
    """Replay one run, wherever this is called; bad input is raised, all else that can go wrong is said."""
    run, began = task.run, time.perf_counter()
    try:
        outcome = replay(
            task.workload,
            task.cluster,
            run.policy,
            clock=run.clock,
            interval=run.interval,
            seed=run.seed,
            verify=run.verify,
            on_bad=run.on_bad,
            limits=_limits(run),
            method=run.method,
            launch_seconds=run.launch_seconds,
            rack_speed=run.rack_speed,
            any_speed=run.any_speed,
            fast=run.fast,
            save=task.bad_rounds,
            label=run.cluster,
        )
        figures = summary(outcome).as_dict()
    except InputError:
        raise
    except ReplayError as error:
        return Failed(cause="policy", message=str(error))
    except Exception as error:  # one run that breaks must not take the others with it
        return Failed(cause="error", message=f"{type(error).__name__}: {error}")
    kept = outcome_bytes(outcome) if task.keep else None
    return Finished(figures=figures, run_seconds=time.perf_counter() - began, outcome=kept)
