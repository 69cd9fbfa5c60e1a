"""The package that a page of the documentation writes, built as a wheel and installed by pip."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

_FILE = re.compile(r"^```python\n# (\w+/\w+\.py)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_SCRIPT = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_POINTS = re.compile(r'^\[project\.entry-points\."([\w.]+)"\]\n((?:[\w-]+ = ".*"\n)+)', flags=re.MULTILINE)


def files_of(page: Path) -> dict[str, str]:
    """Return the files that a page shows, by their path."""
    return dict(_FILE.findall(page.read_text()))


def scripts_of(page: Path) -> dict[str, str]:
    """Return the files without a folder that a page shows, by their name: a reader has them where commands run."""
    return dict(_SCRIPT.findall(page.read_text()))


def install(page: Path, folder: Path) -> Path:
    """Install what a page shows into a folder of its own below ``folder``, and return that."""
    files, groups = files_of(page), dict[str, str]()
    for group, points in _POINTS.findall(page.read_text()):
        groups[group] = groups.get(group, "") + points.replace('"', "")
    points = "\n".join(f"[{group}]\n{lines}" for group, lines in groups.items())
    info = "toy_package-1.0.dist-info"
    about = {
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: toy-package\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": points,
    }
    contents = {**files, **about}
    wheel = folder / "toy_package-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in [*contents, f"{info}/RECORD"]))
    site = folder / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(site)]
    subprocess.run([*command, str(wheel)], check=True, timeout=300)
    return site
