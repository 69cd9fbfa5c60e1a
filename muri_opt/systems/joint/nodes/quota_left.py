"""What is left of quotas while groups are placed: plain numbers, as they are asked for job by job."""

from __future__ import annotations

from collections.abc import Sequence

from muri_opt.rounds.amounts import UNLIMITED, Amounts
from muri_opt.rounds.borrowing import Borrowed
from muri_opt.systems.joint.jobs.group_value import Group


class QuotaLeft:
    """What tenants may still have; each job of a group has all of its GPUs, and counts for its tenant and all above."""

    def __init__(self, amounts: Amounts) -> None:
        self._tenant: list[int] = amounts.tenant.tolist()
        self._left: list[int] = amounts.U.tolist()
        limited = [quota < UNLIMITED for quota in self._left]
        lines = [tuple([one for one in amounts.line(at) if limited[one]]) for at in range(len(limited))]
        self._lines: Sequence[tuple[int, ...]] = [() if at < 0 else lines[at] for at in self._tenant]
        self._borrowed = None if amounts.borrowing is None else Borrowed(amounts.borrowing)
        self.is_limited = self._borrowed is not None or any(limited)
        """Whether there is any quota."""

    def most(self, group: Group) -> int:
        """Return the most GPUs that a group may have; what its jobs would borrow is not looked at."""
        left = self._left
        if len(group) == 1:
            return min([left[tenant] for tenant in self._lines[group[0]]], default=UNLIMITED)
        asked: dict[int, int] = {}
        for job in group:
            for tenant in self._lines[job]:
                asked[tenant] = asked.get(tenant, 0) + 1
        return min([left[tenant] // count for tenant, count in asked.items()], default=UNLIMITED)

    def can_borrow(self, group: Group, gpus: int) -> bool:
        """Return whether a job alone may have so many GPUs, if :meth:`most` are as many, with those it would borrow."""
        return self._borrowed is None or len(group) > 1 or self._borrowed.allows(self._tenant[group[0]], gpus)

    def take(self, group: Group, gpus: int) -> None:
        """Count the GPUs of a group."""
        for job in group:
            for tenant in self._lines[job]:
                self._left[tenant] -= gpus
            if self._borrowed is not None:
                self._borrowed.add(self._tenant[job], gpus)
