"""Random rounds by family: deterministic, valid, and with the traits their family promises."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from muri_opt.errors import InputError
from muri_opt.rounds import canonical_json, parse_round
from muri_opt.rounds.generate.families import FAMILIES, generate
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.rounds.quantities import mebibytes, microseconds, milli_cpus

# The rounds of every release: a change here is a change of every study that names a family and a seed.
FINGERPRINTS = {
    "gangs": "sha256:506355942c3f98e6e68c66870ef3ced36a57b963dea8388e89da81ef5a0e347d",
    "tenants": "sha256:583e3404f7ed1f260637df680a31be3aa5981f5794bc1f0b9be721a07ec3487e",
    "interleaving": "sha256:6fb8f8a6367a67ebbde12a0a309d0b95c23de26ddbdccd67dc4691abee1e2ec7",
    "configurations": "sha256:3ab23271c5d9e91f3dddc7fa3fe8ad4b2df5f4c0395d3f53881715a996f48da8",
    "elastic": "sha256:51519fbb2797534baa257e57452decd1197131ad622a39bced5d5d7c911366bc",
    "philly": "sha256:1eacf57a840b42a80b992c530d6a56b675c88fe5fa7aa960818c009e4bb11eeb",
    "plans": "sha256:4560f6b0bee79f8dab18405e4bbc43855718d53904b32567e34c17b96eb2f877",
}
families = pytest.mark.parametrize("family", FAMILIES)


@families
def test_the_same_arguments_give_the_same_round(family):
    assert generate(family, jobs=40, nodes=12, seed=7).fingerprint == FINGERPRINTS[family]


@families
def test_another_seed_gives_another_round(family):
    assert generate(family, jobs=40, nodes=12, seed=8).jobs != generate(family, jobs=40, nodes=12, seed=7).jobs


@given(
    family=st.sampled_from(sorted(FAMILIES)),
    jobs=st.integers(0, 30),
    nodes=st.integers(0, 8),
    seed=st.integers(0, 2**63 - 1),
)
def test_any_size_gives_a_valid_round(family, jobs, nodes, seed):
    round_ = generate(family, jobs=jobs, nodes=nodes, seed=seed)
    assert (len(round_.jobs), len(round_.cluster.nodes)) == (jobs, nodes)
    assert round_.name == f"{family}/{jobs}-jobs-{nodes}-nodes-seed-{seed}"
    assert parse_round(canonical_json(round_)) == round_
    check_times(round_)
    check_placements(round_)


def check_times(round_):
    for job in round_.jobs:
        age = microseconds(round_.now) - microseconds(job.submitted)
        assert age == microseconds(job.executed_seconds) + microseconds(job.waiting_seconds)
        assert microseconds(job.attained_gpu_seconds) == job.gpus * microseconds(job.executed_seconds)
        assert job.predictable is False if job.remaining_iterations is None else job.remaining_iterations >= 1
        assert job.iteration_seconds > 0


def check_placements(round_):
    """Whole gangs of running jobs, on GPUs of their own, with the CPUs and memory of their GPUs, within quotas."""
    used, held = defaultdict(Counter), Counter()
    for job in round_.jobs:
        assert (job.state == "running") == (job.placement is not None)
        if job.placement:
            assert sum(job.placement.values()) == job.gpus
            held[job.tenant] += job.gpus
        for node, gpus in (job.placement or {}).items():
            part, parts = (gpus, job.gpus) if job.gpus else (1, 1)
            used[node]["gpus"] += gpus
            used[node]["cpus"] += part * -(-milli_cpus(job.cpus) // parts)
            used[node]["memory"] += part * -(-mebibytes(job.memory_gib or 0) // parts)
    for node in round_.cluster.nodes:
        assert used[node.id]["gpus"] <= node.gpus
        assert used[node.id]["cpus"] <= milli_cpus(node.cpus)
        assert used[node.id]["memory"] <= mebibytes(node.memory_gib or 0)
    if not round_.name.startswith("philly"):  # where idle quota is lent
        assert all(held[tenant.id] <= tenant.quota_gpus for tenant in round_.cluster.tenants)


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"philly"}))
def test_about_a_third_runs_where_there_is_room(family):
    round_ = generate(family, jobs=3000, nodes=1500)
    running = sum(job.state == "running" for job in round_.jobs)
    assert 0.27 * 3000 < running < 0.38 * 3000
    check_placements(round_)


def test_gangs_have_the_shares_of_sizes_and_some_need_more_than_an_even_part():
    round_ = generate("gangs", jobs=10_000, nodes=10)
    sizes = Counter(job.gpus for job in round_.jobs)
    for gpus, share in {1: 0.70, 2: 0.08, 4: 0.09, 8: 0.10, 16: 0.03}.items():
        assert abs(sizes[gpus] / 10_000 - share) < 0.02
    assert {(n.gpus, n.cpus, n.memory_gib) for n in round_.cluster.nodes} == {(8, 96.0, 512.0)}
    for need, even in (("cpus", 12), ("memory_gib", 64)):
        greedy = sum(getattr(job, need) > even * job.gpus for job in round_.jobs)
        assert 500 < greedy < 2500
        assert all(getattr(job, need) <= 8 * even * -(-job.gpus // 8) for job in round_.jobs)


def test_quotas_of_tenants_bind():
    counts = set()
    for seed in range(20):
        round_ = generate("tenants", jobs=200, nodes=20, seed=seed)
        asked = Counter()
        for job in round_.jobs:
            asked[job.tenant] += job.gpus
        assert all(tenant.quota_gpus < asked[tenant.id] for tenant in round_.cluster.tenants)
        assert all(job.user for job in round_.jobs)
        assert {node.rack for node in round_.cluster.nodes} == {f"r{rack}" for rack in range(5)}
        counts.add(len(round_.cluster.tenants))
    assert counts == {3, 4, 5}


def test_a_busy_cluster_is_fragmented_and_some_tenants_borrow():
    for seed in range(5):
        round_ = generate("philly", jobs=600, nodes=300, seed=seed)
        check_placements(round_)
        running = [job for job in round_.jobs if job.state == "running"]
        used, held = Counter(), Counter()
        for job in running:
            held[job.tenant] += job.gpus
            used.update(job.placement)
        assert 0.8 < sum(used.values()) / 2400 < 1
        assert 0.8 * 600 < len(running) < 0.92 * 600
        assert sum(0 < used[node.id] < 8 for node in round_.cluster.nodes) > 15
        quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
        assert 2400 - len(quotas) < sum(quotas.values()) <= 2400
        assert min(quotas.values()) == 0
        assert any(held[tenant] > quota for tenant, quota in quotas.items())
        assert any(held[tenant] < quota for tenant, quota in quotas.items())
        assert all(len(job.placement) == -(-job.gpus // 8) for job in running)
        pinned = sum(job.restart_seconds is None for job in round_.jobs)
        assert 0.1 * 600 < pinned < 0.3 * 600
        late = [job.waiting_seconds for job in round_.jobs]
        assert any(seconds < 600 for seconds in late)
        assert any(seconds > 1800 for seconds in late)
        assert {node.rack for node in round_.cluster.nodes} == {f"r{rack}" for rack in range(38)}


def test_an_interleaving_job_has_one_long_stage_and_stages_that_fill_its_iteration():
    round_ = generate("interleaving", jobs=500, nodes=4)
    longest = Counter()
    for job in round_.jobs:
        stages = [microseconds(time) for time in job.stage_seconds]
        assert sum(stages) == microseconds(job.iteration_seconds)
        assert 2 * max(stages) >= sum(stages)
        assert min(stages) > 0
        longest[stages.index(max(stages))] += 1
    assert min(longest[stage] for stage in range(4)) > 80


def test_an_elastic_job_gains_from_more_gpus_but_less_and_less_per_gpu():
    round_ = generate("elastic", jobs=500, nodes=4)
    for job in round_.jobs:
        assert list(job.scaling) == [1, 2, 4, 8, 16]
        rates = list(job.scaling.values())
        assert rates[0] == 1.0
        assert all(low < high < 2 * low for low, high in pairwise(rates))
    # A power law multiplies by the same number at each doubling; Amdahl's law does not.
    powers = sum(abs(job.scaling[2] ** 4 - job.scaling[16]) < 0.01 for job in round_.jobs)
    assert 150 < powers < 350


def test_plans_fit_the_nodes_and_guarantees_can_be_kept():
    round_ = generate("plans", jobs=300, nodes=60)
    assert 60 < sum(job.guarantee is not None for job in round_.jobs) < 180
    for job in round_.jobs:
        own = [plan for plan in job.plans if plan.gpus == job.gpus]
        assert len({plan.name for plan in job.plans}) == len(job.plans)
        assert all(plan.gpus <= 8 * plan.nodes and plan.cpus <= 96 * plan.nodes for plan in job.plans)
        assert (own[0].cpus, own[0].memory_gib) == (job.cpus, job.memory_gib)
        assert job.guarantee is None or job.guarantee.throughput <= own[0].throughput
        assert job.plan == (own[0].name if job.state == "running" else None)
        assert job.placement is None or len(job.placement) == own[0].nodes


@pytest.mark.parametrize("name", ["gang", "", "Plans", "nothing like it"])
def test_an_unknown_family_is_refused(name):
    with pytest.raises(
        InputError,
        match=r"family: found .* one of configurations, elastic, gangs, interleaving, philly, plans, ",
    ):
        generate(name, jobs=1, nodes=1)


@pytest.mark.parametrize("value", [-1, 1.5, "3", None, True, 10**30])
@pytest.mark.parametrize("field", ["jobs", "nodes", "seed"])
def test_sizes_are_checked(field, value):
    with pytest.raises(InputError) as caught:
        generate("gangs", **{"jobs": 1, "nodes": 1, field: value})
    assert caught.value.field == field


def test_draws_stay_within_their_limits():
    draws = Draws(3)
    assert set(draws.below(1000, 4).tolist()) == {0, 1, 2, 3}
    assert set(draws.pick(1000, (5, 7, 9), (1, 0, 3)).tolist()) == {5, 9}
    numbers = draws.spread(1000, [(0.0, 1.0), (0.5, 2.0), (1.0, 10.0)])
    assert 1 <= numbers.min() < 2 < numbers.max() <= 10
    assert 400 < (numbers < 2).sum() < 600
    assert 3 <= draws.uniform(1000, 3, 4).min() <= draws.uniform(1000, 3, 4).max() < 4
