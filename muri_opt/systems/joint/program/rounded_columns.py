"""Groups of jobs, with their GPUs, as the program over classes takes its columns: whole numbers of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from muri_opt.rounds.amounts import Ints

if TYPE_CHECKING:
    from muri_opt.systems.joint.jobs.group_value import Group
    from muri_opt.systems.joint.program.class_prices import Master

_ROUNDING = 1e-6
"""By how much a number of groups may be off a whole one."""


def rounded(master: Master) -> dict[Group, int]:
    """Return groups that go on as they are first, then the others, then those of which a part is taken.

    Where a band has no job left, another of its class gives one; of parts the largest come first, all of them, also
    where not all have GPUs.
    """
    whole = np.floor(master.amounts + _ROUNDING).astype(np.int64)
    part = master.amounts - whole
    line = [(place, int(whole[place])) for place in np.flatnonzero(whole).tolist()]
    line.sort(key=lambda one: not master.entries[one[0]].homes)
    line += [(place, 1) for place in np.argsort(-part, kind="stable").tolist() if part[place] > _ROUNDING]
    left, found = _Left(master), dict[tuple[int, ...], int]()
    for place, times in line:
        column = master.entries[place]
        for group in left.at_home(column.homes, times) if column.homes else left.of_bands(column.bands, times):
            found[group] = int(column.gpus)
    return found


class _Left:
    """The jobs that are in no group yet, by band: those worth most last."""

    def __init__(self, master: Master) -> None:
        work = master.offers.work
        self._homes, self._band = master.homes, master.band
        self._jobs = [
            sorted(np.flatnonzero(master.band == one).tolist(), key=lambda job: (work[job], job))
            for one in range(len(master.number))
        ]
        self._beside = {int(one): some.tolist() for some in master.inside for one in some}
        self._free = np.ones(len(master.band), dtype=np.bool_)

    def at_home(self, homes: tuple[int, ...], times: int) -> list[Group]:
        """Take so many of some groups that go on, those worth most first, of jobs that are all left."""
        found: list[Group] = []
        for home in sorted(homes, key=lambda home: (-self._homes.value[home], home)):
            group = [job for job in self._homes.members[home].tolist() if job >= 0]
            if len(found) < times and self._free[group].all():
                self._free[group] = False
                for job in group:
                    self._jobs[int(self._band[job])].remove(job)
                found.append(tuple(sorted(group)))
        return found

    def of_bands(self, bands: Ints, times: int) -> list[Group]:
        """Take so many groups with a job for each band, or one near it in its class, as long as there are some."""
        found: list[Group] = []
        for _ in range(times):
            group = self._taken(bands.tolist())
            if group is None:
                break
            found.append(tuple(sorted(group)))
        return found

    def _taken(self, bands: list[int]) -> list[int] | None:
        taken: list[tuple[int, int]] = []
        for band in bands:
            near = sorted(self._beside.get(band, [band]), key=lambda one: (abs(one - band), one))
            source = next((one for one in near if self._jobs[one]), None)
            if source is None:
                for one, job in reversed(taken):
                    self._jobs[one].append(job)
                return None
            taken.append((source, self._jobs[source].pop()))
        self._free[[job for _, job in taken]] = False
        return [job for _, job in taken]
