"""Every setting of Muri does what it says, and every decision under any of them passes the verifier."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import permutations

import msgspec
import pytest
from handmade import gang, round_of
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import Assignment, InputError, Job, Round, policy_from, solve_round
from muri_opt.systems.muri import AUTHORS, PAPER, MuriPolicy
from muri_opt.systems.muri.interleaving import SLOWDOWN, best_period
from muri_opt.systems.policy import Span
from muri_opt.testing import rounds

THREE = ("data", "gpu", "network")


@st.composite
def policies(draw: st.DrawFn) -> MuriPolicy:
    chosen: dict[str, str] = {}
    for key, allowed in MuriPolicy.choices.items():
        if isinstance(allowed, Span):
            usual = ["0.5", "60.0", "600"] if key == "horizon" else ["0", "0.50", "1"]
            numbers = st.integers(1, 1000).map(lambda number: str(number / 1000))
            chosen[key] = draw(st.sampled_from(usual) | numbers)
        elif not (key == "matching" and chosen["ordering"] == "worst"):
            chosen[key] = draw(st.sampled_from(allowed))
    return MuriPolicy(name=draw(st.sampled_from(["muri-s", "muri-l"])), **chosen)


def staged(position: int, *seconds: float, **other: object) -> Job:
    return gang(position, 1, stage_seconds=seconds, **{"iteration_seconds": None, **other})


def three(gpus: int, *jobs: Job) -> Round:
    return msgspec.structs.replace(round_of([gpus], []), resources=THREE, jobs=jobs)


def groups(round_: Round, policy: str) -> list[Assignment]:
    """Return the groups of a decision that the verifier accepts."""
    result = solve_round(round_, policy, "heuristic")
    assert result.certificate.feasible, result.certificate.violations
    assert result.decision is not None
    return list(result.decision.assignments)


def names(round_: Round, policy: str) -> list[tuple[str, ...]]:
    return [group.jobs for group in groups(round_, policy)]


@given(policies())
def test_the_text_of_a_policy_makes_the_policy_again(policy: MuriPolicy) -> None:
    assert policy_from(policy.spec) == policy
    assert policy_from(policy.spec).spec == policy.spec
    assert policy_from(policy.spec).options == policy.options


def test_every_field_is_a_setting_and_the_first_value_its_default() -> None:
    assert [field.name for field in fields(MuriPolicy)] == ["name", *MuriPolicy.choices]
    for key, allowed in MuriPolicy.choices.items():
        usual = {"least_weight": "0", "horizon": "600"}[key] if isinstance(allowed, Span) else allowed[0]
        assert getattr(MuriPolicy(name="muri-s"), key) == usual


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("muri-s", PAPER),
        ("muri-l:preset=authors", AUTHORS),
        ("muri-l:group=2,autopack=off,objective=progress,sizes=mixed", replace(PAPER, largest_group=2)),
        ("muri-s:pattern=muri-4slot-steady", replace(PAPER, pattern="muri-4slot-steady")),
        ("muri-s:preset=authors,pattern=cyclic", replace(AUTHORS, pattern="cyclic")),
        ("muri-s:ordering=worst", replace(PAPER, worst_order=True)),
        ("muri-s:matching=queue", replace(PAPER, matching=False)),
        ("muri-s:preset=authors,matching=queue", replace(AUTHORS, matching=False, slowdown="muri-without-blossom")),
        ("muri-s:least_weight=0.250", replace(PAPER, least_weight=0.25)),
    ],
)
def test_the_options_are_those_of_preset_and_settings(text: str, options: object) -> None:
    assert policy_from(text).options == options


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("muri-s:group=5", "policy 'muri-s'.group: found '5'; allowed: one of 4, 3, 2, 1"),
        ("muri-s:preset=author", "policy 'muri-s'.preset: found 'author'; allowed: one of paper, authors"),
        ("muri-l:autopack=yes", "policy 'muri-l'.autopack: found 'yes'; allowed: one of on, off"),
        (
            "muri-l:pattern=4slot",
            "policy 'muri-l'.pattern: found '4slot'; allowed: one of preset, cyclic, muri-cyclic, muri-4slot, "
            "muri-4slot-steady",
        ),
        (
            "muri-l:least_weight=1.5",
            "policy 'muri-l'.least_weight: found '1.5'; allowed: a number of at least 0 and at most 1",
        ),
        (
            "muri-s:ordering=worst,matching=queue",
            "policy 'muri-s'.ordering: found 'worst' with matching=queue; allowed: one of the two ablations at a time",
        ),
        (
            "muri-s:objective=time",
            "policy 'muri-s'.objective: found 'time'; allowed: one of efficiency, gpu-time, progress, completion",
        ),
        ("muri-s:sizes=any", "policy 'muri-s'.sizes: found 'any'; allowed: one of equal, mixed"),
    ],
)
def test_a_wrong_setting_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        policy_from(text)
    assert str(refused.value) == message


def test_a_muri_policy_has_one_of_two_names() -> None:
    with pytest.raises(InputError, match="did you mean 'muri-s'"):
        MuriPolicy(name="muri-x")


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("muri-s:preset=authors", "preset=authors"),
        ("muri-s:pattern=muri-4slot", "pattern=muri-4slot"),
        ("muri-l:pattern=muri-4slot-steady", "pattern=muri-4slot-steady"),
    ],
)
def test_four_slots_need_three_stages(policy: str, said: str) -> None:
    round_ = round_of([1], [staged(0, 1, 1, 1, 1, iteration_seconds=1.0)])
    with pytest.raises(InputError) as refused:
        solve_round(round_, policy, "heuristic")
    assert refused.value.field == "resources"
    assert refused.value.found == "4 (storage, cpu, gpu, network)"
    assert refused.value.allowed == f"3 (data, gpu, network) under {said}; or use pattern=cyclic"
    assert len(groups(round_, f"{policy},pattern=cyclic" if "preset" in policy else "muri-s:pattern=cyclic")) == 1


FOUR = [staged(0, 0.7, 0.2, 0.1), staged(1, 0.3, 0.5, 0.2), staged(2, 0.1, 0.6, 0.4), staged(3, 0.4, 0.4, 0.1)]


@pytest.mark.parametrize(("pattern", "size"), [("muri-4slot", 4), ("muri-4slot-steady", 4), ("cyclic", 3)])
def test_the_pattern_decides_the_period_and_how_many_share(pattern: str, size: int) -> None:
    (group, *_) = groups(three(1, *FOUR), f"muri-l:pattern={pattern}")
    assert len(group.jobs) == size  # one per slot
    stages = [FOUR[int(name[1:])].stage_seconds for name in group.jobs]
    assert group.period_seconds == best_period(stages, pattern).period_seconds


def worst_cyclic(stages: list[tuple[float, ...]]) -> int:
    """Return the longest period in microseconds over all ways to seat the jobs on the slots."""
    times = [[round(seconds * 10**6) for seconds in job] for job in stages]
    slots = len(times[0])
    return max(
        sum(max(job[(i - seat) % slots] for job, seat in zip(times, seats, strict=True)) for i in range(slots))
        for seats in permutations(range(slots), len(times))
    )


@given(
    st.lists(st.tuples(*[st.integers(0, 9)] * 4), min_size=2, max_size=6),
    st.sampled_from(["2", "3", "4"]),
)
@more_examples(60)
def test_the_worst_order_has_the_longest_period(milliseconds: list[tuple[int, ...]], group: str) -> None:
    jobs = [staged(j, *(ms / 1000 for ms in times)) for j, times in enumerate(milliseconds)]
    found = groups(round_of([1], jobs), f"muri-l:ordering=worst,autopack=off,group={group}")
    for shared in found:
        if len(shared.jobs) > 1:
            stages = [jobs[int(name[1:])].stage_seconds or () for name in shared.jobs]
            assert round((shared.period_seconds or 0) * 10**6) == worst_cyclic(stages)


def test_the_worst_order_also_weighs_the_pairs() -> None:
    """All jobs take 4 s; by their best orders the outer and the inner two fit best, by their worst the neighbours."""
    jobs = [staged(0, 2, 2, 0), staged(1, 0, 0, 4), staged(2, 1, 3, 0), staged(3, 0, 3, 1)]
    for ordering, pairs in (("best", [("j0", "j3"), ("j1", "j2")]), ("worst", [("j0", "j1"), ("j2", "j3")])):
        assert names(three(2, *jobs), f"muri-l:group=2,autopack=off,ordering={ordering}") == pairs


def test_autopack_judges_by_the_best_order_even_then() -> None:
    """Two jobs of different resources take 1 s together in the best order, and 2 s in the worst."""
    jobs = [staged(0, 1, 0, 0), staged(1, 0, 1, 0)]
    (group,) = groups(three(1, *jobs), "muri-l:ordering=worst")
    assert group.jobs == ("j0", "j1")
    assert group.period_seconds == 2.0
    assert groups(three(1, *jobs), "muri-l")[0].period_seconds == 1.0
    slower = [staged(0, 1, 0, 0, iteration_seconds=0.75), staged(1, 0, 1, 0, iteration_seconds=0.75)]
    (group,) = groups(three(1, *slower), "muri-l:ordering=worst")
    assert (group.jobs, group.period_seconds) == (("j0", "j1"), 2.0)  # slower than 1.5 s, but not in its best order


def test_a_group_as_slow_as_its_jobs_one_after_another_is_kept() -> None:
    """The sum of the two times is a little less than the period in floating point, and equal in microseconds."""
    alike = [staged(0, 0.1, 0, 0), staged(1, 0.2, 0, 0)]
    assert names(three(1, *alike), "muri-l") == [("j0", "j1")]
    assert names(three(1, staged(0, 0.1, 0, 0), staged(1, 0.2, 0, 0, iteration_seconds=0.199999)), "muri-l") == [
        ("j0",)
    ]


def test_without_matching_neighbours_share() -> None:
    """Jobs 0 and 1 use one resource and 2 and 3 another: matched, each shares with one of the others."""
    jobs = [staged(j, float(j < 2), float(j >= 2), 0) for j in range(4)]
    assert names(three(2, *jobs), "muri-l:group=2,matching=queue") == [("j0", "j1"), ("j2", "j3")]
    matched = names(three(2, *jobs), "muri-l:group=2")
    assert {frozenset(name < "j2" for name in pair) for pair in matched} == {frozenset({True, False})}


def test_neighbours_share_only_while_too_many_gpus_are_asked_for() -> None:
    jobs = [staged(j, 1, 0, 0) for j in range(7)]
    assert names(three(4, *jobs), "muri-l:matching=queue,group=3") == [
        ("j0", "j1", "j2"),
        ("j3", "j4"),
        ("j5",),
        ("j6",),
    ]


def test_without_matching_four_jobs_are_slowed_down_less() -> None:
    period = best_period([job.stage_seconds or () for job in FOUR], "muri-4slot").period_seconds
    for text, factor in (("muri", 1.37), ("muri-without-blossom", 1.3)):
        assert SLOWDOWN[text][4] == factor / 1.015
    (queue,) = groups(three(1, *FOUR), "muri-l:preset=authors,matching=queue,autopack=off")
    (matched,) = groups(three(1, *FOUR), "muri-l:preset=authors,autopack=off")
    assert queue.period_seconds == pytest.approx(period * 1.3 / 1.015, rel=1e-15)
    assert matched.period_seconds == pytest.approx(period * 1.37 / 1.015, rel=1e-15)


def test_a_pair_must_exceed_the_least_weight() -> None:
    """Two jobs of one resource of three have efficiency 1/3; the threshold of two jobs is half of what is given."""
    jobs = [staged(j, 1, 0, 0) for j in range(2)]
    assert names(three(1, *jobs), "muri-l:least_weight=0.66") == [("j0", "j1")]
    assert names(three(1, *jobs), "muri-l:least_weight=0.67") == [("j0",)]


@pytest.mark.parametrize("setting", ["objective=gpu-time", "objective=progress", "sizes=mixed"])
def test_what_the_value_counts_does_not_change_the_algorithm(setting: str) -> None:
    round_ = three(2, *FOUR, staged(4, 0.1, 0.2, 0.3))
    assert policy_from(f"muri-l:{setting}").decide(round_, 0) == policy_from("muri-l").decide(round_, 0)


def test_groups_are_known_before_they_are_dissolved_or_placed() -> None:
    alike = [staged(j, 0, 1, 0) for j in range(2)]
    policy = policy_from("muri-l:preset=authors")
    assert policy.grouped(three(1, *alike)).groups == ((0, 1),)
    assert names(three(1, *alike), policy.spec) == [("j0",)]


@st.composite
def staged_rounds(draw: st.DrawFn) -> tuple[Round, MuriPolicy]:
    """Draw a policy and a round it takes, with jobs of three or four stages, zeros included."""
    policy = draw(policies())
    four_slots = "4slot" in policy.options.pattern
    kinds = 3 if four_slots else draw(st.sampled_from([3, 4]))
    drawn = draw(rounds(max_jobs=8, running=False))
    times = st.tuples(*[st.sampled_from([0, 1, 2, 5, 250, 499, 500, 501, 1000])] * kinds)
    jobs = tuple(
        msgspec.structs.replace(job, gpus=1 + job.gpus % 2, stage_seconds=tuple(ms / 1000 for ms in draw(times)))
        for job in drawn.jobs
    )
    resources = THREE if kinds == 3 else drawn.resources
    return msgspec.structs.replace(drawn, jobs=jobs, resources=resources), policy


@given(staged_rounds())
@more_examples(250)
def test_every_decision_is_accepted_by_the_verifier(case: tuple[Round, MuriPolicy]) -> None:
    round_, policy = case
    result = solve_round(round_, policy, "heuristic")
    assert result.certificate.feasible, result.certificate.violations
    assert result.decision == policy.decide(round_, seed=0)
    assert result.decision is not None
    assert {wait.job for wait in result.decision.waiting} | set(result.decision.running) == set(round_.job_index)
    assert result.bound is None or result.value is None or result.value <= result.bound
