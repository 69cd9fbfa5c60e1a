"""``muri-opt doctor``: does everything work here?"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from muri_opt.cli.command import Command
from muri_opt.cli.reply import ExitCode, Reply

if TYPE_CHECKING:
    from muri_opt.modelling import Model

_EXAMPLES = """  muri-opt doctor
  muri-opt doctor --json
  muri-opt doctor --warm

Every backend solves a tiny program in a solver process. The command ends with code 5 if one does not.
Nothing is compiled here, so --warm keeps nothing for later but the files it read, in the memory of the system."""
_SECONDS = 60.0
_OPTIMUM = 5
_HEAVIEST = 4


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument(
        "--warm", action="store_true", help="load the matching, too, and time everything twice: first call and next"
    )


def run(arguments: argparse.Namespace) -> Reply:
    """Return the versions of everything and which backends solve."""
    findings = examine(warm=arguments.warm)
    well = all(found["works"] for found in _tries(findings).values())
    code = ExitCode.ANSWER if well else ExitCode.SOLVER_FAILED
    return Reply(json.dumps(findings, indent=1) + "\n" if arguments.json else _text(findings), code)


def examine(*, warm: bool = False) -> dict[str, Any]:
    """Return the versions here, whether a solver process starts, and whether each backend solves in it.

    ``warm`` also tries the matching, which loads scipy, and everything a second time, when nothing has to be loaded.
    """
    import numpy as np

    from muri_opt import __version__
    from muri_opt.backends import BACKENDS

    times = 2 if warm else 1
    return {
        "muri_opt": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "numpy": np.__version__,
        "worker": _tried(partial(_in_worker, _nothing), times),
        "backends": {name: _tried(partial(_in_worker, try_backend, name), times) for name in BACKENDS},
        **({"matching": _tried(try_matching, times)} if warm else {}),
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


def try_matching() -> str:
    """Return the version of scipy, which has just helped to match four jobs; a wrong matching raises."""
    import numpy as np
    import scipy

    from muri_opt.matching import max_weight_matching

    found = max_weight_matching(np.array([[0, 3, 4, 0], [3, 0, 0, 0], [4, 0, 0, 1], [0, 0, 1, 0]])).value
    if found != _HEAVIEST:
        raise RuntimeError(f"a graph whose heaviest matching weighs {_HEAVIEST} was matched with {found}")
    return f"scipy {scipy.__version__}"


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


def _in_worker(function: Callable[..., str], *arguments: str) -> str:
    from muri_opt.backends import borrowed_worker

    with borrowed_worker() as worker:
        said: str = worker.call(function, *arguments, seconds=_SECONDS)
    return said


def _tried(call: Callable[[], str], times: int) -> dict[str, Any]:
    """Return what a call came to, made once or twice: a crash is a finding, not the end of the examination."""
    seconds = []
    try:
        for _ in range(times):
            began = time.monotonic()
            said = call()
            seconds.append(round(time.monotonic() - began, 3))
    except Exception as error:  # whatever is wrong with a solver is what was asked for
        detail = f"{type(error).__name__}: {error}"
        return {"works": False, "detail": detail, "seconds": round(time.monotonic() - began, 3)}
    return {"works": True, "detail": said, **dict(zip(("seconds", "seconds_again"), seconds, strict=False))}


def _tries(findings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return by name everything that was tried."""
    matching = {"matching": findings["matching"]} if "matching" in findings else {}
    return {"solver process": findings["worker"], **findings["backends"], **matching}


def _text(findings: dict[str, Any]) -> str:
    from muri_opt.report.labels import printable
    from muri_opt.report.tables import table

    rows = [(name, findings[key], "") for name, key in _VERSIONS]
    for name, found in _tries(findings).items():
        ending = f"{'ok' if found['works'] else 'FAILS'}, {found['seconds']:.2f} s"
        again = f", then {found['seconds_again']:.2f} s" if "seconds_again" in found else ""
        rows.append((name, printable(found["detail"]), ending + again))
    return "\n".join(table(("part", "version", "tried"), rows)) + "\n"


_VERSIONS = (("muri-opt", "muri_opt"), ("Python", "python"), ("platform", "platform"), ("numpy", "numpy"))

COMMAND = Command(
    name="doctor",
    summary="print versions, and whether a solver process starts and every backend solves",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
