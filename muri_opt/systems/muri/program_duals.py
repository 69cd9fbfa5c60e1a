"""Prices that bound groups of at most two jobs: the dual solution of a maximum-weight matching at a price of GPUs.

At given prices of GPUs, CPUs, memory and quotas the best grouping into pairs and single jobs is a maximum-weight
matching: an edge is worth what the pair is worth above its price, less what its two jobs are worth above theirs alone.
The duals of the matching (Edmonds 1965), prices of jobs and of odd sets of jobs, then bound the round without the gap
that odd cycles leave in the linear relaxation. The price of GPUs is the one with the least bound. Where all jobs ask
for equally many GPUs, and nothing but GPUs binds, that bound is the optimum: the best weight of k disjoint groups of at
most two jobs is concave in k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from muri_opt.algorithms.matching import Matching, max_weight_matching
from muri_opt.modelling import Ints
from muri_opt.rounds import LinearDuals, MatchingDuals, OddSet, Round
from muri_opt.systems.muri.program_columns import GroupColumns

MOST_JOBS = 500
"""Jobs beyond which matchings at several prices would take longer than they are worth."""
_MATCHINGS = 16
_LARGEST = 1 << 48
"""Weights times vertices stay below this, so that every step of a matching is exact."""


def matching_duals(round_: Round, columns: GroupColumns, linear: LinearDuals) -> MatchingDuals | None:
    """Return prices of jobs and odd sets at the best price of GPUs, with the prices of CPUs, memory and quotas given.

    ``None`` where groups may be larger than pairs, where jobs are too many or numbers too large, and where the prices
    of the linear relaxation prove more.
    """
    if columns.groups.shape[1] != 2 or not 0 < len(columns.types.type_of) <= MOST_JOBS:
        return None
    largest = max(1, int(np.abs(columns.value).max(initial=0)))
    scale = min(linear.denominator, _LARGEST // (largest * len(columns.types.type_of)))
    if scale < 1:
        return None
    pairs = _Pairs.of(round_, columns, linear, scale)
    best = pairs.least_bound(linear.multipliers["gpus"][0] * scale // linear.denominator)
    once, gpus = linear.multipliers["once"], linear.multipliers["gpus"][0]
    nodes = zip(linear.multipliers.get("home", ()), round_.amounts.G.tolist(), strict=False)
    stays = sum(linear.multipliers.get("kept", ())) + sum(price * has for price, has in nodes)
    proved = sum(once) + gpus * round_.cluster.total_gpus + supply_besides(round_, linear.multipliers) + stays
    return None if best.bound * linear.denominator > proved * scale else pairs.evidence(best)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Matched:
    """The best grouping at one price of a GPU: the bound that follows, and the GPUs that its groups take.

    ``alone`` is what each job is worth above its price by itself.
    """

    gpu: int
    alone: Ints
    matching: Matching
    bound: int
    used: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pairs:
    """What pairs and single jobs are worth above the prices of CPUs, memory and quotas, in units of 1 / ``scale``.

    ``pair_gpus[u, v]`` and ``gpus[u]`` are the GPUs that they take. ``others`` are those prices, and ``supply`` is what
    all CPUs, memory and quotas cost.
    """

    scale: int
    pair: Ints
    pair_gpus: Ints
    single: Ints
    gpus: Ints
    total_gpus: int
    others: dict[str, tuple[int, ...]]
    supply: int

    @classmethod
    def of(cls, round_: Round, columns: GroupColumns, linear: LinearDuals, scale: int) -> _Pairs:
        """Return the pairs of all jobs; two jobs that are no group are worth less than nothing."""
        others = {
            label: tuple(price * scale // linear.denominator for price in prices)
            for label, prices in linear.multipliers.items()
            if label not in ("once", "gpus", "kept", "home")
        }
        kinds = len(columns.types.count)
        worth, taken = np.full((kinds, kinds + 1), -1, dtype=np.int64), np.zeros((kinds, kinds + 1), dtype=np.int64)
        first, second = columns.groups.T  # of a job alone the second is -1, the last place of a row
        above = scale * columns.value - paid_besides(round_, columns, others)
        moves = columns.placement < 0
        worth[first[moves], second[moves]] = above[moves]
        taken[first, second] = columns.gpus
        of = columns.types.type_of
        pair = np.maximum(worth[:, :kinds], worth[:, :kinds].T)[np.ix_(of, of)]
        single = worth[of, kinds]
        _keep(columns, above, pair, single)
        return cls(
            scale=scale,
            pair=pair,
            pair_gpus=np.maximum(taken[:, :kinds], taken[:, :kinds].T)[np.ix_(of, of)],
            single=single,
            gpus=taken[of, kinds],
            total_gpus=round_.cluster.total_gpus,
            others=others,
            supply=supply_besides(round_, others),
        )

    def matched(self, gpu: int) -> _Matched:
        """Return the best grouping at a price of a GPU, and the bound that its duals prove."""
        alone = np.maximum(0, self.single - gpu * self.gpus)
        edges = np.maximum(0, self.pair - gpu * self.pair_gpus - alone[:, None] - alone)
        matching = max_weight_matching(edges)
        in_pairs = sum(int(self.pair_gpus[u, v]) for u, v in matching.pairs)
        by_themselves = int(self.gpus[(matching.mate < 0) & (alone > 0)].sum())
        bound = int(alone.sum()) + matching.value + gpu * self.total_gpus + self.supply
        return _Matched(gpu=gpu, alone=alone, matching=matching, bound=bound, used=in_pairs + by_themselves)

    def least_bound(self, gpu: int) -> _Matched:
        """Return the least bound over prices of a GPU, from a first guess, by cutting planes (Kelley 1960).

        Any grouping bounds the bounds from below: at price p by its value and p for each GPU that it leaves free. The
        next price is where the steepest falling of these lines known meets the steepest rising one.
        """
        best = found = self.matched(gpu)
        rising, falling = (self.supply, self.total_gpus), None  # value and free GPUs, first of the empty grouping
        for _ in range(_MATCHINGS):
            free = self.total_gpus - found.used
            line = (found.bound - found.gpu * free, free)
            if free == 0 or (free > 0 and found.gpu == 0):
                break
            if free > 0:
                rising = line
            else:
                falling = line
            price = 0 if falling is None else (falling[0] - rising[0]) // (rising[1] - falling[1])
            least = 0 if falling is None else falling[0] + price * falling[1]
            if least // self.scale >= best.bound // self.scale or price == found.gpu:
                break
            found = self.matched(price)
            best = min(best, found, key=lambda one: one.bound)
        return best

    def evidence(self, found: _Matched) -> MatchingDuals:
        """Return the duals of a matching as prices; they count in halves of its unit."""
        once = 2 * found.alone + found.matching.vertex_duals
        others = {label: tuple(2 * price for price in prices) for label, prices in self.others.items()}
        return MatchingDuals(
            denominator=2 * self.scale,
            multipliers={"once": tuple(once.tolist()), "gpus": (2 * found.gpu,), **others},
            odd_sets=tuple(
                OddSet(jobs=tuple(sorted(blossom.vertices)), price=blossom.dual) for blossom in found.matching.blossoms
            ),
        )


def _keep(columns: GroupColumns, above: Ints, pair: Ints, single: Ints) -> None:
    """Count jobs and pairs that go on as they are, in place, with what they are worth then."""
    of, runs_at = columns.types.type_of, columns.types.kept.of_job
    for group in np.flatnonzero(columns.placement >= 0).tolist():
        here = np.flatnonzero(runs_at == columns.placement[group])
        kinds = columns.members(group)
        first, last = (here[of[here] == kind] for kind in (kinds[0], kinds[-1]))
        if len(kinds) == 1:
            single[first] = np.maximum(single[first], above[group])
            continue
        for one, other in ((first, last), (last, first)):
            both = np.ix_(one, other)
            pair[both] = np.maximum(pair[both], above[group])


def paid_besides(round_: Round, columns: GroupColumns, prices: Mapping[str, tuple[int, ...]]) -> Ints:
    """Return what each group pays for CPUs, memory and quotas."""
    (cpu,), (memory,) = prices.get("cpus", (0,)), prices.get("memory", (0,))
    own, lines = prices.get("quota", ()), round_.amounts.lines
    if lines is not None and own:
        own = tuple(sum(own[one] for one in line) for line in lines)
    quota = np.array([*own, 0], dtype=np.int64)  # the last is for jobs of no tenant, which are -1
    group, kind, times = columns.entries
    per_gpu = cpu * columns.types.c[kind] + memory * columns.types.m[kind]
    held = quota[columns.types.tenant[kind]] * columns.types.g[kind] if len(quota) > 1 else 0
    paid = np.zeros(len(columns.groups), dtype=np.int64)
    np.add.at(paid, group, times * (columns.gpus[group] * per_gpu + held))
    return paid


def supply_besides(round_: Round, prices: Mapping[str, tuple[int, ...]]) -> int:
    """Return the price of all CPUs, memory and quotas."""
    amounts = round_.amounts
    (cpu,), (memory,) = prices.get("cpus", (0,)), prices.get("memory", (0,))
    total: int = sum(
        price * has for price, has in zip(prices.get("quota", ()), amounts.U.tolist(), strict=False) if price
    )
    if cpu:  # has a price only where every node has a limit
        total += cpu * int(amounts.C.sum())
    if memory:
        total += memory * int(amounts.M.sum())
    return total
