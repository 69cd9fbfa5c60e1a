"""Small random rounds with plans of parts of two sizes, and their optimum by trying every place of every part."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import ceil
from random import Random

from asked_plan_rounds import EveryAskedChoice, asked_plan_round
from msgspec.structs import replace
from running_states import settled

from muri_opt import Job, Node, Plan, Round

SHAPES = ((3, 2), (3, 2), (5, 2), (4, 3), (5, 3), (7, 3), (5, 4))
"""GPUs and nodes of plans whose GPUs do not divide by their nodes."""

Places = tuple[tuple[int, int], ...]
"""Nodes, each with the GPUs of the part that is there."""


def uneven_plan_round(seed: int, group: str) -> Round:
    """Return a round that uses the fields of a group, with uneven plans of jobs that are not even."""
    base, draw = asked_plan_round(seed, group), Random(f"uneven/{group}/{seed}")
    nodes = base.cluster.nodes
    jobs = [job if job.even or draw.random() < 0.2 else _with_uneven(draw, job, nodes) for job in base.jobs]
    return replace(base, name=f"uneven-plans/{group}/{seed}", jobs=settled(base.cluster, jobs))


def _with_uneven(draw: Random, job: Job, nodes: tuple[Node, ...]) -> Job:
    """Return a job with one or two uneven plans more, perhaps running by the first of them."""
    added = []
    for name, (gpus, parts) in zip("uv", draw.sample(SHAPES, draw.randint(1, 2)), strict=False):
        plan = Plan(
            name=f"{name}-dp{gpus}" if draw.random() < 0.5 else f"dp{gpus}@{name}",
            gpus=gpus,
            nodes=parts,
            cpus=draw.choice((None, 1.0, 4, 5.25)),
            memory_gib=draw.choice((None, 6.5, 9)),
            throughput=round(gpus ** draw.choice((0.5, 0.9, 1.2)) * draw.uniform(0.7, 1.5), 3),
        )
        added.append(plan)
    plans = (*(job.plans or ()), *added)
    first = added[0]
    if draw.random() < 0.5 or len(nodes) < first.nodes or job.guarantee is not None:
        return replace(job, plans=plans)
    sizes = [first.gpus // first.nodes + (part < first.gpus % first.nodes) for part in range(first.nodes)]
    held = {nodes[s].id: gpus for s, gpus in zip(draw.sample(range(len(nodes)), first.nodes), sizes, strict=True)}
    if any(node.gpus < held.get(node.id, 0) for node in nodes):
        return replace(job, plans=plans)
    shape = {} if job.nodes is None else {"nodes": None}
    return replace(job, plans=plans, plan=first.name, gpus=first.gpus, state="running", placement=held, **shape)


class EveryUnevenChoice(EveryAskedChoice):
    """The words of the round format, tried out with every part of a plan on every node."""

    def _tries(self, job: Job, plan: Plan, part: tuple, room: tuple) -> Iterator[tuple[Places, tuple]]:
        for places in self._arranged(job, plan):
            left = self._left(job, plan, room, places)
            if left is not None:
                yield places, left

    def _left(self, job: Job, plan: Plan, room: tuple, places: Places) -> tuple | None:
        """Return what nodes have left beside the parts of a plan, or ``None`` where they do not fit."""
        left = list(room)
        for s, gpus in places:
            left[s] = tuple(has - need for has, need in zip(room[s], _takes(job, plan, gpus), strict=True))
            if min(left[s]) < 0:
                return None
        return tuple(left)

    def _arranged(self, job: Job, plan: Plan) -> list[Places]:
        """Return every way to put the parts of a plan on nodes: where it may start, and where it is."""
        few, more = divmod(plan.gpus, plan.nodes)
        found = [
            tuple((s, few + (s in large)) for s in chosen)
            for chosen in self._starts(job, plan)
            for large in combinations(chosen, more)
        ]
        home = self._held(job, plan)
        own = self._own(plan)
        stays = home is not None and home not in found and all(s in own for s, _ in home)
        return [*found, home] if stays else found

    def _held(self, job: Job, plan: Plan) -> Places | None:
        """Return where the parts of a plan are now, if the job runs by it."""
        held = job.placement or {} if job.state == "running" else {}
        few, more = divmod(plan.gpus, plan.nodes)
        if plan.name != job.plan or sorted(held.values()) != [few] * (plan.nodes - more) + [few + 1] * more:
            return None
        return tuple((s, held[node.id]) for s, node in enumerate(self.nodes) if node.id in held)

    def _home(self, job: Job, plan: Plan, part: tuple, worth) -> dict[Places, int]:
        home = self._held(job, plan)
        return {} if home is None else {home: worth(plan, False)}

    def _fits(self, job: Job, plan: Plan) -> bool:
        room = tuple(
            (
                node.gpus,
                10**9 if node.cpus is None else round(node.cpus * 1000),
                10**9 if node.memory_gib is None else round(node.memory_gib * 1024),
            )
            for node in self.nodes
        )
        return any(self._left(job, plan, room, places) is not None for places in self._arranged(job, plan))


def _takes(job: Job, plan: Plan, gpus: int) -> tuple[int, int, int]:
    """Return the GPUs, milli-CPUs and MiB of a part of so many GPUs."""
    share = Fraction(gpus, plan.gpus) if plan.gpus else Fraction(1, plan.nodes)
    asked = ((job.cpus, plan.cpus, 1000), (job.memory_gib, plan.memory_gib, 1024))
    found = [gpus]
    for of_job, of_plan, unit in asked:
        each = ceil(Fraction(round((of_job or 0) * unit), max(1, job.gpus)))
        total = plan.gpus * each if of_plan is None else round(of_plan * unit)
        found.append(ceil(total * share))
    return found[0], found[1], found[2]
