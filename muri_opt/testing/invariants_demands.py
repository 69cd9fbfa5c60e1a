"""Safety where rounds use fields of format 2: what jobs ask of nodes, order and time is kept, rule by rule.

The names are those of the verifier's rules. Each invariant is asked where a round uses one of its ``fields``; of a
check in which none did nothing is said.
"""

from __future__ import annotations

from typing import Final

from muri_opt.testing import aspects_demands as aspects
from muri_opt.testing.aspects import Aspect
from muri_opt.testing.invariant import Case, Finding, Invariant, Tier
from muri_opt.testing.rule_breaches import quota_finding, rule_finding


def _keeps(name: str, text: str, fields: tuple[str, ...], *binding: Aspect) -> Invariant:
    """Return the invariant that no breach of the rule of this name is found."""

    def test(case: Case) -> Finding | None:
        return rule_finding(case, frozenset({name}))

    return Invariant(
        name=name, tier=Tier.SAFETY, text=text, test=test, aspects=tuple(binding), fields=frozenset(fields)
    )


def _within_tree(case: Case) -> Finding | None:
    return quota_finding(case, above=True)


GPU_TYPE = _keeps(
    "gpu-type",
    "All GPUs of a gang that starts are of one type, and of one that it allows.",
    ("node.gpu_type", "job.gpu_types"),
    aspects.OVER_TYPES,
    aspects.OTHER_TYPE,
)
SHAPE = _keeps(
    "shape",
    "A gang that starts is on no fewer and no more nodes than it asks for.",
    ("job.nodes",),
    aspects.ON_SEVERAL,
    aspects.ON_FEWER,
)
EVEN = _keeps(
    "even",
    "A gang that asks for it starts with the same number of GPUs on each of its nodes.",
    ("job.even",),
    aspects.IN_PARTS,
)
LABELS = _keeps(
    "labels",
    "A job starts on nodes that have all labels it requires and none it excludes.",
    ("job.requires", "job.excludes"),
    aspects.LACKS_LABEL,
    aspects.HAS_LABEL,
)
WITHIN = _keeps(
    "within",
    "A gang that must be inside one unit of a level starts inside one.",
    ("job.within",),
    aspects.IN_ONE_UNIT,
)
PREEMPTIBLE = _keeps(
    "preemptible",
    "A running job that may not be stopped goes on.",
    ("job.preemptible",),
    aspects.PINNED,
)
MOVABLE = _keeps(
    "movable",
    "A running job that may not be moved stays on its nodes or is stopped.",
    ("job.movable", "job.preemptible"),
    aspects.PUT,
)
HELD = _keeps("held", "A job that is held does not start.", ("job.held",), aspects.KEPT_BACK)
NOT_BEFORE = _keeps("not-before", "No job starts before its time.", ("job.not_before",), aspects.LATER, aspects.DUE)
NODE_STATE = _keeps(
    "node-state",
    "Nothing starts on a node that drains, and nothing is on one that is down.",
    ("node.state",),
    aspects.DRAINS,
    aspects.IS_DOWN,
    aspects.ON_DRAINING,
    aspects.LOST,
)
AVAILABLE_UNTIL = _keeps(
    "available-until",
    "No job starts on a node that is gone before its time limit has passed.",
    ("node.available_until",),
    aspects.ENDS_LATE,
)
SUBTREE_QUOTA: Final = Invariant(
    name="subtree-quota",
    tier=Tier.SAFETY,
    text="No tenant has, with all below it, more GPUs than its quota.",
    test=_within_tree,
    aspects=(aspects.QUOTA_ABOVE,),
    fields=frozenset({"tenant.parent"}),
)

DEMANDS: Final = (
    GPU_TYPE,
    SHAPE,
    EVEN,
    LABELS,
    WITHIN,
    PREEMPTIBLE,
    MOVABLE,
    HELD,
    NOT_BEFORE,
    NODE_STATE,
    AVAILABLE_UNTIL,
    SUBTREE_QUOTA,
)
"""All of them, in the order in which they are told."""
