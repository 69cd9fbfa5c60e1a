"""What a decision of groups is worth: the definitions in fractions, under every objective."""

from __future__ import annotations

from itertools import combinations

import pytest
from alterations import replace
from by_policy import decision_value
from handmade import gang, round_of
from hypothesis import given, strategies as st
from more_examples import more_examples
from plain_groups import Plain
from sharing_rounds import plain_policies

from muri_opt import Assignment, Decision, InputError, Round


def grouped(*groups: tuple[str, ...]) -> Decision:
    """Return a decision of these groups, of which only the jobs count here."""
    return Decision(assignments=tuple(Assignment(jobs=group, gpus={}) for group in groups))


@given(plain_policies(max_jobs=4), st.data())
@more_examples(200)
def test_values_are_those_of_the_definitions(plain: Plain, data: st.DataObject) -> None:
    jobs = plain.round_.jobs
    groups = [group for size in range(1, plain.most + 1) for group in combinations(jobs, size)]
    worth = 0
    for group in groups:
        ids = tuple(job.id for job in data.draw(st.permutations(group)))
        value = decision_value(plain.round_, plain.spec, grouped(ids))
        assert value == plain.value(group)
        worth += value
    everything = grouped(*(tuple(job.id for job in group) for group in groups))
    assert decision_value(plain.round_, plain.spec, everything) == worth


ONE = (1.0, 0.0, 0.0, 0.0)
BOTH = [gang(0, 4, stage_seconds=(1.0, 1.0, 0.0, 0.0)), gang(1, 2, stage_seconds=(0.0, 0.0, 2.0, 1.0))]


@pytest.mark.parametrize(
    ("policy", "alone", "together"),
    [
        # A period of three seconds: 4 x 2 + 2 x 3 of 4 x 4 x 3.
        ("muri-l", (250_000, 250_000), 291_666),
        # In the worst seats the long stage of the second job is in a slot of its own: four seconds.
        ("muri-l:ordering=worst", (250_000, 250_000), 218_750),
        # Four GPUs are busy for three seconds with what takes 4 + 2 seconds of GPU time alone: they lose 6.
        ("muri-l:objective=gpu-time", (0, 0), -2_000_000),
        # The first weighs 2 and the second 1; both advance a second's work in three.
        ("muri-l:objective=progress", (8_000, 2_000), 3_333),
    ],
)
def test_values_known_by_hand(policy: str, alone: tuple[int, int], together: int) -> None:
    round_ = round_of([4], BOTH)
    assert tuple(decision_value(round_, policy, grouped((job,))) for job in ("j0", "j1")) == alone
    assert decision_value(round_, policy, grouped(("j1", "j0"))) == together
    assert decision_value(round_, policy, grouped(("j0",), ("j1",))) == sum(alone)


@pytest.mark.parametrize("objective", ["efficiency", "gpu-time", "progress", "completion"])
def test_a_group_without_a_period_adds_nothing(objective: str) -> None:
    jobs = [
        gang(0, 1, stage_seconds=(0.0,) * 4),
        gang(1, 1, stage_seconds=(0.0,) * 4),
        gang(2, 1),
        gang(3, 0, stage_seconds=ONE),
    ]
    round_ = round_of([4], jobs)
    policy = f"muri-s:objective={objective},sizes=mixed,group=2"
    nobody = grouped(("j0",), ("j1", "j0"), ("j2",), ("j2", "j0"), ("j3",), (), ("who",), ("j0", "j1", "j3"))
    assert decision_value(round_, policy, nobody) == 0


@given(st.integers(0, 2), st.sampled_from(["efficiency", "gpu-time", "progress", "completion"]), st.booleans())
def test_values_of_decades_on_a_million_gpus_are_exact(shift: int, objective: str, authors: bool) -> None:
    stages = [(2e9, 1e9 + 0.000001, 0.5), (1.5e9, 0.25, 2e9), (1e9, 2e9, 2e9)]
    jobs = [
        gang(j, 10**6 - j * shift, stage_seconds=times, iteration_seconds=2e9, remaining_iterations=10**12)
        for j, times in enumerate(stages)
    ]
    round_ = replace(round_of([4], []), resources=("data", "gpu", "network"), jobs=tuple(jobs))
    plain = Plain(
        round_=round_,
        preset="authors" if authors else "paper",
        objective=objective,
        mixed=True,
    )
    assert decision_value(round_, plain.spec, grouped(("j0", "j1", "j2"))) == plain.value(jobs)


def test_progress_needs_what_the_order_needs() -> None:
    round_ = round_of([4], [gang(0, 1, stage_seconds=ONE), gang(1, 1, stage_seconds=ONE, remaining_iterations=None)])
    assert decision_value(round_, "muri-s", grouped(("j0",))) == 250_000
    assert decision_value(round_, "muri-l:objective=progress", grouped(("j0",))) == 2_000
    with pytest.raises(InputError, match="j1"):
        decision_value(round_, "muri-s:objective=progress", grouped(("j0",)))


def test_where_a_job_does_not_say_its_time_alone_its_stages_count() -> None:
    stages = [(1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.0)]
    jobs = [gang(j, 1, stage_seconds=times, iteration_seconds=None) for j, times in enumerate(stages)]
    round_: Round = round_of([4], jobs)
    assert decision_value(round_, "muri-l:objective=gpu-time", grouped(("j0", "j1"))) == 1_000_000
    assert decision_value(round_, "muri-l:objective=progress", grouped(("j0", "j1"))) == 3_000
