"""Lists of machines: Philly's ``cluster_machine_list`` and openb's nodes, both as nodes of a round."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Final

from muri_opt.errors import InputError
from muri_opt.replay.traces.csv_columns import (
    Layout,
    header_of,
    name_cell,
    optional_cell,
    rows,
    unused_columns,
    whole_cell,
)
from muri_opt.replay.traces.skipped_rows import ReadReport, Tally
from muri_opt.replay.traces.timestamps import is_nothing
from muri_opt.rounds import Node
from muri_opt.rounds.quantities import MAX_CPUS, MAX_MEMORY_GIB, MIB_PER_GIB, MILLI_PER_CPU

OPENB_NODES: Final = Layout(needed=("sn", "gpu"), optional=("cpu_milli", "memory_mib", "model"))
_PHILLY_CELLS: Final = 3
_PHILLY_HEADER: Final = "machineid"


def machine_nodes(text: str) -> tuple[tuple[Node, ...], ReadReport]:
    """Return the machines with GPUs, in the order of the file; a header with ``sn`` is openb's, all else is Philly's.

    Of Philly's machines the memory of a GPU becomes the GPU type, which is what tells the two kinds apart.
    """
    is_openb = "sn" in header_of(text)
    tally, nodes = Tally(), dict[str, Node]()
    for line, node in _openb(text) if is_openb else _philly(text):
        if node.id in nodes:
            tally.add("duplicate-id", f"line {line} ({node.id})")
        elif node.gpus == 0:
            tally.add("machine-without-gpu", f"line {line} ({node.id})")
        else:
            nodes[node.id] = node
    if not nodes and not tally.left_out:
        raise InputError("line 1", "no machine", "at least one machine")
    unused = unused_columns(text, OPENB_NODES) if is_openb else ()
    return tuple(nodes.values()), tally.report(len(nodes), unused)


def _philly(text: str) -> Iterator[tuple[int, Node]]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    allowed = "a machine, its number of GPUs and the memory of one of them, such as 'm31,8, 24GB'"
    try:
        for position, row in enumerate(lines):
            cells, line = [cell.strip() for cell in row], lines.line_num
            if not any(cells) or (position == 0 and cells[0].lower() == _PHILLY_HEADER):
                continue
            if len(cells) != _PHILLY_CELLS:
                raise InputError(f"line {line}", f"{len(cells)} cells", allowed)
            gpus = whole_cell(line, "number of GPUs", cells[1])
            yield line, Node(id=name_cell(line, "machineId", cells[0]), gpus=gpus, gpu_type=cells[2] or None)
    except csv.Error as error:
        raise InputError(f"line {lines.line_num}", f"text that is not CSV ({error})", allowed) from None


def _openb(text: str) -> Iterator[tuple[int, Node]]:
    for line, (sn, gpu, cpu_milli, memory_mib, model) in rows(text, OPENB_NODES):
        name = name_cell(line, "sn", sn)
        gpus = whole_cell(line, "gpu", gpu)
        cpus = optional_cell(line, "cpu_milli", cpu_milli, MAX_CPUS * MILLI_PER_CPU)
        memory = optional_cell(line, "memory_mib", memory_mib, MAX_MEMORY_GIB * MIB_PER_GIB)
        yield (
            line,
            Node(
                id=name,
                gpus=gpus,
                cpus=None if cpus is None else cpus / MILLI_PER_CPU,
                memory_gib=None if memory is None else memory / MIB_PER_GIB,
                gpu_type=None if is_nothing(model) else model,
            ),
        )
