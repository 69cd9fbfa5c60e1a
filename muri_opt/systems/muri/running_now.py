"""Where running jobs are and how they may share, by numbers of nodes: what is asked of every group, many times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muri_opt.rounds import Round
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.sharing_now import Held, SharingNow, homes_now, homes_of
from muri_opt.systems.muri.node_places import Places
from muri_opt.systems.muri.periods import Group


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunningNow:
    """The placements of running jobs: ``of[j]`` is the number of that of job j, -1 if it does not run.

    Jobs of placement p have the GPUs ``places[p]``, ``gpus[p]`` in all. They are in ``most[p]`` groups at most, each of
    ``least[p]`` to ``largest[p]`` jobs.

    >>> RunningNow.in_round(shipped_round("toy/two-gangs")).of
    (-1, -1, -1)
    """

    of: Sequence[int]
    places: Sequence[Places]
    gpus: Sequence[int]
    most: Sequence[int]
    least: Sequence[int]
    largest: Sequence[int]

    @classmethod
    def in_round(cls, round_: Round) -> RunningNow:
        """Return where the jobs of a round run."""
        return _in_round(round_)

    @classmethod
    def read(cls, round_: Round, now: SharingNow) -> RunningNow:
        """Return placements by the numbers of their nodes."""
        index, placements = round_.cluster.node_index, now.homes
        return cls(
            of=now.of,
            places=[tuple(sorted([(index[node], gpus) for node, gpus in one.held])) for one in placements],
            gpus=[sum([gpus for _, gpus in one.held]) for one in placements],
            most=[one.most for one in placements],
            least=[one.least for one in placements],
            largest=[one.largest for one in placements],
        )

    @classmethod
    def if_placed(cls, round_: Round, where: Sequence[Places | None]) -> RunningNow:
        """Return the same if each job ran on these GPUs, ``None``: not at all."""
        names = [node.id for node in round_.cluster.nodes]
        held: dict[Places | None, Held | None] = {None: None}
        for places in where:
            if places is not None and places not in held:
                held[places] = tuple(sorted([(names[node], gpus) for node, gpus in places]))
        return cls.read(round_, homes_of(round_, [held[places] for places in where]))

    def in_line(self, line: Sequence[int]) -> list[int]:
        """Return the jobs of a line that run."""
        return [job for job in line if self.of[job] >= 0]

    def goes_on(self, group: Group, places: Places) -> bool:
        """Return whether a group with these GPUs goes on as it is, as far as the round tells."""
        at = self.of[group[0]]
        if at < 0 or places != self.places[at] or not self.least[at] <= len(group) <= self.largest[at]:
            return False
        return len(group) == 1 or all(self.of[job] == at for job in group)

    def go_on(self, placed: Mapping[Group, Places]) -> list[bool]:
        """Return the same of all groups, each with its GPUs."""
        of, least, largest, now = self.of, self.least, self.largest, self.places
        found = []
        for group, places in placed.items():
            at, size = of[group[0]], len(group)
            goes_on = at >= 0 and places == now[at] and least[at] <= size <= largest[at]
            found.append(goes_on and (size == 1 or all(of[job] == at for job in group)))
        return found


@recalled
def _in_round(round_: Round) -> RunningNow:
    return RunningNow.read(round_, homes_now(round_))
