"""How reports with charts look: colours that differ on light and on dark ground, dashes where colours repeat."""

from __future__ import annotations

from typing import Final

LIGHT: Final = ("#1f5fa8", "#c2410c", "#1a7f4b", "#8b3fa0", "#7d6300", "#00768a", "#c0267e", "#4b5563")
DARK: Final = ("#7fb2f0", "#ff9a5c", "#5fd394", "#d2a0e8", "#e0c14a", "#4fd0e0", "#ff8fc4", "#b6c0cc")
LIGHT_GROUND: Final = "#ffffff"
DARK_GROUND: Final = "#14181d"
DASHES: Final = ("", "8 3", "2 3", "9 3 2 3")
SHAPES: Final = {
    "o": "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
    "s": "m-3.2-3.2h6.4v6.4h-6.4z",
    "^": "m0-4.2l4 7h-8z",
    "D": "m0-4.6l4.6 4.6l-4.6 4.6l-4.6-4.6z",
    "v": "m0 4.2l4-7h-8z",
    "P": "m-1.4-4.2h2.8v2.8h2.8v2.8h-2.8v2.8h-2.8v-2.8h-2.8v-2.8h2.8z",
}
"""Shapes of marks: what matplotlib calls them, and their outlines around a point."""


def series_of(place: int) -> tuple[int, str]:
    """Return which colour the series at a place has, and which dashes; no two of the first 32 have both the same."""
    turn, colour = divmod(place, len(LIGHT))
    return colour, DASHES[(colour + turn) % len(DASHES)]


def shape_of(place: int) -> str:
    """Return which shape the marks of the series at a place have; with its colour, no two of the first 24 are alike."""
    return list(SHAPES)[place % len(SHAPES)]


def style_sheet() -> str:
    """Return the style of a page: its words, tables and charts, with the colours of lines (``s``) and fills (``f``)."""
    light = _variables(LIGHT, ground=LIGHT_GROUND, ink="#1f2933", soft="#52606d", line="#cbd2d9", pale="#f3f5f7")
    dark = _variables(DARK, ground=DARK_GROUND, ink="#e6eaee", soft="#a9b4c0", line="#3a444f", pale="#1f262d")
    lines = [f".s{place}{{stroke:var(--c{place})}}" for place in range(len(LIGHT))]
    fills = [f".f{place}{{fill:var(--c{place})}}" for place in range(len(LIGHT))]
    return "\n".join(
        [
            f":root{{color-scheme:light dark;{light}}}",
            f"@media (prefers-color-scheme:dark){{:root{{{dark}}}}}",
            _RULES,
            *lines,
            *fills,
        ]
    )


def _variables(colours: tuple[str, ...], **others: str) -> str:
    named = {f"c{place}": colour for place, colour in enumerate(colours)} | others
    return "".join(f"--{name}:{value};" for name, value in named.items())


_RULES: Final = """\
body{margin:0 auto;max-width:1180px;padding:24px;background:var(--ground);color:var(--ink);
font:15px/1.5 system-ui,"Segoe UI","DejaVu Sans",Helvetica,Arial,sans-serif}
h1{font-size:1.6em;margin:0 0 .3em}h2{font-size:1.25em;margin:2em 0 .3em;overflow-wrap:anywhere}
h3{font-size:1em;margin:0}
p.about{color:var(--soft);margin:.2em 0;overflow-wrap:anywhere}
.wide{overflow-x:auto}
table{border-collapse:collapse;margin:1em 0;font-size:.93em;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding-bottom:.4em}
th,td{padding:.25em .55em;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,tbody th{text-align:left}
th{font-weight:600}td small{color:var(--soft)}
details{margin:.5em 0}summary{cursor:pointer}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:24px}
figure{margin:0;min-width:0}figure svg.chart{display:block;width:100%;height:auto}
figcaption{font-size:.9em;color:var(--soft)}
ul.key{display:flex;flex-wrap:wrap;gap:.2em 1.2em;list-style:none;margin:.3em 0 0;padding:0;font-size:.9em}
ul.key li{overflow-wrap:anywhere}ul.key svg{width:28px;height:10px;margin-right:.4em;vertical-align:middle}
svg text{fill:var(--soft);font-size:12px}
.grid{stroke:var(--line);stroke-width:1;fill:none}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}.line:hover{stroke-width:3.5}
.mark{fill-opacity:.65}.mark:hover{fill-opacity:1;stroke:var(--ink);stroke-width:1}
.ground{fill:var(--pale)}
svg text.name{fill:var(--ink)}"""
