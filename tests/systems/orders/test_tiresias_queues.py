"""Queues, promotion and the next event of Tiresias, by hand and by what they promise."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest
from handmade import gang, round_of
from hypothesis import example, given, strategies as st
from tiresias_draws import SERVICE, served_rounds

from muri_opt import InputError, Job, Round
from muri_opt.systems.orders import GittinsIndex, TiresiasOrder, priority_order

LIMITS = (3_250_000, 7_200_000)
PLAIN = TiresiasOrder(limits=LIMITS)
KNOB = TiresiasOrder(limits=LIMITS, knob=Fraction(2))


def job(position: int, service: float, **fields: object) -> Job:
    return gang(position, fields.pop("gpus", 1), attained_gpu_seconds=service, **fields)


def waited(position: int, service: float, executed: float, waiting: float, **fields: object) -> Job:
    return job(position, service, executed_seconds=executed, waiting_seconds=waiting, **fields)


@pytest.mark.parametrize(
    ("service", "queue"),
    [(0, 0), (3249.999, 0), (3250, 1), (7199.999, 1), (7200, 2), (1e9, 2)],
)
def test_a_job_leaves_a_queue_when_it_attains_its_limit_and_never_the_last(service: float, queue: int) -> None:
    assert PLAIN.queue_by_service(job(0, service)) == queue


def test_queue_by_queue_and_first_come_first_served_inside() -> None:
    jobs = [job(0, 9000), job(1, 3250), job(2, 3249), job(3, 0), job(4, 7200), job(5, 5000)]
    assert priority_order(round_of([8], jobs), PLAIN) == [2, 3, 1, 5, 0, 4]


def test_running_jobs_are_in_front_of_pending_ones_of_their_queue_only() -> None:
    held = {"state": "running", "placement": {"n0": 1}}
    jobs = [job(0, 100), job(1, 5000), job(2, 0, **held), job(3, 4000, **held), job(4, 10, **held)]
    assert priority_order(round_of([8], jobs), PLAIN) == [2, 4, 0, 3, 1]


@pytest.mark.parametrize(
    ("candidate", "promoted"),
    [
        (waited(0, 5000, 100, 200), True),  # waited exactly twice as long as it ran
        (waited(0, 5000, 100, 199.999999), False),
        (waited(0, 9000, 100, 1000), True),
        (waited(0, 3000, 100, 1000), False),  # it is in the first queue already
        (waited(0, 5000, 0, 1000), False),  # it has not run
        (waited(0, 5000, 100, 1000, state="running", placement={"n0": 1}), False),
    ],
)
def test_who_is_promoted(candidate: Job, promoted: bool) -> None:
    assert KNOB.promotes(candidate) is promoted
    assert not PLAIN.promotes(candidate)
    assert (KNOB.key(candidate)[0] == 0) is (promoted or candidate.attained_gpu_seconds < 3250)


def test_a_promoted_job_takes_its_place_by_submission() -> None:
    jobs = [job(0, 0), waited(1, 8000, 10, 20), job(2, 0)]
    full = [msgspec.structs.replace(j, executed_seconds=10.0, waiting_seconds=20.0) for j in jobs]
    assert priority_order(round_of([8], full), PLAIN) == [0, 2, 1]
    assert priority_order(round_of([8], full), KNOB) == [0, 1, 2]


def test_inside_a_queue_the_highest_index_is_first_and_ties_are_first_come() -> None:
    """Indices, times 10**6: 211 at no service, 216 at 1,500 GPU-seconds, 138 at 2,000, and 0 at 4,000 and 9,000."""
    order = TiresiasOrder(
        limits=LIMITS, gittins=GittinsIndex.of([1_000_000, 2_000_000, 4_000_000, 8_000_000], 3_250_000, "authors")
    )
    held = {"state": "running", "placement": {"n0": 1}}
    jobs = [job(0, 2000), job(1, 0), job(2, 1500), job(3, 0, **held), job(4, 9000), job(5, 4000)]
    assert priority_order(round_of([8], jobs), order) == [2, 3, 1, 0, 5, 4]
    assert priority_order(round_of([8], jobs), PLAIN) == [3, 0, 1, 2, 5, 4]


@pytest.mark.parametrize("field", ["submitted", "attained_gpu_seconds"])
def test_a_missing_field_is_refused(field: str) -> None:
    round_ = round_of([8], [1, gang(1, 1, **{field: None})])
    with pytest.raises(InputError, match="'tiresias' orders jobs by it") as refused:
        priority_order(round_, PLAIN)
    assert refused.value.field == f"jobs[1] ('j1').{field}"


@pytest.mark.parametrize("field", ["executed_seconds", "waiting_seconds"])
def test_promotion_needs_what_a_job_has_run_and_waited(field: str) -> None:
    round_ = round_of([8], [msgspec.structs.replace(waited(0, 0, 1, 1), **{field: None})])
    assert priority_order(round_, PLAIN) == [0]
    with pytest.raises(InputError) as refused:
        priority_order(round_, KNOB)
    assert refused.value.field == f"jobs[0] ('j0').{field}"


@given(st.sampled_from(SERVICE), st.sampled_from(SERVICE), st.lists(st.sampled_from(SERVICE[1:]), min_size=1))
@example(3250.0, 3250.001, [3250.001])
def test_less_service_is_never_in_a_later_queue(first: float, second: float, limits: list[float]) -> None:
    order = TiresiasOrder(limits=tuple(sorted({round(1000 * limit) for limit in limits})))
    less, more = sorted([first, second])
    assert order.queue_by_service(job(0, less)) <= order.queue_by_service(job(1, more))


@given(served_rounds())
def test_less_service_never_comes_later_than_an_equal_job_with_more(round_: Round) -> None:
    place = {j: rank for rank, j in enumerate(priority_order(round_, PLAIN))}
    for a, one in enumerate(round_.jobs):
        for b, other in enumerate(round_.jobs):
            if one.attained_gpu_seconds <= other.attained_gpu_seconds and one.state == other.state:
                earlier = (one.submitted, a) <= (other.submitted, b)
                assert not earlier or place[a] <= place[b]


def test_the_next_event_by_hand() -> None:
    held = {"state": "running", "placement": {"n0": 4}, "gpus": 4}
    crossing = waited(0, 3000, 750, 0, **held)  # 250 GPU-seconds on 4 GPUs
    assert PLAIN.next_event(round_of([8], [crossing])) == 62.5
    starving = waited(1, 5000, 100, 140)  # promoted when it has waited 200 s
    assert PLAIN.next_event(round_of([8], [starving])) is None
    assert KNOB.next_event(round_of([8], [crossing, starving])) == 60.0
    assert KNOB.next_event(round_of([8], [starving])) == 60.0


def test_what_has_happened_is_no_event() -> None:
    held = {"state": "running", "placement": {"n0": 1}}
    over = [waited(0, 8000, 10, 0, **held), waited(1, 5000, 10, 30), waited(2, 100, 10, 0), waited(3, 5000, 0, 0)]
    assert KNOB.next_event(round_of([8], over)) is None
    assert KNOB.next_event(round_of([8], [])) is None
    assert KNOB.next_event(round_of([8], [waited(0, 0, 0, 0, gpus=0, state="running")])) is None


def test_the_next_event_is_rounded_up_to_a_microsecond() -> None:
    third = waited(0, 3249, 1, 0, gpus=3, state="running", placement={"n0": 3})
    assert PLAIN.next_event(round_of([8], [third])) == 0.333334


def after(round_: Round, seconds: float) -> Round:
    """Return the round so many seconds later."""
    later = []
    for was in round_.jobs:
        if was.state == "running":
            fields = {
                "attained_gpu_seconds": was.attained_gpu_seconds + was.gpus * seconds,
                "executed_seconds": was.executed_seconds + seconds,
            }
        else:
            fields = {"waiting_seconds": was.waiting_seconds + seconds}
        later.append(msgspec.structs.replace(was, **fields))
    return msgspec.structs.replace(round_, jobs=tuple(later))


@given(served_rounds(), st.sampled_from(["0", "0.1", "1", "7"]))
def test_nothing_changes_before_the_next_event_and_something_does_then(round_: Round, knob: str) -> None:
    order = TiresiasOrder(limits=(1_000_000, *LIMITS), knob=Fraction(knob))
    queues = [order.key(job)[0] for job in round_.jobs]
    wait = order.next_event(round_)
    if wait is None:
        assert [order.key(job)[0] for job in after(round_, 1e8).jobs] == queues
        return
    assert wait > 0
    assert [order.key(job)[0] for job in after(round_, wait).jobs] != queues
    if wait > 0.001:  # service is counted in milliseconds
        assert [order.key(job)[0] for job in after(round_, wait - 0.001).jobs] == queues
