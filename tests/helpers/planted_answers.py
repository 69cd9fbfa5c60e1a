"""Planted bugs of answers: jobs lost or told twice, gangs in part, exceptions, chance, and what was given changed."""

import heapq
import random
from zlib import crc32

from gang_allocator import Gangs

from muri_opt import Assignment, Decision


class RunsGangsInPart(Gangs):
    def placed(self, job):
        rooms = {node: min(self.room(node, job), job.gpus) for node in self.free}
        best = max(rooms, key=rooms.get, default=None)
        return super().placed(job) or ({best: rooms[best]} if best is not None and rooms[best] else None)


class DropsTheRemainder(Gangs):
    def placed(self, job):
        shares = super().placed(job)
        return shares if shares is None or len(shares) == 1 else dict.fromkeys(shares, job.gpus // len(shares))


class KeepsTheFirstNodeOnly(Gangs):
    def keep(self, job):
        self.give(job, dict(list(job.placement.items())[:1]))


class TakesWhatTheTableOffers(Gangs):
    def asked(self, job):
        return max(job.scaling) if job.scaling else job.gpus


class TakesThePlansGpus(Gangs):
    def asked(self, job):
        return job.plans[0].gpus if job.plans else job.gpus


class CutsJobsToTheCluster(Gangs):
    def asked(self, job):
        return min(job.gpus, max(1, self.round_.cluster.total_gpus))


class OneAssignmentPerNode(Gangs):
    def decision(self):
        apart = [(job, {node: gpus}) for job, shares in self.shares.items() for node, gpus in shares.items()]
        return Decision(assignments=tuple(self.assignment(job, shares) for job, shares in apart))


class WhatRunsIsStartedAgain(Gangs):
    def decision(self):
        decision = super().decision()
        again = [self.assignment(job.id, dict(job.placement)) for job in self.running()]
        return Decision(assignments=(*decision.assignments, *again), waiting=decision.waiting)


class WhatRunsWaitsToo(Gangs):
    def left_waiting(self):
        return [*super().left_waiting(), *(job.id for job in self.running())]


class NamesNobodyTooLarge(Gangs):
    def left_waiting(self):
        sizes = {job.id: job.gpus for job in self.round_.jobs}
        return [job for job in super().left_waiting() if sizes[job] <= self.round_.cluster.total_gpus]


class LosesOneOfATie(Gangs):
    def left_waiting(self):
        kept = {job.submitted: job.id for job in self.round_.jobs}
        return [job for job in super().left_waiting() if job in kept.values()]


class TellsOfAnotherNode(Gangs):
    def assignment(self, job, shares):
        return Assignment(jobs=(job,), gpus={node.upper(): gpus for node, gpus in shares.items()})


class NodesByTheirNumber(Gangs):
    """Takes the number in a node's name for its place in the list."""

    def assignment(self, job, shares):
        nodes = self.round_.cluster.nodes
        return Assignment(jobs=(job,), gpus={nodes[int(node[1:])].id: gpus for node, gpus in shares.items()})


class TellsOfAnEndedJob(Gangs):
    def decision(self):
        decision = super().decision()
        ended = Assignment(jobs=("ended",), gpus=dict(decision.assignments[0].gpus)) if self.shares else None
        return decision if ended is None else Decision(assignments=(*decision.assignments[1:], ended))


class SizesOfTheSortedList(Gangs):
    """Sorts the jobs, and reads their sizes off the list as it came."""

    def asked(self, job):
        sizes = [one.gpus for one in self.round_.jobs if one.state == "waiting"]
        return sizes[[one.id for one in self.queue()].index(job.id)]


class CpusOfTheWholeGangOnEachNode(Gangs):
    def assignment(self, job, shares):
        cpus = next(one.cpus for one in self.round_.jobs if one.id == job)
        return Assignment(jobs=(job,), gpus=shares, cpus=dict.fromkeys(shares, cpus) if cpus else {})


class TwoJobsShare(Gangs):
    def decision(self):
        jobs, decision = tuple(self.shares), super().decision()
        if len(jobs) < 2 or len({tuple(shares.items()) for shares in self.shares.values()}) > 1:
            return decision
        return Decision(assignments=(Assignment(jobs=jobs, order=tuple(range(len(jobs))), gpus=self.shares[jobs[0]]),))


class TellsOfNodesNotUsed(Gangs):
    def assignment(self, job, shares):
        return Assignment(jobs=(job,), gpus=dict.fromkeys(self.free, 0) | shares)


class CountsInFloats(Gangs):
    def assignment(self, job, shares):
        return Assignment(jobs=(job,), gpus={node: gpus / 1 for node, gpus in shares.items()})


class NeedsAJob(Gangs):
    def queue(self):
        return [] if max(job.gpus for job in self.round_.jobs) == 0 else super().queue()


class NeedsANode(Gangs):
    def queue(self):
        return super().queue() if max(node.gpus for node in self.round_.cluster.nodes) else []


class DividesByGpusOfANode(Gangs):
    def order(self, rooms):
        used = {node.id: 1 - self.free[node.id][0] / node.gpus for node in self.round_.cluster.nodes}
        return sorted(rooms, key=lambda node: (rooms[node], used[node], node))


class NeedsJobsThatFit(Gangs):
    def decide(self, job):
        largest = [node for node in range(self.round_.cluster.total_gpus + 1) if node >= job.gpus]
        super().decide(job if largest[0] else None)


class NeedsListedTenants(Gangs):
    def within_quota(self, job):
        return super().within_quota(job) if job.tenant is None or self.quotas[job.tenant] is not None else True


class NeedsTheTimeLeft(Gangs):
    def queue(self):
        return sorted(super().queue(), key=lambda job: -job.remaining_iterations * job.iteration_seconds)


class ComparesJobsOfATie(Gangs):
    def queue(self):
        heap = [(job.submitted, job) for job in super().queue()]
        heapq.heapify(heap)
        return [heapq.heappop(heap)[1] for _ in range(len(heap))]


class SaysNothingOfNothing(Gangs):
    def decision(self):
        return super().decision() if self.shares else None


class ChangesPlacements(Gangs):
    def keep(self, job):
        super().keep(job)
        job.placement.clear()


class TossesForTies(Gangs):
    def queue(self):
        return sorted(super().queue(), key=lambda job: (job.submitted, random.random()))


class GoesOnWhereItStopped(Gangs):
    """Fills nodes in turn, from call to call."""

    turn = 0

    def order(self, rooms):
        type(self).turn += 1
        nodes = list(rooms)
        return nodes[self.turn % len(nodes) :] + nodes[: self.turn % len(nodes)] if nodes else []


class OrdersByAHash(Gangs):
    """Takes jobs as they come in a set: by a hash of their names, here one that is the same in every process."""

    def queue(self):
        return sorted(super().queue(), key=lambda job: crc32(job.id.encode()))


class RemembersByNames(Gangs):
    """Keeps decisions by the names of the jobs only."""

    def __init__(self):
        self.known = {}

    def __call__(self, round_):
        names = tuple(job.id for job in round_.jobs)
        if names not in self.known:
            self.known[names] = super().__call__(round_)
        return self.known[names]


class TellsOfStartsOnly(Gangs):
    def decision(self):
        ran = {job.id for job in self.running()}
        starts = [self.assignment(job, shares) for job, shares in self.shares.items() if job not in ran]
        return Decision(assignments=tuple(starts))


class StopsAllThatRuns(Gangs):
    def keep(self, job):
        pass


class KeepsOneJobPerMoment(Gangs):
    """Keeps running jobs by when they were submitted."""

    def running(self):
        return list({job.submitted: job for job in super().running()}.values())


class KeepsOneJobPerNode(Gangs):
    def running(self):
        return list({min(job.placement): job for job in super().running()}.values())


class ThinksRunningJobsComeFirst(Gangs):
    """Goes through the list once, and starts jobs before it has seen all that run."""

    def begin(self):
        pass

    def queue(self):
        return self.round_.jobs

    def decide(self, job):
        if job.state == "running":
            self.keep(job)
        else:
            super().decide(job)


ANSWERS = {
    RunsGangsInPart: "gang",
    DropsTheRemainder: "gang",
    KeepsTheFirstNodeOnly: "gang",
    TakesWhatTheTableOffers: "gang",
    TakesThePlansGpus: "gang",
    CutsJobsToTheCluster: "gang",
    SizesOfTheSortedList: "gang",
    OneAssignmentPerNode: "once",
    WhatRunsIsStartedAgain: "once",
    WhatRunsWaitsToo: "once",
    NamesNobodyTooLarge: "once",
    LosesOneOfATie: "once",
    TellsOfAnEndedJob: "once",
    TellsOfAnotherNode: "capacity",
    NodesByTheirNumber: "capacity",
    TellsOfNodesNotUsed: "capacity",
    CountsInFloats: "capacity",
    ThinksRunningJobsComeFirst: "capacity",
    CpusOfTheWholeGangOnEachNode: "other-rules",
    TwoJobsShare: "other-rules",
    NeedsAJob: "answers",
    NeedsANode: "answers",
    DividesByGpusOfANode: "answers",
    NeedsJobsThatFit: "answers",
    NeedsListedTenants: "answers",
    NeedsTheTimeLeft: "answers",
    ComparesJobsOfATie: "answers",
    SaysNothingOfNothing: "answers",
    ChangesPlacements: "input-kept",
    TossesForTies: "deterministic",
    GoesOnWhereItStopped: "deterministic",
    OrdersByAHash: "deterministic",
    RemembersByNames: "capacity",
    TellsOfStartsOnly: "running-kept",
    StopsAllThatRuns: "running-kept",
    KeepsOneJobPerMoment: "running-kept",
    KeepsOneJobPerNode: "running-kept",
}
"""Each bug with an invariant that it breaks."""
