"""``muri-opt export``: the program of the policy, readable by a solver."""

import pytest


def test_lp_is_the_default_and_mps_the_choice(run, toy):
    code, lp, _ = run("export", toy)
    assert code == 0
    assert "Maximize" in lp
    assert lp.endswith("End\n")
    mps = run("export", toy, "--format", "mps")[1]
    assert mps.startswith("NAME ")
    assert mps.endswith("ENDATA\n")


@pytest.mark.parametrize("kind", ["lp", "mps"])
@pytest.mark.parametrize("policy", ["srtf", "srtf:objective=lexicographic", "fifo:nodes=fewest"])
def test_a_solver_reads_the_text_and_finds_the_value(run, toy, tmp_path, kind, policy):
    import highspy

    path = tmp_path / f"round.{kind}"
    code, out, _ = run("export", toy, "--policy", policy, "--format", kind, "--output", path)
    assert (code, out) == (0, "")
    solver = highspy.Highs()
    solver.silent()
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.run()
    optimum = round(solver.getInfo().objective_function_value)
    assert f"value        {optimum} (" in run("solve", toy, "--policy", policy)[1]


def test_an_objective_no_text_can_hold_exactly_is_refused(run, refused, round_file):
    jobs = [{"id": f"job-{j}", "gpus": 1, "submitted": j} for j in range(54)]
    policy = "fifo:objective=lexicographic"
    assert run("export", round_file(jobs=jobs[:53]), "--policy", policy)[0] == 0
    assert "objective=weighted" in refused("export", round_file(jobs=jobs), "--policy", policy)


def test_bad_arguments(refused, toy):
    assert "did you mean 'las'?" in refused("export", toy, "--policy", "lass")
    assert "invalid choice: 'gams'" in refused("export", toy, "--format", "gams")
