"""Models as text that any solver reads: the LP format for people, free MPS for machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from muri_opt.errors import InputError
from muri_opt.modelling.model import INFINITY, Model

_LINE = 200


def lp_text(model: Model) -> str:
    """Return the canonical LP text: the same model always gives the same bytes."""
    names, rows = _distinct("columns", model.column_names), _distinct("rows", model.row_names)
    matrix = model.matrix
    lines = [f"\\ {' '.join(model.name.split())[:_LINE]}", "Maximize" if model.maximise else "Minimize"]
    used = np.flatnonzero(model.objective).tolist()
    lines += _wrapped(" obj:", _terms(names, used, model.objective[used].tolist()))
    lines.append("Subject To")
    senses = [family.sense for family in model.rows for _ in range(len(family))]
    sides = [right for family in model.rows for right in family.rhs.tolist()]
    starts = matrix.starts.tolist()
    for row, name in enumerate(rows):
        span = slice(starts[row], starts[row + 1])
        terms = _terms(names, matrix.columns[span].tolist(), matrix.coefficients[span].tolist())
        lines += _wrapped(f" {name}:", terms)
        lines[-1] += f" {senses[row]} {sides[row]}"
    lines.append("Bounds")
    for name, low, high in zip(names, model.lower.tolist(), model.upper.tolist(), strict=True):
        lines.append(f" {_low(low)} <= {name} <= {'+inf' if high >= INFINITY else high}")
    general = [name for name, whole in zip(names, model.integer.tolist(), strict=True) if whole]
    if general:
        lines.append("General")
        lines += _wrapped("", general)
    lines.append("End")
    return "\n".join(lines) + "\n"


def mps_text(model: Model) -> str:
    """Return the model in free MPS, by columns; a maximisation is written with the ``OBJSENSE`` section."""
    return "\n".join(_mps_lines(model)) + "\n"


def _mps_lines(model: Model) -> Iterator[str]:
    names, rows = _distinct("columns", model.column_names), _distinct("rows", model.row_names)
    yield f"NAME {'_'.join(model.name.split()) or 'model'} FREE"
    yield from ("OBJSENSE", f"    {'MAX' if model.maximise else 'MIN'}", "ROWS", " N obj")
    letter = {"<=": "L", ">=": "G", "=": "E"}
    senses = [letter[family.sense] for family in model.rows for _ in range(len(family))]
    yield from (f" {sense} {name}" for sense, name in zip(senses, rows, strict=True))
    yield "COLUMNS"
    yield from _mps_entries(model, names, rows)
    yield "RHS"
    sides = [right for family in model.rows for right in family.rhs.tolist()]
    yield from (f" rhs {name} {right}" for name, right in zip(rows, sides, strict=True) if right)
    yield "BOUNDS"
    for name, low, high in zip(names, model.lower.tolist(), model.upper.tolist(), strict=True):
        yield f" MI bound {name}" if low <= -INFINITY else f" LO bound {name} {low}"
        yield f" PL bound {name}" if high >= INFINITY else f" UP bound {name} {high}"
    yield "ENDATA"


def _mps_entries(model: Model, names: tuple[str, ...], rows: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of all coefficients, column by column, made in one go and cut where integer columns begin or end.

    The objective counts as one more row, with all its zeros, so that every column is named in order.
    """
    matrix = model.matrix
    columns = np.concatenate([np.arange(len(names)), matrix.columns])
    owner = np.repeat(np.arange(len(rows)), np.diff(matrix.starts))
    order = np.argsort(columns, kind="stable")
    column_of = columns[order].tolist()
    row_of = np.concatenate([np.full(len(names), len(rows)), owner])[order].tolist()
    coefficients = np.concatenate([model.objective, matrix.coefficients])[order].tolist()
    heads, tails = [f" {name} " for name in names], [*(f"{name} " for name in rows), "obj "]
    entries = zip(column_of, row_of, coefficients, strict=True)
    lines = [f"{heads[column]}{tails[row]}{coefficient}" for column, row, coefficient in entries]
    cuts = np.flatnonzero(np.diff(model.integer, prepend=np.False_, append=np.False_)).tolist()
    places = np.searchsorted(columns[order], cuts).tolist()
    done = 0
    for at, place in enumerate(places):
        yield from lines[done:place]
        yield f" MARKER 'MARKER' '{'INTEND' if at % 2 else 'INTORG'}'"
        done = place
    yield from lines[done:]


def _distinct(what: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names, refusing one that stands for two things: a reader would mix them up."""
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise InputError(what, f"two of the name {twice}", "labels and subscripts that give each a name of its own")
    return names


def _terms(names: tuple[str, ...], columns: list[int], coefficients: list[int]) -> list[str]:
    if not columns:
        return [f"0 {names[0]}"] if names else ["0"]
    return [f"{'+' if c >= 0 else '-'} {abs(c)} {names[j]}" for j, c in zip(columns, coefficients, strict=True)]


def _wrapped(head: str, terms: Iterable[str]) -> list[str]:
    """Return ``head`` and the terms on lines of bounded length: some readers stop at 255 characters."""
    lines, current = [], head
    for term in terms:
        if len(current) + len(term) > _LINE:
            lines.append(current)
            current = " "
        current += f" {term}"
    return [*lines, current]


def _low(low: int) -> str:
    return "-inf" if low <= -INFINITY else str(low)
