"""Priority orders over the jobs of a round, in exact integers.

Equal keys are broken by submission time (a job that does not say it counts as submitted at 0), then by position in
the round, so that an order depends on nothing but the round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.quantities import gpu_milliseconds, microseconds
from muri_opt.systems.orders.fair_share import fair_share_order
from muri_opt.systems.orders.tiresias_order import TiresiasKey, TiresiasOrder

Key = Callable[[Job], int | TiresiasKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A named order: the job fields it reads, and the key it sorts by, or the ``line`` of jobs if it is not a sort.

    >>> ORDERS["srtf"].requires
    ('remaining_iterations', 'iteration_seconds')
    """

    name: str
    requires: tuple[str, ...]
    summary: str
    key: Key | None = None
    line: Callable[[Round], list[int]] | None = None


def _remaining(job: Job) -> int:
    return (job.remaining_iterations or 0) * microseconds(job.iteration_seconds or 0.0)


def _submitted(job: Job) -> int:
    return microseconds(job.submitted or 0.0)


def _fewest_gpus_first(round_: Round) -> list[int]:
    """Return the order of progressive filling: each step serves the tenant that has been given the fewest GPUs.

    A job without a tenant is a tenant of its own. What a tenant has when its turn for a job comes are the GPUs of its
    earlier jobs, whoever else is served in between, so the whole order is one sort by that amount.
    """
    given: dict[str, int] = defaultdict(int)
    before = [0] * len(round_.jobs)
    for j in sorted(range(len(round_.jobs)), key=lambda j: (_submitted(round_.jobs[j]), j)):
        tenant = round_.jobs[j].tenant
        if tenant is not None:
            before[j] = given[tenant]
            given[tenant] += round_.jobs[j].gpus
    return sorted(range(len(round_.jobs)), key=lambda j: (before[j], _submitted(round_.jobs[j]), j))


ORDERS: dict[str, Order] = {
    order.name: order
    for order in (
        Order(name="fifo", requires=("submitted",), summary="first submitted, first served", key=_submitted),
        Order(
            name="srtf",
            requires=("remaining_iterations", "iteration_seconds"),
            summary="shortest remaining time first",
            key=_remaining,
        ),
        Order(
            name="srsf",
            requires=("remaining_iterations", "iteration_seconds"),
            summary="shortest remaining service (time x GPUs) first",
            key=lambda job: _remaining(job) * job.gpus,
        ),
        Order(
            name="las",
            requires=("attained_gpu_seconds",),
            summary="least attained service (GPU seconds) first",
            key=lambda job: gpu_milliseconds(job.attained_gpu_seconds or 0.0),
        ),
        Order(
            name="max-min",
            requires=("submitted",),
            summary="the tenant with the fewest GPUs so far next, its first submitted job first",
            line=_fewest_gpus_first,
        ),
        Order(
            name="fair-share",
            requires=("submitted",),
            summary="the tenant with the least use and dominant share for its weight next, level by level",
            line=fair_share_order,
        ),
    )
}


def priority_order(round_: Round, by: str | TiresiasOrder) -> list[int]:
    """Return job positions from the first to be served to the last; a job lacking a needed field is refused.

    Jobs of a larger ``priority`` come first, and among those of one priority the order decides.

    >>> priority_order(shipped_round("toy/two-gangs"), "fifo")
    [0, 1, 2]
    """
    return [*_line(round_, by)]  # one that is recalled must stay as it is


@recalled
def _line(round_: Round, by: str | TiresiasOrder) -> list[int]:
    order = ORDERS[by] if isinstance(by, str) else by
    line = order.line if isinstance(order, Order) else None
    check_sortable(round_, by)
    key: Key | None = order.key
    if line is not None:
        found = [*line(round_)]
    elif key is not None:
        keys, submitted = [*map(key, round_.jobs)], [*map(_submitted, round_.jobs)]
        found = sorted(range(len(keys)), key=submitted.__getitem__)  # mostly as they are, and then a stable sort
        found.sort(key=keys.__getitem__)
    if "job.priority" in round_.used_fields:
        found.sort(key=lambda j: -round_.jobs[j].priority)  # a stable sort
    return found


def check_sortable(round_: Round, by: str | TiresiasOrder) -> None:
    """Refuse the first job that does not say what an order sorts by."""
    order = ORDERS[by] if isinstance(by, str) else by
    if not any(None in map(attrgetter(field), round_.jobs) for field in order.requires):
        return
    for position, job in enumerate(round_.jobs):
        for field in order.requires:
            if getattr(job, field) is None:
                raise InputError(
                    f"jobs[{position}] ({job.id!r}).{field}",
                    "nothing",
                    f"a value: the policy {order.name!r} orders jobs by it",
                )
