"""The report of replays: marks and figures by hand, the same bytes every time, and nothing in it but what was meant."""

import re
import stat
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from more_examples import more_examples
from page_reader import KNOWN, NASTY, Page, found, pictures, said
from replay_outcomes import at_random, by_hand, floats, without_jobs, without_nodes

from muri_opt.errors import InputError
from muri_opt.replay.metrics.comparison import RATIOS, compared
from muri_opt.report.charts.replay_groups import groups_of
from muri_opt.report.charts.replay_html import report_html, write_report
from muri_opt.report.format import printable


def pair():
    first = by_hand("fifo")
    jobs = replace(
        first.jobs, ended=floats(20, 20, 80, 50), capacity=floats(10, 10, 56, 0), fairness=floats(0, 0, 0, 0)
    )
    return [first, by_hand("srtf", jobs=jobs)]


def test_every_replay_has_a_line_in_every_chart_a_bar_and_a_map():
    page = report_html(pair())
    for kind in ("completion", "use", "queue"):
        (chart,) = pictures(page, kind)
        assert len(found(chart, "line")) == 2
        assert [said(line).split(":")[0] for line in found(chart, "line")] == ["fifo", "srtf"]
    (waiting,) = pictures(page, "waiting")
    assert len(found(waiting, "part")) == 6
    assert [said(part) for part in found(waiting, "part")[:3]] == [
        "fifo, fairness: 2 s",
        "fifo, fragmentation: 1 s",
        "fifo, capacity: 12 s",
    ]
    maps = pictures(page, "heat")
    assert [said(chart) for chart in maps] == ["Nodes over time: fifo", "Nodes over time: srtf"]
    assert [len(found(chart, "node")) for chart in maps] == [2, 2]
    assert [said(row) for row in found(maps[0], "node")] == [
        "node 0: 0.6 GPUs in use on average",
        "node 1: 1.2 GPUs in use on average",
    ]


def test_the_line_of_completion_times_by_hand():
    """Times 10, 40 and 100 s between the marks 10 s (x 62) and 2 min (x 546); 0 % is y 256, 100 % is y 12."""
    (chart,) = pictures(report_html([by_hand()]), "completion")
    (line,) = found(chart, "line")
    at = [62 + 484 * np.log(time / 10) / np.log(12) for time in (10, 40, 100)]
    assert line.get("d") == f"M{at[0]:.1f} 256.0V134.0H{at[1]:.1f}V73.0H{at[2]:.1f}V12.0"
    assert said(line) == "fifo: half within 25 s, 99 % within 1.6 min"


def test_the_lines_over_time_by_hand():
    page = report_html([by_hand()])
    (use,), (queue,) = pictures(page, "use"), pictures(page, "queue")
    (line,) = found(use, "line")
    assert line.get("d") == "M62.0 12.0H110.4V256.0H158.8V12.0H255.6V195.0H546.0"
    assert said(line) == "fifo: 45.0% on average"
    (line,) = found(queue, "line")
    assert line.get("d") == "M62.0 12.0H110.4H158.8V134.0H255.6V256.0H546.0"
    assert said(line) == "fifo: 0.6 on average, at most 2"


def test_the_map_of_nodes_by_hand():
    """Node 0 is full for a tenth of 180 columns, free for as long, full for a fifth, then free; node 1 is half full."""
    (chart,) = pictures(report_html([by_hand()]), "heat")
    first, second = found(chart, "node")
    assert [(path.get("class"), path.get("d")) for path in first.findall("{*}path")] == [("h8", "M0 .5h18M36 .5h36")]
    assert [(path.get("class"), path.get("d")) for path in second.findall("{*}path")] == [
        ("h4", "M72 .5h108"),
        ("h8", "M0 .5h18M36 .5h36"),
    ]


def test_the_table_says_what_compared_says():
    outcomes = pair()
    cells = Page(report_html(outcomes)).cells
    start = cells.index("fifo")
    for place, row in enumerate(compared(outcomes)):
        shown = cells[start + place * (len(RATIOS) + 1) :][: len(RATIOS) + 1]
        assert shown[0] == row.policy
        for cell, name in zip(shown[1:], RATIOS, strict=True):
            assert cell.split()[1] == f"({row.ratios[name]:.3f})"
    assert cells[start + 1] == "40.00 (1.000)"
    assert cells[start + len(RATIOS) + 2] == "42.50 (1.062)"
    figures = cells[cells.index("figure") :]
    assert figures[figures.index("makespan") + 1 :][:2] == ["100", "80"]
    assert figures[figures.index("queue_most") + 1 :][:2] == ["2", "2"]


def test_the_same_outcomes_make_the_same_bytes(tmp_path):
    paths = [tmp_path / "one.html", tmp_path / "two.html"]
    for path in paths:
        write_report([at_random(name, jobs=50, nodes=3, moments=900, seed=3) for name in "ab"], path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["one.html", "two.html"]


def test_long_replays_of_many_nodes_stay_small():
    outcomes = [at_random(f"policy-{k}", jobs=1000, nodes=200, moments=4000, seed=k) for k in range(5)]
    for outcome in outcomes:
        assert outcome.jobs.ids == outcomes[0].jobs.ids
    page = report_html(outcomes)
    assert len(page) < 1_000_000
    assert [len(found(chart, "node")) for chart in pictures(page, "heat")] == [40] * 5
    assert "as means of 300 parts" in page
    assert "A row is the mean of up to 5 neighbouring nodes." in page


def test_clocks_without_nodes_have_no_map_and_no_jobs_make_empty_charts():
    page = report_html([without_nodes(by_hand()), by_hand("srtf")])
    assert [said(chart) for chart in pictures(page, "heat")] == ["Nodes over time: srtf"]
    page = report_html([without_jobs()])
    assert "0 jobs on cluster 2x2 with 4 GPUs, clock own, seed 0" in page
    assert not [line for kind in ("completion", "use", "queue") for line in found(*pictures(page, kind), "line")]
    assert pictures(page, "heat") == []


def test_replays_of_other_jobs_or_seeds_are_sections_of_their_own():
    other = by_hand("srtf", ids=("e", "f", "g", "h"), workload="other")
    groups = groups_of([by_hand(), other, by_hand("srtf"), by_hand(seed=1)])
    assert [group.names for group in groups] == [("fifo", "srtf"), ("srtf",), ("fifo",)]
    page = Page(report_html([by_hand(), other, by_hand("srtf"), by_hand(seed=1)]))
    assert page.tags.count("section") == 3
    assert "Replay: hand, other" in page.words
    names = [value for name, value in page.attributes if name == "id"]
    assert len(names) == len(set(names))
    assert {v for n, v in page.attributes if n in ("aria-labelledby", "aria-describedby")} == set(names)


def test_every_replay_has_a_name_of_its_own():
    (group,) = groups_of([by_hand("p"), by_hand("p"), by_hand("p (2)"), by_hand("p")])
    assert group.names == ("p", "p (2)", "p (2) (2)", "p (3)")
    (group,) = groups_of([by_hand("p"), by_hand("p", clock="muri", cluster="2x2")])
    assert group.names == ("p, clock own", "p, clock muri")


@given(NASTY, NASTY, NASTY, st.lists(NASTY, min_size=1, max_size=3))
@more_examples(60)
@example("<script>", "<!--", "&#60;", ["<b>", "<b>"])
def test_whatever_names_contain_the_page_is_what_was_meant(workload, cluster, clock, policies):
    ids = tuple(f"{workload}{k}" for k in range(4))
    about = {"workload": workload, "cluster": cluster, "clock": clock, "ids": ids, "resources": (workload,)}
    timeline = replace(by_hand().timeline, stages=np.ones((5, 1)))
    page = report_html([by_hand(policy, timeline=timeline, **about) for policy in policies])
    plain = report_html([by_hand(f"p{k}", timeline=timeline, **about) for k in range(len(policies))])
    read = Page(page)
    assert read.tags == Page(plain).tags
    assert set(read.tags) <= KNOWN
    assert not [name for name, _ in read.attributes if name.startswith("on") or name in ("src", "href")]
    assert read.cells[read.cells.index("fairness rho") + 1] == printable(policies[0])
    assert len(pictures(page, "completion")) == 1
    page.encode()


def test_the_page_needs_nothing_from_elsewhere():
    page = report_html(pair())
    assert set(re.findall(r"[a-z]+://[^\"' ]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_files_are_written_whole_or_refused(tmp_path):
    write_report(pair(), tmp_path / "r.html")
    (tmp_path / "link.html").symlink_to(tmp_path / "r.html")
    write_report([by_hand()], tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "r.html").read_text() == report_html([by_hand()])
    with pytest.raises(InputError, match="a file that can be written"):
        write_report(pair(), tmp_path)
    with pytest.raises(InputError, match="No such file"):
        write_report(pair(), tmp_path / "gone" / "r.html")
    write_report(pair(), "/dev/null")
    assert stat.S_ISCHR((tmp_path / "/dev/null").stat().st_mode)
    with pytest.raises(InputError, match="at least one replay"):
        write_report([], tmp_path / "none.html")
