"""Outcomes of replays in files: compressed arrays that read back as they were."""

from __future__ import annotations

import io
import os
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np

from muri_opt.errors import InputError
from muri_opt.replay.outcome import JobOutcomes, Outcome, Timeline

OUTCOME_FORMAT: Literal["muri-opt/outcome/1"] = "muri-opt/outcome/1"
_TEXTS: Final = ("ids", "tenants")
_JOB_ARRAYS: Final = tuple(entry.name for entry in fields(JobOutcomes) if entry.name not in _TEXTS)
_TIME_ARRAYS: Final = tuple(entry.name for entry in fields(Timeline))


class _Words(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of an outcome that is no array."""

    format: Literal["muri-opt/outcome/1"] = OUTCOME_FORMAT
    workload: str
    policy: str
    clock: str
    cluster: str
    seed: int
    total_gpus: int
    rounds: int
    decision_seconds: float
    counted: int
    settled: int
    resources: tuple[str, ...]
    ids: tuple[str, ...]
    tenants: tuple[str | None, ...]


def outcome_bytes(outcome: Outcome) -> bytes:
    """Return an outcome as the bytes of an ``.npz`` file: an array per figure, and one of JSON text for the rest."""
    jobs, timeline = outcome.jobs, outcome.timeline
    words = _Words(
        ids=jobs.ids,
        tenants=jobs.tenants,
        **{name: getattr(outcome, name) for name in _Words.__struct_fields__ if name not in ("format", *_TEXTS)},
    )
    arrays: dict[str, Any] = {"words": np.frombuffer(msgspec.json.encode(words), dtype=np.uint8)}
    arrays |= {f"jobs.{name}": getattr(jobs, name) for name in _JOB_ARRAYS}
    arrays |= {f"timeline.{name}": getattr(timeline, name) for name in _TIME_ARRAYS}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def load_outcome(path: str | os.PathLike[str]) -> Outcome:
    """Return the outcome in a file; one that holds something else is refused."""
    allowed = "a file of an outcome, as a study that keeps them writes it"
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as found:
            words = msgspec.json.decode(found["words"].tobytes(), type=_Words)
            job_arrays = {name: found[f"jobs.{name}"] for name in _JOB_ARRAYS}
            time_arrays = {name: found[f"timeline.{name}"] for name in _TIME_ARRAYS}
    except OSError as error:
        raise InputError(str(path), error.strerror or str(error), allowed) from None
    except (ValueError, TypeError, AttributeError, EOFError, KeyError, zipfile.BadZipFile, msgspec.DecodeError):
        raise InputError(str(path), "something else", allowed) from None
    return Outcome(
        jobs=JobOutcomes(ids=words.ids, tenants=words.tenants, **job_arrays),
        timeline=Timeline(**time_arrays),
        **{name: getattr(words, name) for name in _Words.__struct_fields__ if name not in ("format", *_TEXTS)},
    )
