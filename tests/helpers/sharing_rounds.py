"""Random small rounds of jobs that may share GPUs, the settings of a policy for them, and prices."""

from __future__ import annotations

import msgspec
from handmade import gang, round_of
from hypothesis import strategies as st
from plain_groups import OBJECTIVES, PATTERNS, Plain

from muri_opt import Node, Round, Tenant
from muri_opt.rounds import LinearDuals, MatchingDuals, OddSet, Prices

QUARTERS = st.integers(0, 12).map(lambda number: number / 4)
THREE = ("data", "gpu", "network")


@st.composite
def sharing_rounds(draw: st.DrawFn, *, kinds: int, max_jobs: int = 5) -> Round:
    """Draw a round of jobs of so many stages; CPUs, memory and quotas bind at times."""
    amount = st.none() | st.integers(0, 16).map(lambda number: number / 2)
    names = ["t0", "t1"][: draw(st.integers(0, 2))]
    tenants = [Tenant(id=name, quota_gpus=draw(st.none() | st.integers(0, 6))) for name in names]
    limits = draw(st.tuples(st.booleans(), st.booleans()))
    nodes = [
        Node(id=f"n{s}", gpus=draw(st.integers(1, 3)), cpus=cpus, memory_gib=memory)
        for s, (cpus, memory) in enumerate(draw(st.lists(st.tuples(amount, amount), max_size=2)))
    ]
    if limits[0]:
        nodes = [msgspec.structs.replace(node, cpus=node.cpus or 4.0) for node in nodes]
    if limits[1]:
        nodes = [msgspec.structs.replace(node, memory_gib=node.memory_gib or 4.0) for node in nodes]
    few = st.sampled_from([None, None, 0.5, 1.0, 3.0])
    jobs = [
        gang(
            j,
            draw(st.sampled_from([1, 1, 2, 3])),
            stage_seconds=draw(st.tuples(*[st.integers(0, 9).map(float)] * kinds)),
            iteration_seconds=draw(st.sampled_from([1.0, 4.0, 10.25])),
            remaining_iterations=draw(st.integers(1, 4)),
            cpus=draw(few),
            memory_gib=draw(few),
            tenant=draw(st.sampled_from([None, *names, *names])),
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
    pattern = draw(st.sampled_from(patterns))
    kinds = 3 if "4slot" in pattern else draw(st.integers(1, 4))
    ordering, matching = draw(st.sampled_from([(False, "blossom"), (True, "blossom"), (False, "queue")]))
    return Plain(
        round_=draw(sharing_rounds(kinds=kinds, max_jobs=max_jobs)),
        order=draw(st.sampled_from(["srsf", "las"])),
        pattern=pattern,
        preset=draw(st.sampled_from(["paper", "authors"])),
        matching=matching,
        worst=ordering,
        objective=draw(st.sampled_from(OBJECTIVES)),
        mixed=draw(st.booleans()),
        largest=draw(st.integers(1, 4)),
    )


@st.composite
def prices(draw: st.DrawFn, round_: Round) -> Prices:
    """Draw prices for everything that has a limit, some of them left out, and sometimes of odd sets of jobs."""
    nodes, tenants = round_.cluster.nodes, round_.cluster.tenants
    denominator = draw(st.sampled_from([1, 3, 1 << 20, 10**13, 10**25]))
    dear = st.integers(0, 3 * 10**5).map(lambda ppm: ppm * denominator) | st.integers(0, 10**30)
    cheap = st.integers(0, 10**3).map(lambda ppm: ppm * denominator)
    multipliers = {"once": tuple(draw(dear) for _ in round_.jobs), "gpus": (draw(dear),)}
    if draw(st.booleans()):
        multipliers["once"] = multipliers["once"][:1] * len(round_.jobs)
    optional = {
        "cpus": (draw(cheap) if all(node.cpus is not None for node in nodes) else 0,),
        "memory": (draw(cheap) if all(node.memory_gib is not None for node in nodes) else 0,),
        "quota": tuple(draw(dear) if tenant.quota_gpus is not None else 0 for tenant in tenants),
    }
    kept = draw(st.sets(st.sampled_from(sorted(optional))))
    multipliers |= {label: optional[label] for label in sorted(kept)}
    if not round_.jobs or draw(st.booleans()):
        return LinearDuals(denominator=denominator, multipliers=multipliers)
    some = st.sets(st.integers(0, len(round_.jobs) - 1), min_size=1).map(sorted)
    odd = some.map(lambda jobs: tuple(jobs if len(jobs) % 2 else jobs[1:]))
    sets = draw(st.lists(st.builds(OddSet, jobs=odd, price=dear), max_size=3))
    return MatchingDuals(denominator=denominator, multipliers=multipliers, odd_sets=tuple(sets))
