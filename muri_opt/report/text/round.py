"""A round as text: what there is, who asks for it, the chart of the nodes, and one job explained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from string import ascii_lowercase, ascii_uppercase

from muri_opt.report.format import amount, count, cut, printable
from muri_opt.report.round.occupancy import NodeUse, node_uses, present_decision
from muri_opt.report.tables import indented, shortened, table
from muri_opt.report.text.demands import demand_lines
from muri_opt.report.text.result import (
    change_of,
    header,
    labelled,
    needs_text,
    nodes_text,
    outcome_lines,
    remedies,
    waiting_lines,
)
from muri_opt.rounds import Decision, Job, Node, Result, Round, Waiting
from muri_opt.rounds.readable_time import duration, moment
from muri_opt.rounds.tenant_tree import oversubscribed

_LETTERS = ascii_uppercase + ascii_lowercase
_WIDEST = 64
_NAME = 32


def round_text(round_: Round, *, whole: bool = False) -> str:
    """Return the summary of a round: its nodes, its jobs by state and size, its tenants."""
    jobs = round_.jobs
    pairs = [
        ("now", moment(round_.now)),
        ("nodes", _node_kinds(round_.cluster.nodes)),
        ("jobs", ", ".join(filter(None, (_asking(jobs, state) for state in ("running", "waiting")))) or "none"),
    ]
    if round_.used_fields:
        pairs.append(("format 2", ", ".join(round_.used_fields)))
    lines = [header(round_), *labelled(pairs)]
    if jobs:
        lines += ["", *_sizes(jobs)]
    if round_.cluster.tenants:
        lines += ["", *_tenants(round_, whole)]
    return "\n".join(lines) + "\n"


def decided_text(round_: Round, result: Result, *, whole: bool = False) -> str:
    """Return the chart of the decision, why each waiting job waits, and what the result is worth."""
    lines = []
    if result.decision is not None:
        lines += [*chart_lines(round_, result.decision, whole=whole), ""]
        lines += [*waiting_lines(result.decision.waiting, whole=whole), ""]
    return "\n".join([*lines, *outcome_lines(result, result.certificate)]) + "\n"


def present_text(round_: Round, *, whole: bool = False) -> str:
    """Return the chart of what runs before any decision."""
    present = present_decision(round_)
    if not present.assignments:
        return "now: nothing runs\n"
    return "\n".join(["now", *indented(chart_lines(round_, present, whole=whole))]) + "\n"


def chart_lines(round_: Round, decision: Decision, *, whole: bool = False) -> list[str]:
    """Return one line per node: a letter per GPU in use, a dot per free one, and the jobs behind the letters."""
    kept, rest = shortened(node_uses(round_, decision), whole=whole)
    cells = [_cells(use) for use in kept]
    rows = [(cut(use.node.id, _NAME), row, _behind(use)) for use, row in zip(kept, cells, strict=True)]
    return [*table(("node", "GPUs", "jobs"), rows), *rest]


def job_text(job: Job, decision: Decision | None) -> str:
    """Return what is known of one job and, with a decision, why it runs or waits."""
    pairs = [("job", cut(job.id, 60)), ("asks for", needs_text(job)), ("state", _state(job))]
    pairs += [(label, text) for label, text in _facts(job) if text]
    if decision is not None:
        pairs += _verdict(job, decision)
    return "\n".join(labelled(pairs)) + "\n"


def _node_kinds(nodes: Sequence[Node]) -> str:
    kinds = Counter((node.gpus, node.cpus, node.memory_gib, node.gpu_type) for node in nodes)
    parts = [f"{number:,} with {_kind(*kind)}" for kind, number in kinds.most_common(4)]
    if len(kinds) > 4:
        parts.append(f"{len(kinds) - 4:,} more kinds")
    return "; ".join(parts) or "none"


def _kind(gpus: int, cpus: float | None, memory_gib: float | None, gpu_type: str | None) -> str:
    parts = [count(gpus, "GPU") + (f" ({cut(gpu_type, _NAME)})" if gpu_type else "")]
    parts.append("CPUs without limit" if cpus is None else f"{amount(cpus)} CPUs")
    parts.append("memory without limit" if memory_gib is None else f"{amount(memory_gib)} GiB")
    return ", ".join(parts)


def _asking(jobs: Iterable[Job], state: str) -> str:
    gpus = [job.gpus for job in jobs if job.state == state]
    if not gpus:
        return ""
    verb = {"running": "running on", "waiting": "waiting for"}[state]
    return f"{len(gpus):,} {verb} {count(sum(gpus), 'GPU')}"


def _sizes(jobs: Sequence[Job]) -> list[str]:
    sizes = Counter((job.gpus, job.state) for job in jobs)
    rows = []
    for gpus in sorted({job.gpus for job in jobs}):
        running, waiting = sizes[gpus, "running"], sizes[gpus, "waiting"]
        rows.append((f"{gpus:,}", f"{running + waiting:,}", f"{running:,}", f"{waiting:,}"))
    kept, rest = shortened(rows, whole=False)
    head = ("GPUs each", "jobs", "running", "waiting")
    return ["sizes", *indented([*table(head, kept, right=range(4)), *rest])]


def _tenants(round_: Round, whole: bool) -> list[str]:
    jobs, asked, held = Counter[str](), Counter[str](), Counter[str]()
    for job in round_.jobs:
        tenant = job.tenant or ""
        jobs[tenant] += 1
        asked[tenant] += job.gpus
        held[tenant] += job.gpus if job.state == "running" else 0
    rows = [
        (
            cut(tenant.id, _NAME),
            "none" if tenant.quota_gpus is None else f"{tenant.quota_gpus:,}",
            f"{held[tenant.id]:,}",
            f"{asked[tenant.id]:,}",
            f"{jobs[tenant.id]:,}",
        )
        for tenant in round_.cluster.tenants
    ]
    kept, rest = shortened(rows, whole=whole)
    head = ("tenant", "quota", "held GPUs", "asked GPUs", "jobs")
    above = [
        f"the quotas below {cut(tenant, _NAME)} add up to {total:,}, more than its own"
        for tenant, total in oversubscribed(round_.cluster.tenants).items()
    ]
    return ["tenants", *indented([*table(head, kept, right=range(1, 5)), *rest, *shortened(above, whole=whole)[0]])]


def _cells(use: NodeUse) -> str:
    if use.node.gpus > _WIDEST:
        return f"{use.gpus:,} of {use.node.gpus:,} in use"
    taken = "".join(_letter(place) * block.gpus for place, block in enumerate(use.blocks))
    return taken.ljust(use.node.gpus, ".")


def _behind(use: NodeUse) -> str:
    parts = [
        f"{_letter(place)} {' + '.join(cut(job, _NAME) for job in block.assignment.jobs)}"
        + (f" ({block.gpus} of {block.total_gpus})" if block.gpus < block.total_gpus else "")
        + " (CPUs only)" * (block.gpus == 0)
        for place, block in enumerate(use.blocks[: len(_LETTERS)])
    ]
    free = use.node.gpus - use.gpus
    return ", ".join([*parts, f"{free:,} free"] if free > 0 else parts)


def _letter(place: int) -> str:
    return _LETTERS[place] if place < len(_LETTERS) else "#"


def _state(job: Job) -> str:
    return f"running on {nodes_text(job.placement)}" if job.placement else job.state


def _facts(job: Job) -> Iterable[tuple[str, str]]:
    yield "tenant", cut(job.tenant or "", _NAME)
    yield "user", cut(job.user or "", _NAME)
    yield "submitted", "" if job.submitted is None else moment(job.submitted)
    if job.remaining_iterations is not None and job.iteration_seconds is not None:
        left = job.remaining_iterations * job.iteration_seconds
        each = amount(job.iteration_seconds)
        yield "remaining", f"{duration(left)} ({count(job.remaining_iterations, 'iteration')} of {each} s)"
    yield "attained", "" if job.attained_gpu_seconds is None else f"{amount(job.attained_gpu_seconds)} GPU seconds"
    yield "waited", _seconds(job.waiting_seconds)
    yield "plan", cut(job.plan or "", _NAME)
    yield from demand_lines(job)


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)


def _verdict(job: Job, decision: Decision) -> list[tuple[str, str]]:
    for assignment in decision.assignments:
        if job.id in assignment.jobs:
            beside = [cut(other, _NAME) for other in assignment.jobs if other != job.id]
            shared = f", interleaved with {' and '.join(beside)}" if beside else ""
            return [("decision", f"{change_of(job, assignment)} on {nodes_text(assignment.gpus)}{shared}")]
    return [
        pair
        for wait in decision.waiting
        if wait.job == job.id
        for pair in (
            ("decision", "is stopped" if job.state == "running" else f"waits, for {wait.reason}"),
            ("because", printable(wait.detail)),
            *_remedies(wait),
        )
    ]


def _remedies(wait: Waiting) -> list[tuple[str, str]]:
    """Return what would help a waiting job, the label of the first line as in the other lines of the job."""
    first, *others = remedies(wait)
    return [("remedy", first.removeprefix("remedy: ")), *(("", text) for text in others)]
