"""What deciding together gained over the best single system, as a table."""

from __future__ import annotations

from muri_opt.report.format import integer, printable
from muri_opt.report.tables import indented, table
from muri_opt.report.text.gap import gap_text
from muri_opt.report.text.result import header, labelled
from muri_opt.rounds import Round
from muri_opt.studies.explain import KINDS, JointGain, JointGap


def gain_text(round_: Round, gain: JointGain) -> str:
    """Return the values of single systems and of the joint round, and what each kind of choice gained."""
    singles = ", ".join(f"{name} {integer(value)}" for name, value in gain.singles.items())
    more = gain.optimum - gain.single
    share = f", {100 * more / gain.optimum:.2f} % of it" if gain.optimum > 0 else ""
    pairs = [
        ("policy", f"{printable(gain.policy)} ({printable(gain.value_unit)})"),
        ("systems", singles),
        ("best of them", f"{gain.best} {integer(gain.single)}"),
        ("joint", integer(gain.optimum) + ("" if gain.optimal else " at least")),
        ("gain", integer(more) + share),
        ("proof", "the word of one solver for every step, not checked"),
    ]
    return "\n".join([header(round_), "", *labelled(pairs), "", *indented(_steps(gain))]) + "\n"


def joint_gap_text(round_: Round, gap: JointGap) -> str:
    """Return what differs between the best single system and the joint round, and what each kind of choice gained."""
    gain = gap.gain
    singles = ", ".join(f"{name} {integer(value)}" for name, value in gain.singles.items())
    systems = labelled([("systems", singles), ("best system", f"{gain.best} {integer(gain.single)}")])
    return gap_text(round_, gap) + "\n".join(["", *systems, "", *indented(_steps(gain))]) + "\n"


def _steps(gain: JointGain) -> list[str]:
    """Return the table of the kinds that were allowed one after another."""
    rows = [
        (step.kind, KINDS[step.kind], integer(step.gain), integer(step.value) + ("" if step.optimal else " at least"))
        for step in gain.steps
    ]
    return table(("then allowed", "what that is", "gain", "best value with it"), rows, right=(2,))
