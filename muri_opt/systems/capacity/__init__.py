"""Free GPUs, CPUs and memory of every node while jobs are placed, and the decision that places make."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.capacity.decision import Placed, gang_decision, group_decision
    from muri_opt.systems.capacity.free_capacity import Leftover
    from muri_opt.systems.capacity.gang_fit import best_fit, fewest_nodes, held_gpus, nodes_needed, place_gang
    from muri_opt.systems.capacity.shares import place_shares
    from muri_opt.systems.capacity.simulator_fit import first_fit

__all__ = [
    "Leftover",
    "Placed",
    "best_fit",
    "fewest_nodes",
    "first_fit",
    "gang_decision",
    "group_decision",
    "held_gpus",
    "nodes_needed",
    "place_gang",
    "place_shares",
]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.capacity.decision": ("Placed", "gang_decision", "group_decision"),
        "muri_opt.systems.capacity.free_capacity": ("Leftover",),
        "muri_opt.systems.capacity.gang_fit": ("best_fit", "fewest_nodes", "held_gpus", "nodes_needed", "place_gang"),
        "muri_opt.systems.capacity.shares": ("place_shares",),
        "muri_opt.systems.capacity.simulator_fit": ("first_fit",),
    },
)
