"""Free GPUs, CPUs and memory of every node while jobs are placed, and the decision that places make."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.capacity.decision import (
        Placed as Placed,
        gang_decision as gang_decision,
        group_decision as group_decision,
        parts_decision as parts_decision,
    )
    from muri_opt.systems.capacity.free_capacity import Leftover as Leftover
    from muri_opt.systems.capacity.gang_fit import (
        fewest_nodes as fewest_nodes,
        held_gpus as held_gpus,
        place_gang as place_gang,
    )
    from muri_opt.systems.capacity.node_fit import best_fit as best_fit, nodes_needed as nodes_needed
    from muri_opt.systems.capacity.shares import place_parts as place_parts
    from muri_opt.systems.capacity.simulator_fit import first_fit as first_fit

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.capacity.decision": ("Placed", "gang_decision", "group_decision", "parts_decision"),
        "muri_opt.systems.capacity.free_capacity": ("Leftover",),
        "muri_opt.systems.capacity.node_fit": ("best_fit", "nodes_needed"),
        "muri_opt.systems.capacity.gang_fit": ("fewest_nodes", "held_gpus", "place_gang"),
        "muri_opt.systems.capacity.shares": ("place_parts",),
        "muri_opt.systems.capacity.simulator_fit": ("first_fit",),
    },
)
