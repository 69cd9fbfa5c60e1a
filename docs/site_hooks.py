"""Hooks of the documentation build: the book and the changelog become pages, formulas become MathML."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
_CODE = re.compile(r"(```.*?```|`[^`]*`)", flags=re.DOTALL)
_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$]+?)\$", flags=re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the chapters of the book and the changelog, which live beside ``docs/``, to the pages."""
    pages = {f"book/{path.relative_to(ROOT / 'formulations')}": path for path in ROOT.glob("formulations/**/*.md")}
    pages["changelog.md"] = ROOT / "CHANGELOG.md"
    for name, path in sorted(pages.items()):
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Return the page with its formulas as MathML, which browsers show without a script."""
    parts = _CODE.split(markdown)
    return "".join(part if place % 2 else _FORMULA.sub(_mathml, part) for place, part in enumerate(parts))


def _mathml(match: re.Match[str]) -> str:
    display, inline = match.groups()
    return convert(display or inline, display="block" if display else "inline").replace("|", "&#124;")
