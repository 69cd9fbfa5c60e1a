"""Where all jobs of a group may start: what the regions of each have in common, in their order."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from msgspec.structs import replace

from benchmarks.what_binds import bound_by
from muri_opt import Cluster, Job, Node, Round, Within
from muri_opt.systems.joint.nodes.regions import Regions

BINDING = ("racks, twelve labels asked for in many ways", "eight GPU types asked for in many ways", "two GPU types")


def in_common(regions: Regions, group: tuple[int, ...]) -> list[int]:
    """Return the same by comparing each region with each."""
    found = list(regions.of_group(group[:1]))
    for job in sorted(group, key=lambda job: regions.kinds[job])[1:]:
        others = regions.of_group((job,))
        found = list(dict.fromkeys(one & other for one in found for other in others if one & other))
    return found


@pytest.mark.parametrize("binding", BINDING)
def test_regions_in_common_are_those_of_each_with_each(binding: str) -> None:
    draw, several = Random(binding), 0
    for _ in range(6):
        nodes = tuple(Node(id=f"n{s}", gpus=draw.randint(1, 8)) for s in range(40))
        jobs = tuple(Job(id=f"j{j}", gpus=1, remaining_iterations=9) for j in range(14))
        round_ = bound_by(binding, Round(cluster=Cluster(nodes=nodes), jobs=jobs), draw)
        if binding != BINDING[0]:  # racks of some jobs, that lie across the types
            racks = tuple(replace(node, rack=f"r{draw.randrange(5)}") for node in round_.cluster.nodes)
            some = tuple(
                replace(job, within=Within(level="rack")) if draw.random() < 0.6 else job for job in round_.jobs
            )
            round_ = replace(round_, cluster=replace(round_.cluster, nodes=racks, levels=("rack",)), jobs=some)
        regions = Regions.of(round_)
        gpus = round_.amounts.G.tolist()
        for size in (2, 3):
            for group in draw.sample([*combinations(range(14), size)], 40):
                expected = in_common(regions, tuple(sorted(group, key=lambda job: regions.kinds[job])))
                found = regions.of_group(group)
                assert list(found) == expected
                several += len(found) > 1
        for kind, region in enumerate(regions.unions):
            assert regions.reach[kind] == sum(has for node, has in enumerate(gpus) if region >> node & 1)
    assert several > 20
