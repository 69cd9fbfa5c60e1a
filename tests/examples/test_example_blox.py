"""Blox's own placement under the testing kit, where ``MURI_OPT_BLOX`` names a folder with its code.

``MURI_OPT_BLOX_PYTHON`` is a Python with pandas 1.3. Without the folder there is nothing to test.
"""

from __future__ import annotations

import os
import sys

import pytest

from examples.common.links import ROOT
from muri_opt.testing import INVARIANTS, SAFETY, find_breaches, from_command

FOLDER = os.environ.get("MURI_OPT_BLOX")
PYTHON = os.environ.get("MURI_OPT_BLOX_PYTHON", sys.executable)

if FOLDER is not None:

    @pytest.mark.parametrize(("way", "gpus"), [((), [1, 2]), (("consolidated",), [2])])
    def test_a_job_alone_waits_in_blox(way: tuple[str, ...], gpus: list[int]) -> None:
        program = [PYTHON, str(ROOT / "examples" / "blox" / "placement_program.py"), FOLDER, *way]
        with from_command(program) as blox:
            report = find_breaches(
                blox, [*SAFETY, INVARIANTS["alone"]], without=("cpus", "memory", "quotas"), max_examples=20, seconds=60
            )
        assert [one.breach.invariant for one in report.broken] == ["alone"]
        assert [node.gpus for node in report.of("alone").round_.cluster.nodes] == gpus
