"""The chart of a group that runs freely: who uses which resource how much of the time, and all rates."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from handmade import gang, round_of

from muri_opt import solve_round
from muri_opt.cli.main import main
from muri_opt.report.gantt.group import GroupChart, shared_chart
from muri_opt.rounds.files import write_round

JOBS = [
    gang(0, 1, stage_seconds=(1.0, 2.0, 1.0, 0.0), iteration_seconds=4.0),
    gang(1, 1, stage_seconds=(0.0, 20.0, 20.0, 0.0), iteration_seconds=40.0),
]
ROUND = round_of([1], JOBS)
TEXT = """\
j0 + j1
running freely: no slots and no period, each job at a rate of its own
together they do 1.78 times what one of them does alone

storage  AAAAAAAAAA····································  22 % busy
cpu      AAAAAAAAAABBBBBBBBBB··························  44 % busy, each its own
gpu      AAAAAAAAAABBBBBBBBBBBBBBBBBBBBB···············  67 % busy
network  ··············································  0 % busy

   job    rate  an iteration takes      alone
A  j0   88.9 %            4,500 ms   4,000 ms
B  j1   88.9 %           45,000 ms  40,000 ms
"""


def chart() -> GroupChart:
    found = shared_chart(ROUND, solve_round(ROUND, "muri-s:run=free", "heuristic"), "j1")
    assert found is not None
    return found


def test_text() -> None:
    assert chart().as_text() == TEXT


def test_svg_has_a_bar_for_every_use() -> None:
    tree = ET.XML(chart().as_svg())
    bars = tree.findall(".//*[@class='bar']")
    stories = [bar[0].text for bar in bars]
    assert stories[0] == "j0: storage 22.2 % of the time"
    assert len(stories) == 5  # two at the GPU and at the cores, one at the storage
    wide = [float(bar[1].attrib["width"]) for bar in bars]
    assert wide[4] == pytest.approx(2 * wide[0], rel=1e-3)  # j1 is at the GPU half of its time, j0 a quarter at storage
    assert len(tree.findall(".//*[@class='lane']")) == 4


def test_show_explains_a_job_by_the_chart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    round_, result, picture = (str(tmp_path / name) for name in ("round.json", "result.json", "group.svg"))
    write_round(ROUND, round_)
    assert main(["solve", round_, "--policy", "muri-s:run=free", "--method", "heuristic", "--output", result]) == 0
    capsys.readouterr()
    assert main(["show", round_, result, "--job", "j0", "--picture", picture]) == 0
    assert TEXT in capsys.readouterr().out
    assert "running freely" in Path(picture).read_text(encoding="utf-8")
