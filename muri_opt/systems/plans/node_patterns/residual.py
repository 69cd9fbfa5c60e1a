"""What is left of jobs, nodes and quotas while patterns are taken one after another.

What the heuristics of the decomposition have not used yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from muri_opt.systems.plans.node_patterns.items import Items, NodeFamily
from muri_opt.systems.plans.node_patterns.master import NO_HOME, Key


class Remaining:
    """Jobs per kind, nodes per family and per home, and quotas that no pattern has taken yet."""

    def __init__(self, items: Items, families: Sequence[NodeFamily]) -> None:
        self.items = items
        self.jobs = items.count.copy()
        self.quota = items.quota.copy()
        self.nodes = [len(family.nodes) for family in families]
        self.homes = [[len(home.nodes) for home in family.at_home] for family in families]

    def most(self, key: Key) -> int:
        """Return how many more times a pattern can be taken; parts of jobs that run in several do not matter."""
        family, home, _ = key
        rooms = [self.nodes[family]]
        if home != NO_HOME:
            rooms.append(self.homes[family][home])
        asked: Counter[int] = Counter()
        for kind, jobs in self._runs(key).items():
            rooms.append(int(self.jobs[kind]) // jobs)
            for tenant in self._charged(kind):
                asked[tenant] += jobs * int(self.items.asks[kind])
        rooms += [int(self.quota[tenant]) // gpus for tenant, gpus in asked.items() if gpus]
        return min(rooms)

    def take(self, key: Key, times: int) -> None:
        """Take a pattern some times."""
        family, home, _ = key
        self.nodes[family] -= times
        if home != NO_HOME:
            self.homes[family][home] -= times
        for kind, jobs in self._runs(key).items():
            self._take_jobs(kind, jobs * times)

    def take_parts(self, patterns: Mapping[Key, int]) -> dict[int, int]:
        """Take the jobs whose several parts are in patterns, the most valuable first, and return how many of each item.

        The patterns themselves must have been taken before.
        """
        parts: Counter[int] = Counter()
        for (_, _, pattern), times in patterns.items():
            for item in pattern:
                parts[item] += times
        found = {}
        for item in sorted(parts, key=lambda item: (-int(self.items.e[item]), item)):
            pieces, kind = int(self.items.q[item]), int(self.items.owner[item])
            if pieces > 1:
                jobs = min(parts[item] // pieces, int(self.jobs[kind]))
                asks = int(self.items.asks[kind])
                for tenant in self._charged(kind) if asks else ():
                    jobs = min(jobs, int(self.quota[tenant]) // asks)
                self._take_jobs(kind, jobs)
                found[item] = jobs
        return {item: jobs for item, jobs in found.items() if jobs}

    def _runs(self, key: Key) -> Counter[int]:
        """Return how many jobs of each kind run on one node with a pattern."""
        return Counter(int(self.items.owner[item]) for item in key[2] if self.items.q[item] == 1)

    def _take_jobs(self, kind: int, jobs: int) -> None:
        self.jobs[kind] -= jobs
        for tenant in self._charged(kind):
            self.quota[tenant] -= jobs * self.items.asks[kind]

    def _charged(self, kind: int) -> tuple[int, ...]:
        """Return the tenants whose quotas jobs of a kind use."""
        tenant = int(self.items.tenant[kind])
        return self.items.lines[tenant] if tenant >= 0 else ()
