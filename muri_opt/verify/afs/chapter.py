"""The chapter *sharing*: every job has a share of the GPUs, of any size its scaling table says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from muri_opt.rounds import Assignment, Decision, Job, Prices, Proof, Round, Violation, Waiting, WaitingReason
from muri_opt.verify.afs.all_at_once import listed_once, shares_are_sound
from muri_opt.verify.afs.curve import Curve, curves_of
from muri_opt.verify.afs.dual_bound import counted_bound, priced_bound
from muri_opt.verify.afs.placed_bound import counted_apart, enumerated_shares, placed_bound
from muri_opt.verify.afs.places import SharePlaces, anywhere, check_asked, least_need
from muri_opt.verify.afs.rules import HONOURED, SETTINGS, share_breaches
from muri_opt.verify.afs.value import Elastic, homes_of
from muri_opt.verify.amounts import micro
from muri_opt.verify.chapter import Bound, Chapter, best_bound, linear
from muri_opt.verify.demands import Asked, asked_of, start_breaches
from muri_opt.verify.feasibility import cpu_breaches, quota_breaches
from muri_opt.verify.gangs.asked_reasons import asked_reasons
from muri_opt.verify.settings import Setting
from muri_opt.verify.waiting_reasons import true_reasons, wrong_changes


class ShareChapter(Chapter):
    """Shares within GPUs, CPUs, memory and quotas, worth what the speed they give is."""

    settings: ClassVar[Mapping[str, Setting]] = SETTINGS
    sets_apart: ClassVar[bool] = True
    honours: ClassVar[frozenset[str]] = HONOURED

    def __init__(self, round_: Round, rules: Elastic) -> None:
        super().__init__(round_, rules)
        self.rules: Elastic = rules
        self._asked: Mapping[str, Asked] | None = None
        if not anywhere(round_):
            check_asked(round_, by_node=rules.by_node)
            self._asked = asked_of(round_)

    @classmethod
    def read(cls, settings: Mapping[str, str]) -> Elastic:
        """Return what shares are worth and where they may be."""
        horizon = micro(float(settings["horizon"])) if settings["restarts"] == "pay" else None
        return Elastic(objective=settings["objective"], by_node=settings["packing"] == "node", horizon=horizon)

    def parts(self, decision: Decision) -> Iterator[tuple[str, int]]:
        """Yield what each share is worth: to a running job less if it is not what it has now, where it has it."""
        worth, index, homes = self.rules.worth(self.round_), self.round_.job_index, homes_of(self.round_)
        known = [one for one in decision.assignments if one.jobs and one.jobs[0] in index]
        places, gpus = [index[one.jobs[0]] for one in known], [sum(one.gpus.values()) for one in known]
        kept, changed = worth.kept.at(places, gpus), worth.changed.at(places, gpus)
        for one, place, home, other in zip(known, places, kept, changed, strict=True):
            stays = homes[place]
            yield one.jobs[0], home if stays is not None and stays == _used(one) else other

    def breaches(self, decision: Decision) -> list[Violation]:
        """Return every rule that a decision breaks; where shares may be anywhere, all are looked at together first."""
        plain = self._asked is None and listed_once(self.round_.jobs, decision)
        if plain and shares_are_sound(self.round_, self.rules, decision.assignments):
            return [*quota_breaches(self.round_, self.held_of_tenants(decision))]
        return super().breaches(decision)

    def assignment_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> list[Violation]:
        """Return why a job may not have its share, or does not have its CPUs."""
        found = [
            breach for job in members for breach in share_breaches(self.round_, job, assignment, where, self.rules)
        ]
        if self._asked is not None:
            found += [breach for job in members for breach in start_breaches(self.round_, job, assignment, where)]
        return [*found, *cpu_breaches(members, assignment, where)]

    def as_it_is_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> list[Violation]:
        """Return what is wrong with a share that a job keeps: it need not divide a node or fill nodes."""
        loose = replace(self.rules, by_node=False)
        found = [breach for job in members for breach in share_breaches(self.round_, job, assignment, where, loose)]
        return [*found, *cpu_breaches(members, assignment, where)]

    def quota_gpus(self, job: Job, assignment: Assignment) -> int:
        """Return the share: what a job asks for does not count."""
        return sum(assignment.gpus.values())

    def true_reasons(self, decision: Decision) -> Iterator[tuple[Waiting, WaitingReason]]:
        """Yield why each job waits: its smallest share lets it start."""
        held = self.held_of_tenants(decision)
        if self._asked is not None:
            return asked_reasons(self.round_, decision, held, self._asked, fewest_nodes=False, needs=least_need)
        return true_reasons(self.round_, decision, held, least_need)

    def change_breaches(self, decision: Decision) -> Iterable[Violation]:
        """Yield changes that would not start the job they are told to."""
        return wrong_changes(self.round_, decision, self.held_of_tenants(decision))

    def bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return the best of weak duality and of counting GPUs and quotas."""
        if self._places is not None:
            counted = self._counted
        else:
            counted = counted_bound(self.round_, self.rules.values(self.round_))
        return best_bound([*self._priced(prices), *([] if counted is None else [(counted, Proof.COUNTING)])])

    def quick_bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return the best of weak duality; of counting only where there are no prices."""
        return best_bound(self._priced(prices)) or self.bound(decision, prices)

    def _priced(self, prices: Sequence[Prices]) -> list[Bound]:
        if self._places is not None:
            places, possible = self._places, self._possible
            return [(placed_bound(places, possible, item), Proof.LINEAR_DUALS) for item in linear(prices)]
        values = self.rules.values(self.round_)
        return [(priced_bound(self.round_, values, item), Proof.LINEAR_DUALS) for item in linear(prices)]

    def optimum(self, steps: int) -> int | None:
        """Return the optimum by enumeration, where shares have places; elsewhere counting is as good."""
        return None if self._places is None else enumerated_shares(self._places, self._possible, steps=steps)

    @cached_property
    def _places(self) -> SharePlaces | None:
        return None if anywhere(self.round_) else SharePlaces.of(self.round_, self.rules)

    @cached_property
    def _possible(self) -> Sequence[dict[int, int]]:
        values = self.rules.values(self.round_)
        return values if self._places is None else self._places.possible(values)

    @cached_property
    def _counted(self) -> int | None:
        return None if self._places is None else counted_apart(self._places, self._possible)

    def sizes(self, job: Job) -> Sequence[int]:
        """Return the shares of its scaling table."""
        return list(self._curve(job).speeds)

    def period_alone(self, job: Job, gpus: int) -> float | None:
        """Return how long an iteration takes with so many GPUs."""
        curve = self._curve(job)
        return curve.period_seconds(gpus) if gpus in curve.speeds else None

    def _curve(self, job: Job) -> Curve:
        return self._curves[job.id]

    @cached_property
    def _curves(self) -> Mapping[str, Curve]:
        return curves_of(self.round_)


def _used(assignment: Assignment) -> Mapping[str, int]:
    """Return the GPUs of the nodes that an assignment uses."""
    gpus = assignment.gpus
    return gpus if all(gpus.values()) else {node: given for node, given in gpus.items() if given}
