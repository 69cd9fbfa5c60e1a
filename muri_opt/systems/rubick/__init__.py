"""Rubick: jobs whose execution plans change with what they get. Plans themselves are in ``systems/plans``."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.rubick.baselines.antman import AntManPolicy
    from muri_opt.systems.rubick.baselines.equal_share import EqualSharePolicy
    from muri_opt.systems.rubick.baselines.sia import SiaPolicy
    from muri_opt.systems.rubick.baselines.synergy import SynergyPolicy
    from muri_opt.systems.rubick.policy import RubickPolicy
    from muri_opt.systems.rubick.system import SYSTEM

__all__ = ["SYSTEM", "AntManPolicy", "EqualSharePolicy", "RubickPolicy", "SiaPolicy", "SynergyPolicy"]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.rubick.baselines.antman": ("AntManPolicy",),
        "muri_opt.systems.rubick.baselines.equal_share": ("EqualSharePolicy",),
        "muri_opt.systems.rubick.baselines.sia": ("SiaPolicy",),
        "muri_opt.systems.rubick.baselines.synergy": ("SynergyPolicy",),
        "muri_opt.systems.rubick.policy": ("RubickPolicy",),
        "muri_opt.systems.rubick.system": ("SYSTEM",),
    },
)
