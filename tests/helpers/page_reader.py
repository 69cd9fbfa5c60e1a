"""Reads a report as a browser would: its tags and words, its charts as trees; and words that a page must not obey."""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

from hypothesis import strategies as st

VOID = {"meta"}
KNOWN = {
    *("html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3", "p", "div", "small"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary", "figure", "figcaption", "ul", "li"),
    *("svg", "desc", "g", "path", "rect", "text"),
}


class Page(HTMLParser):
    """Keeps tags, attributes and words of a page, and checks that every element is closed where it should be."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.cells, self.words = [], [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("th", "td"):
            self.cells.append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if {"th", "td"} & set(self.open):
            self.cells[-1] += data


def pictures(page, kind):
    """Return the charts of a kind as trees."""
    return [
        tree
        for tree in map(ET.XML, re.findall(r"<svg.*?</svg>", page, re.DOTALL))
        if tree.get("class") == f"chart {kind}"
    ]


def found(tree, kind):
    return [part for part in tree.iter() if kind in part.get("class", "").split()]


def said(part):
    return part.find("{*}title").text


NASTY = st.text(max_size=12) | st.sampled_from(
    [
        "</svg><script>alert(1)</script>",
        "\"'><img src=x onerror=1>",
        "&lt;b&gt;",
        "]]>",
        "--><p>",
        "</style>",
        "a\x00\ud800\u202e",
    ]
)

EVIL = "</title></svg><script>console.log('run')</script><img src=http://elsewhere.invalid/x.png onerror=alert(1)>"
