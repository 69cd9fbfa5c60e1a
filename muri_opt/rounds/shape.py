"""The shape a job asks for: on how many nodes, and inside which unit of the cluster."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from muri_opt.errors import InputError
from muri_opt.rounds.cluster import Name
from muri_opt.rounds.field_checks import check_kind, check_name
from muri_opt.rounds.quantities import MAX_GPUS, check_whole

NodeCount = Annotated[int, Meta(ge=1, le=MAX_GPUS)]


class NodeRange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """On how many nodes a job may be: at least ``least``, and at most ``most`` where that is said.

    >>> Job(id="a", gpus=8, nodes=NodeRange(least=1, most=2)).nodes.most
    2
    """

    least: NodeCount = 1
    most: NodeCount | None = None

    def __post_init__(self) -> None:
        check_whole(self, "least", MAX_GPUS, least=1)
        if self.most is not None:
            check_whole(self, "most", MAX_GPUS, least=1)
            if self.most < self.least:
                raise InputError("most", f"{self.most}", f"at least the {self.least} nodes of 'least'")

    def counts(self, gpus: int, *, even: bool) -> range | list[int]:
        """Return the node counts on which so many GPUs can be, at least one on each and, if ``even``, equally many."""
        most = gpus if self.most is None else min(self.most, gpus)
        counts = range(self.least, most + 1)
        return [count for count in counts if gpus % count == 0] if even else counts


class Within(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """All of a job inside one unit of a level of the cluster; where not ``required``, that is preferred.

    >>> Within(level="rack").required
    True
    """

    level: Name
    required: bool = True

    def __post_init__(self) -> None:
        check_name(self, "level")
        check_kind("required", self.required, bool)
