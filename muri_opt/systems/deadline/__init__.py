"""Deadlines: which jobs are done in time, and with how many GPUs, by ElasticFlow's rule and exactly."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.deadline.choices import Choices as Choices
    from muri_opt.systems.deadline.decision import (
        deadline_decision as deadline_decision,
        deadlines_kept as deadlines_kept,
        standing as standing,
    )
    from muri_opt.systems.deadline.policy import DeadlinePolicy as DeadlinePolicy
    from muri_opt.systems.deadline.program import DeadlineFormulation as DeadlineFormulation
    from muri_opt.systems.deadline.system import SYSTEM as SYSTEM

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.deadline.choices": ("Choices",),
        "muri_opt.systems.deadline.decision": ("deadline_decision", "deadlines_kept", "standing"),
        "muri_opt.systems.deadline.policy": ("DeadlinePolicy",),
        "muri_opt.systems.deadline.program": ("DeadlineFormulation",),
        "muri_opt.systems.deadline.system": ("SYSTEM",),
    },
)
