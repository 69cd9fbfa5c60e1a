"""Why a decision is below another: the changes side by side, what each gains, and the GPUs of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from muri_opt.report.format import count, cut, integer, printable
from muri_opt.report.tables import indented, table
from muri_opt.report.text.proof_sentence import proof_sentence
from muri_opt.report.text.result import header, labelled
from muri_opt.rounds import Decision, Round
from muri_opt.studies.explain import Change, Difference, Part, RoundGap

MOST_ROWS = 18
"""Rows of the table of changes; what is left out is summed."""
MOST_ROWS_OF_CHANGE = 8

_LOSSES_PROVED = "A change that loses makes room for one that gains: CPUs, memory or nodes tie them."
_LOSSES = "A change that loses makes room for one that gains, or shows that a better decision is not found yet."
_NAME = 20
_PLAN = 16
_Row = tuple[str, str, str, str, str, str]


def gap_text(round_: Round, gap: RoundGap) -> str:
    """Return the two values and their proof, what differs and what it costs, and what is free in both decisions."""
    first, second = gap.names
    bound = "" if gap.proved or gap.second.bound is None else f", bound {integer(gap.second.bound)}"
    pairs = [
        ("policy", f"{printable(gap.first.policy)} ({printable(gap.first.value_unit)})"),
        (first, integer(gap.values[0])),
        (second, integer(gap.values[1]) + bound),
        ("gap", gap_sentence(gap)),
        ("proof", proof_sentence(gap.second, gap.second.certificate)),
    ]
    lines = [header(round_), "", *labelled(pairs), "", differs_sentence(gap)]
    if gap.changes:
        lines += indented(_table_of_changes(round_, gap))
    if any(change.gain * gap.gap < 0 for change in gap.changes):
        lines += [_LOSSES_PROVED if gap.proved else _LOSSES]
    return "\n".join([*lines, "", *_use(round_, gap)]) + "\n"


def gap_sentence(gap: RoundGap) -> str:
    """Return how far the first decision is below the second."""
    first, second = gap.names
    if gap.gap == 0:
        same = f"the {first} is as good as the {second}"
        return "0: " + (same if not gap.proved else f"the {first} decision is optimal")
    if gap.gap < 0:
        return f"the {first} is {integer(-gap.gap)} above the {second}{_share(-gap.gap, gap.values[1])}"
    return f"the {first} is {integer(gap.gap)} below the {second}{_share(gap.gap, gap.values[1])}"


def differs_sentence(gap: RoundGap) -> str:
    """Return how many jobs differ, how many do not, and whether only nodes do."""
    kinds = Counter(gap.differences.values())
    jobs, moved = sum(len(change.jobs) for change in gap.changes), len(gap.moved)
    some = "" if moved == kinds[Difference.SAME] else f"{moved:,} of them "
    nodes = f", {some}on other nodes at no cost" if moved else ""
    parts = [
        f"{count(jobs, 'job')} differ{'s' * (jobs == 1)}, in {count(len(gap.changes), 'change')}" if jobs else "",
        _are(kinds[Difference.SAME], "run") + f" alike{nodes}" if kinds[Difference.SAME] else "",
        _are(kinds[Difference.WAITS], "wait") + " in both" if kinds[Difference.WAITS] else "",
    ]
    tie = " A tie: the decisions differ, their values do not." if jobs and gap.gap == 0 else ""
    same = "The decisions are the same: " if not (jobs or moved) else ""
    return f"{same}{'; '.join(filter(None, parts)) or 'no jobs'}.{tie}"


def largest_first(change: Change) -> tuple[list[Part], list[Part]]:
    """Return the parts of both sides, those of the most GPUs first; single jobs stand beside themselves."""
    most = Counter[str]()
    for part in (*change.first, *change.second):
        for job in part.jobs:
            most[job] = max(most[job], part.gpus)
    apart = all(len(part.jobs) <= 1 for part in (*change.first, *change.second))

    def rank(part: Part) -> tuple[bool, int]:
        return part.tenant is not None, -max((most[job] for job in part.jobs), default=0) if apart else -part.gpus

    return sorted(change.first, key=rank), sorted(change.second, key=rank)


def part_text(round_: Round, part: Part) -> str:
    """Return one part of a decision: the jobs and their GPUs and plan, that a job waits, or a tenant over its quota."""
    if part.tenant is not None:
        return f"tenant {cut(part.tenant, _NAME)} {count(part.over_quota, 'GPU')} over quota"
    names = " + ".join(cut(job, _NAME) for job in part.jobs)
    if part.assignment is not None:
        return f"{names} ({standing(part)})"
    stops = round_.jobs[round_.job_index[part.jobs[0]]].state == "running"
    return f"{names} {'is stopped' if stops else 'waits'}"


def standing(part: Part) -> str:
    """Return the GPUs and the plan of a part that runs, or that it waits."""
    if part.assignment is None:
        return "waits"
    return count(part.gpus, "GPU") + ("" if part.plan is None else f", {cut(part.plan, _PLAN)}")


def _table_of_changes(round_: Round, gap: RoundGap) -> list[str]:
    shown, left = _shown(gap)
    rows: list[_Row] = []
    for number, change in enumerate(shown, 1):
        rows += _rows(round_, change, number)
    if left:
        what = f"{count(len(left), 'more change')}, {count(sum(len(change.jobs) for change in left), 'job')}"
        worth = [sum(change.worth[side] for change in left) for side in (0, 1)]
        rows.append(("", integer(sum(change.gain for change in left)), what, integer(worth[0]), "", integer(worth[1])))
    if gap.same or not all(kind.differs for kind in gap.differences.values()):
        rows.append(("", "0", "all others", integer(gap.same), "all others", integer(gap.same)))
    rows.append(("sum", integer(gap.gap), "", integer(gap.values[0]), "", integer(gap.values[1])))
    return table(("#", "gain", gap.names[0], "worth", gap.names[1], "worth"), rows, right=(1, 3, 5))


def _shown(gap: RoundGap) -> tuple[list[Change], list[Change]]:
    """Return the changes to list and those to sum: the first that fit, and none without a gain beside one with."""
    some = [change for change in gap.changes if change.gain] or list(gap.changes)
    shown: list[Change] = []
    height = 0
    for change in sorted(some, key=lambda change: -abs(change.gain)):
        height += min(MOST_ROWS_OF_CHANGE, max(len(change.first), len(change.second)))
        if height > MOST_ROWS:
            break
        shown.append(change)
    kept = {change.jobs for change in shown}
    return [c for c in gap.changes if c.jobs in kept], [c for c in gap.changes if c.jobs not in kept]


def _rows(round_: Round, change: Change, number: int) -> Iterator[_Row]:
    """Yield the parts of a change side by side, the last of a long list summed."""
    long = max(len(change.first), len(change.second)) > MOST_ROWS_OF_CHANGE
    most = MOST_ROWS_OF_CHANGE - 1 if long else MOST_ROWS_OF_CHANGE
    cells = [_cells(round_, parts, most) for parts in largest_first(change)]
    head = str(number), integer(change.gain)
    for left, right in zip_longest(*cells, fillvalue=("", "")):
        yield *head, *left, *right
        head = "", ""


def _cells(round_: Round, parts: Sequence[Part], most: int) -> list[tuple[str, str]]:
    cells = [(part_text(round_, part), integer(part.value)) for part in parts[:most]]
    if rest := parts[most:]:
        cells.append((f"{len(rest):,} more", integer(sum(part.value for part in rest))))
    return cells


def _use(round_: Round, gap: RoundGap) -> list[str]:
    """Return what both decisions use and leave, and why their jobs wait."""
    total, jobs = gap.total_gpus, len(round_.jobs)
    rows = [
        ("GPUs in use", *(f"{used:,} of {total:,}" for used in gap.used_gpus)),
        ("jobs that run", *(f"{len(decision.running):,} of {jobs:,}" for decision in gap.decisions)),
        ("waiting for", *(_reasons(decision) for decision in gap.decisions)),
    ]
    return [*indented(table(("", *gap.names), rows)), free_sentence(gap)]


def free_sentence(gap: RoundGap) -> str:
    """Return whether GPUs are what binds."""
    free = [gap.total_gpus - used for used in gap.used_gpus]
    if not any(free):
        return "No GPU is free in either decision: GPUs bind."
    leaves = [
        f"the {name} leaves {count(left, 'GPU') if left else 'none'} free"
        for name, left in zip(gap.names, free, strict=True)
    ]
    said = ", ".join(leaves)
    return f"{said[0].upper()}{said[1:]}."


def _reasons(decision: Decision) -> str:
    reasons = Counter(str(wait.reason) for wait in decision.waiting)
    return ", ".join(f"{reason} {number:,}" for reason, number in reasons.most_common()) or "none"


def _are(number: int, verb: str) -> str:
    return f"{number:,} {verb}{'s' * (number == 1)}"


def _share(part: int, whole: int) -> str:
    """Return the part of a value in percent, where that means something."""
    return f", {100 * part / whole:.2f} % of it" if whole > 0 else ""
