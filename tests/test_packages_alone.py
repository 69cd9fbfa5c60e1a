"""Every package can be the first to be imported: none waits for another that waits for it."""

import subprocess
import sys
from pathlib import Path

import muri_opt

HOME = Path(muri_opt.__file__).parent
PACKAGES = sorted(".".join(path.parent.relative_to(HOME).parts) for path in HOME.rglob("*/__init__.py"))
CODE = """
import importlib, sys
for name in sys.argv[1:]:
    for known in [known for known in sys.modules if known.partition(".")[0] == "muri_opt"]:
        del sys.modules[known]
    importlib.import_module(f"muri_opt.{name}")
    print(name)
"""


def test_every_package_can_be_imported_first():
    assert "profiling.job_length" in PACKAGES
    ended = subprocess.run([sys.executable, "-c", CODE, *PACKAGES], capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    assert ended.stdout.split() == PACKAGES
