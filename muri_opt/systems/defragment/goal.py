"""What is to be reached: nodes without a job, or room for one waiting gang."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.error_text import listed, shown
from muri_opt.rounds.quantities import MAX_COUNT, whole
from muri_opt.systems.capacity import fewest_nodes
from muri_opt.systems.defragment.running_jobs import Start


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Goal:
    """``chosen`` nodes: to be emptied if ``job`` is ``None``, else to hold that job, each with ``least`` GPUs or more.

    ``able[s]`` says which nodes can be chosen at all; ``most[s]`` is how many GPUs of the job node s can hold.
    """

    chosen: int
    able: NDArray[np.bool_]
    job: int | None = None
    least: int = 0
    most: Ints

    @classmethod
    def free(cls, start: Start, nodes: int) -> Goal:
        """Return the goal of some nodes without a job."""
        gpus = start.gpus
        usable = int((gpus > 0).sum())
        wanted = whole("nodes", nodes, MAX_COUNT)
        if wanted > usable:
            raise InputError("nodes", str(wanted), f"at most the {usable} nodes with GPUs")
        return cls(chosen=wanted, able=(gpus > 0) & ~start.pinned, most=np.zeros_like(gpus))

    @classmethod
    def hold(cls, start: Start, name: str) -> Goal:
        """Return the goal of a waiting job on as few nodes as it needs in the empty cluster."""
        round_ = start.round_
        job = _waiting(round_, name)
        amounts = round_.amounts
        chosen = fewest_nodes(round_, job)
        empty = np.sort(amounts.most_gpus([job], amounts.G, amounts.C, amounts.M) * start.may(job))[::-1]
        least = max(1, int(amounts.g[job] - empty[: chosen - 1].sum()))
        most = start.fits(job, start.room)
        return cls(chosen=chosen, able=most >= least, job=job, least=least, most=most)

    def inside(self, part: NDArray[np.bool_]) -> Goal:
        """Return the goal with the waiting job on some of the nodes only."""
        return replace(self, able=self.able & part, most=self.most * part)

    def impossible(self, start: Start) -> str | None:
        """Return why no moves reach the goal, as far as counting shows, or ``None``."""
        round_ = start.round_
        gpus, able = start.gpus, int(self.able.sum())
        used = int((gpus - start.free[:, 0]).sum())
        if self.job is None:
            if self.chosen > able:
                return f"only {able} nodes with GPUs hold no pinned job, {self.chosen} are to be freed"
            left = int(gpus.sum() - np.sort(gpus[self.able])[: self.chosen].sum())
            if used > left:
                return f"running jobs hold {used} GPUs, and without {self.chosen} nodes there are at most {left}"
            return None
        asked = int(start.size[self.job, 0])
        if self.chosen > len(gpus):
            return f"job {shown(round_.jobs[self.job].id)} does not fit into the empty cluster"
        if used + asked > gpus.sum():
            return f"running jobs hold {used} of {int(gpus.sum())} GPUs, too many for {asked} more"
        if np.sort(self.most)[::-1][: self.chosen].sum() < asked:
            return f"no {self.chosen} nodes have {asked} GPUs beside their pinned jobs"
        return None


def checked_budget(budget: int | None) -> int | None:
    """Return the most GPUs that may move; ``None`` is no limit."""
    return None if budget is None else whole("budget", budget, MAX_COUNT)


def _waiting(round_: Round, name: str) -> int:
    position = round_.job_index.get(name)
    if position is None:
        waiting = (job.id for job in round_.jobs if job.state == "waiting")
        raise InputError("job", shown(name), f"a waiting job: {listed(waiting)}")
    if round_.jobs[position].state == "running":
        raise InputError("job", f"{shown(name)}, which is running", "a waiting job")
    if round_.jobs[position].gpus == 0:
        raise InputError("job", f"{shown(name)}, which asks for no GPU", "a waiting job with GPUs")
    if round_.waits_by_order[position]:
        raise InputError("job", f"{shown(name)}, which is held or begins later", "a waiting job that may start now")
    return position
