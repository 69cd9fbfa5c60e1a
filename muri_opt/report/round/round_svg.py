"""The picture of a decision: one row per node, jobs as coloured blocks of GPUs, and who waits for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from muri_opt.report.format import amount, count, integer
from muri_opt.report.round.change_marks import ChangeMarks
from muri_opt.report.round.occupancy import Block, NodeUse, node_uses, present_decision
from muri_opt.report.round.waiting_svg import legend, waiting_list
from muri_opt.report.svg import (
    FILL,
    INK,
    LINE,
    PALE,
    SOFT,
    TILE,
    distinct_colours,
    document,
    element,
    fitted,
    rect,
    shrunk,
    text,
    tooltip,
)
from muri_opt.report.text.proof_sentence import proof_sentence
from muri_opt.report.text.result import change_of
from muri_opt.rounds import Decision, Result, Round
from muri_opt.rounds.percent import percent

WIDTH = 960.0
MARGIN = 28.0
MOST_NODES = 64
"""A larger cluster is cut to its first nodes, with a note and an overview of all of them."""
MOST_OVERVIEW = 5000

_WHERE = 140.0
_WHERE_WIDTH = 104.0
_BAR_WIDTH = 44.0
_BAR_COLUMN = 132.0
_WIDEST_CELL = 104.0
_LANE = 15.0
_MOST_CELLS = 64
_TILE = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """What a row has to the right of its node's name: where the GPUs begin and end, and the bars there are."""

    where: bool
    bars: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, uses: Sequence[NodeUse]) -> _Columns:
        """Return the columns that say something of these nodes; an empty one is left out."""
        named = []
        if any(use.cpus or use.node.cpus is not None for use in uses):
            named.append("CPUs")
        if any(use.memory_gib or use.node.memory_gib is not None for use in uses):
            named.append("memory, GiB")
        first = WIDTH - MARGIN - _BAR_COLUMN * len(named)
        bars = tuple((name, first + _BAR_COLUMN * place) for place, name in enumerate(named))
        return cls(where=any(_where(use) for use in uses), bars=bars)

    @property
    def strip(self) -> float:
        """Where the GPUs begin."""
        return _WHERE + _WHERE_WIDTH * self.where

    @property
    def strip_width(self) -> float:
        """How much room the GPUs of the largest node have."""
        end = self.bars[0][1] - 20 if self.bars else WIDTH - MARGIN
        return end - self.strip


def round_picture(round_: Round, decision: Decision | None = None, result: Result | None = None) -> str:
    """Return the decision as SVG text; without one, what runs now. A ``result`` adds value and bound to the title."""
    drawn = present_decision(round_) if decision is None else decision
    uses, marks = node_uses(round_, drawn), ChangeMarks.of(round_, decision)
    title = round_.name or "round without a name"
    parts = [text(MARGIN, 44, fitted(title, WIDTH - 2 * MARGIN, 22), 22, font_weight="bold")]
    y = 46.0
    for line in _subtitles(round_, drawn, marks, decision is not None, result):
        y += 20
        parts.append(text(MARGIN, y, fitted(line, WIDTH - 2 * MARGIN, 11.5), 13, fill=SOFT))
    shown = uses[:MOST_NODES]
    if len(shown) < len(uses):
        y, overview = _overview(uses, y + 34)
        parts += overview
        parts.append(text(MARGIN, y + 32, f"first {len(shown):,} of {len(uses):,} nodes", 13, font_weight="bold"))
        y += 16
    y += 40
    columns = _Columns.of(shown)
    ordered = sorted(round_.job_index, key=lambda job: job not in drawn.running)
    colours = dict(zip(ordered, distinct_colours(ordered), strict=True))
    parts += _heads(columns, y)
    y += 10
    high = 38.0 if len(shown) <= 16 else 28.0 if len(shown) <= 32 else 20.0
    cell = min(_WIDEST_CELL, columns.strip_width / max([1, *(max(use.node.gpus, use.gpus) for use in shown)]))
    for use in shown:
        lanes = max((len(block.assignment.jobs) for block in use.blocks), default=1)
        tall = max(high, lanes * _LANE / 0.8) if lanes > 1 else high
        parts += _row(round_, use, marks, colours, columns, y, tall, cell)
        y += tall
    y, waiting = waiting_list(round_, drawn, marks, colours, y + 40, MARGIN, WIDTH)
    y, explained = legend(drawn, bool(columns.bars), y + 26, MARGIN, WIDTH)
    y, meaning = marks.legend(y, MARGIN)
    return document(WIDTH, y + MARGIN, title, [*parts, *waiting, *explained, *meaning])


def _subtitles(
    round_: Round, drawn: Decision, marks: ChangeMarks, decided: bool, result: Result | None
) -> Iterator[str]:
    used = sum(sum(assignment.gpus.values()) for assignment in drawn.assignments)
    verb = "run" if decided else "are running now"
    total = count(round_.cluster.total_gpus, "GPU")
    yield f"{len(drawn.running):,} of {count(len(round_.jobs), 'job')} {verb} on {used:,} of {total}"
    tenants = _tenants(round_, drawn)
    if tenants:
        yield f"GPUs by tenant: {tenants}"
    if marks.words:
        yield f"changes: {marks.words}"
    if result is not None:
        bound = "no bound" if result.bound is None else f"bound {integer(result.bound)}, gap {percent(result.gap)}"
        if result.claimed_bound is not None:
            bound += f", claimed by one solver {integer(result.claimed_bound)}"
        said = f"policy {result.policy}, method {result.method}: value {integer(result.value)}, {bound}"
        yield f"{said}, {result.termination.reason}"
        yield f"proof: {proof_sentence(result, result.certificate)}"


def _tenants(round_: Round, drawn: Decision) -> str:
    """Return how many GPUs the jobs of each tenant have, and its quota where it has one; nothing without tenants."""
    used = {job.tenant: 0 for job in round_.jobs if job.tenant is not None}
    for assignment in drawn.assignments:
        tenant = round_.jobs[round_.job_index[assignment.jobs[0]]].tenant
        if tenant is not None:
            used[tenant] += sum(assignment.gpus.values())
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
    of = {name: "" if quotas.get(name) is None else f" of {quotas[name]:,}" for name in used}
    return ", ".join(f"{name} {gpus:,}{of[name]}" for name, gpus in sorted(used.items()))


def _where(use: NodeUse) -> str:
    """Return the GPU type and the rack of a node; nothing where neither is said."""
    return ", ".join(said for said in (use.node.gpu_type, use.node.rack) if said)


def _heads(columns: _Columns, y: float) -> list[str]:
    heads = [(MARGIN, "node"), (columns.strip, "GPUs"), *((x, label) for label, x in columns.bars)]
    if columns.where:
        heads.append((_WHERE, "type, rack"))
    line = element("line", x1=MARGIN, y1=y + 7, x2=WIDTH - MARGIN, y2=y + 7, stroke=LINE)
    return [*(text(x, y, label, 12, fill=SOFT) for x, label in heads), line]


def _row(
    round_: Round,
    use: NodeUse,
    marks: ChangeMarks,
    colours: Mapping[str, str],
    columns: _Columns,
    y: float,
    high: float,
    cell: float,
) -> Iterator[str]:
    middle = y + high / 2 + 4
    size = 12.0 if high > 24 else 10.5
    name = fitted(use.node.id, _WHERE - MARGIN - 6, size)
    about = f"{use.node.id}: {use.gpus:,} of {count(use.node.gpus, 'GPU')} in use"
    beside = [" + ".join(block.assignment.jobs) for block in use.blocks if not block.gpus]
    about += f"; on CPUs only: {', '.join(beside)}" if beside else ""
    yield element("g", tooltip(about), text(MARGIN, middle, name, size, font_weight="bold"))
    if _where(use):
        where, small = shrunk(_where(use), _WHERE_WIDTH - 8, 11)
        yield element("g", tooltip(_where(use)), text(_WHERE, middle, where, small, fill=SOFT))
    top, tall = y + 0.1 * high, 0.8 * high
    if use.node.gpus == 0:
        yield text(columns.strip, middle, fitted(_without_gpus(beside), columns.strip_width, size), size, fill=SOFT)
    x = columns.strip
    for block in (block for block in use.blocks if block.gpus):
        yield _block(round_, use, block, marks, colours, x, top, cell * block.gpus, tall)
        x += cell * block.gpus
    free = use.node.gpus - use.gpus
    if free > 0:
        frame = rect(x + 1, top, cell * free - 2, tall, rx=4, fill="url(#free)", stroke=LINE, stroke_dasharray="3 3")
        yield element("g", tooltip(f"{use.node.id}: {free:,} free"), frame, kind="free")
    if max(use.node.gpus, use.gpus) <= _MOST_CELLS:
        yield _notches(range(1, use.gpus), columns.strip, cell, top, tall, "#ffffff")
        yield _notches(range(use.gpus + 1, use.node.gpus), columns.strip, cell, top, tall, "#aab4bf")
    amounts = {"CPUs": (use.cpus, use.node.cpus, "CPUs"), "memory, GiB": (use.memory_gib, use.node.memory_gib, "GiB")}
    for label, bar in columns.bars:
        yield _bar(bar, middle, *amounts[label])


def _without_gpus(jobs: list[str]) -> str:
    return f"no GPUs; on its CPUs: {', '.join(jobs)}" if jobs else "no GPUs"


def _block(
    round_: Round,
    use: NodeUse,
    block: Block,
    marks: ChangeMarks,
    colours: Mapping[str, str],
    x: float,
    y: float,
    w: float,
    h: float,
) -> str:
    """Return the GPUs of one assignment on one node; interleaved jobs lie in lanes, one above the other."""
    jobs = block.assignment.jobs
    change = change_of(round_.jobs[round_.job_index[jobs[0]]], block.assignment, marks.together.get(jobs[0]))
    split = block.gpus < block.total_gpus
    part = f"{block.gpus:,} of {block.total_gpus:,}" if split else f"{block.gpus:,}"
    note = (
        f"{' + '.join(jobs)} {change}: {part} GPU{'s' * (part != '1')} on {use.node.id}, "
        f"{amount(block.cpus)} CPUs, {amount(block.memory_gib)} GiB"
    )
    lane = h / len(jobs)
    size = min(12.0 if h > 24 else 11.0, 0.8 * lane)
    lanes = []
    for place, job in enumerate(jobs):
        top = y + place * lane
        lanes.append(rect(x + 1, top, w - 2, lane, rx=4, fill=colours[job], stroke="#000000", stroke_opacity=0.25))
        room = w - 10 - size * (job in marks.kinds)
        named = f"{job} ({part})" if split or block.gpus > 1 else job
        label, small = shrunk(named, room, size)
        if label.endswith("…"):
            label, small = shrunk(job, room, size)
        if label:
            lanes.append(text(x + 6, top + lane / 2 + 0.36 * small, label, small, fill=INK, kind="label"))
        lanes += marks.of_job(job, x + w - 4, top + lane / 2 + 0.36 * size, size)
    return element("g", tooltip(note), *lanes, kind="block")


def _notches(edges: range, left: float, cell: float, top: float, tall: float, stroke: str) -> str:
    """Return the marks between GPUs, at the upper and lower edge only: the middle is left to the labels."""
    deep = 0.16 * tall
    spots = (left + cell * edge for edge in edges)
    path = "".join(f"M{x:.2f} {top:.2f}v{deep:.2f}M{x:.2f} {top + tall:.2f}v-{deep:.2f}" for x in spots)
    return element("path", d=path, stroke=stroke, stroke_width=1.5, fill="none", pointer_events="none")


def _bar(x: float, middle: float, used: float, has: float | None, unit: str) -> str:
    if has is None:
        return text(x, middle, f"{amount(used, 1)}, no limit", 11, fill=SOFT)
    part = min(1.0, used / has) if has else float(used > 0)
    return element(
        "g",
        tooltip(f"{amount(used)} of {amount(has)} {unit} in use"),
        rect(x, middle - 9, _BAR_WIDTH, 10, rx=3, fill=PALE, stroke=LINE),
        rect(x, middle - 9, _BAR_WIDTH * part, 10, rx=3, fill=FILL),
        text(x + _BAR_WIDTH + 8, middle, f"{amount(used, 1)} / {amount(has, 1)}", 11, fill=SOFT),
    )


def _overview(uses: list[NodeUse], y: float) -> tuple[float, list[str]]:
    """Return a tile for every node, the stronger the more of its GPUs are in use, and where the next part begins."""
    tiles = uses[:MOST_OVERVIEW]
    full = Counter("full" if u.gpus >= u.node.gpus else "partly used" if u.gpus else "empty" for u in uses)
    words = ", ".join(f"{full[kind]:,} {kind}" for kind in ("full", "partly used", "empty"))
    which = "all" if len(tiles) == len(uses) else f"first {len(tiles):,} of"
    parts = [
        text(MARGIN, y, f"{which} {len(uses):,} nodes, stronger where more GPUs are in use: {words}", 12, fill=SOFT)
    ]
    across = int((WIDTH - 2 * MARGIN) // _TILE)
    for place, use in enumerate(tiles):
        down, right = divmod(place, across)
        part = min(1.0, use.gpus / use.node.gpus) if use.node.gpus else 0.0
        x, top = MARGIN + right * _TILE, y + 10 + down * _TILE
        tile = rect(x, top, _TILE - 1, _TILE - 1, fill=TILE, fill_opacity=0.08 + 0.92 * part)
        parts.append(element("g", tooltip(f"{use.node.id}: {use.gpus:,} of {use.node.gpus:,} GPUs"), tile))
    return y + 10 + -(-len(tiles) // across) * _TILE, parts
