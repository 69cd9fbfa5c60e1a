"""The hard rules of a multi-tenant cluster, written from their definition with nothing but dictionaries."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from muri_opt.rounds.quantities import mebibytes, microseconds, milli_cpus


class Ruled:
    """A round under a policy, with the demands of its jobs and how far they may spread."""

    def __init__(self, round_, policy):
        self.round, self.policy = round_, policy
        self.nodes = {node.id: node for node in round_.cluster.nodes}
        self.jobs = {job.id: job for job in round_.jobs}
        self.quota = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
        self.racks = {}
        for node in round_.cluster.nodes:
            self.racks.setdefault(node.rack, []).append(node.id)

    def per_gpu(self, job):
        cpus, memory = milli_cpus(job.cpus or 0), mebibytes(job.memory_gib or 0)
        return -(-cpus // job.gpus), -(-memory // job.gpus)

    def room(self, job, places):
        """Return the GPUs of a job that fit on each node beside the jobs that are there."""
        cpu, memory = self.per_gpu(job)
        found = {}
        for name, node in self.nodes.items():
            here = [(self.jobs[other], held[name]) for other, held in places.items() if name in held]
            room = node.gpus - sum(gpus for _, gpus in here)
            if node.cpus is not None and cpu:
                taken = sum(gpus * self.per_gpu(other)[0] for other, gpus in here)
                room = min(room, (milli_cpus(node.cpus) - taken) // cpu)
            if node.memory_gib is not None and memory:
                taken = sum(gpus * self.per_gpu(other)[1] for other, gpus in here)
                room = min(room, (mebibytes(node.memory_gib) - taken) // memory)
            if here and (self.alone(job) or any(self.alone(other) for other, _ in here)):
                room = 0
            found[name] = max(0, min(room, job.gpus))
        return found

    def alone(self, job):
        return self.policy.dedicated != "never" and job.gpus >= int(self.policy.dedicated)

    def fewest(self, job):
        """Return whether a job fits in one rack of the empty cluster, and on how few nodes."""
        room = self.room(job, {})
        racks = [needed([room[name] for name in names], job.gpus) for names in self.racks.values()]
        if any(racks):
            return True, min(filter(None, racks))
        return False, needed(room.values(), job.gpus)

    def spread(self, job, names):
        in_rack, fewest = self.fewest(job)
        if in_rack and len({self.nodes[name].rack for name in names}) > 1:
            return 2
        if len(names) <= fewest:
            return 0
        return 1 if in_rack else 2

    def waited(self, job):
        if job.waiting_seconds is not None:
            return microseconds(job.waiting_seconds)
        return max(0, microseconds(self.round.now) - microseconds(job.submitted)) if job.submitted is not None else 0

    def level(self, job):
        if job.state == "running":
            return max(self.spread(job, list(job.placement)), self.level_by_time(job))
        return self.level_by_time(job)

    def level_by_time(self, job):
        waited, settings = self.waited(job), self.policy
        hold, backoff = (microseconds(float(text)) for text in (settings.hold, settings.backoff))
        if backoff and waited % (hold + backoff) >= hold:
            return -1
        rack_after, any_after = (microseconds(float(text)) for text in (settings.rack_after, settings.any_after))
        return 0 if waited < rack_after else 1 if waited < any_after else 2

    def placeable(self, job, places, level):
        """Return whether a job could sit beside the others, spread no further than the level."""
        in_rack, fewest = self.fewest(job)
        if level < 0 or not fewest:
            return False
        room = self.room(job, places)
        for names in self.racks.values() if in_rack else ():
            nodes = needed([room[name] for name in names], job.gpus)
            if nodes and (level > 0 or nodes <= fewest):
                return True
        nodes = needed(room.values(), job.gpus)
        return bool(nodes) and (level > 1 or (not in_rack and nodes <= fewest))

    def used(self, places):
        return {
            name: sum(self.jobs[job].gpus for job in places if self.jobs[job].tenant == name) for name in self.quota
        }

    def places(self, decision):
        return {job: dict(one.gpus) for one in decision.assignments for job in one.jobs}

    @property
    def before(self):
        return {job.id: dict(job.placement) for job in self.round.jobs if job.state == "running"}

    def started(self, decision):
        return [job for job in self.places(decision) if job not in self.before]

    def gone(self, decision):
        return [job for job in self.before if job not in self.places(decision)]

    def elsewhere(self, decision):
        places = self.places(decision)
        return [job for job, held in self.before.items() if job in places and places[job] != held]

    def preempted(self, decision):
        """Return who was preempted, with those that were started again at once."""
        return [*self.gone(decision), *(self.elsewhere(decision) if self.policy.migrate == "0" else ())]

    def moved(self, decision):
        return [] if self.policy.migrate == "0" else self.elsewhere(decision)

    def broken(self, decision):
        """Return the names of the rules that a decision breaks."""
        places = self.places(decision)
        broken = {
            "once": sorted([*places, *(one.job for one in decision.waiting)]) == sorted(self.jobs),
            "alone": all(len(one.jobs) == 1 for one in decision.assignments),
            "gang": all(sum(held.values()) == self.jobs[job].gpus for job, held in places.items()),
            "room": self._fits(places),
            "locality": all(
                0 <= self.spread(self.jobs[job], list(places[job])) <= self.level(self.jobs[job])
                for job in [*self.started(decision), *self.elsewhere(decision)]
            ),
            "pinned": all(places.get(job) == held for job, held in self.before.items() if self.pinned(job)),
            "migration": self._migration(decision),
            "preemption": self._preemption(decision, places),
            "dedicated": self._dedicated(places),
        }
        return [rule for rule, kept in broken.items() if not kept]

    def pinned(self, job):
        return self.jobs[job].restart_seconds is None

    def _fits(self, places):
        for name, node in self.nodes.items():
            here = [(self.jobs[job], held[name]) for job, held in places.items() if name in held]
            if sum(gpus for _, gpus in here) > node.gpus:
                return False
            if node.cpus is not None and sum(n * self.per_gpu(job)[0] for job, n in here) > milli_cpus(node.cpus):
                return False
            most = None if node.memory_gib is None else mebibytes(node.memory_gib)
            if most is not None and sum(n * self.per_gpu(job)[1] for job, n in here) > most:
                return False
        return True

    def _migration(self, decision):
        gpus = sum(self.jobs[job].gpus for job in self.moved(decision))
        return self.policy.migrate == "inf" or gpus <= int(self.policy.migrate)

    def load(self, decision):
        gpus = sum(self.jobs[job].gpus for job in [*self.before, *self.started(decision)])
        return Fraction(gpus, max(1, self.round.cluster.total_gpus))

    def _preemption(self, decision, places):
        preempted, used = self.preempted(decision), self.used(places)
        if not preempted:
            return True
        if self.policy.preempt_at == "never":
            return False
        tenants = [self.jobs[job].tenant for job in preempted]
        least = Fraction(ceil(1000 * Fraction(self.policy.preempt_at)), 1000)
        return self.load(decision) >= least and all(
            self.quota.get(tenant) is not None and used[tenant] >= self.quota[tenant] for tenant in tenants
        )

    def _dedicated(self, places):
        stayed = {job for job, held in places.items() if self.before.get(job) == held}
        return all(
            (one in stayed and other in stayed) or not set(places[one]) & set(places[other])
            for one in places
            for other in places
            if one != other and self.alone(self.jobs[one])
        )

    def value(self, decision):
        """Return the value of a decision by the formula of the chapter."""
        rules, places = self.policy.tenant_rules, self.places(decision)
        weights = self._weights()
        used = self.used(places)
        value = 0
        for job in places:
            if self.quota.get(self.jobs[job].tenant) is None:
                value += weights[0] * self.jobs[job].gpus
        value += sum(weights[0] * min(used[name], quota) for name, quota in self.quota.items() if quota is not None)
        for name in self.preempted(decision):
            value -= weights[1] * self.jobs[name].gpus + self.cost(self.jobs[name])
        for name, held in places.items():
            job = self.jobs[name]
            speed = rules.speed[self.spread(job, list(held))]
            age = 1000
            if job.state != "running":
                age += 250 * min(self.waited(job), rules.aging) // rules.aging
            value += job.gpus * (age * speed // 1000)
            if name in self.moved(decision):
                value -= self.cost(job)
        return value

    def cost(self, job):
        restart, horizon = microseconds(job.restart_seconds or 0), self.policy.tenant_rules.horizon
        return job.gpus * min(10_000, max(1, -(-1000 * restart // horizon)))

    def _weights(self):
        if self.policy.objective == "weighted":
            return 1000, 1000
        restartable = [job for job in self.round.jobs if job.state == "running" and job.restart_seconds is not None]
        penalty = 1 + 1250 * sum(job.gpus for job in self.round.jobs) + sum(map(self.cost, restartable))
        limited = [job for job in restartable if self.quota.get(job.tenant) is not None]
        evictable = [] if self.policy.preempt_at == "never" else limited
        return penalty * (1 + sum(job.gpus for job in evictable)), penalty


def needed(rooms, gpus):
    """Return on how few nodes of such room a gang fits; nothing where it does not."""
    left = gpus
    for count, room in enumerate(sorted(rooms, reverse=True), start=1):
        left -= room
        if left <= 0:
            return count
    return None
