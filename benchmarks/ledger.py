"""The ledger: what this version comes to on a fixed set, as one row of the table in ``docs/benchmarks.md``.

Gaps are of every policy's own algorithm on the rounds of the library's family ``small``, under the policies that it
stores optima of: the mean (worst) part of the optimum that is missed, by system. ``proved`` is how many of the pairs of
round and policy ``auto`` solves to the end within ten seconds. Ratios are how many times less time than the other side
takes, both measured in this run. ``--write`` puts the row into the file, in the place of one of the same version; the
other rows stay.
"""

from __future__ import annotations

import argparse
import datetime
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks import afs, knapsack, matching, model_building
from benchmarks.clock import median
from muri_opt import __version__
from muri_opt.algorithms.knapsack import solve_options
from muri_opt.algorithms.matching import max_weight_matching
from muri_opt.rounds import Limits
from muri_opt.solve.solvers import backend_named
from muri_opt.studies.compare import CompareRow, Pair, compare, pairs_of
from muri_opt.systems.afs import afs_shares, scan_order
from muri_opt.systems.muri.interleaving import pair_weights_ppm

LEDGER = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
FAMILY = "small"
SECONDS = 10.0
SYSTEMS = {
    "Muri": ("muri-s", "muri-l"),
    "AFS": ("afs-l", "afs-p"),
    "Rubick": ("rubick",),
    "AITurbo": ("aiturbo",),
    "Philly": ("philly",),
}
OTHERS = "baselines"
VERTICES = 200
BEGIN, END = "<!-- ledger -->", "<!-- end of the ledger -->"


def build_ratio() -> float:
    """Return PuLP's time for building a set-packing model over ours, handed to HiGHS."""
    packing = model_building.Packing()
    return model_building.seconds(packing.from_expressions) / model_building.seconds(
        model_building.hand_over(packing, "highs")
    )


def matching_ratio() -> float:
    """Return the time networkx takes for a matching of the same value over ours."""
    weights = pair_weights_ppm(matching.stage_times(VERTICES, "models"))
    ours = median(lambda: max_weight_matching(weights))
    found = [max_weight_matching(weights).value]
    theirs = median(
        lambda: found.append(max_weight_matching(weights, engine="networkx").value), repeats=1, first_counts=True
    )
    assert len(set(found)) == 1
    return theirs / ours


def sharing_ratio() -> float:
    """Return the time of the plain double loop of AFS, 1,000 jobs on 2,000 GPUs, over that of the same shares."""
    speed, cap, left = afs.jobs_of("Amdahl", 1000)
    order = scan_order("longest", left)
    ours, shares = afs.timed(lambda: afs_shares(speed, cap, left, 2000, scan=order), 5)
    rows = speed.tolist(), cap.tolist(), left.tolist(), 2000, order.tolist()
    theirs, expected = afs.timed(lambda: afs.plain_loop(*rows), 3)
    assert shares.tolist() == expected
    return theirs / ours


def options_ratio() -> float:
    """Return the time HiGHS takes for one option per job of 200 over ours, both to the proved optimum."""
    highs, options = backend_named("highs"), knapsack.drawn(200, "concave")
    limits = Limits(seconds=knapsack.WHOLE_SECONDS)
    ours = median(lambda: solve_options(options, highs.solve, limits), 3)
    theirs = median(lambda: highs.solve(knapsack.whole_program(options), limits), 1)
    return theirs / ours


RATIOS: dict[str, Callable[[], float]] = {
    "model, against PuLP": build_ratio,
    f"matching of {VERTICES}, networkx": matching_ratio,
    "AFS shares, plain loop": sharing_ratio,
    "options of 200 jobs, HiGHS": options_ratio,
}
HEAD = ("version", "date", "proved", *SYSTEMS, OTHERS, *RATIOS)


def gap_cells(rows: Sequence[CompareRow]) -> list[str]:
    """Return how many pairs are proved, and the mean (worst) part that heuristics miss, by system."""
    pairs = pairs_of(rows)
    parts: dict[str, list[float]] = {name: [] for name in (*SYSTEMS, OTHERS)}
    for pair in pairs:
        own = pair.policy.partition(":")[0]
        system = next((name for name, policies in SYSTEMS.items() if own in policies), OTHERS)
        parts[system].append(missed(pair))
    proved = sum(pair.optimal for pair in pairs)
    shown = [f"{fmean(found):.1%} ({max(found):.1%})".replace("%", " %") if found else "" for found in parts.values()]
    return [f"{proved:,} of {len(pairs):,}", *shown]


def missed(pair: Pair) -> float:
    """Return the part of the optimum, or of the least bound, that the heuristic misses."""
    (row,) = (row for row in pair.rows if row.method == "heuristic")
    loss = pair.loss(row)
    if loss is None:
        raise ValueError(f"{pair.instance}, {pair.policy}: no value or no bound")
    return loss


def with_row(text: str, cells: Sequence[str]) -> str:
    """Return the text of the page with a row in its ledger, in the place of the row of the same version."""
    before, begun, rest = text.partition(BEGIN)
    table, ended, after = rest.partition(END)
    if not begun or not ended:
        raise ValueError(f"no ledger between {BEGIN} and {END}")
    kept = [line for line in table.splitlines() if re.match(r"\| \d", line) and not line.startswith(f"| {cells[0]} |")]
    lines = [_line(HEAD), _line(["---"] * 2 + ["---:"] * (len(HEAD) - 2)), *kept, _line(cells)]
    return before + begun + "\n\n" + "\n".join(lines) + "\n\n" + ended + after


def main(arguments: list[str] | None = None) -> None:
    """Measure this version, print its row, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the row into docs/benchmarks.md")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        rows = compare([FAMILY], folder=folder, methods=("heuristic", "auto"), seconds=SECONDS, jobs=1)
    ratios = [f"{measure():.0f}" for measure in RATIOS.values()]
    cells = [__version__, datetime.datetime.now(datetime.UTC).date().isoformat(), *gap_cells(rows), *ratios]
    print(_line(HEAD), _line(cells), sep="\n")
    if given.write:
        LEDGER.write_text(with_row(LEDGER.read_text(), cells))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
