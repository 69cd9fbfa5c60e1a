"""The report of replays in a browser: no complaint, no request, all marks there, readable by day and by night."""

import pytest
from browser_pipe import rgb
from page_reader import EVIL
from replay_outcomes import at_random, by_hand

from muri_opt.replay.metrics.summary import summary
from muri_opt.report.charts.replay_html import write_report
from muri_opt.report.charts.style import DARK_GROUND, LIGHT_GROUND

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return the address of a report of three replays on twelve nodes."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report([at_random(name, jobs=300, nodes=12, moments=700, seed=1) for name in ("fifo", "srtf", EVIL)], path)
    return path.as_uri()


def test_the_page_opens_without_a_complaint_and_asks_for_nothing_else(browser, report):
    browser.open(report)
    assert browser.complaints() == []
    assert browser.requests() == [report]
    assert browser.value("document.compatMode") == "CSS1Compat"


def test_all_marks_are_drawn(browser, report):
    browser.open(report)
    for kind in ("completion", "use", "queue"):
        assert browser.number(f"svg.{kind} path.line") == 3
    lengths = browser.value("[...document.querySelectorAll('svg.chart path.line')].map(line => line.getTotalLength())")
    assert len(lengths) == 9
    assert min(lengths) > 400
    assert browser.number("svg.waiting g.part") == 9
    assert browser.number("svg.heat") == 3
    assert browser.number("svg.heat g.node") == 36
    assert browser.number("table.compared tbody tr") == 3
    assert browser.number("script, img, iframe, link, object") == 0
    assert browser.value("document.querySelectorAll('table.compared tbody th')[2].textContent") == EVIL


def test_lines_have_colours_and_dashes_of_their_own(browser, report):
    looks = "[...document.querySelectorAll('svg.queue path.line')].map(p => getComputedStyle(p))"
    for dark in (False, True):
        browser.open(report, dark=dark)
        found = browser.value(f"{looks}.map(look => look.stroke + look.strokeDasharray)")
        assert len(set(found)) == 3
        ground = browser.value("getComputedStyle(document.body).backgroundColor")
        assert ground == rgb(DARK_GROUND if dark else LIGHT_GROUND)
        assert not any(line.startswith(ground) for line in found)


def test_figures_are_named_for_those_who_do_not_see_them(browser, report):
    browser.open(report)
    unnamed = "[...document.querySelectorAll('svg.chart')].filter(p => !p.querySelector('title').textContent)"
    assert browser.value(f"{unnamed}.length") == 0
    tree = browser.command("Accessibility.getFullAXTree")["nodes"]
    names = [node["name"]["value"] for node in tree if node.get("role", {}).get("value") in ("image", "img")]
    assert names[:4] == ["Job completion times", "GPUs in use", "Jobs that wait", "Why jobs wait"]
    assert names[4:] == [f"Nodes over time: {name}" for name in ("fifo", "srtf", EVIL)]


@pytest.mark.parametrize("wide", [1200, 380])
def test_nothing_sticks_out_of_the_page(browser, report, wide):
    browser.open(report, wide=wide)
    assert browser.value("innerWidth") == wide
    assert browser.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert browser.value("Math.min(...[...document.querySelectorAll('svg.chart')].map(p => p.clientWidth))") > 250


def test_a_page_that_logs_and_asks_is_caught(browser, tmp_path):
    """What the checks above rest on."""
    page = tmp_path / "bad.html"
    page.write_text(
        "<script>console.error('bad');throw new Error('worse')</script><img src=http://elsewhere.invalid/x>"
    )
    browser.open(page.as_uri())
    assert any("bad" in line for line in browser.complaints())
    assert "Uncaught" in browser.complaints()
    assert "http://elsewhere.invalid/x" in browser.requests()


def test_a_small_replay_is_a_page_too(browser, tmp_path):
    write_report([by_hand()], tmp_path / "small.html")
    browser.open((tmp_path / "small.html").as_uri())
    assert browser.complaints() == []
    assert browser.value("document.title") == "Replay: hand"
    assert browser.number("details[open]") == 0
    browser.value("document.querySelector('summary').click()")
    assert browser.number("details[open] table.figures tbody tr") == len(summary(by_hand()).as_dict())
