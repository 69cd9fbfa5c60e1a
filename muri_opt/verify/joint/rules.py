"""The settings of the chapter *joint*: whose lengths are known, how jobs share, what a change costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from muri_opt.verify.amounts import micro
from muri_opt.verify.muri.rules import AUTHORS_SLOWDOWN, NO_SLOWDOWN
from muri_opt.verify.settings import Setting, one_of

SETTINGS: Final[Mapping[str, Setting]] = {
    "lengths": one_of("known", "attained"),
    "group": Setting(usual="3", words=("4", "3", "2", "1")),
    "sharing": one_of("full", "stretch"),
    "slowdown": one_of("none", "muri"),
    "shares": one_of("all", "powers"),
    "kappa": Setting(usual="1", least=0, most=1000),
    "horizon": Setting(usual="600", least=1e-6),
    "restarts": one_of("stops", "pay", "ignore"),
    "weights": one_of("rank", "pow", "gittins", "chance"),
    "power": one_of("0.5", "0.25", "0.35", "0.75", "1"),
    "samples": Setting(usual="none", words=("none",), least=0.001, most=1e15, several=True),
}


def _milli(text: str) -> tuple[int, ...]:
    """Return GPU-seconds, separated by '/', in milliseconds."""
    return () if text == "none" else tuple(round(1000 * float(part)) for part in text.split("/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """What the settings say; the horizon in microseconds, the slow-down by the number of jobs less one.

    With ``stops`` a running job that goes on as it is saves the restart that being stopped, or changed, would cost.
    ``chance`` says that the jobs behind another are counted by how likely they are to need more service.
    """

    lengths: str = "known"
    group: int = 3
    full: bool = True
    slowdowns: tuple[Fraction, ...] = NO_SLOWDOWN
    powers: bool = False
    kappa: Fraction = Fraction(1)
    horizon: int = 600_000_000
    pay: bool = True
    power: Fraction | None = None
    samples: tuple[int, ...] = ()
    chance: bool = False
    stops: bool = False

    @classmethod
    def of(cls, chosen: Mapping[str, str]) -> Joint:
        """Return what chosen settings say."""
        return cls(
            lengths=chosen["lengths"],
            group=int(chosen["group"]),
            full=chosen["sharing"] == "full",
            slowdowns=NO_SLOWDOWN if chosen["slowdown"] == "none" else AUTHORS_SLOWDOWN,
            powers=chosen["shares"] == "powers",
            kappa=Fraction(chosen["kappa"]),
            horizon=micro(float(chosen["horizon"])),
            pay=chosen["restarts"] != "ignore",
            stops=chosen["restarts"] == "stops",
            power=Fraction(chosen["power"]) if chosen["weights"] == "pow" else None,
            chance=chosen["weights"] == "chance",
            samples=_milli(chosen["samples"]) if chosen["weights"] == "gittins" else (),
        )

    def most_jobs(self, stages: int) -> int:
        """Return how many jobs of so many stages may share GPUs: one at each stage."""
        return max(1, min(self.group, stages))
