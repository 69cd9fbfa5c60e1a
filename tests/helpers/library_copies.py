"""A small library to break and to improve: copies of shipped rounds in a folder of the test."""

from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path

from muri_opt.studies.library import instances, library_folder

TODAY = date(2030, 1, 2)


def copied(folder: Path, *names: str) -> Path:
    """Return the folder, with the files of the named instances."""
    for name in names:
        target = folder / f"{name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        for suffix in (".json", ".best.json"):
            shutil.copy(library_folder() / f"{name}{suffix}", folder / f"{name}{suffix}")
    return folder


def only(folder: Path):
    """Return the one instance of a library."""
    (instance,) = instances(folder)
    return instance


def best_data(folder: Path, name: str) -> dict:
    """Return the file of optima of an instance as plain data."""
    return json.loads((folder / f"{name}.best.json").read_text())


def write_data(folder: Path, name: str, data: dict) -> None:
    """Write the file of optima of an instance from plain data."""
    (folder / f"{name}.best.json").write_text(json.dumps(data))
