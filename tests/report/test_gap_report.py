"""The gap of a round as text and as a picture: what is said, what is left out, the same colour on both sides."""

import xml.etree.ElementTree as ET

import msgspec
import pytest
from by_policy import rules_of

from muri_opt import Assignment, Cluster, Decision, Job, Limits, Node, Round, Tenant, read_round, solve_round
from muri_opt.report.round.gap_record import gap_record
from muri_opt.report.round.gap_svg import ALL_NODES, gap_picture
from muri_opt.report.text.gap import gap_text
from muri_opt.studies.explain import compare_decisions, explain_gap
from muri_opt.studies.explain.round_gap import RoundGap

SVG = "{http://www.w3.org/2000/svg}"
LIMITS = Limits(seconds=60)


@pytest.fixture(scope="module")
def plans():
    round_ = read_round("instances/small/plans-10.json")
    return round_, explain_gap(round_, "rubick", limits=LIMITS)


@pytest.fixture(scope="module")
def groups():
    round_ = read_round("instances/small/interleaving-12.json")
    return round_, explain_gap(round_, "muri-s", limits=LIMITS)


def row_of(jobs, nodes=2, gpus=8, policy="fifo:objective=weighted", first=(), second=(), method="auto", **fields):
    """Return a round of gangs and the gap between two decisions, given as GPUs per node of each job."""
    round_ = Round(
        cluster=Cluster(nodes=tuple(Node(id=f"n{s}", gpus=gpus) for s in range(nodes)), **fields), jobs=tuple(jobs)
    )
    result = solve_round(round_, policy, "heuristic")
    decided = [
        Decision(assignments=tuple(Assignment(jobs=(job,), gpus=held) for job, held in side.items()))
        for side in (dict(first), dict(second))
    ]
    found = compare_decisions(round_, rules_of(policy), *decided)
    results = [
        msgspec.structs.replace(result, decision=decision, method=how, value=value, bound=None)
        for decision, how, value in zip(decided, ("heuristic", method), found.values, strict=True)
    ]
    kept = {name: getattr(found, name) for name in found.__dataclass_fields__}
    gap = RoundGap(first=results[0], second=results[1], total_gpus=round_.cluster.total_gpus, **kept)
    return round_, gap


def gangs(count, gpus=1):
    return [Job(id=f"j{at}", gpus=gpus, submitted=float(at)) for at in range(count)]


def marks(tree, kind):
    return tree.findall(f".//*[@class='{kind}']")


def words(tree):
    return [text.text for text in tree.iter(f"{SVG}text")]


def test_the_text_has_both_sides_beside_each_other_and_sums(plans):
    text = gap_text(*plans)
    assert "gap          the heuristic is 566034 below the optimum, 1.53 % of it\n" in text
    assert "3 jobs differ, in 1 change; 4 run alike, 2 of them on other nodes at no cost; 1 waits in both.\n" in text
    lines = [line.split() for line in text.splitlines()]
    at = lines.index(["#", "gain", "heuristic", "worth", "optimum", "worth"])
    table = [" ".join(line) for line in lines[at + 1 : at + 6]]
    assert table == [
        "1 566034 job-7 (4 GPUs, zero-dp4) 555556 job-7 (2 GPUs, zero-dp2) 293206",
        "job-4 (1 GPU, tp1) 8326361 job-4 (2 GPUs, dp2) 8750001",
        "job-6 (1 GPU, pp1) 8395257 job-6 (2 GPUs, tp2) 8800001",
        "0 all others 19126320 all others 19126320",
        "sum 566034 36403494 36969528",
    ]
    assert text.endswith("No GPU is free in either decision: GPUs bind.\n")


def test_groups_are_shown_whole_before_who_waits(groups):
    text = gap_text(*groups)
    assert "job-2 + job-5 + job-8 + job-9 (2 GPUs)  328364  job-0 + job-2 + job-5 + job-8 (2 GPUs)   509469" in text
    assert ["0", "all", "others", "0", "all", "others", "0"] in [line.split() for line in text.splitlines()]
    assert "The heuristic leaves 1 GPU free, the optimum leaves none free." in text


def test_a_long_explanation_is_summed():
    everyone = {f"j{at}": {"n0": 1} for at in range(60)}
    pairs = {f"j{at}": {"n0": 1} for at in range(0, 120, 2)}
    round_, gap = row_of(gangs(120), gpus=60, nodes=1, first=pairs, second=everyone)
    text = gap_text(round_, gap)
    assert len(text.splitlines()) <= 40
    assert "more changes, " in text
    assert gap.values[0] + gap.gap == gap.values[1]
    one = {"j0": {"n0": 60}}
    jobs = [Job(id="j0", gpus=60, submitted=0.0), *gangs(61)[1:]]
    round_, gap = row_of(jobs, gpus=60, nodes=1, first={f"j{at}": {"n0": 1} for at in range(1, 61)}, second=one)
    text = gap_text(round_, gap)
    assert len(text.splitlines()) <= 40
    assert "54 more" in text


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({"j0": {"n0": 1}}, {"j0": {"n0": 1}}, ["The decisions are the same: 1 runs alike; 1 waits in both."]),
        ({"j0": {"n0": 1}}, {"j0": {"n1": 1}}, ["1 runs alike, on other nodes at no cost; 1 waits in both."]),
        ({"j0": {"n0": 1}}, {"j1": {"n0": 1}}, ["the heuristic is 1 above the best known, 100.00 % of it"]),
        ({}, {"j0": {"n0": 1}}, ["1 job differs, in 1 change; 1 waits in both.", "2 below the best known"]),
        ({"j0": {"n0": 1}}, {}, ["the heuristic is 2 above the best known\n"]),
    ],
)  # fmt: skip
def test_ties_gaps_and_their_signs_are_told_apart(first, second, said):
    text = gap_text(*row_of(gangs(2), first=first, second=second))
    for sentence in said:
        assert sentence in text


def test_two_decisions_of_equal_value_are_a_tie():
    jobs = [Job(id="a", gpus=1, submitted=0.0), Job(id="b", gpus=2, submitted=1.0)]
    round_, gap = row_of(jobs, first={"a": {"n0": 1}}, second={"b": {"n0": 2}}, method="heuristic")
    text = gap_text(round_, gap)
    assert "A tie: the decisions differ, their values do not." in text
    assert "the first is as good as the second" in text
    assert "+0" not in gap_picture(round_, gap)


def test_a_change_that_loses_is_explained():
    jobs = [Job(id="a", gpus=1, submitted=0.0), Job(id="b", gpus=8, submitted=1.0)]
    round_, gap = row_of(jobs, first={"a": {"n0": 1}}, second={"b": {"n1": 8}})
    assert [change.gain for change in gap.changes] == [8, -2]
    assert "or shows that a better decision is not found yet." in gap_text(round_, gap)
    bars = [text for text in words(ET.XML(gap_picture(round_, gap))) if text[0] in "+-"]
    assert bars == ["+8", "-2"]


def test_a_tenant_above_its_quota_has_a_line_of_its_own():
    jobs = [Job(id=name, gpus=2, submitted=0.0, tenant="t") for name in "ab"]
    tenants = (Tenant(id="t", quota_gpus=2),)
    both = {"a": {"n0": 2}, "b": {"n0": 2}}
    round_, gap = row_of(jobs, policy="philly", first={"a": {"n0": 2}}, second=both, tenants=tenants)
    assert "tenant t 2 GPUs over quota" in gap_text(round_, gap)
    tree = ET.XML(gap_picture(round_, gap))
    assert "tenant t: 0 → 2 GPUs over quota" in words(tree)
    over = gap_record(gap)["changes"][0]["second"][-1]
    assert (over["tenant"], over["over_quota"]) == ("t", 2)


def test_jobs_that_differ_have_one_colour_in_both_panels(plans):
    round_, gap = plans
    tree = ET.XML(gap_picture(round_, gap))
    changed = {"job-4", "job-6", "job-7"}
    fills = {job: set() for job in changed}
    for block in marks(tree, "differs"):
        name = block.find(f"{SVG}title").text.split(":")[0]
        fills[name].add(block.find(f"{SVG}rect").get("fill"))
    assert all(len(fill) == 1 for fill in fills.values())
    assert len(set.union(*fills.values())) == 3
    pale = {block.find(f"{SVG}rect").get("fill") for block in marks(tree, "same")}
    assert len(pale) == 1
    assert pale.isdisjoint(set.union(*fills.values()))
    assert {"Heuristic", "Optimum", "+566034", "+423640", "-262350", "4 GPUs, zero-dp4 → 2 GPUs, zero-dp2"} <= set(
        words(tree)
    )
    assert len(marks(tree, "change")) == len(gap.changes)


def test_interleaved_jobs_lie_in_lanes_and_waiting_ones_below(groups):
    round_, gap = groups
    tree = ET.XML(gap_picture(round_, gap))
    four = [block for block in marks(tree, "differs") if len(block.findall(f"{SVG}rect")) == 4]
    assert len(four) == 3
    assert words(tree).count("waiting") == 2
    assert {"job-0 (2)", "job-9 (2)", "+237613", "+181105"} <= set(words(tree))


def test_of_a_large_cluster_only_nodes_that_differ_are_drawn():
    first = {f"j{at}": {f"n{at}": 8} for at in range(30)}
    second = {name: held for name, held in first.items() if name not in ("j3", "j7")}
    round_, gap = row_of(gangs(40, gpus=8), nodes=30, first=first, second=second)
    tree = ET.XML(gap_picture(round_, gap))
    assert len(marks(tree, "differs")) == 2
    assert len(marks(tree, "free")) == 2
    assert "2 of 2 nodes with a job that differs; 28 nodes without are not drawn" in words(tree)
    whole = row_of(gangs(3), nodes=ALL_NODES, first={"j0": {"n0": 1}}, second={"j1": {"n1": 1}})
    assert len(marks(ET.XML(gap_picture(*whole)), "free")) == 2 * ALL_NODES


def test_many_changes_are_one_last_bar_and_many_waiting_jobs_are_counted():
    everyone = {f"j{at}": {"n0": 1} for at in range(40)}
    tree = ET.XML(gap_picture(*row_of(gangs(60), gpus=60, nodes=1, first={}, second=everyone)))
    assert len(marks(tree, "change")) == 12
    assert "28 more changes of 28 jobs" in words(tree)
    assert any(word.startswith("and ") and word.endswith(" more") for word in words(tree))


def test_jobs_of_a_change_without_room_for_a_bar_each_are_named_only():
    jobs = [Job(id="j0", gpus=100, submitted=0.0), *gangs(31)[1:]]
    crowd = {f"j{at}": {"n0": 1} for at in range(1, 31)}
    tree = ET.XML(gap_picture(*row_of(jobs, gpus=100, nodes=1, first=crowd, second={"j0": {"n0": 100}})))
    assert len(marks(tree, "change")) == 1
    assert not [word for word in words(tree) if word and "→" in word]
    assert len(marks(tree, "differs")) == 31


def test_jobs_on_cpus_only_take_no_gpus_in_the_picture():
    round_ = read_round("instances/toy/four-configurations.json")
    gap = explain_gap(round_, "aiturbo:objective=time", limits=LIMITS)
    beside = [one for decision in gap.decisions for one in decision.assignments if not sum(one.gpus.values())]
    assert beside
    tree = ET.XML(gap_picture(round_, gap))
    drawn = len(marks(tree, "differs")) + len(marks(tree, "same"))
    assert drawn == sum(len(one.gpus) for decision in gap.decisions for one in decision.assignments) - len(beside)
    assert "0 GPUs" in gap_text(round_, gap)


def test_strange_names_do_not_break_the_picture_and_no_change_needs_no_bars():
    evil = "<b>&\"'\x00\x1b" * 9
    jobs = [Job(id=evil, gpus=1, submitted=0.0)]
    drawn = ET.XML(gap_picture(*row_of(jobs, first={}, second={evil: {"n0": 1}})))
    assert len(marks(drawn, "differs")) == 1
    assert not [word for word in words(ET.XML(gap_picture(*row_of(jobs)))) if word.startswith("What each change")]
    empty = row_of([], nodes=0)
    assert "no jobs" in gap_text(*empty)
    ET.XML(gap_picture(*empty))


def test_the_record_holds_every_change(groups):
    round_, gap = groups
    told = msgspec.json.decode(msgspec.json.encode(gap_record(gap)))
    assert [change["gain"] for change in told["changes"]] == [237_613, 181_105]
    assert sum(part["value"] for change in told["changes"] for part in change["second"]) + told["same"] == 1_326_187
    assert set(told["differences"]) == set(round_.job_index)
    assert told["proved"] is True
