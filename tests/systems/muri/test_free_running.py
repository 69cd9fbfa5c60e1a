"""Muri where groups run freely, or each in its better way: optimum, bound, values by hand, measured rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random

import pytest
from by_policy import settings_of
from handmade import gang, round_of
from msgspec import UNSET
from msgspec.structs import replace
from plain_free import exact_rates
from plain_groups import Plain

from muri_opt import InputError, Job, Limits, RefusalError, Round, Together, changes, policy_from, solve_round
from muri_opt.replay.run import replay
from muri_opt.replay.workload import Workload
from muri_opt.rounds import after
from muri_opt.systems.muri.group_values import GroupRules
from muri_opt.systems.muri.program_prices import job_prices
from muri_opt.verify.audit import decision_value
from muri_opt.verify.muri import dual_bound
from muri_opt.verify.muri.counting import counted_bound
from muri_opt.verify.muri.enumeration import enumerated_optimum

OBJECTIVES = ("efficiency", "gpu-time", "progress")
ALL = (*OBJECTIVES, "completion")
SHARED = [False] * 4
CORES = [False, True, False, False]


def drawn(seed: int, most: int, *, sizes: Sequence[int] = (1,), runs: str = "free") -> Round:
    """Return a round some jobs of which run as Muri would have it."""
    draw = Random(seed)
    jobs = [
        gang(
            j,
            draw.choice(sizes),
            stage_seconds=tuple(float(draw.randint(0, 9)) for _ in range(4)),
            iteration_seconds=float(draw.randint(1, 9)),
            remaining_iterations=draw.randint(1, 20),
            restart_seconds=draw.choice([None, 0.0, 30.0, 300.0]),
        )
        for j in range(draw.randint(2, most))
    ]
    round_ = round_of([draw.choice([1, 2, 4]) for _ in range(draw.randint(1, 2))], jobs)
    some = replace(round_, jobs=tuple(job for job in jobs if draw.random() < 0.6))
    return after(round_, policy_from(f"muri-s:run={runs},restarts=ignore").decide(some, 0))


def waiting(round_: Round) -> Round:
    return replace(round_, jobs=tuple(replace(job, state="waiting", placement=None) for job in round_.jobs))


def groupings(jobs: tuple[Job, ...]) -> Iterator[list[tuple[Job, ...]]]:
    """Yield all sets of disjoint groups of up to four jobs."""
    if not jobs:
        yield []
        return
    first, *rest = jobs
    yield from groupings(tuple(rest))
    for others in (some for size in range(4) for some in combinations(rest, size)):
        for more in groupings(tuple(job for job in rest if job not in others)):
            yield [(first, *others), *more]


def freely(plain: Plain, group: tuple[Job, ...], own: Sequence[bool]) -> float:
    """Return what a group of jobs of equal GPU counts is worth by exact rates."""
    if len(group) == 1:
        return plain.value(group)
    stages = [[round(10**6 * time) for time in job.stage_seconds or ()] for job in group]
    rates = [float(rate) for rate in exact_rates(stages, own)]
    if not any(map(any, stages)):
        return 0.0
    if plain.objective == "efficiency":
        return 1e6 * sum(rate for rate, times in zip(rates, stages, strict=True) if any(times)) / 4
    gpus = group[0].gpus
    if plain.objective == "gpu-time":
        return 1e6 * gpus * (sum(rates) - 1)
    return sum(plain.weight[job.id] * gpus * 1e3 * rate for job, rate in zip(group, rates, strict=True))


@pytest.mark.parametrize("seed", range(9))
def test_the_optimum_is_the_best_of_all_groupings(seed: int) -> None:
    objective, run = OBJECTIVES[seed % 3], ("free", "best")[seed // 3 % 2]
    cores = seed % 2 == 0
    round_ = waiting(drawn(seed, 6))
    plain = Plain(round_=round_, objective=objective)
    known: dict[str, float] = {}

    def value(group: tuple[Job, ...]) -> float:
        name = " ".join(job.id for job in group)
        if name not in known:
            rates = freely(plain, group, CORES if cores else SHARED)
            known[name] = max(rates, plain.value(group)) if run == "best" else rates
        return known[name]

    some = (groups for groups in groupings(round_.jobs) if len(groups) <= round_.cluster.total_gpus)
    best = max(sum(map(value, groups)) for groups in some)
    spec = f"muri-s:objective={objective},run={run},own={'cpu' if cores else 'none'}"
    exact, heuristic = (solve_round(round_, spec, method, Limits(work=20)) for method in ("exact", "heuristic"))
    assert exact.certificate.violations == heuristic.certificate.violations == ()
    assert exact.value == exact.bound
    assert heuristic.bound >= exact.value >= heuristic.value
    assert exact.value == pytest.approx(best, rel=2e-5, abs=60)


@pytest.mark.parametrize("seed", range(16))
def test_what_runs_is_changed_only_where_that_pays(seed: int) -> None:
    run = ("free", "best")[seed % 2]
    round_ = drawn(seed, 9, sizes=(1, 1, 2), runs=run)
    policy = policy_from(f"muri-s:run={run},objective={ALL[seed // 2 % 4]}")
    then = after(round_, policy.decide(round_, 0))
    assert set(changes(then, policy.decide(then, 0)).counts) <= {"keep"}
    result = solve_round(round_, policy, "auto", Limits(work=20))
    assert result.certificate.violations == ()
    assert result.bound is not None
    assert result.value is not None
    assert result.value <= result.bound


@pytest.mark.parametrize("seed", range(24))
def test_jobs_one_by_one_bound_groups_that_run_freely(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Free groups are not slowed down, and a job may take less time alone than its stages say."""
    round_ = waiting(drawn(seed + 200, 6, sizes=(1, 2)))
    slowed = ("", ",preset=authors,pattern=cyclic")[seed // 8 % 2]
    spec = f"muri-s:objective={ALL[seed % 4]},run={('free', 'best')[seed // 4 % 2]}{slowed}"
    rules = settings_of(spec)
    optimum = enumerated_optimum(round_, rules, steps=10**6)
    assert optimum is not None
    counted, prices = counted_bound(round_, rules), job_prices(round_, GroupRules.of(policy_from(spec).rules))
    assert counted is not None
    assert counted >= optimum
    assert prices is not None
    monkeypatch.setattr(dual_bound, "MOST_GROUPS", -1)
    priced = dual_bound.sharing_bound.__wrapped__(round_, rules, prices)
    assert priced is not None
    assert priced >= optimum


def test_pairs_are_matched_by_rates_and_proved_by_their_duals() -> None:
    round_ = waiting(drawn(77, 9))
    result = solve_round(round_, "muri-s:run=free,group=2", "auto", Limits(work=20))
    assert result.value == result.bound
    assert result.certificate.violations == ()
    best = solve_round(round_, "muri-s:run=best,group=2", "auto", Limits(work=20))
    step = solve_round(round_, "muri-s:group=2", "auto", Limits(work=20))
    assert best.value >= max(result.value, step.value)


def pair(**fields: object) -> Round:
    """Return two jobs for one GPU whose stages meet at the GPU alone, and that take 4 s and 40 s."""
    jobs = [
        gang(0, 1, stage_seconds=(1.0, 2.0, 1.0, 0.0), iteration_seconds=4.0, model="short"),
        gang(1, 1, stage_seconds=(0.0, 20.0, 20.0, 0.0), iteration_seconds=40.0, model="long"),
    ]
    return replace(round_of([1], jobs), **fields)


def test_a_group_that_runs_freely_by_hand() -> None:
    # j1 is at the GPU half of its time: a quarter of j0 takes 1.5 times as long, and half of j1 1.25 times.
    result = solve_round(pair(), "muri-s:run=free", "heuristic")
    (group,) = result.decision.assignments
    assert group.rates == (pytest.approx(1 / 1.125, abs=2e-6), pytest.approx(1 / 1.125, abs=2e-6))
    assert (group.order, group.period_seconds) == ((0, 1), None)
    assert result.value == pytest.approx(2e6 / 1.125 / 4, abs=2)
    step = solve_round(pair(), "muri-s", "heuristic")
    assert step.decision.assignments[0].rates is UNSET
    # In lock step the short job does one iteration while the long one does: 41 s for both.
    assert step.value == 1_000_000 * 44 // (4 * 41)
    best = solve_round(pair(), "muri-s:run=best", "heuristic")
    assert best.decision == result.decision


def test_the_better_way_may_be_lock_step() -> None:
    # Two jobs that are always one at the storage and the other at the GPU lose nothing in slots.
    jobs = [gang(j, 1, stage_seconds=(3.0, 0.0, 3.0, 0.0)) for j in range(2)]
    (group,) = solve_round(round_of([1], jobs), "muri-s:run=best", "heuristic").decision.assignments
    assert (group.rates, group.period_seconds) == (UNSET, 6.0)


def test_measured_rates_are_honoured_where_groups_may_run_freely_and_refused_in_lock_step() -> None:
    measured = (Together(models=("long", "short"), rates=(0.9, 0.3)),)
    round_ = pair(format="muri-opt/round/2", together=measured)
    (group,) = solve_round(round_, "muri-s:run=free", "heuristic").decision.assignments
    assert dict(zip(group.jobs, group.rates, strict=True)) == {"j0": 0.3, "j1": 0.9}
    with pytest.raises(RefusalError, match="together"):
        solve_round(round_, "muri-s", "heuristic")
    slow = replace(round_, together=(Together(models=("long", "short"), rates=(0.5, 0.3)),))
    alone = solve_round(slow, "muri-s:run=free", "heuristic").decision.assignments
    assert [one.jobs for one in alone] == [("j0",)]  # slower together than one after another
    kept = solve_round(slow, "muri-s:run=free,autopack=off", "heuristic").decision.assignments
    assert [one.jobs for one in kept] == [("j0", "j1")]


def test_measured_pairs_are_told_apart_by_the_matching() -> None:
    models = ("a", "b", "c", "d")
    jobs = [gang(j, 1, stage_seconds=(1.0, 1.0, 1.0, 1.0), model=model) for j, model in enumerate(models)]
    measured = (Together(models=("a", "d"), rates=(1.0, 1.0)), Together(models=("a", "b"), rates=(0.2, 0.2)))
    round_ = replace(round_of([2], jobs), format="muri-opt/round/2", together=measured)
    for method in ("heuristic", "auto"):
        found = solve_round(round_, "muri-s:run=free,group=2", method, Limits(work=10)).decision.assignments
        assert {frozenset(one.jobs) for one in found} == {frozenset({"j0", "j3"}), frozenset({"j1", "j2"})}


def test_in_a_replay_every_member_goes_at_its_own_rate() -> None:
    jobs = tuple(replace(job, submitted=0.0, remaining_iterations=80) for job in pair().jobs)
    workload = Workload(name="two", jobs=jobs, resources=pair().resources)
    outcome = replay(workload, pair().cluster, "muri-s:run=free")
    first, second = outcome.jobs.ended.tolist()
    together = 80 * 4 * 1.125
    assert first == pytest.approx(together, rel=1e-5)
    assert second == pytest.approx(together + (80 * 40 - together / 1.125), rel=1e-5)
    with pytest.raises(InputError, match="lock-step"):
        replay(workload, pair().cluster, "muri-s:run=free", clock="muri")


def test_the_value_of_a_free_group_is_the_verifiers() -> None:
    for seed in range(6):
        round_ = drawn(seed, 8, sizes=(1, 2))
        policy = policy_from(f"muri-l:run=best,objective={ALL[seed % 4]},restarts=ignore")
        result = solve_round(round_, policy, "heuristic")
        assert result.value == decision_value(round_, policy.rules, result.decision)
