"""Where the shares of elastic jobs may be, in a round that says more than amounts; the verifier's own reading."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from muri_opt.errors import RefusalError
from muri_opt.rounds import INFORMATION, Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.afs.value import Elastic
from muri_opt.verify.amounts import Need, need_of, times
from muri_opt.verify.counted_parts import empty_parts
from muri_opt.verify.demands import Asked, asked_of, is_lost
from muri_opt.verify.open_nodes import Parts
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
        nodes = len(round_.cluster.nodes)
        everywhere, all_asked = _everywhere(round_), asked_of(round_)
        found = []
        for job in round_.jobs:
            most = None if job.nodes is None else job.nodes.most
            mine = Asked(parts=everywhere, fewest=1, most=nodes, even=False, home=None, must=False)
            if all_asked is not None:
                mine = replace(all_asked[job.id], most=nodes if most is None else min(most, nodes), must=False)
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
            shaped = self._shaped(asked, gpus)
            if kept > 0 and asked.home is not None and at_home and len(asked.home) <= self._most_nodes(gpus):
                found.append(Option(kept, unit, gpus, gpus, len(asked.home), home=asked.home))
            value = changed[gpus]
            for part in map(frozenset, asked.parts if value > 0 else ()):
                if shaped.even:
                    numbers = shaped.counts(gpus)
                    found += [Option(value, times(unit, gpus // n), n, 1, n, among=part, least=n) for n in numbers]
                else:
                    found.append(Option(value, unit, gpus, gpus, asked.most, among=part, least=asked.fewest))
        return found

    def possible(self, values: Tables) -> list[dict[int, int]]:
        """Return the shares with their values that each job could have if no other job had any."""
        counted = empty_parts(self.round_)
        known: dict[object, Container[int]] = {}
        found = []
        for place, table in enumerate(values):
            need, asked = need_of(self.round_.jobs[place]), self.asked[place]
            like = asked.alike, need.milli, need.mebibytes, tuple(table)
            if like not in known:
                known[like] = self._fitting(asked, table, counted.holding(asked, need))
            could, at_home = known[like], sum((asked.home or {}).values())
            found.append({gpus: value for gpus, value in table.items() if gpus in could or gpus == at_home})
        return found

    def apart(self) -> list[Group]:
        """Return groups of jobs that have no node in common with other groups, each with the nodes it may use."""
        alike: dict[object, Group] = {}
        for place, asked in enumerate(self.asked):
            key = id(asked.parts) if asked.home is None else -1 - place
            if key not in alike:
                alike[key] = [], asked.reach
            alike[key][0].append(place)
        groups: list[Group] = []
        for mine, reach in alike.values():
            jobs, nodes, others = mine, reach, list[Group]()
            for group in groups:
                if nodes.isdisjoint(group[1]):
                    others.append(group)
                else:
                    jobs, nodes = [*group[0], *jobs], nodes | group[1]
            groups = [*others, (jobs, nodes)]
        return groups

    def _fitting(self, asked: Asked, sizes: Iterable[int], parts: Sequence[Mapping[int, int]]) -> Container[int]:
        """Return the sizes of shares that could start; ``parts`` count the nodes that hold so many GPUs."""
        if asked.even or self.elastic.by_node:
            shaped = [(gpus, self._shaped(asked, gpus)) for gpus in sizes]
            return {gpus for gpus, mine in shaped if any(mine.nodes_among(part, gpus) for part in parts)}
        return range(asked.fewest, max(map(asked.most_among, parts), default=0) + 1)

    def _shaped(self, asked: Asked, gpus: int) -> Asked:
        """Return what is asked of so many GPUs, where a share has to divide a node or fill nodes as well."""
        if not self.elastic.by_node:
            return asked
        return replace(asked, even=True, most=min(asked.most, self._most_nodes(gpus)))

    def _most_nodes(self, gpus: int) -> int:
        """Return on how many nodes a share may be, of a job that does not ask for a number."""
        nodes = self.round_.cluster.nodes
        largest = max([1, *(node.gpus for node in nodes)])
        return max(1, gpus // largest) if self.elastic.by_node else len(nodes)


@recalled
def _everywhere(round_: Round) -> Parts:
    """Return all nodes as the one part of a job that asks for none: the same object each time."""
    return (tuple(range(len(round_.cluster.nodes))),)


def _home(round_: Round, job: Job) -> Mapping[int, int] | None:
    """Return the GPUs per node that a running job may keep."""
    if job.state != "running" or is_lost(round_, job):
        return None
    return {round_.cluster.node_index[name]: gpus for name, gpus in (job.placement or {}).items() if gpus} or None
