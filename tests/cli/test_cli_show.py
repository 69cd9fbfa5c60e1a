"""``muri-opt show``: the round, the chart of the nodes, one job."""

import json
import sys
import xml.etree.ElementTree as ET

import pytest

from muri_opt import Cluster, Job, Node, NodeRange, Round, Tenant, Within, write_round
from muri_opt.rounds.job_demands import DEMANDS


def test_a_round_is_summed_up(run, toy):
    code, out, err = run("show", toy)
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "nodes 3 with 8 GPUs, 64 CPUs, 256 GiB" in lines
    assert "jobs 2 running on 6 GPUs, 6 waiting for 24 GPUs" in lines
    assert "2 2 1 1" in lines  # two jobs of two GPUs, one of them running
    assert "language 14 2 19 4" in lines
    assert "n0 AAAA.... A resnet, 4 free" in lines


def test_a_result_adds_the_chart_and_the_reasons(run, toy, solved):
    code, out, _ = run("show", toy, solved)
    assert code == 0
    assert "fragmentation  asks for 1 GPU" in out
    rows = [line.split() for line in out.splitlines() if line.startswith(("n0 ", "n1 ", "n2 "))]
    decided = json.loads(solved.read_text())["decision"]["assignments"]
    for node, cells, *_ in rows:
        assert len(cells) == 8
        assert len(cells) - cells.count(".") == sum(share["gpus"].get(node, 0) for share in decided)


def test_one_job_is_explained(run, toy, solved):
    code, out, _ = run("show", toy, solved, "--job", "t5")
    told = dict(line.split(maxsplit=1) for line in out.splitlines() if not line.startswith("asks for"))
    assert code == 0
    assert told["decision"] == "waits, for quota"
    assert told["because"].startswith("asks for 8 GPUs; tenant 'language'")
    assert told["remaining"] == "4 h (18,000 iterations of 0.8 s)"
    shares = {share["jobs"][0]: share["gpus"] for share in json.loads(solved.read_text())["decision"]["assignments"]}
    where = ", ".join(f"{node} x{gpus}" for node, gpus in shares["llama"].items())
    assert f"decision     starts on {where}\n" in run("show", toy, solved, "--job", "llama")[1]
    assert "decision" not in run("show", toy, "--job", "bert")[1]


def test_an_unknown_job_has_its_nearest_name_suggested(refused, toy):
    assert "'restnet' (did you mean 'resnet'?)" in refused("show", toy, "--job", "restnet")
    assert "did you mean" not in refused("show", toy, "--job", "???")


def test_pictures_of_the_decision_and_of_now(run, toy, solved, tmp_path):
    path = tmp_path / "round.svg"
    assert run("show", toy, solved, "--picture", path)[0] == 0
    decided = ET.XML(path.read_text())
    assert run("show", toy, "--picture", path)[0] == 0
    now = ET.XML(path.read_text())
    shares = json.loads(solved.read_text())["decision"]["assignments"]
    assert len(decided.findall(".//*[@class='block']")) == sum(len(share["gpus"]) for share in shares)
    assert len(now.findall(".//*[@class='block']")) == 2


@pytest.mark.parametrize("option", ["--picture", "--groups"])
def test_a_picture_of_another_format_is_refused_before_the_work(refused, toy, solved, tmp_path, option):
    said = refused("show", toy, solved, option, tmp_path / "round.gif")
    assert said.startswith("picture: found ")
    assert said.endswith("allowed: the name of a picture, ending in .svg or .png")
    assert not (tmp_path / "round.gif").exists()


@pytest.mark.parametrize("option", ["--picture", "--groups"])
def test_a_png_without_resvg_names_the_extra(refused, toy, solved, tmp_path, option, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    said = refused("show", toy, solved, option, tmp_path / "round.PNG")
    assert said == "picture: found a PNG without resvg; allowed: an SVG, or pip install 'muri-opt[png]'"
    assert not (tmp_path / "round.PNG").exists()


def test_a_broken_result_is_not_shown_but_its_rules_named(run, toy, solved, tmp_path):
    told = json.loads(solved.read_text())
    told["decision"]["assignments"][0]["gpus"] = {"nowhere": 4}
    solved.write_text(json.dumps(told))
    code, out, _ = run("show", toy, solved, "--picture", tmp_path / "round.svg")
    assert code == 1
    assert "known-node" in out
    assert not (tmp_path / "round.svg").exists()


def test_a_result_without_a_decision_and_a_round_where_nothing_runs(run, round_file, tmp_path):
    path, result = round_file(), tmp_path / "nothing.json"
    run("solve", path, "--method", "exact", "--seconds", "0", "--output", result)
    code, out, _ = run("show", path, result)
    assert code == 0
    assert "nothing to prove: there is no decision" in out
    assert "now: nothing runs" in run("show", path)[1]


def test_an_empty_round(run, round_file):
    code, out, _ = run("show", round_file(cluster={"nodes": []}, jobs=[]))
    assert code == 0
    assert out.startswith("round without a name: 0 jobs, 0 GPUs on 0 nodes")


def test_what_only_format_2_says_is_shown(run, tmp_path):
    demands = Job(
        id="a",
        gpus=4,
        priority=-3,
        gpu_types=("a100", "v100"),
        nodes=NodeRange(least=1, most=2),
        even=True,
        requires=("nvlink", "ssd"),
        excludes=("spot",),
        within=Within(level="rack", required=False),
        preemptible=False,
        movable=True,
        held="asked",
        not_before=60.0,
        deadline=3600.0,
        time_limit_seconds=600.0,
        model="bert",
    )
    assert all(getattr(demands, field) != absent for field, absent in DEMANDS.items())
    path = tmp_path / "round.json"
    write_round(Round(cluster=Cluster(nodes=[Node(id="n0", gpus=4, rack="r0")]), jobs=[demands]), path)
    assert "format 2     job.priority, job.gpu_types, job.nodes, job.even" in run("show", path)[1]
    assert run("show", path, "--job", "a")[1].splitlines()[3:] == [
        "priority     -3",
        "GPU types    a100 or v100",
        "shape        1 to 2 nodes, as many GPUs on each node",
        "requires     nvlink and ssd",
        "excludes     spot",
        "within       one rack, preferred",
        "preemptible  no",
        "movable      yes",
        "held         asked",
        "not before   1 min",
        "deadline     1 h",
        "time limit   10 min",
        "model        bert",
    ]


def test_quotas_that_add_up_to_more_than_their_parent_are_told(run, tmp_path):
    tenants = [Tenant(id="org", quota_gpus=4), *(Tenant(id=f"t{k}", quota_gpus=3, parent="org") for k in range(2))]
    write_round(Round(cluster=Cluster(nodes=[Node(id="n0", gpus=4)], tenants=tenants), jobs=[]), tmp_path / "r.json")
    assert "the quotas below org add up to 6, more than its own" in run("show", tmp_path / "r.json")[1]
    write_round(Round(cluster=Cluster(nodes=[], tenants=tenants[:2]), jobs=[]), tmp_path / "r.json")
    assert "add up" not in run("show", tmp_path / "r.json")[1]
