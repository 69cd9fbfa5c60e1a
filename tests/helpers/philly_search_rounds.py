"""What tests of the search for places have in common."""

from __future__ import annotations

from by_policy import enumerated_optimum, settings_of

from muri_opt import Round
from muri_opt.rounds import LinearDuals
from muri_opt.systems import policy_from
from muri_opt.systems.philly import JobStatus, TenantRules
from muri_opt.systems.philly.search.prices import Ground, Prices
from muri_opt.systems.philly.search.pricing import Pricing
from muri_opt.systems.philly.search.search import weights_of
from muri_opt.verify.philly.dual_bound import placed_bound
from muri_opt.verify.philly.job_status import Reading


def rules_for(policy: str) -> TenantRules:
    return policy_from(policy).tenant_rules


def status_of(round_: Round, policy: str) -> JobStatus:
    return JobStatus.of(round_, rules_for(policy))


def optimum(round_: Round, policy: str) -> int:
    """Return the best value of any decision, by trying all."""
    best = enumerated_optimum(round_, policy, steps=300_000)
    assert best is not None
    return best


def verified_bound(round_: Round, policy: str, duals: LinearDuals) -> int:
    """Return the bound that the verifier finds from multipliers."""
    tenancy = settings_of(policy)
    assert tenancy is not None
    return placed_bound(round_, Reading.of(round_, tenancy), duals)


def own_bound(round_: Round, policy: str, prices: Prices) -> float:
    """Return the bound that the search finds from prices."""
    status = status_of(round_, policy)
    return Pricing(Ground.of(round_, status)).offer(weights_of(status), prices).bound
