"""A small reader of Slurm's JSON: records of jobs and nodes as a round of format 2, and what it could not say.

It reads ``squeue --json`` and ``sinfo --json`` of 22.05, and ``scontrol show nodes --json`` of 24.11 and later, which
wraps numbers and lists states. Nothing is guessed: what a record asks for and the round does not say is in ``lost``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slurm_text import gib, node_names, node_state, number, tasks, word

from muri_opt.rounds import Cluster, Job, Node, NodeRange, Plan, Round, Tenant, Within

Record = Mapping[str, Any]
SPREAD = "alike:"
"""Begins the name of a level made of features of which all nodes of a job have the same one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A round, and for each record what it asks for and is not in the round.

    ``charged`` are jobs that ask for no memory, are given all of their nodes, and may be on nodes of several sizes: in
    the round they take all of the smallest such node.
    """

    round_: Round
    lost: dict[str, list[str]]
    charged: list[str]


def read_slurm(jobs: Sequence[Record], nodes: Sequence[Record]) -> Reading:
    """Return the records of jobs that run or wait as a round."""
    live = [job for job in jobs if word(job["job_state"]) in ("RUNNING", "PENDING")]
    now = max(int(number(job[field])) for job in live for field in ("submit_time", "last_sched_evaluation"))
    lost: dict[str, list[str]] = {}
    tenants: dict[str, Tenant] = {}
    read = _Nodes(nodes, live)
    found = [one for job in live for one in _jobs(job, read, tenants, lost.setdefault(str(job["job_id"]), []), now)]
    cluster = Cluster(levels=tuple(read.levels), nodes=tuple(read.nodes), tenants=tuple(tenants.values()))
    round_ = Round(format="muri-opt/round/2", name="slurm", now=float(now), cluster=cluster, jobs=tuple(found))
    return Reading(round_=round_, lost={job: words for job, words in lost.items() if words}, charged=read.charged)


class _Nodes:
    """Nodes with features, partitions and what jobs name as labels; ``levels`` are the sets of features to be alike."""

    def __init__(self, records: Sequence[Record], jobs: Sequence[Record]) -> None:
        asked = [str(job.get("features") or "") for job in jobs]
        self.levels = list(dict.fromkeys(SPREAD + one[1:-1] for one in asked if one.startswith("[")))
        self._either = {one for one in asked if "|" in one and not one.startswith("[")}
        lists = (job.get(field) or "" for job in jobs for field in ("required_nodes", "excluded_nodes"))
        self._named = {one for one in lists if one}
        self.nodes = [self._node(record) for record in records]
        self.charged: list[str] = []

    def memory(self, job: Record, gpu_type: str | None) -> float:
        """Return the memory of the smallest node that a job may be on."""
        able = [node for node in self.nodes if gpu_type in (None, node.gpu_type)]
        sizes = sorted({node.memory_gib or 0.0 for node in able if f"partition={job['partition']}" in node.labels})
        if len(sizes) > 1:
            self.charged.append(str(job["job_id"]))
        return sizes[0]

    def _node(self, record: Record) -> Node:
        has = record["features"].split(",") if isinstance(record["features"], str) else list(record["features"])
        [(gpu_type, gpus)] = re.findall(r"gpu:(\w+):(\d+)", record["gres"])
        units = {level: sorted({*level[len(SPREAD) :].split("|")} & {*has})[:1] for level in self.levels}
        labels = [*has, *(f"partition={one}" for one in record["partitions"])]
        labels += [either for either in self._either if {*either.split("|")} & {*has}]
        labels += [f"nodes={names}" for names in self._named if record["name"] in node_names(names)]
        return Node(
            id=record["name"],
            gpus=int(gpus),
            gpu_type=gpu_type,
            cpus=record["cpus"],
            memory_gib=record["real_memory"] / 1024,
            labels=tuple(label for label in labels if label),
            levels={level: unit[0] for level, unit in units.items() if unit} or None,
            state=node_state(record),
        )


def _jobs(job: Record, nodes: _Nodes, tenants: dict[str, Tenant], lost: list[str], now: int) -> Iterator[Job]:
    """Yield the job of a record, or the tasks of an array; what is not said goes to ``lost``."""
    if number(job.get("het_job_id")):
        lost.append("heterogeneous job")
        return
    if job.get("licenses"):
        lost.append(f"licences: {job['licenses']}")
    shape = _shape(job)
    if account := job.get("account"):
        tenants.setdefault(account, Tenant(id=account))
    several = tasks(job.get("array_task_string") or "")
    said = _said(job, shape, nodes, lost, now) | {"tenant": account or None}
    if several and number(job.get("array_max_tasks")):
        own = f"array-{job['job_id']}"
        most = int(number(job["array_max_tasks"])) * shape.gpus
        tenants[own] = Tenant(id=own, parent=account or None, quota_gpus=most)
        said["tenant"] = own
    for task in several or [None]:
        name = str(job["job_id"]) if task is None else f"{job['job_id']}_{task}"
        yield Job(id=name, gpus=shape.gpus, **said)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """The GPUs of a job at its least size, on how many nodes, and how many on each node where that is said."""

    gpus: int
    gpu_type: str | None
    least: int
    most: int | None
    each: int | None
    widest: int


def _shape(job: Record) -> _Shape:
    least = int(dict(part.split("=") for part in job["tres_req_str"].split(","))["node"])
    most = int(number(job.get("max_nodes"))) or None
    for field, times in (("tres_per_node", least), ("tres_per_job", 1), ("tres_per_task", int(number(job["tasks"])))):
        if job.get(field):
            parts = re.split("[:/]", job[field])[2:]
            count = int(parts[-1])
            whole = field == "tres_per_node"
            return _Shape(
                gpus=count * times,
                gpu_type=parts[0] if len(parts) > 1 else None,
                least=least,
                most=least if whole else most,
                each=count if whole else None,
                widest=(most or least) if whole else least,
            )
    raise ValueError(f"job {job['job_id']}: no GPUs")


def _said(job: Record, shape: _Shape, nodes: _Nodes, lost: list[str], now: int) -> dict[str, Any]:
    """Return the fields of a job beside its id, GPUs and tenant."""
    features, runs = str(job.get("features") or ""), word(job["job_state"]) == "RUNNING"
    alike = features.startswith("[")
    requires = [f"partition={job['partition']}"]
    requires += [] if alike or not features else [features] if "|" in features else features.split("&")
    requires += [f"nodes={job['required_nodes']}"] if job.get("required_nodes") else []
    if job.get("required_nodes") and len(node_names(job["required_nodes"])) < shape.least:
        lost.append("some of its nodes, and any others")
    if number(job.get("required_switches")):
        lost.append("switches")
    if word(job.get("shared")) == "none" and any(node.gpus != shape.each for node in nodes.nodes):
        lost.append("exclusive nodes of which it asks for some GPUs only")
    waits = int(number(job.get("eligible_time")))
    reason = job.get("state_reason")
    held = reason if not runs and reason in ("JobHeldUser", "JobHeldAdmin", "Dependency", "Reservation") else None
    held = held and " ".join(filter(None, (held, job.get("dependency"), job.get("resv_name"))))
    each = shape.each or 0
    widths = range(shape.least, shape.widest + 1) if shape.widest > shape.least else ()
    return {
        "user": job["user_name"],
        "submitted": float(number(job["submit_time"])),
        "cpus": float(number(job["cpus"])),
        "memory_gib": _memory(job, shape, nodes),
        "state": "running" if runs else "waiting",
        "placement": _placement(job) if runs else None,
        "priority": int(number(job["priority"])),
        "gpu_types": None if shape.gpu_type is None else (shape.gpu_type,),
        "nodes": NodeRange(least=shape.least, most=shape.most),
        "even": shape.each is not None,
        "plans": tuple(Plan(name=f"{n} nodes", gpus=n * each, nodes=n, throughput=float(n)) for n in widths) or None,
        "requires": tuple(requires),
        "excludes": (f"nodes={job['excluded_nodes']}",) if job.get("excluded_nodes") else (),
        "within": Within(level=SPREAD + features[1:-1]) if alike else None,
        "preemptible": False,
        "held": held or None,
        "not_before": float(waits) if waits > now and not runs else None,
        "deadline": float(number(job.get("deadline"))) or None,
        "time_limit_seconds": 60.0 * float(number(job["time_limit"])) or None,
    }


def _memory(job: Record, shape: _Shape, nodes: _Nodes) -> float:
    """Return its memory in all: what it has or asks for, or all memory of its nodes."""
    if word(job["job_state"]) == "RUNNING":
        return gib(job["tres_alloc_str"])
    if number(job.get("memory_per_node")) or number(job.get("memory_per_cpu")):
        return gib(job["tres_req_str"])
    return nodes.memory(job, shape.gpu_type) * shape.least


def _placement(job: Record) -> dict[str, int]:
    held = (int(re.findall(r"gpu:\w+:(\d+)", part)[0]) for part in job["gres_detail"])
    return dict(zip(node_names(job["nodes"]), held, strict=True))
