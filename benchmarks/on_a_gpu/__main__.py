"""Predicted against measured rates of jobs that share a GPU, in lock step and freely: a table, and two figures."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.on_a_gpu.figures import figure
from benchmarks.on_a_gpu.measurements import CASES, Case, Point, case_of


def main(arguments: list[str] | None = None) -> None:
    """Print how far predictions are from what was measured, and draw both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figures", metavar="FOLDER", type=Path, help="write lock-step.svg and free.svg there")
    given = parser.parse_args(arguments)
    cases = [case_of(name) for name in CASES]
    print(f"{'':44}" + "".join(f"{case.title:>26}" for case in cases))
    told = [_told(case) for case in cases]
    for label in told[0]:
        print(f"{label:44}" + "".join(f"{column[label]:>26}" for column in told))
    if given.figures is not None:
        given.figures.mkdir(parents=True, exist_ok=True)
        for name, title, of in (("lock-step", "Lock step", "step"), ("free", "Running freely", "free")):
            points = {case.title: list(getattr(case, of)) for case in cases}
            path = given.figures / f"{name}.svg"
            path.write_text(figure(f"{title}: rate of a job against running alone", points), encoding="utf-8")
            print(f"wrote {path.as_posix()}")


def _told(case: Case) -> dict[str, str]:
    """Return the column of a case, line by line."""
    sizes = (2, 3, 4)
    return {
        "groups of 2, 3 and 4 jobs": "  ".join(str(case.sizes.count(size)) for size in sizes),
        "lock step, rate of a group: mean error": _error(case.step_groups),
        "  errors from, to": _range(case.step_groups),
        "free, rate of a group: mean error": _error(case.free_groups),
        "free, rate of a job: mean error": _error(case.free),
        "  errors of jobs from, to": _range(case.free),
        "measured, free over lock step: mean": f"{_mean(case.gains):.2f}",
        "  of groups of 2, 3 and 4 jobs": "  ".join(f"{_mean(case.gains_of(size)):.2f}" for size in sizes),
        "  at most": f"{max(case.gains):.2f}",
        "  groups that do more freely": f"{sum(gain > 1 for gain in case.gains)} of {len(case.gains)}",
    }


def _error(points: list[Point]) -> str:
    return f"{100 * _mean([abs(point.error) for point in points]):.1f} %"


def _range(points: list[Point]) -> str:
    errors = [100 * point.error for point in points]
    return f"{min(errors):+.0f} %, {max(errors):+.0f} %"


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


if __name__ == "__main__":
    main()
