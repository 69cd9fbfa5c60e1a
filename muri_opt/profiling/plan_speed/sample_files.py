"""Profiled runs in files: JSON with the model and its links, CSV with more rows."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed.performance import Measurement
from muri_opt.profiling.plan_speed.record_files import check_keys, planned, record
from muri_opt.profiling.plan_speed.sample import Sample
from muri_opt.profiling.plan_speed.shape import Links
from muri_opt.profiling.plan_speed.transformer import Model
from muri_opt.rounds.error_text import shortened, shown
from muri_opt.rounds.field_checks import items
from muri_opt.rounds.text_files import read_text

SAMPLES_FORMAT: Final = "muri-opt/samples/1"
_WHOLE: Final = ("gpus", "pp", "tp", "dp", "accumulation", "nodes")
_TRUTH: Final = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSet:
    """A model, the links it was profiled on, its profiled runs and measured throughputs."""

    model: Model
    links: Links
    samples: tuple[Sample, ...]
    measured: tuple[Measurement, ...]


def read_samples(paths: Iterable[str | os.PathLike[str]]) -> SampleSet:
    """Return what the files hold together; every fault is one :class:`InputError` that names file, place and field.

    Exactly one file is JSON and says model and links. A CSV file holds samples, or measured throughputs if it has a
    column ``throughput``; an empty cell is a field left out.
    """
    head: dict[str, Any] | None = None
    samples: list[Sample] = []
    measured: list[Measurement] = []
    for path in paths:
        try:
            text = read_text(path, "samples")
            if str(path).lower().endswith(".csv"):
                _add_rows(text, samples, measured)
                continue
            head = _head(text, head, samples, measured)
        except InputError as error:
            raise _in_file(path, error) from None
    if head is None:
        raise InputError("files", "no JSON file", "one JSON file that says model and links, and CSV files with rows")
    return SampleSet(model=head["model"], links=head["links"], samples=tuple(samples), measured=tuple(measured))


def json_object(text: str, format_: str) -> dict[str, Any]:
    """Return the JSON object of a text with that format tag, without the tag."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError("file", f"text that is not JSON ({shortened(str(error))})", "one JSON object") from None
    if not isinstance(found, dict):
        raise InputError("file", shown(found), "one JSON object")
    tag = found.pop("format", None)
    if tag != format_:
        raise InputError("format", "nothing" if tag is None else shown(tag), repr(format_))
    return found


def placed_in(field: str, make: Any, values: Any) -> Any:
    """Return what ``make`` makes of the values; an error is placed inside ``field``."""
    try:
        return make(values)
    except InputError as error:
        raise error.inside(field) from None


def _head(
    text: str, before: dict[str, Any] | None, samples: list[Sample], measured: list[Measurement]
) -> dict[str, Any]:
    if before is not None:
        raise InputError("file", "a second JSON file", "one JSON file, and CSV files with more rows")
    found = json_object(text, SAMPLES_FORMAT)
    check_keys(found, ("model", "links", "samples", "measured"), ("model", "links"))
    for position, values in enumerate(items("samples", found.get("samples", ()))):
        samples.append(placed_in(f"samples[{position}]", lambda v: planned(Sample, v), values))
    for position, values in enumerate(items("measured", found.get("measured", ()))):
        measured.append(placed_in(f"measured[{position}]", lambda v: planned(Measurement, v), values))
    return {
        "model": placed_in("model", lambda v: record(Model, v), found["model"]),
        "links": placed_in("links", lambda v: record(Links, v), found["links"]),
    }


def _add_rows(text: str, samples: list[Sample], measured: list[Measurement]) -> None:
    try:
        rows = list(csv.DictReader(io.StringIO(text), strict=True))
    except csv.Error as error:
        raise InputError("file", f"text that is not CSV ({error})", "rows under a header") from None
    if not rows:
        raise InputError("file", "no row", "a header and at least one row")
    for number, row in enumerate(rows, start=2):
        place = f"line {number}"
        if "throughput" in row:
            measured.append(placed_in(place, lambda r: planned(Measurement, _values(r)), row))
        else:
            samples.append(placed_in(place, lambda r: planned(Sample, _values(r)), row))


def _values(row: dict[str | None, Any]) -> dict[str, Any]:
    """Return the cells of a row as the kinds their columns hold, without the empty ones."""
    if None in row or None in row.values():
        raise InputError("row", "another number of cells than the header has", "one cell per column")
    return {str(name): _value(str(name), cell.strip()) for name, cell in row.items() if cell.strip()}


def _value(name: str, cell: str) -> Any:
    if name == "states":
        return cell
    if name == "checkpointing":
        if cell.lower() not in _TRUTH:
            raise InputError(name, shown(cell), "true or false")
        return _TRUTH[cell.lower()]
    try:
        return int(cell) if name in _WHOLE else float(cell)
    except ValueError:
        raise InputError(name, shown(cell), "a whole number" if name in _WHOLE else "a number") from None


def _in_file(path: str | os.PathLike[str], error: InputError) -> InputError:
    place = str(path) if error.field == "file" else f"{path}: {error.field}"
    return InputError(place, error.found, error.allowed)
