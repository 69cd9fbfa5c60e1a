"""The picture: well-formed, complete, the same every time, and readable for large clusters."""

import re
import xml.etree.ElementTree as ET

import msgspec
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import Assignment, Cluster, Decision, Job, Node, Round, Tenant, Waiting, WaitingReason, solve_round
from muri_opt.report.round.round_svg import MARGIN, MOST_NODES, WIDTH, round_picture
from muri_opt.report.svg import INK, MOST_COLOURS, distinct_colours, wrapped
from muri_opt.rounds.generate.families import generate
from muri_opt.testing import rounds

SVG = "{http://www.w3.org/2000/svg}"


def drawn(round_, decision=None, result=None):
    """Return the picture as a tree."""
    return ET.XML(round_picture(round_, decision, result))


def marks(tree, kind):
    return tree.findall(f".//*[@class='{kind}']")


def words(tree):
    return [text.text for text in tree.iter(f"{SVG}text")]


@given(rounds(), st.text(min_size=1))
@more_examples(50)
def test_every_assignment_is_a_block_and_every_waiting_job_a_line(round_, name):
    jobs = tuple(msgspec.structs.replace(job, id=f"{name}-{job.id}") for job in round_.jobs)
    round_ = msgspec.structs.replace(round_, name=name, jobs=jobs)
    result = solve_round(round_, "fifo", "heuristic")
    tree = drawn(round_, result.decision, result)
    assert len(marks(tree, "block")) == sum(len(share.gpus) for share in result.decision.assignments)
    assert len(marks(tree, "waiting")) == len(result.decision.waiting)
    used = {node.id: 0 for node in round_.cluster.nodes}
    for share in result.decision.assignments:
        for node, gpus in share.gpus.items():
            used[node] += gpus
    assert len(marks(tree, "free")) == sum(node.gpus > used[node.id] for node in round_.cluster.nodes)
    assert any(line.startswith(f"policy fifo, method heuristic: value {result.value}, ") for line in words(tree))


def test_blocks_are_as_wide_as_their_gpus():
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=8),)), jobs=(Job(id="a", gpus=2), Job(id="b", gpus=4)))
    shares = (Assignment(jobs=("a",), gpus={"n0": 2}), Assignment(jobs=("b",), gpus={"n0": 4}))
    first, second = marks(drawn(round_, Decision(assignments=shares)), "block")
    narrow, wide = (block.find(f"{SVG}rect") for block in (first, second))
    assert (float(wide.get("width")) + 2) == 2 * (float(narrow.get("width")) + 2)
    assert float(wide.get("x")) == float(narrow.get("x")) + float(narrow.get("width")) + 2


def test_names_are_escaped_and_tooltips_tell_the_whole_story():
    evil = "<script>&\"'\x00\x1b"
    node = Node(id=evil, gpus=4, cpus=8, memory_gib=16)
    round_ = Round(name=evil, cluster=Cluster(nodes=(node,)), jobs=(Job(id=evil, gpus=2, cpus=4, memory_gib=8),))
    tree = drawn(round_, Decision(assignments=(Assignment(jobs=(evil,), gpus={evil: 2}),)))
    assert not tree.findall(f".//{SVG}script")
    shown = "<script>&\"'\\x00\\x1b"
    (block,) = marks(tree, "block")
    assert block.find(f"{SVG}title").text == f"{shown} starts: 2 GPUs on {shown}, 4 CPUs, 8 GiB"
    assert words(tree)[0] == shown


def test_interleaved_jobs_lie_in_lanes():
    jobs = (Job(id="a", gpus=2), Job(id="b", gpus=2))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=jobs)
    tree = drawn(round_, Decision(assignments=(Assignment(jobs=("a", "b"), order=(0, 1), gpus={"n0": 2}),)))
    (block,) = marks(tree, "block")
    upper, lower = block.findall(f"{SVG}rect")
    assert float(upper.get("y")) + float(upper.get("height")) == float(lower.get("y"))
    assert [upper.get("fill"), lower.get("fill")] == distinct_colours(["a", "b"])
    assert "jobs interleaved on the same GPUs" in words(tree)


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_up_to_forty_jobs_no_two_have_the_same_colour():
    jobs = tuple(Job(id=f"train-{j:02d}", gpus=1, submitted=0.0) for j in range(MOST_COLOURS))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=24), Node(id="n1", gpus=16))), jobs=jobs)
    decision = solve_round(round_, "fifo", "heuristic").decision
    assert round_picture(round_, decision) == round_picture(round_, decision)
    colours = [block.find(f"{SVG}rect").get("fill") for block in marks(drawn(round_, decision), "block")]
    assert len(colours) == len(set(colours)) == MOST_COLOURS == 40
    assert min((luminance(colour) + 0.05) / (luminance(INK) + 0.05) for colour in colours) > 4.5


def test_columns_that_say_nothing_are_left_out_and_the_gpus_have_their_room():
    job = Job(id="a", gpus=2, cpus=1, memory_gib=1)
    bare, full = Node(id="n0", gpus=8), Node(id="n0", gpus=8, cpus=8, memory_gib=8, gpu_type="a100", rack="r1")
    shares = (Assignment(jobs=("a",), gpus={"n0": 2}),)
    trees = [
        drawn(Round(cluster=Cluster(nodes=(node,)), jobs=(wants,)), Decision(assignments=shares))
        for node, wants in ((bare, Job(id="a", gpus=2)), (full, job))
    ]
    heads = {"CPUs", "memory, GiB", "type, rack"}
    assert [heads & set(words(tree)) for tree in trees] == [set(), heads]
    assert "a100, r1" in words(trees[1])
    wide = [float(marks(tree, "block")[0].find(f"{SVG}rect").get("width")) for tree in trees]
    assert wide[0] > 1.5 * wide[1]


def test_four_interleaved_jobs_have_names_that_can_be_read():
    jobs = tuple(Job(id=f"job-{j}", gpus=1) for j in range(4))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=jobs)
    group = Assignment(jobs=tuple(job.id for job in jobs), order=(0, 1, 2, 3), gpus={"n0": 1})
    labels = marks(drawn(round_, Decision(assignments=(group,))), "label")
    assert [label.text for label in labels] == list(group.jobs)
    assert all(float(label.get("font-size")) >= 11 for label in labels)


def test_tenants_are_told_with_their_quotas():
    jobs = (Job(id="a", gpus=2, tenant="vision", submitted=0.0), Job(id="b", gpus=4, tenant="ads", submitted=0.0))
    tenants = (Tenant(id="vision", quota_gpus=4), Tenant(id="ads"))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2),), tenants=tenants), jobs=jobs)
    told = words(drawn(round_, solve_round(round_, "fifo", "heuristic").decision))
    assert "GPUs by tenant: ads 0, vision 2 of 4" in told
    assert "ads" in told


def test_a_dark_page_has_a_dark_picture():
    text = round_picture(Round(cluster=Cluster(nodes=()), jobs=()))
    style = ET.XML(text).find(f"{SVG}style").text
    assert style.startswith("@media (prefers-color-scheme:dark){")
    assert '[fill="#ffffff"]{fill:#14181d}' in style
    assert f".block text,.bar text,.differs text{{fill:{INK}}}" in style


def test_a_large_cluster_is_cut_with_a_note_and_an_overview():
    round_ = generate("gangs", jobs=400, nodes=1000, seed=2)
    decision = solve_round(round_, "fifo", "heuristic").decision
    text = round_picture(round_, decision)
    tree = ET.XML(text)
    shown = {node.id for node in round_.cluster.nodes[:MOST_NODES]}
    assert "first 64 of 1,000 nodes" in words(tree)
    assert len(marks(tree, "block")) == sum(node in shown for share in decision.assignments for node in share.gpus)
    assert len(re.findall('fill-opacity="', text)) == 1000
    assert len(text) < 500_000
    assert float(tree.get("height")) < 3000


def test_many_waiting_jobs_are_counted():
    first = Job(id="job-0", gpus=1, state="running", placement={"n0": 1})
    jobs = (first, *(Job(id=f"job-{j}", gpus=1) for j in range(1, 30)))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=jobs)
    waiting = tuple(
        Waiting(
            job=job.id,
            reason=WaitingReason.STOPPED if job.state == "running" else WaitingReason.CAPACITY,
            detail="no node",
            remedy="add one",
        )
        for job in jobs
    )
    tree = drawn(round_, Decision(waiting=waiting))
    assert "Waiting: 30 jobs" in words(tree)
    assert "and 21 more" in words(tree)
    assert "stopped: 1 job" in words(tree)
    assert len(marks(tree, "waiting")) == 9


def test_without_a_decision_it_shows_what_runs_now():
    jobs = (Job(id="a", gpus=2, state="running", placement={"n0": 2}), Job(id="b", gpus=2))
    tree = drawn(Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1_000), Node(id="n1", gpus=0))), jobs=jobs))
    assert len(marks(tree, "block")) == 1
    assert "1 of 2 jobs are running now on 2 of 1,000 GPUs" in words(tree)
    assert "Waiting: 1 job" in words(tree)
    assert "no GPUs" in words(tree)


def test_jobs_that_share_gpus_now_stay_inside_the_picture():
    stages = (1.0, 1.0, 1.0, 1.0)
    jobs = tuple(Job(id=name, gpus=4, stage_seconds=stages, state="running", placement={"n0": 4}) for name in "abc")
    tree = drawn(Round(cluster=Cluster(nodes=(Node(id="n0", gpus=4),)), jobs=jobs))
    ends = [
        float(r.get("x")) + float(r.get("width")) for block in marks(tree, "block") for r in block.iter(f"{SVG}rect")
    ]
    assert max(ends) <= WIDTH - MARGIN


def test_an_empty_round_is_a_picture_too():
    tree = drawn(Round(cluster=Cluster(nodes=()), jobs=()))
    assert words(tree)[:2] == ["round without a name", "0 of 0 jobs are running now on 0 of 0 GPUs"]


def test_what_changes_has_a_mark_and_what_stays_has_none():
    stages = (0.1, 0.2, 0.6, 0.1)
    now = {"a": {"n0": 2}, "b": {"n0": 2}, "c": {"n1": 2}, "d": {"n1": 2}, "e": {"n2": 4}, "f": {"n2": 4}}
    running = tuple(
        Job(
            id=name,
            gpus=sum(place.values()),
            scaling={1: 1.0, 4: 3.0},
            stage_seconds=stages,
            state="running",
            placement=place,
            restart_seconds=7.0,
        )
        for name, place in now.items()
    )
    nodes = tuple(Node(id=f"n{place}", gpus=4) for place in range(4))
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=(*running, Job(id="new", gpus=1)))
    after = {"a": {"n0": 2}, "b": {"n3": 2}, "d": {"n1": 1}, "e": {"n2": 4}, "new": {"n1": 1}}
    shares = tuple(Assignment(jobs=(name,), gpus=place) for name, place in after.items())
    stops = tuple(Waiting(job=name, reason=WaitingReason.STOPPED, detail="", remedy="") for name in "cf")
    tree = drawn(round_, Decision(assignments=shares, waiting=stops))
    told = {mark.find(f"{SVG}title").text: mark.find(f"{SVG}text").text for mark in marks(tree, "change")}
    assert told == {
        "b moves": "→",
        "c stops": "×",
        "d changes size": "±",
        "e changes partners": "⇄",
        "f stops": "×",
        "new starts": "+",
    }
    line = "changes: 1 starts, 2 stop, 1 moves, 1 changes size, 1 changes partners, 1 stays; 35 s of restarts"
    assert line in words(tree)
    assert any((text or "").endswith("; a job without a mark stays as it is") for text in words(tree))
    assert marks(drawn(round_), "change") == []


def test_words_are_wrapped_and_only_the_last_line_is_cut():
    reason = "asks for 8 GPUs; tenant 'language' has 3 left of its quota of 14; 3 of 24 are free"
    lines = wrapped(reason, 200, 10, 3)
    assert " ".join(lines) == reason
    assert max(map(len, lines)) <= 33
    short = wrapped(reason, 200, 10, 2)
    assert short[0] == lines[0]
    assert short[1].endswith("…")
    assert reason.startswith(f"{short[0]} {short[1][:-1]}")
