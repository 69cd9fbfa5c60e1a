"""The page of a report: one HTML file that needs no network and runs no script, its tables, and how it is written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from muri_opt.errors import InputError
from muri_opt.report.charts.frame import Figure, escaped, figure_html
from muri_opt.report.charts.style import style_sheet
from muri_opt.studies.runner.atomic_write import replace_file

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What the page may do: nothing but its own style. A browser holds it to that, whatever names contain."""


def page_html(title: str, about: str, body: str, *, style: str = "") -> str:
    """Return a page; ``title`` and ``about`` are plain words, ``body`` is HTML, ``style`` follows that of charts."""
    rules = f"{style_sheet()}\n{style}".rstrip()
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>\n{rules}\n</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escaped(title)}</h1>\n<p class="about">{escaped(about)}</p>\n'
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def write_page(page: str, path: str | os.PathLike[str]) -> None:
    """Write a page to a file, which appears whole or not at all."""
    data = page.encode()
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a device or a pipe is written to, never replaced
        else:
            replace_file(target, data)
    except OSError as error:
        raise InputError(str(path), error.strerror or str(error), "a file that can be written") from None


def figures_html(figures: Iterable[Figure], prefix: str) -> str:
    """Return figures beside each other; ``prefix`` is one no other group of figures of the page has."""
    drawn = "\n".join(figure_html(figure, f"{prefix}-{number}") for number, figure in enumerate(figures, 1))
    return f'<div class="figures">\n{drawn}\n</div>'


def table_html(kind: str, caption: str, heads: Iterable[str], lines: Iterable[str]) -> str:
    """Return a table; ``caption`` and ``heads`` are plain words, ``lines`` are from ``line_html()``."""
    head = "".join(f'<th scope="col">{escaped(word)}</th>' for word in heads)
    body = "\n".join(lines)
    return (
        f'<div class="wide"><table class="{kind}">\n<caption>{escaped(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def line_html(name: str, cells: Iterable[str]) -> str:
    """Return a line of a table: its name in plain words, then cells of HTML."""
    return f'<tr><th scope="row">{escaped(name)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def folded(summary: str, body: str, *, unfolded: bool = False) -> str:
    """Return HTML under a line of plain words that a reader unfolds."""
    return f"<details{' open' if unfolded else ''}>\n<summary>{escaped(summary)}</summary>\n{body}\n</details>"
