"""Units and bounds of the numbers in a round, and the checks that enforce them.

Files and objects carry seconds, CPUs and GiB as people write them. Every such number is snapped, when an object is
made, to a grid of whole microseconds (milliseconds for GPU seconds), milli-CPUs or MiB, so that all arithmetic after
that is on integers and a round written to a file reads back equal.

Snapping what is snapped changes nothing: a number of at most ``MAX_SECONDS`` is at most 2e15 microseconds, and the two
roundings of dividing and multiplying by 1e6 move it by at most 2e15 / 2**52, which is less than half a microsecond.
"""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import number_range, shown, whole_range

MAX_GPUS = 1_000_000
MAX_CPUS = 1_000_000.0
MAX_MEMORY_GIB = 10_000_000.0
MAX_SECONDS = 2_000_000_000.0  # larger and a float could not tell one microsecond from the next
MAX_GPU_SECONDS = 2_000_000_000_000.0  # likewise for milliseconds
MAX_ITERATIONS = 10**12
MAX_COUNT = 1_000_000_000
MAX_RATE = 1e12

MICROSECONDS_PER_SECOND = 1_000_000
MILLISECONDS_PER_SECOND = 1000
MILLI_PER_CPU = 1000
MIB_PER_GIB = 1024


def microseconds(seconds: float) -> int:
    """Return the whole microseconds nearest to ``seconds``."""
    return round(seconds * MICROSECONDS_PER_SECOND)


def gpu_milliseconds(gpu_seconds: float) -> int:
    """Return the whole milliseconds nearest to ``gpu_seconds``, a time summed over GPUs."""
    return round(gpu_seconds * MILLISECONDS_PER_SECOND)


def milli_cpus(cpus: float) -> int:
    """Return the whole milli-CPUs nearest to ``cpus``."""
    return round(cpus * MILLI_PER_CPU)


def mebibytes(gib: float) -> int:
    """Return the whole MiB nearest to ``gib``."""
    return round(gib * MIB_PER_GIB)


def check_whole(owner: Any, field: str, most: int = MAX_COUNT, least: int = 0) -> None:
    """Refuse anything but a whole number from ``least`` to ``most``; store it as a plain ``int``."""
    value = getattr(owner, field)
    if type(value) is not int or not least <= value <= most:
        msgspec.structs.force_setattr(owner, field, whole(field, value, most, least))


def whole(field: str, value: Any, most: int, least: int = 0) -> int:
    """Return ``value`` as a plain ``int``, or refuse it; numpy's whole numbers are welcome, ``True`` is none."""
    good = type(value) is int or (isinstance(value, numbers.Integral) and not isinstance(value, bool))
    number = operator.index(value) if good else least - 1
    if not least <= number <= most:
        raise InputError(field, shown(value), whole_range(least, most))
    return number


def finite(field: str, value: Any, most: float, *, positive: bool = False) -> float:
    """Return ``value`` as a finite, non-negative ``float`` of at most ``most``, or refuse it."""
    good = type(value) is float or (isinstance(value, numbers.Real) and not isinstance(value, bool))
    try:
        number = float(value) if good else math.nan
    except OverflowError:  # a whole number no float can hold
        number = math.inf
    if not 0 <= number <= most or (positive and number == 0):
        raise InputError(field, shown(value), number_range(most, positive=positive))
    return number


def snapped(field: str, value: Any, most: float, per_unit: int) -> float:
    """Return ``value`` moved to the nearest whole number of parts, ``per_unit`` of which make one."""
    return round(finite(field, value, most) * per_unit) / per_unit


def _snap(owner: Any, field: str, most: float, per_unit: int) -> None:
    value = getattr(owner, field)
    if value is None:
        return
    if type(value) is float and 0 <= value <= most:  # as files have it: no need to look twice
        value = round(value * per_unit) / per_unit
    else:
        value = snapped(field, value, most, per_unit)
    msgspec.structs.force_setattr(owner, field, value)


def check_seconds(owner: Any, *fields: str) -> None:
    """Check optional times and snap them to whole microseconds."""
    for field in fields:
        _snap(owner, field, MAX_SECONDS, MICROSECONDS_PER_SECOND)


def check_gpu_seconds(owner: Any, field: str) -> None:
    """Check an optional time summed over GPUs and snap it to whole milliseconds."""
    _snap(owner, field, MAX_GPU_SECONDS, MILLISECONDS_PER_SECOND)


def check_cpus(owner: Any) -> None:
    """Check the optional field ``cpus`` and snap it to whole milli-CPUs."""
    _snap(owner, "cpus", MAX_CPUS, MILLI_PER_CPU)


def check_memory(owner: Any) -> None:
    """Check the optional field ``memory_gib`` and snap it to whole MiB."""
    _snap(owner, "memory_gib", MAX_MEMORY_GIB, MIB_PER_GIB)
