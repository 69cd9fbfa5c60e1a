"""The seven numbers of the performance model that are fitted, and the overlap they describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from muri_opt.profiling.plan_speed.number_checks import within

COEFFICIENTS: Final = ("k_bwd", "k_sync", "k_opt", "k_opt_offload", "k_const", "k_off", "k_swap")
MOST: Final = 1e9
MOST_EXPONENT: Final = 100.0
"""The largest exponent a fit looks for: with it the overlap is complete to a hundredth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """What is fitted for one model on one kind of hardware.

    ``k_bwd``: backward over forward time. ``k_sync``: exponent of the overlap of backward pass and gradient exchange.
    ``k_opt``: milliseconds of the optimiser on a GPU per 2**20 parameters. ``k_opt_offload``: the same on the CPU,
    milliseconds times threads. ``k_const``: milliseconds of every iteration. ``k_off`` and ``k_swap``: how far offload
    overlaps with the exchange and with the optimiser; an exponent in the published form, milliseconds in the shipped.
    """

    k_bwd: float
    k_sync: float
    k_opt: float
    k_opt_offload: float
    k_const: float
    k_off: float
    k_swap: float

    def __post_init__(self) -> None:
        for name in COEFFICIENTS:
            least = 1.0 if name == "k_sync" else 0.0
            object.__setattr__(self, name, within(name, getattr(self, name), least, MOST))

    def values(self) -> tuple[float, ...]:
        """Return the seven numbers in the order of ``COEFFICIENTS``."""
        return tuple(getattr(self, name) for name in COEFFICIENTS)


class Times(NamedTuple):
    """One iteration in milliseconds: its whole, and the two parts that profilers measure.

    ``exchange`` is the last backward pass with the gradient exchange (and a recomputed forward pass) around it,
    ``step`` the optimiser.
    """

    exchange: float
    step: float
    iteration: float


def overlap(k: float, x: float, y: float) -> float:
    """Return (x**k + y**k)**(1/k): the sum at k = 1, ever nearer to the larger of the two as k grows.

    The larger is taken out of the root: its power alone may be more than a float can hold.
    """
    high, low = max(x, y), min(x, y)
    if low <= 0:
        return high
    return float(high * (1 + (low / high) ** k) ** (1 / k))
