"""Tenants that borrow of those beside them: the verifier's own count of what is used, kept back and lent.

Of the tenants with one parent, those with a quota are a *group*; so are all without a parent, with the cluster in
place of one. A tenant *counts* for what it uses, at least for what it does not lend, and at least for what the group
below it has borrowed from it. What the tenants of a group count for above their quotas must be found in what the quota
of their parent has beside theirs, and in what the parent borrows itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from muri_opt.rounds import Round, Violation
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.tenant_lines import spare_quotas, tenant_lines, with_parents

Uses = Mapping[str, int]
"""GPUs of each tenant, with those of all below it."""


class Loans:
    """The groups of a round: by the id of the parent, ``None`` for the cluster."""

    def __init__(self, round_: Round) -> None:
        tenants = round_.cluster.tenants
        self.quota = {tenant.id: tenant.quota_gpus for tenant in tenants if tenant.quota_gpus is not None}
        self.parent = {tenant.id: tenant.parent for tenant in tenants}
        self._lines = tenant_lines(round_)
        self._kept = {
            tenant.id: self.quota[tenant.id] - tenant.lend_gpus
            for tenant in tenants
            if tenant.id in self.quota and tenant.lend_gpus is not None
        }
        there = sum(node.gpus for node in round_.cluster.nodes if node.state != "down")
        inside: Counter[str | None] = Counter()
        for tenant, quota in self.quota.items():
            inside[self.parent[tenant]] += quota
        groups = (*self.quota.items(), (None, there))
        self._spare: dict[str | None, int] = {parent: max(0, has - inside[parent]) for parent, has in groups}
        self._spare |= {tenant.id: 0 for tenant in tenants if tenant.id not in self.quota}
        borrowers = {tenant.parent: 0 for tenant in tenants if tenant.borrow_gpus and tenant.id in self.quota}
        more = {tenant.id: tenant.borrow_gpus or 0 for tenant in tenants}
        self.limit = {parent: self._spare[parent] + more.get(parent or "", 0) for parent in borrowers}
        """What the tenants of a group may count for above their quotas, where one of them may borrow."""

    def counted(self, uses: Uses) -> dict[str, int]:
        """Return what each tenant with a quota counts for."""
        counted: dict[str, int] = {}
        above: Counter[str | None] = Counter()
        for tenant in sorted(self.quota, key=lambda tenant: -len(self._lines[tenant])):
            quota = self.quota[tenant]
            lent = quota + above[tenant] - self._spare[tenant]
            counted[tenant] = max(uses.get(tenant, 0), self._kept.get(tenant, 0), lent)
            above[self.parent[tenant]] += counted[tenant] - quota
        return counted

    def above(self, uses: Uses) -> Counter[str | None]:
        """Return what the tenants of each group count for above their quotas."""
        found: Counter[str | None] = Counter()
        for tenant, gpus in self.counted(uses).items():
            found[self.parent[tenant]] += gpus - self.quota[tenant]
        return found

    def allow(self, uses: Uses, stay: Uses) -> bool:
        """Return whether tenants may borrow what they use, or have to for what their jobs hold that stay."""
        return not any(self._broken(uses, stay))

    def breaches(self, uses: Uses, stay: Uses) -> Iterator[Violation]:
        """Yield a breach for each group that borrows more than there is."""
        for parent, gpus, most in self._broken(uses, stay):
            where = "cluster" if parent is None else parent
            detail = f"its tenants have {gpus} GPUs above their quotas, less what others lend; there are {most}"
            yield Violation(rule="borrowing", where=where, detail=detail)

    def _broken(self, uses: Uses, stay: Uses) -> Iterator[tuple[str | None, int, int]]:
        above, at_least = self.above(uses), self.above(stay)
        for parent, most in self.limit.items():
            if above[parent] > max(most, at_least[parent]):
                yield parent, above[parent], most

    def room(self, uses: Uses) -> dict[str, int]:
        """Return how many GPUs more each tenant could use, as far as what it borrows, or one above it, is concerned.

        A tenant that counts for more than it uses may use the difference. From there on it borrows GPU by GPU, and so
        does its parent as soon as the group has used up what it has.
        """
        counted, above, found = self.counted(uses), self.above(uses), dict[str, int]()
        for tenant, line in self._lines.items():
            most, free, before = list[int](), 0, None
            for one in line:
                if one not in self.quota:
                    before = None
                    continue
                spare = counted[one] - uses.get(one, 0)
                if before is not None:
                    unborrowed = counted[one] - (self.quota[one] + above[one] - self._spare[one])
                    spare = min(spare, unborrowed + free)
                free, before, parent = spare, one, self.parent[one]
                if parent in self.limit:
                    most.append(free + max(0, self.limit[parent] - above[parent]))
            if most:
                found[tenant] = min(most)
        return found


@recalled
def loans_of(round_: Round) -> Loans | None:
    """Return the groups of a round; ``None`` where no tenant may borrow."""
    return Loans(round_) if any(tenant.borrow_gpus for tenant in round_.cluster.tenants) else None


def spare_gpus(round_: Round, held: Counter[str]) -> dict[str, int]:
    """Return how many GPUs more each tenant may have, by its quota, those above it, and what can be borrowed."""
    spare, loans = spare_quotas(round_, held), loans_of(round_)
    if loans is None:
        return spare
    room = loans.room(with_parents(round_, held))
    return {tenant: min(left, room.get(tenant, left)) for tenant, left in spare.items()}
