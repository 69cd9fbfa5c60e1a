"""What ``muri-opt show`` tells, for programs: who is on which node, and who waits and why."""

from __future__ import annotations

from typing import Any

import msgspec

from muri_opt.report.round.occupancy import node_uses, present_decision
from muri_opt.rounds import Certificate, Decision, Job, Round


def shown_json(round_: Round, decision: Decision | None, job: Job | None) -> str:
    """Return the nodes with who runs there, and the waiting jobs; of one ``job`` only if one is named.

    Without a decision it is what runs now; who waits then has no reason.
    """
    chosen = present_decision(round_) if decision is None else decision
    wanted = None if job is None else {job.id}
    nodes = [
        {
            "node": use.node.id,
            "gpus": use.node.gpus,
            "gpus_in_use": use.gpus,
            "jobs": [
                {"jobs": block.assignment.jobs, "gpus": block.gpus, "plan": block.assignment.plan}
                for block in use.blocks
                if wanted is None or wanted & set(block.assignment.jobs)
            ],
        }
        for use in node_uses(round_, chosen)
    ]
    content = {
        "name": round_.name,
        "fingerprint": round_.fingerprint,
        "now": round_.now,
        "decided": decision is not None,
        "nodes": nodes if wanted is None else [node for node in nodes if node["jobs"]],
        "waiting": [one for one in _waiting(round_, decision) if wanted is None or one["job"] in wanted],
    }
    return _indented(content)


def shown_faults(certificate: Certificate) -> str:
    """Return the rules that a result breaks, in the place of what it decides."""
    return _indented({"violations": certificate.violations})


def _waiting(round_: Round, decision: Decision | None) -> list[dict[str, Any]]:
    if decision is None:
        return [{"job": job.id, "reason": None} for job in round_.jobs if job.state == "waiting"]
    return [
        {"job": wait.job, "reason": wait.reason, "detail": wait.detail, "remedy": wait.remedy}
        for wait in decision.waiting
    ]


def _indented(content: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n"
