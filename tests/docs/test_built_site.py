"""The built site: no formula torn out of its paragraph, no literal star, no dead link, nothing from elsewhere."""

import re
import time
from urllib.parse import unquote, urldefrag, urljoin

import pytest
from browser_pipe import PATIENCE
from built_site import ROOT, SitePage, build_site

from muri_opt.systems.registry import systems

FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$]+?\$", flags=re.DOTALL)
ELSEWHERE = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=\"?(?:\w+:)?//[^>]*>")
CODE = re.compile(r"^```.*?^```|`[^`\n]*(?:\n[^`\n]+)*`", flags=re.DOTALL | re.MULTILINE)


def dead_links(pages):
    """Return the links of pages, by address, to files that are not there or places that a page does not have."""
    found = []
    for address, page in pages.items():
        for link in page.links:
            if re.match(r"\w+:", link):
                continue
            target, place = urldefrag(urljoin(address, unquote(link)))
            if target not in pages:
                found += [f"{address}: {link}"] * (not target.endswith((".lp", ".svg")))
            elif place and place not in pages[target].ids and place != "__toc":
                found.append(f"{address}: {link}")
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    assert build_site(folder) == []
    return folder


def test_the_site_is_whole(site):
    files = {path.relative_to(site).as_posix(): path.read_text() for path in site.rglob("*.html")}
    pages = {name: SitePage(text) for name, text in files.items() if name != "404.html"}
    assert len(pages) > 50
    assert {name: page.odd for name, page in pages.items() if page.odd} == {}
    assert dead_links(pages) == []
    assert {name: found for name, text in files.items() if (found := ELSEWHERE.findall(text))} == {}
    for path in ROOT.glob("formulations/*/README.md"):
        written = len(FORMULA.findall(CODE.sub("", path.read_text())))
        assert pages[f"book/{path.parent.name}/index.html"].formulas == written > 0, path
    policies = {f"policies.html#{name}" for system in systems() for name in system.policies}
    assert policies <= set(pages["index.html"].links)


@pytest.mark.browser
@pytest.mark.parametrize("wide", [400, 800, 1400])
@pytest.mark.parametrize("page", ["index.html", "book/grouping/index.html"])
def test_a_page_opens_without_a_complaint_and_nothing_sticks_out(site, browser, page, wide):
    browser.open((site / page).as_uri(), wide=wide)
    assert browser.complaints() == []
    assert [asked for asked in browser.requests() if not asked.startswith(("file:", "data:"))] == []
    assert browser.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.slow
@pytest.mark.browser
def test_no_formula_sticks_out_of_a_narrow_page(site, browser):
    wide = {}
    for page in sorted(site.glob("book/*/index.html")):
        browser.open(page.as_uri(), wide=400)
        wide[page.parent.name] = browser.value("document.documentElement.scrollWidth")
    assert len(wide) >= 10
    assert {name: found for name, found in wide.items() if found > 400} == {}


@pytest.mark.browser
def test_a_reader_may_choose_dark_or_light(site, browser):
    browser.open((site / "index.html").as_uri())
    grounds = {}
    for _ in range(2):
        browser.value("document.querySelector('form[data-md-component=palette] label:not([hidden])').click()")
        ground = browser.value("getComputedStyle(document.body).backgroundColor")
        grounds[browser.value("document.body.dataset.mdColorScheme")] = ground
    assert set(grounds) == {"default", "slate"}
    assert len(set(grounds.values())) == 2


@pytest.mark.browser
def test_search_works_on_files(tmp_path, browser):
    docs = tmp_path / "docs"
    (docs / "assets").mkdir(parents=True)
    for asset in (ROOT / "docs" / "assets").iterdir():
        (docs / "assets" / asset.name).write_bytes(asset.read_bytes())
    (docs / "index.md").write_text("# Start\n\nNothing here.\n")
    (docs / "moves.md").write_text("# Moves\n\nTo defragment is to move jobs.\n")
    build_site(tmp_path / "site", plugins=("search", "offline"), docs_dir=str(docs), nav=None, hooks=[])
    browser.open((tmp_path / "site" / "index.html").as_uri() + "?q=defragment")
    until = time.monotonic() + PATIENCE
    while browser.number(".md-search-result__item") == 0 and time.monotonic() < until:
        time.sleep(0.05)
    assert browser.number(".md-search-result__item") == 1
    assert browser.complaints() == []


@pytest.mark.parametrize(
    ("html", "odd"),
    [
        ("<p>so <math></math> is</p>", 0),
        ("so <math></math> is", 1),
        ("<p>two * three</p>", 1),
        ("<p><code>two * three</code></p>", 0),
        ("<p>a price of $x$</p>", 1),
        ("<p>see [there](there.md)</p>", 1),
    ],
)
def test_what_is_odd_is_seen(html, odd):
    assert len(SitePage(f"<article>{html}</article>").odd) == odd


def test_dead_links_are_seen():
    pages = {
        "a.html": SitePage('<a href="b.html#there">1</a><a href="b.html#gone">2</a><a href="c.html">3</a>'),
        "b.html": SitePage('<h1 id="there"></h1><a href="a.html">1</a><a href="https://elsewhere.invalid">2</a>'),
    }
    assert dead_links(pages) == ["a.html: b.html#gone", "a.html: c.html"]
