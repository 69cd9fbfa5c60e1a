"""What the server counts, as text that Prometheus reads."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final

import msgspec

BUCKETS: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
MOST_LABELS: Final = 100
"""Policies beyond so many are counted together: a client must not make the text grow without end."""


class CountedAnswer(msgspec.Struct, frozen=True):
    """What is read of an answer to count it."""

    class Ended(msgspec.Struct, frozen=True):
        """Which limit ended a solve."""

        limit: str | None = None

    policy: str = ""
    gap: float | None = None
    termination: Ended = Ended()


class Metrics:
    """Counts of one server."""

    def __init__(self) -> None:
        self._replies: Counter[tuple[str, int]] = Counter()
        self._latency: dict[str, Counter[float]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._gaps: defaultdict[str, float] = defaultdict(float)
        self._with_gap: Counter[str] = Counter()
        self._limits: Counter[tuple[str, str]] = Counter()

    def count(self, message: str, status: int, seconds: float, told: CountedAnswer | None) -> None:
        """Count one reply."""
        self._replies[message, status] += 1
        policy = "" if told is None else told.policy.partition(":")[0]
        if policy not in self._latency and len(self._latency) >= MOST_LABELS:
            policy = "other"
        self._seconds[policy] += seconds
        found = self._latency.setdefault(policy, Counter())
        for most in (*BUCKETS, float("inf")):
            found[most] += seconds <= most
        if told is not None and told.gap is not None:
            self._gaps[policy] += told.gap
            self._with_gap[policy] += 1
        if told is not None and told.termination.limit is not None:
            self._limits[policy, told.termination.limit] += 1

    def text(self, *, slots: int, busy: int, restarts: int) -> str:
        """Return all counts in the text format of Prometheus."""
        lines = ["# TYPE muri_opt_replies_total counter"]
        lines += [
            f'muri_opt_replies_total{{message="{message}",status="{status}"}} {number}'
            for (message, status), number in sorted(self._replies.items())
        ]
        lines.append("# TYPE muri_opt_reply_seconds histogram")
        for policy, found in sorted(self._latency.items()):
            lines += [
                f'muri_opt_reply_seconds_bucket{{policy="{policy}",le="{_bound(most)}"}} {found[most]}'
                for most in (*BUCKETS, float("inf"))
            ]
            lines.append(f'muri_opt_reply_seconds_sum{{policy="{policy}"}} {self._seconds[policy]:.6f}')
            lines.append(f'muri_opt_reply_seconds_count{{policy="{policy}"}} {found[float("inf")]}')
        lines.append("# TYPE muri_opt_gap summary")
        for policy in sorted(self._with_gap):
            lines.append(f'muri_opt_gap_sum{{policy="{policy}"}} {self._gaps[policy]:.9f}')
            lines.append(f'muri_opt_gap_count{{policy="{policy}"}} {self._with_gap[policy]}')
        lines.append("# TYPE muri_opt_limits_total counter")
        lines += [
            f'muri_opt_limits_total{{policy="{policy}",limit="{limit}"}} {number}'
            for (policy, limit), number in sorted(self._limits.items())
        ]
        lines += ["# TYPE muri_opt_slots gauge", f"muri_opt_slots {slots}"]
        lines += ["# TYPE muri_opt_slots_busy gauge", f"muri_opt_slots_busy {busy}"]
        lines += ["# TYPE muri_opt_worker_restarts_total counter", f"muri_opt_worker_restarts_total {restarts}"]
        return "\n".join(lines) + "\n"


def _bound(most: float) -> str:
    return "+Inf" if most == float("inf") else f"{most:g}"
