"""The explanation of a gap as plain data, for JSON."""

from __future__ import annotations

from collections.abc import Sequence

from muri_opt.studies.explain import Part, RoundGap


def gap_record(gap: RoundGap) -> dict[str, object]:
    """Return values, bound, and every change with its parts; names as in the text."""
    return {
        "policy": gap.first.policy,
        "value_unit": gap.first.value_unit,
        "names": gap.names,
        "methods": (gap.first.method, gap.second.method),
        "values": gap.values,
        "gap": gap.gap,
        "bound": gap.second.bound,
        "claimed_bound": gap.second.claimed_bound,
        "proof": gap.second.certificate.proof,
        "proved": gap.proved,
        "total_gpus": gap.total_gpus,
        "used_gpus": gap.used_gpus,
        "same": gap.same,
        "changes": [
            {
                "gain": change.gain,
                "jobs": change.jobs,
                "first": _parts(change.first),
                "second": _parts(change.second),
            }
            for change in gap.changes
        ],
        "differences": dict(gap.differences),
        "moved": gap.moved,
    }


def _parts(parts: Sequence[Part]) -> list[dict[str, object]]:
    return [_part(part) for part in parts]


def _part(part: Part) -> dict[str, object]:
    if part.tenant is not None:
        return {"tenant": part.tenant, "over_quota": part.over_quota, "value": part.value}
    nodes = {} if part.assignment is None else dict(part.assignment.gpus)
    return {"jobs": part.jobs, "value": part.value, "gpus": part.gpus, "plan": part.plan, "nodes": nodes}
