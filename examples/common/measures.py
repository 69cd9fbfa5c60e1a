"""What is measured of a run, the same way for every policy: from what ran where, and when jobs ended."""

from __future__ import annotations

import math
import time
from collections import namedtuple

Arrived = namedtuple("Arrived", ["at", "gpus", "alone_seconds"])
Ran = namedtuple("Ran", ["now", "placements", "groups"])


class Measures:
    """Told of arrivals, rounds and ends, returns a row of numbers.

    ``nodes`` are GPUs by node. *Stops*: how often a job that runs and has not ended loses GPUs it had, that is, is
    stopped, moved or given another number. *Finish-time fairness* of a job: its completion time over the one it would
    have on its part of the cluster, ``alone_seconds`` times max(1, jobs there are meanwhile x its GPUs / all GPUs).
    """

    def __init__(self, nodes):
        self.nodes = dict(nodes)
        self._arrived, self._ended = {}, {}
        self._rounds, self._seconds = [], []
        self.over_capacity = 0
        self.cpu_seconds = 0.0

    def arrived(self, job, at, gpus, alone_seconds):
        """Say that a job has come, with the GPUs it asks for and the time it takes with them, alone in the cluster."""
        self._arrived.setdefault(job, Arrived(at, gpus, alone_seconds))

    def ended(self, job, at):
        """Say when a job has ended."""
        self._ended[job] = at

    def timed(self, decide, *arguments):
        """Return what a function that decides returns, and keep how long it took."""
        begun, cpu = time.perf_counter(), time.process_time()
        answer = decide(*arguments)
        self._seconds.append(time.perf_counter() - begun)
        self.cpu_seconds += time.process_time() - cpu
        return answer

    def round(self, now, placements, partners=None):
        """Say what runs from ``now`` on: GPUs by node for each job, and with whom a job shares all of its GPUs."""
        groups = {frozenset((job, *(partners or {}).get(job, ()))) for job in placements}
        used = {}
        for group in groups:
            for node, gpus in placements[min(group)].items():
                used[node] = used.get(node, 0) + gpus
        self.over_capacity += sum(used[node] > self.nodes.get(node, 0) for node in used)
        self._rounds.append(Ran(now, {job: dict(nodes) for job, nodes in placements.items()}, groups))

    def row(self):
        """Return the numbers of a run in which every job has ended."""
        times = sorted(self._ended[job] - self._arrived[job].at for job in self._arrived)
        fairness = [self._fairness(job) for job in self._arrived]
        first, last = min(job.at for job in self._arrived.values()), max(self._ended.values())
        gpus = sum(self.nodes.values())
        return {
            "jobs": len(times),
            "gpus": gpus,
            "mean": sum(times) / len(times),
            "median": quantile(times, 0.5),
            "p99": quantile(times, 0.99),
            "makespan": last - first,
            "ftf_worst": max(fairness),
            "ftf_above_1": sum(ratio > 1 for ratio in fairness) / len(fairness),
            "utilisation": self._busy(last) / (gpus * (last - first)),
            "stops": self._stops(),
            "rounds": len(self._rounds),
            "decision_cpu_ms": 1000 * self.cpu_seconds / max(1, len(self._seconds)),
            "decision_ms": 1000 * quantile(sorted(self._seconds), 0.5),
            "decision_p99_ms": 1000 * quantile(sorted(self._seconds), 0.99),
            "over_capacity": self.over_capacity,
        }

    def _fairness(self, job):
        at, gpus, alone = self._arrived[job]
        end = self._ended[job]
        meanwhile = sum(
            max(0.0, min(end, self._ended[other]) - max(at, self._arrived[other].at)) for other in self._arrived
        )
        there = meanwhile / max(end - at, 1e-9)
        return (end - at) / (alone * max(1.0, there * gpus / sum(self.nodes.values())))

    def _busy(self, last):
        """GPU seconds that were given to jobs that had not ended."""
        total = 0.0
        ends = [ran.now for ran in self._rounds[1:]] + [last]
        for ran, until in zip(self._rounds, ends):
            for group in ran.groups:
                end = max(self._ended[job] for job in group)
                total += sum(ran.placements[min(group)].values()) * max(0.0, min(until, end) - ran.now)
        return total

    def _stops(self):
        found = 0
        for before, after in zip(self._rounds, self._rounds[1:]):
            there = [job for job in before.placements if self._ended[job] > after.now]
            found += sum(before.placements[job] != after.placements.get(job) for job in there)
        return found


def quantile(ordered, share):
    """Return the smallest value that at least a share of ordered values is not above; 0 of none."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0
