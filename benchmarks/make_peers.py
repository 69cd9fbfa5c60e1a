"""How the family ``peers`` of the library was made: ``python -m benchmarks.make_peers FOLDER`` makes it again.

Every case is solved to the optimum, which is stored as in all families; ``FOLDER/peers.json`` has the peers' answers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.peer_cases import PeerCase
from benchmarks.peer_cases_others import CASES
from muri_opt import Limits, solve_round
from muri_opt.studies.library import add

SECONDS = 20.0


def entry_of(case: PeerCase) -> dict[str, Any]:
    """Return what is stored of a case beside its round."""
    return {
        "instance": f"peers/{case.name}",
        "peer": case.peer,
        "file": case.file,
        "case": case.case,
        "policy": case.policy,
        "expected": case.expected,
        "ours": case.ours,
        "differs": case.differs,
        "note": case.note,
    }


def make(folder: Path, cases: Sequence[PeerCase] = CASES) -> None:
    """Write the rounds with their optima, and the peers' answers."""
    today = datetime.now(tz=UTC).date()
    for case in cases:
        result = solve_round(case.round_, case.policy, "auto", Limits(seconds=SECONDS))
        source = f"a case of the tests of {case.peer}, {case.file}: {case.case!r}"
        add(folder, f"peers/{case.name}", case.round_, [result], source=source, today=today)
    text = json.dumps([entry_of(case) for case in cases], indent=1)
    (folder / "peers.json").write_text(text + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    make(parser.parse_args().folder)
