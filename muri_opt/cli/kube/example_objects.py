"""Small objects of Kubernetes, Kueue, KAI Scheduler and Volcano, written by hand from their public types.

They are what ``muri-opt kube example`` prints, and what the reader is tried on.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
GPU = "nvidia.com/gpu"
MADE = "2026-01-02T03:04:05Z"


def node(name: str, gpus: int = 8, *, product: str = "A100", **spec: Any) -> Object:
    """Return a node with labels and, beside its GPUs, 96 CPUs and 1,000 GiB; ``ready`` is its condition."""
    labels = {"kubernetes.io/hostname": name, "nvidia.com/gpu.product": product, "rack": f"rack-{name[-1]}"}
    ready = spec.pop("ready", "True")
    has = {"cpu": "96", "memory": "1000Gi", GPU: str(gpus)}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": MADE},
        "spec": spec,
        "status": {"allocatable": has, "conditions": [{"type": "Ready", "status": ready}]},
    }


def containers(gpus: int, cpu: str = "4", memory: str = "16Gi") -> list[Object]:
    """Return one container that requests so much."""
    requests = {"cpu": cpu, "memory": memory}
    limits = {GPU: str(gpus)} if gpus else {}
    return [{"name": "main", "resources": {"requests": requests, "limits": limits}}]


def pod(name: str, gpus: int = 1, on: str | None = None, *, group: str | None = None, **spec: Any) -> Object:
    """Return a pod of the namespace ``team``, on a node or waiting."""
    annotations = {} if group is None else {"scheduling.k8s.io/group-name": group}
    labels = spec.pop("labels", {})
    phase = spec.pop("phase", "Pending" if on is None else "Running")
    placed = {} if on is None else {"nodeName": on}
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "team",
            "labels": labels,
            "annotations": annotations,
            "creationTimestamp": MADE,
        },
        "spec": {"containers": spec.pop("containers", containers(gpus)), **placed, **spec},
        "status": {"phase": phase},
    }


def listed(*objects: Object) -> Object:
    """Return a list as ``kubectl -o json`` prints it."""
    return {"kind": "List", "items": list(objects)}


def cluster_queue(name: str, quota: int, *, cohort: str | None = None, **limits: int) -> Object:
    """Return a cluster queue of Kueue with a quota of GPUs."""
    resource = {"name": GPU, "nominalQuota": str(quota), **limits}
    flavors = [{"name": "a100", "resources": [{"name": "cpu", "nominalQuota": "100"}, resource]}]
    spec: Object = {"resourceGroups": [{"coveredResources": ["cpu", GPU], "flavors": flavors}]}
    return {
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": spec | ({} if cohort is None else {"cohort": cohort}),
    }


def local_queue(name: str, queue: str) -> Object:
    """Return a local queue of Kueue."""
    return {"kind": "LocalQueue", "metadata": {"name": name, "namespace": "team"}, "spec": {"clusterQueue": queue}}


def workload(name: str, gpus: int, count: int = 1, **spec: Any) -> Object:
    """Return a workload of Kueue with one set of pods."""
    sets = [{"name": "main", "count": count, "template": {"spec": {"containers": containers(gpus)}}}]
    status = spec.pop("status", {})
    return {
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "team", "creationTimestamp": MADE},
        "spec": {"queueName": "train", "podSets": sets, **spec},
        "status": status,
    }


def volcano_node(name: str, gpus: int) -> Object:
    """Return a node as Volcano's scheduler keeps it."""
    return {"Name": name, "Allocatable": _resources(gpus, 96_000, 1000), "Tasks": {}}


def volcano_job(name: str, gpus: int, on: list[str | None], queue: str = "default") -> Object:
    """Return a job as Volcano's scheduler keeps it, a task for each place."""
    tasks = {
        f"{name}-{place}": {
            "Name": f"{name}-{place}",
            "Resreq": _resources(gpus, 4000, 16),
            "NodeName": where or "",
            "Status": 1 if where is None else 32,
        }
        for place, where in enumerate(on)
    }
    return {"Name": name, "Namespace": "team", "Queue": queue, "Priority": 3, "MinAvailable": len(on), "Tasks": tasks}


def _resources(gpus: int, milli_cpu: int, gib: int) -> Object:
    return {"MilliCPU": milli_cpu, "Memory": gib * 2**30, "ScalarResources": {GPU: gpus * 1000}}


def kueue_example() -> list[Object]:
    """Return two nodes, a job that runs and two workloads in the queue of a team that may borrow two GPUs."""
    runs = pod("bert-0", 4, "node-1", labels={"kueue.x-k8s.io/queue-name": "train"})
    queues = (
        cluster_queue("nlp", 4, cohort="research", borrowingLimit=2),
        cluster_queue("vision", 12, cohort="research"),
        local_queue("train", "nlp"),
    )
    return [listed(node("node-1"), node("node-2"), runs), listed(*queues, workload("t5", 2), workload("gpt", 4, 2))]


def kai_example() -> list[Object]:
    """Return the raw objects of a snapshot: a gang that waits because another queue's pod holds what it needs."""
    queues = [
        {"metadata": {"name": "research"}, "spec": {"resources": {"gpu": {"quota": 8, "limit": -1}}}},
        {"metadata": {"name": "nlp"}, "spec": {"parentQueue": "research", "resources": {"gpu": {"limit": 8}}}},
    ]
    groups = [{"metadata": {"name": "llama", "namespace": "team"}, "spec": {"queue": "nlp", "minMember": 2}}]
    gang = [pod(f"llama-{place}", 4) for place in range(2)]
    for one in gang:
        one["metadata"]["annotations"]["pod-group-name"] = "llama"
    holds = pod("vit-0", 2, "node-2", labels={"kai.scheduler/queue": "research"})
    raw = {
        "nodes": [node("node-1", 4), node("node-2", 4)],
        "pods": [holds, *gang],
        "queues": queues,
        "podGroups": groups,
    }
    return [{"config": {}, "schedulerParams": {}, "rawObjects": raw}]


def volcano_example() -> list[Object]:
    """Return a job as Volcano's scheduler keeps it, a task for each place."""
    """Return a node as Volcano's scheduler keeps it."""
    """Return a workload of Kueue with one set of pods."""
    """Return a local queue of Kueue."""
    """Return a cluster queue of Kueue with a quota of GPUs."""
    """Return a list as ``kubectl -o json`` prints it."""
    """Return a pod of the namespace ``team``, on a node or waiting."""
    """Return one container that requests so much."""
    """Return a node with labels and, beside its GPUs, 96 CPUs and 1,000 GiB; ``ready`` is its condition."""
    """Return the documents of a dump: a job that runs and one that finds no node with four GPUs free."""
    jobs = (volcano_job("bert", 3, ["node-1", "node-2"]), volcano_job("gpt", 4, [None], queue="nlp"))
    nodes = (volcano_node("node-1", 4), volcano_node("node-2", 4))
    return [{one["Name"]: one for one in nodes}, {}, {f"team/{one['Name']}": one for one in jobs}]


EXAMPLES = {"kueue": kueue_example, "kai": kai_example, "volcano": volcano_example}
