"""The bound by prices of stages: the few sizes that floats pick give what all sizes give, in exact integers."""

from __future__ import annotations

import numpy as np
import pytest
from joint_rounds import joint_round, large_joint_round, mixed_joint_round
from msgspec.structs import replace

from muri_opt import Cluster, InputError, Job, Node, Round, policy_from
from muri_opt.rounds import LinearDuals, after
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.systems import program_of
from muri_opt.verify.chapters import chapter_of
from muri_opt.verify.dual_bound import PriceTable
from muri_opt.verify.joint.stage_bound import bound_by_stages, gains_between, most_profit

DENOMINATOR = 1 << 20
SPECS = ("joint-s", "joint-l", "joint-s:slowdown=muri,group=3", "joint-s:sharing=stretch", "joint-s:group=1")


def drawn_prices(round_, rules, seed):
    """Return prices around those that the program finds, at which several sizes of a job are nearly as good."""
    found = program_of(rules).quick_duals(round_)
    draws = iter(Draws(seed).below(len(round_.resources) + 2, 1000))
    told = {
        label: tuple(price * (500 + int(next(draws))) // 1000 for price in prices)
        for label, prices in found.multipliers.items()
    }
    return LinearDuals(denominator=found.denominator, multipliers=told)


def plain_bound(round_, workers, duals):
    gpus, kinds = round_.cluster.total_gpus, max(1, len(round_.resources))
    table = PriceTable.read(duals, {"stages": (gpus,) * kinds, "part": (gpus,)})
    return table.bound(most_profit(workers, job, table, tuple(job.by_gpus)) for job in workers.jobs)


def check(round_, spec, *seeds):
    rules = policy_from(spec).rules
    workers = chapter_of(round_, rules)._workers
    for seed in seeds:
        duals = drawn_prices(round_, rules, seed)
        assert bound_by_stages(round_, workers, duals) == plain_bound(round_, workers, duals), (spec, seed)


@pytest.mark.parametrize("spec", SPECS)
def test_floats_leave_out_no_size_that_is_best(spec):
    for seed in range(12):
        check(joint_round(seed, most_jobs=9), spec, seed)
        try:
            check(mixed_joint_round(seed), spec, seed)
        except InputError:  # a running job makes it impossible
            continue
    large = large_joint_round(5, jobs=60, nodes=4)
    policy = policy_from(spec)
    check(after(large, policy.decide(large, 0)), spec, *range(10))


def test_stages_that_are_rounded_up_to_several_times_their_length():
    """Of a microsecond shared by hundreds of GPUs a few nanoseconds are left, and one more counts."""
    curve = {1: 1.0, 2: 1.9, 64: 60.0, 256: 200.0}
    jobs = [
        Job(
            id=f"j{place}",
            gpus=1,
            remaining_iterations=10 ** (place % 7),
            attained_gpu_seconds=float(place),
            iteration_seconds=(4 + place) * 1e-6,
            stage_seconds=(1e-6, 2e-6, (1 + place) * 1e-6),
            scaling=curve,
        )
        for place in range(20)
    ]
    nodes = tuple(Node(id=f"n{place}", gpus=64) for place in range(4))
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=tuple(jobs), resources=("storage", "gpu", "network"))
    for spec in SPECS:
        check(round_, spec, *range(6))


@pytest.mark.parametrize("spec", SPECS)
def test_floats_hold_jobs_of_any_priority(spec):
    """Each priority outweighs all below it, so that a few dozen of them leave the range of floats.

    Prices are those of the largest, or so much less that they are about what a job of another gains.
    """
    plain = large_joint_round(9, jobs=60, nodes=2)
    round_ = replace(plain, jobs=tuple(replace(job, priority=place) for place, job in enumerate(plain.jobs)))
    rules = policy_from(spec).rules
    workers = chapter_of(round_, rules)._workers
    weights = sorted(job.weight for job in workers.jobs)
    assert weights[-1].bit_length() > 1_300
    for seed, level in enumerate((0, 7, 30, 31, 58, 59)):
        high = drawn_prices(round_, rules, seed)
        told = {
            label: tuple(price * weights[level] // weights[-1] for price in prices)
            for label, prices in high.multipliers.items()
        }
        duals = LinearDuals(denominator=high.denominator, multipliers=told)
        assert bound_by_stages(round_, workers, duals) == plain_bound(round_, workers, duals)


def test_denominators_too_large_for_floats_are_compared_as_they_are():
    round_ = large_joint_round(9, jobs=20, nodes=2)
    rules = policy_from("joint-s").rules
    workers, found = chapter_of(round_, rules)._workers, drawn_prices(round_, rules, 3)
    told = {label: tuple(price << 1_200 for price in prices) for label, prices in found.multipliers.items()}
    duals = LinearDuals(denominator=found.denominator << 1_200, multipliers=told)
    expected = plain_bound(round_, workers, found)
    assert bound_by_stages(round_, workers, duals) == plain_bound(round_, workers, duals) <= expected


@pytest.mark.parametrize("spec", SPECS[:-1])
def test_every_gain_is_between_the_numbers_that_floats_tell(spec):
    """9 microseconds over 75 GPUs are 120 nanoseconds, in floats a little more; beside long stages that are cheap."""
    rules = policy_from(spec).rules
    for seed in range(6):
        draws = Draws(seed).below(40, 1_000).tolist()
        jobs = [
            Job(
                id=f"j{place}",
                gpus=1,
                remaining_iterations=1 + draws[place],
                attained_gpu_seconds=1.0,
                iteration_seconds=0.3,
                stage_seconds=(9e-6 * (1, 2, 4)[place % 3], 0.1, 0.1),
                scaling={1: 1.0, 2: 2.0, 3: 3.0, 10: 10.0, 75: 75.0},
            )
            for place in range(40)
        ]
        nodes = tuple(Node(id=f"n{place}", gpus=50) for place in range(2))
        round_ = Round(cluster=Cluster(nodes=nodes), jobs=tuple(jobs), resources=("storage", "gpu", "network"))
        workers = chapter_of(round_, rules)._workers
        first = workers.jobs[seed]  # its first stage on 75 GPUs costs half of what it is worth
        offer = 1_000_000 * DENOMINATOR * first.weight * first.changed // workers.unit
        prices = {"stages": (offer // (2 * 75 * first.stages_on(75)[0]), 0, 0), "part": (0,)}
        duals = LinearDuals(denominator=DENOMINATOR, multipliers=prices)
        table = PriceTable.read(duals, {"stages": (100,) * 3, "part": (100,)})
        every = [job for job in workers.jobs if job.by_gpus]
        owner = np.repeat(np.arange(len(every)), [len(job.by_gpus) for job in every])
        for job, gpus, least, most in zip(
            owner.tolist(), *map(np.ndarray.tolist, gains_between(workers, table, every, owner)), strict=True
        ):
            assert max(0, least) <= most_profit(workers, every[job], table, (gpus,)) <= max(0, most)
