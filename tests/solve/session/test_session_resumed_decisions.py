"""A session that is resumed in another process decides as the one that was never stopped: the round is all it needs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.session_loop import all_jobs, times_of_rounds
from muri_opt import Limits, Session

POLICIES = ("las", "afs-l", "rubick", "muri-s", "joint-l")
JOBS, NODES, ROUNDS = 12, 2, 4
RESUMED = """
import sys
from muri_opt import Session
for journal, now in zip(sys.argv[1::2], sys.argv[2::2]):
    with Session.resume(journal) as session:
        print(session.decide(float(now)).result.answer.assignments)
"""


def test_a_resumed_session_decides_the_same_in_another_process(tmp_path: Path) -> None:
    asked, expected = [], []
    for policy in POLICIES:
        drawn = all_jobs(policy, jobs=JOBS, nodes=NODES, rounds=ROUNDS, seed=3)
        journal, copy = tmp_path / f"{policy}.jsonl", tmp_path / f"{policy}-copy.jsonl"
        with Session(drawn.cluster, policy, "auto", Limits(work=0.05), journal=journal) as session:
            for now in times_of_rounds(session, drawn, jobs=JOBS, rounds=ROUNDS, seed=3):
                shutil.copy(journal, copy)  # as it was when the process might have died
                step = session.decide(now)
                session.acknowledge(step)
        asked += [str(copy), repr(now)]
        expected.append(str(step.result.answer.assignments))
    told = subprocess.run([sys.executable, "-c", RESUMED, *asked], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == expected
