"""Plans of any names as steps: what is one step more or less than a plan, where names tell no servers and workers.

The plans of a job by one name are one rung of its ladder. Rungs are in the order of the GPUs, then of the CPUs and the
memory, that the smallest plan of each takes in all.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from muri_opt.rounds import Job, Plan
from muri_opt.rounds.configurations import (
    SERVICE_PER_GPU,
    SERVICE_PER_TASK,
    JobConfiguration,
    are_configurations,
    configurations_of,
)
from muri_opt.systems.plans.plan_parts import entries_of

_NAMES: Final = 4096
"""How many sets of names are remembered: the jobs of a round share most of theirs."""


class Configuration(Hashable, Protocol):
    """What policies that go step by step know of the plans of one name: servers and workers, or a rung."""

    @property
    def name(self) -> str:
        """The name of its plans."""

    @property
    def kind(self) -> str:
        """On CPUs only, or with GPUs: ``cpu`` or ``gpu``."""

    @property
    def gpus(self) -> int:
        """GPUs in all."""

    @property
    def servers(self) -> int:
        """Parameter servers; 0 where names do not tell them."""

    @property
    def tasks(self) -> int:
        """Servers and workers; or nodes, with a task on each."""

    @property
    def service(self) -> int:
        """Service units a second: 10 for each GPU, 5 for each task."""

    @property
    def family(self) -> Hashable:
        """What stays the same while tasks are added."""

    @property
    def size(self) -> tuple[int, int]:
        """What those of a family are sorted by, the smallest first."""

    @property
    def steps(self) -> int:
        """A number that every step makes one more or one less."""

    @property
    def position(self) -> tuple[int, int, int]:
        """Three numbers: a step makes one of them one more or one less."""

    def units(self, plan: Plan) -> int:
        """Return the service units of one of its plans."""

    def additions(self, *, switch: bool) -> tuple[Configuration, ...]:
        """Return what is one step more; without ``switch``, of the same kind."""

    def removals(self, *, switch: bool) -> tuple[Configuration, ...]:
        """Return what is one step less; without ``switch``, of the same kind."""

    def growths(self) -> tuple[Configuration, ...]:
        """Return what it may grow to at once where gains decide: one task more, or any larger rung of its kind."""


class RungSize(NamedTuple):
    """What the smallest plan of a name takes in all: GPUs, milli-CPUs, MiB; then the name, and the nodes it is on."""

    gpus: int
    milli: int
    mib: int
    name: str
    nodes: int


@dataclass(frozen=True, slots=True, order=True)
class Rung:
    """One of the names of a job's plans, at its place among all of them from the smallest to the largest."""

    ladder: tuple[RungSize, ...]
    place: int

    @property
    def name(self) -> str:
        """The name of its plans."""
        return self.ladder[self.place].name

    @property
    def kind(self) -> str:
        """On CPUs only, or with GPUs."""
        return "gpu" if self.gpus else "cpu"

    @property
    def gpus(self) -> int:
        """GPUs of its smallest plan."""
        return self.ladder[self.place].gpus

    @property
    def servers(self) -> int:
        """None that the name tells."""
        return 0

    @property
    def tasks(self) -> int:
        """One on each node of its smallest plan."""
        return self.ladder[self.place].nodes

    @property
    def service(self) -> int:
        """Service units a second of its smallest plan."""
        return SERVICE_PER_GPU * self.gpus + SERVICE_PER_TASK * self.tasks

    @property
    def family(self) -> Hashable:
        """The kind: any number of steps leads from one to another."""
        return self.kind

    @property
    def size(self) -> tuple[int, int]:
        """The place on the ladder."""
        return self.place, 0

    @property
    def steps(self) -> int:
        """The place on the ladder."""
        return self.place

    @property
    def position(self) -> tuple[int, int, int]:
        """The place on the ladder, and nothing else that a step could change."""
        return self.place, 0, 0

    def units(self, plan: Plan) -> int:
        """Return the service units of one of its plans."""
        return SERVICE_PER_GPU * plan.gpus + SERVICE_PER_TASK * plan.nodes

    def additions(self, *, switch: bool) -> tuple[Rung, ...]:
        """Return the next rung, if there is one."""
        return self._at(self.place + 1, switch=switch)

    def removals(self, *, switch: bool) -> tuple[Rung, ...]:
        """Return the rung before, if there is one."""
        return self._at(self.place - 1, switch=switch)

    def growths(self) -> tuple[Rung, ...]:
        """Return all larger rungs of the kind: the next one may be slower than one after it."""
        larger = (Rung(self.ladder, place) for place in range(self.place + 1, len(self.ladder)))
        return tuple(rung for rung in larger if rung.kind == self.kind)

    def _at(self, place: int, *, switch: bool) -> tuple[Rung, ...]:
        if not 0 <= place < len(self.ladder):
            return ()
        rung = Rung(self.ladder, place)
        return (rung,) if switch or rung.kind == self.kind else ()


def steps_of(job: Job) -> Mapping[str, Configuration]:
    """Return by name what the plans of a job are to a policy that goes step by step.

    Names that all tell servers and workers are read as such; else they are rungs of a ladder.
    """
    if not are_configurations(job):
        return _ladder(job)
    told = tuple((plan.name, plan.gpus) for plan in job.plans or ())
    return _told(told) or configurations_of(job)


@lru_cache(maxsize=_NAMES)
def _told(plans: tuple[tuple[str, int], ...]) -> Mapping[str, JobConfiguration] | None:
    """Return what names tell, many jobs having the same ones; ``None`` where one tells other GPUs than its plan has."""
    found = {name: JobConfiguration.of_name(name) for name, _ in plans}
    return found if all(found[name].gpus == gpus for name, gpus in plans) else None


def _ladder(job: Job) -> dict[str, Rung]:
    smallest: dict[str, RungSize] = {}
    for _, plan, part, _ in entries_of(job):
        size = RungSize(plan.gpus, part.milli * plan.nodes, part.mib * plan.nodes, plan.name, plan.nodes)
        smallest[plan.name] = min(size, smallest.get(plan.name, size))
    ladder = tuple(sorted(smallest.values()))
    return {size.name: Rung(ladder, place) for place, size in enumerate(ladder)}
