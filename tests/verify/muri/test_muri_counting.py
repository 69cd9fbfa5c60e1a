"""The bound of large groupings by counting: no decision is worth more, and none is needed to know it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from muri_opt import Limits, Proof, policy_from, solve_round, verify
from muri_opt.rounds.generate.families import generate
from muri_opt.verify import chapter_of
from muri_opt.verify.muri import counting
from muri_opt.verify.muri.chapter import GroupChapter

SPECS = [
    "muri-s",
    "muri-l",
    "muri-s:sizes=mixed",
    "muri-s:group=2",
    "muri-s:restarts=ignore",
    "muri-s:pattern=muri-cyclic",
]


def counted(spec: str, jobs: int, nodes: int, seed: int) -> tuple[int, int | None]:
    """Return the best value that is found, and the bound by counting."""
    round_ = generate("interleaving", jobs=jobs, nodes=nodes, seed=seed)
    result = solve_round(round_, spec, "auto", Limits(work=0.2))
    assert result.value is not None
    chapter = chapter_of(round_, result.rules)
    assert isinstance(chapter, GroupChapter)
    return result.value, counting.counted_bound(round_, chapter.rules)


@pytest.mark.parametrize("spec", SPECS)
def test_no_decision_is_worth_more(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On small rounds, whose optimum is found, as if they were large."""
    monkeypatch.setattr(counting, "LARGE", 1)
    for seed in range(2):
        value, bound = counted(spec, jobs=9, nodes=1 + seed % 2, seed=seed)
        assert bound is not None
        assert value <= bound


def test_the_bound_is_reached_by_jobs_that_interleave_without_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four jobs of equal stages fill all slots: any less would be no bound."""
    monkeypatch.setattr(counting, "LARGE", 1)
    drawn = generate("interleaving", jobs=8, nodes=1, seed=1)
    jobs = tuple(
        replace(job, gpus=4, cpus=None, memory_gib=None, state="waiting", placement=None, stage_seconds=(0.1,) * 4)
        for job in drawn.jobs
    )
    nodes = tuple(replace(node, gpus=8) for node in drawn.cluster.nodes[:1])
    round_ = replace(drawn, cluster=replace(drawn.cluster, nodes=nodes, tenants=()), jobs=jobs)
    round_ = replace(round_, jobs=tuple(replace(job, tenant=None) for job in jobs))
    result = solve_round(round_, "muri-s", "heuristic")
    assert (result.value, result.bound, result.certificate.proof) == (2_000_000, 2_000_000, Proof.COUNTING)
    assert verify(round_, result) == result.certificate


def test_a_large_round_has_a_bound_and_a_small_one_is_left_to_prices() -> None:
    large, small = (generate("interleaving", jobs=jobs, nodes=6, seed=1) for jobs in (120, 20))
    result = solve_round(large, "muri-s", "heuristic")
    assert result.value is not None
    assert result.bound is not None
    assert (result.value <= result.bound, result.certificate.proof) == (True, Proof.COUNTING)
    assert solve_round(small, "muri-s", "heuristic").bound is None
    for spec in ("muri-s:objective=progress", "muri-s:objective=gpu-time"):
        assert chapter_of(large, policy_from(spec).rules).bound(result.answer, ()) is None
