"""Every public class and function of the faces has an example in its docstring, and every example says what it does.

An example knows the public names of its face and of ``muri_opt``, numpy as ``np``, and ``shipped_round``, which returns
a round of the library by its name; it runs in a folder of its own.
"""

from __future__ import annotations

import doctest
import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import muri_opt
import muri_opt.algorithms
import muri_opt.systems
from muri_opt.studies.library import shipped_round

PACKAGES = (muri_opt.algorithms, muri_opt.systems)
FACES = (
    "muri_opt",
    "muri_opt.testing",
    "muri_opt.algorithms",
    "muri_opt.profiling",
    *(
        f"{package.__name__}.{found.name}"
        for package in PACKAGES
        for found in pkgutil.iter_modules(package.__path__)
        if found.ispkg
    ),
)


def public(face: str) -> dict[str, object]:
    """The classes and functions that a package hands on, and ``verify``, which is a package that can be called."""
    names = {name: getattr(import_module(face), name) for name in import_module(face).__all__}
    return {
        name: thing
        for name, thing in names.items()
        if inspect.isclass(thing) or inspect.isfunction(thing) or (inspect.ismodule(thing) and callable(thing))
    }


THINGS = {id(thing): (face, name) for face in reversed(FACES) for name, thing in public(face).items()}
"""What is handed on by several faces is looked at once, in the outermost of them."""


def test_the_faces_are_those_of_the_package() -> None:
    assert {"muri_opt.systems.rubick", "muri_opt.systems.afs", "muri_opt.algorithms.knapsack"} <= set(FACES)
    assert ("muri_opt", "verify") in THINGS.values()


@pytest.mark.parametrize(("face", "name"), sorted(THINGS.values()))
def test_the_example_of_a_public_name_holds(
    face: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known = {other: getattr(muri_opt, other) for other in muri_opt.__all__}
    package = import_module(face)
    known |= {other: getattr(package, other) for other in package.__all__}
    known |= {"np": np, "shipped_round": shipped_round}
    text = inspect.cleandoc(getattr(package, name).__doc__ or "")
    test = doctest.DocTestParser().get_doctest(text, known, f"{face}.{name}", None, None)
    assert test.examples, "no example in the docstring"
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
