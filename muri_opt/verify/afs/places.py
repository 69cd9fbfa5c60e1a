"""Where the shares of elastic jobs may be, in a round that says more than amounts; the verifier's own reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from muri_opt.errors import RefusalError
from muri_opt.rounds import INFORMATION, Job, Round
from muri_opt.verify.afs.value import Elastic
from muri_opt.verify.amounts import NO_LIMIT, Need, Room, empty_rooms, need_of, times
from muri_opt.verify.demands import Asked, asked_of, is_lost
from muri_opt.verify.option_search import Option

Tables = Sequence[Mapping[int, int]]
"""For each job what its shares are worth, by GPUs."""
Group = tuple[list[int], frozenset[int]]
"""Jobs, and the nodes that they may use."""


def anywhere(round_: Round) -> bool:
    """Return whether shares may be anywhere, no job counts before others, and no tenant is part of another."""
    return INFORMATION.issuperset(round_.used_fields)


def least_need(job: Job) -> Need:
    """Return what lets a job start: one GPU, or one on each of the fewest nodes it asks for."""
    return need_of(job)._replace(gpus=1 if job.nodes is None else job.nodes.least)


def check_asked(round_: Round, *, by_node: bool) -> None:
    """Refuse what the rules of shares do not know of: a place that is only preferred, nodes counted in two ways."""
    for job in round_.jobs:
        if job.within is not None and not job.within.required:
            allowed = "true: under the chapter 'sharing' of rules no place is preferred"
            raise RefusalError(f"job {job.id!r}.within.required", "false", allowed)
        if job.nodes is not None and by_node:
            allowed = "none under the rule packing=node: a share is on one node, or on as many as it fills"
            raise RefusalError(f"job {job.id!r}.nodes", "a range", allowed)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharePlaces:
    """The places of each job's shares: inside one part of the nodes in the shape it asks for, or where it is now."""

    round_: Round
    elastic: Elastic
    asked: Sequence[Asked]

    @classmethod
    def of(cls, round_: Round, elastic: Elastic) -> SharePlaces:
        """Return the places of a round's shares; ``elastic`` says whether they must divide or fill nodes."""
        everywhere = (tuple(range(len(round_.cluster.nodes))),)
        all_asked = asked_of(round_)
        found = []
        for job in round_.jobs:
            most = None if job.nodes is None else job.nodes.most
            mine = Asked(parts=everywhere, fewest=1, most=NO_LIMIT, even=False, home=None, must=False)
            if all_asked is not None:
                mine = replace(all_asked[job.id], most=NO_LIMIT if most is None else most, must=False)
            found.append(replace(mine, home=_home(round_, job)))
        return cls(round_=round_, elastic=elastic, asked=found)

    def options(self, place: int, table: Mapping[int, int]) -> list[Option]:
        """Return every kind of place that a job's shares may have, those of no value left out."""
        need, asked = need_of(self.round_.jobs[place]), self.asked[place]
        unit = (1, need.milli, need.mebibytes)
        changed = self.elastic.worth(self.round_).changed[place]
        found = []
        for gpus, kept in table.items():
            at_home = asked.home is not None and sum(asked.home.values()) == gpus
            if kept > 0 and asked.home is not None and at_home and self._packs(len(asked.home), gpus):
                found.append(Option(kept, unit, gpus, gpus, len(asked.home), home=asked.home))
            value = changed[gpus]
            for part in map(frozenset, asked.parts if value > 0 else ()):
                if asked.even or self.elastic.by_node:
                    numbers = [n for n in self._numbers(asked, gpus) if self._packs(n, gpus)]
                    found += [Option(value, times(unit, gpus // n), n, 1, n, among=part, least=n) for n in numbers]
                else:
                    found.append(Option(value, unit, gpus, gpus, asked.most, among=part, least=asked.fewest))
        return found

    def possible(self, values: Tables) -> list[dict[int, int]]:
        """Return the shares with their values that each job could have if no other job had any."""
        rooms = empty_rooms(self.round_)
        known: dict[object, bool] = {}
        found = []
        for place, table in enumerate(values):
            need, asked = need_of(self.round_.jobs[place]), self.asked[place]
            like = id(asked.parts), asked.fewest, asked.most, asked.even, need.milli, need.mebibytes
            mine = {}
            for gpus, value in table.items():
                key = (like, gpus)
                if key not in known:
                    known[key] = self._fits(asked, need._replace(gpus=gpus), rooms)
                if known[key] or sum((asked.home or {}).values()) == gpus:
                    mine[gpus] = value
            found.append(mine)
        return found

    def apart(self) -> list[Group]:
        """Return groups of jobs that have no node in common with other groups, each with the nodes it may use."""
        groups: list[Group] = []
        for place, asked in enumerate(self.asked):
            jobs, nodes, others = [place], asked.reach, list[Group]()
            for group in groups:
                if nodes.isdisjoint(group[1]):
                    others.append(group)
                else:
                    jobs, nodes = [*group[0], *jobs], nodes | group[1]
            groups = [*others, (jobs, nodes)]
        return groups

    def _fits(self, asked: Asked, need: Need, rooms: Sequence[Room]) -> bool:
        """Return whether a share could start in the empty cluster."""
        for part in asked.parts:
            holds = sorted((rooms[node].holds(need) for node in part), reverse=True)
            for number in self._numbers(asked, need.gpus):
                if number > len(holds) or not holds[number - 1]:
                    break
                equal = asked.even or self.elastic.by_node
                room = holds[number - 1] * number if equal else sum(holds[:number])
                if room >= need.gpus and self._packs(number, need.gpus):
                    return True
        return False

    def _numbers(self, asked: Asked, gpus: int) -> Iterator[int]:
        """Yield on how many nodes so many GPUs may be."""
        equal = asked.even or self.elastic.by_node
        most = min(asked.most, gpus, len(self.round_.cluster.nodes))
        return (number for number in range(asked.fewest, most + 1) if not equal or gpus % number == 0)

    def _packs(self, nodes: int, gpus: int) -> bool:
        """Return whether a share may be on so many nodes where it has to divide a node or fill nodes."""
        largest = max((node.gpus for node in self.round_.cluster.nodes), default=1) or 1
        return not self.elastic.by_node or nodes <= max(1, gpus // largest)


def _home(round_: Round, job: Job) -> Mapping[int, int] | None:
    """Return the GPUs per node that a running job may keep."""
    if job.state != "running" or is_lost(round_, job):
        return None
    return {round_.cluster.node_index[name]: gpus for name, gpus in (job.placement or {}).items() if gpus} or None
