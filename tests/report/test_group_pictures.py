"""All groups of a decision in one picture, and the picture of what a grouping loses."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from handmade import gang, round_of

from muri_opt import Result, Round, solve_round
from muri_opt.cli.main import main
from muri_opt.report.gantt import groups_svg
from muri_opt.report.gantt.group import groups_picture
from muri_opt.report.round.loss_svg import loss_picture
from muri_opt.studies.explain import CAUSES, GroupingLoss
from muri_opt.studies.explain.grouping_loss import LossStep

SVG = "{http://www.w3.org/2000/svg}"


def decided(run: str) -> tuple[Round, Result]:
    """Return a round of two pairs and a job alone, and its decision."""
    times = [(3.0, 0.0, 3.0, 0.0), (3.0, 0.0, 3.0, 0.0), (1.0, 2.0, 1.0, 0.0), (0.0, 20.0, 20.0, 0.0)]
    jobs = [gang(j, 1, stage_seconds=stages, iteration_seconds=sum(stages)) for j, stages in enumerate(times)]
    jobs.append(gang(4, 2, stage_seconds=(1.0, 1.0, 1.0, 1.0)))
    round_ = round_of([4], jobs)
    return round_, solve_round(round_, f"muri-s:run={run}", "heuristic")


def words(drawn: str) -> list[str]:
    return [text.text or "" for text in ET.XML(drawn).iter(f"{SVG}text")]


@pytest.mark.parametrize("run", ["lock-step", "free", "best"])
def test_every_group_is_a_block_with_what_is_idle(run: str) -> None:
    round_, result = decided(run)
    groups = [one for one in result.decision.assignments if len(one.jobs) > 1]
    drawn = groups_picture(round_, result)
    told = words(drawn)
    assert told[0] == f"{len(groups)} group{'s' * (len(groups) != 1)} of jobs that share GPUs"
    for group in groups:
        assert all(job in told for job in group.jobs)
        runs = "period" if group.period_seconds else "free, at"
        assert any(line.startswith(runs) and "efficiency" in line for line in told)
    assert len(ET.XML(drawn).findall(".//*[@class='lane']")) == 4 * len(groups)
    assert sum("% idle" in line for line in told) == 4 * len(groups)


def test_of_very_many_groups_some_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups_svg, "MOST", 0)
    round_, result = decided("lock-step")
    assert any("not drawn" in line for line in words(groups_picture(round_, result)))


def test_a_loss_is_drawn_from_the_algorithm_to_the_optimum() -> None:
    steps, value = [], 700
    for place, cause in enumerate(CAUSES):
        value += 10 * place
        steps.append(LossStep(cause=cause, value=value, loss=10 * place, optimal=place != 2))
    loss = GroupingLoss(policy="muri-s", value_unit="parts", heuristic=700, steps=tuple(steps))
    told = words(loss_picture(loss))
    assert told[0] == "Where muri-s loses: 150, 17.65 % of the optimum"
    assert [line for line in told if line.startswith("+")] == [f"+{10 * place}" for place in range(len(CAUSES))]
    assert sum("at least" in line for line in told) == 1


def test_the_commands_write_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    round_ = "instances/toy/eight-stages.json"
    result, groups = (str(tmp_path / name) for name in ("result.json", "groups.svg"))
    assert main(["solve", round_, "--policy", "muri-s", "--method", "heuristic", "--output", result]) == 0
    assert main(["show", round_, result, "--groups", groups]) == 0
    assert "period 6,000 ms" in Path(groups).read_text(encoding="utf-8")
    assert main(["show", round_, "--groups", groups]) == 2
    assert "--groups" in capsys.readouterr().err
