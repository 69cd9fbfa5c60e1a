"""Rounds drawn from a seed, the same on every machine."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.rounds.generate.any_family import draw_round as draw_round
    from muri_opt.rounds.generate.families import FAMILIES as FAMILIES, generate as generate
    from muri_opt.rounds.generate.published.published_rounds import (
        PUBLISHED as PUBLISHED,
        generate_published as generate_published,
    )

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.rounds.generate.any_family": ("draw_round",),
        "muri_opt.rounds.generate.families": ("FAMILIES", "generate"),
        "muri_opt.rounds.generate.published.published_rounds": ("PUBLISHED", "generate_published"),
    },
)
