"""``muri-opt doctor``: everything works here, and a broken solver is found."""

import json
import platform
import re
from pathlib import Path

import pytest
import scipy

import muri_opt
from muri_opt.cli import doctor
from muri_opt.solve.solvers import BACKENDS
from muri_opt.solve.solvers.cbc import Cbc
from muri_opt.solve.solvers.executables import architecture_of
from muri_opt.solve.solvers.self_check import KNOWN_PROGRAMS


def test_everything_works_here(run):
    code, out, _ = run("doctor", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["muri_opt"], found["python"]) == (muri_opt.__version__, platform.python_version())
    assert found["worker"]["works"] is True
    assert set(found["backends"]) == set(BACKENDS)
    assert all(backend["works"] and backend["detail"] for backend in found["backends"].values())
    assert all(
        backend["trusted"] and backend["programs"] == len(KNOWN_PROGRAMS) for backend in found["backends"].values()
    )
    code, text, _ = run("doctor")
    assert code == 0
    parts = [line.split("  ")[0] for line in text.splitlines()]
    assert parts == ["part", "muri-opt", "Python", "platform", "numpy", "solver process", *BACKENDS]
    assert "FAILS" not in text


def test_it_says_which_cbc_was_found():
    found = doctor.try_backend("cbc")
    path = Path(found["path"])
    assert path.is_file()
    assert found["architecture"] == architecture_of(path)
    assert found["detail"] == f"{Cbc().version()}, {found['architecture']}, {path}"


def test_a_version_known_to_lie_is_not_trusted(process, tmp_path):
    """A CBC that is asked only for its version, and says one with a fault."""
    (tmp_path / "sitecustomize.py").write_text(
        "from muri_opt.solve.solvers.cbc import Cbc\n"
        "from muri_opt.solve.solvers.trust import KnownFault\n"
        "Cbc.known_faults = (KnownFault(first=(2,), last=(3,), seen='which lies', remedy='another'),)\n"
    )
    ended = process("doctor", "--json", path=[tmp_path])
    found = json.loads(ended.stdout)["backends"]
    assert ended.returncode == 5
    assert [name for name, backend in found.items() if not backend["trusted"]] == ["cbc"]
    assert found["cbc"]["works"] is False
    assert re.search(r"cbc: version: found CBC 2\.\S+, which lies; allowed: another", found["cbc"]["detail"])


def test_warming_tries_the_matching_too_and_everything_twice(run):
    code, out, _ = run("doctor", "--warm", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["matching"]["detail"] == f"scipy {scipy.__version__}"
    for tried in (found["worker"], found["matching"], *found["backends"].values()):
        assert tried["works"]
        assert set(tried) >= {"works", "detail", "seconds", "seconds_again"}
    code, text, _ = run("doctor", "--warm")
    assert code == 0
    *_, last = text.splitlines()
    assert re.fullmatch(rf"matching +scipy {re.escape(scipy.__version__)} +ok, \d+\.\d\d s, then \d+\.\d\d s", last)


def test_a_matching_that_does_not_load_is_found_only_when_it_is_asked_for(process, tmp_path):
    (tmp_path / "scipy.py").write_text("raise ImportError('broken on purpose')\n")
    warm = process("doctor", "--warm", "--json", path=[tmp_path])
    assert warm.returncode == 5
    assert json.loads(warm.stdout)["matching"]["detail"] == "ImportError: broken on purpose"
    assert process("doctor", path=[tmp_path]).returncode == 0


def test_a_wrong_matching_is_found(monkeypatch):
    monkeypatch.setattr(doctor, "_HEAVIEST", 5)
    with pytest.raises(RuntimeError, match="heaviest matching weighs 5 was matched with 4"):
        doctor.try_matching()


def test_a_broken_solver_is_found_and_the_others_are_still_tried(process, tmp_path):
    (tmp_path / "pulp.py").write_text("raise ImportError('broken on purpose')\n")
    ended = process("doctor", "--json", path=[tmp_path])
    found = json.loads(ended.stdout)
    assert ended.returncode == 5
    assert "broken on purpose" in found["backends"]["cbc"]["detail"]
    assert [name for name, backend in found["backends"].items() if not backend["works"]] == ["cbc"]


def test_a_solver_process_that_does_not_start_is_found(process, tmp_path):
    (tmp_path / "highspy.py").write_text("import os; os._exit(3)\n")
    ended = process("doctor", path=[tmp_path])
    assert ended.returncode == 5
    assert ended.stderr == ""
    line = next(line for line in ended.stdout.splitlines() if line.startswith("solver process"))
    assert "ended with code 3" in line
    assert "FAILS" in line
