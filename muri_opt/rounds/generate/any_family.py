"""Random rounds by the name of their family, whether it is one of our own or follows a public trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds.generate.families import FAMILIES, generate
from muri_opt.rounds.generate.published.published_rounds import PUBLISHED, generate_published
from muri_opt.rounds.round import Round

DESCRIPTIONS: Final[Mapping[str, str]] = {**FAMILIES, **{name: family.what for name, family in PUBLISHED.items()}}
"""What each family is."""


def draw_round(family: str, *, jobs: int, nodes: int, seed: int = 0, demands: bool = False) -> Round:
    """Return the random round; ``demands`` adds the fields of format 2, which no public trace has.

    >>> draw_round("philly-trace", jobs=4, nodes=2).name
    'philly-trace/4-jobs-2-nodes-seed-0'
    """
    if family not in DESCRIPTIONS:
        raise unknown_name("family", family, DESCRIPTIONS)
    if family not in PUBLISHED:
        return generate(family, jobs=jobs, nodes=nodes, seed=seed, demands=demands)
    if demands:
        raise InputError("demands", f"asked for of {family!r}", "one of " + ", ".join(sorted(FAMILIES)))
    return generate_published(family, jobs=jobs, nodes=nodes, seed=seed)
