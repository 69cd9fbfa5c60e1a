"""A change that would start a waiting job, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muri_opt.rounds.decision import Change
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.rounds.readable_time import duration

_MOST_NAMES = 6


def change_text(change: Change, *, nested: bool = False) -> str:
    """Return a change in words, such as ``wait 5 min`` or ``stop 'a', 'b' (4 GPUs)``; tenants may be ``nested``."""
    parts = []
    if change.wait_seconds is not None:
        span = round(change.wait_seconds * MICROSECONDS_PER_SECOND)
        parts.append(f"wait {time_text(span)}" if span else "decide again")
    if change.preempt:
        parts.append(f"stop {listed([repr(job) for job in change.preempt])} ({gpus_text(change.gpus)})")
    if change.move:
        moves = [f"{job!r} to {_nodes(held)}" for job, held in change.move.items()]
        parts.append(f"move {listed(moves)} ({gpus_text(change.gpus)})")
    if change.raise_quota is not None:
        whose = "its tenant, and of all above it," if nested else "its tenant"
        parts.append(f"raise the quota of {whose} by {gpus_text(change.raise_quota)}")
    if change.add_gpus is not None:
        rack = "" if change.rack is None else f" to rack {change.rack!r}"
        like = "" if change.like is None else f" like {change.like!r}"
        parts.append(f"add a node of {gpus_text(change.add_gpus)}{rack}{like}")
    return " and ".join(parts)


def gpus_text(count: int) -> str:
    """Return ``1 GPU``, ``2 GPUs``."""
    return f"{count} GPU{'s' * (count != 1)}"


def _nodes(held: Mapping[str, int]) -> str:
    return " + ".join(f"{node} x{gpus}" for node, gpus in held.items())


def listed(words: Sequence[str]) -> str:
    """Return the first few words, and how many more there are."""
    more = f" and {len(words) - _MOST_NAMES} more" if len(words) > _MOST_NAMES else ""
    return ", ".join(words[:_MOST_NAMES]) + more


def time_text(microseconds: int) -> str:
    """Return ``5 min``, ``0.5 s``."""
    return duration(microseconds / MICROSECONDS_PER_SECOND)
