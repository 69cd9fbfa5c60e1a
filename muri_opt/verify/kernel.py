"""The kernel: is this point feasible, and is this bound true? Plain Python integers, nothing imported from the package.

A *program* is an integer linear program with whole-number data: maximise (or minimise) ``sum objective[j] * x[j]``
subject to rows ``sum coefficient * x[column]  <=, >= or =  right side`` and ``lower[j] <= x[j] <= upper[j]``.

A *certificate* is a program with two things that anybody can check by hand:

* a ``point``: every row is added up and compared, which shows that its value can be reached;
* a ``proof``: multipliers of the rows, which by weak duality show that no point does better, or a tree that splits the
  program in two on one whole-number column until multipliers settle every leaf (branch and bound).

Weak duality, for a maximisation with a multiplier ``y[i]`` for every row (at least 0 for ``<=``, at most 0 for ``>=``):
for every feasible ``x``, ``sum y[i] * (right[i] - row[i](x)) >= 0``, so

    objective(x)  <=  sum y[i] * right[i]  +  sum over j of the largest (objective[j] - sum y[i] * a[i][j]) * x[j]

and the largest value of the last product over ``lower[j] <= x[j] <= upper[j]`` is at one of the two ends. A solver's
multipliers may be rounded in any way: another ``y`` gives another bound, but never a wrong one.

    python -m muri_opt.verify.kernel CERTIFICATE.json
"""

import json
import sys
from collections.abc import Iterable
from typing import Any

Record = dict[str, Any]
Box = list[tuple[int, int]]
FORMAT = "muri-opt/program/1"


class Refuted(Exception):  # noqa: N818 - what it says of the certificate
    """The certificate does not show what it says; the text says where."""


def check(certificate: Record) -> tuple[int, int]:
    """Return the value of the point and the bound that the proof shows; :class:`Refuted` if either is not as said."""
    try:
        return _checked(certificate)
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise Refuted(f"not a certificate: {type(error).__name__} {error}") from None


def _checked(certificate: Record) -> tuple[int, int]:
    if certificate["format"] != FORMAT:
        raise Refuted(f"format: found {certificate['format']!r}, known is {FORMAT!r}")
    sign = 1 if certificate["maximise"] else -1
    columns, rows = certificate["columns"], certificate["rows"]
    _whole(number for column in columns for number in (column["lower"], column["upper"], column["objective"]))
    _whole(number for row in rows for number in (row["right"], *row["coefficients"], *row["columns"]))
    _whole((certificate["value"], certificate["bound"], certificate["denominator"]))
    value = point_value(columns, rows, certificate["point"])
    box = [(column["lower"], column["upper"]) for column in columns]
    bound = sign * proved(certificate["proof"], sign, columns, rows, box, certificate["denominator"])
    if value != certificate["value"]:
        raise Refuted(f"value: said {certificate['value']}, the point has {value}")
    if sign * bound > sign * certificate["bound"]:
        raise Refuted(f"bound: said {certificate['bound']}, proved is {bound}")
    return value, bound


def point_value(columns: list[Record], rows: list[Record], point: list[int]) -> int:
    """Return the objective of a point that keeps every bound and every row."""
    _whole(point)
    if len(point) != len(columns):
        raise Refuted(f"point: {len(point)} numbers for {len(columns)} columns")
    for column, x in zip(columns, point, strict=True):
        if not column["lower"] <= x <= column["upper"]:
            raise Refuted(f"column {column['name']}: {x} is not within {column['lower']} and {column['upper']}")
    for row in rows:
        total = sum(a * point[j] for a, j in zip(row["coefficients"], row["columns"], strict=True))
        if not {"<=": total <= row["right"], ">=": total >= row["right"], "=": total == row["right"]}[row["sense"]]:
            raise Refuted(f"row {row['name']}: {total} is not {row['sense']} {row['right']}")
    return sum(column["objective"] * x for column, x in zip(columns, point, strict=True))


def proved(proof: Record, sign: int, columns: list[Record], rows: list[Record], box: Box, denominator: int) -> int:
    """Return a bound on ``sign * objective`` over the whole points of the box.

    A split on column ``j`` at ``v`` covers the box: a whole number is at most ``v`` or at least ``v + 1``.
    """
    if "multipliers" in proof:
        return dual_bound(proof["multipliers"], sign, columns, rows, box, denominator)
    j, at = proof["column"], proof["at"]
    _whole((j, at))
    low, high = box[j]
    below, above = [*box], [*box]
    below[j], above[j] = (low, min(high, at)), (max(low, at + 1), high)
    return max(
        proved(proof["below"], sign, columns, rows, below, denominator),
        proved(proof["above"], sign, columns, rows, above, denominator),
    )


def dual_bound(
    multipliers: dict[str, int], sign: int, columns: list[Record], rows: list[Record], box: Box, denominator: int
) -> int:
    """Return the weak-duality bound of ``sign * objective``, rounded down: the objective of a whole point is whole.

    Multipliers are whole numbers over ``denominator``, by the position of the row; a row without one has 0.
    """
    _whole(multipliers.values())
    if denominator < 1:
        raise Refuted(f"denominator: found {denominator}, allowed is 1 or more")
    reduced = [sign * denominator * column["objective"] for column in columns]
    total = 0
    for position, y in multipliers.items():
        row = rows[int(position)]
        if (row["sense"] == "<=" and y < 0) or (row["sense"] == ">=" and y > 0):
            raise Refuted(f"row {row['name']}: a multiplier of {y} has the wrong sign for {row['sense']}")
        total += y * row["right"]
        for a, j in zip(row["coefficients"], row["columns"], strict=True):
            reduced[j] -= y * a
    for cost, (low, high) in zip(reduced, box, strict=True):
        total += max(cost * low, cost * high)
    return total // denominator


def _whole(numbers: Iterable[object]) -> None:
    for number in numbers:
        if type(number) is not int:
            raise Refuted(f"found {number!r}, allowed are whole numbers")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 - as few imports as can be
        shown = check(json.load(file))
    print(f"feasible with value {shown[0]}; no point is better than {shown[1]}")  # noqa: T201
