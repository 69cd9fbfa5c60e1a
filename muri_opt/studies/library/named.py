"""The rounds of the shipped library by their names, without reading any but the one that is asked for."""

from __future__ import annotations

from pathlib import Path

from muri_opt.rounds import Round
from muri_opt.studies.library.instance import FAMILIES, library_folder, round_files
from muri_opt.studies.library.recipe import load_round


def shipped_rounds() -> dict[str, Path]:
    """Return the file of every shipped round by its name (``family/name``)."""
    root = library_folder()
    return {
        f"{family}/{path.name.removesuffix('.json')}": path
        for family in FAMILIES
        for path in round_files(root / family)
    }


def shipped_round(name: str) -> Round | None:
    """Return the shipped round of this name, generated if only its recipe is stored; ``None`` if there is none."""
    path = shipped_rounds().get(name)
    return None if path is None else load_round(path)
