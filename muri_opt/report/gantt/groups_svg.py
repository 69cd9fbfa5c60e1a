"""All groups of a decision in one picture: a block for each, with its lanes, its period or rates, and what is idle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from muri_opt.report.svg import SOFT, distinct_colours, document, element, fitted, rect, text, tooltip

MOST: Final = 120
"""Groups that are drawn; of more the picture says how many are left out."""
_ACROSS, _WIDE, _MARGIN, _GUTTER = 2, 1080.0, 28.0, 32.0
_TOP, _HEAD, _LANE, _TIGHT, _BELOW = 86.0, 44.0, 16.0, 3.0, 26.0
_NAME, _BUSY = 66.0, 62.0


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

    @property
    def high(self) -> float:
        """How high it is drawn."""
        return _HEAD + len(self.lanes) * (_LANE + _TIGHT) + _BELOW


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
        for place, block in enumerate(row):
            parts += _block(block, _MARGIN + place * (wide + _GUTTER), y, wide)
        y += max(block.high for block in row)
    return document(_WIDE, y + _MARGIN, title, parts)


def _block(block: Block, x: float, y: float, wide: float) -> Iterator[str]:
    colours = distinct_colours(block.names)
    yield text(x, y + 14, fitted(" + ".join(block.names), wide, 13), 13, font_weight="bold")
    worth = f"{block.runs}, efficiency {100 * block.efficiency:.1f} %"
    yield text(x, y + 32, fitted(worth, wide, 11), 11, fill=SOFT)
    left, right = x + _NAME, x + wide - _BUSY
    for place, lane in enumerate(block.lanes):
        top = y + _HEAD + place * (_LANE + _TIGHT)
        idle = f"{100 * max(0.0, 1 - lane.busy):.0f} % idle"
        yield text(x, top + 12, fitted(lane.resource, _NAME - 6, 10.5), 10.5)
        ground = rect(left, top, right - left, _LANE, fill="url(#free)")
        yield element("g", tooltip(f"{lane.resource}: {idle}"), ground, kind="lane")
        yield text(right + 6, top + 12, idle, 10.5, fill=SOFT)
        for job, start, end in lane.pieces:
            bar = rect(left + (right - left) * start, top, (right - left) * (end - start), _LANE, fill=colours[job])
            story = f"{block.names[job]}: {lane.resource}, {100 * (end - start):.1f} % of the time"
            yield element("g", tooltip(story), bar, kind="bar")
