"""Small random rounds of gangs some of which prefer to be inside one rack."""

from __future__ import annotations

from random import Random

from asked_rounds import asked_round
from msgspec.structs import replace

from muri_opt.rounds import Round, Within

WISHES = ("shape", "priority", "pins", "all")
"""What else the jobs of the rounds ask."""


def wish_round(seed: int, group: str, most_jobs: int = 4) -> Round:
    """Return one round of a group, the same for the same seed."""
    draw, round_ = Random(f"wishes/{group}/{seed}"), asked_round(seed, group, most_jobs)
    nodes = tuple(
        replace(node, rack=draw.choice(["r0", "r0", "r1", None]) if place else "r0")
        for place, node in enumerate(round_.cluster.nodes)
    )
    jobs = tuple(
        replace(job, within=Within(level="rack", required=False)) if draw.random() < 0.7 else job for job in round_.jobs
    )
    cluster = replace(round_.cluster, levels=("rack",), nodes=nodes)
    return replace(round_, name=f"wishes/{group}/{seed}", cluster=cluster, jobs=jobs)
