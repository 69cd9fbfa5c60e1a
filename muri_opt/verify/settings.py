"""The settings of a chapter: which texts each may be, and how the rules of a result are read by them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from muri_opt.errors import InputError, unknown_name

Rules = Mapping[str, str]
"""The chapter that a result is checked by, under ``chapter``, and what of its settings is not as usual."""

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a setting usually is, the ``words`` it may be, and the numbers.

    Numbers go from ``least`` to ``most``, are ``whole`` if so told, and may be ``several``, separated by ``/``.
    """

    usual: str
    words: tuple[str, ...] = ()
    least: float | None = None
    most: float = 1e18
    whole: bool = False
    several: bool = False

    def allows(self, text: str) -> bool:
        """Return whether the setting may be this."""
        parts = text.split("/") if self.several else [text]
        return text in self.words or (self.least is not None and all(self._counts(part) for part in parts))

    def _counts(self, text: str) -> bool:
        if self.least is None or _NUMBER.fullmatch(text) is None:
            return False
        number = float(text)
        return self.least <= number <= self.most and (number.is_integer() or not self.whole)

    @property
    def allowed(self) -> str:
        """What it may be, in words."""
        if self.least is None:
            return "one of " + ", ".join(self.words)
        kind = "whole number" if self.whole else "number"
        number = f"{'numbers' if self.several else f'a {kind}'} from {self.least:g} to {self.most:g}"
        return " or ".join([number + ", separated by '/'" * self.several, *self.words])


def one_of(*words: str) -> Setting:
    """Return a setting that is one of some words, usually the first."""
    return Setting(usual=words[0], words=words)


def chosen(settings: Mapping[str, Setting], rules: Rules) -> dict[str, str]:
    """Return all settings of a chapter under some rules, or refuse one that it does not have or that is not allowed."""
    found = {name: setting.usual for name, setting in settings.items()}
    for name, text in rules.items():
        if name == "chapter":
            continue
        if name not in settings:
            raise unknown_name(f"rule of the chapter {rules['chapter']!r}", name, settings)
        if not settings[name].allows(text):
            raise InputError(f"rules.{name}", repr(text), settings[name].allowed)
        found[name] = text
    return found
