"""Performance models in files: written with how good the fit was, read back equal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import msgspec

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed.coefficients import Coefficients
from muri_opt.profiling.plan_speed.fitting import Fit
from muri_opt.profiling.plan_speed.performance import Measurement, PerformanceModel
from muri_opt.profiling.plan_speed.record_files import check_keys, planned, record
from muri_opt.profiling.plan_speed.sample_files import json_object, placed_in
from muri_opt.profiling.plan_speed.shape import Links
from muri_opt.profiling.plan_speed.transformer import Model
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.field_checks import items, pairs
from muri_opt.rounds.text_files import read_text

PERFORMANCE_FORMAT: Final = "muri-opt/performance/1"
_DIGITS: Final = 9
_REQUIRED: Final = ("model", "links", "form", "coefficients", "forward_ms")


def performance_json(performance: PerformanceModel, fit: Fit | None = None) -> str:
    """Return the text of a model file; ``fit`` is told about for people, and has no part in what is read back."""
    answer: dict[str, Any] = {
        "format": PERFORMANCE_FORMAT,
        "model": asdict(performance.model),
        "links": _without_none(asdict(performance.links)),
        "form": performance.form,
        "coefficients": asdict(performance.coefficients),
        "forward_ms": {str(gpus): time for gpus, time in performance.forward_ms.items()},
        "measured": [_flat(entry) for entry in performance.measured],
    }
    if fit is not None:
        answer["fit"] = fit_summary(fit)
    return msgspec.json.format(msgspec.json.encode(answer), indent=1).decode() + "\n"


def read_performance(path: str | os.PathLike[str]) -> PerformanceModel:
    """Return the performance model in a file; every fault is one :class:`InputError` that names file and field."""
    try:
        return parse_performance(read_text(path, "a performance model"))
    except InputError as error:
        place = str(path) if error.field == "file" else f"{path}: {error.field}"
        raise InputError(place, error.found, error.allowed) from None


def parse_performance(text: str) -> PerformanceModel:
    """Return the performance model that the JSON ``text`` holds."""
    found = json_object(text, PERFORMANCE_FORMAT)
    check_keys(found, (*_REQUIRED, "measured", "fit"), _REQUIRED)
    return PerformanceModel(
        model=placed_in("model", lambda v: record(Model, v), found["model"]),
        links=placed_in("links", lambda v: record(Links, v), found["links"]),
        form=found["form"],
        coefficients=placed_in("coefficients", lambda v: record(Coefficients, v), found["coefficients"]),
        forward_ms={_count(gpus): time for gpus, time in pairs("forward_ms", found["forward_ms"])},
        measured=tuple(
            placed_in(f"measured[{position}]", lambda v: planned(Measurement, v), values)
            for position, values in enumerate(items("measured", found.get("measured", ())))
        ),
    )


def fit_summary(fit: Fit) -> dict[str, Any]:
    """Return the errors of a fit in short: relative, over its samples and over the samples held out one by one."""
    held = [error for error in fit.held_out if error is not None]
    return {
        "samples": len(fit.errors),
        **_mean_and_max("", fit.errors),
        "held_out": len(held),
        **_mean_and_max("held_out_", held),
        "at_bounds": list(fit.at_bounds),
    }


def _mean_and_max(prefix: str, errors: Sequence[float]) -> dict[str, float]:
    if not errors:
        return {}
    mean, most = sum(errors) / len(errors), max(errors)
    return {f"{prefix}mean_error": round(mean, 6), f"{prefix}max_error": round(most, 6)}


def _flat(entry: Measurement) -> dict[str, Any]:
    values = asdict(entry)
    return _without_none({**values.pop("plan"), **values})


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise InputError("forward_ms key", shown(text), "a number of GPUs in quotes")
    return int(text)
