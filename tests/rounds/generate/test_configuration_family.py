"""Random rounds of servers and workers: AITurbo's step times and pods, taken by both policies, hard enough."""

from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from muri_opt import solve_round
from muri_opt.profiling.plan_speed import PodNeeds
from muri_opt.rounds.configurations import configurations_of
from muri_opt.rounds.generate.families import generate
from muri_opt.systems import policy_from

ROUND = generate("configurations", jobs=600, nodes=60, seed=1)
PODS = PodNeeds()


@settings(max_examples=15)
@given(jobs=st.integers(0, 8), nodes=st.integers(0, 4), seed=st.integers(0, 2**63 - 1))
def test_both_policies_take_a_round_of_any_size(jobs, nodes, seed):
    round_ = generate("configurations", jobs=jobs, nodes=nodes, seed=seed)
    for policy in ("aiturbo", "aiturbo:objective=time,switch=off", "optimus-ps"):
        result = solve_round(round_, policy, "heuristic")
        assert result.certificate.violations == ()
        assert bool(result.decision.running) <= bool(jobs and nodes)


def test_both_policies_take_a_large_round():
    for policy in ("aiturbo", "aiturbo:objective=time", "optimus-ps"):
        policy_from(policy).check(ROUND)


def test_plans_take_the_pods_of_aiturbo_and_fit_a_node():
    for job in ROUND.jobs:
        known = configurations_of(job)
        assert len(known) == 12
        assert (known[job.plan].gpus, job.cpus) == (job.gpus, pods(known[job.plan]))
        assert {plan.name for plan in job.plans if plan.nodes == 2} == {name for name in known if "p2-w2" in name}
        for plan in job.plans:
            assert plan.cpus == pods(known[plan.name]) <= 32
            assert plan.gpus == known[plan.name].gpus <= 8
        by_name = {plan.name: plan.throughput for plan in job.plans}
        assert all(plan.throughput == by_name[plan.name] for plan in job.plans)


def pods(at):
    each = PODS.cpu_worker_cpus if at.kind == "cpu" else PODS.gpu_worker_cpus
    return at.servers * PODS.server_cpus + at.workers * each


def test_speeds_follow_the_model_of_a_step():
    for job in ROUND.jobs:
        known = configurations_of(job)
        steps = {(at.servers, at.workers, at.share): 1 / rate for at, rate in rates(job, known)}
        for servers, workers in ((1, 1), (1, 2), (2, 1), (2, 2)):
            cores, half, whole = (steps[servers, workers, share] for share in (0, 1, 2))
            assert whole < half < cores
        # What one server more changes depends on the workers alone; rates have six decimals.
        for workers in (1, 2):
            saved = [steps[1, workers, share] - steps[2, workers, share] for share in (0, 1, 2)]
            assert max(saved) - min(saved) <= 4 * 0.5e-6 * max(steps.values()) ** 2 * 1.001


def rates(job, known):
    return [(known[plan.name], plan.throughput) for plan in job.plans]


def test_jobs_and_nodes_are_of_all_kinds():
    count = len(ROUND.jobs)
    known = sum(job.predictable for job in ROUND.jobs)
    assert 0.68 * count < known < 0.82 * count
    assert all(job.predictable == (job.remaining_iterations is not None) for job in ROUND.jobs)
    kinds = Counter(job.plan[:3] for job in ROUND.jobs)
    assert min(kinds["cpu"], kinds["gpu"]) > 0.4 * count
    assert len({job.plan for job in ROUND.jobs}) == 12
    assert 0.1 * count < sum(job.waiting_seconds >= 2400 for job in ROUND.jobs) < 0.25 * count
    assert [node.gpus for node in ROUND.cluster.nodes] == [8, 0] * 30
    assert {job.plan[:3] for job in ROUND.jobs if job.state == "running"} == {"cpu", "gpu"}
    without = {node.id for node in ROUND.cluster.nodes if not node.gpus}
    assert all(not without & set(job.placement or ()) for job in ROUND.jobs if job.gpus)


@pytest.mark.parametrize("policy", ["aiturbo", "optimus-ps"])
def test_the_published_algorithms_miss_optima(policy):
    missed = 0
    for seed in range(4):
        round_ = generate("configurations", jobs=5, nodes=1, seed=seed)
        best = solve_round(round_, policy, "auto")
        assert best.value == best.bound
        missed += solve_round(round_, policy, "heuristic").value < best.value
    assert missed >= 2
