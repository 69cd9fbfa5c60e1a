"""A worst case for people: how it was found, how far the algorithm is from the optimum, and the small round."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import msgspec

from muri_opt.report.format import amount, count, cut, printable
from muri_opt.report.tables import indented, table
from muri_opt.report.text.result import header, labelled
from muri_opt.rounds import Job
from muri_opt.rounds.percent import percent
from muri_opt.studies.worst_case import Distance, Measure, Shrunk, Step, WorstCase

_SHOWN_STEPS = 6
_SHOWN_CHARACTERS = 90


def worst_text(measure: Measure, worst: WorstCase, small: Shrunk | None) -> str:
    """Return the search, its trail, and the shrunken round, if there is one, with heuristic, optimum, gap and proof."""
    last = worst.trail[-1].evaluations
    found = f"{percent(float(worst.distance.gap))} {measure.unit}, in round {last:,} of {worst.evaluations:,}"
    pairs = [
        ("policy", printable(measure.policy.spec)),
        ("worst", found),
        ("not counted", f"{worst.unproved:,} (refused by the policy, or no proof in time)"),
        ("trail", _trail(worst.trail)),
    ]
    if measure.raised is not None:
        pairs.append(("raised", printable(f"{measure.raised} (by the policy; such rounds do not count)")))
    if small is None:
        closing = "no gap that is large enough was found; a larger budget or another seed may find one"
        return "\n".join([*labelled(pairs), "", closing]) + "\n"
    now = labelled([("shrunken to", header(small.round).partition(": ")[2]), *distance_pairs(measure, small.distance)])
    rows = [(job.id, str(job.gpus), cut(_fields(job), _SHOWN_CHARACTERS)) for job in small.round.jobs]
    lines = [*labelled(pairs), "", *now, "", *indented(table(("job", "GPUs", "what else it says"), rows, right=(1,)))]
    return "\n".join(lines) + "\n"


def distance_pairs(measure: Measure, distance: Distance) -> list[tuple[str, str]]:
    """Return heuristic, optimum, gap and proof with their labels."""
    seconds = " s in all" if measure.name == "completion" else ""
    return [
        ("heuristic", _number(distance.reached) + seconds),
        ("optimum", _number(distance.optimum) + seconds),
        ("gap", f"{percent(float(distance.gap))} {measure.unit}"),
        ("proof", f"{distance.how}, checked in exact numbers without a solver"),
    ]


def _trail(steps: Sequence[Step]) -> str:
    """Return after how many rounds which gap was found; of many steps the first, and the last ones."""
    texts = [f"{percent(float(step.gap))} ({step.evaluations:,})" for step in steps]
    if len(texts) > _SHOWN_STEPS:
        texts = [texts[0], f"{count(len(texts) - _SHOWN_STEPS, 'step')} more", *texts[1 - _SHOWN_STEPS :]]
    return ", ".join(texts)


def _number(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else amount(float(value), 6)


def _fields(job: Job) -> str:
    """Return what the job says besides its id and GPUs, in short."""
    said = msgspec.to_builtins(job)
    texts = [f"{name} {_short(value)}" for name, value in said.items() if name not in ("id", "gpus")]
    return printable(", ".join(texts))


def _short(value: object) -> str:
    if isinstance(value, float):
        return amount(value, 6)
    if isinstance(value, dict):
        return " ".join(f"{key}:{_short(one)}" for key, one in value.items())
    return " ".join(map(_short, value)) if isinstance(value, (list, tuple)) else str(value)
