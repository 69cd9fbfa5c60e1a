"""What it costs a job that its GPUs are further apart than they need to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Assignment, Cluster, Job
from muri_opt.rounds.amounts import Amounts
from muri_opt.rounds.quantities import finite
from muri_opt.systems.philly import Locality

_NOWHERE: Final = Cluster(nodes=())


class SpreadSpeeds:
    """Speeds of gangs by their spread, as the policy ``philly`` knows it, each a part of the speed together.

    A gang has all the GPUs it is given, however many it asks for; jobs that share them are one gang, with the CPUs and
    the memory of all of them. Where it could be in the empty cluster decides what together is.
    """

    def __init__(self, cluster: Cluster, rack_speed: float, any_speed: float) -> None:
        self._speeds = (1.0, rack_speed, any_speed)
        self._cluster, self._whole = cluster, Amounts.of(cluster, ())
        self._known: dict[tuple[int, int, int], Locality] = {}

    def of(self, jobs: Sequence[Job], assignment: Assignment) -> float:
        """Return the part of their speed at which the jobs of an assignment run where they are."""
        nodes = [self._cluster.node_index[node] for node, gpus in assignment.gpus.items() if gpus]
        if len(nodes) < 2:
            return 1.0
        asked = Amounts.of(_NOWHERE, tuple(jobs))
        gang = (sum(assignment.gpus.values()), int(asked.c.sum()), int(asked.m.sum()))
        if gang not in self._known:
            self._known[gang] = self._locality(*gang)
        return self._speeds[self._known[gang].spread(0, np.array(nodes, dtype=np.int64))]

    def _locality(self, *gang: int) -> Locality:
        g, c, m, tenant = (np.array([amount], dtype=np.int64) for amount in (*gang, -1))
        return Locality.within(self._cluster, replace(self._whole, g=g, c=c, m=m, tenant=tenant))


def checked_speeds(rack_speed: float, any_speed: float, *, fast: bool) -> tuple[float, float]:
    """Return both speeds as plain numbers, or refuse them: above 0, at most 1, and over racks no faster than in one.

    A fast replay counts GPUs and knows no other speeds than 1.
    """
    rack = finite("rack_speed", rack_speed, 1.0, positive=True)
    anywhere = finite("any_speed", any_speed, 1.0, positive=True)
    if anywhere > rack:
        raise InputError("any_speed", repr(anywhere), f"at most rack_speed, {rack!r}: no faster over racks than in one")
    if fast and anywhere < 1:
        field, found = ("rack_speed", rack) if rack < 1 else ("any_speed", anywhere)
        raise InputError(field, repr(found), "1 in a fast replay, which counts GPUs")
    return rack, anywhere
