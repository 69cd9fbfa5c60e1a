"""The package as others get it: quick to import, complete as a wheel, one version."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import muri_opt

ROOT = Path(__file__).parents[1]
SOLVERS = ("ortools", "highspy", "pulp")


def loaded_by(statement: str) -> set[str]:
    """Return the solvers that a fresh Python has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint(*(name for name in {SOLVERS} if name in sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(told.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import muri_opt",
        "import muri_opt.solve.solvers, muri_opt.systems.registry, muri_opt.rounds.generate.families",
        "from muri_opt import *",
        "import muri_opt as m; m.solve_round(m.Round(cluster=m.Cluster(nodes=()), jobs=()), 'fifo')",
    ],
)
def test_importing_loads_no_solver(statement: str) -> None:
    assert loaded_by(statement) == set()


def test_the_check_for_solvers_can_fail() -> None:
    assert loaded_by("from muri_opt.solve.solvers import backend_named\nbackend_named('highs').version()") == {
        "highspy"
    }


def test_the_testing_kit_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "hypothesis.py").write_text("raise ModuleNotFoundError('not here', name='hypothesis')\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import muri_opt.testing"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert told.returncode == 1
    *_, last = told.stderr.splitlines()
    assert last == "ImportError: muri_opt.testing needs Hypothesis: pip install 'muri-opt[testing]'"


def test_every_public_name_is_there() -> None:
    assert sorted(muri_opt.__all__) == sorted(set(muri_opt.__all__))
    assert all(hasattr(muri_opt, name) for name in muri_opt.__all__)


def test_the_version_is_the_one_of_the_distribution() -> None:
    assert muri_opt.__version__ == version("muri-opt")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A freshly built wheel."""
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """The names of the files in the wheel."""
    with zipfile.ZipFile(wheel) as files:
        return set(files.namelist())


@pytest.mark.parametrize("folder", ["formulations", "instances"])
def test_the_book_and_the_library_are_in_the_wheel(names: set[str], folder: str) -> None:
    shipped = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file()}
    assert shipped
    assert {f"muri_opt/_data/{name}" for name in shipped} <= names
    assert not any(name.endswith(".py") for name in shipped)


def test_the_whole_package_is_in_the_wheel_and_nothing_else(names: set[str]) -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "muri_opt").rglob("*.py")}
    assert modules | {"muri_opt/py.typed"} <= names
    assert {name.partition("/")[0] for name in names} == {"muri_opt", f"muri_opt-{muri_opt.__version__}.dist-info"}
    assert f"muri_opt-{muri_opt.__version__}.dist-info/licenses/LICENSE" in names


def test_the_wheel_says_where_the_project_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        text = files.read(f"muri_opt-{muri_opt.__version__}.dist-info/METADATA").decode()
    said = [line.removeprefix("Project-URL: ").split(", ")[0] for line in text.splitlines() if "Project-URL" in line]
    assert sorted(said) == ["Changelog", "Documentation", "Source"]


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as pip lays it out, away from the clone."""
    place = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as files:
        files.extractall(place)
    return place


def run_installed(unpacked: Path, folder: Path, *words: str, hidden: tuple[str, ...] = ()) -> str:
    """Return what the command prints in an empty folder, from the unpacked wheel, where ``hidden`` cannot be loaded."""
    code = "\n".join(
        [
            "import sys",
            f"sys.modules.update(dict.fromkeys({hidden!r}))",
            "import muri_opt",
            f"assert muri_opt.__file__.startswith({str(unpacked)!r}), muri_opt.__file__",
            "from muri_opt.cli.main import entry_point",
            f"sys.argv[1:] = {words!r}",
            "entry_point()",
        ]
    )
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (told.returncode, told.stderr) == (0, "")
    return told.stdout


DEVELOPMENT = ("hypothesis", "jsonschema", "matplotlib", "networkx", "pyarrow", "pytest", "rustworkx")


def test_the_wheel_solves_verifies_and_shows_a_shipped_round_without_the_tools_of_development(
    unpacked: Path, tmp_path: Path
) -> None:
    def run(*words: str) -> str:
        return run_installed(unpacked, tmp_path, *words, hidden=DEVELOPMENT)

    assert run("solve", "toy/two-gangs", "--policy", "fifo", "--output", "result.json").startswith("toy/two-gangs: ")
    assert "recomputed from the round" in run("verify", "toy/two-gangs", "result.json")
    run("show", "toy/two-gangs", "result.json", "--picture", "round.svg")
    assert (tmp_path / "round.svg").read_text().startswith("<svg")
    assert "FAILS" not in run("doctor")
