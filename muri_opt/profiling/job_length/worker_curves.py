"""How much faster a worker is on more cores, and how much slower on a part of a GPU."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from muri_opt.errors import InputError
from muri_opt.profiling.job_length.curve_fit import HYPERBOLA, SATURATION, Curve, Family, Floats, fit_curve
from muri_opt.profiling.job_length.nonnegative_fit import MOST_COEFFICIENT
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.field_checks import items
from muri_opt.rounds.quantities import MAX_CPUS, finite

_MOST_FACTOR: Final = 1e6
_STEEPEST: Final = 50.0
_STRAIGHT: Final = 1e-3
_WIDEST: Final = 1e5
_FLAT: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreEfficiency:
    """The speed of a worker on x cores, eff(x) = a exp(-b x) + d, in any unit: more cores help less and less.

    ``a`` is not above 0, ``b`` and ``d`` are not below. Few cores may have no speed by it: those are refused.
    """

    a: float
    b: float
    d: float

    def __post_init__(self) -> None:
        a: Any = self.a
        if not isinstance(a, (int, float)) or isinstance(a, bool) or not -MOST_COEFFICIENT <= a <= 0:
            raise InputError("a", shown(a), f"a number from -{MOST_COEFFICIENT:g} to 0")
        object.__setattr__(self, "a", float(a))
        object.__setattr__(self, "b", finite("b", self.b, MOST_COEFFICIENT))
        object.__setattr__(self, "d", finite("d", self.d, MOST_COEFFICIENT, positive=True))

    def efficiency(self, cores: float) -> float:
        """Return the speed on so many cores."""
        found = self.a * math.exp(-self.b * finite("cores", cores, MAX_CPUS, positive=True)) + self.d
        if found <= 0:
            raise InputError("cores", shown(cores), "enough cores for a speed above 0")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuShareFactor:
    """The time on a share of a GPU over that on the whole of it: b0 / (b1 + share) + b2, no coefficient negative."""

    b0: float
    b1: float
    b2: float

    def __post_init__(self) -> None:
        for name in ("b0", "b1", "b2"):
            object.__setattr__(self, name, finite(name, getattr(self, name), MOST_COEFFICIENT))
        if not self.b0 and not self.b2:
            raise InputError("b2", "0, as is b0", "a factor above 0")

    def factor(self, share: float) -> float:
        """Return how many times the time of the whole GPU the share takes."""
        return self.b0 / (self.b1 + finite("share", share, 1.0, positive=True)) + self.b2


def fit_efficiency(cores: Iterable[float], speeds: Iterable[float]) -> CoreEfficiency:
    """Return the curve of least squared error through speeds on numbers of cores; three numbers of cores at least.

    Speeds that do not grow with the cores tell neither ``a`` nor ``b``, and are refused.
    """
    x, y = _samples("cores", cores, MAX_CPUS, "speeds", speeds, _MOST_FACTOR, ("a", "b", "d"))
    unit = float(y.max())
    curve = _fit(SATURATION, x, y / unit, (math.log(_STRAIGHT), math.log(_STEEPEST)))
    first, span = float(x.min()), float(np.ptp(x))
    rate = math.exp(curve.s)
    flat = curve.c * -math.expm1(-rate) <= _FLAT
    if flat or math.log(curve.c * unit) + rate * first / span > math.log(MOST_COEFFICIENT):
        raise _open(("a", "b"), "speeds that grow with the cores, less and less")
    return CoreEfficiency(a=-curve.c * math.exp(rate * first / span) * unit, b=rate / span, d=curve.d * unit)


def fit_share_factor(shares: Iterable[float], factors: Iterable[float]) -> GpuShareFactor:
    """Return the curve of least squared error through time factors on shares of a GPU; three shares at least.

    Factors that do not fall with the share tell neither ``b0`` nor ``b1``, and are refused.
    """
    x, y = _samples("shares", shares, 1.0, "factors", factors, _MOST_FACTOR, ("b0", "b1", "b2"))
    unit, first, span = float(y.max()), float(x.min()), float(np.ptp(x))
    least = math.log(first / span)
    curve = _fit(HYPERBOLA, x, y / unit, (least, max(least + 1, math.log(_WIDEST))))
    u = math.exp(curve.s)
    if curve.c / (1 + u) <= _FLAT:
        raise _open(("b0", "b1"), "factors that fall as the share grows")
    return GpuShareFactor(b0=curve.c * u * span * unit, b1=max(u * span - first, 0.0), b2=curve.d * unit)


def _fit(family: Family, x: Floats, y: Floats, shapes: tuple[float, float]) -> Curve:
    return fit_curve(family, (x - x.min()) / np.ptp(x), y, np.full(x.size, 1 / x.size), shapes)


def _samples(
    of: str,
    amounts: Iterable[Any],
    most: float,
    to: str,
    values: Iterable[Any],
    highest: float,
    names: tuple[str, ...],
) -> tuple[Floats, Floats]:
    x = [finite(f"{of}[{i}]", value, most, positive=True) for i, value in enumerate(items(of, amounts))]
    y = [finite(f"{to}[{i}]", value, highest, positive=True) for i, value in enumerate(items(to, values))]
    if len(x) != len(y):
        raise InputError(to, f"{len(y)} {to} for {len(x)} {of}", "one for each")
    if len(set(x)) < len(names):
        raise _open(names, f"samples at three or more different {of}")
    return np.array(x), np.array(y)


def _open(names: tuple[str, ...], allowed: str) -> InputError:
    return InputError("samples", f"nothing that tells {', '.join(names)}", allowed)
