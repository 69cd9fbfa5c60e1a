"""The joint round: shares of GPUs and partners on them decided together."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.joint.guessed_lengths import GuessedLengthsPolicy as GuessedLengthsPolicy
    from muri_opt.systems.joint.policy import JointPolicy as JointPolicy
    from muri_opt.systems.joint.rules import JointRules as JointRules
    from muri_opt.systems.joint.system import SYSTEM as SYSTEM

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.joint.guessed_lengths": ("GuessedLengthsPolicy",),
        "muri_opt.systems.joint.policy": ("JointPolicy",),
        "muri_opt.systems.joint.rules": ("JointRules",),
        "muri_opt.systems.joint.system": ("SYSTEM",),
    },
)
