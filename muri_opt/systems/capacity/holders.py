"""Who holds what: the running groups of a decision, node by node, as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints


class Holders:
    """Entries (group, node) with the GPUs, milli-CPUs and MiB that the group has there.

    ``group[e]`` has ``gpus[e]`` GPUs of ``node[e]``, and ``cpus[e]`` and ``memory[e]`` with them. ``names`` are the ids
    of the groups' jobs, ``size`` the GPUs of each group, ``tenant`` the tenant of its first job.
    """

    def __init__(self, round_: Round, groups: Sequence[tuple[Sequence[int], Ints]]) -> None:
        amounts = round_.amounts
        used = [np.flatnonzero(share) for _, share in groups]
        none = np.zeros(0, dtype=np.int64)
        self.node: Ints = np.concatenate([none, *used])
        self.group: Ints = np.repeat(np.arange(len(groups)), [len(nodes) for nodes in used]).astype(np.int64)
        self.gpus: Ints = np.concatenate(
            [none, *(share[nodes] for (_, share), nodes in zip(groups, used, strict=True))]
        )
        c = np.array([amounts.c[list(jobs)].sum() for jobs, _ in groups], dtype=np.int64)
        m = np.array([amounts.m[list(jobs)].sum() for jobs, _ in groups], dtype=np.int64)
        self.cpus: Ints = self.gpus * c[self.group]
        self.memory: Ints = self.gpus * m[self.group]
        self.size: Ints = np.bincount(self.group, weights=self.gpus, minlength=len(groups)).astype(np.int64)
        self.tenant: Ints = np.array([amounts.tenant[jobs[0]] for jobs, _ in groups], dtype=np.int64)
        self.names = [tuple(round_.jobs[job].id for job in jobs) for jobs, _ in groups]

    def most(self, amounts: Ints, nodes: Ints, number: int = 2) -> list[tuple[str, int]]:
        """Return the ``number`` of jobs that hold most of ``amounts`` (one per entry) on these nodes, largest first."""
        here = np.isin(self.node, nodes)
        held = np.bincount(self.group[here], weights=amounts[here], minlength=len(self.names)).astype(np.int64)
        order = np.argsort(-held, kind="stable")
        return [("' and '".join(self.names[g]), int(held[g])) for g in order.tolist()[:number] if held[g] > 0]
