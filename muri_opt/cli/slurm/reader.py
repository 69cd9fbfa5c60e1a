"""Records of Slurm as a round of format 2, and a ledger of what the round could not say.

Read are ``squeue --json`` with ``sinfo --json`` of 22.05, or with ``scontrol show nodes --json`` of 24.11 and later,
which wrap numbers and list states. Nothing is guessed: what a record asks for and the round does not say is noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from muri_opt.cli.ledger import Ledger
from muri_opt.cli.running_room import with_room
from muri_opt.cli.shape_told import shape_told
from muri_opt.cli.slurm.nodes import ALIKE, PARTITION, Nodes, Record
from muri_opt.cli.slurm.text import array_of, gib, gpus_in, node_names, number, one_task, part, tasks, word
from muri_opt.rounds import Cluster, Job, NodeRange, Plan, Round, Tenant, Within
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.job_demands import MAX_PRIORITY
from muri_opt.rounds.quantities import MAX_SECONDS, MIB_PER_GIB

RUNNING: Final = frozenset({"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT"})
"""States in which a job holds what it was given."""
WAITING: Final = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"})
HELD: Final = frozenset({"JobHeldUser", "JobHeldAdmin", "Dependency", "Reservation", "DependencyNeverSatisfied"})
MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A round, the ledger of what is not in it, and the record of every job by its id in the round."""

    round_: Round
    ledger: Ledger
    records: Mapping[str, Record]


def read_slurm(jobs: Sequence[Record], nodes: Sequence[Record], now: float | None = None) -> Reading:
    """Return the records of jobs that run or wait as a round; ``now`` is taken from the records if it is not given."""
    ledger = Ledger(jobs_read=len(jobs), nodes_read=len(nodes))
    with shape_told("jobs", "Slurm"):
        live = [job for job in jobs if word(job.get("job_state")) in RUNNING | WAITING]
        ledger.over = len(jobs) - len(live)
        moments = (number(job.get(field)) for job in live for field in ("submit_time", "last_sched_evaluation"))
        moment = max(moments, default=0.0) if now is None else now
    with shape_told("nodes", "Slurm"):
        read = Nodes(nodes, live, ledger)
        limits = {array_of(job): int(most) for job in live if (most := number(job.get("array_max_tasks")))}
    reader = _Reader(nodes=read, ledger=ledger, now=moment, limits=limits)
    found, records = list[Job](), dict[str, Record]()
    for record in live:
        with shape_told(f"job {shown(record.get('job_id'))}", "Slurm"):
            for job in reader.jobs(record):
                found.append(job)
                records[job.id] = record
    room = with_room(read.nodes, found, ledger)
    cluster = Cluster(levels=tuple(read.levels), nodes=room, tenants=tuple(reader.tenants.values()))
    round_ = Round(format="muri-opt/round/2", name="slurm", now=moment, cluster=cluster, jobs=tuple(found))
    return Reading(round_=round_, ledger=ledger, records=records)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """The GPUs of a job at its least size, on how many nodes, and how many on each node where that is said.

    Of a running job it is what it holds: the ``placement``, which is ``part`` of all that it has.
    """

    gpus: int
    gpu_type: str | None
    least: int
    most: int | None
    each: int | None
    widest: int
    placement: Mapping[str, int] | None = None
    part: float = 1.0


class _Reader:
    """Reads one record after another; tenants are added as jobs name them.

    ``limits`` are how many tasks of arrays may run at once: that is said by the record of those that are not begun.
    """

    def __init__(self, *, nodes: Nodes, ledger: Ledger, now: float, limits: Mapping[str, int]) -> None:
        self._nodes, self._ledger, self._now, self._limits = nodes, ledger, now, limits
        self.tenants: dict[str, Tenant] = {}

    def jobs(self, job: Record) -> Iterator[Job]:
        """Yield the job of a record, or the tasks of an array, or nothing where a round cannot hold it."""
        array, task = array_of(job), one_task(job.get("array_task_id"))
        name = f"{array}_{task[0]}" if task else str(job.get("job_id"))
        if number(job.get("het_job_id")):
            self._ledger.job(name, "heterogeneous job")
            return
        shape = _shape(job)
        if shape is None:
            self._without_gpus(name, job)
            return
        if word(job.get("job_state")) in RUNNING:
            held = _placement(job)
            if held is None:
                self._ledger.job(name, "runs, and its record does not say on which GPUs")
                return
            shape = self._as_held(name, shape, held)
            if shape is None:
                return
        if job.get("licenses"):
            self._ledger.job(name, f"licences: {job['licenses']}")
        account = str(job.get("account") or "") or None
        if account is not None:
            self.tenants.setdefault(account, Tenant(id=account))
        several = tasks(job.get("array_task_string"))
        said = self._said(name, job, shape) | {"tenant": account}
        if (several or task) and self._limits.get(array):
            own = f"array-{array}"
            self.tenants[own] = Tenant(id=own, parent=account, quota_gpus=self._limits[array] * shape.gpus)
            said["tenant"] = own
        names = [f"{array}_{task}" for task in several] or [name]
        yield from (Job(id=one, gpus=shape.gpus, **said) for one in names)

    def _as_held(self, name: str, shape: _Shape, held: Mapping[str, int]) -> _Shape | None:
        """Return what a running job holds of the nodes that are listed, as what it asks for; ``None`` if nothing."""
        here = {node: gpus for node, gpus in held.items() if node in self._nodes.by_name}
        if len(here) < len(held):
            self._ledger.job(name, "runs on nodes that are not listed, too" if here else "runs on nodes not listed")
        if not here:
            return None
        if sum(held.values()) != shape.gpus and shape.widest == shape.least:
            self._ledger.job(name, "holds another number of GPUs than it asks for: counted as asking for that")
        count, even = len(here), shape.each is not None and len({*here.values()}) == 1
        each = next(iter(here.values())) if even else None
        gpus = sum(here.values())
        return _Shape(
            gpus=gpus,
            gpu_type=shape.gpu_type,
            least=count,
            most=count,
            each=each,
            widest=count,
            placement=here,
            part=gpus / sum(held.values()),
        )

    def _without_gpus(self, name: str, job: Record) -> None:
        """Take what a running job without GPUs has off its nodes; one that waits is not in the round."""
        held = [one for one in node_names(job.get("nodes")) if one in self._nodes.by_name]
        if word(job.get("job_state")) not in RUNNING or not held:
            self._ledger.job(name, "asks for no GPUs, and waits")
            return
        self._ledger.job(name, "asks for no GPUs: its CPUs and memory are taken off its nodes")
        cpus, memory = number(job.get("cpus")), gib(job.get("tres_alloc_str")) or gib(job.get("tres_req_str")) or 0.0
        for node in held:
            self._nodes.less(node, cpus / len(held), memory / len(held))

    def _said(self, name: str, job: Record, shape: _Shape) -> dict[str, Any]:
        """Return the fields of a job beside its id, GPUs and tenant."""
        features, runs = str(job.get("features") or ""), word(job.get("job_state")) in RUNNING
        alike = ALIKE + features[1:-1] if features.startswith("[") else None
        self._note(name, job, shape)
        begins = number(job.get("eligible_time"))
        limit = MINUTE * number(job.get("time_limit"))
        limit = limit if limit <= MAX_SECONDS else 0.0  # no limit is the largest number that older versions have
        each = shape.each or 0
        widths = range(shape.least, shape.widest + 1) if shape.widest > shape.least else ()
        executed = max(self._now - (number(job.get("start_time")) or self._now), 0.0) if runs else 0.0
        return {
            "user": str(job.get("user_name") or "") or None,
            "submitted": number(job.get("submit_time")),
            "cpus": number(job.get("cpus")) * shape.part,
            "memory_gib": self._memory(name, job, shape) * shape.part,
            "state": "running" if runs else "waiting",
            "placement": shape.placement,
            "executed_seconds": executed if runs else None,
            **_length(limit - executed if limit else None),
            "priority": min(int(number(job.get("priority"))), MAX_PRIORITY),
            "gpu_types": None if shape.gpu_type is None else (shape.gpu_type,),
            "nodes": NodeRange(least=shape.least, most=shape.most),
            "even": shape.each is not None,
            "plans": tuple(Plan(name=f"{n} nodes", gpus=n * each, nodes=n, throughput=float(n)) for n in widths)
            or None,
            "requires": tuple(_requires(job, features, alike in self._nodes.levels)),
            "excludes": (f"nodes={job['excluded_nodes']}",) if job.get("excluded_nodes") else (),
            "within": Within(level=alike) if alike in self._nodes.levels else None,
            "preemptible": False,
            "held": None if runs else _held(job),
            "not_before": begins if begins > self._now and not runs else None,
            "deadline": number(job.get("deadline")) or None,
            "time_limit_seconds": limit or None,
        }

    def _note(self, name: str, job: Record, shape: _Shape) -> None:
        """Note what a record asks for that a round cannot say."""
        if job.get("required_nodes") and len(node_names(job["required_nodes"])) < shape.least:
            self._ledger.job(name, "some of its nodes, and any others")
        if number(job.get("required_switches")):
            self._ledger.job(name, "switches")
        if word(job.get("shared")) == "none" and any(node.gpus != shape.each for node in self._nodes.nodes):
            self._ledger.job(name, "exclusive nodes of which it asks for some GPUs only")

    def _memory(self, name: str, job: Record, shape: _Shape) -> float:
        """Return its memory in all: what it has or asks for, or all memory of its nodes."""
        if word(job.get("job_state")) in RUNNING:
            return gib(job.get("tres_alloc_str")) or gib(job.get("tres_req_str")) or 0.0
        if number(job.get("memory_per_node")) or number(job.get("memory_per_cpu")):
            return gib(job.get("tres_req_str")) or 0.0
        least, several = self._nodes.memory(job, shape.gpu_type)
        share = shape.gpus / MIB_PER_GIB  # all of a node in equal parts, which must not be rounded up
        if several:
            self._ledger.job(name, "asks for no memory and is given all of a node: counted as that of the smallest")
        return least * shape.least // share * share


def _shape(job: Record) -> _Shape | None:
    """Return what a job asks for in GPUs, or ``None`` where it asks for none."""
    least = part(job.get("tres_req_str"), "node") or int(number(job.get("node_count"))) or 1
    most = int(number(job.get("max_nodes"))) or None
    times = {"tres_per_node": least, "tres_per_job": 1, "tres_per_task": int(number(job.get("tasks"))) or 1}
    for field, multiple in times.items():
        asked = gpus_in(job.get(field))
        count, whole = sum(asked.values()), field == "tres_per_node"
        if count:
            return _Shape(
                gpus=count * multiple,
                gpu_type=next(iter(asked)) if len(asked) == 1 else None,
                least=least,
                most=least if whole else max(most, least) if most else None,
                each=count if whole else None,
                widest=max(most or least, least) if whole else least,
            )
    return None


def _length(seconds: float | None) -> dict[str, Any]:
    """Return how long a job takes, for policies that ask for it: to its time limit, in iterations of a second."""
    if seconds is None:
        return {}
    return {"iteration_seconds": 1.0, "remaining_iterations": max(ceil(seconds), 1)}


def _requires(job: Record, features: str, is_level: bool) -> Iterator[str]:
    """Yield the labels that a job asks for; features of which no node has any are a label that no node has."""
    if job.get("partition"):
        yield f"{PARTITION}{job['partition']}"
    if features and not is_level:
        yield from [features] if "|" in features else features.split("&")
    if job.get("required_nodes"):
        yield f"nodes={job['required_nodes']}"


def _held(job: Record) -> str | None:
    reason = word(job.get("state_reason"))
    if reason not in HELD and not job.get("hold"):
        return None
    words = (reason if reason in HELD else "JobHeldUser", job.get("dependency"), job.get("resv_name"))
    return " ".join(str(one) for one in words if one)


def _placement(job: Record) -> dict[str, int] | None:
    """Return the GPUs of a running job on each of its nodes, if its record says them."""
    names, details = node_names(job.get("nodes")), job.get("gres_detail") or ()
    held = [sum(gpus_in(one).values()) for one in details]
    if not names or len(names) != len(held):
        return None
    return {name: gpus for name, gpus in zip(names, held, strict=True) if gpus} or None
