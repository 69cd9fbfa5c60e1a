"""What happens to the nodes of a session: one comes, takes nothing new, or is gone."""

from __future__ import annotations

from msgspec.structs import replace

from muri_opt.errors import InputError
from muri_opt.rounds import Cluster, Job, Node
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.field_checks import check_kind
from muri_opt.solve.session.event import Line
from muri_opt.solve.session.state import State, stopped


class NodeAdded(Line, frozen=True, tag="add-node"):
    """A node came, or one that drained takes jobs again."""

    node: Node

    def check(self, state: State) -> None:
        """Refuse a name that a node has already, but for one that drains and can hold what runs on it."""
        check_kind("node", self.node, Node)
        place = state.cluster.node_index.get(self.node.id)
        if place is not None and state.cluster.nodes[place].state == "up":
            allowed = "the name of no node of the cluster, or of one that drains"
            raise InputError("node", f"{shown(self.node.id)} twice", allowed)
        there = (job for job in state.jobs.values() if self.node.id in (job.placement or {}))
        state.round_of(there, state.now, state.with_node(self.node))

    def apply(self, state: State) -> None:
        """Add the node after all others, or in its place."""
        state.set_cluster(state.with_node(self.node))


class NodeDrained(Line, frozen=True, tag="drain-node"):
    """A node takes nothing new; what runs on it goes on."""

    node: str

    def check(self, state: State) -> None:
        """Refuse an unknown node."""
        state.node(self.node)

    def apply(self, state: State) -> None:
        """Say so of the node."""
        state.set_cluster(state.with_node(replace(state.node(self.node), state="drain")))


class NodeRemoved(Line, frozen=True, tag="remove-node"):
    """A node is gone, and what ran on it waits again."""

    node: str

    def check(self, state: State) -> None:
        """Refuse an unknown node, and the last one of a level that is one of several, or that jobs ask for."""
        state.node(self.node)
        jobs = {**state.jobs, **{job.id: job for job in self._lost(state)}}
        state.round_of(jobs.values(), state.now, self._without(state))

    def apply(self, state: State) -> None:
        """Take the node out, and stop its jobs; what is being carried out needs it no more."""
        lost = self._lost(state)
        if state.pending is not None:
            state.pending = state.pending.without_node(self.node)
        state.put(lost)
        state.set_cluster(self._without(state))

    def _without(self, state: State) -> Cluster:
        return replace(state.cluster, nodes=tuple(node for node in state.cluster.nodes if node.id != self.node))

    def _lost(self, state: State) -> list[Job]:
        """Return the jobs that were on the node, without it; one that waits had only been there before."""
        there = (job for job in state.jobs.values() if self.node in (job.placement or {}))
        return [stopped(job) if job.state == "running" else replace(job, placement=None) for job in there]
