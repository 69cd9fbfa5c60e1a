"""What a gap study says: how each method does under each policy, which optima are proved, and who contradicts whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any, Final

from muri_opt.rounds import Proof, Reason
from muri_opt.rounds.percent import percent
from muri_opt.studies.compare.pairs import Pair, pairs_of
from muri_opt.studies.compare.repeats import HEAD as REPEATS_HEAD, WORDS as REPEATS_WORDS, LossRepeats, loss_repeats
from muri_opt.studies.compare.rows import VIOLATED, CompareRow
from muri_opt.studies.runner.intervals import STATISTICS
from muri_opt.studies.runner.methods import HEURISTIC
from muri_opt.studies.runner.result_tables import markdown_table

HEAD: Final = (
    "policy",
    "method",
    "runs",
    "refused",
    "optimal",
    "claimed",
    "best",
    "mean loss",
    "worst loss",
    "median time",
    "total time",
)
WORDS: Final = 2
"""So many of the first columns hold words, the others numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodSummary:
    """One method under one policy, over all rounds.

    ``optimal`` counts values that meet this method's own bound, ``claimed`` those that meet only what its solver
    claims, ``best`` those that no method has exceeded. A loss is what a value falls short of the best bound of all
    methods, as a part of the bound. Seconds are of runs that were not refused.
    """

    policy: str
    method: str
    runs: int
    refused: int
    optimal: int
    claimed: int
    best: int
    mean_loss: float | None
    worst_loss: float | None
    median_seconds: float | None
    total_seconds: float

    def cells(self) -> list[str]:
        """Return the line of the table."""
        counts = [f"{number:,}" for number in (self.runs, self.refused, self.optimal, self.claimed, self.best)]
        losses = [percent(self.mean_loss, "-"), percent(self.worst_loss, "-")]
        middle = "-" if self.median_seconds is None else f"{self.median_seconds:.3f} s"
        return [self.policy, self.method, *counts, *losses, middle, f"{self.total_seconds:,.2f} s"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A study as a whole. A pair is a round under a policy; ``pairs`` are those that some method takes.

    ``exact`` of them were taken by a method with an exact program. The optimum of ``proved`` pairs was checked in whole
    numbers or is that of two solvers, as ``proofs`` says; that of ``claimed`` is the word of one solver alone.
    ``agreed`` were solved to the end by two or more exact methods, all with one value. ``repeats`` are the losses with
    their intervals, where there are several rounds. The lists are lines of text:
    who contradicts whom, what is left open, which runs failed or broke rules.
    """

    methods: tuple[MethodSummary, ...]
    repeats: tuple[LossRepeats, ...]
    pairs: int
    refused: int
    exact: int
    proved: int
    proofs: Mapping[str, int]
    claimed: int
    agreed: int
    contradictions: tuple[str, ...]
    open: tuple[str, ...]
    failed: tuple[str, ...]
    violated: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return what is known of the pairs, in a few sentences."""
        how = ", ".join(f"{number:,} by {Proof(proof).words}" for proof, number in self.proofs.items())
        said = [
            f"pairs of round and policy: {self.pairs:,}, of which {self.exact:,} have an exact program",
            f"optima proved: {self.proved:,} of {self.pairs:,}" + (f" ({how})" if how else ""),
            f"solved to the end by two or more exact methods, with equal values: {self.agreed:,}",
        ]
        if self.claimed:
            said.append(f"optima claimed by one solver alone: {self.claimed:,}")
        if self.refused:
            said.append(f"pairs refused by all methods: {self.refused:,} (results.csv says why)")
        return said + [
            f"{what}: {f'{len(entries):,}' if entries else 'none'}" for what, entries in self.lists().items()
        ]

    def lists(self) -> dict[str, tuple[str, ...]]:
        """Return what needs a look, by what it is; failures and violations only where there are some."""
        rare = {"runs that failed": self.failed, "answers that broke rules": self.violated}
        return {
            "contradictions": self.contradictions,
            "left open": self.open,
            **{what: entries for what, entries in rare.items() if entries},
        }

    def markdown(self) -> str:
        """Return the text of ``comparison.md``: the table, the sentences and all lists in full."""
        lines = [*markdown_table(HEAD, [one.cells() for one in self.methods], WORDS), ""]
        if self.repeats:
            lines += [f"Differences in points and tests are to the first line; {STATISTICS}.", ""]
            cells = [one.cells() for one in self.repeats]
            lines += [*markdown_table(REPEATS_HEAD, cells, REPEATS_WORDS), ""]
        lines += [f"- {line}" for line in self.lines()]
        for what, entries in self.lists().items():
            if entries:
                lines += ["", f"## {what.capitalize()}", "", *(f"- {entry}" for entry in entries)]
        return "".join(f"{line}\n" for line in lines)


def summary_of(rows: Sequence[CompareRow]) -> Summary:
    """Return what a study says."""
    every = pairs_of(rows)
    pairs = [pair for pair in every if not all(row.refused for row in pair.rows)]
    proofs = Counter(pair.proof for pair in pairs if pair.proof is not None)
    claimed = proofs[Proof.CLAIM_ONLY]
    return Summary(
        methods=tuple(_methods(every)),
        repeats=loss_repeats(pairs),
        pairs=len(pairs),
        refused=len(every) - len(pairs),
        exact=sum(any(not row.refused for row in _exact(pair)) for pair in pairs),
        proved=proofs.total() - claimed,
        proofs={proof: number for proof, number in proofs.most_common() if proof != Proof.CLAIM_ONLY},
        claimed=claimed,
        agreed=sum(_agreed(pair) for pair in pairs),
        contradictions=tuple(line for pair in pairs for line in contradictions_of(pair)),
        open=tuple(_open_line(pair) for pair in pairs if not _settled(pair)),
        failed=_said(rows, Reason.FAILED),
        violated=_said(rows, VIOLATED),
    )


def contradictions_of(pair: Pair) -> list[str]:
    """Return a line for whatever cannot be true at once: values above bounds, found now or stored before."""
    found = []
    if pair.contradiction:
        high = next(row for row in pair.rows if row.value == pair.best)
        low = next(row for row in pair.rows if row.said == pair.said)
        found.append(f"{high.method} reaches {pair.best}, and {low.method} says that {pair.said} is the most")
    for row in pair.rows:
        if row.value is not None and row.known_bound is not None and row.value > row.known_bound:
            found.append(f"{row.method} reaches {row.value}, and the library says that {row.known_bound} is the most")
        if row.said is not None and row.known_value is not None and row.said < row.known_value:
            found.append(f"the library has {row.known_value}, and {row.method} says that {row.said} is the most")
        if row.reason == Reason.INFEASIBLE and pair.best is not None:
            found.append(f"{row.method} says that there is no decision, and another method has one")
    return [f"{pair.instance}, {pair.policy}: {line}" for line in found]


def _methods(pairs: Iterable[Pair]) -> Iterable[MethodSummary]:
    """Yield the summaries, in the order in which policies and methods first appear."""
    found: dict[str, dict[str, list[tuple[Pair, CompareRow]]]] = {}
    for pair in pairs:
        for row in pair.rows:
            found.setdefault(row.policy, {}).setdefault(row.method, []).append((pair, row))
    for policy, methods in found.items():
        for method, entries in methods.items():
            losses = [loss for pair, row in entries if (loss := pair.loss(row)) is not None]
            seconds = [row.solve_seconds for _, row in entries if not row.refused]
            yield MethodSummary(
                policy=policy,
                method=method,
                runs=len(entries),
                refused=len(entries) - len(seconds),
                optimal=sum(row.proved for _, row in entries),
                claimed=sum(row.ended and not row.proved for _, row in entries),
                best=sum(row.value is not None and row.value == pair.best for pair, row in entries),
                mean_loss=fmean(losses) if losses else None,
                worst_loss=max(losses, default=None),
                median_seconds=median(seconds) if seconds else None,
                total_seconds=sum(seconds),
            )


def _exact(pair: Pair) -> list[CompareRow]:
    return [row for row in pair.rows if row.method != HEURISTIC]


def _agreed(pair: Pair) -> bool:
    values = [row.value for row in _exact(pair) if row.ended]
    return len(values) > 1 and len(set(values)) == 1


def _settled(pair: Pair) -> bool:
    """Whether the optimum is proved or claimed, or there is a contradiction; what is not proved is told elsewhere."""
    none = pair.best is None and any(row.reason == Reason.INFEASIBLE for row in pair.rows)
    return pair.proof is not None or pair.contradiction or none


def _open_line(pair: Pair) -> str:
    """Say what is known, and why each method stopped that did not refuse."""
    ends = [f"{row.method}: {row.reason}, {row.detail}" for row in _exact(pair) or pair.rows if not row.refused]
    known = f"value {pair.best if pair.best is not None else 'none'}"
    bound = f"bound {pair.bound if pair.bound is not None else 'none'}"
    return f"{pair.instance}, {pair.policy}: {known}, {bound} ({'; '.join(ends)})"


def _said(rows: Iterable[CompareRow], reason: str) -> tuple[str, ...]:
    return tuple(f"{row.instance}, {row.policy}, {row.method}: {row.detail}" for row in rows if row.reason == reason)
