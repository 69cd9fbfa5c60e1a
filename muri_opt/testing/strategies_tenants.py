"""Hypothesis strategies of small rounds of a multi-tenant cluster, and of the settings of its policy.

Built up part by part so that no draw is thrown away. Running jobs are where they have room, whatever the quotas say:
idle GPUs are lent. Waiting times lie around the limits at which the default rules and the drawn settings relax.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import msgspec
from hypothesis import strategies as st

from muri_opt.rounds import Cluster, Job, Node, Round, Tenant
from muri_opt.systems.capacity import Leftover
from muri_opt.testing.kept_strategies import orders, value_of

NOW = 100_000.0
"""The moment of every drawn round; jobs were submitted before it."""

_WAITED = (0.0, 30.0, 150.0, 300.0, 600.0, 900.0, 1800.0, 90_000.0)
_RESTART = (None, 0.0, 30.0, 60.0, 600.0, 6000.0)
_SETTINGS = {
    "rack_after": ("0", "300"),
    "any_after": ("0", "600", "900"),
    "backoff": ("150", "1500"),
    "preempt_at": ("0", "0", "0.5", "1", "never"),
    "migrate": ("1", "3", "inf"),
    "dedicated": ("1", "2", "4"),
    "rack_speed": ("0.9", "1"),
    "any_speed": ("0.001", "0.5"),
    "aging": ("1", "600"),
    "horizon": ("1", "6000"),
    "objective": ("weighted",),
}


@st.composite
def tenant_rounds(
    draw: st.DrawFn, *, max_jobs: int = 8, max_nodes: int = 6, max_gpus: int = 4, tight: bool = True
) -> Round:
    """Draw a round of up to ``max_jobs`` jobs of up to three tenants on up to ``max_nodes`` nodes in up to three racks.

    About two thirds of the jobs run, as far as there is room. A quota may be nothing, left out, or up to the whole
    cluster. In a ``tight`` round CPUs and memory bind at times; otherwise GPUs are the only limit. A job may ask for
    more GPUs than the cluster has.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(tenant_rounds(max_jobs=3))
    ... def holds(round_):
    ...     assert len(round_.jobs) <= 3
    >>> holds()
    """
    count = draw(st.integers(1, max_nodes))
    drawn = tuple(draw(_nodes(name=f"n{s}", max_gpus=max_gpus, tight=tight)) for s in range(count))
    total = sum(node.gpus for node in drawn)
    several = draw(value_of(0, 1, 2, 2, 3))
    quotas = [draw(_quota(total)) for _ in range(several)]
    tenants = tuple(Tenant(id=f"t{v}", quota_gpus=quota) for v, quota in enumerate(quotas))
    names = tuple(tenant.id for tenant in tenants)
    most = min(total + 1, 2 * max_gpus)
    number = draw(st.integers(1, max_jobs))
    jobs = tuple(draw(_jobs(name=f"job-{j}", max_gpus=most, tenants=names, tight=tight)) for j in range(number))
    return _with_running(draw, Round(now=NOW, cluster=Cluster(nodes=drawn, tenants=tenants), jobs=jobs))


@st.composite
def tenant_policies(draw: st.DrawFn, *, without: Sequence[str] = ()) -> str:
    """Draw the text of a policy ``philly`` with up to four settings, none of those named in ``without``.

    >>> from hypothesis import find
    >>> find(tenant_policies(), lambda text: "migrate" in text).startswith("philly")
    True
    """
    # Those that decide who is preempted, moved or left alone are drawn more often than the others.
    able = [name for name in (*_SETTINGS, *["preempt_at"] * 4, *["migrate"] * 2, "backoff") if name not in without]
    chosen = draw(st.lists(value_of(*able), unique=True, max_size=4))
    return "philly" + ":" * bool(chosen) + ",".join(f"{name}={draw(value_of(*_SETTINGS[name]))}" for name in chosen)


@cache
def _quota(total: int) -> st.SearchStrategy[int | None]:
    return st.none() | st.just(0) | st.integers(0, total)


@cache
def _gang(most: int) -> st.SearchStrategy[int]:
    """Return a number of GPUs, small ones more often than large ones."""
    return st.integers(1, min(2, most)) | st.integers(1, most)


@cache
def _halves(most: int) -> st.SearchStrategy[float | None]:
    """Return a limit or a demand in halves, in half of the draws none."""
    return st.none() | st.integers(0, 2 * most).map(lambda number: number / 2)


@cache
@st.composite
def _nodes(draw: st.DrawFn, *, name: str, max_gpus: int, tight: bool) -> Node:
    gpus = draw(st.integers(1, max_gpus))
    cpus, memory = (draw(_halves(3 * gpus)), draw(_halves(3 * gpus))) if tight else (None, None)
    rack = draw(value_of("r0", "r1", None))
    return Node(id=name, gpus=gpus, cpus=cpus, memory_gib=memory, rack=rack)


@cache
@st.composite
def _jobs(draw: st.DrawFn, *, name: str, max_gpus: int, tenants: tuple[str, ...], tight: bool) -> Job:
    """Draw a waiting job."""
    gpus = draw(_gang(max_gpus))
    waited = draw(value_of(*_WAITED))
    return Job(
        id=name,
        tenant=draw(value_of(*tenants, *tenants, None)),
        submitted=NOW - waited - draw(st.integers(0, 3)),
        gpus=gpus,
        cpus=draw(_halves(2 * gpus)) if tight else None,
        memory_gib=draw(_halves(2 * gpus)) if tight else None,
        waiting_seconds=draw(value_of(waited, None)),
        restart_seconds=draw(value_of(*_RESTART)),
    )


def _with_running(draw: st.DrawFn, round_: Round) -> Round:
    """Return the round with most jobs on the nodes; one that no longer fits when its turn comes keeps waiting."""
    left = Leftover(round_)
    drawn = list(round_.jobs)
    for j, job in enumerate(round_.jobs):
        if draw(st.integers(0, 2)) == 0:
            continue
        room = left.room(j)
        share = room * 0
        for s in draw(orders(len(share))):
            share[s] = min(room[s], job.gpus - share.sum())
        if share.sum() == job.gpus:
            left.take(share, j)
            held = {node.id: int(share[s]) for s, node in enumerate(round_.cluster.nodes) if share[s]}
            drawn[j] = msgspec.structs.replace(job, state="running", placement=held)
    return msgspec.structs.replace(round_, jobs=tuple(drawn))
