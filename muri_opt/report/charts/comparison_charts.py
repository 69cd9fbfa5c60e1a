"""The charts of a gap study: performance profiles, loss against time, by the size of rounds, by policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from muri_opt.report.charts.comparison_series import (
    ACROSS,
    UP,
    LossAxis,
    Run,
    Spread,
    Spreads,
    loss_axis,
    runs_of,
    spreads_by_policy,
    spreads_by_size,
)
from muri_opt.report.charts.frame import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    Figure,
    Marks,
    Place,
    axes,
    line,
    line_key,
    mark,
    mark_key,
)
from muri_opt.report.charts.scales import duration, log_ticks, logarithmic, power_ticks, straight
from muri_opt.report.charts.style import series_of
from muri_opt.report.format import amount, count
from muri_opt.report.svg import element, fitted, rect, text, tooltip
from muri_opt.rounds.percent import percent
from muri_opt.studies.compare.pairs import Pair
from muri_opt.studies.compare.profile import Profile, ended, profile, reached

_PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
_SLOT = 0.8
_WIDEST = 14.0
_LANE = 9.0
_BETWEEN = 8.0
_NAMES = 120.0
_MARGIN = 8.0


def comparison_charts(pairs: Sequence[Pair]) -> Iterator[Figure]:
    """Yield the charts of a study in the order in which they are read."""
    about = "Part of the pairs, over how many times the time of the fastest method a method took. "
    told = profile(pairs, reached)
    caption = f"{about}Solved: no method found a better value."
    yield _profile_chart("reached", "Performance profile: best value found", caption, told)
    told = profile(pairs, ended)
    caption = f"{about}Solved: the value meets the bound that the method itself proves or claims."
    yield _profile_chart("ended", "Performance profile: solved to the end", caption, told)
    runs = runs_of(pairs)
    axis = loss_axis(run.loss for mine in runs.values() for run in mine)
    yield _time_chart(pairs, runs, axis)
    yield _size_chart(runs, axis)
    yield _policy_chart(pairs, runs, axis)


def _profile_chart(kind: str, title: str, caption: str, told: Profile) -> Figure:
    marks = power_ticks(told.largest)
    x = logarithmic(marks[0], marks[-1], LEFT, RIGHT)
    y = straight(0.0, 1.0, BOTTOM, TOP)
    first, last = told.parts(1.0), told.parts(told.largest)
    lines = []
    for place, method in enumerate(told.methods):
        ratios, parts = told.curve(place)
        rises = "".join(f"H{x(ratio):.1f}V{y(part):.1f}" for ratio, part in zip(ratios, parts, strict=True))
        words = f"{method}: fastest on {first[place]:.1%}, solves {last[place]:.1%} in all"
        lines.append(line(place, f"M{LEFT:g} {y(0.0):.1f}{rises}H{RIGHT:g}", words))
    shown = [(x(tick), amount(tick)) for tick in marks]
    parts_shown = [(y(part), f"{part:.0%}") for part in _PARTS]
    return Figure(
        kind=f"profile {kind}",
        title=title,
        caption=f"{caption} {count(len(told.ratios), 'pair')}.",
        high=HEIGHT,
        parts=(*axes(shown, parts_shown, "times the time of the fastest, logarithmic"), *lines),
        key=line_key(told.methods),
    )


def _time_chart(pairs: Sequence[Pair], runs: Mapping[str, Sequence[Run]], axis: LossAxis) -> Figure:
    every = [run.seconds for mine in runs.values() for run in mine]
    ticks = log_ticks(min(every), max(every)) if every else [0.1, 1.0]
    x = logarithmic(ticks[0], ticks[-1], LEFT, RIGHT)
    y = straight(0.0, 1.0, BOTTOM, TOP)
    marks = [
        mark(place, x(run.seconds), y(axis.place(run.loss, (place + 0.5) / len(runs))), _told(run))
        for place, mine in enumerate(runs.values())
        for run in mine
    ]
    unknown = sum(not row.refused for pair in pairs for row in pair.rows) - len(every)
    left_out = f" Left out: {count(unknown, 'run')} whose loss is not known." if unknown else ""
    return Figure(
        kind="time",
        title="Loss against time",
        caption="Each run: its time, and what its value falls short of the best known bound. A lane for each method "
        f"where that is nothing.{left_out}",
        high=HEIGHT,
        parts=(
            _band(axis, y),
            *axes([(x(tick), duration(tick)) for tick in ticks], _losses(axis, y), "time of the run, logarithmic"),
            *marks,
        ),
        key=mark_key(runs),
    )


def _size_chart(runs: Mapping[str, Sequence[Run]], axis: LossAxis) -> Figure:
    found = spreads_by_size(runs)
    wide = (RIGHT - LEFT) / max(1, len(found))
    apart = min(_WIDEST, _SLOT * wide / max(1, len(runs)))
    y = straight(0.0, 1.0, BOTTOM, TOP)
    middles = [LEFT + wide * (number + 0.5) for number in range(len(found))]
    marks = []
    for middle, spreads in zip(middles, found, strict=True):
        for place, method, spread in _of_each(runs, spreads):
            x = middle + apart * (place - (len(runs) - 1) / 2)
            low, high = y(axis.place(spread.median)), y(axis.place(spread.worst))
            whisker = f"M{x:.1f} {low:.1f}V{high:.1f}m-3 0h6"
            marks.append(_spread(place, x, low, whisker, _spread_told(method, f"{spreads.label} jobs", spread)))
    shown = [(middle, spreads.label) for middle, spreads in zip(middles, found, strict=True)]
    return Figure(
        kind="size",
        title="Loss by the size of rounds",
        caption="Marks are medians; each line ends at the worst run.",
        high=HEIGHT,
        parts=(_band(axis, y), *axes(shown, _losses(axis, y), "jobs of the round"), *marks),
        key=mark_key(runs),
    )


def _policy_chart(pairs: Sequence[Pair], runs: Mapping[str, Sequence[Run]], axis: LossAxis) -> Figure:
    found = spreads_by_policy(pairs, runs)
    high = _LANE * max(1, len(runs)) + _BETWEEN
    left, bottom = LEFT + _NAMES, TOP + high * max(1, len(found))
    x = straight(0.0, 1.0, left, RIGHT - _MARGIN)
    begin, end = map(x, axis.band)
    parts = [
        rect(begin, TOP, end - begin, bottom - TOP, kind="ground"),
        *axes(_losses(axis, x, ACROSS), [], "loss, logarithmic above 0", bottom=bottom),
        element(
            "path", d="".join(f"M{LEFT:g} {TOP + high * row:.1f}H{RIGHT:g}" for row in range(len(found))), kind="grid"
        ),
    ]
    for row, spreads in enumerate(found):
        top = TOP + high * row
        parts.append(
            text(left - 8, top + high / 2 + 4, fitted(spreads.label, left - 16, 11), text_anchor="end", kind="name")
        )
        for place, method, spread in _of_each(runs, spreads):
            y = top + _BETWEEN / 2 + _LANE * (place + 0.5)
            near, far = x(axis.place(spread.median)), x(axis.place(spread.worst))
            whisker = f"M{near:.1f} {y:.1f}H{far:.1f}m0-3v6"
            parts.append(_spread(place, near, y, whisker, _spread_told(method, spreads.label, spread)))
    return Figure(
        kind="policy",
        title="Loss by policy",
        caption="Marks are medians; each line ends at the worst run.",
        high=bottom + 44.0,
        parts=tuple(parts),
        key=mark_key(runs),
    )


def _of_each(runs: Iterable[str], spreads: Spreads) -> Iterator[tuple[int, str, Spread]]:
    for place, (method, spread) in enumerate(zip(runs, spreads.of, strict=True)):
        if spread is not None:
            yield place, method, spread


def _spread(place: int, x: float, y: float, whisker: str, words: str) -> str:
    stroke = element("path", d=whisker, kind=f"line s{series_of(place)[0]}")
    return element("g", tooltip(words), stroke, mark(place, x, y, words), kind="spread")


def _spread_told(method: str, which: str, spread: Spread) -> str:
    found = f"median {percent(spread.median)}, worst {percent(spread.worst)}"
    return f"{method}, {which}, {count(spread.runs, 'run')}: {found}"


def _band(axis: LossAxis, y: Place) -> str:
    """Return the ground on which losses of nothing lie."""
    bottom, top = map(y, axis.band)
    return rect(LEFT, top, RIGHT - LEFT, bottom - top, kind="ground")


def _losses(axis: LossAxis, along: Place, steps: int = UP) -> Marks:
    return [(along(place), words) for place, words in axis.marks(steps)]


def _told(run: Run) -> str:
    row = run.row
    return f"{row.method}: {row.instance}, {row.policy}: {percent(run.loss)} after {duration(row.solve_seconds)}"
