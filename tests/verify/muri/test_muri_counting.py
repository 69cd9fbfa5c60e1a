"""The bound of groupings by counting: no decision is worth more, and none is needed to know it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from seeds import some_then_all

from muri_opt import Limits, policy_from, solve_round, verify
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
@some_then_all(1, 6)
def test_no_decision_is_worth_more(seeds: range, spec: str) -> None:
    for seed in seeds:
        value, bound = counted(spec, jobs=9, nodes=1 + seed % 2, seed=seed)
        assert bound is not None
        assert value <= bound


def test_the_bound_is_reached_by_jobs_that_interleave_without_a_gap() -> None:
    """Four jobs of equal stages fill all slots: any less would be no bound."""
    drawn = generate("interleaving", jobs=8, nodes=1, seed=1)
    jobs = tuple(
        replace(job, gpus=4, cpus=None, memory_gib=None, state="waiting", placement=None, stage_seconds=(0.1,) * 4)
        for job in drawn.jobs
    )
    nodes = tuple(replace(node, gpus=8) for node in drawn.cluster.nodes[:1])
    round_ = replace(drawn, cluster=replace(drawn.cluster, nodes=nodes, tenants=()), jobs=jobs)
    round_ = replace(round_, jobs=tuple(replace(job, tenant=None) for job in jobs))
    result = solve_round(round_, "muri-s", "heuristic")
    assert (result.value, result.bound) == (2_000_000, 2_000_000)
    assert counting.counted_bound(round_, chapter_of(round_, result.rules).rules) == 2_000_000
    assert verify(round_, result) == result.certificate


@pytest.mark.parametrize("spec", ["muri-s", "muri-s:objective=progress", "muri-s:objective=gpu-time"])
def test_nothing_but_the_round_is_needed(spec: str) -> None:
    for jobs in (120, 20):
        round_ = generate("interleaving", jobs=jobs, nodes=6, seed=1)
        result = solve_round(round_, spec, "heuristic")
        known = chapter_of(round_, policy_from(spec).rules).bound(result.answer, ())
        assert known is not None
        assert result.value is not None
        assert result.value <= known[0]


def test_cpus_count_where_they_are_scarcer_than_gpus() -> None:
    """Of 40 jobs with a CPU each on 100 GPUs with 10 CPUs, no more than 10 run, a quarter of a group each."""
    drawn = generate("interleaving", jobs=40, nodes=1, seed=1)
    jobs = tuple(
        replace(job, gpus=1, cpus=1.0, memory_gib=None, tenant=None, state="waiting", placement=None)
        for job in drawn.jobs
    )
    node = replace(drawn.cluster.nodes[0], gpus=100, cpus=10.0, memory_gib=None)
    round_ = replace(drawn, jobs=jobs, cluster=replace(drawn.cluster, nodes=(node,), tenants=()))
    rules = chapter_of(round_, policy_from("muri-s").rules).rules
    assert counting.counted_bound(round_, rules) == 10 * 250_000
