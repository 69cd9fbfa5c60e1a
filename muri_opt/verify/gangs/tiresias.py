"""The verifier's own reading of the queues of Tiresias: their limits, who is promoted, and the Gittins index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from muri_opt.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues:
    """The settings of the order, service in GPU-milliseconds; no ``samples``: first come first served in a queue."""

    limits: tuple[int, ...]
    knob: Fraction
    samples: tuple[int, ...]
    quantum: int
    textbook: bool

    @classmethod
    def of(cls, chosen: Mapping[str, str]) -> Queues:
        """Return the order that settings say, refusing those that contradict each other."""
        limits, samples = _milli(chosen["queues"]), () if chosen["samples"] == "none" else _milli(chosen["samples"])
        if list(limits) != sorted(set(limits)):
            raise InputError("rules.queues", f"queues={chosen['queues']}", "limits that rise")
        if bool(samples) != (chosen["rank"] == "gittins"):
            found = f"rank={chosen['rank']} and samples={chosen['samples']}"
            raise InputError("rules.samples", found, "samples with rank=gittins, and only then")
        return cls(
            limits=limits,
            knob=Fraction(repr(float(chosen["knob"]))),
            samples=samples,
            quantum=_milli(chosen["quantum"])[0],
            textbook=chosen["form"] == "textbook",
        )

    def queue(self, service: int) -> int:
        """Return the queue, from 0, of what a job has attained."""
        return sum(service >= limit for limit in self.limits)

    def starved(self, executed: int, waited: int) -> bool:
        """Return whether a job outside the first queue has waited too long for what it has run."""
        return executed > 0 and Fraction(waited, executed) >= self.knob

    def index(self, service: int) -> Fraction:
        """Return P / E over the samples above what was attained, 0 where there is none."""
        longer = [sample for sample in self.samples if sample > service]
        if not longer:
            return Fraction(0)
        ends = [sample for sample in longer if sample <= service + self.quantum]
        counted = [sample - service if self.textbook else sample for sample in ends]
        counted += [self.quantum] * (len(longer) - len(ends))
        return Fraction(len(ends), len(longer)) / Fraction(sum(counted), len(longer))


def _milli(text: str) -> tuple[int, ...]:
    return tuple(round(float(part) * 1000) for part in text.split("/"))
