"""The verifier's own arithmetic of sharing, its bound, and wrong answers of Muri by the rule they break."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations

import pytest
from alterations import changed_first, claiming, decided, replace, rules_broken_by, with_assignments, with_duals
from handmade import gang, round_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muri_opt import InputError, Job, Node, Reason, Result, Round, Tenant, WaitingReason, solve_round, verify
from muri_opt.interleaving import SLOWDOWN, best_period
from muri_opt.solution import LinearDuals, Proof
from muri_opt.verification.rulebook import Rules, rules_of
from muri_opt.verification.sharing import Sharing
from muri_opt.verification.sharing_bound import sharing_bound

THREE = ("data", "gpu", "network")
MILLISECONDS = st.sampled_from([0, 1, 2, 249, 250, 251, 499, 500, 501, 999, 1000]) | st.integers(0, 3000)


def staged(*stages: tuple[float, ...]) -> list[Job]:
    return [gang(j, 1, stage_seconds=times) for j, times in enumerate(stages)]


@st.composite
def groups_of_jobs(draw: st.DrawFn, kinds: int | None = None) -> list[Job]:
    slots = kinds or draw(st.integers(1, 5))
    most = 4 if kinds == 3 else min(4, slots)
    times = st.tuples(*[MILLISECONDS] * slots)
    rows = draw(st.lists(times, min_size=1, max_size=most))
    return staged(*(tuple(ms / 1000 for ms in row) for row in rows))


def agree(jobs: list[Job], sharing: Sharing, pattern: str, slowdown: str) -> None:
    stages = [job.stage_seconds or () for job in jobs]
    best = best_period(stages, pattern)
    period = round(best.period_seconds * 10**6)
    assert sharing.period(jobs) == sharing.period(jobs, best.order) == period
    factor = Fraction(SLOWDOWN[slowdown][len(jobs)]).limit_denominator(1000)
    assert sharing.slowdown(len(jobs)) == factor
    total = sum(round(time * 10**6) for times in stages for time in times)
    slots = 4 if sharing.four_slots else len(stages[0])
    expected = Fraction(10**6 * total) / (slots * period * factor) if period else 0
    assert sharing.efficiency_ppm(jobs) == int(expected)
    assert float(expected) == pytest.approx(10**6 * best.efficiency / float(factor), rel=1e-12)


@given(groups_of_jobs())
@settings(max_examples=150)
def test_cyclic_periods_are_those_of_the_library(jobs: list[Job]) -> None:
    agree(jobs, Sharing(four_slots=False), "cyclic", "none")


@given(groups_of_jobs(3))
@example(staged((0.5, 0.0, 0.25), (0.5, 0.0, 0.001), (0.499, 0.249, 0.002), (0.5, 0.0, 0.0)))
@example(staged((0.5, 0.125, 0.0), (0.5, 0.25, 0.084), (0.001, 0.249, 0.249), (0.5, 0.001, 0.125)))
@settings(max_examples=150)
def test_four_slot_periods_are_those_of_the_library(jobs: list[Job]) -> None:
    """In the examples two rounds differ by a thousandth exactly: only rounding in seconds says whether they agree."""
    agree(jobs, Sharing(four_slots=True), "muri-4slot", "muri")


def every_group(jobs: list[int], sizes: list[int], largest: int) -> Iterator[tuple[int, ...]]:
    """Yield the groups of the first job with others of as many GPUs."""
    alike = [j for j in jobs[1:] if sizes[j] == sizes[jobs[0]]]
    for more in range(largest):
        for others in combinations(alike, more):
            yield (jobs[0], *others)


def optimum(round_: Round, rules: Rules) -> int:
    """Return the most efficiency any groups within the GPUs of the cluster add up to, wherever those are."""
    sizes = [job.gpus for job in round_.jobs]
    largest = rules.most_jobs(len(round_.resources))
    assert rules.sharing is not None
    worth = cache(lambda group: rules.sharing.efficiency_ppm([round_.jobs[j] for j in group]))

    def best(jobs: list[int], gpus: int) -> int:
        if not jobs:
            return 0
        found = best(jobs[1:], gpus)
        for group in every_group(jobs, sizes, largest):
            if sizes[jobs[0]] <= gpus:
                rest = [j for j in jobs if j not in group]
                found = max(found, worth(group) + best(rest, gpus - sizes[jobs[0]]))
        return found

    return best(list(range(len(sizes))), round_.cluster.total_gpus)


@st.composite
def priced_rounds(draw: st.DrawFn) -> tuple[Round, LinearDuals]:
    times = st.tuples(*[st.integers(0, 9)] * 4)
    rows = draw(st.lists(st.tuples(st.sampled_from([1, 1, 2, 3]), times), max_size=6))
    jobs = [gang(j, gpus, stage_seconds=tuple(map(float, stages))) for j, (gpus, stages) in enumerate(rows)]
    denominator = draw(st.sampled_from([1, 3, 1 << 20, 10**13, 10**25]))
    price = st.integers(0, 10**6).map(lambda ppm: ppm * denominator) | st.integers(0, 10**30)
    once, gpus = draw(st.tuples(*[price] * len(jobs))), draw(price)
    duals = LinearDuals(denominator=denominator, multipliers={"once": once, "gpus": (gpus,)})
    return round_of(draw(st.lists(st.integers(1, 3), max_size=2)), jobs), duals


@given(priced_rounds(), st.integers(1, 4))
@settings(max_examples=150)
def test_any_prices_give_a_bound_no_grouping_exceeds(case: tuple[Round, LinearDuals], largest: int) -> None:
    round_, duals = case
    rules = rules_of(f"muri-s:group={largest}")
    bound = sharing_bound(round_, rules, duals)
    assert bound is not None
    assert bound >= optimum(round_, rules)


def complementary(gpus: int = 1) -> Round:
    """Return four jobs that share one GPU without loss."""
    unit = [tuple(float(r == j) for r in range(4)) for j in range(4)]
    return round_of([gpus], [gang(j, 1, stage_seconds=times) for j, times in enumerate(unit)])


def test_the_right_prices_prove_the_optimum() -> None:
    round_ = complementary()
    right = solve_round(round_, "muri-s", "heuristic")
    proved = claiming(with_duals(right, once=(250_000,) * 4, gpus=(0,)), bound=1_000_000, reason=Reason.OPTIMAL)
    certificate = verify(round_, proved)
    assert (certificate.violations, certificate.proof, certificate.checked_bound) == (
        (),
        Proof.LINEAR_DUALS,
        1_000_000,
    )
    short = verify(round_, with_duals(proved, once=(249_998,) * 4, gpus=(1,)))  # all four pay 7 too little
    assert (short.proof, short.checked_bound) == (Proof.LINEAR_DUALS, 4 * 249_998 + 1 + 7)
    dear = verify(round_, with_duals(proved, once=(250_000,) * 4, gpus=(1,)))
    assert (dear.proof, dear.checked_bound) == (Proof.CLAIM_ONLY, 1_000_001)


@pytest.mark.parametrize(
    ("denominator", "multipliers"),
    [
        (1, {}),
        (1, {"once": (0,) * 4}),
        (1, {"once": (0,) * 3, "gpus": (0,)}),
        (1, {"once": (0,) * 4, "gpus": (0, 0)}),
        (1, {"once": (0, 0, 0, -1), "gpus": (0,)}),
        (1, {"once": (0,) * 4, "gpus": (-1,)}),
        (0, {"once": (0,) * 4, "gpus": (0,)}),
        (-1, {"once": (0,) * 4, "gpus": (0,)}),
    ],
)
def test_bad_evidence_is_refused(denominator: int, multipliers: dict[str, tuple[int, ...]]) -> None:
    round_ = complementary()
    with pytest.raises(InputError, match="4 and 1 whole numbers of at least 0"):
        sharing_bound(round_, rules_of("muri-s"), LinearDuals(denominator=denominator, multipliers=multipliers))
    right = solve_round(round_, "muri-s", "heuristic")
    assert rules_broken_by(round_, with_duals(right, denominator, **multipliers)) == {"evidence"}


def test_no_bound_is_given_where_there_is_none() -> None:
    free = LinearDuals(denominator=1, multipliers={"once": (0, 0), "gpus": (0,)})
    three = replace(round_of([1], []), resources=THREE, jobs=tuple(staged((0, 1, 0), (1, 0, 0))))
    assert sharing_bound(three, rules_of("muri-s:preset=authors"), free) is None
    able = gang(0, 1, stage_seconds=(1.0,) * 4)
    assert sharing_bound(round_of([1], [able, gang(1, 1)]), rules_of("muri-s"), free) is None
    assert sharing_bound(round_of([1], [able, gang(1, 0, stage_seconds=(1.0,) * 4)]), rules_of("muri-s"), free) is None


# Jobs 0 to 3 share one GPU, 4 and 5 two others; 6 waits for its tenant's quota, 7 for GPUs.
STAGES = (
    (9, 1, 2, 0),
    (1, 8, 0, 1),
    (0, 2, 7, 1),
    (1, 0, 3, 8),
    (5, 5, 1, 0),
    (0, 1, 6, 4),
    (1, 1, 1, 1),
    (2, 0, 0, 1),
)
SHARED = round_of(
    [Node(id="n0", gpus=1, cpus=16), Node(id="n1", gpus=2, cpus=32)],
    [
        gang(
            j,
            {4: 2, 5: 2, 7: 3}.get(j, 1),
            stage_seconds=tuple(map(float, times)),
            iteration_seconds=float(sum(times)),
            remaining_iterations=1,
            cpus=2 * {4: 2, 5: 2}.get(j, 1),
            tenant={6: "red", 7: None}.get(j, "blue"),
        )
        for j, times in enumerate(STAGES)
    ],
    [Tenant(id="red", quota_gpus=0), Tenant(id="blue", quota_gpus=8)],
)


@pytest.fixture(scope="module")
def right() -> Result:
    result = solve_round(SHARED, "muri-l", "heuristic")
    assert rules_broken_by(SHARED, result) == set()
    four, two = decided(result).assignments
    assert (set(four.jobs), dict(four.gpus), dict(four.cpus)) == ({"j0", "j1", "j2", "j3"}, {"n0": 1}, {"n0": 8.0})
    assert (set(two.jobs), dict(two.gpus), dict(two.cpus)) == ({"j4", "j5"}, {"n1": 2}, {"n1": 8.0})
    reasons = {wait.job: wait.reason for wait in decided(result).waiting}
    assert reasons == {"j6": WaitingReason.QUOTA, "j7": WaitingReason.CAPACITY}
    return result


def waiting_without(result: Result, job: str) -> tuple[object, ...]:
    return tuple(wait for wait in decided(result).waiting if wait.job != job)


def five_in_a_group(result: Result) -> Result:
    four, two = decided(result).assignments
    five = replace(four, jobs=(*four.jobs, "j6"), order=(*four.order, 4))
    return with_assignments(result, five, two, waiting=waiting_without(result, "j6"))


def another_gpu_count(result: Result) -> Result:
    four, two = decided(result).assignments
    mixed = replace(four, jobs=(*four.jobs[:3], "j7"))
    return with_assignments(result, mixed, two, waiting=waiting_without(result, "j7"))


def slow_order(result: Result) -> Result:
    four = decided(result).assignments[0]
    members = [SHARED.jobs[SHARED.job_index[job]] for job in four.jobs]
    sharing = Sharing(four_slots=False)
    slow = max(permutations(range(4)), key=lambda order: sharing.period(members, order))
    return changed_first(result, order=slow)


def one_job_in_two_groups(result: Result) -> Result:
    four, two = decided(result).assignments
    (first,) = (job for job in SHARED.jobs if job.id == four.jobs[0])
    again = replace(four, jobs=(first.id,), order=(0,), cpus={"n0": 2.0}, period_seconds=first.iteration_seconds)
    return with_assignments(result, four, two, again)


def one_job_twice_in_its_group(result: Result) -> Result:
    four, two = decided(result).assignments
    twice = best_period([SHARED.jobs[SHARED.job_index[two.jobs[0]]].stage_seconds] * 2)
    pair = replace(two, jobs=two.jobs[:1] * 2, order=twice.order, period_seconds=twice.period_seconds)
    return with_assignments(result, four, pair)


def alone_beside_its_group(result: Result) -> Result:
    """The last job of the group runs on GPUs of its own, which the node does not have."""
    four, two = decided(result).assignments
    (last,) = (job for job in SHARED.jobs if job.id == four.jobs[-1])
    alone = replace(four, jobs=(last.id,), order=(0,), cpus={"n0": 2.0}, period_seconds=last.iteration_seconds)
    members = [SHARED.jobs[SHARED.job_index[job]] for job in four.jobs[:3]]
    best = best_period([job.stage_seconds for job in members])
    three = replace(four, jobs=four.jobs[:3], order=best.order, cpus={"n0": 6.0}, period_seconds=best.period_seconds)
    return with_assignments(result, three, alone, two)


def started_beyond_its_quota(result: Result) -> Result:
    four, two = decided(result).assignments
    alone = replace(four, jobs=("j6",), order=(0,), cpus={"n0": 2.0}, period_seconds=4.0)
    waits = [
        replace(wait, job=job) for wait in decided(result).waiting if wait.job == "j7" for job in ("j7", *four.jobs)
    ]
    return with_assignments(result, alone, two, waiting=tuple(waits))


MUTANTS: list[tuple[Callable[[Result], Result], str]] = [
    (five_in_a_group, "group-size"),
    (lambda result: replace(result, policy="muri-l:group=3"), "group-size"),
    (another_gpu_count, "equal-gpus"),
    (slow_order, "order"),
    (lambda result: changed_first(result, order=(0, 1, 2, 2)), "order"),
    (
        lambda result: changed_first(result, period_seconds=decided(result).assignments[0].period_seconds * 1.000001),
        "period",
    ),
    (lambda result: changed_first(result, period_seconds=None), "period"),
    (lambda result: replace(result, value=result.value + 1), "value"),
    (lambda result: claiming(result, bound=result.value - 1), "bound"),
    (one_job_in_two_groups, "job-once"),
    (one_job_twice_in_its_group, "job-once"),
    (alone_beside_its_group, "gpu-capacity"),
    (lambda result: changed_first(result, cpus={"n0": 2.0}), "cpus-with-gpus"),
    (lambda result: changed_first(result, gpus={"n1": 2}, cpus={"n1": 16.0}), "gang"),
    (started_beyond_its_quota, "quota"),
]


@pytest.mark.parametrize(("mutate", "rule"), MUTANTS)
def test_a_wrong_answer_is_rejected_by_its_rule(mutate: Callable[[Result], Result], rule: str, right: Result) -> None:
    broken = rules_broken_by(SHARED, mutate(right))
    assert rule in broken
    assert broken <= {rule, "value", "waiting-listed"}  # with other jobs the value changes, and some are not listed


@pytest.mark.parametrize(("cpus", "quota", "rule"), [(7.999, 8, "cpu-capacity"), (16.0, 7, "quota"), (8.0, 8, None)])
def test_all_jobs_of_a_group_count(cpus: float, quota: int, rule: str | None, right: Result) -> None:
    nodes = (replace(SHARED.cluster.nodes[0], cpus=cpus), SHARED.cluster.nodes[1])
    tenants = (SHARED.cluster.tenants[0], replace(SHARED.cluster.tenants[1], quota_gpus=quota))
    round_ = replace(SHARED, cluster=replace(SHARED.cluster, nodes=nodes, tenants=tenants))
    assert rules_broken_by(round_, replace(right, fingerprint=round_.fingerprint)) == ({rule} if rule else set())


@pytest.mark.parametrize(
    ("resources", "policy", "most"),
    [(3, "muri-l", 3), (2, "muri-l", 2), (4, "muri-l:preset=authors", 1), (3, "muri-l:preset=authors", 4)],
)
def test_a_group_has_no_more_jobs_than_slots(resources: int, policy: str, most: int) -> None:
    jobs = tuple(staged(*[(1.0,) * resources] * 4))
    round_ = replace(round_of([1], []), resources=tuple("abcd"[:resources]), jobs=jobs)
    alone = solve_round(round_, "muri-l:group=1", "heuristic")
    (first,) = decided(alone).assignments
    group = replace(first, jobs=("j0", "j1", "j2", "j3"), order=(0, 1, 2, 3))
    broken = rules_broken_by(round_, replace(with_assignments(alone, group, waiting=()), policy=policy))
    assert ("group-size" in broken) == (most < 4)
