"""Configurations of a job: parameter servers, workers and their GPU shares, each one a plan by its name."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.job import Job, Plan
from muri_opt.rounds.quantities import MAX_GPUS, whole

KINDS: Final = ("cpu", "gpu")
SERVICE_PER_GPU: Final = 10
SERVICE_PER_TASK: Final = 5
_NAMES: Final = 4096
"""How many names are remembered: the jobs of a round share most of theirs."""
_NAME = re.compile(r"(cpu|gpu)-p([1-9]\d*)-w([1-9]\d*)(?:-s([1-9]\d*))?", flags=re.ASCII)
_ALLOWED: Final = "cpu-p<servers>-w<workers> or gpu-p<servers>-w<workers>-s<shares>, such as gpu-p1-w2-s1"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobConfiguration:
    """Parameter servers and workers; workers of kind ``gpu`` have a ``share`` of GPUs each, those on CPUs have none.

    A share is what the round counts as one GPU: a whole GPU, or a part of one where the round's nodes say how many
    parts they have.
    """

    kind: str
    servers: int
    workers: int
    share: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError("kind", shown(self.kind), "one of " + ", ".join(KINDS))
        for name in ("servers", "workers"):
            object.__setattr__(self, name, whole(name, getattr(self, name), MAX_GPUS, 1))
        least, most = (0, 0) if self.kind == "cpu" else (1, MAX_GPUS)
        object.__setattr__(self, "share", whole("share", self.share, most, least))

    @classmethod
    @lru_cache(maxsize=_NAMES)
    def of_name(cls, name: str) -> JobConfiguration:
        """Return the configuration that a plan's name tells, or refuse the name."""
        found = _NAME.fullmatch(name)
        if found is None or (found[1] == "gpu") != (found[4] is not None):
            raise InputError("name", shown(name), _ALLOWED)
        try:
            return cls(kind=found[1], servers=int(found[2]), workers=int(found[3]), share=int(found[4] or 0))
        except (InputError, ValueError):  # more tasks than can be, or more digits than Python reads
            raise InputError("name", shown(name), _ALLOWED) from None

    @property
    def name(self) -> str:
        """The name of its plans."""
        return f"{self.kind}-p{self.servers}-w{self.workers}" + f"-s{self.share}" * (self.kind == "gpu")

    @property
    def gpus(self) -> int:
        """GPUs of all workers, as the round counts them."""
        return self.workers * self.share

    @property
    def tasks(self) -> int:
        """Servers and workers together."""
        return self.servers + self.workers

    @property
    def service(self) -> int:
        """Service units a second: 10 for each GPU, 5 for each server and worker."""
        return SERVICE_PER_GPU * self.gpus + SERVICE_PER_TASK * (self.servers + self.workers)

    @property
    def family(self) -> tuple[str, int]:
        """What stays the same while servers and workers are added: the kind, and the share of each worker."""
        return self.kind, self.share

    @property
    def size(self) -> tuple[int, int]:
        """What those of a family are sorted by: tasks, then servers."""
        return self.tasks, self.servers

    @property
    def steps(self) -> int:
        """Servers, workers and shares of a worker: what a step makes one more or one less of."""
        return self.tasks + self.share

    @property
    def position(self) -> tuple[int, int, int]:
        """Servers, workers and shares of a worker: a step makes one of them one more or one less."""
        return self.servers, self.workers, self.share

    def units(self, plan: Plan) -> int:
        """Return the service units of one of its plans: those of the configuration."""
        return self.service

    def growths(self) -> tuple[JobConfiguration, ...]:
        """Return what one more server or worker makes of it."""
        return self.additions(switch=False)[:2]

    def additions(self, *, switch: bool) -> tuple[JobConfiguration, ...]:
        """Return what one more server, worker or share makes of it; with ``switch``, a first share moves it to GPUs."""
        more = [replace(self, servers=self.servers + 1), replace(self, workers=self.workers + 1)]
        if self.kind == "gpu":
            more.append(replace(self, share=self.share + 1))
        elif switch:
            more.append(replace(self, kind="gpu", share=1))
        return tuple(more)

    def removals(self, *, switch: bool) -> tuple[JobConfiguration, ...]:
        """Return what one server, worker or share less makes of it; with ``switch``, no share is on CPUs."""
        less = []
        if self.servers > 1:
            less.append(replace(self, servers=self.servers - 1))
        if self.workers > 1:
            less.append(replace(self, workers=self.workers - 1))
        if self.share > 1:
            less.append(replace(self, share=self.share - 1))
        elif self.share == 1 and switch:
            less.append(replace(self, kind="cpu", share=0))
        return tuple(less)


def are_configurations(job: Job) -> bool:
    """Return whether the names of all of a job's plans tell servers and workers.

    >>> are_configurations(Job(id="a", gpus=1, plans=(Plan(name="gpu-p1-w1-s1", gpus=1, throughput=2.0),)))
    True
    """
    try:
        for plan in job.plans or ():
            JobConfiguration.of_name(plan.name)
    except InputError:
        return False
    return True


def configurations_of(job: Job) -> dict[str, JobConfiguration]:
    """Return the configuration that each name among a job's plans tells; plans of other GPUs than that are refused."""
    found: dict[str, JobConfiguration] = {}
    for position, plan in enumerate(job.plans or ()):
        if plan.name not in found:
            try:
                found[plan.name] = JobConfiguration.of_name(plan.name)
            except InputError as error:
                raise error.inside(f"plans[{position}]") from None
        if plan.gpus != found[plan.name].gpus:
            allowed = f"{found[plan.name].gpus}, the shares of all workers of {plan.name!r}"
            raise InputError(f"plans[{position}].gpus", str(plan.gpus), allowed)
    return found
