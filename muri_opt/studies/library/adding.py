"""A new instance: its round, and what solving it finds, as the two files of the library."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds import Result, Round, write_round
from muri_opt.studies.library.best import BEST_FORMAT, Best, Optimum, save_best
from muri_opt.studies.library.check import check_optimum
from muri_opt.studies.library.gap_check import check_gap
from muri_opt.studies.library.gaps import Gap
from muri_opt.studies.library.improve import optimum_of
from muri_opt.studies.library.instance import FAMILIES, Instance, read_instance
from muri_opt.studies.library.recipe import Recipe, load_instance


def add(
    folder: str | os.PathLike[str],
    name: str,
    given: Round | Recipe,
    results: Sequence[Result],
    *,
    source: str,
    today: datetime.date,
    gaps: Sequence[Gap] = (),
) -> Instance:
    """Return the instance ``family/name``, written with what ``results`` and ``gaps`` say of its round once checked.

    A file that holds the same round already is left as somebody wrote it. A stored round is best called by its name in
    the library too.
    """
    family, own = instance_name(name)
    round_ = given.round() if isinstance(given, Recipe) else given
    optima = tuple(_checked(name, round_, result, today) for result in results)
    best = Best(format=BEST_FORMAT, fingerprint=round_.fingerprint, source=source, optima=optima, gaps=tuple(gaps))
    _check_gaps(name, round_, best)
    path = Path(folder) / family / f"{own}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or load_instance(path) != given:
        _write_given(given, path)
    save_best(best, path)
    return read_instance(path, family)


def instance_name(name: str) -> tuple[str, str]:
    """Return family and own name of ``family/name``, or refuse what no instance can be called."""
    family, stroke, own = name.partition("/")
    if family not in FAMILIES:
        raise unknown_name("family", family, FAMILIES)
    if not stroke or not own or "/" in own or own.startswith("."):
        raise InputError("name", repr(name), "family/name")
    return family, own


def _write_given(given: Round | Recipe, path: Path) -> None:
    if isinstance(given, Round):
        write_round(given, path)
    else:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(given), indent=1) + b"\n")


def _check_gaps(name: str, round_: Round, best: Best) -> None:
    for gap in best.gaps:
        for fault in check_gap(round_, best, gap):
            raise InputError(f"{name}, {gap.policy}", f"{fault.rule}: {fault.detail}", "a gap that verifies")


def _checked(name: str, round_: Round, result: Result, today: datetime.date) -> Optimum:
    optimum = optimum_of(round_, result, today)
    if optimum is None:
        raise InputError(f"{name}, {result.policy}", "no decision", "a result with a decision")
    _, faults = check_optimum(round_, result.fingerprint, optimum)
    if faults:
        raise InputError(f"{name}, {result.policy}", f"{faults[0].rule}: {faults[0].detail}", "a result that verifies")
    return optimum
