"""The Gittins index of a job by its attained service: the chance that it ends soon, for the service that takes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds.quantities import MAX_GPU_SECONDS, MILLISECONDS_PER_SECOND, finite, gpu_milliseconds

FORMS = ("authors", "textbook")
"""The expected service as in the Tiresias authors' code, or as in Gittins' definition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GittinsIndex:
    """The index under an empirical distribution: rising ``samples`` of total service, all in GPU-milliseconds.

    ``sums[k]`` are the first k samples together.

    >>> GittinsIndex.of([400, 100, 200], 50, "authors").samples
    (100, 200, 400)
    """

    samples: tuple[int, ...]
    sums: tuple[int, ...]
    quantum: int
    form: str

    @classmethod
    def of(cls, samples: Iterable[int], quantum: int, form: str) -> GittinsIndex:
        """Return the index of samples in any order."""
        rising = tuple(sorted(samples))
        return cls(samples=rising, sums=(0, *accumulate(rising)), quantum=quantum, form=form)

    def after(self, attained: int) -> Fraction:
        """Return the index of a job that has attained so many GPU-milliseconds; 0 if no sample is above them.

        Among the samples above ``attained``: the share that ends within the quantum, over the mean of the service until
        the end, or the quantum where that is less. The authors' code counts service until the end from the start of the
        job and not from now, and so does the form ``authors``.
        """
        count = len(self.samples)
        first = bisect_right(self.samples, attained)
        beyond = bisect_right(self.samples, attained + self.quantum)
        if first == count:
            return Fraction(0)
        ending = self.sums[beyond] - self.sums[first]
        if self.form == "textbook":
            ending -= attained * (beyond - first)
        return Fraction(beyond - first, ending + self.quantum * (count - beyond))


def gittins_index(samples: Iterable[float], attained: float, quantum: float, form: str = "authors") -> Fraction:
    """Return the Gittins index, per GPU-second, of a job that has attained so many GPU-seconds.

    ``samples`` are the total GPU-seconds of jobs seen before, in any order; all amounts are taken to the nearest
    millisecond. ``form`` is one of ``FORMS``.

    >>> gittins_index([100, 200, 400], attained=100, quantum=100)
    Fraction(1, 300)
    """
    if form not in FORMS:
        raise unknown_name("form", form, FORMS)
    known = [_milliseconds(f"samples[{place}]", sample, least=1) for place, sample in enumerate(samples)]
    if not known:
        raise InputError("samples", "none", "at least one")
    index = GittinsIndex.of(known, _milliseconds("quantum", quantum, least=1), form)
    return index.after(_milliseconds("attained", attained)) * MILLISECONDS_PER_SECOND


def _milliseconds(field: str, gpu_seconds: float, least: int = 0) -> int:
    found = gpu_milliseconds(finite(field, gpu_seconds, MAX_GPU_SECONDS))
    if found < least:
        raise InputError(field, repr(gpu_seconds), "at least a GPU-millisecond")
    return found
