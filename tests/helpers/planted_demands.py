"""Planted bugs of what jobs ask: each allocator changes one step of the correct one, and forgets or bends a rule."""

from asked_allocator import AskedGangs


class MixesTypes(AskedGangs):
    def type_part(self, node):
        return None


class TakesAnyType(AskedGangs):
    def right_type(self, job, node):
        return True


class UntypedNodesAreAnyType(AskedGangs):
    def right_type(self, job, node):
        return node.gpu_type is None or super().right_type(job, node)


class ForgetsFewestNodes(AskedGangs):
    def least(self, job):
        return 1


class ForgetsMostNodes(AskedGangs):
    def most(self, job):
        return job.gpus


class OneNodeTooMany(AskedGangs):
    def most(self, job):
        return super().most(job) + 1


class ForgetsEqualParts(AskedGangs):
    def even(self, job):
        return False


class ForgetsRequiredLabels(AskedGangs):
    def has_labels(self, job, node):
        return True


class ForgetsExcludedLabels(AskedGangs):
    def lacks_labels(self, job, node):
        return True


class OneLabelIsEnough(AskedGangs):
    def has_labels(self, job, node):
        return super().has_labels(job, node) or bool(node.labels)


class ForgetsLevels(AskedGangs):
    def unit_part(self, job, node):
        return None


class NoUnitIsAUnit(AskedGangs):
    def unit(self, job, node):
        return super().unit(job, node) or "none"


class StopsAnybody(AskedGangs):
    """Starts those of the highest priority first, whoever runs."""

    def begin(self):
        pass


class StopsForPriority(AskedGangs):
    """Stops running jobs of the lowest priority where one of a higher waits."""

    def running(self):
        jobs, waits = super().running(), [job.priority for job in self.round_.jobs if job.state == "waiting"]
        return [job for job in jobs if not waits or job.priority >= max(waits)]


class MovesAnybody(AskedGangs):
    """Places running jobs that may be stopped anew."""

    def running(self):
        return [job for job in super().running() if job.stays]


class StartsHeldJobs(AskedGangs):
    def is_held(self, job):
        return False


class HoldsOnlyWithATime(AskedGangs):
    """Lets a held job start unless it has a time to begin, too."""

    def is_held(self, job):
        return super().is_held(job) and job.not_before is not None


class StartsEarly(AskedGangs):
    def is_early(self, job):
        return False


class StartsAMinuteEarly(AskedGangs):
    def is_early(self, job):
        return job.not_before is not None and job.not_before > self.round_.now + 60.0


class StartsOnDrainingNodes(AskedGangs):
    def is_open(self, node):
        return node.state != "down"


class StartsOnDownNodes(AskedGangs):
    def is_open(self, node):
        return node.state != "drain"


class KeepsLostJobs(AskedGangs):
    def is_lost(self, job):
        return False


class ForgetsAvailability(AskedGangs):
    def in_time(self, job, node):
        return True


class NoLimitNeverEnds(AskedGangs):
    """Lets jobs without a time limit start on a node that is gone already."""

    def in_time(self, job, node):
        return job.time_limit_seconds is None or super().in_time(job, node)


class ForgetsTimeLimits(AskedGangs):
    def in_time(self, job, node):
        return node.available_until is None or node.available_until > self.round_.now


class ForgetsTenantsAbove(AskedGangs):
    def line(self, tenant):
        return super().line(tenant)[:1]


class ForgetsTenantsBelow(AskedGangs):
    """Looks at the quotas of all tenants above, but counts what their own jobs hold only."""

    def below(self, tenant):
        return self.held[tenant]


DEMANDS = {
    MixesTypes: "gpu-type",
    TakesAnyType: "gpu-type",
    UntypedNodesAreAnyType: "gpu-type",
    ForgetsFewestNodes: "shape",
    ForgetsMostNodes: "shape",
    OneNodeTooMany: "shape",
    ForgetsEqualParts: "even",
    ForgetsRequiredLabels: "labels",
    ForgetsExcludedLabels: "labels",
    OneLabelIsEnough: "labels",
    ForgetsLevels: "within",
    NoUnitIsAUnit: "within",
    StopsAnybody: "preemptible",
    StopsForPriority: "preemptible",
    MovesAnybody: "movable",
    StartsHeldJobs: "held",
    HoldsOnlyWithATime: "held",
    StartsEarly: "not-before",
    StartsAMinuteEarly: "not-before",
    StartsOnDrainingNodes: "node-state",
    StartsOnDownNodes: "node-state",
    KeepsLostJobs: "node-state",
    ForgetsAvailability: "available-until",
    NoLimitNeverEnds: "available-until",
    ForgetsTimeLimits: "available-until",
    ForgetsTenantsAbove: "subtree-quota",
    ForgetsTenantsBelow: "subtree-quota",
}
"""Each bug with the invariant that it breaks."""
