"""Jobs on the nodes while shares grow: what is left, and who has what."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity import Leftover, best_fit
from muri_opt.systems.capacity.shaped_fit import fit_in_sets
from muri_opt.systems.deadline.choices import Choices


class Placing:
    """The GPUs per node of the jobs that run so far, and what they leave."""

    def __init__(self, round_: Round, choices: Choices) -> None:
        self._choices, self._asks = choices, choices.least.copy()
        self._left = Leftover(round_, self._asks)
        self.shares: dict[int, Ints] = {}

    @property
    def free(self) -> int:
        """How many GPUs nobody has."""
        return int(self._left.gpus.sum())

    def gpus(self, job: int) -> int:
        """Return how many GPUs a job has so far."""
        return int(self.shares[job].sum()) if job in self.shares else 0

    def give(self, job: int, share: Ints) -> None:
        """Give a job GPUs per node, whatever is left."""
        self._asks[job] = share.sum()
        self._left.take(share, job)
        self.shares[job] = share

    def try_row(self, row: int) -> bool:
        """Give a job what a row of the choices says, in place of what it has, if there is room and quota for it."""
        job, before = int(self._choices.job[row]), None
        if job in self.shares:
            before = self._take_back(job)
        share = self._fit(job, int(self._choices.gpus[row]), home=bool(self._choices.home[row]))
        if share is not None:
            self.give(job, share)
        elif before is not None:
            self.give(job, before)
        return share is not None

    def _fit(self, job: int, gpus: int, *, home: bool) -> Ints | None:
        self._asks[job] = gpus
        if not self._left.within_quota(job):
            return None
        room, sets = self._left.room(job), self._choices.sets
        if home:
            held = self._choices.held[job]
            return held if (held <= room).all() else None
        return best_fit(room, gpus) if sets is None else fit_in_sets(room, gpus, sets.of(job))

    def _take_back(self, job: int) -> Ints:
        share = self.shares.pop(job)
        self._asks[job] = -share.sum()
        self._left.take(-share, job)
        return share


def placed_together(
    round_: Round, choices: Choices, sizes: Mapping[int, int], fixed: Mapping[int, Ints], at_home: Collection[int]
) -> dict[int, Ints] | None:
    """Return GPUs per node of jobs of these sizes beside those that are ``fixed``, or ``None`` where not all fit.

    Those ``at_home`` are where they are now, the others are placed from the largest down.
    """
    state = Placing(round_, choices)
    for job, share in fixed.items():
        state.give(job, share)
    line = sorted(sizes, key=lambda job: (job not in at_home, -sizes[job], job))
    for job in line:
        home = job in at_home
        if not any(
            state.try_row(row)
            for row in choices.of_job(job)
            if choices.gpus[row] == sizes[job] and choices.home[row] == home
        ):
            return None
    return state.shares


def settled(
    round_: Round, choices: Choices, sizes: Mapping[int, int], fixed: Mapping[int, Ints], at_home: Collection[int]
) -> dict[int, Ints] | None:
    """Return the same with all jobs at home that have as many GPUs as now, if they fit, else those ``at_home``."""
    as_now = {job for job in sizes if job in choices.held and choices.held[job].sum() == sizes[job]}
    found = placed_together(round_, choices, sizes, fixed, as_now) if as_now else None
    return placed_together(round_, choices, sizes, fixed, at_home) if found is None else found
