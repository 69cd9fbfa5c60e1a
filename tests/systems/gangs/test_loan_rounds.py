"""Quotas that are borrowed, or are of a GPU type, under the gang policies: brute force, program and verifier agree."""

from __future__ import annotations

import pytest
from asked_brute_force import asked_optimum
from loan_rounds import LOANS, loan_round, share_round
from msgspec.structs import replace
from seeds import some_then_all
from test_asked_rounds import checked, setting, tried_changes

from muri_opt import Round, policy_from

SEEDS = 12


@pytest.mark.parametrize("group", LOANS)
@some_then_all(SEEDS, 300)
def test_brute_force_equals_program_and_verifier(seeds: range, group: str) -> None:
    for seed in seeds:
        checked(loan_round(seed, group), seed)


@some_then_all(SEEDS, 1000)
def test_brute_force_equals_program_and_verifier_for_fair_shares(seeds: range) -> None:
    for seed in seeds:
        checked(share_round(seed), seed, "fair-share")


@pytest.mark.parametrize("group", LOANS)
def test_every_change_starts_the_job_and_deciding_again_changes_nothing(group: str) -> None:
    assert sum(tried_changes(loan_round(seed, group), seed) for seed in range(40))


@pytest.mark.parametrize(
    ("group", "said"),
    [("borrow", {"borrow_gpus": None}), ("borrow", {"lend_gpus": None}), ("types", {"quota_by_type": None})],
)
def test_the_fields_matter_in_many_of_the_rounds(group: str, said: dict[str, None]) -> None:
    matter = 0
    for seed in range(100):
        round_ = loan_round(seed, group)
        spec, chosen = setting(seed)
        order = policy_from(spec).name
        matter += asked_optimum(round_, order, **chosen) != asked_optimum(_without(round_, said), order, **chosen)
    assert matter >= 4


def _without(round_: Round, said: dict[str, None]) -> Round:
    tenants = tuple(replace(tenant, **said) for tenant in round_.cluster.tenants)
    return replace(round_, cluster=replace(round_.cluster, tenants=tenants))
