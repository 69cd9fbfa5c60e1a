"""Rubick: jobs whose execution plans change with what they get. Plans themselves are in ``systems/plans``."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.rubick.baselines.antman import AntManPolicy as AntManPolicy
    from muri_opt.systems.rubick.baselines.equal_share import EqualSharePolicy as EqualSharePolicy
    from muri_opt.systems.rubick.baselines.sia import SiaPolicy as SiaPolicy
    from muri_opt.systems.rubick.baselines.synergy import SynergyPolicy as SynergyPolicy
    from muri_opt.systems.rubick.policy import RubickPolicy as RubickPolicy
    from muri_opt.systems.rubick.system import SYSTEM as SYSTEM

__all__, __getattr__, __dir__ = names_on_demand(
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
