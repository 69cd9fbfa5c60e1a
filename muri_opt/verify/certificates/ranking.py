"""Is an order as close to the lists as it claims, and can none be closer? Counted pair by pair in plain integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from muri_opt.errors import InputError
from muri_opt.rounds import Proof

MOST_ENUMERATED = 12
"""Jobs up to which all orders of a block are gone through, set by set."""

Triangle = tuple[int, int, int]
Block = tuple[Sequence[int], int, Mapping[Triangle, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedOrder:
    """The disagreement of an order, what no order is below, and how that was proved."""

    value: int
    bound: int
    proof: Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """How many lists put a before b, and which pairs every list that knows one of them puts so."""

    count: Mapping[tuple[int, int], int]
    agreed: frozenset[tuple[int, int]]

    @staticmethod
    def of(lists: Sequence[Sequence[int]], weights: Sequence[int], jobs: int) -> _Pairs:
        count = {(a, b): 0 for a in range(jobs) for b in range(jobs) if a != b}
        for entries, weight in zip(lists, weights, strict=True):
            for a, b in combinations(entries, 2):
                count[a, b] += weight
        known = [0] * jobs
        for entries, weight in zip(lists, weights, strict=True):
            for a in entries:
                known[a] += weight
        agreed = frozenset((a, b) for (a, b), both in count.items() if 0 < both == known[a] == known[b])
        return _Pairs(count=count, agreed=agreed)


def check_ranking(
    lists: Sequence[Sequence[int]],
    weights: Sequence[int],
    order: Sequence[int],
    proof: Sequence[Block] = (),
) -> CheckedOrder:
    """Return the disagreement of an order of all jobs with the lists and a bound that no order can be below.

    ``proof`` has blocks of jobs, each with weights of directed triangles over a denominator; jobs in no block are
    blocks of their own. Pairs of different blocks cost at least their minority. A breach is an ``InputError``.
    """
    jobs = len(order)
    if sorted(order) != list(range(jobs)):
        raise InputError("order", f"{jobs} entries", f"every job from 0 to {jobs - 1} once")
    pairs = _Pairs.of([list(map(int, entries)) for entries in lists], [int(weight) for weight in weights], jobs)
    value = sum(pairs.count[b, a] for a, b in combinations(map(int, order), 2))
    owner = _owners(proof, jobs)
    apart = sum(
        min(pairs.count[a, b], pairs.count[b, a])
        for a, b in combinations(range(jobs), 2)
        if owner[a] != owner[b] or owner[a] < 0
    )
    enumerated, bound = True, apart
    for number, (members, denominator, triangles) in enumerate(proof):
        inside = [int(job) for job in members]
        if triangles or len(inside) > MOST_ENUMERATED:
            enumerated = False
            bound += _packed(pairs, inside, denominator, triangles, f"proof[{number}]")
        else:
            bound += _least(pairs, inside)
    return CheckedOrder(value=value, bound=bound, proof=Proof.EXHAUSTIVE if enumerated else Proof.LINEAR_DUALS)


def _owners(proof: Sequence[Block], jobs: int) -> list[int]:
    owner = [-1] * jobs
    for number, (members, _, _) in enumerate(proof):
        for job in members:
            if not 0 <= job < jobs or owner[job] >= 0:
                raise InputError(f"proof[{number}]", f"job {job}", f"jobs from 0 to {jobs - 1}, each in one block")
            owner[job] = number
    return owner


def _packed(
    pairs: _Pairs, inside: Sequence[int], denominator: int, triangles: Mapping[Triangle, int], field: str
) -> int:
    """Return what triangles prove: no order has all three sides of one, so it pays at most twice their weight extra.

    Charged the weight of a triangle for each of its sides that holds, every order costs at least what the pairs cost
    when each is decided alone; pairs on which all agree have one way round in every best order.
    """
    if denominator < 1:
        raise InputError(f"{field}.denominator", str(denominator), "a whole number of at least 1")
    members = set(inside)
    charge = {(a, b): denominator * pairs.count[b, a] for a in inside for b in inside if a != b}
    total = 0
    for (a, b, c), weight in triangles.items():
        if weight < 0 or len({a, b, c} & members) < 3:
            raise InputError(f"{field}.triangles", f"{weight} on {(a, b, c)}", "weights of at least 0 on three jobs")
        for side in ((a, b), (b, c), (c, a)):
            charge[side] += weight
        total += weight
    least = -2 * total
    for a, b in combinations(inside, 2):
        ways = [side for side in ((a, b), (b, a)) if side[::-1] not in pairs.agreed]
        least += min(charge[side] for side in ways)
    return -(-least // denominator)


def _least(pairs: _Pairs, inside: Sequence[int]) -> int:
    """Return the least disagreement inside a block: for each set of jobs that come first, the cheapest last one."""
    least = {0: 0}
    for chosen in range(1, 1 << len(inside)):
        members = [place for place in range(len(inside)) if chosen >> place & 1]
        least[chosen] = min(
            least[chosen ^ (1 << last)] + sum(pairs.count[inside[last], inside[p]] for p in members if p != last)
            for last in members
        )
    return least[(1 << len(inside)) - 1]
