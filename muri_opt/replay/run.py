"""``replay()``: a workload, a cluster and a policy in, what became of every job out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from muri_opt.errors import InputError, unknown_name
from muri_opt.replay.clocks.afs_clock import replay_afs
from muri_opt.replay.clocks.muri_clock import replay_muri
from muri_opt.replay.engine.engine import Engine
from muri_opt.replay.engine.failures import Failures
from muri_opt.replay.engine.list_scheduler import ListScheduler
from muri_opt.replay.engine.round_scheduler import ON_BAD, Asking, OnBad, RoundScheduler
from muri_opt.replay.engine.spread_speeds import SpreadSpeeds, checked_speeds
from muri_opt.replay.outcome import Outcome
from muri_opt.replay.workload import Workload
from muri_opt.rounds import INFORMATION, Cluster, Limits
from muri_opt.rounds.quantities import MAX_SECONDS, finite
from muri_opt.rounds.used_fields import fields_in
from muri_opt.systems import Named, policy_from
from muri_opt.systems.admission import check_used

_TIMED: Final = frozenset({"job.held", "job.not_before", "node.available_until", "tenant.used_gpu_seconds"})
"""Fields that time or somebody changes in the middle of a replay."""
OWN: Final = "own"
AUTHORS: Final[dict[str, Callable[..., Outcome]]] = {"muri": replay_muri, "afs": replay_afs}
"""The clocks of published simulators."""
CLOCKS: Final = (OWN, *AUTHORS)
SEEDED: Final = (OWN, "afs")
"""Clocks that leave something to chance."""
_PLAIN: Final[dict[str, object]] = {
    "method": "heuristic",
    "interval": None,
    "seed": 0,
    "verify": True,
    "verify_as": None,
    "on_bad": "stop",
    "failures": None,
    "launch_seconds": 0.0,
    "restart_seconds": None,
    "rack_speed": 1.0,
    "any_speed": 1.0,
    "fast": False,
}
"""All that the clocks of published simulators take for these settings of ``replay``."""


def replay(
    workload: Workload,
    cluster: Cluster,
    policy: Named,
    *,
    clock: str = OWN,
    interval: float | None = None,
    seed: int = 0,
    verify: bool = True,
    verify_as: str | None = None,
    on_bad: OnBad = "stop",
    limits: Limits | None = None,
    method: str = "heuristic",
    failures: Failures | None = None,
    launch_seconds: float = 0.0,
    restart_seconds: float | None = None,
    rack_speed: float = 1.0,
    any_speed: float = 1.0,
    fast: bool = False,
    save: str | PathLike[str] | None = None,
    label: str = "",
) -> Outcome:
    """Return what becomes of a workload on a cluster under a policy, a function from a round to a decision included.

    A round follows every arrival, every end and every moment at which time alone would change the decision; with an
    ``interval`` in seconds, rounds are at its multiples only: ends free GPUs at once, arrivals wait. ``launch_seconds``
    are paid at a first start, ``restart_seconds`` replace what the jobs say a restart takes. A job without a plan on
    more nodes of a rack than it needs goes at ``rack_speed`` of its speed, one further apart at ``any_speed``, by the
    levels of the policy ``philly``. ``fast`` decides on arrays instead of rounds, for ``fifo``, ``srtf``, ``srsf``,
    ``las`` and ``tiresias`` on GPUs alone: the same jobs run, with fewer moves, and nothing is left to verify. How
    decisions are made, verified and what happens to bad ones is told at ``Asking``. The clocks ``muri`` and ``afs`` are
    those of the authors' simulators, which know no other setting than the policy's text, and ``afs`` the seed of a
    coin; others are refused. A replay that cannot go on is a :class:`ReplayError`.
    """
    check_settings(
        clock,
        {
            "method": method,
            "interval": interval,
            "seed": seed,
            "verify": verify,
            "verify_as": verify_as,
            "on_bad": on_bad,
            "failures": failures,
            "launch_seconds": launch_seconds,
            "restart_seconds": restart_seconds,
            "rack_speed": rack_speed,
            "any_speed": any_speed,
            "fast": fast,
        },
    )
    _check_fields(workload, cluster, policy, rounds=clock == OWN and not fast)
    if clock != OWN:
        if not isinstance(policy, str):
            raise InputError("policy", type(policy).__name__, f"the text of a policy: the clock {clock!r} knows those")
        seeded = {"seed": seed} if clock in SEEDED else {}
        return AUTHORS[clock](workload, cluster, policy, label=label, **seeded)
    if on_bad not in ON_BAD:
        raise unknown_name("on_bad", on_bad, ON_BAD)
    if interval is not None:
        interval = finite("interval", interval, MAX_SECONDS, positive=True)
    finite("launch_seconds", launch_seconds, MAX_SECONDS)
    rack_speed, any_speed = checked_speeds(rack_speed, any_speed, fast=fast)
    speeds = SpreadSpeeds(cluster, rack_speed, any_speed) if any_speed < 1 else None
    workload.check_fits(cluster)
    if restart_seconds is not None:
        workload = _restarting(workload, restart_seconds)
    folder = None if save is None else Path(save)
    asking = Asking(
        method=method, limits=limits, seed=seed, verify=verify, verify_as=verify_as, on_bad=on_bad, save=folder
    )
    scheduler = _fast(workload, cluster, policy) if fast else RoundScheduler(workload, cluster, policy, asking, speeds)
    engine = Engine(workload, cluster, scheduler, interval=interval, launch_seconds=launch_seconds, failures=failures)
    engine.run()
    return Outcome(
        workload=workload.name,
        policy=scheduler.policy.spec if isinstance(scheduler, ListScheduler) else scheduler.spec,
        clock=OWN,
        cluster=label,
        seed=seed,
        total_gpus=cluster.total_gpus,
        jobs=engine.outcomes(),
        timeline=engine.timeline(),
        rounds=engine.rounds,
        decision_seconds=engine.decision_seconds,
        counted=0 if isinstance(scheduler, ListScheduler) else scheduler.counted,
        settled=0 if isinstance(scheduler, ListScheduler) else scheduler.settled,
        resources=workload.resources,
    )


def check_settings(clock: str, given: Mapping[str, object]) -> None:
    """Refuse settings of ``replay`` that a clock, or a fast replay, would not heed: no run says what it did not do."""
    if clock not in CLOCKS:
        raise unknown_name("clock", clock, CLOCKS)
    known = _PLAIN if clock == OWN else ("seed",) if clock in SEEDED else ()
    for field, plain in _PLAIN.items():
        found = given.get(field, plain)
        if field not in known and found != plain:
            raise InputError(field, repr(found), f"{plain!r} with the clock {clock!r}")
    if given["fast"] and given["method"] != "heuristic":
        raise InputError("method", repr(given["method"]), "'heuristic' in a fast replay")


def _check_fields(workload: Workload, cluster: Cluster, policy: Named, *, rounds: bool) -> None:
    """Refuse fields of format 2 that the policy does not honour; what makes no rounds of its own honours none.

    Neither does a replay know when somebody releases a job, when one may begin or when a node goes away, and it lets no
    use decay.
    """
    used = fields_in(cluster, workload.jobs)
    if used:
        chosen = policy_from(policy)
        check_used(chosen.spec, chosen.honoured - _TIMED if rounds else INFORMATION, used)


def _fast(workload: Workload, cluster: Cluster, policy: Named) -> ListScheduler:
    return ListScheduler(workload, cluster, policy)


def _restarting(workload: Workload, seconds: float) -> Workload:
    """Return the workload with this cost of a restart for every job."""
    jobs = tuple(replace(job, restart_seconds=seconds) for job in workload.jobs)
    return Workload(name=workload.name, jobs=jobs, resources=workload.resources)
