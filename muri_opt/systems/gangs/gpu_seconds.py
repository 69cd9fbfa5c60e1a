"""GPU-seconds among the parameters of a policy: one, or several in one text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.quantities import MAX_GPU_SECONDS, MILLISECONDS_PER_SECOND, gpu_milliseconds
from muri_opt.systems.policy import Span

SEPARATOR = "/"
"""Between the numbers of one parameter; a comma is between parameters."""


@dataclass(frozen=True, slots=True)
class GpuSeconds(Span):
    """GPU-seconds to the nearest millisecond, as all service in a round is."""

    least: float = 1 / MILLISECONDS_PER_SECOND
    most: float = MAX_GPU_SECONDS

    def canonical(self, field: str, found: object) -> str:
        """Return the one text of the GPU-seconds that ``found`` writes."""
        number = float(Span.canonical(self, field, found))
        return Span.canonical(self, field, repr(gpu_milliseconds(number) / MILLISECONDS_PER_SECOND))


@dataclass(frozen=True, slots=True)
class GpuSecondsList(GpuSeconds):
    """GPU-seconds separated by ``/``: ``rising`` ones, or any, whose order does not matter. ``words`` stand alone."""

    rising: bool = False

    def canonical(self, field: str, found: object) -> str:
        """Return the one text of the numbers that ``found`` writes."""
        if isinstance(found, str) and found in self.words:
            return found
        if not isinstance(found, str):
            raise InputError(field, shown(found), f"GPU-seconds separated by {SEPARATOR!r}, as text")
        plain = GpuSeconds(self.least, self.most)
        texts = [plain.canonical(field, part) for part in found.split(SEPARATOR)]
        if self.rising and any(float(after) <= float(before) for before, after in pairwise(texts)):
            raise InputError(field, shown(found), "GPU-seconds that rise")
        return SEPARATOR.join(sorted(texts, key=float))


def milliseconds_of(text: str) -> tuple[int, ...]:
    """Return the whole GPU-milliseconds of a canonical text."""
    return tuple(gpu_milliseconds(float(part)) for part in text.split(SEPARATOR))
