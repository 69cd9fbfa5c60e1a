"""Names on demand: the same as if all had been imported, without importing them."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import muri_opt
from muri_opt import POLICIES
from muri_opt.rounds.lazy import OnDemand
from muri_opt.solve.solvers import BACKENDS

FOLDER = Path(muri_opt.__file__).parent
LAZY = sorted(path for path in FOLDER.rglob("__init__.py") if "names_on_demand" in path.read_text())


def package_of(path: Path) -> str:
    return ".".join(path.parent.relative_to(FOLDER.parent).parts)


def homes_of(path: Path) -> dict[str, str]:
    """Return the module of each name as the call of the ``__init__`` has it."""
    (call,) = (
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "names_on_demand"
    )
    homes = ast.literal_eval(call.args[1])
    return {name: home for home, names in homes.items() for name in names}


def typed_homes_of(path: Path) -> dict[str, str]:
    """Return the module of each name as type checkers see it."""
    (block,) = (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.If))
    homes = {name.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for name in node.names}
    return {name: home for name, home in homes.items() if home != f"muri_opt.{name}"}  # a package can be called


def test_the_packages_are_found() -> None:
    assert {package_of(path) for path in LAZY} >= {"muri_opt", "muri_opt.rounds", "muri_opt.solve.solvers"}


@pytest.mark.parametrize("path", LAZY, ids=package_of)
def test_a_package_says_the_same_to_python_and_to_type_checkers(path: Path) -> None:
    assert homes_of(path) == typed_homes_of(path)
    package = import_module(package_of(path))
    assert set(homes_of(path)) | {"__version__", "verify"} >= set(package.__all__) >= set(homes_of(path))
    for name, home in homes_of(path).items():
        assert getattr(package, name) is getattr(import_module(home), name)
    assert set(package.__all__) <= set(dir(package))


@pytest.mark.parametrize("path", LAZY, ids=package_of)
def test_no_name_is_that_of_a_module(path: Path) -> None:
    """A module that is imported becomes an attribute of its package, and would hide the name."""
    modules = {child.stem for child in path.parent.iterdir()}
    assert not modules & set(homes_of(path))


@pytest.mark.parametrize("path", LAZY, ids=package_of)
def test_an_unknown_name_is_told_as_usual(path: Path) -> None:
    package = import_module(package_of(path))
    with pytest.raises(AttributeError, match=f"module '{package_of(path)}' has no attribute 'nothing_of_the_kind'"):
        package.nothing_of_the_kind  # noqa: B018


def test_a_table_on_demand_is_a_mapping_that_imports_late() -> None:
    table: OnDemand[object] = OnDemand({"path": "pathlib:Path", "nowhere": "no_such_module_at_all:Thing"})
    assert list(table) == ["path", "nowhere"]
    assert len(table) == 2
    assert "nowhere" in table
    assert "elsewhere" not in table
    assert table["path"] is Path
    with pytest.raises(KeyError):
        table["elsewhere"]
    with pytest.raises(ModuleNotFoundError):
        table["nowhere"]


def test_every_policy_and_backend_is_where_the_tables_say() -> None:
    for name, kind in POLICIES.items():
        assert kind(name=name).name == name
    for name, backend in BACKENDS.items():
        assert backend.name == name


def loaded_by(code: str) -> set[str]:
    """Return the modules that a fresh Python has loaded after a piece of code."""
    code += "\nimport sys\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_solve_round_loads_no_policy_and_no_program() -> None:
    loaded = loaded_by("from muri_opt import solve_round")
    ours = {name.split(".")[1] for name in loaded if name.startswith("muri_opt.")}
    assert ours == {"errors", "rounds", "solve", "systems", "verify"}
    systems = {name for name in loaded if name.startswith("muri_opt.systems.")}
    shared = {name for name in systems if name.count(".") == 2}
    papers = {"afs", "aiturbo", "deadline", "gangs", "joint", "muri", "philly", "rubick"}
    assert shared == {
        f"muri_opt.systems.{name}"
        for name in ("admission", "history", "naming", "policy", "registry", "system", *papers)
    }
    assert systems - shared == {f"muri_opt.systems.{paper}.system" for paper in papers}
    assert not {"scipy", "highspy", "ortools", "pulp", "matplotlib"} & loaded


HEURISTIC = """
from muri_opt.cli.main import main
main(["solve", {path!r}, "--method", "heuristic", "--output", {output!r}])
print()
"""


def test_a_round_of_gangs_loads_nothing_of_other_systems(tmp_path: Path) -> None:
    toy = FOLDER.parent / "instances" / "toy" / "two-gangs.json"
    loaded = loaded_by(HEURISTIC.format(path=str(toy), output=str(tmp_path / "result.json")))
    ours = {name for name in loaded if name.startswith("muri_opt.")}
    inside = {name for name in ours if name.startswith("muri_opt.systems.") and name.count(".") > 2}
    systems = {name.split(".")[2] for name in inside if not name.endswith(".system")}
    assert systems == {"capacity", "gangs", "orders"}
    chapters = {name.split(".")[2] for name in ours if name.startswith("muri_opt.verify.")}
    assert not {"afs", "defragment", "muri", "philly", "plans"} & chapters
    assert not {"scipy", "highspy", "ortools", "pulp", "matplotlib", "http", "ssl"} & loaded
