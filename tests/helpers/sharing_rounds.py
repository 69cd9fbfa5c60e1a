"""Random small rounds of jobs that may share GPUs, the settings of a policy for them, and prices."""

from __future__ import annotations

from functools import cache

import msgspec
from handmade import gang, round_of
from hypothesis import strategies as st
from plain_groups import OBJECTIVES, PATTERNS, Plain

from muri_opt import Node, Round, Tenant
from muri_opt.rounds import LinearDuals, MatchingDuals, OddSet, Prices
from muri_opt.testing.kept_strategies import number_or_none, value_of

QUARTERS = st.integers(0, 12).map(lambda number: number / 4)
THREE = ("data", "gpu", "network")
_AMOUNT = st.none() | st.integers(0, 16).map(lambda number: number / 2)
_AMOUNTS = st.lists(st.tuples(_AMOUNT, _AMOUNT), max_size=2)
_LIMITS = st.tuples(st.booleans(), st.booleans())
_STAGE = st.integers(0, 9).map(float)


@cache
@st.composite
def sharing_rounds(draw: st.DrawFn, *, kinds: int, max_jobs: int = 5) -> Round:
    """Draw a round of jobs of so many stages; CPUs, memory and quotas bind at times."""
    names = ["t0", "t1"][: draw(st.integers(0, 2))]
    tenants = [Tenant(id=name, quota_gpus=draw(number_or_none(6))) for name in names]
    limits = draw(_LIMITS)
    nodes = [
        Node(id=f"n{s}", gpus=draw(st.integers(1, 3)), cpus=cpus, memory_gib=memory)
        for s, (cpus, memory) in enumerate(draw(_AMOUNTS))
    ]
    if limits[0]:
        nodes = [msgspec.structs.replace(node, cpus=node.cpus or 4.0) for node in nodes]
    if limits[1]:
        nodes = [msgspec.structs.replace(node, memory_gib=node.memory_gib or 4.0) for node in nodes]
    few, stages = value_of(None, None, 0.5, 1.0, 3.0), st.tuples(*[_STAGE] * kinds)
    jobs = [
        gang(
            j,
            draw(value_of(1, 1, 2, 3)),
            stage_seconds=draw(stages),
            iteration_seconds=draw(value_of(1.0, 4.0, 10.25)),
            remaining_iterations=draw(st.integers(1, 4)),
            cpus=draw(few),
            memory_gib=draw(few),
            tenant=draw(value_of(None, *names, *names)),
        )
        for j in range(draw(st.integers(0, max_jobs)))
    ]
    copies = draw(st.integers(0, max_jobs - len(jobs))) if jobs else 0  # equal jobs are of one kind
    jobs += [
        msgspec.structs.replace(jobs[-1], id=f"j{len(jobs) + more}", submitted=float(more)) for more in range(copies)
    ]
    resources = THREE if kinds == 3 else tuple("abcde"[:kinds])
    return msgspec.structs.replace(round_of(nodes, [], tenants), resources=resources, jobs=tuple(jobs))


@st.composite
def plain_policies(draw: st.DrawFn, *, patterns: tuple[str, ...] = PATTERNS, max_jobs: int = 5) -> Plain:
    """Draw a policy of sharing with all its settings, on a round."""
    pattern = draw(value_of(*patterns))
    kinds = 3 if "4slot" in pattern else draw(st.integers(1, 4))
    ordering, matching = draw(value_of((False, "blossom"), (True, "blossom"), (False, "queue")))
    return Plain(
        round_=draw(sharing_rounds(kinds=kinds, max_jobs=max_jobs)),
        order=draw(value_of("srsf", "las")),
        pattern=pattern,
        preset=draw(value_of("paper", "authors")),
        matching=matching,
        worst=ordering,
        objective=draw(value_of(*OBJECTIVES)),
        mixed=draw(st.booleans()),
        largest=draw(st.integers(1, 4)),
    )


@cache
def _prices_each(denominator: int) -> tuple[st.SearchStrategy[int], st.SearchStrategy[int]]:
    """Return dear prices and cheap ones."""
    dear = st.integers(0, 3 * 10**5).map(lambda ppm: ppm * denominator) | st.integers(0, 10**30)
    return dear, st.integers(0, 10**3).map(lambda ppm: ppm * denominator)


@cache
def _odd_sets(jobs: int, denominator: int) -> st.SearchStrategy[list[OddSet]]:
    some = st.sets(st.integers(0, jobs - 1), min_size=1).map(sorted)
    odd = some.map(lambda jobs: tuple(jobs if len(jobs) % 2 else jobs[1:]))
    return st.lists(st.builds(OddSet, jobs=odd, price=_prices_each(denominator)[0]), max_size=3)


@st.composite
def prices(draw: st.DrawFn, round_: Round) -> Prices:
    """Draw prices for everything that has a limit, some of them left out, and sometimes of odd sets of jobs."""
    nodes, tenants = round_.cluster.nodes, round_.cluster.tenants
    denominator = draw(value_of(1, 3, 1 << 20, 10**13, 10**25))
    dear, cheap = _prices_each(denominator)
    multipliers = {"once": tuple(draw(dear) for _ in round_.jobs), "gpus": (draw(dear),)}
    if draw(st.booleans()):
        multipliers["once"] = multipliers["once"][:1] * len(round_.jobs)
    optional = {
        "cpus": (draw(cheap) if all(node.cpus is not None for node in nodes) else 0,),
        "memory": (draw(cheap) if all(node.memory_gib is not None for node in nodes) else 0,),
        "quota": tuple(draw(dear) if tenant.quota_gpus is not None else 0 for tenant in tenants),
    }
    kept = draw(st.sets(value_of(*sorted(optional))))
    multipliers |= {label: optional[label] for label in sorted(kept)}
    if not round_.jobs or draw(st.booleans()):
        return LinearDuals(denominator=denominator, multipliers=multipliers)
    sets = draw(_odd_sets(len(round_.jobs), denominator))
    return MatchingDuals(denominator=denominator, multipliers=multipliers, odd_sets=tuple(sets))
