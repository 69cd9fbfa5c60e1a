"""One text for every cluster: so many equal nodes, or a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds import Cluster, Node, parse_round
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.files import MAX_FILE_BYTES
from muri_opt.rounds.quantities import MAX_GPUS, whole
from muri_opt.rounds.round import ROUND_FORMATS
from muri_opt.rounds.text_files import in_file, read_text

MOST_NODES: Final = 100_000
ALLOWED: Final = "nodes x GPUs of each, such as 8x8, or a file of a round or of a cluster"
_NODES_X_GPUS: Final = re.compile(r"([0-9]{1,9})x([0-9]{1,9})")


def cluster_from(text: str) -> Cluster:
    """Return the cluster that a text stands for: ``8x8``, or the name of a JSON file of a round or of a cluster alone.

    A file of a cluster alone holds what ``cluster`` is in a round: ``nodes`` and, if need be, ``tenants``.
    """
    parts = _NODES_X_GPUS.fullmatch(text)
    if parts is not None:
        nodes = whole("cluster nodes", int(parts[1]), MOST_NODES, 1)
        gpus = whole("cluster GPUs", int(parts[2]), MAX_GPUS, 1)
        return Cluster(nodes=tuple(Node(id=f"n{k}", gpus=gpus) for k in range(nodes)))
    if not Path(text).is_file():
        raise InputError("cluster", shown(text), ALLOWED)
    with in_file(text):
        return parse_round(_as_round(read_text(text, "a round or a cluster", MAX_FILE_BYTES))).cluster


def _as_round(text: str) -> str | bytes:
    """Return the text of a round around a cluster alone, so that one reader says what is wrong with either."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
    if not isinstance(found, dict) or "nodes" not in found:
        return text
    return msgspec.json.encode({"format": ROUND_FORMATS[1], "cluster": found, "jobs": []})
