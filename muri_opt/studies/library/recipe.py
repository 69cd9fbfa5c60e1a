"""Rounds too large to store: the call of the generator that makes one, and the fingerprint it must have."""

from __future__ import annotations

import os
from typing import Final, Literal

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds import Round, parse_round
from muri_opt.rounds.generate.any_family import draw_round
from muri_opt.rounds.text_files import read_text

RECIPE_FORMAT: Final[Literal["muri-opt/recipe/1"]] = "muri-opt/recipe/1"


class Draw(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``draw_round()`` is asked for."""

    family: str
    jobs: int
    nodes: int
    seed: int

    def round(self) -> Round:
        """Return the round that the generator makes."""
        return draw_round(self.family, jobs=self.jobs, nodes=self.nodes, seed=self.seed)


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file in the place of a round; a generator that no longer makes the same round is found out."""

    format: Literal["muri-opt/recipe/1"]
    generate: Draw
    fingerprint: str

    @classmethod
    def of(cls, draw: Draw) -> Recipe:
        """Return the recipe of what the generator makes today."""
        return cls(format=RECIPE_FORMAT, generate=draw, fingerprint=draw.round().fingerprint)

    def round(self) -> Round:
        """Return the round, or refuse the recipe if the generator makes another one."""
        made = self.generate.round()
        if made.fingerprint != self.fingerprint:
            raise InputError("fingerprint", self.fingerprint, f"that of the generated round, {made.fingerprint}")
        return made


class _Header(msgspec.Struct):
    format: str = ""


def load_instance(path: str | os.PathLike[str]) -> Round | Recipe:
    """Return the round in a file of the library, or the recipe for it."""
    text = read_text(path, "a round or a recipe")
    try:
        if msgspec.json.decode(text, type=_Header).format == RECIPE_FORMAT:
            return msgspec.json.decode(text, type=Recipe)
    except msgspec.ValidationError as error:
        raise InputError("recipe", str(error), f"a file of {RECIPE_FORMAT}, or a round") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass  # reading it as a round says what is wrong with it
    return parse_round(text)


def load_round(path: str | os.PathLike[str]) -> Round:
    """Return the round in a file of the library, stored or generated."""
    found = load_instance(path)
    return found.round() if isinstance(found, Recipe) else found
