"""Jobs on CPUs only, as text and in the picture."""

import xml.etree.ElementTree as ET

from muri_opt import Assignment, Cluster, Decision, Job, Node, Plan, Round
from muri_opt.report.round.occupancy import node_uses
from muri_opt.report.round.round_svg import round_picture
from muri_opt.report.text.result import change_of, decision_lines, nodes_text
from muri_opt.report.text.round import chart_lines, job_text

CPUS = Plan(name="cpu-p1-w1", gpus=0, nodes=2, cpus=4, memory_gib=3, throughput=1.0)
GPUS = Plan(name="gpu-p1-w1-s1", gpus=1, cpus=2, throughput=1.0)
ROUND = Round(
    cluster=Cluster(nodes=(Node(id="n0", gpus=2, cpus=8), Node(id="n1", gpus=0, cpus=8))),
    jobs=(Job(id="a", gpus=0, memory_gib=1, plans=(CPUS, GPUS)), Job(id="b", gpus=1, cpus=5, plans=(CPUS, GPUS))),
)
RUNNING = Decision(
    assignments=(
        Assignment(jobs=("a",), plan=CPUS.name, gpus={"n0": 0, "n1": 0}, cpus={"n0": 2.0, "n1": 2.0}),
        Assignment(jobs=("b",), plan=GPUS.name, gpus={"n0": 1}, cpus={"n0": 2.0}),
    )
)


def test_a_node_without_a_number_gives_no_gpus():
    assert nodes_text({"n0": 0, "n1": 0}) == "n0, n1"
    title, _, first, second, *_ = decision_lines(ROUND, RUNNING)
    assert title == "running: 2 jobs on 1 of 2 GPUs"
    assert first.split() == ["a", "cpu-p1-w1", "0", "4", "starts", "n0,", "n1"]
    assert second.split() == ["b", "gpu-p1-w1-s1", "1", "2", "starts", "n0", "x1"]


def test_what_a_plan_takes_is_what_a_node_gives():
    first, second = node_uses(ROUND, RUNNING)
    assert (first.gpus, first.cpus, first.memory_gib) == (1, 4.0, 1.5)
    assert (second.gpus, second.cpus, second.memory_gib) == (0, 2.0, 1.5)


def test_without_such_a_plan_gpus_come_with_what_the_job_asks_for():
    unknown = (
        Assignment(jobs=("b",), plan="other", gpus={"n0": 2}),
        Assignment(jobs=("b",), plan=CPUS.name, gpus={}),
        Assignment(jobs=("b",), gpus={"n1": 1}),
    )
    first, second = node_uses(ROUND, Decision(assignments=unknown))
    assert (first.cpus, second.cpus) == (10.0, 5.0)


def test_the_chart_names_jobs_on_cpus_beside_the_cells():
    lines = [line.strip() for line in chart_lines(ROUND, RUNNING)]
    assert any("A a (CPUs only), B b, 1 free" in line and "B." in line for line in lines), lines
    assert any(line.startswith("n1") and line.endswith("A a (CPUs only)") for line in lines), lines


def test_the_picture_draws_gpus_and_names_the_rest():
    tree = ET.XML(round_picture(ROUND, RUNNING))
    svg = "{http://www.w3.org/2000/svg}"
    assert len(tree.findall(".//*[@class='block']")) == 1
    words = [text.text for text in tree.iter(f"{svg}text")]
    assert "no GPUs; on its CPUs: a" in words
    tips = [title.text for title in tree.iter(f"{svg}title")]
    assert "n0: 1 of 2 GPUs in use; on CPUs only: a" in tips
    assert all(float(box.get("width")) >= 0 for box in tree.iter(f"{svg}rect"))


def test_a_running_job_stays_on_its_cpus():
    job = Job(id="a", gpus=0, plans=(CPUS,), plan=CPUS.name, state="running", placement={"n0": 0, "n1": 0})
    assert change_of(job, RUNNING.assignments[0]) == "stays"
    assert "running on n0, n1" in job_text(job, None)
