"""AITurbo and Optimus: parameter servers and workers of each job. Plans themselves are in ``systems/plans``."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.aiturbo.optimus_ps import OptimusTasksPolicy as OptimusTasksPolicy
    from muri_opt.systems.aiturbo.policy import AITurboPolicy as AITurboPolicy
    from muri_opt.systems.aiturbo.program import ConfigurationFormulation as ConfigurationFormulation
    from muri_opt.systems.aiturbo.system import SYSTEM as SYSTEM

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.aiturbo.optimus_ps": ("OptimusTasksPolicy",),
        "muri_opt.systems.aiturbo.policy": ("AITurboPolicy",),
        "muri_opt.systems.aiturbo.program": ("ConfigurationFormulation",),
        "muri_opt.systems.aiturbo.system": ("SYSTEM",),
    },
)
