"""Answers to multi-tenant rounds, right by construction: jobs where they are put, the others with their reasons."""

from __future__ import annotations

from collections.abc import Mapping

from by_policy import decision_value, rules_of, settings_of
from hypothesis import strategies as st

from muri_opt import Decision, Job, Limit, Node, Reason, Result, Round, Termination
from muri_opt.rounds import Certificate, LinearDuals, relative_gap
from muri_opt.systems import policy_from
from muri_opt.systems.philly import JobStatus, placement_decision
from muri_opt.testing import tenant_policies, tenant_rounds
from muri_opt.verify.philly.job_status import Reading

Places = Mapping[str, Mapping[str, int]]


def reading_of(round_: Round, policy: str) -> Reading:
    tenancy = settings_of(policy)
    assert tenancy is not None
    return Reading.of(round_, tenancy)


def decision_of(round_: Round, policy: str, places: Places) -> Decision:
    """Return the decision in which jobs run there and the others wait, each with its reason and changes."""
    status = JobStatus.of(round_, policy_from(policy).tenant_rules)
    nodes, jobs = round_.cluster.node_index, round_.job_index
    shares = {jobs[job]: {nodes[node]: gpus for node, gpus in held.items()} for job, held in places.items()}
    return placement_decision(round_, status, shares)


def result_of(round_: Round, policy: str, decision: Decision) -> Result:
    """Return a result that claims no more than a bound that is surely right."""
    value = decision_value(round_, policy, decision)
    bound = value + 10**12
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
        certificate=Certificate(feasible=True),
    )


def answer(round_: Round, policy: str, places: Places) -> Result:
    return result_of(round_, policy, decision_of(round_, policy, places))


def running(name: str, gpus: int, held: Mapping[str, int], *, restart: float | None = 60.0, **fields: object) -> Job:
    """Return a job that runs; without a time to restart it is pinned."""
    placement = dict(held)
    return Job(id=name, gpus=gpus, state="running", placement=placement, restart_seconds=restart, **fields)


def waiting(name: str, gpus: int, waited: float = 0.0, **fields: object) -> Job:
    return Job(id=name, gpus=gpus, waiting_seconds=waited, **fields)


def nodes(*gpus: int, racks: str | None = None) -> list[Node]:
    """Return nodes ``n0``, ``n1``, ...; the letters of ``racks`` are theirs."""
    return [Node(id=f"n{s}", gpus=count, rack=None if racks is None else racks[s]) for s, count in enumerate(gpus)]


@st.composite
def answers(draw: st.DrawFn) -> tuple[Round, Result]:
    """Draw a round with the answer of its policy."""
    round_, policy = draw(tenant_rounds()), draw(tenant_policies())
    return round_, result_of(round_, policy, policy_from(policy).decide(round_, 0))


@st.composite
def placement_prices(draw: st.DrawFn, round_: Round, premium: int) -> LinearDuals:
    """Draw prices of jobs and weights of quotas of any size that is allowed, and over any denominator."""
    scale = draw(st.sampled_from([1, 7, 1 << 32, 10**25]))
    largest = draw(st.sampled_from([1000, premium, 8 * premium])) * scale
    once = tuple(draw(st.sampled_from([0, largest]) | st.integers(0, largest)) for _ in round_.jobs)
    full = premium * scale
    quota = tuple(draw(st.sampled_from([0, full]) | st.integers(0, full)) for _ in round_.cluster.tenants)
    return LinearDuals(denominator=scale, multipliers={"once": once, "quota": quota})
