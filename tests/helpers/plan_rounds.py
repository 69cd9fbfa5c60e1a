"""Small rounds of plans, decisions among them, and results that claim no more than is so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from by_policy import decision_value, rules_of
from hypothesis import strategies as st
from running_states import settled

from muri_opt import Cluster, Decision, Guarantee, Job, Limit, Node, Plan, Reason, Result, Round, Tenant, Termination
from muri_opt.rounds import Certificate, LinearDuals, relative_gap
from muri_opt.systems.plans import FreeNodes, PlanOptions, PlanRules, plan_decision
from muri_opt.testing.kept_strategies import orders, value_of

NAMES = ("dp1", "dp2@1x2", "tp2", "tp2-dp2", "ga")
TYPES = (None, "a", "b")
THROUGHPUTS = (0.1, 1.0, 1.5, 2.0, 3.3, 7.0)
KEPT = {"synergy": "neither", "antman": "resources", "equal-share": "both"}


def rules_for(policy: str) -> PlanRules:
    """Return the rules of the other side that the text of a policy stands for."""
    name, _, text = policy.partition(":")
    chosen = dict(pair.split("=") for pair in text.split(",")) if text else {}
    if name == "sia":
        return PlanRules(change=chosen.get("change", "resources"), power=chosen.get("power", "-0.5"))
    return PlanRules(
        change=KEPT.get(name) or chosen.get("change", "both"),
        reference=chosen.get("reference", "best"),
        gate=chosen.get("gate", "0.97") if chosen.get("restarts") == "gate" else None,
        horizon=round(float(chosen.get("horizon", "600")) * 1_000_000),
    )


@cache
def planning_policies() -> st.SearchStrategy[str]:
    """Draw the text of any policy of plans, with any settings that matter to what a decision is worth."""
    changes = st.sampled_from(["both", "plans", "resources", "neither"])
    worth = st.builds(
        "reference={},horizon={}".format, st.sampled_from(["best", "requested"]), st.sampled_from(["600", "0.5", "47"])
    )
    return st.one_of(
        st.builds("rubick:change={},{}".format, changes, worth),
        st.builds("{}:{}".format, st.sampled_from(sorted(KEPT)), worth),
        st.builds("sia:change={},power={}".format, changes, st.sampled_from(["-0.5", "-1"])),
        st.sampled_from(["rubick", "synergy", "antman", "equal-share", "sia"]),
    )


@st.composite
def plan_rounds(draw: st.DrawFn, *, max_jobs: int = 4, max_nodes: int = 3) -> Round:
    """Draw a round of few jobs with a few plans each, on nodes of several kinds, some held by running jobs."""
    amounts = value_of(None, 1.0, 2.0, 3.5, 8.0)
    nodes = [
        Node(
            id=f"n{s}",
            gpus=draw(value_of(1, 2, 4, 0)),
            cpus=draw(amounts),
            memory_gib=draw(amounts),
            gpu_type=draw(value_of(*TYPES)),
        )
        for s in range(draw(st.integers(1, max_nodes)))
    ]
    quotas = draw(st.lists(value_of(None, 1, 2, 4), max_size=2))
    tenants = [Tenant(id=f"t{v}", quota_gpus=quota) for v, quota in enumerate(quotas)]
    jobs = [draw(_jobs(f"j{j}", nodes, tenants)) for j in range(draw(st.integers(1, max_jobs)))]
    cluster = Cluster(nodes=tuple(nodes), tenants=tuple(tenants))
    return Round(now=100.0, cluster=cluster, jobs=settled(cluster, jobs))


@st.composite
def _jobs(draw: st.DrawFn, name: str, nodes: Sequence[Node], tenants: Sequence[Tenant]) -> Job:
    amounts = value_of(None, 0.0, 1.0, 1.001, 3.0)
    cpus = draw(amounts)
    plans = tuple(draw(_plan_lists()))
    asked = draw(st.sampled_from(plans))
    tenant = draw(st.sampled_from([None, *tenants]))
    promise = None
    if draw(st.booleans()):  # above the quota, or above all plans, at times
        promise = Guarantee(throughput=draw(value_of(*(plan.throughput for plan in plans), 99.0)))
    held = draw(_placements(asked, nodes)) if draw(st.booleans()) else None
    seconds = value_of(None, 0.0, 10.0, 30.0, 700.0)
    return Job(
        id=name,
        tenant=None if tenant is None else tenant.id,
        gpus=asked.gpus,
        cpus=cpus,
        memory_gib=draw(amounts),
        plans=plans,
        plan=asked.name,
        guarantee=promise,
        state="running" if held is not None and draw(st.integers(0, 4)) else "waiting",
        placement=held,
        submitted=draw(value_of(None, 0.0, 60.0, 100.0, 130.0)),
        executed_seconds=draw(seconds),
        waiting_seconds=draw(seconds),
        restart_seconds=draw(seconds),
        restarts=draw(value_of(None, 0, 1, 3)),
    )


@cache
@st.composite
def _plan_lists(draw: st.DrawFn) -> list[Plan]:
    """Draw plans of one job; two of a name, GPUs and nodes are for GPUs of different types."""
    plans: list[Plan] = []
    for _ in range(draw(st.integers(1, 4))):
        gpus = draw(value_of(1, 2, 4, 0))
        plan = Plan(
            name=draw(value_of(*NAMES)),
            gpus=gpus,
            nodes=draw(value_of(*(q for q in (1, 2) if gpus % q == 0))),
            gpu_type=draw(value_of(*TYPES)),
            cpus=draw(value_of(None, 0.0, 1.0, 2.001)),
            memory_gib=draw(value_of(None, 0.0, 1.0, 2.0)),
            throughput=draw(value_of(*THROUGHPUTS)),
        )
        alike = [p for p in plans if (p.name, p.gpus, p.nodes) == (plan.name, plan.gpus, plan.nodes)]
        if not any(plan.gpu_type is None or p.gpu_type in (None, plan.gpu_type) for p in alike):
            plans.append(plan)
    return plans


@st.composite
def _placements(draw: st.DrawFn, plan: Plan, nodes: Sequence[Node]) -> dict[str, int] | None:
    """Draw nodes that are large enough for the parts of a plan, now and then one too few."""
    share = plan.gpus // plan.nodes
    able = [node.id for node in nodes if node.gpus >= share]
    if len(able) < plan.nodes:
        return None
    held = draw(orders(len(able)))[: plan.nodes if draw(st.integers(0, 4)) else 1]
    return dict.fromkeys((able[place] for place in held), share)


@st.composite
def choices(draw: st.DrawFn, round_: Round, options: PlanOptions) -> dict[int, np.ndarray]:
    """Draw options on nodes that fit together, one after another."""
    free, chosen = FreeNodes(round_, options), {}
    for job in draw(orders(len(round_.jobs))):
        able = [o for o in options.of_job(job) if free.fits(o) and free.within_quota(job)]
        if able and draw(st.integers(0, 5)):
            option = draw(value_of(*able))
            room = np.flatnonzero(free.room(option)).tolist()
            places = draw(orders(len(room)))[: int(options.q[option])]
            nodes = np.array(sorted(room[place] for place in places), dtype=np.int64)
            free.take(option, nodes)
            chosen[option] = nodes
    return chosen


def worth_of(round_: Round, options: PlanOptions, chosen: dict[int, np.ndarray]) -> int:
    """Return what the chosen options are worth; one that happens to be where its job is now needs no restart."""
    total = 0
    for o, nodes in chosen.items():
        same = [
            int(options.e[p])
            for p in options.of_job(int(options.job[o]))
            if options.plan[p] == options.plan[o]
            and options.home[p] >= 0
            and sorted(options.homes[options.home[p]].tolist()) == sorted(nodes.tolist())
        ]
        total += max([int(options.e[o]), *same])
    return total


def result_of(round_: Round, policy: str, decision: Decision, duals: LinearDuals | None = None) -> Result:
    """Return a result that claims no more than a bound that is surely right."""
    value = decision_value(round_, policy, decision)
    bound = value + 10**9
    return Result(
        fingerprint=round_.fingerprint,
        policy=policy,
        rules=rules_of(policy),
        method="heuristic",
        value=value,
        bound=bound,
        gap=relative_gap(value, bound),
        termination=Termination(reason=Reason.FEASIBLE, limit=Limit.TIME),
        decision=decision,
        certificate=Certificate(feasible=True, evidence=() if duals is None else (duals,)),
    )


_ROUNDS = plan_rounds()


@st.composite
def answers(draw: st.DrawFn) -> tuple[Round, Result]:
    """Draw a round with a decision that breaks no rule."""
    round_, policy = draw(_ROUNDS), draw(planning_policies())
    options = PlanOptions.of(round_, rules_for(policy))
    return round_, result_of(round_, policy, plan_decision(round_, options, draw(choices(round_, options))))


@st.composite
def plan_prices(draw: st.DrawFn, round_: Round, most: int) -> LinearDuals:
    """Draw multipliers of jobs and quotas, now and then without one of the two."""
    denominator = draw(value_of(1, 3, 1 << 32))
    price = st.integers(0, most * denominator)
    count = len(round_.jobs)
    multipliers = {}
    if draw(st.integers(0, 4)):
        multipliers["once"] = tuple(draw(st.lists(price, min_size=count, max_size=count)))
    if draw(st.booleans()):
        multipliers["quota"] = tuple(
            0 if tenant.quota_gpus is None else draw(price) for tenant in round_.cluster.tenants
        )
    return LinearDuals(denominator=denominator, multipliers=multipliers)
