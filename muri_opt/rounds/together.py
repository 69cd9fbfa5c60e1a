"""Measured speeds of models that share GPUs."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from muri_opt.errors import InputError
from muri_opt.rounds.cluster import Name
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.field_checks import items, text
from muri_opt.rounds.quantities import MAX_RATE, finite


class Together(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How fast jobs of some models run on the same GPUs, each against running alone: a measurement.

    >>> Together(models=("resnet50", "gpt2"), rates=(0.82, 0.91)).rates
    (0.82, 0.91)
    """

    models: Annotated[tuple[Name, ...], Meta(min_length=2)]
    rates: Annotated[tuple[Annotated[float, Meta(gt=0, le=MAX_RATE)], ...], Meta(min_length=2)]

    def __post_init__(self) -> None:
        models = tuple(
            text(f"models[{at}]", model, empty=False) for at, model in enumerate(items("models", self.models))
        )
        rates = tuple(
            finite(f"rates[{at}]", rate, MAX_RATE, positive=True) for at, rate in enumerate(items("rates", self.rates))
        )
        if len(models) < 2:
            raise InputError("models", f"{len(models)} models", "at least two that share GPUs")
        if len(rates) != len(models):
            raise InputError("rates", f"{len(rates)} rates", f"{len(models)} rates, one per model")
        msgspec.structs.force_setattr(self, "models", models)
        msgspec.structs.force_setattr(self, "rates", rates)


def check_together(measured: tuple[Together, ...]) -> None:
    """Refuse two measurements of the same models."""
    seen: dict[tuple[str, ...], int] = {}
    for position, item in enumerate(measured):
        first = seen.setdefault(tuple(sorted(item.models)), position)
        if first != position:
            found = f"{shown(', '.join(item.models))}, measured in together[{first}] already"
            raise InputError(f"together[{position}].models", found, "every group of models once")
