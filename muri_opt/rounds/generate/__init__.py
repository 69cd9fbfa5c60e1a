"""Rounds drawn from a seed, the same on every machine."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.rounds.generate.families import FAMILIES as FAMILIES, generate as generate

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.rounds.generate.families": ("FAMILIES", "generate"),
    },
)
