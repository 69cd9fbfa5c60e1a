"""``muri-opt doctor``: does everything work here?"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from muri_opt.cli.command import Command
from muri_opt.cli.output import ExitCode, Reply

_EXAMPLES = """  muri-opt doctor
  muri-opt doctor --json
  muri-opt doctor --warm

Every backend solves small programs with known answers in a solver process, among them those on which a solver has been
seen to lie. It is trusted if it answers all of them rightly and no version of it that lies is installed. The command
ends with code 5 if one does not work or is not trusted.
Nothing is compiled here, so --warm keeps nothing for later but the files it read, in the memory of the system."""
_SECONDS = 60.0
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
    from muri_opt.solve.solvers import BACKENDS

    times = 2 if warm else 1
    return {
        "muri_opt": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "numpy": np.__version__,
        "worker": _tried(partial(_in_worker, _nothing), times),
        "backends": {
            name: {"trusted": False, **_tried(partial(_in_worker, try_backend, name), times)} for name in BACKENDS
        },
        **({"matching": _tried(try_matching, times)} if warm else {}),
    }


def try_backend(name: str) -> dict[str, Any]:
    """Return what a backend is that has just solved the programs with known answers; any other answer raises.

    A version that is known to lie is refused.
    """
    from muri_opt.solve.solvers import backend_named
    from muri_opt.solve.solvers.executables import architecture_of
    from muri_opt.solve.solvers.self_check import self_check

    backend = backend_named(name)
    version, program = backend.version(), backend.program()
    right = self_check(backend)
    place = {} if program is None else {"path": str(program), "architecture": architecture_of(program)}
    return {"detail": ", ".join([version, *reversed(place.values())]), **place, "trusted": True, "programs": right}


def try_matching() -> dict[str, Any]:
    """Return the version of scipy, which has just helped to match four jobs; a wrong matching raises."""
    import numpy as np
    import scipy

    from muri_opt.algorithms.matching import max_weight_matching

    found = max_weight_matching(np.array([[0, 3, 4, 0], [3, 0, 0, 0], [4, 0, 0, 1], [0, 0, 1, 0]])).value
    if found != _HEAVIEST:
        raise RuntimeError(f"a graph whose heaviest matching weighs {_HEAVIEST} was matched with {found}")
    return {"detail": f"scipy {scipy.__version__}"}


def _nothing() -> dict[str, Any]:
    return {"detail": "starts"}


def _in_worker(function: Callable[..., dict[str, Any]], *arguments: str) -> dict[str, Any]:
    from muri_opt.solve.solvers import borrowed_worker

    with borrowed_worker() as worker:
        found: dict[str, Any] = worker.call(function, *arguments, seconds=_SECONDS)
    return found


def _tried(call: Callable[[], dict[str, Any]], times: int) -> dict[str, Any]:
    """Return what a call came to, made once or twice: a crash is a finding, not the end of the examination."""
    seconds = []
    try:
        for _ in range(times):
            began = time.monotonic()
            found = call()
            seconds.append(round(time.monotonic() - began, 3))
    except Exception as error:  # whatever is wrong with a solver is what was asked for
        detail = f"{type(error).__name__}: {error}"
        return {"works": False, "detail": detail, "seconds": round(time.monotonic() - began, 3)}
    return {"works": True, **found, **dict(zip(("seconds", "seconds_again"), seconds, strict=False))}


def _tries(findings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return by name everything that was tried."""
    matching = {"matching": findings["matching"]} if "matching" in findings else {}
    return {"solver process": findings["worker"], **findings["backends"], **matching}


def _text(findings: dict[str, Any]) -> str:
    from muri_opt.report.format import printable
    from muri_opt.report.tables import table

    rows = [(name, findings[key], "") for name, key in _VERSIONS]
    for name, found in _tries(findings).items():
        trust = ", trusted" if found.get("trusted") else ""
        ending = f"{'ok' if found['works'] else 'FAILS'}{trust}, {found['seconds']:.2f} s"
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
