"""Hooks of the documentation build: the book and the changelog become pages, formulas become MathML.

Pages are written so that their links hold where the files lie, in a clone and on a web page of the repository. The
site has the book under ``book/`` and the changelog beside the other pages, so links to them are rewritten here.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
_CODE = re.compile(r"(^```.*?^```|`[^`\n]*(?:\n[^`\n]+)*`)", flags=re.DOTALL | re.MULTILINE)
_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$]+?)\$", flags=re.DOTALL)
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_ROLE = re.compile(r":(?:class|data|func|meth|mod):<code>(~?)([^<]+)</code>")
"""How docstrings name other things; a tilde asks for the last part of the name."""
_MARK = re.compile(r"FORMULA(\d+)END")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the chapters of the book, their programs and the changelog, which live beside ``docs/``."""
    chapters = [*ROOT.glob("formulations/**/*.md"), *ROOT.glob("formulations/**/*.lp")]
    pages = {_site_path(path.relative_to(ROOT).as_posix()): path for path in [*chapters, ROOT / "CHANGELOG.md"]}
    for name, path in sorted(pages.items()):
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Return the page with its links as the site has them, and a mark in the place of every formula.

    A formula at the beginning of a line would be taken for a block of HTML and tear its paragraph; a mark is a word.
    """
    formulas: list[str] = []

    def mark(match: re.Match[str]) -> str:
        display, inline = match.groups()
        formulas.append(convert(display or inline, display="block" if display else "inline"))
        return f"FORMULA{len(formulas) - 1}END"

    source = _repository_path(page.file.src_uri)

    def written(text: str) -> str:
        return _LINK.sub(lambda match: _site_link(match, source), _FORMULA.sub(mark, text))

    parts = _CODE.split(markdown)
    page.meta["formulas"] = formulas  # from here to on_page_content
    return "".join(part if place % 2 else written(part) for place, part in enumerate(parts))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Return the page with its formulas as MathML, which browsers show without a script, and docstrings as prose."""
    formulas = page.meta.pop("formulas")
    html = _ROLE.sub(lambda match: f"<code>{match[2].rpartition('.')[2] if match[1] else match[2]}</code>", html)
    return _MARK.sub(lambda match: formulas[int(match[1])], html)


def _site_path(path: str) -> str:
    """Return where the site has a file of the repository."""
    if path == "CHANGELOG.md":
        return "changelog.md"
    if path.startswith("formulations/"):
        return "book/" + path.removeprefix("formulations/")
    return path.removeprefix("docs/")


def _repository_path(path: str) -> str:
    """Return where the repository has a page of the site."""
    if path == "changelog.md":
        return "CHANGELOG.md"
    return "formulations/" + path.removeprefix("book/") if path.startswith("book/") else "docs/" + path


def _site_link(match: re.Match[str], source: str) -> str:
    """Return a link of a file of the repository as the site has it, relative to where the site has the file."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
    here = posixpath.dirname(_site_path(source))
    return f"]({posixpath.relpath(_site_path(target), here or '.')}{match[2] or ''})"
