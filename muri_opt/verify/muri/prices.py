"""Prices of jobs and of what they use, as evidence for a bound on groupings."""

from __future__ import annotations

from dataclasses import dataclass

from muri_opt.errors import InputError
from muri_opt.rounds import OddSet, Prices, Round
from muri_opt.verify.amounts import empty_rooms, need_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingPrices:
    """What groups pay, over one denominator.

    Job j pays ``pay[j]``, for itself and its GPUs of a quota. A GPU of a group costs ``gpu`` and, for each of its jobs,
    ``per_gpu[j]`` for CPUs and memory. A group with two jobs or more of an odd set pays the price of the set.
    ``supply`` is the price of all GPUs, CPUs, memory and quotas there are, and of k groups for each set of 2k + 1 jobs.
    """

    denominator: int
    once: tuple[int, ...]
    pay: tuple[int, ...]
    gpu: int
    per_gpu: tuple[int, ...]
    supply: int
    odd_sets: tuple[OddSet, ...]


def sharing_prices(round_: Round, duals: Prices) -> SharingPrices:
    """Return the prices that multipliers give, or refuse them by their label.

    ``once`` has a price per job and ``gpus`` one; ``cpus`` (of a milli-CPU) and ``memory`` (of a MiB) have one each,
    if every node has a limit, and ``quota`` one per tenant, 0 where it has none.
    """
    if duals.denominator < 1:
        raise InputError("denominator", str(duals.denominator), "a whole number of at least 1")
    rooms, tenants = empty_rooms(round_), round_.cluster.tenants
    once, (gpu,) = _prices(duals, "once", len(round_.jobs)), _prices(duals, "gpus", 1)
    milli, cpus = _limited_price(duals, "cpus", [room.milli for room in rooms])
    mebibyte, memory = _limited_price(duals, "memory", [room.mebibytes for room in rooms])
    quota = dict.fromkeys((tenant.id for tenant in tenants), 0)
    supply = gpu * round_.cluster.total_gpus + cpus + memory
    for tenant, price in zip(tenants, _prices(duals, "quota", len(tenants), (0,) * len(tenants)), strict=True):
        if price and tenant.quota_gpus is None:
            raise InputError(f"multipliers.quota ({tenant.id!r})", str(price), "0 for a tenant without a quota")
        quota[tenant.id] = price
        supply += price * (tenant.quota_gpus or 0)
    for place, odd in enumerate(duals.odd_sets):
        _check_odd_set(f"odd_sets[{place}]", odd, len(round_.jobs))
        supply += odd.price * (len(odd.jobs) // 2)
    needs = [need_of(job) for job in round_.jobs]
    return SharingPrices(
        denominator=duals.denominator,
        once=once,
        pay=tuple(
            price + quota.get(job.tenant or "", 0) * job.gpus for job, price in zip(round_.jobs, once, strict=True)
        ),
        gpu=gpu,
        per_gpu=tuple(milli * need.milli + mebibyte * need.mebibytes for need in needs),
        supply=supply,
        odd_sets=duals.odd_sets,
    )


def _check_odd_set(field: str, odd: OddSet, jobs: int) -> None:
    if odd.price < 0:
        raise InputError(f"{field}.price", str(odd.price), "a whole number of at least 0")
    if len(odd.jobs) % 2 == 0 or len(set(odd.jobs)) < len(odd.jobs) or not set(odd.jobs) <= set(range(jobs)):
        raise InputError(f"{field}.jobs", str(odd.jobs), f"an odd number of different positions of {jobs} jobs")


def _limited_price(duals: Prices, label: str, amounts: list[int | None]) -> tuple[int, int]:
    """Return the price of one unit, and of all that the nodes have."""
    (price,) = _prices(duals, label, 1, (0,))
    if price and None in amounts:
        raise InputError(f"multipliers.{label}", str(price), "0 unless every node has a limit")
    return price, price * sum(amount or 0 for amount in amounts)


def _prices(duals: Prices, label: str, count: int, left_out: tuple[int, ...] = ()) -> tuple[int, ...]:
    prices = duals.multipliers.get(label, left_out)
    if len(prices) != count or min(prices, default=0) < 0:
        raise InputError(f"multipliers.{label}", f"{len(prices)} numbers", f"{count} whole numbers of at least 0")
    return prices
