"""The Gantt chart of a group: every stage is there, in its lane, as long as it takes."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import InputError, best_period
from muri_opt.report.format import width
from muri_opt.report.gantt import gantt_svg, gantt_text
from muri_opt.report.svg import distinct_colours
from muri_opt.systems.muri.interleaving import period_of

SVG = "{http://www.w3.org/2000/svg}"
STAGES = [[0.052, 0.030, 0.075, 0.066], [0.1, 0.02, 0.03, 0.04], [0.02, 0.09, 0.16, 0.06], [0.06, 0.02, 0.08, 0.1]]
NAMES = ["vgg16", "a2c", "bert", "gpt2"]


def drawn(stages, found, names, **options):
    return ET.XML(gantt_svg(stages, found, names, **options))


def marks(tree, kind):
    return tree.findall(f".//*[@class='{kind}']")


def words(tree):
    return [text.text for text in tree.iter(f"{SVG}text")]


def test_text_of_four_jobs():
    assert (
        gantt_text(STAGES, best_period(STAGES), NAMES)
        == """\
vgg16 + a2c + bert + gpt2
pattern cyclic: period 391 ms, efficiency 64.1 %
one after the other 1,003 ms, 2.57 times as long

         0             1                       2          3  slot
storage  AAAAAAAA······BBBBBBBBBBBBBBB·········DDDDDDDDD··CCC·······   59 % busy
cpu      CCCCCCCCCCCCCCAAAA····················BBB········DDD·······   41 % busy
gpu      DDDDDDDDDDDD··CCCCCCCCCCCCCCCCCCCCCCCCAAAAAAAAAAABBBBB·····   88 % busy
network  BBBBBB········DDDDDDDDDDDDDDD·········CCCCCCCCC··AAAAAAAAAA   68 % busy
         0                                                    391 ms

   job    slot  storage  cpu  gpu  network  total, ms
A  vgg16     0       52   30   75       66        223
B  a2c       1      100   20   30       40        190
D  gpt2      2       60   20   80      100        260
C  bert      3       20   90  160       60        330
"""
    )


def test_text_of_four_slots_shows_the_period_they_settle_at():
    stages = [[0.437, 0.008, 0.0016]] * 3 + [[0.799, 0.056, 0.024]]
    text = gantt_text(stages, best_period(stages, "muri-4slot"), ["dqn-1", "dqn-2", "dqn-3", "shufflenet"], columns=60)
    assert "period 879 ms" in text
    assert "drawn as the slots settle, with a period of 1,236 ms" in text
    lanes = [line for line in text.splitlines() if line.endswith("% busy")]
    assert [line[:9].strip() for line in lanes] == ["data", "", "gpu", "network"]
    assert max(width(line) for line in text.splitlines()) == 60


@st.composite
def groups(draw):
    pattern = draw(st.sampled_from(["cyclic", "muri-cyclic", "muri-4slot", "muri-4slot-steady"]))
    kinds = 3 if "4slot" in pattern else draw(st.integers(1, 5))
    jobs = draw(st.integers(1, 4 if "4slot" in pattern else kinds))
    times = st.one_of(st.just(0.0), st.floats(0, 1e-3), st.floats(0, 100))
    stages = draw(st.lists(st.lists(times, min_size=kinds, max_size=kinds), min_size=jobs, max_size=jobs))
    return stages, best_period(stages, pattern)


@given(groups(), st.text(), st.integers(0, 120))
@more_examples(60)
def test_text_is_as_wide_as_asked_and_shows_who_uses_what(group, name, columns):
    stages, found = group
    names, resources = [f"{name}{job}" for job in range(len(stages))], [f"r{stage}" for stage in range(len(stages[0]))]
    lines = gantt_text(stages, found, names, resources=resources, columns=columns).split("\n")
    lanes = [line for line in lines if line.endswith("% busy")]
    assert {width(line) for line in lanes} == {max(columns, 4 + 20 + 12)}
    shown = [{mark for mark in line if mark.isupper()} for line in lanes]
    if len(shown) > len(resources):  # two rows of data
        shown[:2] = [shown[0] | shown[1]]
    for stage, letters in enumerate(shown):
        used = {"ABCDE"[job] for job, times in enumerate(stages) if round(times[stage] * 10**6)}
        assert letters <= used
        assert bool(letters) == bool(used)


@given(groups(), st.text())
@more_examples(60)
def test_every_stage_is_a_bar_in_both_periods(group, name):
    stages, found = group
    tree = drawn(stages, found, [f"{name}{job}" for job in range(len(stages))])
    bars = marks(tree, "bar")
    some = sum(round(time * 10**6) > 0 for times in stages for time in times)
    # A bar that runs past the end of the second period begins before the first one too.
    assert 2 * some <= len(bars) <= 3 * some
    assert len(marks(tree, "key")) == len(stages)
    assert len(marks(tree, "lane")) - len(stages[0]) in (0, 1)
    for bar in bars:
        box = bar.find(f"{SVG}rect")
        assert float(box.get("x")) >= 128
        assert float(box.get("x")) + float(box.get("width")) <= 978


def test_bars_are_as_long_as_their_stages_and_lie_in_their_lanes():
    tree = drawn(STAGES, best_period(STAGES), NAMES)
    scale = (976 - 128) / (2 * 391)
    lanes = {
        lane.find(f"{SVG}title").text.split(":")[0]: lane.find(f"{SVG}rect").get("y") for lane in marks(tree, "lane")
    }
    for bar in marks(tree, "bar"):
        story, box = bar.find(f"{SVG}title").text, bar.find(f"{SVG}rect")
        _, resource, time, *_ = story.split()
        assert float(box.get("width")) == pytest.approx(scale * float(time), abs=0.01)
        assert box.get("y") == lanes[resource]
    first = marks(tree, "bar")[0].find(f"{SVG}title").text
    assert first == "vgg16: storage 52 ms, from 0 ms to 52 ms of the period"
    assert "pattern cyclic: period 391 ms, efficiency 64.1 %" in words(tree)
    assert "88 % busy" in words(tree)


def test_a_bar_that_runs_past_the_period_goes_on_at_its_beginning():
    stages = [[0.784, 0.117, 0.077], [0.502, 0.014, 0.0004], [0.0005, 0.167, 0.059], [0.082, 0.075, 0.066]]
    tree = drawn(stages, period_of(stages, (0, 1, 2, 3), "muri-4slot"), ["resnet18", "a2c", "bert", "vgg16"])
    parts = [
        bar for bar in marks(tree, "bar") if bar.find(f"{SVG}title").text.startswith("vgg16: data 82 ms, from 901 ms")
    ]
    starts = [float(bar.find(f"{SVG}rect").get("x")) for bar in parts]
    assert starts[0] == 128
    assert len(starts) == 3
    assert starts == sorted(starts)


def test_names_are_escaped_and_resources_can_be_named():
    evil = "<script>&\"'\x00"
    tree = drawn([[0.1, 0.2]], best_period([[0.1, 0.2]]), [evil], resources=["disk", "<gpu>"])
    assert words(tree)[0] == "<script>&\"'\\x00"
    assert {"disk", "<gpu>"} <= set(words(tree))
    assert not tree.findall(f".//{SVG}script")
    assert "one job, with nobody to share with" in words(tree)


def test_a_group_without_work_is_a_picture_too():
    stages = [[0, 0, 0], [0, 0, 0]]
    for pattern in ("cyclic", "muri-4slot"):
        found = best_period(stages, pattern)
        tree = drawn(stages, found, ["a", "b"])
        assert not marks(tree, "bar")
        assert "all stage times are 0" in words(tree)
        assert "slots of no length" in gantt_text(stages, found, ["a", "b"])


@pytest.mark.parametrize("draw", [gantt_text, gantt_svg])
def test_names_that_do_not_fit_the_group(draw):
    found = best_period([[0.1, 0.2]])
    with pytest.raises(InputError, match="names: found 2 names; allowed: 1, one for each"):
        draw([[0.1, 0.2]], found, ["a", "b"])
    with pytest.raises(InputError, match="resources: found 1 names; allowed: 2, one for each"):
        draw([[0.1, 0.2]], found, ["a"], resources=["gpu"])
    with pytest.raises(InputError, match="interleaving: found another period"):
        draw([[0.1, 0.3]], found, ["a"])


@given(st.lists(st.text(), max_size=20))
def test_colours_of_one_picture_differ(names):
    colours = distinct_colours(names)
    assert len(colours) == len(names)
    assert len(set(colours)) == min(40, len(names))
    assert colours[:1] == distinct_colours(names[:1])
