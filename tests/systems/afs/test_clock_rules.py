"""AFS and its baselines under the clock: golden averages, histories by hand, and never better than the optimum."""

import numpy as np
import pytest
from elastic_references import GOLDEN
from hypothesis import given, strategies as st
from more_examples import more_examples

from benchmarks import afs_gap, afs_trace
from muri_opt.errors import InputError
from muri_opt.systems.afs.clock_rules import INELASTIC_ORDERS, ClockRules
from muri_opt.systems.afs.event_clock import run_clock
from muri_opt.systems.afs.optimum.search import elastic_optimum
from muri_opt.systems.curves import scaling_table

AVERAGES = {  # AFS, Optimus, max-min, elastic SRTF
    "T1": (10.082305, 12.037037, 10.082305, 9.722222),
    "T2": (12.037037, 12.037037, 12.345679, 13.247863),
    "T3": (4.561356, 4.632405, 4.372012, 4.377240),
    "T4": (5.910969, 6.326211, 6.326211, 7.222222),
    "T5": (2.611111, 2.777778, 2.611111, 1.888889),
}


def played(speed, cap, gpus, arrivals, work, rule):
    return run_clock(arrivals=arrivals, work=work, speed=speed, cap=cap, rule=rule, gpus=gpus)


@pytest.mark.parametrize("name", AVERAGES)
def test_golden_averages_with_reallocation(name):
    curves, work, gpus = GOLDEN[name]
    tables = [scaling_table({k: float(p) for k, p in enumerate(row) if k}) for row in curves]
    speed = np.array([table.speeds for table in tables])
    amount = [w * 10**table.digits for w, table in zip(work, tables, strict=True)]
    cap = np.full(len(work), gpus)
    rules = ClockRules(speed=speed, cap=cap, gpus=gpus)
    found = [
        played(speed, cap, gpus, np.zeros(len(work)), amount, rule).mean_duration
        for rule in (rules.afs(scan="arrival"), rules.optimus, rules.max_min, rules.srtf)
    ]
    assert [round(average, 6) for average in found] == list(AVERAGES[name])


def test_the_tie_of_linear_jobs_decides_who_shares():
    speed, cap, work = np.tile(np.arange(4), (3, 1)), np.full(3, 3), [2, 3, 5]
    rules = ClockRules(speed=speed, cap=cap, gpus=3)
    first = {}
    for tie in ("longer", "shorter"):
        asked = []

        def rule(live, tie=tie, asked=asked):
            asked.append(rules.afs(scan="arrival", tie=tie)(live).tolist())
            return asked[-1]

        played(speed, cap, 3, [0, 0, 0], work, rule)
        first[tie] = asked[0]
    assert first == {"longer": [1, 1, 1], "shorter": [2, 1, 0]}


def inelastic(order, requested, work, arrivals, gpus=4):
    """Durations of jobs that do ``work`` seconds on the GPUs they request."""
    speed, cap = np.tile(np.arange(gpus + 1), (len(work), 1)), np.full(len(work), gpus)
    amount = np.array(work) * requested
    rule = ClockRules(speed=speed, cap=cap, gpus=gpus).inelastic(np.array(requested), order)
    return played(speed, cap, gpus, arrivals, amount, rule).durations.tolist()


def test_three_gangs_by_hand():
    """Four GPUs; 3 GPUs for 10 s from 0, 2 for 4 s from 1, 1 for 5 s from 2.

    First come: the second waits for the first, the third fills the GPU left free at 2. Shortest: at 1 the second takes
    over and the first waits, for 3 GPUs are free again only at 5.
    """
    gangs = {"requested": [3, 2, 1], "work": [10, 4, 5], "arrivals": [0, 1, 2]}
    assert inelastic("fifo", **gangs) == [10, 13, 5]
    assert inelastic("srtf", **gangs) == inelastic("srsf", **gangs) == [14, 4, 5]


def test_the_shortest_job_is_not_the_one_of_least_service():
    gangs = {"requested": [1, 4], "work": [5, 3], "arrivals": [0, 0]}
    assert inelastic("fifo", **gangs) == inelastic("srsf", **gangs) == [5, 8]
    assert inelastic("srtf", **gangs) == [8, 3]


def test_elastic_rules_by_hand():
    """Four GPUs, linear jobs: 8 from 0, 4 from 1. At 1 both have 4 left; in turn they share, SRTF takes the first."""
    speed, cap = np.tile(np.arange(5), (2, 1)), np.full(2, 4)
    rules = ClockRules(speed=speed, cap=cap, gpus=4)
    assert played(speed, cap, 4, [0, 1], [8, 4], rules.max_min).durations.tolist() == [3, 2]
    assert played(speed, cap, 4, [0, 1], [8, 4], rules.srtf).durations.tolist() == [2, 2]


def test_an_unknown_order_is_named():
    rules = ClockRules(speed=np.array([[0, 1]]), cap=np.array([1]), gpus=1)
    with pytest.raises(InputError, match=r"'srft'.*did you mean 'srtf'"):
        rules.inelastic(np.array([1]), "srft")


@st.composite
def elastic_histories(draw):
    gpus, count = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    curve = st.lists(st.integers(1, 8), min_size=gpus, max_size=gpus)
    cap = np.array([draw(st.integers(1, gpus)) for _ in range(count)])
    speed = np.array([[0, *draw(curve)] for _ in range(count)])
    for row, most in zip(speed, cap, strict=True):
        row[most + 1 :] = 0
    work = [draw(st.integers(1, 20)) for _ in range(count)]
    arrivals = [draw(st.integers(0, 6)) for _ in range(count)] if draw(st.booleans()) else [0] * count
    requested = np.array([draw(st.integers(1, int(most))) for most in cap])
    return speed, cap, gpus, arrivals, work, requested


@more_examples(60)
@given(elastic_histories(), st.sampled_from(["longest", "arrival", "shortest"]), st.sampled_from([1, 2, None]))
def test_no_rule_beats_the_optimum(history, scan, phi):
    speed, cap, gpus, arrivals, work, requested = history
    optimum = elastic_optimum(speed, cap, work, gpus, arrivals)
    rules = ClockRules(speed=speed, cap=cap, gpus=gpus)
    every = [rules.afs(scan=scan, phi=phi), rules.optimus, rules.max_min, rules.srtf]
    every += [rules.inelastic(requested, order) for order in INELASTIC_ORDERS]
    for rule in every:
        total = float(played(speed, cap, gpus, arrivals, work, rule).durations.sum())
        assert total >= float(optimum.total_completion) * (1 - 1e-12)


def test_the_study_of_gaps_prints_a_line_per_kind_of_curve_and_size(capsys):
    afs_gap.main(["--rounds", "2"])
    lines = capsys.readouterr().out.splitlines()[4:]
    assert [line.split(" | ")[0] for line in lines] == [f"| {name}" for name in afs_gap.CURVES for _ in afs_gap.SIZES]
    for line in lines:
        ratios = [float(cell.split()[0]) for cell in line.strip("| ").split(" | ")[2:]]
        assert len(ratios) == 4
        assert min(ratios) >= 1
    assert lines[0].endswith("| 1.000 (1.000) |")  # linear jobs: elastic SRTF is the optimum


def test_the_study_of_traces_reads_tables_and_prints_hours(tmp_path, capsys):
    """Model x does 1 per second and GPU on up to 2, y 1 and 1.5 on 1 and 2, and nothing reaches 3 GPUs.

    The jobs of cluster a by time: x on 2 GPUs for an hour, alone on both GPUs; y on 1 GPU for an hour, an hour later
    and elastic on both: 2/3 of an hour. The job that requests 3 GPUs is left out, and not counted.
    """
    (tmp_path / "curves.csv").write_text("model,gpus,iteration_seconds\nx,1,1\nx,2,0.5\ny,1,1\ny,2,0.6666666667\n")
    (tmp_path / "trace.csv").write_text(
        "timestamp,duration,num_gpus,gpu_time,cluster\n"
        "2017-10-09 08:00:00,3600,1,3600,a\n"
        "2017-10-09 07:00:00,7200,3,3600,a\n"
        "2017-10-09 07:00:00,3600,2,3600,a\n"
        "2017-10-09 07:00:00,99,1,99,b\n"
    )
    paths = [str(tmp_path / "trace.csv"), str(tmp_path / "curves.csv")]
    afs_trace.main([*paths, "--vc", "a", "--gpus", "2"])
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "| a (2) | 1.000 | 1.000 | 1.000 | 0.833 | 0.833 | 0.833 | 0.833 | 0.833 | 1.0, 1.0 |"
    with pytest.raises(SystemExit, match="no jobs of virtual cluster 'c'"):
        afs_trace.main([*paths, "--vc", "c"])
