"""Rows of runs as tables: each policy on each trace, the mean over seeds with its 95 % confidence interval.

A further table for each simulator has ours against the best of theirs, job for job the same workloads.
"""

from __future__ import annotations

import csv
from math import log
from pathlib import Path

from examples.simulators import THEIRS
from muri_opt.studies.runner.intervals import interval_of, paired, ratio_of

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
    "decision_ms": ("ms", "{:,.0f}"),
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


def against_theirs(rows: list[dict[str, str]]) -> str:
    """Return a Markdown table for each simulator: mean completion times of ours over those of the best of theirs.

    The best of theirs is that with the shortest mean on the same trace and seed, another one each time perhaps. The
    last columns are the geometric mean over all of these workloads with its interval, in how many of them ours is
    shorter, and Wilcoxon's signed-rank test of the logarithms of the ratios.
    """
    texts = []
    for simulator in dict.fromkeys(row["simulator"] for row in rows):
        best: dict[tuple[str, str], float] = {}
        ours: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
        for row in rows:
            if row["simulator"] != simulator:
                continue
            workload, mean = (row["trace"], row["seed"]), float(row["mean"])
            if row["method"] == THEIRS:
                best[workload] = min(mean, best.get(workload, mean))
            else:
                ours.setdefault((row["policy"], row["method"]), {})[workload] = mean
        traces = list(dict.fromkeys(trace for trace, _ in best))
        texts.append(f"### {simulator}: mean completion time over that of the best of theirs\n")
        texts.append("| policy | method | " + " | ".join(f"`{trace}`" for trace in traces) + " | all | shorter | p |")
        texts.append("| --- | --- |" + " ---: |" * (len(traces) + 3))
        for (policy, method), means in ours.items():
            known = {workload: mean for workload, mean in means.items() if workload in best}
            shown = [_ratio([known[at] / best[at] for at in known if at[0] == trace]) for trace in traces]
            shown.append(_ratio_of_all(list(known.values()), [best[at] for at in known]))
            test = paired([log(mean) for mean in known.values()], [log(best[at]) for at in known])
            p = "" if test.p is None else f"{test.p:.3f}"
            counted = f"{test.smaller} of {test.pairs}"
            texts.append("| " + " | ".join([f"`{policy}`", method, *shown, counted, p]) + " |")
        texts.append("")
    return "\n".join(texts)


def _ratio(ratios: list[float]) -> str:
    if not ratios:
        return ""
    found = interval_of(ratios)
    return f"{found.mean:.3f}" + ("" if found.high is None else f" ± {found.high - found.mean:.3f}")


def _ratio_of_all(means: list[float], firsts: list[float]) -> str:
    if not means:
        return ""
    found = ratio_of(means, firsts)
    ends = "" if found.low is None else f" ({found.low:.3f} to {found.high:.3f})"
    return f"{found.mean:.3f}{ends}"


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
