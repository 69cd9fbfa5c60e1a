"""The report of a gap study: charts by hand, tables, what is wrong in plain sight, and nothing but what was meant."""

import re
from dataclasses import replace
from math import log

import pytest
from comparison_rows import at_random, found, refused, run, studies
from hypothesis import given, settings
from page_reader import KNOWN, NASTY, Page, found as parts_of, pictures, said

from muri_opt.errors import InputError
from muri_opt.report.charts.comparison_html import comparison_html, write_comparison_report
from muri_opt.report.format import printable
from muri_opt.studies.compare.summary import summary_of

KINDS = ("profile reached", "profile ended", "time", "size", "policy")


def by_hand():
    """Two rounds: on the first ``quick`` loses a quarter, on the second nothing, in a fourth and a half of the time."""
    first, second = {"instance": "one", "jobs": 3}, {"instance": "two", "jobs": 7}
    return [
        *(found("quick", 80, 0.25, **first), run("exact", 100, 1.0, **first), refused("other", **first)),
        *(found("quick", 50, 2.0, **second), run("exact", 50, 4.0, **second), refused("other", **second)),
    ]


def chart(page, kind):
    (only,) = pictures(page, kind)
    return only


def rows_of(page, kind):
    """Return the cells of the lines of a table."""
    table = re.search(rf'<table class="{kind}">.*?</table>', page, re.DOTALL)[0]
    lines = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    return [[re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", line)] for line in lines]


def test_profiles_by_hand():
    """Ratios 1 (x 62) to 2 (x 546); 0 % is y 256, a half y 134."""
    page = comparison_html(by_hand())
    quick, exact, other = parts_of(chart(page, "profile reached"), "line")
    assert quick.get("d") == "M62 256.0H62.0V134.0H546"
    assert exact.get("d") == "M62 256.0H62.0V134.0H546.0V12.0H546"
    assert other.get("d") == "M62 256.0H546"
    assert said(quick) == "quick: fastest on 50.0%, solves 50.0% in all"
    assert said(exact) == "exact: fastest on 50.0%, solves 100.0% in all"
    quick, exact, _ = parts_of(chart(page, "profile ended"), "line")
    assert (quick.get("d"), exact.get("d")) == ("M62 256.0H546", "M62 256.0H62.0V12.0H546")
    assert "2 pairs." in page


def test_marks_of_runs_by_hand():
    """Times from 0.1 s (x 62) to 10 s (x 546); three lanes between y 256 and 207.2; 10 % is y 192.56, 100 % y 12."""
    time = chart(comparison_html(by_hand()), "time")
    first, second, *exact = parts_of(time, "mark")
    at = [62 + 484 * log(seconds / 0.1) / log(100) for seconds in (0.25, 2.0)]
    high = 192.56 - 180.56 * (log(0.2) / log(10) + 1)
    assert first.get("d").startswith(f"M{at[0]:.1f} {high:.1f}m")
    assert second.get("d").startswith(f"M{at[1]:.1f} {256 - 48.8 / 6:.1f}m")
    assert [mark.get("d").split("m")[0].split()[1] for mark in exact] == ["231.6", "231.6"]
    assert said(first) == "quick: one, fifo: 20.00 % after 0.25 s"
    assert "Left out" not in comparison_html(by_hand())
    assert "Left out: 1 run whose loss is not known." in comparison_html([*by_hand(), found("quick", instance="three")])


def test_medians_and_worst_by_size_and_policy():
    rows = by_hand() + [replace(row, policy="srtf", instance=f"{row.instance}-srtf") for row in by_hand()[:3]]
    page = comparison_html(rows)
    sizes = [said(part) for part in parts_of(chart(page, "size"), "spread")]
    assert sizes == [
        "quick, 3 jobs, 2 runs: median 20.00 %, worst 20.00 %",
        "exact, 3 jobs, 2 runs: median 0 %, worst 0 %",
        "quick, 7 jobs, 1 run: median 0 %, worst 0 %",
        "exact, 7 jobs, 1 run: median 0 %, worst 0 %",
    ]
    policies = [said(part) for part in parts_of(chart(page, "policy"), "spread")]
    assert policies[0] == "quick, fifo, 2 runs: median 10.00 %, worst 20.00 %"
    assert [words.split(",")[1] for words in policies] == [" fifo", " fifo", " srtf", " srtf"]


def test_the_summary_is_that_of_the_study_with_all_policies_first():
    rows = at_random(rounds=5)
    shown = rows_of(comparison_html(rows), "summary")
    cells = [one.cells() for one in summary_of(rows).methods]
    assert shown[5:] == cells
    assert [line[:2] for line in shown[1:5]] == [["all policies", m] for m in ("heuristic", "auto", "cp-sat", "highs")]
    for column in (2, 3, 4, 5):
        for total in shown[1:5]:
            assert int(total[column]) == sum(int(line[column]) for line in cells if line[1] == total[1])
    assert [line[0] for line in rows_of(comparison_html(by_hand()), "summary")[1:]] == ["fifo"] * 3


def test_the_table_of_pairs_says_who_found_what():
    three = {"instance": "three", "jobs": 5}
    extra = [
        found("quick", None, 0.5, reason="NO_SOLUTION", **three),
        found("exact", 2**200, 0.5, bound=2**200 + 1, **three),
    ]
    all_refused = [refused(method, instance="four") for method in ("quick", "exact")]
    lines = rows_of(comparison_html([*by_hand(), *extra, *all_refused]), "pairs")
    assert lines[0] == ["instance", "policy", "jobs", "best value", "bound", "proof", "quick", "exact", "other"]
    assert lines[1] == ["one", "fifo", "3", "100", "100", "dual values", "80 (0.25 s)", "100 (1 s)", "refused"]
    about = "about 2^200"
    assert lines[3] == ["three", "fifo", "5", about, about, "open", "- (0.5 s)", f"{about} (0.5 s)", "-"]
    assert len(lines) == 4
    assert "<b>100</b>" in comparison_html(by_hand())
    assert "<b>80</b>" not in comparison_html(by_hand())


def test_what_cannot_be_true_and_what_is_open_are_in_plain_sight():
    calm = comparison_html(by_hand())
    assert 'class="alarm"' not in calm
    assert "contradictions: none" in calm
    wrong = [run("exact", 10, instance="bad"), found("quick", 11, instance="bad")]
    failed = found("exact", None, instance="dead", reason="FAILED", detail="the solver died")
    page = comparison_html([*by_hand(), *wrong, failed])
    assert page.count('class="alarm" role="alert"') == 2
    assert "bad, fifo: quick reaches 11, and exact says that 10 is the most" in page
    assert "dead, fifo, exact: the solver died" in page
    assert rows_of(page, "pairs")[3][5] == "contradiction"
    left = [found("quick", 5, instance=f"open-{number}") for number in range(13)]
    assert "<details open>\n<summary>Left open: 12 pairs</summary>" in comparison_html([*by_hand(), *left[1:]])
    assert "<details>\n<summary>Left open: 13 pairs</summary>" in comparison_html([*by_hand(), *left])


def test_refusals_are_grouped_by_reason():
    why = "jobs[{}] ('job-{}').gpus: found '{}'; allowed: at least 1: the policy '{}' places gangs"
    rows = [
        refused("exact", why.format(number, number, number, policy), instance=f"r{number}", policy=policy)
        for number in range(3)
        for policy in ("fifo", "srtf")
    ]
    page = comparison_html([*rows, refused("quick", "another", instance="r0"), run()])
    assert rows_of(page, "refused")[1:] == [
        [
            "jobs[…].gpus: found &#x27;…&#x27;; allowed: at least 1: the policy &#x27;…&#x27; places gangs",
            *("fifo, srtf", "exact", "6", "3", "r0"),
        ],
        ["another", "fifo", "quick", "1", "1", "r0"],
    ]
    assert "7 runs refused, for 2 reasons" in page
    assert "No method refused a round." in comparison_html([run()])


@given(studies())
@settings(max_examples=25)
def test_any_study_is_a_page_with_all_charts(rows):
    page = comparison_html(rows)
    assert page == comparison_html(rows)
    methods = len({row.method for row in rows})
    for kind in KINDS[:2]:
        assert len(parts_of(chart(page, kind), "line")) == methods
    for kind in KINDS[2:]:
        for number in re.findall(r"[MHV ](-?[\d.]+)", "".join(p.get("d", "") for p in chart(page, kind).iter())):
            assert 0 <= float(number) <= 3000
    assert set(Page(page).tags) <= KNOWN | {"b"}


@given(studies(names=NASTY, most=3))
@settings(max_examples=25)
def test_whatever_names_contain_the_page_is_what_was_meant(rows):
    page = comparison_html(rows)
    read = Page(page)
    assert set(read.tags) <= KNOWN | {"b"}
    assert not [name for name, _ in read.attributes if name.startswith("on") or name in ("src", "href")]
    assert {printable(row.method) for row in rows} <= set(read.cells)
    assert [len(pictures(page, kind)) for kind in KINDS] == [1] * 5
    assert set(re.findall(r"[a-z]+://[^\"' ]+", page)) <= {"http://www.w3.org/2000/svg"}
    page.encode()


def test_figures_have_names_of_their_own_and_nothing_comes_from_elsewhere():
    page = comparison_html(by_hand())
    read = Page(page)
    names = [value for name, value in read.attributes if name == "id"]
    assert len(names) == len(set(names)) == 10
    assert "default-src 'none'" in page
    assert "url(" not in page
    assert "2 rounds, 3 methods, 1 policy, 6 runs; muri-opt " in page


def test_files_are_written_or_refused(tmp_path):
    write_comparison_report(by_hand(), tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == comparison_html(by_hand())
    with pytest.raises(InputError, match="a file that can be written"):
        write_comparison_report(by_hand(), tmp_path)
    with pytest.raises(InputError, match="at least one run"):
        write_comparison_report([], tmp_path / "none.html")
