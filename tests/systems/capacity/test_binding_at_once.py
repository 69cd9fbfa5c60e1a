"""What binds for many jobs, looked at together, is what binds for each that is looked at by itself."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from asked_rounds import GROUPS, asked_round
from msgspec.structs import replace
from seeds import some_then_all

from muri_opt.rounds import Job, Round
from muri_opt.systems.capacity.binding_rules import BindingRules
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.holders import Holders


def needy(job: Job, draw: Random) -> Job:
    """Return a job that waits with CPUs and memory that often lack; one that runs as it is."""
    if job.state == "running":
        return job
    cpus, memory = draw.choice((0.0, 2.0, 5.0)), draw.choice((0.0, 4.0, 16.0))
    return replace(job, cpus=cpus * job.gpus, memory_gib=memory * job.gpus)


def with_needs(round_: Round, draw: Random) -> Round:
    """Return the round with CPUs and memory."""
    nodes = [replace(node, cpus=3.0 * node.gpus, memory_gib=9.0 * node.gpus) for node in round_.cluster.nodes]
    jobs = [needy(job, draw) for job in round_.jobs]
    return replace(round_, cluster=replace(round_.cluster, nodes=tuple(nodes)), jobs=tuple(jobs))


@pytest.mark.parametrize("consolidate", [False, True])
@pytest.mark.parametrize("group", GROUPS)
@some_then_all(15, 40)
def test_together_as_one_by_one(seeds: range, group: str, consolidate: bool) -> None:
    told = set()
    for seed in seeds:
        draw = Random(f"{group} {seed}")
        round_ = with_needs(asked_round(seed, group, most_jobs=9), draw)
        room = [draw.randrange(node.gpus + 1) for node in round_.cluster.nodes]
        waits = [at for at, job in enumerate(round_.jobs) if job.state == "waiting"]
        if len(waits) < 2:
            continue
        left = Leftover.beside(round_, {waits[0]: np.array(room, dtype=np.int64)})
        holders = Holders.of(round_, [((waits[0],), np.array(room, dtype=np.int64))])
        many = BindingRules(round_, left, holders, consolidate=consolidate)
        many.look_at(waits)
        for job in waits:
            alone = BindingRules(round_, left, holders, consolidate=consolidate).of(job)
            assert many.of(job) == alone
            told.add(alone.reason)
    assert len(told) > 1
