"""AITurbo and Optimus: parameter servers and workers of each job. Plans themselves are in ``systems/plans``."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.aiturbo.optimus_ps import OptimusTasksPolicy
    from muri_opt.systems.aiturbo.policy import AITurboPolicy
    from muri_opt.systems.aiturbo.program import ConfigurationFormulation
    from muri_opt.systems.aiturbo.system import SYSTEM

__all__ = ["SYSTEM", "AITurboPolicy", "ConfigurationFormulation", "OptimusTasksPolicy"]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.aiturbo.optimus_ps": ("OptimusTasksPolicy",),
        "muri_opt.systems.aiturbo.policy": ("AITurboPolicy",),
        "muri_opt.systems.aiturbo.program": ("ConfigurationFormulation",),
        "muri_opt.systems.aiturbo.system": ("SYSTEM",),
    },
)
