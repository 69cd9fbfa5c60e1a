"""A worst case into the library: the round, its optimum, and the gap with its proof."""

from __future__ import annotations

import datetime
import os

import msgspec

from muri_opt.rounds import Round
from muri_opt.studies.library import Instance, add
from muri_opt.studies.worst_case.measure import Measure


def save(
    folder: str | os.PathLike[str], name: str, round_: Round, measure: Measure, *, source: str, today: datetime.date
) -> Instance:
    """Return the new instance ``family/name`` of the library in ``folder``, checked as a stored one is."""
    named = msgspec.structs.replace(round_, name=name)
    results, gaps = [measure.result(named)], [measure.gap(named)]
    return add(folder, name, named, results, source=source, today=today, gaps=gaps)
