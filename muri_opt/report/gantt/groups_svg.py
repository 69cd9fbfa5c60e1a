"""All groups of a decision in one picture: a block for each, with its lanes, its period or rates, and what is idle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from muri_opt.report.round.job_chips import chips, plain_labels
from muri_opt.report.svg import SOFT, distinct_colours, document, element, fitted, rect, shrunk, text, tooltip

MOST: Final = 120
"""Groups that are drawn; of more the picture says how many are left out."""
_ACROSS, _WIDE, _MARGIN, _GUTTER = 2, 960.0, 28.0, 32.0
_TOP, _RUNS, _LANES, _LANE, _TIGHT, _BELOW = 86.0, 20.0, 32.0, 22.0, 4.0, 22.0
_NAME, _BUSY = 62.0, 62.0
_MOST_NAMES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A resource, or a part of it: from where to where, in parts of the whole, it is used by which job."""

    resource: str
    pieces: tuple[tuple[int, float, float], ...]
    busy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A group: the names of its jobs, how it runs in words, the part of its resources in use, and its lanes."""

    names: tuple[str, ...]
    runs: str
    efficiency: float
    lanes: tuple[Lane, ...]


def groups_svg(blocks: Sequence[Block], *, alone: int = 0) -> str:
    """Return the picture as SVG text; so many jobs run ``alone`` and are not drawn."""
    some = blocks[:MOST]
    mean = sum(block.efficiency for block in blocks) / max(1, len(blocks))
    told = f"mean efficiency {100 * mean:.1f} %, {alone} job{'s' * (alone != 1)} alone"
    left_out = f"; {len(blocks) - MOST} more are not drawn" if len(blocks) > MOST else ""
    title = f"{len(blocks)} group{'s' * (len(blocks) != 1)} of jobs that share GPUs"
    parts = [text(_MARGIN, 40, title, 20, font_weight="bold"), text(_MARGIN, 62, told + left_out, 13, fill=SOFT)]
    wide = (_WIDE - 2 * _MARGIN - (_ACROSS - 1) * _GUTTER) / _ACROSS
    y = _TOP
    for first in range(0, len(some), _ACROSS):
        row = some[first : first + _ACROSS]
        ends = []
        for place, block in enumerate(row):
            end, drawn = _block(block, _MARGIN + place * (wide + _GUTTER), y, wide)
            parts += drawn
            ends.append(end)
        y = max(ends) + _BELOW
    return document(_WIDE, y + _MARGIN, title, parts)


def _block(block: Block, x: float, y: float, wide: float) -> tuple[float, list[str]]:
    """Return a group and where it ends: its jobs with their colours, how it runs, and a lane for each resource."""
    colours = distinct_colours(block.names)
    of_job = dict(zip(block.names, colours, strict=True))
    end, parts = chips(plain_labels(block.names), of_job, (x, y + 14), x + wide, _MOST_NAMES)
    worth = f"{block.runs}, efficiency {100 * block.efficiency:.1f} %"
    parts.append(text(x, end + _RUNS, fitted(worth, wide, 11.5), 11.5, fill=SOFT))
    left, right = x + _NAME, x + wide - _BUSY
    top = end + _LANES
    for lane in block.lanes:
        parts += _lane(block, lane, colours, x, left, right, top)
        top += _LANE + _TIGHT
    return top, parts


def _lane(
    block: Block, lane: Lane, colours: Sequence[str], x: float, left: float, right: float, top: float
) -> Iterator[str]:
    """Yield a resource: its name, who uses it when, with names where there is room, and what is idle."""
    idle = f"{100 * max(0.0, 1 - lane.busy):.0f} % idle"
    base = top + 0.5 * _LANE + 4
    name, small = shrunk(lane.resource, _NAME - 6, 11.5)
    yield text(x, base, name, small)
    ground = rect(left, top, right - left, _LANE, fill="url(#free)")
    yield element("g", tooltip(f"{lane.resource}: {idle}"), ground, kind="lane")
    yield text(right + 6, base, idle, 11, fill=SOFT)
    for job, start, end in lane.pieces:
        begin, long = left + (right - left) * start, (right - left) * (end - start)
        bar = rect(begin, top, long, _LANE, fill=colours[job], stroke="#000000", stroke_opacity=0.25)
        label, small = shrunk(block.names[job], long - 6, 11)
        labels = [text(begin + 3, base, label, small)] if label else []
        story = f"{block.names[job]}: {lane.resource}, {100 * (end - start):.1f} % of the time"
        yield element("g", tooltip(story), bar, *labels, kind="bar")
