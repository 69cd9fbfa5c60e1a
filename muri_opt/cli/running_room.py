"""Nodes that have at least what runs on them, whatever their records say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from muri_opt.cli.ledger import Ledger
from muri_opt.rounds import Job, Node
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU

_AMOUNTS: Final = (("gpus", "GPUs", 1), ("cpus", "CPUs", MILLI_PER_CPU), ("memory_gib", "memory", MIB_PER_GIB))
"""The fields that nodes and jobs have in common, in words, and the parts that each is counted in."""


def with_room(nodes: Sequence[Node], jobs: Sequence[Job], ledger: Ledger) -> tuple[Node, ...]:
    """Return nodes, each with no less than running jobs hold of it; what was raised is in the ledger.

    A node may say less: a GPU of it has failed, jobs that are ending or suspended are counted beside those in their
    place, or the scheduler does not count memory. No round can hold that, and one such node must not keep all others
    from being read. What is only due to a job's equal parts for each GPU, which are rounded up, is not worth a word.
    """
    found = list(nodes)
    for field, words, parts in _AMOUNTS:
        held, rounded = Counter[str](), Counter[str]()
        for job in jobs:
            placement = job.placement or {}
            whole, asked = max(1, sum(placement.values())), round((getattr(job, field) or 0) * parts)
            for name, part in placement.items():
                held[name] += asked * part // whole
                rounded[name] += -(-asked // whole) * part
        for place, node in enumerate(found):
            said = getattr(node, field)
            has = None if said is None else round(said * parts)
            if has is not None and rounded[node.id] > has:
                more = rounded[node.id]
                found[place] = replace(node, **{field: more if parts == 1 else more / parts})
            if has is not None and held[node.id] > has:
                ledger.node(node.id, f"what runs there holds more {words} than it has: counted as having that")
    return tuple(found)
