"""How long a solve may take, how good it must be, and what makes it repeat itself."""

from __future__ import annotations

from dataclasses import dataclass

from muri_opt.instance.quantities import finite, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds for the whole call (``None``: no limit), relative gap to stop at, solver threads and seed."""

    seconds: float | None = 10.0
    gap: float = 0.0
    threads: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.seconds is not None:
            object.__setattr__(self, "seconds", finite("limits.seconds", self.seconds, 1e9))
        object.__setattr__(self, "gap", finite("limits.gap", self.gap, 1e9))
        object.__setattr__(self, "threads", whole("limits.threads", self.threads, 1024, least=1))
        object.__setattr__(self, "seed", whole("limits.seed", self.seed, 2**31 - 1))

    def with_seconds(self, seconds: float | None) -> Limits:
        """Return the same limits with another time."""
        return Limits(seconds=seconds, gap=self.gap, threads=self.threads, seed=self.seed)


def relative_gap(value: int, bound: int) -> float | None:
    """Return |bound - value| / max(1, |value|), the share still open; ``None`` where no float can hold it."""
    try:
        return abs(bound - value) / max(1, abs(value))
    except OverflowError:
        return None
