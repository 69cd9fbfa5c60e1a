"""The verifier's own reading of the rules of a multi-tenant cluster, in whole microseconds and thousandths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Final

from muri_opt.errors import InputError
from muri_opt.rounds import INFORMATION
from muri_opt.rounds.field_groups import PLACES, SHAPES, STATES
from muri_opt.verify.amounts import micro
from muri_opt.verify.settings import Setting, one_of

APART = -1
"""The level of a job that is left alone: it may not start."""
SETTINGS: Final[Mapping[str, Setting]] = {
    "rack_after": Setting(usual="600", least=0, most=2e9),
    "any_after": Setting(usual="1800", least=0, most=2e9),
    "hold": Setting(usual="150", least=1e-6, most=2e9),
    "backoff": Setting(usual="0", least=0, most=2e9),
    "preempt_at": Setting(usual="0.9", words=("never",), least=0, most=1),
    "migrate": Setting(usual="0", words=("inf",), least=0, most=1e6, whole=True),
    "dedicated": Setting(usual="never", words=("never",), least=1, most=1e6, whole=True),
    "rack_speed": Setting(usual="0.854", least=1e-3, most=1),
    "any_speed": Setting(usual="0.729", least=1e-3, most=1),
    "aging": Setting(usual="86400", least=1e-6, most=2e9),
    "horizon": Setting(usual="600", least=1e-6, most=2e9),
    "objective": one_of("lexicographic", "weighted", "completion"),
}
HONOURED: Final = INFORMATION | PLACES | SHAPES | STATES | {"job.priority", "tenant.parent"}
"""The fields of format 2 that these rules check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenancy:
    """How long gangs wait for GPUs close together, who may be preempted or moved, and what all that is worth.

    ``None`` stands for ``never`` as a load to preempt at, for no limit of GPUs to move, and for no size from which
    gangs have nodes to themselves.
    """

    rack_after: int
    any_after: int
    hold: int
    backoff: int
    preempt_at: int | None
    migrate: int | None
    dedicated: int | None
    speeds: tuple[int, int, int]
    aging: int
    horizon: int
    weighted: bool
    by_completion: bool = False

    @classmethod
    def of(cls, chosen: Mapping[str, str]) -> Tenancy:
        """Return what the settings of the chapter say."""
        rack, anywhere = (Fraction(chosen[key]) for key in ("rack_speed", "any_speed"))
        if anywhere > rack:
            found = f"any_speed={chosen['any_speed']}"
            raise InputError("rules.any_speed", found, f"at most rack_speed={chosen['rack_speed']}")
        times = {key: micro(float(chosen[key])) for key in ("rack_after", "any_after", "hold", "backoff")}
        load, moved, size = chosen["preempt_at"], chosen["migrate"], chosen["dedicated"]
        return cls(
            **times,
            preempt_at=None if load == "never" else ceil(1000 * Fraction(load)),
            migrate=None if moved == "inf" else int(float(moved)),
            dedicated=None if size == "never" else int(float(size)),
            speeds=(1000, max(1, floor(1000 * rack)), max(1, floor(1000 * anywhere))),
            aging=micro(float(chosen["aging"])),
            horizon=micro(float(chosen["horizon"])),
            weighted=chosen["objective"] == "weighted",
            by_completion=chosen["objective"] == "completion",
        )

    @property
    def restarts(self) -> bool:
        """Whether who is put elsewhere was preempted and started again, for nobody is moved."""
        return self.migrate == 0

    def level(self, waited: int) -> int:
        """Return how far apart a job may sit after so long: together, in one rack or anywhere; or ``APART``."""
        if self.backoff > 0 and waited % (self.hold + self.backoff) >= self.hold:
            return APART
        if waited < self.rack_after:
            return 0
        return 1 if waited < self.any_after else 2

    def age(self, waited: int) -> int:
        """Return what a GPU of a gang that has waited so long is worth, in thousandths."""
        return 1000 + 250 * min(waited, self.aging) // self.aging

    def working(self, gpus: int, each: int, spread: int) -> int:
        """Return what it is worth that a gang runs so far apart, each GPU of it being worth so much close together."""
        return gpus * (each * self.speeds[spread] // 1000)

    def cost(self, gpus: int, restart: int, each: int) -> int:
        """Return what it costs to stop a gang whose restart takes so many microseconds."""
        lost = min(10_000, max(1, -(-1000 * restart // self.horizon)))
        return gpus * (max(1, lost * each // 1000) if self.by_completion else lost)

    def is_alone(self, gpus: int) -> bool:
        """Return whether a gang of so many GPUs shares its nodes with nobody."""
        return self.dedicated is not None and gpus >= self.dedicated
