"""The adapters of all simulators: against recorded conversations, and against the simulators where they are given.

``MURI_OPT_GAVEL``, ``MURI_OPT_SIA``, ``MURI_OPT_BLOX`` and ``MURI_OPT_MURI`` are folders with their code, the same
names with ``_PYTHON`` the Pythons with what they need (examples/README.md). Without a folder there is nothing to test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from peer_stubs import DRIVES

from examples.common.links import ROOT, InProcess, Recorded
from examples.simulators import SIMULATORS

HERE = Path(__file__).parent
GIVEN = [name for name in DRIVES if os.environ.get(f"MURI_OPT_{name.upper()}")]
LINES = 60
EXPECTED: dict[str, list[Any]] = {
    "gavel": [{0: (0, 1), 1: (2,)}, {0: (0, 1), 1: (2,)}, {0: (0, 1), 1: (2,)}, {2: (0, 1, 2, 3)}, {}],
    "sia": [
        {"a": ("rtx", [0])},
        {"a": ("rtx", [0]), "b": ("rtx", [0])},
        {"a": ("rtx", [0, 0]), "b": ("rtx", [0, 0])},
        {"b": ("rtx", [0, 0, 0, 0])},
    ],
    # Two short jobs push the longer one aside, and it comes back.
    "blox": [([], {0: [4, 5, 6, 7], 1: [0, 1, 2, 3]}), ([0], {2: [4, 5], 3: [6, 7]}), ([], {0: [4, 5, 6, 7]})],
    # Three jobs that use different resources share a node; when the first has ended, one of the others goes on alone.
    "muri": [([[0, 1, 2]], {0: [(0, 2)]}), ([[1]], {1: [(0, 2)]})],
}
"""Round by round: workers of each job in Gavel, type and node of each GPU in Sia, who is stopped and launched in Blox,
groups and the GPUs of nodes of each in Muri's simulator."""


@pytest.mark.parametrize("name", DRIVES)
def test_an_adapter_says_what_was_said_and_carries_out_what_was_answered(name: str) -> None:
    recorded = Recorded(HERE / f"{name}_conversation.jsonl")
    assert DRIVES[name](recorded) == EXPECTED[name]
    assert recorded.ended


@pytest.mark.parametrize("name", DRIVES)
def test_the_recorded_answers_are_those_of_today(name: str) -> None:
    link = InProcess()
    decided = 0
    for line in Recorded(HERE / f"{name}_conversation.jsonl").lines:
        answer = link.ask(line["do"], **line["fields"])
        if line["do"] == "session/decide":
            decided += 1
            assert answer["changes"] == line["answer"]["changes"]
            assert answer["result"]["value"] == line["answer"]["result"]["value"]
            assert answer["result"]["certificate"]["violations"] == []
    assert decided == len(EXPECTED[name]) - (name == "gavel")  # Gavel is not asked where no job has come or ended


@pytest.mark.parametrize("name", DRIVES)
def test_an_adapter_has_fewer_than_sixty_lines(name: str) -> None:
    assert len((ROOT / "examples" / name / "adapter.py").read_text().splitlines()) < LINES


def run(name: str, policy: str, method: str) -> dict[str, Any]:
    python = os.environ.get(f"MURI_OPT_{name.upper()}_PYTHON", sys.executable)
    command = [python, "-m", f"examples.{name}.run", "--folder", os.environ[f"MURI_OPT_{name.upper()}"], "--jobs", "4"]
    said = ["--trace", SIMULATORS[name].traces[0], "--policy", policy, "--method", method]
    server = ["--server", f"{sys.executable} -m muri_opt serve --stdio"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, *said, *server], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


if GIVEN:  # tests of what is not there are not collected

    @pytest.mark.parametrize("name", GIVEN)
    @pytest.mark.parametrize("ours", [False, True])
    def test_a_simulator_runs_to_its_end_and_no_rule_is_broken(name: str, ours: bool) -> None:
        known = SIMULATORS[name]
        policy, method = known.ours[0] if ours else (known.theirs[0], "theirs")
        row = run(name, policy, method)
        assert (row["jobs"], row["violations"]) == (4, 0)
        assert 0 < row["mean"] <= row["makespan"]
        assert 0 < row["utilisation"] <= 1
