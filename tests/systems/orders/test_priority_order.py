"""The orders of the list-scheduling policies, by hand and against their definitions."""

from __future__ import annotations

import pytest
from brute_force import ranked
from handmade import gang, round_of
from hypothesis import given, strategies as st

from muri_opt import InputError, Round, Tenant
from muri_opt.systems.orders import ORDERS, priority_order
from muri_opt.testing import rounds


def test_first_submitted_first_and_ties_by_position() -> None:
    round_ = round_of([8], [gang(j, 1, submitted=at) for j, at in enumerate([5.0, 2.0, 5.0, 0.0, 2.0])])
    assert priority_order(round_, "fifo") == [3, 1, 4, 0, 2]


def test_times_closer_than_a_microsecond_are_equal() -> None:
    jobs = [gang(0, 1, submitted=1.0000004), gang(1, 1, submitted=1.0)]
    assert priority_order(round_of([8], jobs), "fifo") == [0, 1]


def test_shortest_remaining_time_first_and_ties_by_submission() -> None:
    jobs = [
        gang(0, 1, remaining_iterations=4, iteration_seconds=0.5, submitted=9.0),  # 2 s
        gang(1, 1, remaining_iterations=1, iteration_seconds=2.0, submitted=3.0),  # 2 s
        gang(2, 1, remaining_iterations=100, iteration_seconds=0.01, submitted=9.0),  # 1 s
        gang(3, 1, remaining_iterations=0, iteration_seconds=5.0, submitted=9.0),  # done
    ]
    assert priority_order(round_of([8], jobs), "srtf") == [3, 2, 1, 0]


def test_remaining_service_counts_gpus_where_remaining_time_does_not() -> None:
    jobs = [
        gang(0, 8, remaining_iterations=2),  # 2 s, 16 GPU seconds
        gang(1, 1, remaining_iterations=10),  # 10 s, 10 GPU seconds
        gang(2, 2, remaining_iterations=3),  # 3 s, 6 GPU seconds
    ]
    round_ = round_of([8], jobs)
    assert priority_order(round_, "srtf") == [0, 2, 1]
    assert priority_order(round_, "srsf") == [2, 1, 0]


def test_least_attained_service_first() -> None:
    round_ = round_of([8], [gang(j, 1, attained_gpu_seconds=got) for j, got in enumerate([7.0, 0.0, 7.0, 1.5])])
    assert priority_order(round_, "las") == [1, 3, 0, 2]


def test_the_tenant_with_the_fewest_gpus_is_served_next() -> None:
    """red: 4, 1, 1; blue: 1, 2; red has 4 after its first job, so blue is served up to 3 before red comes again."""
    owners = ["red", "red", "blue", "blue", "red"]
    jobs = [gang(j, gpus, tenant=owner) for j, (gpus, owner) in enumerate(zip([4, 1, 1, 2, 1], owners, strict=True))]
    assert priority_order(round_of([8], jobs), "max-min") == [0, 2, 3, 1, 4]


def test_a_job_without_a_tenant_is_a_tenant_of_its_own() -> None:
    jobs = [gang(0, 2, tenant="red"), gang(1, 2, tenant="red"), gang(2, 8), gang(3, 1)]
    assert priority_order(round_of([8], jobs, [Tenant(id="red")]), "max-min") == [0, 2, 3, 1]


def test_within_a_tenant_the_first_submitted_job_is_first() -> None:
    jobs = [gang(0, 1, tenant="red", submitted=7.0), gang(1, 3, tenant="red", submitted=1.0)]
    assert priority_order(round_of([8], jobs), "max-min") == [1, 0]


@given(rounds(max_jobs=8), st.sampled_from(sorted(ORDERS)))
def test_every_order_follows_its_definition(round_: Round, order: str) -> None:
    assert [round_.jobs[j] for j in priority_order(round_, order)] == ranked(round_, order)


@pytest.mark.parametrize(
    ("order", "field"), [(order.name, field) for order in ORDERS.values() for field in order.requires]
)
def test_a_missing_field_is_refused_by_job_and_name(order: str, field: str) -> None:
    round_ = round_of([8], [1, gang(1, 1, **{field: None})])
    with pytest.raises(InputError) as refused:
        priority_order(round_, order)
    assert refused.value.field == f"jobs[1] ('j1').{field}"
    assert order in refused.value.allowed


def test_fields_an_order_does_not_read_may_be_absent() -> None:
    bare = gang(0, 1, remaining_iterations=None, iteration_seconds=None, attained_gpu_seconds=None)
    assert priority_order(round_of([8], [bare]), "fifo") == [0]
    unknown_arrival = gang(1, 1, submitted=None, attained_gpu_seconds=0.0)
    assert priority_order(round_of([8], [gang(0, 1, attained_gpu_seconds=0.0), unknown_arrival]), "las") == [0, 1]


@pytest.mark.parametrize("order", sorted(ORDERS))
def test_no_jobs_have_an_order(order: str) -> None:
    assert priority_order(round_of([8], []), order) == []
