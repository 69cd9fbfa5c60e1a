"""Memory of freed arrays is used again without asking the system for it."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
from muri_opt.rounds.freed_memory import keep_freed_memory
if {keeps}:
    keep_freed_memory()
def use():
    several = [np.ones(1 << 19) for _ in range(3)]
use()  # the first time memory is got in any case
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="this is how glibc learns what is large")
def test_memory_of_arrays_is_got_from_the_system_once():
    faults = [
        int(subprocess.run([sys.executable, "-c", FAULTS.format(keeps=keeps)], capture_output=True, check=True).stdout)
        for keeps in (False, True)
    ]
    assert faults[1] < faults[0] / 4
