"""Is the share of an elastic job one it may have? The settings of the chapter *sharing*."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isclose
from typing import Final

from muri_opt.rounds import INFORMATION, Assignment, Job, Round, Violation
from muri_opt.rounds.field_groups import PLACES, SHAPES, STATES
from muri_opt.verify.afs.curve import curves_of
from muri_opt.verify.afs.value import OBJECTIVES, Elastic
from muri_opt.verify.settings import Setting, one_of

SETTINGS: Final[Mapping[str, Setting]] = {
    "objective": one_of(*OBJECTIVES),
    "packing": one_of("any", "node"),
    "restarts": one_of("ignore", "pay"),
    "horizon": Setting(usual="600", least=1e-6, most=2e9),
}
HONOURED: Final = INFORMATION | PLACES | SHAPES | STATES | {"job.priority", "tenant.parent"}
"""The fields of format 2 that these rules check."""


def share_breaches(
    round_: Round, job: Job, assignment: Assignment, where: str, elastic: Elastic
) -> Iterator[Violation]:
    """Yield what is wrong with a share: its size, where it sits, the period it is said to have."""
    curve, given = curves_of(round_)[job.id], sum(assignment.gpus.values())
    if given not in curve.speeds:
        most = max(curve.speeds)
        detail = f"job {job.id!r} has {given} GPUs; its table goes from 1 to {most}"
        yield Violation(rule="share", where=where, detail=detail)
        return
    if elastic.by_node:
        yield from _packing(round_, assignment, where, given)
    expected = curve.period_seconds(given)
    if assignment.period_seconds is None or not isclose(assignment.period_seconds, expected, rel_tol=1e-12):
        detail = f"{assignment.period_seconds} s; with {given} GPUs an iteration takes {expected} s"
        yield Violation(rule="period", where=where, detail=detail)


def _packing(round_: Round, assignment: Assignment, where: str, given: int) -> Iterator[Violation]:
    """A share divides a node and sits on one, or fills nodes."""
    node = max(node.gpus for node in round_.cluster.nodes) or 1
    if node % given and given % node:
        detail = f"{given} GPUs neither divide nor fill nodes of {node}"
        yield Violation(rule="packing", where=where, detail=detail)
    elif len(assignment.gpus) > max(1, given // node):
        detail = f"{given} GPUs on {len(assignment.gpus)} nodes of {node}"
        yield Violation(rule="packing", where=where, detail=detail)
