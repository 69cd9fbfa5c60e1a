"""Planted bugs of limits: each allocator changes one step of the correct one, and takes more than there is."""

from collections import Counter

from gang_allocator import Gangs


class ForgetsMemory(Gangs):
    def need(self, job):
        return [super().need(job)[0], 0]


class ForgetsCpus(Gangs):
    def need(self, job):
        return [0, super().need(job)[1]]


class OneGpuTooMany(Gangs):
    def room(self, node, job):
        return super().room(node, job) + 1


class OneCpuTooMany(Gangs):
    def capacity(self, node):
        gpus, milli, mebibytes = super().capacity(node)
        return [gpus, None if milli is None else milli + 1000, mebibytes]


class OneMilliCpuTooMany(Gangs):
    def capacity(self, node):
        gpus, milli, mebibytes = super().capacity(node)
        return [gpus, None if milli is None else milli + 1, mebibytes]


class OneMebibyteTooMany(Gangs):
    def capacity(self, node):
        gpus, milli, mebibytes = super().capacity(node)
        return [gpus, milli, None if mebibytes is None else mebibytes + 1]


class RoundsCpusDown(Gangs):
    def need(self, job):
        return [round((job.cpus or 0.0) * 1000) // job.gpus, super().need(job)[1]]


class RoundsMemoryDown(Gangs):
    def need(self, job):
        return [super().need(job)[0], round((job.memory_gib or 0.0) * 1024) // job.gpus]


class RoundsLimitsUp(Gangs):
    def capacity(self, node):
        milli = None if node.cpus is None else 1000 * -int(-node.cpus // 1)
        return [node.gpus, milli, super().capacity(node)[2]]


class MemoryOncePerNode(Gangs):
    def take(self, job, shares):
        super().take(job, shares)
        for node, gpus in shares.items():
            if self.free[node][2] is not None:
                self.free[node][2] += (gpus - 1) * self.need(job)[1]


class MemoryOfFirstNodeOnly(Gangs):
    def take(self, job, shares):
        super().take(job, shares)
        for node, gpus in list(shares.items())[1:]:
            if self.free[node][2] is not None:
                self.free[node][2] += gpus * self.need(job)[1]


class MemoryOfTheClusterAsAWhole(Gangs):
    def room(self, node, job):
        gpus, milli, _ = self.free[node]
        cpus, memory = self.need(job)
        left = [free[2] for free in self.free.values()]
        if cpus and milli is not None:
            gpus = min(gpus, milli // cpus)
        if memory and None not in left:
            gpus = min(gpus, sum(left) // memory)
        return max(0, gpus)


class NoCpusMeansNoLimit(Gangs):
    def capacity(self, node):
        gpus, milli, mebibytes = super().capacity(node)
        return [gpus, milli or None, mebibytes]


class NoMemoryMeansNoLimit(Gangs):
    def capacity(self, node):
        gpus, milli, mebibytes = super().capacity(node)
        return [gpus, milli, mebibytes or None]


class ForgetsWhatRuns(Gangs):
    def keep(self, job):
        self.shares[job.id] = dict(job.placement)
        self.held[job.tenant] += job.gpus


class ForgetsCpusOfWhatRuns(Gangs):
    def keep(self, job):
        super().keep(job)
        for node, gpus in job.placement.items():
            if self.free[node][1] is not None:
                self.free[node][1] += gpus * self.need(job)[0]


class ForgetsMemoryOfWhatRuns(Gangs):
    def keep(self, job):
        super().keep(job)
        for node, gpus in job.placement.items():
            if self.free[node][2] is not None:
                self.free[node][2] += gpus * self.need(job)[1]


class CountsFirstNodeOfWhatRuns(Gangs):
    def keep(self, job):
        super().keep(job)
        for node, gpus in list(job.placement.items())[1:]:
            self.free[node][0] += gpus


class ForgetsQuotas(Gangs):
    def within_quota(self, job):
        return True


class QuotaOffByOne(Gangs):
    def within_quota(self, job):
        limit = self.quotas.get(job.tenant)
        return limit is None or self.held[job.tenant] + job.gpus <= limit + 1


class QuotaZeroMeansNone(Gangs):
    def within_quota(self, job):
        return not self.quotas.get(job.tenant) or super().within_quota(job)


class QuotaForgetsWhatRuns(Gangs):
    def begin(self):
        super().begin()
        self.held = Counter()


class QuotaCountsJobs(Gangs):
    def charged(self, job):
        return 1


class QuotaJobByJob(Gangs):
    def within_quota(self, job):
        limit = self.quotas.get(job.tenant)
        return limit is None or job.gpus <= limit


class QuotaOfFirstTenantOnly(Gangs):
    def within_quota(self, job):
        return job.tenant != next(iter(self.quotas), None) or super().within_quota(job)


class QuotasPooled(Gangs):
    def within_quota(self, job):
        if None in self.quotas.values() or job.tenant not in self.quotas:
            return super().within_quota(job)
        return sum(self.held[tenant] for tenant in self.quotas) + job.gpus <= sum(self.quotas.values())


class QuotaOfNeighbours(Gangs):
    """Counts what a tenant has for as long as jobs of the tenant are listed together."""

    def begin(self):
        super().begin()
        self.last = None

    def queue(self):
        return [job for job in self.round_.jobs if job.state == "waiting"]

    def within_quota(self, job):
        if job.tenant != self.last:
            self.held[job.tenant] = sum(one.gpus for one in self.running() if one.tenant == job.tenant)
            self.last = job.tenant
        return super().within_quota(job)


CAPACITY = (
    ForgetsMemory,
    ForgetsCpus,
    OneGpuTooMany,
    OneCpuTooMany,
    OneMilliCpuTooMany,
    OneMebibyteTooMany,
    RoundsCpusDown,
    RoundsMemoryDown,
    RoundsLimitsUp,
    MemoryOncePerNode,
    MemoryOfFirstNodeOnly,
    MemoryOfTheClusterAsAWhole,
    NoCpusMeansNoLimit,
    NoMemoryMeansNoLimit,
    ForgetsWhatRuns,
    ForgetsCpusOfWhatRuns,
    ForgetsMemoryOfWhatRuns,
    CountsFirstNodeOfWhatRuns,
)
QUOTA = (
    ForgetsQuotas,
    QuotaOffByOne,
    QuotaZeroMeansNone,
    QuotaForgetsWhatRuns,
    QuotaCountsJobs,
    QuotaJobByJob,
    QuotaOfFirstTenantOnly,
    QuotasPooled,
    QuotaOfNeighbours,
)
LIMITS = dict.fromkeys(CAPACITY, "capacity") | dict.fromkeys(QUOTA, "quota")
"""Each bug with the invariant that it breaks."""
