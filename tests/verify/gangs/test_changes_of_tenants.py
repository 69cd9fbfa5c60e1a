"""What is left of quotas of tenants in a tree once some jobs are stopped, against counting all that still run."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from muri_opt import Cluster, Job, Node, Round, Tenant, policy_from
from muri_opt.verify.gangs.changes import Proposals
from muri_opt.verify.tenant_lines import spare_quotas


def drawn_round(seed: int) -> Round:
    """Return a round of tenants in a tree of up to three levels, some without a quota, and jobs of any of them."""
    draw = Random(seed)
    names = [f"t{at}" for at in range(draw.randint(2, 7))]
    tenants = tuple(
        Tenant(
            id=name,
            quota_gpus=draw.choice((None, draw.randint(2, 20))),
            parent=names[draw.randrange(at)] if at and draw.random() < 0.7 else None,
        )
        for at, name in enumerate(names)
    )
    jobs = tuple(
        Job(id=f"j{at}", gpus=draw.randint(1, 4), tenant=draw.choice((*names, None)), submitted=float(at))
        for at in range(20)
    )
    return Round(cluster=Cluster(nodes=(Node(id="n", gpus=24),), tenants=tenants), jobs=jobs)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_once_some_are_stopped(seed: int) -> None:
    round_, draw = drawn_round(seed), Random(seed)
    decision = policy_from("fifo").decide(round_, 0)
    proposals, runs = Proposals(round_, decision, fewest_nodes=False), sorted(decision.running)
    if not any(tenant.parent for tenant in round_.cluster.tenants):
        return  # of tenants that are no part of others it is told by their own
    for job in round_.jobs:
        stopped = draw.sample(runs, draw.randint(0, min(4, len(runs))))
        held = Counter[str]()
        for other in round_.jobs:
            if other.id in decision.running and other.id not in stopped:
                held[other.tenant or ""] += other.gpus
        expected = spare_quotas(round_, held).get(job.tenant or "")
        assert proposals._spare_without(job, None, stopped) == expected
