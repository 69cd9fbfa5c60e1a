"""Rows of runs as a table: each policy on each trace, the mean over seeds with its 95 % confidence interval."""

from __future__ import annotations

import csv
from pathlib import Path

from muri_opt.studies.runner.intervals import interval_of

KEY = ("simulator", "trace", "seed", "policy", "method")
"""What names a run."""
COLUMNS = {
    "mean": ("mean", "{:,.0f}"),
    "median": ("median", "{:,.0f}"),
    "p99": ("99th", "{:,.0f}"),
    "makespan": ("makespan", "{:,.0f}"),
    "ftf_worst": ("fairness, worst", "{:.2f}"),
    "ftf_above_1": ("above 1", "{:.0%}"),
    "utilisation": ("GPUs used", "{:.0%}"),
    "stops": ("stops", "{:,.0f}"),
    "decision_cpu_ms": ("CPU ms", "{:,.0f}"),
}
"""Fields of a row with their headings and formats."""
WITH_INTERVAL = ("mean", "ftf_worst", "stops")
"""Fields whose mean is shown with half of its confidence interval."""


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file, none if there is none yet."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def tables(rows: list[dict[str, str]]) -> str:
    """Return a Markdown table for each simulator and trace, policies by their mean completion time.

    The last columns are how many decisions broke a rule, over all seeds, and how many seeds there are.
    """
    cells: dict[tuple[str, str], dict[tuple[str, str], list[dict[str, str]]]] = {}
    for row in rows:
        of_trace = cells.setdefault((row["simulator"], row["trace"]), {})
        of_trace.setdefault((row["policy"], row["method"]), []).append(row)
    texts = []
    for (simulator, trace), policies in cells.items():
        first = next(iter(policies.values()))[0]
        texts.append(f"### {simulator}, `{trace}`: {first['jobs']} jobs, {first['gpus']} GPUs\n")
        heads = ["policy", "method", *(head for head, _ in COLUMNS.values()), "proved", "broken rules", "seeds"]
        texts.append("| " + " | ".join(heads) + " |")
        texts.append("| --- | --- |" + " ---: |" * (len(heads) - 2))
        ordered = sorted(policies.items(), key=lambda item: _mean(item[1], "mean"))
        texts += [_line(policy, method, runs) for (policy, method), runs in ordered]
        texts.append("")
    return "\n".join(texts)


def _line(policy: str, method: str, runs: list[dict[str, str]]) -> str:
    shown = [f"`{policy}`", method]
    for field, (_, form) in COLUMNS.items():
        found = interval_of([float(row[field]) for row in runs])
        text = form.format(found.mean)
        if field in WITH_INTERVAL and found.high is not None:
            text += " ± " + form.format(found.high - found.mean)
        shown.append(text)
    shown.append(f"{_mean(runs, 'proved'):.0%}" if runs[0]["proved"] else "")
    shown += [str(sum(int(row["violations"]) for row in runs)), str(len(runs))]
    return "| " + " | ".join(shown) + " |"


def _mean(runs: list[dict[str, str]], field: str) -> float:
    return sum(float(row[field]) for row in runs) / len(runs)
