"""The page about the GPU: its figures are those that the command draws, and the script for two models reports right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.on_a_gpu.__main__ import main
from benchmarks.on_a_gpu.measurements import case_of
from benchmarks.on_a_gpu.two_models import report
from muri_opt import Job, Together

ROOT = Path(__file__).parents[3]


def test_the_figures_of_the_page_are_those_of_the_command(tmp_path: Path) -> None:
    main(["--figures", str(tmp_path)])
    for name in ("lock-step.svg", "free.svg"):
        drawn = (tmp_path / name).read_text(encoding="utf-8")
        assert drawn == (ROOT / "docs" / "figures" / name).read_text(encoding="utf-8")
        assert drawn.count("<circle") > 100


@pytest.mark.parametrize(
    ("name", "step", "of_groups", "of_jobs"), [("own", 0.0345, 0.073, 0.079), ("shared", 0.1645, 0.137, 0.164)]
)
def test_predictions_are_near_to_what_was_measured(name: str, step: float, of_groups: float, of_jobs: float) -> None:
    case = case_of(name)
    for points, most in ((case.step_groups, step), (case.free_groups, of_groups), (case.free, of_jobs)):
        assert sum(abs(point.error) for point in points) / len(points) < most


def test_two_models_are_compared_with_what_is_predicted() -> None:
    stages = {"loader": [0.004, 0.002, 0.002, 0.0], "trainer": [0.0, 0.0, 0.006, 0.002]}
    jobs = {name: {"stage_seconds": times, "iteration_seconds": 0.008} for name, times in stages.items()}
    alone = {name: {"job": job, "per_second": 120.0} for name, job in jobs.items()}
    together = {"loader": {"job": {}, "per_second": 96.0}, "trainer": {"job": {}, "per_second": 108.0}}
    lines = report(alone, together, (False, True, False, False))
    loader, trainer, both = (line.split() for line in lines[5:8])
    # Alone the trainer is three quarters of its time at the GPU, the loader a quarter.
    assert [float(number) for number in loader[1:]] == [120.0, 96.0, 0.8, pytest.approx(1 / 1.1875, abs=0.006), 0.8]
    assert [float(number) for number in trainer[1:]] == [120.0, 108.0, 0.9, pytest.approx(1 / 1.1875, abs=0.006), 0.8]
    assert float(both[1]) == 1.7
    said = json.loads(lines[-1])
    assert [Job(**job).id for job in said["jobs"]] == ["loader", "trainer"]
    assert Together(**said["together"][0]).rates == (0.8, 0.9)
