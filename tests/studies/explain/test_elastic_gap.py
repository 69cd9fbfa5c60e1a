"""The rules for elastic shares beside the proved optimum of a round."""

from __future__ import annotations

import json

import numpy as np
import pytest

from muri_opt import Cluster, InputError, Job, Node, RefusalError, Round
from muri_opt.cli.main import main
from muri_opt.report.text.elastic_gap import elastic_text
from muri_opt.studies.explain import best_speed, elastic_gap
from muri_opt.systems.afs.clock_rules import ClockRules
from muri_opt.systems.afs.event_clock import run_clock


def round_of(gpus: int, jobs: list[tuple[int, list[float]]], **fields: object) -> Round:
    return Round(
        cluster=Cluster(nodes=(Node(id="n0", gpus=gpus),)),
        jobs=tuple(
            Job(id=f"j{at}", gpus=1, remaining_iterations=work, scaling=dict(enumerate(rates, 1)), **fields)
            for at, (work, rates) in enumerate(jobs)
        ),
    )


def amdahl(serial: float, gpus: int) -> list[float]:
    return [1 / (serial + (1 - serial) / k) for k in range(1, gpus + 1)]


A, B = (10, [1, 1.8, 2.4]), (30, [1, 1.9, 2.7])
GOLDEN = {  # round, averages of the optimum, AFS by arrival, Optimus, max-min, elastic SRTF; None: not published
    "T1": (round_of(3, [A, B]), 9.722222, 10.082305, 12.037037, None, 9.722222),
    "T2": (round_of(3, [(10, [1, 1.2, 1.3]), B]), 12.037037, 12.037037, None, None, None),
    "T3": (
        round_of(
            4,
            [
                (4, [k**0.5 for k in range(1, 5)]),
                (6, [k**0.7 for k in range(1, 5)]),
                (9, [k**0.9 for k in range(1, 5)]),
            ],
        ),
        4.044198,
        4.561356,
        4.632405,
        4.372012,
        4.377240,
    ),
    "T4": (round_of(6, [(10, amdahl(s, 6)) for s in (0.1, 0.3, 0.5)]), 5.868750, 5.910969, 6.326211, None, None),
    "T5": (round_of(3, [(w, [1, 2, 3]) for w in (2, 3, 5)]), 1.888889, 2.611111, None, None, 1.888889),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_published_averages_come_out(name: str) -> None:
    round_, optimum, afs, optimus, max_min, srtf = GOLDEN[name]
    gap = elastic_gap(round_)
    assert gap.proved
    assert gap.bound_seconds == gap.optimum_seconds == pytest.approx(optimum, abs=6e-7)
    found = {outcome.rule: outcome.mean_seconds for outcome in gap.outcomes}
    expected = {"afs-l:scan=arrival": afs, "optimus": optimus, "max-min-elastic": max_min, "srtf-elastic": srtf}
    for rule, average in expected.items():
        assert average is None or found[rule] == pytest.approx(average, abs=6e-7)
    assert min(found.values()) >= gap.optimum_seconds * (1 - 1e-12)


def test_jobs_may_arrive_later() -> None:
    jobs = (
        Job(id="long", gpus=1, submitted=0.0, remaining_iterations=8, scaling={1: 1.0, 2: 2.0}),
        Job(id="short", gpus=1, submitted=12.0, remaining_iterations=2, scaling={1: 1.0, 2: 2.0}),
    )
    round_ = Round(now=10.0, cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=jobs)
    # Linear curves: the shorter first whenever it is there. At 2 s the long job has 4 left; the short takes 1 s.
    gap = elastic_gap(round_, arrivals=True)
    assert gap.optimum_seconds == (1 + 5) / 2
    together = elastic_gap(round_)
    assert together.optimum_seconds == (1 + 5) / 2
    assert {outcome.rule: outcome.mean_seconds for outcome in gap.outcomes}["srtf-elastic"] == 3.0


def test_without_time_the_best_found_and_its_bound_are_told() -> None:
    rates = [[1, 1.7, 2.1, 2.2], [1, 1.9, 2.7, 3.4], [1, 1.2, 1.3, 1.9], [1, 1.4, 2.4, 2.5]]
    round_ = round_of(4, [(7 + 5 * at, curve) for at, curve in enumerate(rates)])
    hurried, best = elastic_gap(round_, seconds=0.0), elastic_gap(round_)
    assert best.proved
    assert hurried.bound_seconds <= best.optimum_seconds <= hurried.optimum_seconds
    assert not hurried.proved
    assert "no schedule is below" in elastic_text(round_, hurried)


def test_what_cannot_be_decided_is_refused() -> None:
    with pytest.raises(RefusalError, match="1 to 8"):
        elastic_gap(round_of(2, [A] * 9))
    with pytest.raises(RefusalError, match="0 jobs"):
        elastic_gap(round_of(2, []))
    with pytest.raises(InputError, match="no GPUs"):
        elastic_gap(round_of(0, [A]))
    with pytest.raises(InputError, match="remaining_iterations"):
        elastic_gap(Round(cluster=Cluster(nodes=()), jobs=(Job(id="a", gpus=1, scaling={1: 1.0}),)))


def test_finished_jobs_take_no_time() -> None:
    round_ = round_of(2, [(0, [1, 2])])
    gap = elastic_gap(round_)
    assert (gap.optimum_seconds, gap.proved) == (0.0, True)
    assert "1.0000" in elastic_text(round_, gap)


def test_the_best_speed_of_linear_jobs_is_shortest_first() -> None:
    speed = np.array([[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]])
    rules = ClockRules(speed=speed, cap=np.array([3, 3, 3]), gpus=3)
    found = run_clock(arrivals=[0, 0, 0], work=[4, 9, 2], speed=speed, cap=[3, 3, 3], rule=best_speed(rules), gpus=3)
    assert found.completions.tolist() == pytest.approx([2.0, 5.0, 2 / 3], rel=1e-12)


def test_the_command_prints_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    path = "instances/toy/three-elastic.json"
    assert main(["elastic", path]) == 0
    assert "12.183415 s on average" in capsys.readouterr().out
    assert main(["elastic", path, "--json", "--arrivals"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["proved"]
    assert [outcome["rule"] for outcome in told["outcomes"]][:1] == ["afs-l"]
