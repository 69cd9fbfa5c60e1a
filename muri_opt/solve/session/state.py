"""What a session knows of its cluster: nodes, tenants and jobs now, and the decision that is being carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from muri_opt.errors import InputError
from muri_opt.rounds import Cluster, Decision, Job, Node, Round, changes
from muri_opt.rounds.error_text import listed, shown
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, microseconds
from muri_opt.rounds.round import DEFAULT_RESOURCES


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that was made and of which nobody has said yet that it was carried out."""

    number: int
    decision: Decision


@dataclass(slots=True, kw_only=True)
class State:
    """Nodes and jobs by their ids, in the order they came, and the moment that is known of."""

    cluster: Cluster
    resources: tuple[str, ...] = DEFAULT_RESOURCES
    now: float = 0.0
    jobs: dict[str, Job] = field(default_factory=dict)
    number: int = 0
    pending: Pending | None = None

    def round_(self, jobs: Mapping[str, Job] | None = None, now: float | None = None) -> Round:
        """Return the round that is to be decided now; or with other jobs, at another moment."""
        return Round(
            format="muri-opt/round/2",
            now=self.now if now is None else now,
            resources=self.resources,
            cluster=self.cluster,
            jobs=tuple((self.jobs if jobs is None else jobs).values()),
        )

    def job(self, name: str) -> Job:
        """Return a job, or refuse a name that no job has."""
        if name not in self.jobs:
            known = listed(self.jobs) or "none"
            raise InputError("job", shown(name), f"a job of the session that has not ended: {known}")
        return self.jobs[name]

    def node(self, name: str) -> Node:
        """Return a node, or refuse a name that no node has."""
        place = self.cluster.node_index.get(name)
        if place is None:
            raise InputError("node", shown(name), f"a node of the cluster: {listed(self.cluster.node_index)}")
        return self.cluster.nodes[place]

    def with_node(self, node: Node) -> Cluster:
        """Return the cluster in which a node is as given, among the others or after them."""
        known = self.cluster.node_index
        nodes = [node if one.id == node.id else one for one in self.cluster.nodes]
        return replace(self.cluster, nodes=tuple(nodes if node.id in known else [*nodes, node]))

    def check_time(self, now: float) -> None:
        """Refuse a moment before the last."""
        if microseconds(now) < microseconds(self.now):
            raise InputError("now", f"{now:g} s", f"no time before the last, {self.now:g} s")

    def jobs_at(self, now: float) -> dict[str, Job]:
        """Return the jobs as they are when time has passed: what runs attains service, what waits has waited."""
        passed = microseconds(now) - microseconds(self.now)
        if not passed:
            return dict(self.jobs)
        return {name: _after(job, passed) for name, job in self.jobs.items()}

    def carry_out(self, decision: Decision, failed: Mapping[str, str]) -> None:
        """Let the cluster be as a decision says; jobs that ``failed`` wait, whatever it says of them."""
        done = changes(self.round_(), decision)
        plans = {change.job: change.plan for change in (*done.start, *done.move, *done.resize, *done.regroup)}
        again = {change.job for change in (*done.stop, *done.move, *done.resize, *done.regroup)}
        for kind in (done.start, done.stop, done.move, done.resize, done.regroup):
            for change in kind:
                job = self.jobs[change.job]
                restarts = (job.restarts or 0) + 1 if change.job in again else job.restarts
                if change.after is None or change.job in failed:
                    self.jobs[job.id] = replace(job, state="waiting", placement=None, restarts=restarts)
                    continue
                held = {node: gpus for node, gpus in change.after.items() if gpus} or dict(change.after)
                plan = plans[change.job] or job.plan
                self.jobs[job.id] = replace(job, state="running", placement=held, plan=plan, restarts=restarts)
        for name in failed:
            if self.jobs[name].state == "running":
                self.jobs[name] = replace(self.jobs[name], state="waiting", placement=None)


def _after(job: Job, passed: int) -> Job:
    """Return a job after so many microseconds as it is."""
    if job.state == "waiting":
        return replace(job, waiting_seconds=_later(job.waiting_seconds, passed))
    held = max(1, sum((job.placement or {}).values()))
    return replace(
        job,
        executed_seconds=_later(job.executed_seconds, passed),
        attained_gpu_seconds=_later(job.attained_gpu_seconds, passed * held),
    )


def _later(seconds: float | None, microseconds_more: int) -> float:
    return (microseconds(seconds or 0.0) + microseconds_more) / MICROSECONDS_PER_SECOND
