"""Bounds from prices, in exact integers: the price of everything there is, plus the best profit of every unit.

Let everything that is limited have a price. What a decision uses is at most what there is, and so is what it pays. Its
value is therefore at most the price of everything there is plus, for each unit that it is made of, the most by which
the value of such a unit exceeds what it pays. A unit is a job with its best option, or a node with its best filling
(:mod:`~muri_opt.verify.node_filling`). Any prices give a bound: bad ones a weak bound, never a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from muri_opt.errors import InputError
from muri_opt.rounds import Prices, Round
from muri_opt.verify.amounts import empty_rooms
from muri_opt.verify.tenant_lines import tenant_lines

Supply = Mapping[str, Sequence[int | None]]
"""What there is, by the label of its prices; ``None`` is no limit, and has no price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """Prices by label, over one denominator, and the price of everything there is."""

    denominator: int
    of: Mapping[str, Sequence[int]]
    everything: int

    @classmethod
    def read(cls, duals: Prices, supply: Supply, *, signed: bool = False) -> PriceTable:
        """Return the prices that multipliers give, or refuse them by their label; what is left out is free.

        Prices are at least 0, unless they are ``signed``: those of what must be used up exactly may have any sign.
        """
        if duals.denominator < 1:
            raise InputError("denominator", str(duals.denominator), "a whole number of at least 1")
        for label in duals.multipliers:
            if label not in supply:
                raise InputError(f"multipliers.{label}", "prices", "prices of " + ", ".join(supply))
        found: dict[str, Sequence[int]] = {}
        everything = 0
        for label, amounts in supply.items():
            prices = found[label] = duals.multipliers.get(label, (0,) * len(amounts))
            if len(prices) != len(amounts) or (not signed and min(prices, default=0) < 0):
                allowed = f"{len(amounts)} whole numbers" + ("" if signed else " of at least 0")
                raise InputError(f"multipliers.{label}", f"{len(prices)} numbers", allowed)
            for position, (price, amount) in enumerate(zip(prices, amounts, strict=True)):
                if price and amount is None:
                    raise InputError(f"multipliers.{label}[{position}]", str(price), "0 where there is no limit")
                everything += price * (amount or 0)
        return cls(denominator=duals.denominator, of=found, everything=everything)

    def of_tenants(self, round_: Round) -> dict[str, int]:
        """Return the price of a GPU of each tenant's quota, and of those above it."""
        own = {tenant.id: price for tenant, price in zip(round_.cluster.tenants, self.of["quota"], strict=True)}
        if all(tenant.parent is None for tenant in round_.cluster.tenants):
            return own
        return {tenant: sum(own[one] for one in line) for tenant, line in tenant_lines(round_).items()}

    def bound(self, profits: Iterable[int]) -> int:
        """Return the largest whole value that the prices allow, if no unit has more than its profit."""
        return (self.everything + sum(profits)) // self.denominator


def pooled_supply(round_: Round) -> dict[str, tuple[int | None, ...]]:
    """Return what all nodes have together, without a limit where one of them has none, and the quotas of tenants."""
    rooms = empty_rooms(round_)
    return {
        "gpus": (round_.cluster.total_gpus,),
        "cpus": (_sum([room.milli for room in rooms]),),
        "memory": (_sum([room.mebibytes for room in rooms]),),
        "quota": tuple(tenant.quota_gpus for tenant in round_.cluster.tenants),
    }


def _sum(amounts: Sequence[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None
