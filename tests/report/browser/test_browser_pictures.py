"""Pictures in a browser: no label on another one, none outside the picture, and a ticket that fits its page."""

import json

import pytest

from muri_opt import Cluster, Job, Limits, Node, Round, Tenant, solve_round
from muri_opt.cli.main import main
from muri_opt.report.gantt.group import groups_picture, shared_chart
from muri_opt.report.round.gap_svg import gap_picture
from muri_opt.report.round.loss_svg import loss_picture
from muri_opt.report.round.round_svg import round_picture
from muri_opt.rounds.generate.families import generate
from muri_opt.studies.explain import explain_gap, grouping_loss
from muri_opt.studies.library import shipped_round

pytestmark = pytest.mark.browser

WORK = Limits(work=1.0)
BOXES = """JSON.stringify([...document.querySelectorAll('svg text')].filter(t => t.textContent.trim()).map(t => {
  const box = t.getBoundingClientRect(), all = t.ownerSVGElement.getBoundingClientRect();
  return [t.textContent, box.left - all.left, box.right - all.left, box.top - all.top, box.bottom - all.top, all.width]
}))"""


def mixed():
    """Return a round with racks, GPU types and tenants, in which jobs start, stop and stay."""
    nodes = tuple(
        Node(id=f"node-{k}", gpus=8, rack=f"rack-{k // 3}", gpu_type="a100" if k < 3 else "v100") for k in range(6)
    )
    tenants = tuple(Tenant(id=name, quota_gpus=24) for name in ("vision", "language", "speech"))
    held = {0: "node-0", 1: "node-1", 2: "node-3"}
    jobs = tuple(
        Job(
            id=f"a-long-name-of-a-job-{k}",
            gpus=8 if k in held else (1, 2, 4, 8)[k % 4],
            tenant=tenants[k % 3].id,
            iteration_seconds=0.5,
            restart_seconds=60.0,
            remaining_iterations=500_000 if k == 0 else 900 + 37 * k,
            gpu_types=("v100",) if k % 5 == 4 else None,
            **({"state": "running", "placement": {held[k]: 8}} if k in held else {}),
        )
        for k in range(16)
    )
    return Round(cluster=Cluster(nodes=nodes, tenants=tenants), jobs=jobs, now=100.0)


def drawn(name):
    """Return a picture by name."""
    if name in ("mixed", "forty", "tenants"):
        policy = "philly" if name == "tenants" else "srtf"
        round_ = {"mixed": mixed, "tenants": lambda: shipped_round("toy/four-tenants")}.get(
            name, lambda: generate("gangs", jobs=40, nodes=8, seed=3)
        )()
        result = solve_round(round_, policy, "heuristic")
        return round_picture(round_, result.decision, result)
    round_ = shipped_round("toy/eight-stages")
    if name == "gap":
        return gap_picture(round_, explain_gap(round_, "muri-s", limits=WORK))
    if name == "loss":
        return loss_picture(grouping_loss(round_, "muri-s", WORK))
    result = solve_round(round_, "muri-s", "heuristic")
    return groups_picture(round_, result) if name == "groups" else shared_chart(round_, result, "a").as_svg()


@pytest.mark.parametrize("name", ["mixed", "forty", "tenants", "groups", "gantt", "gap", "loss"])
def test_no_label_lies_on_another_or_sticks_out(browser, tmp_path, name):
    page = tmp_path / "page.html"
    page.write_text(f"<!DOCTYPE html><body style='margin:0'>{drawn(name)}")
    browser.open(page.as_uri(), wide=1400)
    boxes = json.loads(browser.value(BOXES))
    assert len(boxes) > 5
    assert [words for words, left, right, _, _, wide in boxes if left < 0 or right > wide + 0.5] == []
    assert [
        (one[0], other[0])
        for place, one in enumerate(boxes)
        for other in boxes[:place]
        # Boxes are as high as the tallest letter could be: lines may touch by a part of that.
        if min(one[2], other[2]) - max(one[1], other[1]) > 0.5 and min(one[4], other[4]) - max(one[3], other[3]) > 4
    ] == []


@pytest.mark.parametrize("wide", [390, 800, 1400])
def test_a_ticket_fits_its_page(browser, tmp_path, capsys, wide):
    page = tmp_path / "ticket.html"
    asked = ["why", "toy/four-tenants", "speech-1", "--policy", "philly", "--method", "heuristic"]
    assert main([*asked, "--html", str(page)]) == 0
    printed = capsys.readouterr().out
    browser.open(page.as_uri(), wide=wide)
    assert browser.complaints() == []
    assert browser.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert browser.value("document.querySelector('pre').textContent") == printed
