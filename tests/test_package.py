"""The package as others get it: quick to import, complete as a wheel, one version."""

from __future__ import annotations

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
        "import muri_opt.backends, muri_opt.formulations, muri_opt.catalogue, muri_opt.instance.generators",
        "from muri_opt import *",
        "import muri_opt as m; m.solve_round(m.Round(cluster=m.Cluster(nodes=()), jobs=()), 'fifo')",
    ],
)
def test_importing_loads_no_solver(statement: str) -> None:
    assert loaded_by(statement) == set()


def test_the_check_for_solvers_can_fail() -> None:
    assert loaded_by("from muri_opt.backends import backend_named\nbackend_named('highs').version()") == {"highspy"}


def test_every_public_name_is_there() -> None:
    assert sorted(muri_opt.__all__) == sorted(set(muri_opt.__all__))
    assert all(hasattr(muri_opt, name) for name in muri_opt.__all__)


def test_the_version_is_the_one_of_the_distribution() -> None:
    assert muri_opt.__version__ == version("muri-opt")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a freshly built wheel."""
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = place.glob("*.whl")
    with zipfile.ZipFile(built) as files:
        return set(files.namelist())


@pytest.mark.parametrize("folder", ["formulations", "instances"])
def test_the_book_and_the_library_are_in_the_wheel(wheel: set[str], folder: str) -> None:
    shipped = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file()}
    assert shipped
    assert {f"muri_opt/_data/{name}" for name in shipped} <= wheel
    assert not any(name.endswith(".py") for name in shipped)


def test_the_whole_package_is_in_the_wheel_and_nothing_else(wheel: set[str]) -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "muri_opt").rglob("*.py")}
    assert modules | {"muri_opt/py.typed"} <= wheel
    assert {name.partition("/")[0] for name in wheel} == {"muri_opt", f"muri_opt-{muri_opt.__version__}.dist-info"}
    assert f"muri_opt-{muri_opt.__version__}.dist-info/licenses/LICENSE" in wheel
