"""Which labels of nodes are those of a kind of node, and which name a single one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from muri_opt.rounds import Node

HOSTS: Final = frozenset({"kubernetes.io/hostname", "hostname", "host"})
"""Keys of labels whose value is the name of a node."""


def labels_in_common(nodes: Sequence[Node], every: Sequence[Node]) -> tuple[str, ...]:
    """Return the labels that all of some nodes have, without those that name a single node.

    A label names a node if its key says so, if its value is the node's id, or if ``every`` node that has the key has
    another value although some of them are of one type and size: then it is by the key that these are told apart.

    >>> nodes = [Node(id=name, gpus=8, labels=("disk=ssd", f"host={name}")) for name in ("n0", "n1")]
    >>> labels_in_common(nodes[:1], nodes)
    ('disk=ssd',)
    """
    if not nodes:
        return ()
    shared = set[str].intersection(*(set(node.labels) for node in nodes))
    naming = HOSTS | (_telling_apart(every) if shared else set())
    ids = {node.id for node in nodes}
    return tuple(sorted(label for label in shared if _key(label) not in naming and _value(label) not in ids))


def _telling_apart(nodes: Sequence[Node]) -> set[str]:
    """Return the keys of which no two nodes have the same value, though nodes of one type and size have them."""
    values, kinds = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[object]](Counter)
    for node in nodes:
        for label in node.labels:
            key, equals, value = label.partition("=")
            if equals:
                values[key][value] += 1
                kinds[key][node.gpu_type, node.gpus] += 1
    return {key for key, each in values.items() if max(each.values()) == 1 < max(kinds[key].values())}


def _key(label: str) -> str:
    return label.partition("=")[0] if "=" in label else ""


def _value(label: str) -> str:
    return label.partition("=")[2] or label
