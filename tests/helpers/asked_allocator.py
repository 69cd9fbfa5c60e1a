"""A plain correct allocator of gangs that honours what jobs ask, in steps of which planted bugs change one each.

A gang that starts is inside one part of the nodes where it may: those of one GPU type and one unit of its level. It is
written without anything of the package but its objects and the names of its fields.
"""

from gang_allocator import Gangs

from muri_opt.rounds import INFORMATION
from muri_opt.rounds.field_groups import PLACES, SHAPES, STATES

HONOURS = INFORMATION | PLACES | SHAPES | STATES | {"tenant.parent", "job.priority"}


class AskedGangs(Gangs):
    """The allocator; a preferred level counts for nothing, as it costs value only."""

    honours = HONOURS

    def __call__(self, round_):
        self.nodes = {node.id: node for node in round_.cluster.nodes}
        self.parents = {tenant.id: tenant.parent for tenant in round_.cluster.tenants}
        return super().__call__(round_)

    def running(self):
        return [job for job in super().running() if not self.is_lost(job)]

    def is_lost(self, job):
        return any(self.nodes[node].state == "down" for node in job.placement)

    def queue(self):
        waiting = [job for job in self.round_.jobs if job.id not in self.shares and self.may_start(job)]
        return sorted(waiting, key=lambda job: (-job.priority, job.submitted, job.id))

    def may_start(self, job):
        runs = job.state == "running" and not self.is_lost(job)
        return runs or not (self.is_held(job) or self.is_early(job))

    def is_held(self, job):
        return job.held is not None

    def is_early(self, job):
        return job.not_before is not None and job.not_before > self.round_.now

    def placed(self, job):
        found = [self.inside(job, part) for part in self.parts(job)]
        found = [shares for shares in found if shares is not None]
        return min(found, key=len) if found else None

    def parts(self, job):
        parts = {}
        for node in self.round_.cluster.nodes:
            if self.takes(job, node):
                parts.setdefault((self.type_part(node), self.unit_part(job, node)), []).append(node.id)
        return parts.values()

    def type_part(self, node):
        return node.gpu_type

    def unit_part(self, job, node):
        return self.unit(job, node)

    def unit(self, job, node):
        return None if self.level(job) is None else node.units.get(self.level(job))

    def level(self, job):
        return job.within.level if job.within is not None and job.within.required else None

    def takes(self, job, node):
        return (
            self.is_open(node)
            and self.in_time(job, node)
            and self.right_type(job, node)
            and self.has_labels(job, node)
            and self.lacks_labels(job, node)
            and (self.level(job) is None or self.unit(job, node) is not None)
        )

    def is_open(self, node):
        return node.state == "up"

    def in_time(self, job, node):
        if node.available_until is None:
            return True
        if job.time_limit_seconds is None:
            return node.available_until > self.round_.now
        return self.round_.now + job.time_limit_seconds <= node.available_until

    def right_type(self, job, node):
        return job.gpu_types is None or node.gpu_type in job.gpu_types

    def has_labels(self, job, node):
        return set(job.requires) <= set(node.labels)

    def lacks_labels(self, job, node):
        return not set(job.excludes) & set(node.labels)

    def least(self, job):
        return 1 if job.nodes is None else job.nodes.least

    def most(self, job):
        return job.gpus if job.nodes is None or job.nodes.most is None else job.nodes.most

    def even(self, job):
        return job.even

    def inside(self, job, part):
        """Return GPUs per node on as few nodes as can be, the roomiest ones, or nothing."""
        rooms = {node: self.room(node, job) for node in part}
        line = [node for node in self.order(rooms)[::-1] if rooms[node]]
        for count in range(self.least(job), min(self.most(job), job.gpus, len(line)) + 1):
            shares = self.split(job, rooms, line[:count])
            if shares is not None:
                return shares
        return None

    def split(self, job, rooms, nodes):
        if self.even(job):
            share, rest = divmod(job.gpus, len(nodes))
            return None if rest or min(rooms[node] for node in nodes) < share else dict.fromkeys(nodes, share)
        shares = dict.fromkeys(nodes, 1)
        for node in nodes:
            shares[node] += min(rooms[node] - 1, job.gpus - sum(shares.values()))
        return shares if sum(shares.values()) == job.gpus else None

    def line(self, tenant):
        """Return a tenant and all that it is part of."""
        found = []
        while tenant in self.parents:
            found.append(tenant)
            tenant = self.parents[tenant]
        return found

    def within_quota(self, job):
        return all(
            self.quotas[above] is None or self.below(above) + self.charged(job) <= self.quotas[above]
            for above in self.line(job.tenant)
        )

    def below(self, tenant):
        """Return the GPUs of a tenant and all that are part of it."""
        return sum(gpus for one, gpus in self.held.items() if tenant in self.line(one))


class AskedOneNode(AskedGangs):
    """Starts no job on several nodes."""

    def placed(self, job):
        shares = super().placed(job)
        return shares if shares is not None and len(shares) == 1 else None


class AskedAnew(AskedGangs):
    """Places jobs anew, by size, but for those that may not be stopped or moved."""

    def running(self):
        return [job for job in super().running() if job.stays or job.stays_put]

    def queue(self):
        return sorted(super().queue(), key=lambda job: (-job.gpus, job.submitted, job.id))

    def placed(self, job):
        """What runs may go on where it may not start."""
        shares = super().placed(job)
        if shares is None and job.state == "running" and not self.is_lost(job):
            home = dict(job.placement)
            return home if all(self.room(node, job) >= gpus for node, gpus in home.items()) else None
        return shares


class AskedNobodyNew(AskedGangs):
    """Starts nobody."""

    def queue(self):
        return []


CORRECT = {kind.__name__: kind() for kind in (AskedGangs, AskedOneNode, AskedAnew, AskedNobodyNew)}
