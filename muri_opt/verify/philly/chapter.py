"""The chapter *placement*: gangs of tenants, worth more close together, with lent quotas, preemption and migration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from muri_opt.rounds import Assignment, Decision, Job, Prices, Proof, Round, Violation, Waiting, WaitingReason
from muri_opt.verify.chapter import Bound, Chapter, best_bound, linear
from muri_opt.verify.demands import asked_of, start_breaches
from muri_opt.verify.feasibility import capacity_breaches, cpu_breaches, gang_breaches, period_breaches
from muri_opt.verify.philly.breaches import placement_breaches
from muri_opt.verify.philly.counting import counted_places
from muri_opt.verify.philly.dual_bound import placed_bound
from muri_opt.verify.philly.job_status import Reading, places_of
from muri_opt.verify.philly.optimum import placement_optimum
from muri_opt.verify.philly.reasons import placement_reasons, wrong_placement_changes
from muri_opt.verify.philly.rules import HONOURED, SETTINGS, Tenancy
from muri_opt.verify.settings import Setting


class PlacementChapter(Chapter):
    """Gangs of tenants where they may be by how long they have waited."""

    settings: ClassVar[Mapping[str, Setting]] = SETTINGS
    honours: ClassVar[frozenset[str]] = HONOURED

    def __init__(self, round_: Round, rules: Tenancy) -> None:
        super().__init__(round_, rules)
        self.rules: Tenancy = rules
        self._asks = asked_of(round_) is not None

    @classmethod
    def read(cls, settings: Mapping[str, str]) -> Tenancy:
        """Return the rules of the tenants."""
        return Tenancy.of(settings)

    @property
    def reading(self) -> Reading:
        """What the rules say of each job."""
        return Reading.of(self.round_, self.rules)

    @property
    def has_quotas(self) -> bool:
        """No: a quota may be exceeded while others do not use theirs."""
        return False

    def value(self, decision: Decision) -> int:
        """Return what a decision is worth."""
        return self.reading.value(places_of(self.round_, decision))

    def parts(self, decision: Decision) -> Iterator[tuple[str, int]]:
        """Yield what each gang is worth where it is, and what preempting one takes away."""
        reading, places = self.reading, places_of(self.round_, decision)
        for position, stand in enumerate(reading.stands):
            if position in places:
                full = reading.scale(stand).premium * stand.need.gpus
                yield stand.job.id, reading.worth(stand, places[position]) + full
            elif stand.running:
                yield stand.job.id, -reading.loss(stand)

    def over_quotas(self, decision: Decision) -> dict[str, tuple[int, int]]:
        """Return the GPUs above quotas, and what they are worth less than within them."""
        reading = self.reading
        over = reading.over(reading.used(places_of(self.round_, decision)))
        return {tenant: (gpus, -value) for tenant, (gpus, value) in over.items()}

    def assignment_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> list[Violation]:
        """Return why a job does not have all its GPUs, CPUs with them, and its own speed."""
        found = [*gang_breaches(members, assignment, where)]
        if self._asks:
            found += [breach for job in members for breach in start_breaches(self.round_, job, assignment, where)]
        found += [breach for job in members for breach in period_breaches(job, assignment, where)]
        return [*found, *cpu_breaches(members, assignment, where)]

    def total_breaches(self, decision: Decision) -> Iterator[Violation]:
        """Yield what does not fit nodes, and what the rules of tenants forbid."""
        yield from capacity_breaches(self.round_, self.taken(decision))
        yield from placement_breaches(self.round_, decision, self.reading)

    def true_reasons(self, decision: Decision) -> Iterator[tuple[Waiting, WaitingReason]]:
        """Yield why each job waits."""
        return placement_reasons(self.round_, decision, self.reading)

    def change_breaches(self, decision: Decision) -> Iterable[Violation]:
        """Yield changes that would not start the job they are told to."""
        return wrong_placement_changes(self.round_, decision, self.reading)

    def bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return the best of weak duality, and of counting GPUs where that leaves a gap."""
        found = [(placed_bound(self.round_, self.reading, item), Proof.LINEAR_DUALS) for item in linear(prices)]
        if not found or min(found)[0] > self.value(decision):
            found.append((counted_places(self.reading), Proof.COUNTING))
        return best_bound(found)

    def optimum(self, steps: int) -> int | None:
        """Return the optimum by enumeration."""
        return placement_optimum(self.round_, self.rules, steps=steps)
