"""What tenants have left of their quotas by GPU type, while gangs are placed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.eligibility import gpu_type_codes

QUOTA_BY_TYPE: Final = "tenant.quota_by_type"


class TypeQuotas:
    """``left[v, k]`` are the GPUs of type k that tenant v, with all below it, may still have.

    ``types`` has the number of each node's GPU type. Tenants are given as the line of one and all above it.
    """

    def __init__(self, round_: Round) -> None:
        nodes, tenants = round_.cluster.nodes, round_.cluster.tenants
        self.types = gpu_type_codes(round_.cluster)
        names = dict(zip(self.types.tolist(), (node.gpu_type for node in nodes), strict=True))
        self.left: Ints = np.full((len(tenants), len(names)), UNLIMITED)
        for place, tenant in enumerate(tenants):
            for kind, name in names.items():
                self.left[place, kind] = (tenant.quota_by_type or {}).get(name or "", UNLIMITED)

    def per_type(self, share: Ints) -> Ints:
        """Return the GPUs of each type among GPUs per node."""
        return np.bincount(self.types, weights=share, minlength=self.left.shape[1]).astype(np.int64)

    def spare(self, line: Sequence[int]) -> Ints:
        """Return how many GPUs of each type all tenants of a line have left."""
        least: Ints = self.left[list(line)].min(axis=0, initial=UNLIMITED)
        return least

    def allow(self, line: Sequence[int], share: Ints) -> bool:
        """Return whether the tenants of a line may have these GPUs per node, too."""
        more = self.per_type(share)
        return bool((more <= self.spare(line))[more > 0].all())

    def charge(self, line: Sequence[int], share: Ints) -> None:
        """Count GPUs per node that the tenants of a line get."""
        limited = self.left[list(line)]
        self.left[list(line)] = np.where(limited == UNLIMITED, UNLIMITED, limited - self.per_type(share))


def type_quotas(round_: Round) -> TypeQuotas | None:
    """Return the quotas by type before anything runs; ``None`` where no tenant has any."""
    return TypeQuotas(round_) if QUOTA_BY_TYPE in round_.used_fields else None
