"""Rounds of plans for the packing: drawn ones with equal jobs among them, and how they are packed."""

from __future__ import annotations

from functools import partial
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st
from msgspec.structs import replace
from plan_rounds import plan_rounds

from muri_opt import Cluster, Job, Node, Plan, Round
from muri_opt.rounds import Budget, Limits
from muri_opt.solve.solvers import backend_named, relaxation, solve_stages
from muri_opt.systems.plans import PlanOptions
from muri_opt.systems.plans.node_patterns import Packed, gpus_only as counting, pack
from muri_opt.systems.plans.node_patterns.items import Items, NodeFamily, node_families
from muri_opt.systems.plans.node_patterns.prices import Prices

SOLVE = partial(solve_stages, backend_named("highs"))


@st.composite
def packing_rounds(draw: st.DrawFn, *, max_jobs: int = 3, max_nodes: int = 3) -> Round:
    """Draw a round in which some jobs have twins that differ in nothing but their names."""
    round_ = draw(plan_rounds(max_jobs=max_jobs, max_nodes=max_nodes))
    twins = [
        replace(job, id=f"{job.id}-twin{turn}", state="waiting", placement=None)
        for job in round_.jobs
        for turn in range(draw(st.integers(0, 2)))
    ]
    return replace(round_, jobs=(*round_.jobs, *twins[:2]))


def parts_of(round_: Round, options: PlanOptions, *, together: bool = True) -> tuple[Items, tuple[NodeFamily, ...]]:
    items = Items.of(round_, options, together=together)
    return items, node_families(round_, items)


@st.composite
def drawn_prices(draw: st.DrawFn, items: Items) -> Prices:
    """Draw any prices: nothing, or up to more than any job is worth."""
    most = 1 + int(items.e.max(initial=0))
    price = st.one_of(st.just(0.0), st.floats(0, most, allow_nan=False))
    kinds, tenants = len(items.members), len(items.quota)
    return Prices(
        once=np.array(draw(st.lists(price, min_size=kinds, max_size=kinds)), dtype=np.float64),
        quota=np.where(items.quota > 0, draw(st.lists(price, min_size=tenants, max_size=tenants)), 0.0),
    )


def packed(round_: Round, options: PlanOptions, start: dict | None = None, seconds: float | None = None) -> Packed:
    """Return the packing of a round without counting GPUs first, which settles most small rounds."""
    with patch.object(counting, "_MOST_STEPS", 0):
        return pack(round_, options, start or {}, Budget(limits=Limits(seconds=seconds)), relaxation, SOLVE)


def value_of(options: PlanOptions, chosen: dict) -> int:
    return sum(options.e[list(chosen)].tolist())


def tight_round(jobs: int, nodes: int, seed: int = 1) -> Round:
    """Return jobs whose plans trade GPUs, CPUs and memory on nodes that are short of all three."""
    rng = np.random.default_rng(seed)
    made = []
    for j in range(jobs):
        speed, gain, each = rng.uniform(0.4, 0.95), rng.uniform(0.02, 0.4), int(rng.integers(8, 65))
        plans = [
            Plan(
                name="p",
                gpus=gpus,
                cpus=float(gpus * cpus),
                memory_gib=float(gpus * each + cpus * 3),
                throughput=float(gpus**speed * cpus**gain * rng.uniform(0.97, 1.03)),
            )
            for gpus in (1, 2, 3, 4)
            for cpus in (1, 3, 6)
        ]
        made.append(Job(id=f"j{j}", gpus=1, plans=tuple(plans)))
    cluster = Cluster(nodes=tuple(Node(id=f"n{s}", gpus=4, cpus=14, memory_gib=144) for s in range(nodes)))
    return Round(cluster=cluster, jobs=tuple(made))
