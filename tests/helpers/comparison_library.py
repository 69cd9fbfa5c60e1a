"""A small library of one's own for gap studies: instances copied from the shipped one, which a test may spoil."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from muri_opt.studies.library import FAMILIES, library_folder


def own_library(folder: Path, *names: str) -> Path:
    """Copy the named instances into a library in ``folder``, which is returned."""
    for family in FAMILIES:
        (folder / family).mkdir(parents=True, exist_ok=True)
    for name in names:
        for suffix in (".json", ".best.json"):
            shutil.copy(library_folder() / f"{name}{suffix}", folder / f"{name}{suffix}")
    return folder


def spoil(library: Path, name: str, policy: str, **changes: object) -> None:
    """Change what is stored of an instance under one policy."""
    path = library / f"{name}.best.json"
    best = json.loads(path.read_text())
    (optimum,) = [one for one in best["optima"] if one["policy"] == policy]
    optimum.update(changes)
    path.write_text(json.dumps(best))
