"""A plain correct allocator of gangs, in steps of which planted bugs change one each.

Running jobs stay. The others start in the order of their submission, on the nodes with the least room, over several
nodes where one has not enough. It is written without anything of the package but its objects.
"""

from collections import Counter

from muri_opt import Assignment, Decision
from muri_opt.rounds import Waiting, WaitingReason


class Gangs:
    """The allocator; ``free`` has GPUs, milli-CPUs and MiB of each node, ``None`` for no limit."""

    def __call__(self, round_):
        self.round_ = round_
        self.free = {node.id: self.capacity(node) for node in round_.cluster.nodes}
        self.quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
        self.held = Counter()
        self.shares = {}
        self.begin()
        for job in self.queue():
            self.decide(job)
        return self.decision()

    def begin(self):
        """Let running jobs have what they have."""
        for job in self.running():
            self.keep(job)

    def running(self):
        return [job for job in self.round_.jobs if job.state == "running"]

    def keep(self, job):
        self.give(job, dict(job.placement))

    def queue(self):
        waiting = [job for job in self.round_.jobs if job.state == "waiting"]
        return sorted(waiting, key=lambda job: (job.submitted, job.id))

    def decide(self, job):
        if not self.within_quota(job):
            return
        shares = self.placed(job)
        if shares is not None:
            self.give(job, shares)

    def capacity(self, node):
        milli = None if node.cpus is None else round(node.cpus * 1000)
        mebibytes = None if node.memory_gib is None else round(node.memory_gib * 1024)
        return [node.gpus, milli, mebibytes]

    def asked(self, job):
        """GPUs of the gang."""
        return job.gpus

    def need(self, job):
        """What goes with each GPU: milli-CPUs and MiB, rounded up."""
        return [
            -(-round((job.cpus or 0.0) * 1000) // job.gpus),
            -(-round((job.memory_gib or 0.0) * 1024) // job.gpus),
        ]

    def room(self, node, job):
        """GPUs of the job for which a node has room."""
        gpus, *others = self.free[node]
        for left, need in zip(others, self.need(job), strict=True):
            if left is not None and need:
                gpus = min(gpus, left // need)
        return max(0, gpus)

    def order(self, rooms):
        """Nodes in the order in which they are filled."""
        return sorted(rooms, key=lambda node: (rooms[node], node))

    def placed(self, job):
        rooms = {node: self.room(node, job) for node in self.free}
        enough = {node: room for node, room in rooms.items() if room >= self.asked(job)}
        if enough:
            return {self.order(enough)[0]: self.asked(job)}
        shares = {}
        for node in self.order(rooms)[::-1]:
            share = min(rooms[node], self.asked(job) - sum(shares.values()))
            if share:
                shares[node] = share
        return shares if sum(shares.values()) == self.asked(job) else None

    def within_quota(self, job):
        limit = self.quotas.get(job.tenant)
        return limit is None or self.held[job.tenant] + self.charged(job) <= limit

    def charged(self, job):
        """GPUs that count for the quota."""
        return job.gpus

    def give(self, job, shares):
        self.shares[job.id] = shares
        self.held[job.tenant] += self.charged(job)
        self.take(job, shares)

    def take(self, job, shares):
        for node, gpus in shares.items():
            taken = [gpus, *(gpus * need for need in self.need(job))]
            self.free[node] = [
                None if left is None else left - more for left, more in zip(self.free[node], taken, strict=True)
            ]

    def decision(self):
        return Decision(
            assignments=tuple(self.assignment(job, shares) for job, shares in self.shares.items()),
            waiting=tuple(waits(job) for job in self.left_waiting()),
        )

    def assignment(self, job, shares):
        return Assignment(jobs=(job,), gpus=shares)

    def left_waiting(self):
        return [job.id for job in self.round_.jobs if job.id not in self.shares]


def waits(job):
    return Waiting(job=job, reason=WaitingReason.CAPACITY, detail="no room", remedy="wait")


class FirstFit(Gangs):
    """First fit over the nodes as listed, jobs as listed, and no word of who waits."""

    def queue(self):
        return [job for job in self.round_.jobs if job.state == "waiting"]

    def order(self, rooms):
        return list(rooms)

    def left_waiting(self):
        return []


class AnewEachRound(Gangs):
    """Places all jobs anew, by size, whether they run or not."""

    def begin(self):
        pass

    def queue(self):
        return sorted(self.round_.jobs, key=lambda job: (-job.gpus, job.submitted, job.id))


class OneNodeOnly(Gangs):
    """Starts no job on several nodes; those that run there stay."""

    def placed(self, job):
        shares = super().placed(job)
        return shares if shares is not None and len(shares) == 1 else None


class InStrictOrder(Gangs):
    """Starts nobody behind a job that finds no room."""

    def begin(self):
        super().begin()
        self.blocked = False

    def decide(self, job):
        if not self.blocked:
            super().decide(job)
        self.blocked = job.id not in self.shares


CORRECT = {kind.__name__: kind() for kind in (Gangs, FirstFit, AnewEachRound, OneNodeOnly, InStrictOrder)}
