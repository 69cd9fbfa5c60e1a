"""No answer of Muri is without a bound that was checked, whatever the method, the objective and the size."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from muri_opt import Limits, Proof, Result, Round, solve_round, verify
from muri_opt.rounds.generate.families import generate

PAIRS = "muri-s:group=2"
SPECS = (
    "muri-s",
    "muri-l",
    PAIRS,
    "muri-s:objective=gpu-time",
    "muri-l:objective=progress",
    "muri-s:sizes=mixed,restarts=ignore",
    "muri-s:pattern=muri-cyclic,matching=queue",
    "muri-l:preset=authors",
    "muri-s:preset=authors,pattern=muri-4slot-steady,objective=gpu-time",
    "muri-l:group=3,ordering=worst,objective=progress",
)
SIZES = (2, 3, 5, 8, 13, 21, 34)


def drawn(spec: str, jobs: int, seed: int) -> Round:
    """Return a round of the stages that the settings need, of which some jobs run."""
    round_ = generate("interleaving", jobs=jobs, nodes=max(1, jobs // 8), seed=seed)
    if "authors" not in spec:
        return round_
    three = tuple(replace(job, stage_seconds=(job.stage_seconds or ())[1:]) for job in round_.jobs)
    return replace(round_, resources=("data", "gpu", "network"), jobs=three)


def assert_bounded(round_: Round, result: Result) -> None:
    """The bound is there, at least the value, and found again from the file alone."""
    certificate = verify(round_, result)
    assert certificate.violations == ()
    assert result.value is not None
    assert result.bound is not None
    assert certificate.checked_bound is not None
    assert result.value <= certificate.checked_bound <= result.bound
    assert certificate.proof in (Proof.LINEAR_DUALS, Proof.MATCHING_DUALS, Proof.COUNTING, Proof.EXHAUSTIVE)


@pytest.mark.parametrize("spec", SPECS)
def test_the_algorithm_has_one_at_every_size(spec: str) -> None:
    for seed, jobs in enumerate(SIZES):
        round_ = drawn(spec, jobs, seed)
        assert_bounded(round_, solve_round(round_, spec, "heuristic"))


@pytest.mark.parametrize("spec", SPECS[:4])
def test_every_method_has_one(spec: str) -> None:
    for seed, (method, jobs) in enumerate([("auto", 6), ("exact", 5), ("exact@highs", 7), ("auto", 9)]):
        round_ = drawn(spec, jobs, seed)
        result = solve_round(round_, spec, method, Limits(work=0.5))
        assert result.decision is not None
        assert result.bound is not None
        assert result.certificate.checked_bound is not None


@pytest.mark.parametrize("jobs", [120, 300, *(pytest.param(jobs, marks=pytest.mark.slow) for jobs in (700, 2_000))])
def test_more_groups_than_can_be_listed_are_no_excuse(jobs: int) -> None:
    round_ = drawn("muri-s", jobs, 1)
    assert_bounded(round_, solve_round(round_, "muri-s", "auto", Limits(work=1e-3)))


def test_pairs_are_proved_by_the_duals_of_a_matching() -> None:
    """The duals prove more than jobs one by one, which are all worth a quarter of a group."""
    found = []
    for seed in range(4):
        round_ = drawn(PAIRS, 24, seed)
        free = replace(round_, jobs=tuple(replace(job, gpus=1, cpus=None, memory_gib=None) for job in round_.jobs))
        free = replace(free, jobs=tuple(replace(job, state="waiting", placement=None) for job in free.jobs))
        result = solve_round(free, PAIRS, "heuristic")
        assert_bounded(free, result)
        found.append(result.certificate.proof)
    assert Proof.MATCHING_DUALS in found


def test_few_groups_are_looked_at_all_of_them() -> None:
    """Where GPUs alone bind, jobs one by one leave most of the gap; all groups leave a few percent."""
    for seed in range(3):
        round_ = generate("interleaving", jobs=12, nodes=1, seed=seed)
        jobs = tuple(
            replace(job, gpus=1, cpus=None, memory_gib=None, tenant=None, state="waiting", placement=None)
            for job in round_.jobs
        )
        node = replace(round_.cluster.nodes[0], gpus=3)
        round_ = replace(round_, jobs=jobs, cluster=replace(round_.cluster, nodes=(node,), tenants=()))
        found = solve_round(round_, "muri-s", "heuristic")
        best = solve_round(round_, "muri-s", "exact", Limits(work=5))
        assert_bounded(round_, found)
        assert best.value is not None
        assert found.bound is not None
        assert best.value <= found.bound <= 1.08 * best.value
