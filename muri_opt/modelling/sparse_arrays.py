"""Checked arrays of whole numbers, and sparse rows made from triplets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from muri_opt.errors import InputError
from muri_opt.modelling.model import INFINITY, Ints


def whole_numbers(field: str, values: ArrayLike, *, most: int = INFINITY - 1) -> Ints:
    """Return ``values`` as int64, refusing fractions and anything larger in size than ``most``."""
    try:
        array: Any = np.asarray(values)
    except ValueError:
        raise InputError(field, "lists of several lengths", "an array of whole numbers") from None
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    if array.dtype.kind not in "iu" and not (array.dtype == object and all(type(v) is int for v in array.flat)):
        raise InputError(field, f"values of type {array.dtype}", "whole numbers")
    if int(array.max()) > most or int(array.min()) < -most:
        raise InputError(
            field, f"numbers from {array.min()} to {array.max()}", f"whole numbers of at most {most:,} in size"
        )
    result: Ints = array.astype(np.int64)
    return result


def subscripts(field: str, index: ArrayLike) -> Ints:
    """Return one row of subscripts per member of a family; a flat list is one subscript each."""
    array = whole_numbers(field, index)
    if array.ndim not in (1, 2) or (array.size and array.min() < 0):
        raise InputError(
            field, f"an array of shape {array.shape}", "rows of subscripts of at least 0, or a list of them"
        )
    return array.reshape(-1, 1) if array.ndim == 1 else array


def spread(field: str, values: Ints, size: int) -> Ints:
    """Return one value per member of a family, from as many or from one for all."""
    if values.shape not in ((), (1,), (size,)):
        raise InputError(field, f"an array of shape {values.shape}", f"one value, or {size}")
    return np.broadcast_to(values, (size,)).copy()


def triplets(label: str, rows: Ints, columns: Ints, coefficients: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the three parts of the entries, brought to one length."""
    try:
        even = np.broadcast_arrays(rows, columns, coefficients)
    except ValueError:
        shapes = f"shapes {rows.shape}, {columns.shape} and {coefficients.shape}"
        raise InputError(f"{label}.entries", shapes, "rows, columns and coefficients of one length") from None
    return even[0].ravel(), even[1].ravel(), even[2].ravel()


def compress(label: str, entries: tuple[Ints, Ints, Ints], size: int, width: int) -> tuple[Ints, Ints, Ints]:
    """Return (starts, columns, coefficients) of ``size`` sparse rows: sorted, equal places added up, zeros dropped."""
    rows, columns, coefficients = entries
    key = rows * max(width, 1) + columns
    if len(key) and not (key[1:] > key[:-1]).all():
        order = ascending(key)
        key, rows, columns, coefficients = (part.take(order) for part in (key, rows, columns, coefficients))
        fresh = np.append(True, key[1:] > key[:-1])
        if not fresh.all():
            place = np.cumsum(fresh) - 1
            rows, columns = rows[fresh], columns[fresh]
            coefficients = added_up(label, len(rows), place, coefficients)
    kept = coefficients != 0
    if not kept.all():
        rows, columns, coefficients = rows[kept], columns[kept], coefficients[kept]
    starts = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=size), out=starts[1:])
    return starts, columns.astype(np.int64), coefficients.astype(np.int64)


def ascending(key: Ints) -> Ints:
    """Return the stable order of numbers of at least 0: by 16 bits at a time, twice as fast as sorting them whole."""
    order: Ints = np.argsort(key.astype(np.uint16), kind="stable")
    for shift in range(16, int(key.max(initial=0)).bit_length(), 16):
        digit = (key >> shift).astype(np.uint16).take(order)
        order = order.take(np.argsort(digit, kind="stable"))
    return order


def added_up(label: str, size: int, place: Ints, amounts: Ints) -> Ints:
    """Return for each of ``size`` places the sum of its amounts, refusing one that int64 cannot hold."""
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, place, amounts)
    # The sum in floats is far from a sum that wrapped around, and near to any other.
    rough = np.bincount(place, weights=amounts, minlength=size)
    if np.any(np.abs(rough) >= INFINITY) or np.any(np.abs(total) >= INFINITY):
        raise InputError(f"{label}.coefficient", f"a sum of about {np.abs(rough).max():.3g}", "sums of less than 2**62")
    return total
