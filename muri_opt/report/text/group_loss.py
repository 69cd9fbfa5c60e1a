"""Where a published grouping loses, as a table."""

from __future__ import annotations

from muri_opt.report.format import integer, printable
from muri_opt.report.tables import indented, table
from muri_opt.report.text.result import header, labelled
from muri_opt.rounds import Round
from muri_opt.studies.explain import CAUSES, GroupingLoss


def loss_text(round_: Round, loss: GroupingLoss) -> str:
    """Return value, optimum and what each rule costs; a step that was not solved to its end is marked."""
    rows = [
        (
            CAUSES[step.cause],
            integer(step.loss),
            _share(step.loss, loss.optimum),
            integer(step.value) + _mark(step.optimal),
        )
        for step in loss.steps
    ]
    head = ("rule that is lifted", "loss", "of the optimum", "best value without it")
    pairs = [
        ("policy", f"{printable(loss.policy)} ({printable(loss.value_unit)})"),
        ("heuristic", integer(loss.heuristic)),
        ("optimum", integer(loss.optimum) + _mark(loss.steps[-1].optimal)),
        ("loss", f"{integer(loss.loss)}, {_share(loss.loss, loss.optimum)}"),
        ("proof", "the word of one solver for every step, not checked"),
    ]
    lines = [header(round_), "", *labelled(pairs), "", *indented(table(head, rows, right=(1, 2)))]
    if not all(step.optimal for step in loss.steps):
        lines += ["", "at least: time was up before the step was solved to its optimum"]
    return "\n".join(lines) + "\n"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole > 0 else "0.00 %"


def _mark(optimal: bool) -> str:
    return "" if optimal else " at least"
