"""The rules of a joint round: whose lengths are known, how jobs share, what a change costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.gangs.gpu_seconds import milliseconds_of
from muri_opt.systems.muri.interleaving import SLOWDOWN

NO_SAMPLES: Final = "none"
USUAL: Final = {
    "lengths": "known",
    "group": "3",
    "sharing": "full",
    "slowdown": "none",
    "shares": "all",
    "kappa": "1",
    "horizon": "600",
    "restarts": "stops",
    "weights": "rank",
    "power": "0.5",
    "samples": NO_SAMPLES,
}
POWERS: Final = ("0.5", "0.25", "0.35", "0.75", "1")
"""Of the service left, where work is worth a power of it."""
_LARGEST_DENOMINATOR: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRules:
    """What a policy's parameters say, as the algorithm and the program need it.

    ``known`` says whether jobs are ranked by the service they have left, or by what they have attained. ``full`` lets
    stages fill the iteration. ``slowdown[k - 1]`` stretches the period of k jobs. ``powers`` allows elastic jobs only
    1, 2, 4, ... GPUs. The ``horizon`` is in microseconds; ``pay`` charges changes. With a ``power`` a GPU second of
    work is worth one over the service left to that power, else what it costs at the job's end. ``samples`` are the
    GPU-milliseconds of jobs that have ended, by which the service left is expected where lengths are not known. With
    ``stops`` a running job that goes on saves the restart that being stopped or changed would cost it, and with
    ``chance`` the jobs behind another are counted by how likely they are to need more service than it.

    >>> JointRules.of({}).group
    3
    """

    known: bool
    group: int
    full: bool
    slowdown: tuple[Fraction, ...]
    powers: bool
    kappa: Fraction
    horizon: int
    pay: bool
    power: Fraction | None = None
    samples: tuple[int, ...] = ()
    chance: bool = False
    stops: bool = False

    @classmethod
    def of(cls, rules: Mapping[str, str]) -> JointRules:
        """Return what rules say; a setting that they leave out is as usual."""
        return _rules_of(tuple(sorted((USUAL | dict(rules)).items())))

    def most_jobs(self, stages: int) -> int:
        """Return how many jobs of so many stages may share: each needs a slot of its own."""
        return max(1, min(self.group, stages))


@lru_cache(maxsize=64)
def _rules_of(settings: tuple[tuple[str, str], ...]) -> JointRules:
    """Return what all settings say; a policy asks for it several times a round."""
    said = dict(settings)
    factors = (SLOWDOWN[said["slowdown"]][size] for size in (1, 2, 3, 4))
    return JointRules(
        known=said["lengths"] == "known",
        group=int(said["group"]),
        full=said["sharing"] == "full",
        slowdown=tuple(Fraction(factor).limit_denominator(_LARGEST_DENOMINATOR) for factor in factors),
        powers=said["shares"] == "powers",
        kappa=Fraction(said["kappa"]),
        horizon=microseconds(float(said["horizon"])),
        pay=said["restarts"] != "ignore",
        stops=said["restarts"] == "stops",
        power=Fraction(said["power"]) if said["weights"] == "pow" else None,
        chance=said["weights"] == "chance",
        samples=() if said["samples"] == NO_SAMPLES else tuple(milliseconds_of(said["samples"])),
    )
