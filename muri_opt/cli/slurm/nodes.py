"""Nodes of Slurm as nodes of a round: features, partitions and lists that jobs name become labels and levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from muri_opt.cli.ledger import Ledger
from muri_opt.cli.shape_told import shape_told
from muri_opt.cli.slurm.text import gpus_in, node_names, node_state, number, word
from muri_opt.errors import InputError
from muri_opt.rounds import Node

Record = Mapping[str, Any]
ALIKE: Final = "alike:"
"""Begins the name of a level made of features of which all nodes of a job have the same one."""
PARTITION: Final = "partition="
"""Begins the label of a node that is in a partition."""
MEBIBYTES: Final = 1024


def node_records(text: Mapping[str, Any]) -> list[Record]:
    """Return the records of nodes in what ``sinfo --json`` or ``scontrol show nodes --json`` prints.

    Newer versions of ``sinfo`` group nodes that are alike: each is then one record with what the group has.
    """
    if isinstance(text.get("nodes"), list):
        return list(text["nodes"])
    if isinstance(text.get("sinfo"), list):
        with shape_told("sinfo", "Slurm"):
            return _ungrouped(text["sinfo"])
    raise InputError("nodes", f"an object with {_keys(text)}", "'nodes' (scontrol show nodes --json) or 'sinfo'")


def job_records(text: Mapping[str, Any]) -> list[Record]:
    """Return the records of jobs in what ``squeue --json`` or ``scontrol show jobs --json`` prints."""
    if isinstance(text.get("jobs"), list):
        return list(text["jobs"])
    raise InputError("jobs", f"an object with {_keys(text)}", "'jobs', as squeue --json prints them")


class Nodes:
    """The nodes of a round, as far as the jobs that are there can tell them apart.

    ``levels`` are the sets of features of which the nodes of a job are to have one and the same, if a node has any.
    """

    def __init__(self, records: Sequence[Record], jobs: Sequence[Record], ledger: Ledger) -> None:
        asked = [str(job.get("features") or "") for job in jobs]
        self.levels = list(dict.fromkeys(ALIKE + one[1:-1] for one in asked if one.startswith("[")))
        self._either = {one for one in asked if "|" in one and not one.startswith("[")}
        self._several = {word(job.get("partition")) for job in jobs if "," in word(job.get("partition"))}
        lists = (str(job.get(field) or "") for job in jobs for field in ("required_nodes", "excluded_nodes"))
        self._named = {one: set(node_names(one)) for one in lists if one}
        self._ledger = ledger
        self.nodes = [self._node(record) for record in records if record.get("name")]
        self.by_name = {node.id: node for node in self.nodes}
        self.levels = [level for level in self.levels if any(level in (node.levels or {}) for node in self.nodes)]

    def memory(self, job: Record, gpu_type: str | None) -> tuple[float, bool]:
        """Return the memory of the smallest node that a job may be on, and whether others have more."""
        able = [node for node in self.nodes if gpu_type in (None, node.gpu_type)]
        partition = PARTITION + word(job.get("partition"))
        sizes = sorted({node.memory_gib or 0.0 for node in able if partition in node.labels})
        return (sizes[0] if sizes else 0.0), len(sizes) > 1

    def less(self, name: str, cpus: float, memory: float) -> None:
        """Take CPUs and memory off a node, for a job that the round cannot hold."""
        place = next(place for place, node in enumerate(self.nodes) if node.id == name)
        node = self.nodes[place]
        left = {"cpus": max((node.cpus or 0.0) - cpus, 0.0), "memory_gib": max((node.memory_gib or 0.0) - memory, 0.0)}
        self.nodes[place] = self.by_name[name] = _changed(node, left)

    def _node(self, record: Record) -> Node:
        name, features = str(record["name"]), _words(record.get("features"))
        gpus = gpus_in(record.get("gres"))
        if len(gpus) > 1:
            self._ledger.node(name, "GPUs of several types in one node, counted as one kind")
        if "shard:" in str(record.get("gres") or ""):
            self._ledger.node(name, "shards of GPUs, counted as whole GPUs")
        units = {level: sorted({*level[len(ALIKE) :].split("|")} & {*features})[:1] for level in self.levels}
        partitions = _words(record.get("partitions"))
        labels = [*features, *(PARTITION + one for one in partitions)]
        labels += [PARTITION + some for some in sorted(self._several) if {*some.split(",")} & {*partitions}]
        labels += [either for either in sorted(self._either) if {*either.split("|")} & {*features}]
        labels += [f"nodes={text}" for text, names in self._named.items() if name in names]
        return Node(
            id=name,
            gpus=sum(gpus.values()),
            gpu_type=next(iter(gpus)) if len(gpus) == 1 else None,
            cpus=number(record.get("effective_cpus")) or number(record.get("cpus")),
            memory_gib=number(record.get("real_memory")) / MEBIBYTES,
            labels=tuple(dict.fromkeys(label for label in labels if label)),
            levels={level: unit[0] for level, unit in units.items() if unit} or None,
            state=node_state(record),
        )


def partition_of(label: str) -> str:
    """Return the partition that a label says, or nothing.

    >>> partition_of("partition=train"), partition_of("nvlink")
    ('train', '')
    """
    return label[len(PARTITION) :] if label.startswith(PARTITION) else ""


def _changed(node: Node, fields: dict[str, float]) -> Node:
    from msgspec.structs import replace

    return replace(node, **fields)


def _words(said: Any) -> list[str]:
    """Return words that older versions have between commas."""
    return [str(one) for one in (said.split(",") if isinstance(said, str) else said or ()) if one]


def _ungrouped(groups: Sequence[Record]) -> list[Record]:
    found: dict[str, dict[str, Any]] = {}
    for group in groups:
        partition = word((group.get("partition") or {}).get("name"))
        for name in (group.get("nodes") or {}).get("nodes") or ():
            one = found.setdefault(
                name,
                {
                    "name": name,
                    "state": (group.get("node") or {}).get("state"),
                    "cpus": (group.get("cpus") or {}).get("minimum"),
                    "real_memory": (group.get("memory") or {}).get("minimum"),
                    "gres": (group.get("gres") or {}).get("total"),
                    "features": (group.get("features") or {}).get("total"),
                    "partitions": [],
                },
            )
            one["partitions"] += [partition] if partition else []
    return list(found.values())


def _keys(text: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, list(text)[:8])) or "nothing"
