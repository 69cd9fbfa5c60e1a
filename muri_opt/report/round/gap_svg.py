"""Two decisions of a round side by side, the jobs that differ in colour, and below what each change gains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from muri_opt.report.format import count, integer
from muri_opt.report.round.gap_bars import gain_bars
from muri_opt.report.round.job_chips import LINE_HEIGHT, chips
from muri_opt.report.round.occupancy import Block, NodeUse, node_uses
from muri_opt.report.svg import (
    INK,
    LINE,
    SAME,
    SOFT,
    distinct_colours,
    document,
    element,
    fitted,
    rect,
    text,
    tooltip,
    wrapped,
)
from muri_opt.report.text.gap import differs_sentence, gap_sentence
from muri_opt.rounds import Decision, Round
from muri_opt.studies.explain import RoundGap

WIDTH = 1080.0
MARGIN = 28.0
ALL_NODES = 12
"""Up to so many nodes are all drawn; of a larger cluster only those where jobs differ."""
MOST_NODES = 32

_PANEL = 496.0
_LEFTS = (MARGIN, WIDTH - MARGIN - _PANEL)
_NAME = 74.0
_WIDEST_CELL = 105.0
_LANE = 15.0
_MOST_CELLS = 64
_MOST_WAITING_LINES = 3


def gap_picture(round_: Round, gap: RoundGap) -> str:
    """Return both decisions and the changes between them as SVG text."""
    jobs = [job for change in gap.changes for job in change.jobs]
    colours = dict(zip(jobs, distinct_colours(jobs), strict=True))
    title = round_.name or "round without a name"
    parts = [text(MARGIN, 44, fitted(title, WIDTH - 2 * MARGIN, 22), 22, font_weight="bold")]
    y = 46.0
    unit = f"policy {gap.first.policy}; value: {gap.first.value_unit}"
    sentence = gap_sentence(gap)
    for said in (unit, f"{sentence[0].upper()}{sentence[1:]}.", differs_sentence(gap)):
        for line in wrapped(said, WIDTH - 2 * MARGIN, 11.5, 3):
            y += 20
            parts.append(text(MARGIN, y, line, 13, fill=SOFT))
    uses = [node_uses(round_, decision) for decision in gap.decisions]
    rows, left_out = _rows(uses, colours)
    y += 36
    top = y
    ends = []
    widest = max((max(use[row].node.gpus, use[row].gpus) for use in uses for row in rows), default=1)
    cell = min(_WIDEST_CELL, (_PANEL - _NAME) / max(1, widest))
    lanes = max((len(block.assignment.jobs) for use in uses for row in rows for block in use[row].blocks), default=1)
    high = 38.0 if len(rows) <= 10 else 28.0 if len(rows) <= 18 else 20.0
    high = max(high, _LANE * lanes / 0.8) if len(rows) <= ALL_NODES else high
    for side, x in enumerate(_LEFTS):
        parts += _panel_head(gap, side, x, top)
        y = top + 16
        for row in rows:
            parts += _row(uses[side][row], colours, (x, y), high, cell)
            y += high
        end, waiting = _waiting(round_, gap.decisions[side], colours, y + 22, x)
        parts += waiting
        ends.append(end)
    y = max(ends)
    if left_out:
        y += 22
        parts.append(text(MARGIN, y, left_out, 12, fill=SOFT))
    if gap.changes:
        y, bars = gain_bars(gap, colours, y + 40, MARGIN, WIDTH)
        parts += bars
    return document(WIDTH, y + MARGIN, f"{title}: {gap.names[0]} and {gap.names[1]}", parts)


def _rows(uses: Sequence[list[NodeUse]], colours: Mapping[str, str]) -> tuple[list[int], str]:
    """Return the nodes to draw, and what to say of those left out."""
    rows = list(range(len(uses[0])))
    if len(rows) <= ALL_NODES:
        return rows, ""
    differing = [row for row in rows if any(_differs(block, colours) for use in uses for block in use[row].blocks)]
    shown = differing[:MOST_NODES]
    return shown, (
        f"{len(shown):,} of {count(len(differing), 'node')} with a job that differs; "
        f"{count(len(rows) - len(differing), 'node')} without are not drawn"
    )


def _differs(block: Block, colours: Mapping[str, str]) -> bool:
    return any(job in colours for job in block.assignment.jobs)


def _panel_head(gap: RoundGap, side: int, x: float, y: float) -> list[str]:
    used = f"{gap.used_gpus[side]:,} of {count(gap.total_gpus, 'GPU')} in use"
    words = f"value {integer(gap.values[side])}, {used}"
    return [
        text(x, y, gap.names[side].capitalize(), 15, font_weight="bold"),
        text(x + _PANEL, y, fitted(words, _PANEL - 130, 12), 12, fill=SOFT, text_anchor="end"),
        element("line", x1=x, y1=y + 8, x2=x + _PANEL, y2=y + 8, stroke=LINE),
    ]


def _row(
    use: NodeUse, colours: Mapping[str, str], corner: tuple[float, float], high: float, cell: float
) -> Iterator[str]:
    """Yield one node: what is the same in both decisions first, then what differs, then what is free."""
    left, y = corner
    size = 12.0 if high > 24 else 10.5
    yield text(left, y + high / 2 + 4, fitted(use.node.id, _NAME - 8, size), size, fill=SOFT)
    top, tall = y + 0.1 * high, 0.8 * high
    x = left + _NAME
    for block in sorted(use.blocks, key=lambda block: _differs(block, colours)):
        if block.gpus:
            yield _block(use, block, colours, x, top, cell * block.gpus, tall)
            x += cell * block.gpus
    free = use.node.gpus - use.gpus
    if free > 0:
        frame = rect(x + 1, top, cell * free - 2, tall, rx=4, fill="url(#free)", stroke=LINE, stroke_dasharray="3 3")
        yield element("g", tooltip(f"{use.node.id}: {free:,} free"), frame, kind="free")
    if use.node.gpus <= _MOST_CELLS:
        edges = (left + _NAME + cell * edge for edge in range(1, use.node.gpus))
        deep = 0.14 * tall
        path = "".join(f"M{at:.2f} {top:.2f}v{deep:.2f}M{at:.2f} {top + tall:.2f}v-{deep:.2f}" for at in edges)
        yield element("path", d=path, stroke="#ffffff", stroke_width=1.5, fill="none", pointer_events="none")


def _block(use: NodeUse, block: Block, colours: Mapping[str, str], x: float, y: float, w: float, h: float) -> str:
    """Return the GPUs of one assignment on one node; interleaved jobs lie in lanes, one above the other."""
    jobs = sorted(block.assignment.jobs)  # by name: each lane is then found at the same height in both decisions
    split = block.gpus < block.total_gpus
    part = f"{block.gpus:,} of {block.total_gpus:,}" if split else f"{block.gpus:,}"
    plan = "" if block.assignment.plan is None else f", plan {block.assignment.plan}"
    note = f"{' + '.join(jobs)}: {part} GPU{'s' * (part != '1')} on {use.node.id}{plan}"
    lane = h / len(jobs)
    size = min(12.0 if h > 24 else 11.0, 0.8 * lane)
    lanes = []
    for place, job in enumerate(jobs):
        top, edge = y + place * lane, "#000000" if job in colours else "#8894a0"
        lanes.append(rect(x + 1, top, w - 2, lane, rx=4, fill=colours.get(job, SAME), stroke=edge, stroke_opacity=0.3))
        named = f"{job}  {block.assignment.plan}" if block.assignment.plan is not None else job
        label = named if fitted(named, w - 8, size) == named else fitted(job, w - 8, size)
        if label:
            ink = INK if job in colours else SOFT
            lanes.append(text(x + 5, top + lane / 2 + 0.36 * size, label, size, fill=ink, kind="label"))
    return element("g", tooltip(note), *lanes, kind="differs" if _differs(block, colours) else "same")


def _waiting(
    round_: Round, decision: Decision, colours: Mapping[str, str], y: float, left: float
) -> tuple[float, list[str]]:
    """Return the jobs that differ and wait in this decision, and where they end."""
    waiting = [job for job in colours if job not in decision.running]
    if not waiting:
        return y - LINE_HEIGHT, []
    labels = {job: f"{job} ({round_.jobs[round_.job_index[job]].gpus:,})" for job in waiting}
    end, parts = chips(labels, colours, (left + _NAME, y), left + _PANEL, _MOST_WAITING_LINES)
    return end, [text(left, y, "waiting", 12, fill=SOFT), *parts]
