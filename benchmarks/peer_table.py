"""The table of peers' cases in ``docs/peers.md``, from ``instances/peers.json``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

HEADING = ("case", "what the peer's test has", "policy", "runs", "waits or is stopped", "the same?")


def peer_table(entries: Iterable[Mapping[str, Any]]) -> str:
    """Return a row for each case: who runs and who waits by the peer, and whether our optimum is the same."""
    rows = [HEADING, tuple("---" for _ in HEADING)]
    for entry in entries:
        expected = entry["expected"]
        runs = [
            f"{job}: {' + '.join(f'{node} x{gpus}' for node, gpus in at.items())}" for job, at in expected.items() if at
        ]
        rest = [job for job, at in expected.items() if at is None]
        same = "yes" if entry["differs"] is None else f"no: {entry['differs']}"
        note = f" {entry['note']}" if entry["note"] else ""
        test = f'{entry["peer"].split()[0]}, `{entry["file"]}`: "{entry["case"]}".{note}'
        rows.append(
            (
                f"`{entry['instance']}`",
                test,
                f"`{entry['policy']}`",
                ", ".join(runs) or "-",
                ", ".join(rest) or "-",
                same,
            )
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"
