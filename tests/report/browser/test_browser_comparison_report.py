"""The report of a gap study in a browser: no complaint, no request, all marks there, readable by day and by night."""

from dataclasses import replace

import pytest
from browser_pipe import rgb
from comparison_rows import at_random, found, run
from page_reader import EVIL

from muri_opt.report.charts.comparison_html import write_comparison_report
from muri_opt.report.charts.style import DARK_GROUND, LIGHT_GROUND

pytestmark = pytest.mark.browser

INSIDE = """[...document.querySelectorAll('svg.chart {}')].filter(part => {{
    const a = part.getBoundingClientRect(), b = part.closest('svg').getBoundingClientRect();
    return a.width > 2 && a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
}}).length"""
"""How many parts of charts are drawn and lie within their chart."""
CHARTS = ("profile.reached", "profile.ended", "time", "size", "policy")


@pytest.fixture(scope="module")
def rows():
    """Return a study of 12 rounds, three policies and four methods; its first round and a method have evil names."""
    rows = at_random(rounds=12)
    evil = [replace(row, instance=EVIL) if row.instance == rows[0].instance else row for row in rows]
    wrong = [run("auto", 10, instance="wrong", detail=EVIL), found("heuristic", 11, instance="wrong", detail=EVIL)]
    tiny = [found("heuristic", 10**8, instance="tiny", bound=10**8 + number) for number in (1, 9 * 10**8)]
    tiny[1] = replace(tiny[1], instance="huge")
    return [replace(row, method=EVIL) if row.method == "auto" else row for row in [*evil, *wrong, *tiny]]


@pytest.fixture(scope="module")
def report(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "gaps.html"
    write_comparison_report(rows, path)
    return path.as_uri()


def test_the_page_opens_without_a_complaint_and_asks_for_nothing_else(browser, report):
    browser.open(report)
    assert browser.complaints() == []
    assert browser.requests() == [report]
    assert browser.number("script, img, iframe, link, object") == 0
    assert browser.value("document.title") == "Gap study"


def test_all_marks_are_drawn(browser, report, rows):
    browser.open(report)
    for chart in CHARTS[:2]:
        lengths = browser.value(
            f"[...document.querySelectorAll('svg.{chart} path.line')].map(line => line.getTotalLength())"
        )
        assert len(lengths) == 4
        assert min(lengths) >= 484
    known = [row for row in rows if row.value is not None and row.instance != "wrong"]
    assert browser.number("svg.time path.mark") == len(known)
    assert browser.value(INSIDE.format(".mark")) == browser.number("svg.chart .mark")
    assert browser.value(INSIDE.format("text")) == browser.number("svg.chart text")
    assert browser.number("svg.policy g.spread") == len({(row.policy, row.method) for row in known})
    assert browser.number("svg.size g.spread") > 8


def test_names_are_words_and_what_is_wrong_is_seen(browser, report):
    browser.open(report)
    assert browser.value("document.querySelector('table.pairs tbody th').textContent") == EVIL
    assert browser.value("document.querySelectorAll('svg.time ~ ul.key li')[1].textContent") == EVIL
    assert "wrong, fifo: heuristic reaches 11" in browser.value("document.querySelector('.alarm').textContent")
    assert browser.number("details:not([open]) table.pairs tbody tr") == 39
    alarm, chart = (f"document.querySelector('{name}').getBoundingClientRect()" for name in (".alarm", "svg.chart"))
    assert browser.value(f"{alarm}.height > 20 && {alarm}.bottom < {chart}.top")


def test_methods_have_colours_and_shapes_of_their_own(browser, report):
    for dark in (False, True):
        browser.open(report, dark=dark)
        ground = browser.value("getComputedStyle(document.body).backgroundColor")
        assert ground == rgb(DARK_GROUND if dark else LIGHT_GROUND)
        marks = "[...document.querySelectorAll('svg.time ~ ul.key path')]"
        fills = browser.value(f"{marks}.map(mark => getComputedStyle(mark).fill)")
        shapes = browser.value(f"{marks}.map(mark => mark.getAttribute('d'))")
        assert len(set(fills)) == len(set(shapes)) == 4
        assert ground not in fills


@pytest.mark.parametrize("wide", [1200, 380])
def test_nothing_sticks_out_of_the_page(browser, report, wide):
    browser.open(report, wide=wide)
    assert browser.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    names = browser.value("[...document.querySelectorAll('svg.chart')].map(p => p.querySelector('title').textContent)")
    assert len(set(names)) == 5
