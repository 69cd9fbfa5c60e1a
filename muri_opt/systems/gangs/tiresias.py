"""Policy ``tiresias``: two-dimensional least attained service in queues, with promotion, or by Gittins index."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from math import ceil, inf
from typing import ClassVar

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Job
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, MILLISECONDS_PER_SECOND, finite
from muri_opt.systems.gangs.gpu_seconds import GpuSeconds, GpuSecondsList, milliseconds_of
from muri_opt.systems.gangs.policy import GangPolicy
from muri_opt.systems.history import Floats, JobHistory, soonest
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
    def summary(self) -> str:
        """The order in words."""
        return "gangs, least attained service first, by queues as in Tiresias"

    @property
    def order(self) -> TiresiasOrder:
        """The queues, the promotion and the ranks that the parameters say."""
        gittins = None
        if self.rank == "gittins":
            (quantum,) = milliseconds_of(self.quantum)
            gittins = GittinsIndex.of(milliseconds_of(self.samples), quantum, self.form)
        return TiresiasOrder(limits=milliseconds_of(self.queues), knob=Fraction(self.knob), gittins=gittins)

    def wakes(self, running: JobHistory, waiting: JobHistory) -> float:
        """Return when a running job leaves its queue, or a waiting one is promoted."""
        order = self.order
        return min(seconds_in_queue(order, running.gpus, running.attained), soonest(_promotions(order, waiting)))

    def promoted(self, jobs: Sequence[Job]) -> list[int]:
        """Return the jobs that go to the first queue."""
        order = self.order
        return [place for place, job in enumerate(jobs) if order.promotes(job)]


def seconds_in_queue(order: TiresiasOrder, gpus: Ints, attained: Floats) -> float:
    """Return in how many seconds the next running job attains the limit of its queue, to the next microsecond."""
    limits = np.array(order.limits, dtype=np.int64)
    service = np.rint(attained * MILLISECONDS_PER_SECOND).astype(np.int64)
    queue = np.searchsorted(limits, service, side="right")
    behind = queue < len(limits)
    if not behind.any():
        return inf
    left = 1000 * (limits[queue[behind]] - service[behind])
    return int((-(-left // gpus[behind])).min()) / MICROSECONDS_PER_SECOND


def _promotions(order: TiresiasOrder, waiting: JobHistory) -> list[int]:
    """Return in how many microseconds jobs that have left the first queue have waited long enough."""
    if not order.knob:
        return []
    service = np.rint(waiting.attained * MILLISECONDS_PER_SECOND).astype(np.int64)
    ran, waited = waiting.executed_microseconds.tolist(), waiting.waited_microseconds.tolist()
    return [
        ceil(order.knob * ran[place] - waited[place])
        for place in np.flatnonzero(service >= order.limits[0]).tolist()
        if ran[place]
    ]


def consolidates(largest_tensor: float, model_size: float, limit: float) -> bool:
    """Return whether Tiresias wants a job on the fewest machines: its largest tensor is more than ``limit`` of it.

    Sizes may be in any unit, the same for both. A round knows no tensors: the answer becomes ``nodes=fewest``.
    """
    whole = finite("model_size", model_size, 1e18, positive=True)
    largest = finite("largest_tensor", largest_tensor, whole, positive=True)
    return Fraction(largest) / Fraction(whole) > Fraction(finite("limit", limit, 1.0))
