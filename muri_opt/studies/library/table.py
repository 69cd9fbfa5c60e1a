"""The table of optima, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from muri_opt.rounds.percent import percent
from muri_opt.studies.library.best import Optimum
from muri_opt.studies.library.gaps import measure_name
from muri_opt.studies.library.instance import FAMILIES, Instance

_HEAD = """# Instances

Rounds with the best value and bound that are known. `<name>.json` is a round in the format of
[schema.json](schema.json), or, where that would be large, the call of the generator that makes it. `<name>.best.json`
has the value, the bound, who proved it, how and when, the decision, and the evidence that anybody can check again;
large ones are compressed (`.best.json.gz`).

```
muri-opt library list               what there is
muri-opt library verify             check every optimum from its file
muri-opt library refresh            solve again what is open; keep what is better and verified
muri-opt library challenge ANSWERS  verify and rank answers of your own
muri-opt library table              this page
```

A value is compared within one policy only: what it counts is a matter of the policy (`muri-opt solve` prints the unit).
More is better. The bound is no less than the optimum; where the two are equal, the value is the optimum. *Proved by*:
dual values, counting and enumeration are checked again in whole numbers by `verify`, without a solver; where solvers
agree, the optimum is the claim of two independent ones. Where a *gap* of an algorithm is listed, `verify` runs the
algorithm again and checks the proof of the optimum beside it.
"""


def readme_text(instances: Sequence[Instance]) -> str:
    """Return the page about the instances, a section per family; ``instances/README.md`` is that of all of them."""
    parts = [_HEAD, *_summary(instances)]
    for family in FAMILIES:
        own = [instance for instance in instances if instance.family == family]
        parts += _family(family, own) if own else []
    return "\n".join(parts)


def gap_text(optimum: Optimum) -> str:
    """Return the relative gap in percent, with ``0`` only where it is none."""
    return "0" if optimum.gap == 0 else percent(optimum.gap)


def _summary(instances: Sequence[Instance]) -> list[str]:
    lines = ["| family | what it is | rounds | optima | proved |", "| --- | --- | --- | --- | --- |"]
    for family, what in FAMILIES.items():
        own = [instance for instance in instances if instance.family == family]
        optima = [optimum for instance in own for optimum in instance.best.optima]
        proved = sum(optimum.proved for optimum in optima)
        lines += [f"| {family} | {what} | {len(own)} | {len(optima)} | {proved} |"] if own else []
    return [*lines, ""]


def _family(family: str, own: Sequence[Instance]) -> list[str]:
    lines = [
        f"## {family}",
        "",
        "| round | jobs | nodes | policy | value | bound | gap | proved by | date |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for instance in own:
        lines += [_row(instance, optimum, first=not place) for place, optimum in enumerate(instance.best.optima)]
    lines += _gaps(own)
    lines += ["", "Where they come from:", ""]
    lines += [f"- `{', '.join(names)}`: {source}" for source, names in _sources(own).items()]
    return [*lines, ""]


def _gaps(own: Sequence[Instance]) -> list[str]:
    """Return the table of how far algorithms are from the optimum; nothing where no gap is stored."""
    rows = [
        (
            instance.name.partition("/")[2],
            f"`{gap.policy}`",
            measure_name(gap),
            _exact_text(gap.reached),
            _exact_text(gap.optimum),
            f"{100 * float(gap.relative):.2f} %",
        )
        for instance in own
        for gap in instance.best.gaps
    ]
    if not rows:
        return []
    head = ["", "| round | algorithm | measure | reached | optimum | gap |", "| --- | --- | --- | --- | --- | --- |"]
    measures = (
        "`value`: the algorithm's decision is worth so much less than the optimum. `completion`: seconds until jobs",
        "are done, summed over the jobs, if the algorithm decides at every completion; so much more than the optimum.",
    )
    return [*head, *(f"| {' | '.join(cells)} |" for cells in rows), "", *measures]


def _exact_text(number: int | str) -> str:
    """Return the number as people read it, rounded where it is a fraction."""
    exact = Fraction(number)
    return f"{exact.numerator:,}" if exact.denominator == 1 else f"{float(exact):,.4f}"


def _row(instance: Instance, optimum: Optimum, *, first: bool) -> str:
    own = instance.name.partition("/")[2]
    size = (own, f"{instance.jobs:,}", f"{instance.nodes:,}") if first else ("", "", "")
    bound = "none" if optimum.bound is None else f"{optimum.bound:,}"
    proof = "nobody" if optimum.proof is None else optimum.proof.words
    cells = (*size, f"`{optimum.policy}`", f"{optimum.value:,}", bound, gap_text(optimum), proof, str(optimum.date))
    return f"| {' | '.join(cells)} |"


def _sources(own: Sequence[Instance]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for instance in own:
        found.setdefault(instance.best.source, []).append(instance.name.partition("/")[2])
    return found
