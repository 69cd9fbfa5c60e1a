"""CBC, the executable that PuLP ships, driven directly.

PuLP would build the model from Python expressions, one object per term. That alone takes some thirty times as long as
building it from arrays and four times as long as writing it out, too, and then PuLP writes a file of its own. It also
reports a run that was stopped by its time limit as Optimal. So the model goes over as our own MPS text, and the answer
comes from the solution file and the log, which tell the truth.

Integer preprocessing is off: with it, the CBC 2.10.3 that PuLP ships for x86-64 calls wrong answers optimal, which no
check of the answer itself can find (docs/platforms.md has the counts). The later one for aarch64 was not seen to, but
no answer may depend on the machine.

CBC ignores the ``OBJSENSE`` section, so it always gets a minimisation; signs are turned back afterwards.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Model, Number, Values, mps_text
from muri_opt.rounds import Limit, Limits, Reason
from muri_opt.solve.solvers import costs
from muri_opt.solve.solvers.base import Backend, remaining
from muri_opt.solve.solvers.float_solvers import claimed, floating
from muri_opt.solve.solvers.outcome import Outcome, exact_bound, nothing, rounded

_PATIENCE = 1.0
"""Seconds that CBC may overrun its time before it is killed."""

_ANSWER = ("-solution", "answer.sol", "-saveSolution", "answer.bin")

_CROSSED_BOUNDS = "Problem is infeasible - tightenPrimalBounds!"
"""Without preprocessing, CBC that tightens the bounds of a column until they cross says so and then crashes where it
should write its answer, before the log is written out. So a run without an answer is made again without asking for one,
and only its log is read."""


class Cbc(Backend):
    """Branch and cut by CBC in a child process; takes continuous and unbounded columns."""

    name = "cbc"
    # At 2**42 CBC was seen to call an answer optimal that was 2 short of it; at 2**40, of 600, none.
    capabilities = floating(largest_coefficient=10**6, largest_objective=2**40)

    def version(self) -> str:
        """Return the version that the executable states."""
        return _version_of(executable())

    def program(self) -> Path:
        """Return the path of the CBC inside PuLP."""
        return Path(executable()).resolve()

    def load(self, model: Model) -> Any:
        """Return the model as MPS text, as a minimisation."""
        sign = -1 if model.maximise else 1
        return mps_text(replace(model, maximise=False, objective=sign * model.objective))

    def run(self, loaded: Any, model: Model, limits: Limits, start: Values | None) -> Outcome:
        """Write the model to a temporary directory, run CBC there and read what it left behind."""
        began = perf_counter()
        with TemporaryDirectory(prefix="muri-opt-cbc-") as folder:
            place = Path(folder)
            (place / "model.mps").write_text(loaded)
            if start is not None and model.integer.any():
                (place / "start.sol").write_text(_start_text(model, start))
            command = _command(place, limits, model)
            log = _log_of([*command, *_ANSWER], place, limits.seconds)
            answer = place / "answer.sol"
            first, *lines = (answer.read_text() if answer.exists() else "").splitlines() or [""]
            if log is not None and not first:
                log = _log_of(command, place, remaining(limits, began).seconds)
                first = _CROSSED_BOUNDS if _CROSSED_BOUNDS in (log or "") else ""
            exact = _exact_values(model, place / "answer.bin")
        if log is None:
            return nothing(Reason.NO_SOLUTION, "killed after its time was over", Limit.TIME)
        if not first:
            return nothing(Reason.FAILED, f"no answer; the log ends: {' '.join(log.split())[-200:]}")
        said = first.split(" - objective value")[0]
        if said.startswith(("Infeasible", "Integer infeasible", _CROSSED_BOUNDS)):
            if remaining(limits, began).seconds == 0:
                # A presolve that runs out of time calls the model infeasible, so then it says nothing.
                return nothing(Reason.NO_SOLUTION, f"{said}, when the time was over", Limit.TIME)
            return nothing(Reason.INFEASIBLE, said)
        if said.startswith("Unbounded"):
            return self.unbounded_or_infeasible(model, remaining(limits, began), said)
        values = _values(model, lines)
        if exact is not None and np.allclose(values, exact, rtol=1e-7, atol=1e-7):
            values = exact
        return replace(_found(model, said, values, log), work=_work(model, log))


def executable() -> str:
    """Return the path of the CBC inside PuLP; raises ``ImportError`` where there is none."""
    from pulp import PULP_CBC_CMD

    path = Path(PULP_CBC_CMD.pulp_cbc_path)  # known to the class: making one of it warns of PuLP 4
    if not path.is_file():
        raise ImportError(f"this PuLP comes without CBC: there is no {path}; PuLP 3.3 has it")
    return str(path)


@lru_cache(maxsize=16)  # asked for before every solve, and a process each time
def _version_of(path: str) -> str:
    told = subprocess.run([path, "-quit"], capture_output=True, text=True, check=False, timeout=60)
    found = re.search(r"Version:\s*(\S+)", told.stdout)
    if found is None:
        raise ImportError(f"the CBC inside PuLP does not run: exit code {told.returncode}")
    return f"CBC {found[1]}"


def _command(place: Path, limits: Limits, model: Model) -> list[str]:
    command = [executable(), "model.mps", "-preprocess", "off", "-timeMode", "elapsed", "-ratioGap", repr(limits.gap)]
    seed = str(limits.seed % (2**31 - 2) + 1)  # from 1, because 0 means the time of day, to the largest int32
    command += ["-randomSeed", seed, "-randomCbcSeed", seed]
    if limits.seconds is not None:
        command += ["-sec", repr(limits.seconds)]
    if limits.work is not None:
        nodes = costs.count(limits.work - costs.reading(model), costs.node(model))
        command += ["-maxNodes", str(nodes)]
    if limits.threads > 1:
        command += ["-threads", str(limits.threads)]
    if (place / "start.sol").exists():
        command += ["-mipstart", "start.sol"]
    return [*command, "-solve"]


def _log_of(command: list[str], place: Path, seconds: float | None) -> str | None:
    """Return what CBC printed, ``None`` if it overran its time and was killed."""
    try:
        told = subprocess.run(
            command,
            cwd=place,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=None if seconds is None else seconds + _PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return None
    return told.stdout


def _start_text(model: Model, start: Values) -> str:
    """Return a start in the form of CBC's own solution files."""
    names = zip(model.column_names, start.tolist(), strict=True)
    return "\n".join(["Feasible - objective value 0", *(f"{i} {n} {v!r} 0" for i, (n, v) in enumerate(names)), ""])


def _values(model: Model, lines: list[str]) -> NDArray[np.float64]:
    """Return the values in a solution file: position, name, value and reduced cost, columns at zero left out."""
    values = np.zeros(model.column_count)
    for line in lines:
        position, _, value, *_ = line.removeprefix("**").split()
        values[int(position)] = float(value)
    return values


def _exact_values(model: Model, path: Path) -> NDArray[np.float64] | None:
    """Return the values in CBC's binary file, where there is one: the text has eight digits, which is not enough.

    The file holds two counts (rows, columns) and floats: objective, activities, row duals, values, reduced costs.
    """
    rows, columns = len(model.matrix.lower), model.column_count
    if not path.exists() or path.stat().st_size != 8 * (2 + 2 * rows + 2 * columns):
        return None
    begin = 1 + 2 * rows
    return np.fromfile(path, dtype=np.float64, offset=8)[begin : begin + columns]


def _found(model: Model, said: str, values: NDArray[np.float64], log: str) -> Outcome:
    bound = _bound(model, log)
    if said.startswith("Optimal"):
        return claimed(model, values, said, None, bound)
    stopped = {"Stopped on time": Limit.TIME, "Stopped on nodes": Limit.WORK}
    limit = next((limit for words, limit in stopped.items() if said.startswith(words)), Limit.FAULT)
    if "no integer solution" in said or rounded(model, values) is None:
        # Stopped before the first whole solution, CBC writes out the relaxation.
        return nothing(Reason.NO_SOLUTION, said, limit, bound)
    return claimed(model, values, said, limit, bound)


def _work(model: Model, log: str) -> float:
    """Return the work that the log tells of."""
    nodes = sum(map(int, re.findall(r"^Enumerated nodes:\s+(\d+)$", log, re.MULTILINE)))
    iterations = sum(map(int, re.findall(r"^Total iterations:\s+(\d+)$", log, re.MULTILINE)))
    return costs.reading(model) + max(nodes * costs.node(model), iterations * costs.inner_iteration())


def _bound(model: Model, log: str) -> Number | None:
    """Return the bound in the log, which is there only if CBC stopped early; a proved optimum has none.

    CBC prints three decimals. Rounded up to a whole number, that is never more than the true bound rounded up.
    """
    found = re.findall(r"^Lower bound:\s+(\S+)$", log, re.MULTILINE)
    if not found:
        return None
    least = float(found[-1]) if model.integer.all() else float(found[-1]) - 0.0005
    return exact_bound(model, -least if model.maximise else least)
