"""Policy ``tiresias``: two-dimensional least attained service in queues, with promotion, or by Gittins index."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from muri_opt.errors import InputError
from muri_opt.rounds.quantities import finite
from muri_opt.systems.gangs.gpu_seconds import GpuSeconds, GpuSecondsList, milliseconds_of
from muri_opt.systems.gangs.policy import GangPolicy
from muri_opt.systems.orders import GittinsIndex, TiresiasOrder
from muri_opt.systems.policy import Allowed, Span

_NO_SAMPLES = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class TiresiasPolicy(GangPolicy):
    """The list schedule of gangs in the order of Tiresias.

    ``queues`` are the limits of attained service between the queues, in GPU-seconds. A job that has waited ``knob``
    times as long as it has run is promoted to the first queue, 0 promotes nobody. ``rank`` says who is first inside a
    queue: ``fifo``, or the highest Gittins index, which needs ``samples`` of the GPU-seconds of jobs seen before, a
    ``quantum``, and a ``form`` (the authors' or the textbook's).

    >>> policy_from("tiresias:queues=3600").queues
    '3600'
    """

    queues: str = "3250/7200"
    knob: str = "0"
    rank: str = "fifo"
    samples: str = _NO_SAMPLES
    quantum: str = "3250"
    form: str = "authors"

    choices: ClassVar[Mapping[str, Allowed]] = {
        **GangPolicy.choices,
        "queues": GpuSecondsList(rising=True),
        "knob": Span(0),
        "rank": ("fifo", "gittins"),
        "samples": GpuSecondsList(words=(_NO_SAMPLES,)),
        "quantum": GpuSeconds(),
        "form": ("authors", "textbook"),
    }
    names: ClassVar[Collection[str]] = (TiresiasOrder.name,)

    def __post_init__(self) -> None:
        GangPolicy.__post_init__(self)
        if self.rank == "gittins":
            if self.samples == _NO_SAMPLES:
                allowed = "GPU-seconds of jobs seen before, separated by '/': rank=gittins reads them"
                raise InputError(f"policy {self.name!r}.samples", repr(self.samples), allowed)
            return
        for field in fields(self):
            # They would change nothing, and equal policies have equal texts.
            if field.name in ("samples", "quantum", "form") and getattr(self, field.name) != field.default:
                found = f"{field.name}={getattr(self, field.name)}"
                raise InputError(f"policy {self.name!r}.{field.name}", found, "only with rank=gittins")

    @property
    def order(self) -> TiresiasOrder:
        """The queues, the promotion and the ranks that the parameters say."""
        gittins = None
        if self.rank == "gittins":
            (quantum,) = milliseconds_of(self.quantum)
            gittins = GittinsIndex.of(milliseconds_of(self.samples), quantum, self.form)
        return TiresiasOrder(limits=milliseconds_of(self.queues), knob=Fraction(self.knob), gittins=gittins)


def consolidates(largest_tensor: float, model_size: float, limit: float) -> bool:
    """Return whether Tiresias wants a job on the fewest machines: its largest tensor is more than ``limit`` of it.

    Sizes may be in any unit, the same for both. A round knows no tensors: the answer becomes ``nodes=fewest``.
    """
    whole = finite("model_size", model_size, 1e18, positive=True)
    largest = finite("largest_tensor", largest_tensor, whole, positive=True)
    return Fraction(largest) / Fraction(whole) > Fraction(finite("limit", limit, 1.0))
