"""Loading beforehand: after ``warm_up`` a solve imports nothing, and what needs no solver starts none."""

from __future__ import annotations

import subprocess
import sys

import pytest

from muri_opt import InputError, warm_up

WARM = """
import sys
from muri_opt import Limits, solve_round, warm_up
from muri_opt.solve.solvers import borrowed_worker
from muri_opt.solve.solvers import process as workers
from muri_opt.rounds.generate.families import generate

policy, family = sys.argv[1:]
round_ = generate(family, jobs=12, nodes=3, seed=1)

def modules():
    with borrowed_worker() as worker:
        there = worker.call(eval, "sorted(__import__('sys').modules)", seconds=None)
    return set(sys.modules), set(there)

warm_up(policy)
((_, worker),) = workers._idle
before = modules()
results = [solve_round(round_, policy, method, Limits(seconds=None)) for method in ("auto", "exact")]
after = modules()
print(sorted(after[0] - before[0]), sorted(after[1] - before[1]))
print([idle is worker for _, idle in workers._idle], [result.termination.reason.value for result in results])
"""


@pytest.mark.parametrize(
    ("policy", "family"),
    [
        pytest.param("tiresias", "gangs", marks=pytest.mark.slow),
        pytest.param("fifo", "gangs", marks=pytest.mark.slow),
        ("muri-s", "interleaving"),
        pytest.param("muri-s:group=2", "interleaving", marks=pytest.mark.slow),
        ("rubick", "plans"),
        *(
            pytest.param(policy, family, marks=pytest.mark.slow)
            for policy, family in (("afs-l", "elastic"), ("aiturbo", "configurations"), ("philly", "philly"))
        ),
    ],
)
def test_a_warm_process_imports_nothing_more(policy: str, family: str) -> None:
    """Neither here nor in the solver process, which is the one that ``warm_up`` started."""
    command = [sys.executable, "-c", WARM, policy, family]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert told[0] == "[] []"
    assert told[1].startswith("[True]")


PAIRS = """
import sys
from muri_opt import policy_from
from muri_opt.rounds.generate.families import generate
from muri_opt.solve.exact import relax
from muri_opt.solve.loading import load_backend, load_program
from muri_opt.systems import program_of

program = program_of(policy_from("muri-s:group=2").rules)
load_program(type(program))
load_backend("highs")
round_ = generate("interleaving", jobs=12, nodes=3, seed=1)
before = set(sys.modules)
print(type(relax(round_, program, None)).__name__, sorted(set(sys.modules) - before))
"""


def test_a_matching_in_the_solver_process_loads_nothing_while_a_clock_runs() -> None:
    told = subprocess.run([sys.executable, "-c", PAIRS], capture_output=True, text=True, check=True).stdout
    assert told.split()[0] == "MatchingDuals"
    assert told.split()[1:] == ["[]"]


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'fifo'"):
        warm_up("fifi")


NO_PROCESS = """
import subprocess, sys

def refused(*arguments, **options):
    raise AssertionError("a process was started")

from muri_opt import Cluster, Job, Node, Round, solve_round
from muri_opt.rounds.generate.families import generate
subprocess.Popen.__init__ = refused
free = Round(
    cluster=Cluster(nodes=(Node(id="n", gpus=8),)),
    jobs=(Job(id="a", gpus=4, submitted=0.0), Job(id="b", gpus=2, submitted=1.0)),
)
rows = [
    (generate("gangs", jobs=20, nodes=3, seed=1), "srtf", "heuristic"),
    (generate("interleaving", jobs=12, nodes=3, seed=1), "muri-s", "heuristic"),
    (generate("plans", jobs=12, nodes=3, seed=1), "rubick", "heuristic"),
    *((free, "fifo", method) for method in sys.argv[1:]),
]
for round_, policy, method in rows:
    print(solve_round(round_, policy, method).termination.reason.value)
"""


def test_what_needs_no_solver_starts_no_process() -> None:
    """The heuristics, and ``auto`` where counting proves their answer."""
    told = subprocess.run([sys.executable, "-c", NO_PROCESS, "auto"], capture_output=True, text=True, check=True)
    assert told.stdout.split()[-1] == "OPTIMAL"
    assert len(told.stdout.split()) == 4


def test_the_check_for_processes_can_fail() -> None:
    told = subprocess.run([sys.executable, "-c", NO_PROCESS, "exact"], capture_output=True, text=True, check=False)
    assert told.returncode == 1
    assert "a process was started" in told.stderr


def test_importing_starts_no_process() -> None:
    code = "import muri_opt.solve.solvers.process as workers; from muri_opt import solve_round; print(workers._idle)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
