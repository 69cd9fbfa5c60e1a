"""Objects and dumps as a round of format 2, with a ledger of what it could not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from msgspec.structs import replace

from muri_opt.cli.kube.nodes import keeping_taints, level_labels, read_node
from muri_opt.cli.kube.objects import Object, documents, name_of, objects, of_kind, spec
from muri_opt.cli.kube.pods import (
    OVER,
    Gang,
    asked_of,
    group_of,
    jobs_of,
    named,
    needs_of,
    priority_of,
    queue_of,
    runs_on,
    seconds,
)
from muri_opt.cli.kube.queues import local_queues, read_tenants
from muri_opt.cli.kube.repeated import Seen
from muri_opt.cli.kube.volcano import is_volcano, volcano_gangs, volcano_nodes
from muri_opt.cli.kube.workload_pods import pods_of_workloads
from muri_opt.cli.ledger import Ledger
from muri_opt.cli.running_room import with_room
from muri_opt.cli.shape_told import shape_told
from muri_opt.errors import InputError
from muri_opt.rounds import Cluster, Job, Node, Round, Tenant
from muri_opt.rounds.error_text import shown

READ = (
    "Node",
    "Pod",
    "PodGroup",
    "Queue",
    "ClusterQueue",
    "LocalQueue",
    "Cohort",
    "Workload",
    "Topology",
    "ResourceFlavor",
    "PriorityClass",
)


def read_kube(files: Sequence[str]) -> tuple[Round, Ledger]:
    """Return the round that files describe together, and what of them it does not hold."""
    every = [(name, document) for name in files for document in documents(name)]
    ledger = Ledger()
    seen = Seen(ledger)
    dumps = seen.dumps_once([one for one in every if is_volcano(one[1])])
    plain = ((name, document) for name, document in every if not is_volcano(document))
    found = seen.once((name, one) for name, document in plain for one in objects(document))
    reader = _Reader(found, dumps, ledger)
    if not reader.nodes:
        raise InputError(
            ", ".join(files)[:200], "no nodes", "nodes, as 'kubectl get nodes,pods -A -o json' prints them"
        )
    with shape_told("objects", "Kubernetes"):
        return reader.round_(), reader.ledger


_Pods = tuple[str, list[Object]]
"""The pods of a gang, or one without, with the name of their job."""


class _Reader:
    """Reads all objects; jobs are pods, gangs of pods, and workloads of Kueue that are not admitted."""

    def __init__(self, every: Sequence[Object], dumps: Sequence[Mapping[str, Any]], ledger: Ledger) -> None:
        self.ledger = ledger
        self._every = every
        records = of_kind(every, "Node")
        with shape_told("nodes", "Kubernetes"):
            self._levels = level_labels(of_kind(every, "Topology"))
            self._taints = keeping_taints(records)
            names = [name_of(one) for one in records]
        self.nodes = dict[str, Node]()
        for name, one in zip(names, records, strict=True):
            with shape_told(f"node {shown(name)}", "Kubernetes"):
                node = read_node(one, self._levels)
                self.nodes[node.id] = node
        with shape_told("nodes", "Volcano"):
            self.nodes |= {node.id: node for document in dumps for node in volcano_nodes(document)}
        self._largest = max((node.gpus for node in self.nodes.values()), default=0)
        with shape_told("queues", "Kubernetes"):
            self._tenants = read_tenants(every, self.ledger)
            self._local = local_queues(every)
        with shape_told("pods", "Kubernetes"):
            self._groups = {name_of(one): one for one in of_kind(every, "PodGroup")}
            together = self._together()
            workloads = [(name_of(one), one) for one in of_kind(every, "Workload")]
        queued = dict[str, list[Job]]()
        for name, workload in workloads:
            with shape_told(f"workload {shown(name)}", "Kubernetes"):
                queued[name] = self._workload(workload)
        with shape_told("pods", "Kubernetes"):
            together = self._counted_once([one for name, one in workloads if queued[name]], together, queued)
        with shape_told("jobs", "Volcano"):
            dumped = [(gang.name, gang) for document in dumps for gang in volcano_gangs(document)]
        found = list[Job]()
        for name, some in together:
            with shape_told(f"pods of {shown(name)}", "Kubernetes"):
                found += self._jobs_of(self._gang(name, some))
        for name, gang in dumped:
            with shape_told(f"job {shown(name)}", "Volcano"):
                found += self._jobs_of(gang)
        found += [job for jobs in queued.values() for job in jobs]
        self._jobs = self._named_apart(found)
        self.ledger.jobs_read, self.ledger.nodes_read = len(self._jobs), len(self.nodes)
        for one in every:
            if one.get("kind") not in READ:
                kind = str(one.get("kind"))
                self.ledger.node(kind, f"objects of kind {kind} are not read")

    def round_(self) -> Round:
        """Return the round, at the latest moment that an object names."""
        moments = [seconds(meta_time(one)) for one in self._every]
        now = max((moment for moment in moments if moment is not None), default=0.0)
        named_tenants = {job.tenant for job in self._jobs if job.tenant is not None}
        tenants = self._tenants | {name: Tenant(id=name) for name in sorted(named_tenants - set(self._tenants))}
        jobs = tuple(self._jobs)
        nodes = with_room([*self.nodes.values()], jobs, self.ledger)
        cluster = Cluster(levels=self._levels, nodes=nodes, tenants=tuple(tenants.values()))
        return Round(format="muri-opt/round/2", name="kubernetes", now=now, cluster=cluster, jobs=jobs)

    def _named_apart(self, jobs: Sequence[Job]) -> list[Job]:
        """Return jobs of which no two have the same name, as a pod and a gang may have."""
        found, taken = dict[str, Job](), {job.id for job in jobs}
        for job in jobs:
            name = job.id
            if name in found:
                name = next(other for place in count(2) if (other := f"{job.id}#{place}") not in taken)
                taken.add(name)
                self.ledger.job(job.id, "the name of several jobs: those after the first have a number")
            found[name] = job if name == job.id else replace(job, id=name)
        return list(found.values())

    def _jobs_of(self, gang: Gang) -> list[Job]:
        return jobs_of(self._here(gang), self._largest, self.ledger)

    def _together(self) -> list[tuple[str, list[Object]]]:
        """Return the pods that have not ended, those of a gang together."""
        pods: dict[tuple[bool, str], list[Object]] = {}  # a pod without a group may have the name of one
        for pod in of_kind(self._every, "Pod"):
            if (pod.get("status") or {}).get("phase") in OVER:
                self.ledger.over += 1
            else:
                pods.setdefault((group_of(pod) is None, named(pod)), []).append(pod)
        return [(name, some) for (_, name), some in pods.items()]

    def _counted_once(
        self, workloads: Sequence[Object], together: Sequence[_Pods], queued: dict[str, list[Job]]
    ) -> list[_Pods]:
        """Return the pods without those that a workload stands for; a workload of which pods run is read as these."""
        for name, pods in pods_of_workloads(workloads, [pod for _, some in together for pod in some]).items():
            if any(runs_on(pod) is not None for pod in pods):
                self.ledger.job(name, "not admitted, and pods of it are on nodes: read as its pods")
                queued[name] = []
                continue
            self.ledger.job(name, "its own pods wait: counted once, as the workload")
            own = set(map(id, pods))
            together = [(group, [pod for pod in some if id(pod) not in own]) for group, some in together]
        return [(group, some) for group, some in together if some]

    def _gang(self, name: str, pods: Sequence[Object]) -> Gang:
        first = pods[0]
        group = self._groups.get(group_of(first) or "", {})
        least = spec(group).get("minMember")
        if least is not None and int(least) < len(pods):
            self.ledger.job(name, "a gang that could start with fewer pods: all are asked for")
        gated = any(spec(pod).get("schedulingGates") for pod in pods)
        waits = {"held": "a scheduling gate"} if gated and runs_on(first) is None else {}
        asked = asked_of(spec(first), self._taints, name, self.ledger) if runs_on(first) is None else {}
        return Gang(
            name=name,
            pods=[(needs_of(spec(pod)), runs_on(pod)) for pod in pods],
            fields={
                "tenant": self._tenant(first, group),
                "submitted": seconds(meta_time(first)) or 0.0,
                "priority": priority_of(spec(first).get("priority")),
                "preemptible": (spec(first).get("preemptionPolicy") or "") != "Never",
                **waits,
                **asked,
            },
        )

    def _here(self, gang: Gang) -> Gang:
        """Return a gang without pods on nodes that are not there; pods without GPUs take CPUs and memory off theirs."""
        kept = []
        for needs, node in gang.pods:
            if node is not None and node not in self.nodes:
                self.ledger.job(gang.name, f"a pod on node {node}, which is not there")
                continue
            if node is not None and not needs.gpus:
                self._less(node, needs.cpus, needs.memory_gib)
                continue
            if not needs.gpus:
                self.ledger.job(gang.name, "asks for no GPUs, and waits")
            kept.append((needs, node))
        return Gang(name=gang.name, pods=kept, fields=gang.fields)

    def _less(self, name: str, cpus: float, memory: float) -> None:
        node = self.nodes[name]
        left = max((node.cpus or 0.0) - cpus, 0.0), max((node.memory_gib or 0.0) - memory, 0.0)
        self.nodes[name] = replace(node, cpus=left[0], memory_gib=left[1])

    def _tenant(self, one: Object, group: Object) -> str | None:
        queue = queue_of(one) or spec(group).get("queue") or spec(one).get("queueName")
        if not queue:
            return None
        space = (one.get("metadata") or {}).get("namespace")
        return self._local.get(f"{space}/{queue}", str(queue)) or None

    def _workload(self, one: Object) -> list[Job]:
        """Return the job of a workload that is not admitted; what is admitted is there as pods."""
        name, said, status = name_of(one), spec(one), one.get("status") or {}
        states = {str(found.get("type")) for found in status.get("conditions") or () if found.get("status") == "True"}
        if "Finished" in states:
            self.ledger.over += 1
            return []
        if status.get("admission") or "Admitted" in states:
            self.ledger.job(name, "admitted: read as its pods, if they are in the files")
            return []
        sets = [found for found in said.get("podSets") or () if needs_of(_template(found)).gpus]
        if len(sets) != 1:
            self.ledger.job(name, f"{len(sets)} pod sets with GPUs in one gang")
            return []
        template, pods = _template(sets[0]), int(sets[0].get("count") or 1)
        fields = {
            "tenant": self._tenant(one, {}),
            "submitted": seconds(meta_time(one)) or 0.0,
            "priority": priority_of(said.get("priority")),
            "held": None if said.get("active", True) else "not active",
            **asked_of(template, self._taints, name, self.ledger),
        }
        gang = Gang(name=name, pods=[(needs_of(template), None)] * pods, fields=fields)
        return jobs_of(gang, self._largest, self.ledger)


def meta_time(one: Object) -> Any:
    """Return when an object was made, as it says."""
    return (one.get("metadata") or {}).get("creationTimestamp")


def _template(pod_set: Mapping[str, Any]) -> Mapping[str, Any]:
    return (pod_set.get("template") or {}).get("spec") or {}
