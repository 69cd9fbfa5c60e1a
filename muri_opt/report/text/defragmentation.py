"""Moves that free nodes or make room for a job: as text for people, and as JSON."""

from __future__ import annotations

import msgspec

from muri_opt.report.format import count, cut, printable
from muri_opt.report.tables import indented, shortened, table
from muri_opt.report.text.result import header, labelled, nodes_text, termination_text, violation_lines
from muri_opt.rounds import Agreement, Certificate, Proof, Reason, Round
from muri_opt.systems.defragment import Cost, Defragmentation

FORMAT = "muri-opt/defragmentation/1"
_NAME = 32
_CHECKED = {
    Proof.COUNTING: "counted here, node by node",
    Proof.LINEAR_DUALS: "checked here from prices of jobs, in exact integers",
    Proof.EXHAUSTIVE: "confirmed by going through every cheaper plan",
}


def defragmentation_text(round_: Round, found: Defragmentation, *, whole: bool = False) -> str:
    """Return the moves, what they reach and cost, and who proves that fewer do not do."""
    lines = [header(round_), ""]
    if found.cost is not None:
        lines += [*_moves(round_, found, whole), ""]
    if found.certificate is not None and found.certificate.violations:
        lines += [*violation_lines(found.certificate.violations), ""]
    pairs = [("goal", _goal(found))]
    if found.placement is not None:
        pairs.append(("placement", nodes_text(found.placement)))
    if found.freed:
        kept, rest = shortened(found.freed, whole=whole)
        pairs.append(("free nodes", ", ".join([*(cut(node, _NAME) for node in kept), *rest])))
    pairs += [("moved", _cost(found.cost)), ("bound", _cost(found.bound))]
    if found.claimed_bound is not None:
        pairs.append(("claimed", f"bound {_cost(found.claimed_bound)}: the word of one solver alone, not checked"))
    pairs += [("termination", termination_text(found.termination)), ("proof", _proof(found, found.certificate))]
    return "\n".join([*lines, *labelled(pairs)]) + "\n"


def defragmentation_json(round_: Round, found: Defragmentation) -> str:
    """Return everything that was found as JSON."""
    content = {
        "format": FORMAT,
        "fingerprint": round_.fingerprint,
        "nodes": found.nodes,
        "job": found.job,
        "budget": found.budget,
        "moves": [{"job": move.job, "from": move.source, "to": move.target} for move in found.moves],
        "freed": found.freed,
        "placement": found.placement,
        "moved_gpus": found.moved_gpus,
        "moved_jobs": found.moved_jobs,
        "bound": None if found.bound is None else found.bound._asdict(),
        "claimed_bound": None if found.claimed_bound is None else found.claimed_bound._asdict(),
        "needed_budget": found.needed_budget,
        "termination": found.termination,
        "certificate": found.certificate,
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n"


def _moves(round_: Round, found: Defragmentation, whole: bool) -> list[str]:
    if not found.moves:
        return ["moves: none are needed"]
    kept, rest = shortened(found.moves, whole=whole)
    gpus = {job.id: job.gpus for job in round_.jobs}
    rows = [
        (cut(move.job, _NAME), str(gpus[move.job]), nodes_text(move.source), nodes_text(move.target)) for move in kept
    ]
    lines = table(("job", "GPUs", "from", "to"), rows, right=(1,))
    return [f"moves: {count(len(found.moves), 'job')}, all at once", *indented([*lines, *rest])]


def _goal(found: Defragmentation) -> str:
    wanted = f"free {count(found.nodes or 0, 'node')}" if found.job is None else f"room for {cut(found.job, _NAME)}"
    return wanted if found.budget is None else f"{wanted}, moving at most {count(found.budget, 'GPU')}"


def _cost(cost: Cost | None) -> str:
    return "none" if cost is None else f"{count(cost.gpus, 'GPU')} in {count(cost.jobs, 'job')}"


def _proof(found: Defragmentation, certificate: Certificate | None) -> str:
    """Return who proves the bound, or that nothing will do; never more than was checked."""
    if certificate is None or certificate.proof is None:
        return "nothing is proved"
    if certificate.violations:
        return f"nothing is proved: the check found {count(len(certificate.violations), 'violation')}"
    what = "no plan costs less than the bound" if found.bound is not None else "no plan reaches the goal"
    if found.termination.reason is Reason.INFEASIBLE and found.bound is not None:
        what = "no plan keeps to the budget"
    if certificate.proof in _CHECKED:
        return f"{what}: {_CHECKED[certificate.proof]}"
    names = [name for item in certificate.evidence if isinstance(item, Agreement) for name in item.backends]
    if certificate.proof is Proof.AGREEMENT:
        return f"{what}, if {printable(' and '.join(names))}, who agree, are right; not checked here"
    return f"{what}, if the solver is right; not checked here"
