"""Builds the documentation, or some pages of it, and reads what a reader would see."""

import logging
import re
from html.parser import HTMLParser
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).resolve().parents[2]
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source"}
NOT_PROSE = {"code", "pre", "script", "style", "math", "svg", "title"}
HOLDS_FORMULAS = {"p", "td", "th", "li", "em", "strong", "h1", "h2", "h3", "h4"}


class Warnings(logging.Handler):
    """Keeps what mkdocs warns of."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


def build_site(folder, plugins=("offline",), **settings):
    """Build the site into a folder without what takes most of the time, search and the reference; return warnings."""
    warnings, log = Warnings(), logging.getLogger("mkdocs")
    log.addHandler(warnings)
    try:
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), plugins=list(plugins), **settings)
        build(config)
    finally:
        log.removeHandler(warnings)
    return warnings.texts


class SitePage(HTMLParser):
    """What is odd in the article of a page, its links, and places that links may lead to.

    Around the article is what the theme makes, the same on every page: it is not read.
    """

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.odd, self.links, self.ids, self.formulas = [], [], [], set(), 0
        self.feed(html[max(0, html.find("<article")) :].partition("</article>")[0])
        self.close()

    def handle_starttag(self, tag, attributes):
        said = dict(attributes)
        self.ids.update(said[name] for name in ("id", "name") if said.get(name))
        if tag == "a" and said.get("href"):
            self.links.append(said["href"])
        if tag == "math":
            self.formulas += 1
            if self.open[-1] not in HOLDS_FORMULAS:
                self.odd.append(f"a formula in <{self.open[-1]}>, torn out of its paragraph")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if not NOT_PROSE & set(self.open):
            self.odd += re.findall(r".{0,30}(?:[*$]|\]\(|``|FORMULA\d|:\w+:`).{0,30}", data)
