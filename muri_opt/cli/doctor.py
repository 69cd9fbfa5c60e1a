"""``muri-opt doctor``: does everything work here?"""

from __future__ import annotations

import argparse
import json
import platform
import time
from typing import TYPE_CHECKING, Any

from muri_opt.cli.command import Command
from muri_opt.cli.reply import ExitCode, Reply

if TYPE_CHECKING:
    from muri_opt.modelling import Model

_EXAMPLES = """  muri-opt doctor
  muri-opt doctor --json

Every backend solves a tiny program in a solver process. The command ends with code 5 if one does not."""
_SECONDS = 60.0
_OPTIMUM = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(arguments: argparse.Namespace) -> Reply:
    """Return the versions of everything and which backends solve."""
    findings = examine()
    well = findings["worker"]["works"] and all(backend["works"] for backend in findings["backends"].values())
    code = ExitCode.ANSWER if well else ExitCode.SOLVER_FAILED
    return Reply(json.dumps(findings, indent=1) + "\n" if arguments.json else _text(findings), code)


def examine() -> dict[str, Any]:
    """Return the versions here, whether a solver process starts, and whether each backend solves in it."""
    import numpy as np

    from muri_opt import __version__
    from muri_opt.backends import BACKENDS

    return {
        "muri_opt": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "numpy": np.__version__,
        "worker": _in_worker(_nothing),
        "backends": {name: _in_worker(try_backend, name) for name in BACKENDS},
    }


def try_backend(name: str) -> str:
    """Return the version of a backend that has just solved a tiny program; any other answer raises."""
    from muri_opt.backends import backend_named
    from muri_opt.solution import Limits, Reason

    backend = backend_named(name)
    version = backend.version()
    outcome = backend.solve(_tiny(), Limits(seconds=_SECONDS))
    if outcome.termination.reason is not Reason.OPTIMAL or outcome.value != _OPTIMUM:
        raise RuntimeError(f"a program with the optimum {_OPTIMUM} ended with {outcome.value}: {outcome.termination}")
    return version


def _tiny() -> Model:
    """Return the smallest program with something to decide: of 3, 2 and 3, at most two may be taken, not both 3."""
    from muri_opt.modelling import ModelBuilder

    builder = ModelBuilder("tiny")
    x = builder.add_columns("x", [[0], [1], [2]])
    builder.add_rows("two", [[0]], entries=([0, 0, 0], x, [1, 1, 1]), sense="<=", rhs=2)
    builder.add_rows("one", [[0]], entries=([0, 0], [x[0], x[2]], [1, 1]), sense="<=", rhs=1)
    return builder.finish(maximise=True, columns=x, coefficients=[3, 2, 3])


def _nothing() -> str:
    return "starts"


def _in_worker(function: Any, *arguments: str) -> dict[str, Any]:
    """Return what a call in a solver process came to: a crash there is a finding, not the end of the examination."""
    from muri_opt.backends import borrowed_worker

    began = time.monotonic()
    try:
        with borrowed_worker() as worker:
            said, works = worker.call(function, *arguments, seconds=_SECONDS), True
    except Exception as error:  # whatever is wrong with a solver is what was asked for
        said, works = f"{type(error).__name__}: {error}", False
    return {"works": works, "detail": said, "seconds": round(time.monotonic() - began, 3)}


def _text(findings: dict[str, Any]) -> str:
    from muri_opt.report.labels import printable
    from muri_opt.report.tables import table

    rows = [(name, findings[key], "") for name, key in _VERSIONS]
    tried = {"solver process": findings["worker"], **findings["backends"]}
    for name, found in tried.items():
        ending = "ok" if found["works"] else "FAILS"
        rows.append((name, printable(found["detail"]), f"{ending}, {found['seconds']:.2f} s"))
    return "\n".join(table(("part", "version", "tried"), rows)) + "\n"


_VERSIONS = (("muri-opt", "muri_opt"), ("Python", "python"), ("platform", "platform"), ("numpy", "numpy"))

COMMAND = Command(
    name="doctor",
    summary="print versions, and whether a solver process starts and every backend solves",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
