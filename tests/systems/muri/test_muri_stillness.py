"""Running groups are changed only where that pays: value, optimum and bound against all decisions, and what is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pytest
from handmade import gang, round_of
from msgspec.structs import replace
from plain_groups import Plain, micro

from muri_opt import Job, Limits, Round, changes, policy_from, solve_round
from muri_opt.rounds import after
from muri_opt.rounds.sharing_now import homes_now
from muri_opt.verify.audit import decision_value, enumerable_optimum

SPECS = (
    "muri-s",
    "muri-l",
    "muri-s:group=2",
    "muri-s:objective=progress",
    "muri-s:objective=gpu-time",
    "muri-s:objective=completion",
    "muri-s:sizes=mixed",
    "muri-l:horizon=100",
)


def drawn(seed: int, most: int) -> Round:
    """Return a round some jobs of which run as Muri would have it, and some others have ended since."""
    draw = Random(seed)
    jobs = [
        gang(
            j,
            draw.choice([1, 1, 2]),
            stage_seconds=tuple(float(draw.randint(0, 9)) for _ in range(4)),
            iteration_seconds=float(draw.randint(1, 9)),
            remaining_iterations=draw.randint(1, 20),
            attained_gpu_seconds=float(draw.randint(0, 9)),
            restart_seconds=draw.choice([None, 0.0, 30.0, 100.0, 300.0, 700.0]),
        )
        for j in range(draw.randint(1, most))
    ]
    round_ = round_of([draw.choice([1, 2, 4]) for _ in range(draw.randint(1, 3))], jobs)
    some = replace(round_, jobs=tuple(job for job in jobs if draw.random() < 0.7))
    then = after(round_, policy_from(f"muri-{draw.choice('sl')}:restarts=ignore").decide(some, 0))
    return replace(then, jobs=tuple(job for job in then.jobs if draw.random() < 0.85))


def all_groupings(jobs: Sequence[Job], plain: Plain) -> Iterator[list[tuple[Job, ...]]]:
    """Yield all sets of disjoint groups."""
    if not jobs:
        yield []
        return
    yield from all_groupings(jobs[1:], plain)
    for group in plain.groups_of(jobs[0], jobs[1:]):
        for more in all_groupings([job for job in jobs[1:] if job not in group], plain):
            yield [group, *more]


def best(round_: Round, plain: Plain, horizon: int) -> int:
    """Return the largest charged value of all groupings, of each group once where it runs and once elsewhere."""
    now, has = homes_now(round_), {node.id: node.gpus for node in round_.cluster.nodes}
    found = 0
    for groups in all_groupings(round_.jobs, plain):
        if sum(max(job.gpus for job in group) for group in groups) > round_.cluster.total_gpus:
            continue
        ways = [(0, has)]
        for group in groups:
            value = plain.value(group)
            running = [micro(job.restart_seconds or 0.0) for job in group if job.state == "running"]
            charged = value * max(0, horizon - max(running, default=0)) // horizon
            here = dict(group[0].placement or {})
            goes_on = here and now.goes_on([round_.job_index[job.id] for job in group], here)
            goes_on = goes_on and sum(here.values()) == max(job.gpus for job in group)
            then = [(worth + charged, left) for worth, left in ways]
            for worth, left in ways if goes_on else ():
                less = {node: gpus - here.get(node, 0) for node, gpus in left.items()}
                if min(less.values()) >= 0:
                    then.append((worth + value, less))
            ways = then
        found = max(found, *(worth for worth, _ in ways))
    return found


@pytest.mark.parametrize("seed", range(14))
def test_the_optimum_is_the_best_of_all_decisions(seed: int) -> None:
    spec = SPECS[seed % len(SPECS)]
    round_ = drawn(seed + 100, 5)
    policy = policy_from(spec)
    plain = Plain(
        round_=round_,
        order=policy.rules["order"],
        objective=policy.objective,
        mixed=policy.sizes == "mixed",
        largest=int(policy.group),
    )
    expected = best(round_, plain, micro(float(policy.horizon)))
    result = solve_round(round_, spec, "exact", Limits(work=20))
    heuristic = solve_round(round_, spec, "heuristic")
    assert result.certificate.violations == heuristic.certificate.violations == ()
    assert result.value == result.bound == expected
    assert heuristic.value <= expected
    if any(job.state == "running" and job.restart_seconds for job in round_.jobs):
        assert enumerable_optimum(round_, policy.rules) == expected


@pytest.mark.parametrize("seed", range(40))
def test_deciding_again_changes_nothing(seed: int) -> None:
    policy = policy_from(("muri-s", "muri-l", "muri-s:group=3", "muri-l:matching=queue")[seed % 4])
    round_ = drawn(seed, 14)
    decision = policy.decide(round_, 0)
    then = after(round_, decision)
    again = policy.decide(then, 0)
    assert set(changes(then, again).counts) <= {"keep"}
    stays = policy.unchanged(then)
    assert stays is None or set(changes(then, stays).counts) <= {"keep", "start"}


@pytest.mark.parametrize("seed", range(30))
def test_the_draft_of_what_changes_nobody_has_its_assignments(seed: int) -> None:
    round_, policy = drawn(seed, 8), policy_from(SPECS[seed % len(SPECS)])
    whole, draft = policy.unchanged(round_), policy.unchanged_draft(round_)
    assert (whole is None) == (draft is None)
    if whole is not None and draft is not None:
        assert draft.assignments == whole.assignments
        assert decision_value(round_, policy.rules, draft) == decision_value(round_, policy.rules, whole)


@pytest.mark.parametrize("seed", range(12))
def test_where_nothing_runs_restarts_make_no_difference(seed: int) -> None:
    round_ = drawn(seed, 10)
    waiting = replace(round_, jobs=tuple(replace(job, state="waiting", placement=None) for job in round_.jobs))
    for name in ("muri-s", "muri-l"):
        pays, ignores = (policy_from(f"{name}:restarts={word}") for word in ("pay", "ignore"))
        decision = pays.decide(waiting, 0)
        assert decision == ignores.decide(waiting, 0)
        assert decision_value(waiting, pays.rules, decision) == decision_value(waiting, ignores.rules, decision)
        assert pays.unchanged(waiting) is None


def test_the_preset_of_the_authors_ignores_restarts() -> None:
    assert policy_from("muri-s").rules["restarts"] == "pay"
    assert policy_from("muri-s:preset=authors").rules["restarts"] == "ignore"
    assert policy_from("muri-s:preset=authors,restarts=pay").rules["restarts"] == "pay"
    assert policy_from("muri-s:restarts=ignore").rules["restarts"] == "ignore"


def two_pairs(restart: float) -> Round:
    """Return two pairs that run, of jobs that would do better the other way round."""
    long, short = (9.0, 1.0, 1.0, 1.0), (1.0, 9.0, 1.0, 1.0)
    stages = [long, long, short, short]
    runs = {"state": "running", "iteration_seconds": 12.0, "restart_seconds": restart}
    jobs = [gang(j, 1, stage_seconds=times, placement={f"n{j // 2}": 1}, **runs) for j, times in enumerate(stages)]
    return round_of([1, 1], jobs)


@pytest.mark.parametrize("method", ["heuristic", "auto"])
def test_groups_are_changed_where_it_pays_and_only_there(method: str) -> None:
    cheap = solve_round(two_pairs(30.0), "muri-s", method, Limits(work=5))
    groups = {frozenset(one.jobs) for one in cheap.answer.assignments}
    assert all({"j0", "j1"} != group for group in groups)
    assert {change.restart_seconds for change in (*cheap.changes.move, *cheap.changes.regroup)} == {30.0}
    dear = solve_round(two_pairs(590.0), "muri-s", method, Limits(work=5))
    assert dear.changes.counts == {"keep": 4}
    assert dear.value > cheap.value * 9 // 20
    assert solve_round(two_pairs(590.0), "muri-s:horizon=100000", method, Limits(work=5)).changes.counts != {"keep": 4}
    ignored = solve_round(two_pairs(590.0), "muri-s:restarts=ignore", method, Limits(work=5))
    assert {frozenset(one.jobs) for one in ignored.answer.assignments} == groups


def test_a_job_that_ends_moves_nobody() -> None:
    draw = Random(5)
    said = {"iteration_seconds": 40.0, "restart_seconds": 300.0}
    jobs = [gang(j, 1, stage_seconds=tuple(float(draw.randint(1, 9)) for _ in range(4)), **said) for j in range(48)]
    round_ = round_of([4, 4, 4], jobs)
    policy = policy_from("muri-s")
    then = after(round_, policy.decide(round_, 0))
    for _ in range(4):
        ended = draw.choice([job.id for job in then.jobs])
        then = replace(then, jobs=tuple(job for job in then.jobs if job.id != ended))
        decision = policy.decide(then, 0)
        assert set(changes(then, decision).counts) == {"keep"}
        assert "move" in changes(then, policy_from("muri-s:restarts=ignore").decide(then, 0)).counts
        then = after(then, decision)


def test_a_result_without_the_setting_is_read_as_one_that_ignores_restarts() -> None:
    round_, policy = two_pairs(590.0), policy_from("muri-s:restarts=ignore")
    decision = policy.decide(round_, 0)
    old = {key: text for key, text in policy.rules.items() if key not in ("restarts", "horizon")}
    assert decision_value(round_, old, decision) == decision_value(round_, policy.rules, decision)
    assert decision_value(round_, policy_from("muri-s").rules, decision) < decision_value(round_, old, decision)
