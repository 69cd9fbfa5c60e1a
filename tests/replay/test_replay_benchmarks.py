"""The commands behind the measured tables, on small files of our own."""

import pytest

from benchmarks import five_systems, published_clocks
from muri_opt.replay.workloads.rubick_tables import BATCH

MURI = (
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,"
    "resource_time_0,resource_time_1,resource_time_2,priority\n"
)
RUBICK = "name,submission_time,duration,application,num_gpus,num_cpus,bandwidth,exec_plan,steps,is_sla\n"


@pytest.fixture
def directory(tmp_path):
    for name in ("muri", "philly", "afs", "rubick"):
        (tmp_path / name).mkdir()
    rows = [f"{k},{(8, 4, 1, 8)[k % 4]},{k * 60_000},{900 + k},vgg16,16,0,0,400,100,200,100,0\n" for k in range(6)]
    for name in ("cluster_trace", "trace3", "trace4"):
        (tmp_path / "muri" / f"{name}.csv").write_text(MURI + "".join(rows))
    lines = [
        f"2017-10-09 07:{minute:02}:00,{600 + minute}.0,{(1, 4, 8, 16)[minute % 4]},66.0,{tenant}\n"
        for minute in range(6)
        for tenant in ("e13805", "2869ce", "ed69ec")
    ]
    (tmp_path / "philly" / "philly_jobs.csv").write_text(
        "timestamp,duration,num_gpus,gpu_time,cluster\n" + "".join(lines)
    )
    curves = [f"{model},{gpus},{part + 1 / gpus}\n" for model, part in (("a", 0.1), ("b", 0.5)) for gpus in (1, 4, 16)]
    (tmp_path / "afs" / "iteration_seconds.csv").write_text("model,gpus,iteration_seconds\n" + "".join(curves))
    for model in BATCH:
        plans = "exec_plan,placement,iter_time\nga,1,1\nga,2,0.6\nga,4,0.4\nzero-dp,1,1.1\n"
        (tmp_path / "rubick" / f"placements_{model}.csv").write_text(plans)
    tasks = [f"t{k},{k * 30},100,vit,{(1, 2)[k % 2]},8,0,ga,90,{k % 2}\n" for k in range(6)]
    (tmp_path / "rubick" / "workload-base.csv").write_text(RUBICK + "".join(tasks))
    return tmp_path


def test_five_systems_are_replayed_once_and_compared(directory, tmp_path, capsys):
    command = [str(directory), "--quick", "--engine", "here", "--folder", str(tmp_path / "kept")]
    assert five_systems.main(command) == 0
    printed, told = capsys.readouterr()
    tables = printed.split("After the runs by method ")
    assert [table.partition(";")[0] for table in tables] == ["", "heuristic", "auto"]
    titles = [line.strip("*") for line in tables[2].splitlines() if line.startswith("**")]
    assert titles == [
        "trace3, 8 x 8",
        "trace4, 8 x 8",
        "Philly 2869ce, 16 x 4, 30 s a restart",
        "Philly e13805, 16 x 4, 30 s a restart",
        "Rubick's workload-base, 8 x 8, rounds of 60 s, 260 s a launch or change",
        "Mean completion times of all, as ratios to fifo:preempt=yes",
    ]
    *details, overview = tables[2].split("\n**")
    lines = [line for table in details for line in table.splitlines() if line.startswith("| fifo:")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert [row[:3] for row in rows] == [["fifo:preempt=yes", "heuristic", jobs] for jobs in "44444"]
    assert all(row[4] == row[6] == row[8] == "1.000" for row in rows)
    assert "| muri-s | auto | 4 |" in tables[2]
    assert "| muri-s | auto | 4 |" not in tables[1]
    cells = {line.split(" | ")[0]: line.split(" | ")[1:] for line in overview.splitlines() if line.startswith("| ")}
    assert cells["| fifo:preempt=yes"] == ["1.000", "", "1.000", "", "1.000", "", "1.000", "", "1.000", " |"]
    assert all(cells["| muri-s"][column] for column in range(8))
    total = told.splitlines()[-1].split()[-1]

    assert five_systems.main(command) == 0
    again = capsys.readouterr()
    assert again.out == printed
    assert again.err.splitlines()[-1] == f"{total} of {total}"
    assert len(again.err.splitlines()) == 2  # nothing was run


def test_a_run_that_fails_is_told_and_the_others_are_shown(tmp_path, capsys, monkeypatch):
    pairs = [("generate:tiresias?jobs=3", policy) for policy in ("fifo", "afs-l", "srtf")]  # none says how it scales
    part = five_systems.Part(title="without tables", cluster="4x8", pairs=pairs, solved=())
    monkeypatch.setattr(five_systems, "parts", lambda *_, **__: [part])
    assert five_systems.main(["-", "--engine", "here", "--folder", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "failed: generate:tiresias?jobs=3 under afs-l (heuristic): " in printed
    assert "| srtf | heuristic | 3 |" in printed
    assert "| afs-l |" not in printed


def test_published_figures_stand_beside_ours(directory, capsys):
    published_clocks.main([str(directory)])
    printed = capsys.readouterr().out
    assert printed.count("\n| muri-") == 6
    assert "| 247,452.951389 |" in printed
    assert printed.count("| | reference |") == 3
    assert "mean of seeds 0 to 2 of its coin" in printed
    published_clocks.main([str(directory), "--clock", "afs", "--seeds", "1"])
    assert "Muri" not in capsys.readouterr().out
    published_clocks.main([str(directory), "--clock", "muri"])
    assert "reference" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        published_clocks.main([str(directory), "--seeds", "0"])


def test_the_coin_of_afs_p_is_tossed_with_several_seeds(directory, capsys):
    """The figures of the authors are of other jobs, which take hours; these take less than one."""
    published_clocks.main([str(directory), "--clock", "afs", "--seeds", "4"])
    table, spread = capsys.readouterr().out.split("afs-p over the seeds")
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in spread.splitlines() if " (6) |" in line]
    assert [(row[0], *row[5:8]) for row in cells] == [
        ("e13805 (6)", "4.898", "4.898", "4.899"),
        ("2869ce (6)", "23.701", "23.653", "23.753"),
        ("ed69ec (6)", "2.646", "2.642", "2.650"),
    ]
    ours = [line.split(" | ") for line in table.splitlines() if "| ours |" in line]
    column = 2 + published_clocks.AFS_POLICIES.index("afs-p")
    for row, (_, mean, deviation, least, most, *_, difference) in zip(ours, cells, strict=True):
        assert row[column] == mean
        assert 0 < float(least) <= float(mean) <= float(most) < 1
        assert 0 <= float(deviation) <= float(most) - float(least) + 0.001
        assert difference.startswith("-")


def test_equal_to_six_decimals_or_a_difference_in_per_cent():
    assert published_clocks.compared(1.0000001, 1.0) == "equal"
    assert published_clocks.compared(0.995, 1.0) == "-0.50%"
