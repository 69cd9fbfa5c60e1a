"""A result as text: who runs, who waits and why, what it is worth and who proved it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from muri_opt import rounds as solution
from muri_opt.report.format import amount, count, cut, integer, printable
from muri_opt.report.tables import indented, shortened, table
from muri_opt.report.text.proof_sentence import proof_sentence
from muri_opt.rounds import (
    Assignment,
    Certificate,
    Change,
    Decision,
    Job,
    Result,
    Round,
    Termination,
    Violation,
    Waiting,
    WaitingReason,
    relative_gap,
)
from muri_opt.rounds.job_changes import Changes, kind_of
from muri_opt.rounds.percent import percent
from muri_opt.rounds.readable_time import duration
from muri_opt.rounds.sharing_now import sharing_now

_NAME = 32
_MOST_NODES = 6
_SHOWN_SECONDS = 0.001
_LABELS = 13
"""Characters that labels take, or one more than the longest."""


def header(round_: Round) -> str:
    """Return the one line that says which round this is."""
    name = cut(round_.name, 60) or "round without a name"
    nodes = count(len(round_.cluster.nodes), "node")
    return f"{name}: {count(len(round_.jobs), 'job')}, {_gpus(round_.cluster.total_gpus)} on {nodes}"


def result_text(round_: Round, result: Result, *, whole: bool = False) -> str:
    """Return the result for people; ``whole`` lists every job of a large round."""
    lines = [header(round_), ""]
    if result.decision is not None:
        lines += [*decision_lines(round_, result.decision, whole=whole), ""]
    if result.certificate.violations:
        lines += [*violation_lines(result.certificate.violations), ""]
    return "\n".join([*lines, *outcome_lines(result, result.certificate)]) + "\n"


def decision_lines(round_: Round, decision: Decision, *, whole: bool = False) -> list[str]:
    """Return the tables of running and of waiting jobs."""
    return [*_running(round_, decision, whole), "", *waiting_lines(decision.waiting, whole=whole)]


def outcome_lines(result: Result, certificate: Certificate) -> list[str]:
    """Return value, bound, gap, why the solve stopped, what the certificate proves and the seconds, one line each."""
    stats = result.stats
    phases = (("build", stats.build_seconds), ("solve", stats.solve_seconds), ("verify", stats.verify_seconds))
    seconds = ", ".join(f"{phase} {spent:.3f}" for phase, spent in phases)
    starting = f", after {stats.startup_seconds:.3f} to start" if stats.startup_seconds >= _SHOWN_SECONDS else ""
    pairs = (
        ("policy", f"{printable(result.policy)}, method {printable(result.method)}"),
        ("value", integer(result.value) + (f" ({printable(result.value_unit)})" if result.value is not None else "")),
        ("bound", integer(result.bound)),
        ("gap", percent(result.gap)),
        *(() if result.claimed_bound is None else (("claimed", claimed_text(result)),)),
        ("termination", termination_text(result.termination)),
        ("proof", proof_sentence(result, certificate)),
        *(("changes", changes_text(found)) for found in (result.changes,) if found is not None and found.before),
        ("seconds", f"{sum(spent for _, spent in phases):.3f} ({seconds}){starting}"),
    )
    return labelled(pairs)


def claimed_text(result: Result) -> str:
    """Return the bound that one solver claims, and the gap if it is right."""
    claimed = result.claimed_bound
    gap = None if result.value is None or claimed is None else relative_gap(result.value, claimed)
    who = printable(result.stats.backend or "a solver")
    return f"bound {integer(claimed)}, gap {percent(gap)}: the word of {who} alone, not checked"


def labelled(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return one line per pair, the texts in one column."""
    width = max(_LABELS, *(len(label) + 1 for label, _ in pairs)) if pairs else _LABELS
    return [f"{label:<{width}}{text}" for label, text in pairs]


def termination_text(termination: Termination) -> str:
    """Return the reason, the limit that was hit if one was, and the solver's own words."""
    limit = f" (limit: {termination.limit})" if termination.limit else ""
    detail = f": {printable(termination.detail)}" if termination.detail else ""
    return f"{termination.reason}{limit}{detail}"


def violation_lines(violations: Sequence[Violation]) -> list[str]:
    """Return the broken rules as a table."""
    rows = [(found.rule, cut(found.where, _NAME), printable(found.detail)) for found in violations]
    return [f"violations: {len(rows):,}", *indented(table(("rule", "where", "what is wrong"), rows))]


def waiting_lines(waiting: Sequence[Waiting], *, whole: bool = False) -> list[str]:
    """Return each waiting job with its reason, what binds and what would help."""
    if not waiting:
        return ["waiting: none"]
    by_reason = Counter(str(wait.reason) for wait in waiting)
    stopped = WaitingReason.STOPPED
    parts = ", ".join(
        f"{number:,} {'' if reason == stopped else 'for '}{reason}" for reason, number in by_reason.most_common()
    )
    kept, rest = shortened(waiting, whole=whole)
    rows = [(cut(wait.job, _NAME), str(wait.reason), printable(wait.detail)) for wait in kept]
    head, *body = table(("job", "reason", "detail and remedy"), rows)
    column = head.index("detail")
    lines = [head]
    for line, wait in zip(body, kept, strict=True):
        lines += [line, *(" " * column + text for text in remedies(wait))]
    return [f"waiting: {count(len(waiting), 'job')} ({parts})", *indented([*lines, *rest])]


def remedies(wait: Waiting) -> list[str]:
    """Return what would help a waiting job, one line each: its remedy, then the other changes."""
    others = [change for change in wait.changes if wait.remedy not in _texts(change)]
    return [f"remedy: {printable(wait.remedy)}", *(f"or {printable(solution.change_text(one))}" for one in others)]


def _texts(change: Change) -> tuple[str, str]:
    """Return a change in words, of a tenant by itself and of one below others."""
    return solution.change_text(change), solution.change_text(change, nested=True)


def nodes_text(gpus: Mapping[str, int]) -> str:
    """Return the GPUs per node, such as ``n0 x4, n1 x2``; a node of which only CPUs are in use has no number."""
    parts = [cut(node, _NAME) + f" x{number}" * (number > 0) for node, number in list(gpus.items())[:_MOST_NODES]]
    if len(gpus) > _MOST_NODES:
        parts.append(f"{len(gpus) - _MOST_NODES:,} more nodes")
    return ", ".join(parts)


_WORDS = {"start": "starts", "move": "moves", "resize": "new size", "regroup": "new partners", "keep": "stays"}


def change_of(job: Job, assignment: Assignment, together: set[str] | None = None) -> str:
    """Return what a decision means for a job that runs after it; ``together`` are those on its GPUs now, if known."""
    kind = kind_of(job, assignment, set(assignment.jobs) if together is None else together)
    same_size = sum((job.placement or {}).values()) == sum(assignment.gpus.values())
    return "new plan" if kind == "resize" and same_size else _WORDS[kind]


def changes_text(found: Changes) -> str:
    """Return what is to be done in one line, such as ``2 start, 1 moves; 30 s of restarts``."""
    words = [f"{number:,} {_verb(kind, number)}" for kind, number in found.counts.items()]
    lost = f"; {duration(found.restart_seconds)} of restarts" if found.restart_seconds else ""
    return (", ".join(words) or "none") + lost


def _verb(kind: str, number: int) -> str:
    word = {"keep": "stay", "resize": "change size", "regroup": "change partners"}.get(kind, kind)
    verb, _, rest = word.partition(" ")
    return f"{verb}s {rest}".rstrip() if number == 1 else word


def needs_text(job: Job) -> str:
    """Return what a job asks for, such as ``4 GPUs, 16 CPUs, 64 GiB``."""
    parts = [_gpus(job.gpus)]
    if job.cpus is not None:
        parts.append(f"{amount(job.cpus)} CPUs")
    if job.memory_gib is not None:
        parts.append(f"{amount(job.memory_gib)} GiB")
    return ", ".join(parts)


def _running(round_: Round, decision: Decision, whole: bool) -> list[str]:
    if not decision.assignments:
        return ["running: none"]
    jobs, index, now = round_.jobs, round_.job_index, sharing_now(round_, decision)
    used = sum(sum(assignment.gpus.values()) for assignment in decision.assignments)
    kept, rest = shortened(decision.assignments, whole=whole)
    columns = {
        "job": [" + ".join(cut(job, _NAME) for job in assignment.jobs) for assignment in kept],
        "plan": [cut(assignment.plan or "", _NAME) for assignment in kept],
        "GPUs": [str(sum(assignment.gpus.values())) for assignment in kept],
        "CPUs": [amount(sum(assignment.cpus.values())) for assignment in kept],
        "change": [
            ", ".join(dict.fromkeys(change_of(jobs[index[job]], assignment, now.get(job)) for job in assignment.jobs))
            for assignment in kept
        ],
        "nodes": [nodes_text(assignment.gpus) for assignment in kept],
    }
    if not any(columns["plan"]):  # CPUs follow from GPUs where plans do not choose them
        del columns["plan"], columns["CPUs"]
    names = tuple(columns)
    rows = list(zip(*columns.values(), strict=True))
    title = f"running: {count(len(decision.running), 'job')} on {used:,} of {_gpus(round_.cluster.total_gpus)}"
    right = tuple(names.index(name) for name in ("GPUs", "CPUs") if name in names)
    return [title, *indented([*table(names, rows, right=right), *rest])]


def _gpus(number: int) -> str:
    return count(number, "GPU")
