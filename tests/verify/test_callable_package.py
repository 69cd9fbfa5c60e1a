"""``muri_opt.verify`` is a package and the function of that name, whichever is asked for first."""

from __future__ import annotations

import subprocess
import sys

USE = """
import muri_opt as m
round_ = m.Round(cluster=m.Cluster(nodes=()), jobs=())
result = m.solve_round(round_, "fifo", "heuristic")
"""
ORDERS = (
    "from muri_opt import verify",
    "import muri_opt.verify",
    "from muri_opt.verify import verify",
    "import muri_opt.verify.plans.plan_choices",
    "from muri_opt import *",
)


ANEW = """
import sys
for first in sys.argv[2:]:
    for known in [known for known in sys.modules if known.partition(".")[0] == "muri_opt"]:
        del sys.modules[known]
    exec(first + sys.argv[1], {})
    print(first)
"""
"""Runs a program after each of several first lines, each time as if nothing of the package were loaded."""


def test_it_is_called_and_holds_modules_in_any_order() -> None:
    code = (
        f"\n{USE}\n"
        + "\n".join(ORDERS)
        + (
            "\nassert m.verify(round_, result).feasible"
            "\nassert m.verify.verify(round_, result) == m.verify(round_, result)"
            "\nassert m.verify.plans.plan_choices.__name__ == 'muri_opt.verify.plans.plan_choices'"
        )
    )
    ended = subprocess.run([sys.executable, "-c", ANEW, code, *ORDERS], capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == [*ORDERS]


def test_all_of_the_verifier_imports_rounds_and_errors_only() -> None:
    code = (
        "import pkgutil, sys, importlib, muri_opt.verify\n"
        "for one in pkgutil.walk_packages(muri_opt.verify.__path__, 'muri_opt.verify.'):\n"
        "    importlib.import_module(one.name)\n"
        "print(*sorted({name.split('.')[1] for name in sys.modules if name.startswith('muri_opt.')}))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["errors", "rounds", "verify"]
