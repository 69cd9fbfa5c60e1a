"""Gangs that run whole or not at all, in the order of a list: fifo, srtf, las and others, and Tiresias."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.gangs.policy import (
        FairSharePolicy as FairSharePolicy,
        FifoPolicy as FifoPolicy,
        GangPolicy as GangPolicy,
        list_decision as list_decision,
    )
    from muri_opt.systems.gangs.program import GangFormulation as GangFormulation
    from muri_opt.systems.gangs.system import SYSTEM as SYSTEM
    from muri_opt.systems.gangs.tiresias import TiresiasPolicy as TiresiasPolicy

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.gangs.policy": ("FairSharePolicy", "FifoPolicy", "GangPolicy", "list_decision"),
        "muri_opt.systems.gangs.program": ("GangFormulation",),
        "muri_opt.systems.gangs.tiresias": ("TiresiasPolicy",),
        "muri_opt.systems.gangs.system": ("SYSTEM",),
    },
)
