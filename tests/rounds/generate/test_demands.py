"""Rounds with drawn fields of format 2: every field is drawn, only those asked for, and running jobs keep to theirs."""

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from muri_opt.rounds import canonical_json, parse_round
from muri_opt.rounds.generate import FAMILIES, generate
from muri_opt.rounds.used_fields import FIELDS
from muri_opt.testing import demanding_rounds, full_rounds, rounds, tenant_rounds
from muri_opt.testing.drawing import drawn_rounds

DRAWN = st.one_of(
    demanding_rounds(tenant_rounds(max_jobs=3)),
    demanding_rounds(rounds(max_jobs=4)),
    demanding_rounds(full_rounds("plans")),
)


def keeps_its_demands(round_, job):
    nodes = [round_.cluster.nodes[round_.cluster.node_index[node]] for node in job.placement]
    assert len({node.gpu_type for node in nodes}) == 1
    assert job.gpu_types is None or nodes[0].gpu_type in job.gpu_types
    listed = [plan.gpu_types for plan in job.plans or () if plan.gpu_types is not None]
    assert all(nodes[0].gpu_type in types for types in listed)
    assert all(set(job.requires) <= set(node.labels) for node in nodes)
    assert not any(set(job.excludes) & set(node.labels) for node in nodes)
    if job.within is not None and job.within.required:
        units = {node.units.get(job.within.level) for node in nodes}
        assert len(units) == 1
        assert None not in units
    if job.nodes is not None:
        assert job.nodes.least <= len(nodes)
        assert job.nodes.most is None or len(nodes) <= job.nodes.most
    assert not job.even or len(set(job.placement.values())) == 1


@given(round_=DRAWN)
def test_running_jobs_have_what_they_ask_for_and_the_text_says_it_all(round_):
    for job in round_.jobs:
        if job.state == "running" and job.placement:
            keeps_its_demands(round_, job)
    assert parse_round(canonical_json(round_)) == round_


def test_every_field_is_drawn():
    drawn = drawn_rounds(DRAWN, 60, 0)
    assert {field for round_ in drawn for field in round_.used_fields} == set(FIELDS)


@given(data=st.data(), fields=st.sets(st.sampled_from(FIELDS)))
def test_only_fields_that_are_asked_for_are_drawn(data, fields):
    family = data.draw(st.sampled_from(["gangs", "tenants", "stages", "scaling", "plans", "configurations"]))
    round_ = data.draw(demanding_rounds(full_rounds(family), fields=fields))
    assert set(round_.used_fields) <= fields


@pytest.mark.parametrize("family", FAMILIES)
def test_a_generated_round_is_the_one_without_demands_and_more(family):
    plain, said = (generate(family, jobs=60, nodes=6, seed=3, demands=demands) for demands in (False, True))
    assert plain.used_fields == {}
    used = {
        field for seed in range(6) for field in generate(family, jobs=60, nodes=6, seed=seed, demands=True).used_fields
    }
    kinds = {"tenant": plain.cluster.tenants, "plan": any(job.plans for job in plain.jobs)}
    assert used == {field for field in FIELDS if kinds.get(field.partition(".")[0], True)}
    assert said.name == f"{plain.name}-demands"
    for before, after in zip(plain.jobs, said.jobs, strict=True):
        same = ("id", "gpus", "cpus", "state", "placement", "submitted", "remaining_iterations", "scaling")
        assert all(getattr(before, field) == getattr(after, field) for field in same)
        kept = None if after.plans is None else [plan for plan in after.plans if not plan.larger_parts]
        plans = None if kept is None else tuple(replace(plan, gpu_types=None) for plan in kept)
        assert plans == before.plans
    assert generate(family, jobs=60, nodes=6, seed=3, demands=True).fingerprint == said.fingerprint
