"""Small rounds of jobs with plans: written by hand, drawn, and what a decision about them must respect."""

from __future__ import annotations

import math

from hypothesis import strategies as st
from running_states import settled

from muri_opt import Cluster, Decision, Guarantee, Job, Node, Plan, Round, Tenant
from muri_opt.systems import policy_from
from muri_opt.systems.plans import PlanOptions
from muri_opt.systems.plans.plan_rules import PlanRules
from muri_opt.testing.kept_strategies import value_of

NAMES = ("rubick", "synergy", "antman", "sia", "equal-share")
CHANGES = ("both", "plans", "resources", "neither")
SPECS = (
    *NAMES,
    *(f"rubick:change={change}" for change in CHANGES[1:]),
    *(f"sia:change={change}" for change in ("both", "plans", "neither")),
    "rubick:reference=requested,gate=0,patience=10",
    "sia:power=-1",
)


def plans(speeds: dict[object, float], name: str = "p") -> tuple[Plan, ...]:
    """Return plans from {GPUs or (GPUs, nodes) or (GPUs, nodes, CPUs): throughput}."""
    made = []
    for key, throughput in speeds.items():
        count, nodes, *cpus = key if isinstance(key, tuple) else (key, 1)
        needs = float(cpus[0]) if cpus else None
        made.append(Plan(name=name, gpus=count, nodes=nodes, cpus=needs, throughput=throughput))
    return tuple(made)


def planned(position: int, speeds: dict[object, float], **fields: object) -> Job:
    """Return a job of some plans; by default lower positions were submitted first."""
    given: dict[str, object] = {
        "id": f"j{position}",
        "gpus": 1,
        "submitted": float(position),
        "plans": plans(speeds),
        "plan": "p",
    }
    return Job(**given | fields)


def running(position: int, speeds: dict[object, float], placement: dict[str, int], **fields: object) -> Job:
    return planned(position, speeds, state="running", placement=placement, **fields)


def promise(throughput: float) -> Guarantee:
    return Guarantee(throughput=throughput)


def plan_round(nodes: list[int | Node], jobs: list[Job], tenants: tuple[Tenant, ...] = ()) -> Round:
    made = tuple(Node(id=f"n{s}", gpus=node) if isinstance(node, int) else node for s, node in enumerate(nodes))
    return Round(cluster=Cluster(nodes=made, tenants=tenants), jobs=tuple(jobs), now=1000.0)


def shares(round_: Round, policy: str) -> dict[str, dict[str, int]]:
    """Return the GPUs per node of each job that runs, once the decision is found to respect every rule."""
    decision = policy_from(policy).decide(round_, 0)
    broken = faults(round_, policy_from(policy).plan_rules, decision)
    assert not broken, broken
    return {one.jobs[0]: dict(one.gpus) for one in decision.assignments}


def gpus(round_: Round, policy: str) -> list[int]:
    """Return the GPUs of each job, 0 for one that waits."""
    given = shares(round_, policy)
    return [sum(given.get(job.id, {}).values()) for job in round_.jobs]


def options_of(round_: Round, rules: PlanRules, decision: Decision) -> dict[int, int]:
    """Return the option by which each job runs; without a restart where the job can stay."""
    options, found = PlanOptions.of(round_, rules), {}
    for one in decision.assignments:
        j = round_.job_index[one.jobs[0]]
        nodes = sorted(round_.cluster.node_index[node] for node in one.gpus)
        (g,) = set(one.gpus.values())
        milli = round(1000 * next(iter(one.cpus.values()), 0.0))
        fitting = [
            o
            for o in options.of_job(j)
            if round_.jobs[j].plans[options.plan[o]].name == one.plan
            and (options.q[o], options.g[o], options.c[o]) == (len(nodes), g, milli)
            and options.nodes(o)[nodes].all()
            and (options.home[o] < 0 or sorted(options.homes[options.home[o]].tolist()) == nodes)
        ]
        assert fitting, f"no option of {one}"
        found[j] = max(fitting, key=lambda o: options.e[o])
    return found


def value(round_: Round, rules: PlanRules, decision: Decision) -> int:
    options = PlanOptions.of(round_, rules)
    return sum(int(options.e[o]) for o in options_of(round_, rules, decision).values())


def faults(round_: Round, rules: PlanRules, decision: Decision) -> list[str]:
    """Return what is wrong with a decision: capacities, quotas, guarantees, options, jobs left out or twice."""
    found = []
    names = [one.jobs[0] for one in decision.assignments] + [one.job for one in decision.waiting]
    if sorted(names) != sorted(job.id for job in round_.jobs):
        found.append(f"not every job once: {names}")
    chosen = options_of(round_, rules, decision)
    options = PlanOptions.of(round_, rules)
    for j, o in chosen.items():
        job, plan = round_.jobs[j], round_.jobs[j].plans[options.plan[o]]
        if job.guarantee is not None and plan.throughput < job.guarantee.throughput:
            found.append(f"{job.id} runs below its guarantee")
    promised = [round_.jobs[j] for j in chosen if round_.jobs[j].guarantee is not None]
    for tenant in round_.cluster.tenants:
        asked = sum(job.gpus for job in promised if job.tenant == tenant.id)
        if tenant.quota_gpus is not None and asked > tenant.quota_gpus:
            found.append(f"{tenant.id} has {asked} GPUs of {tenant.quota_gpus}")
    return found + _crowded(round_, options, chosen, decision)


def _crowded(round_: Round, options: PlanOptions, chosen: dict[int, int], decision: Decision) -> list[str]:
    used = {node.id: [0, 0, 0] for node in round_.cluster.nodes}
    for one in decision.assignments:
        o = chosen[round_.job_index[one.jobs[0]]]
        for node in one.gpus:
            for resource, amount in enumerate((options.g[o], options.c[o], options.m[o])):
                used[node][resource] += int(amount)
    found = []
    for node in round_.cluster.nodes:
        cpus = math.inf if node.cpus is None else 1000 * node.cpus
        memory = math.inf if node.memory_gib is None else 1024 * node.memory_gib
        has = (node.gpus, cpus, memory)
        if any(amount > limit for amount, limit in zip(used[node.id], has, strict=True)):
            found.append(f"{node.id} has {has} and gives {used[node.id]}")
    return found


@st.composite
def planned_rounds(draw: st.DrawFn, most_jobs: int = 6) -> Round:
    """Return a round of a few nodes of two GPU types, tenants with quotas, and jobs of which some run."""
    nodes = [
        Node(
            id=f"n{s}",
            gpus=draw(st.integers(0, 4)),
            cpus=draw(value_of(None, 4.0, 8.0)),
            memory_gib=draw(value_of(None, 8.0)),
            gpu_type=draw(value_of(None, "a", "b")),
        )
        for s in range(draw(st.integers(1, 4)))
    ]
    tenants = (Tenant(id="t0", quota_gpus=draw(st.integers(2, 5))), Tenant(id="t1"))
    free = [node.gpus for node in nodes]
    jobs = [_job(draw, position, nodes, free) for position in range(draw(st.integers(1, most_jobs)))]
    return plan_round(nodes, list(settled(Cluster(nodes=tuple(nodes)), jobs)), tenants)


_KEYS = st.lists(
    st.tuples(
        st.sampled_from(["x", "y-dp2@1", "y-dp4@2"]),
        st.sampled_from([(1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (4, 2), (6, 3), (0, 1), (0, 2)]),
        st.sampled_from([0.0, 1.0, 4.0]),
    ),
    min_size=1,
    max_size=5,
    unique=True,
)
"""Names, GPUs with nodes, and CPUs of the plans of a job."""


def _job(draw: st.DrawFn, position: int, nodes: list[Node], free: list[int]) -> Job:
    made = {}
    for name, (count, parts), cpus in draw(_KEYS):
        milli = math.ceil(1000 * cpus / parts)
        made[name, count, parts, milli] = Plan(
            name=name,
            gpus=count,
            nodes=parts,
            cpus=cpus,
            memory_gib=draw(value_of(None, 2.0)),
            gpu_type=draw(value_of(None, None, "a")),
            throughput=float(draw(st.integers(1, 12))),
        )
    mine = tuple(made.values())
    asked = draw(value_of(*(plan.gpus for plan in mine)))
    fields: dict[str, object] = {}
    if draw(st.booleans()) and asked <= 2:
        fields["guarantee"] = promise(draw(value_of(*(plan.throughput for plan in mine))))
    named = draw(st.sampled_from([plan for plan in mine if plan.gpus == asked]))
    if draw(st.booleans()):
        each = named.gpus // named.nodes
        room = [s for s, gpus_ in enumerate(free) if gpus_ >= each]
        if len(room) >= named.nodes:
            for s in room[: named.nodes]:
                free[s] -= each
            fields |= {"state": "running", "placement": {nodes[s].id: each for s in room[: named.nodes]}}
            fields["executed_seconds"] = float(draw(value_of(0, 100, 10_000)))
            fields["restarts"] = draw(st.integers(0, 2))
            fields["restart_seconds"] = float(draw(value_of(0, 60, 700)))
    else:
        fields["waiting_seconds"] = float(draw(value_of(0, 100)))
    return Job(
        id=f"j{position}",
        tenant=draw(value_of("t0", "t1")),
        submitted=float(draw(st.integers(0, 5))),
        gpus=asked,
        memory_gib=draw(value_of(None, 2.0)),
        plans=mine,
        plan=named.name,
        **fields,
    )
