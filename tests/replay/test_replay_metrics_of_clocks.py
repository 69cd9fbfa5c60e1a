"""What holds of the figures of any replay, on the compatibility clocks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import Cluster, Node
from muri_opt.replay import Workload
from muri_opt.replay.clocks.afs_clock import replay_afs
from muri_opt.replay.clocks.muri_clock import replay_muri
from muri_opt.replay.metrics.jobs import contention, finish_time_fairness, job_table, slowdown, waiting_seconds
from muri_opt.replay.metrics.summary import summary, time_integral
from muri_opt.replay.metrics.tenants import by_tenant, evenness
from muri_opt.rounds import Job

CLUSTER = Cluster(nodes=(Node(id="n0", gpus=4), Node(id="n1", gpus=4)))
SCALING = {1: 1.0, 2: 1.8, 4: 3.0, 8: 4.5}
POLICIES = {"muri": ["srtf", "srsf", "tiresias", "muri-s", "muri-l"], "afs": ["fifo", "max-min-elastic", "afs-l"]}
CLOCKS = {"muri": replay_muri, "afs": replay_afs}
EXACT = 1e-9  # sums of some dozens of times of up to 1e5 seconds


@st.composite
def workloads(draw):
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from([1, 2, 4, 8]),
                st.integers(0, 600),
                st.integers(1, 2000),
                st.tuples(*[st.integers(1, 900)] * 3),
                st.sampled_from([None, "x", "y"]),
            ),
            min_size=1,
            max_size=9,
        )
    )
    jobs = [
        Job(
            id=f"job-{position}",
            tenant=tenant,
            gpus=gpus,
            submitted=submitted,
            remaining_iterations=iterations,
            iteration_seconds=sum(stages) / 1000,
            stage_seconds=tuple(stage / 1000 for stage in stages),
            scaling=SCALING,
            restart_seconds=4,
        )
        for position, (gpus, submitted, iterations, stages, tenant) in enumerate(rows)
    ]
    return Workload.of("drawn", jobs, resources=("data", "gpu", "network"))


@st.composite
def outcomes(draw):
    clock = draw(st.sampled_from(sorted(CLOCKS)))
    policy = draw(st.sampled_from(POLICIES[clock]))
    return CLOCKS[clock](draw(workloads()), CLUSTER, policy)


@more_examples(60)
@given(outcomes())
def test_the_accounts_of_jobs_agree_with_the_timeline(outcome):
    jobs, timeline = outcome.jobs, outcome.timeline
    found = summary(outcome)
    span = (0.0, found.last_end)
    assert float(time_integral(timeline, timeline.busy, *span)) == pytest.approx(jobs.gpu_seconds.sum(), rel=EXACT)
    assert float(time_integral(timeline, timeline.running, *span)) == pytest.approx(jobs.held.sum(), rel=EXACT)
    queue = float(time_integral(timeline, timeline.queue, *span))
    assert queue == pytest.approx(waiting_seconds(jobs).sum(), rel=EXACT, abs=1e-6)
    assert found.queue_mean <= found.queue_most + EXACT
    assert found.makespan == found.last_end - jobs.submitted.min()


@more_examples(60)
@given(outcomes())
def test_figures_lie_where_they_must(outcome):
    jobs, found = outcome.jobs, summary(outcome)
    least, most = jobs.completion.min(), jobs.completion.max()
    assert least * (1 - EXACT) <= found.mean <= most * (1 + EXACT)
    assert least <= found.p50 <= found.p95 <= found.p99 <= most
    assert found.p99_muri in jobs.completion
    assert 0 < found.utilisation <= 1 + EXACT
    parts = found.fairness + found.fragmentation + found.capacity
    assert parts == pytest.approx(found.waiting, rel=EXACT, abs=1e-9)
    assert found.waiting + jobs.held.mean() == pytest.approx(found.mean, rel=EXACT)
    assert found.rho_mean <= found.rho_worst * (1 + EXACT)
    present = contention(jobs)
    assert (present >= 1 - 1e-6).all()
    assert (present <= len(jobs.ids) * (1 + EXACT)).all()
    assert (finish_time_fairness(outcome) <= slowdown(jobs) * (1 + EXACT)).all()
    assert all(use >= 0 for use in found.resource_use.values())


@more_examples(40)
@given(outcomes())
def test_tenants_make_up_the_whole(outcome):
    tenants, found = by_tenant(outcome), summary(outcome)
    assert sum(tenant.jobs for tenant in tenants) == found.jobs
    assert sum(tenant.jobs * tenant.mean for tenant in tenants) == pytest.approx(found.jobs * found.mean, rel=EXACT)
    assert sum(tenant.gpu_hours for tenant in tenants) == pytest.approx(found.gpu_hours, rel=EXACT)
    assert sum(tenant.share for tenant in tenants) == pytest.approx(1, rel=EXACT)
    assert max(tenant.rho_worst for tenant in tenants) == found.rho_worst
    assert sum(tenant.preemptions for tenant in tenants) == found.preemptions
    assert 1 / len(tenants) * (1 - EXACT) <= evenness(outcome) <= 1 + EXACT


@more_examples(40)
@given(outcomes(), st.randoms(use_true_random=False))
def test_names_and_the_order_of_jobs_do_not_matter(outcome, random):
    order = list(range(len(outcome.jobs.ids)))
    random.shuffle(order)
    shuffled = {
        name: tuple(np.array(column, dtype=object)[order]) if isinstance(column, tuple) else column[order]
        for name, column in ((name, getattr(outcome.jobs, name)) for name in outcome.jobs.__slots__)
    }
    shuffled["ids"] = tuple(f"renamed-{at}" for at in order)
    other = replace(outcome, jobs=type(outcome.jobs)(**shuffled))
    assert summary(other).as_dict() == pytest.approx(summary(outcome).as_dict(), rel=1e-7, abs=1e-9)
    table, turned = job_table(outcome), job_table(other)
    assert turned["completion"] == [table["completion"][at] for at in order]
    assert turned["rho"] == pytest.approx([table["rho"][at] for at in order], rel=1e-9)


def test_a_job_whose_share_of_a_queue_is_hidden_by_rounding_leaves_it():
    rows = [(4, 0, 1, 1.304), (2, 0, 259, 0.414), (8, 0, 195, 0.902), (8, 1, 1805, 0.903)]
    jobs = [
        Job(id=str(p), gpus=g, submitted=s, remaining_iterations=n, iteration_seconds=t, restart_seconds=4)
        for p, (g, s, n, t) in enumerate(rows)
    ]
    outcome = replay_muri(Workload.of("w", jobs), CLUSTER, "tiresias")
    # Of the last, 7,200 GPU seconds are 7199.999999999999 in floats.
    assert outcome.rounds == 8  # two times of arrival, four ends, two queues left
    assert np.isfinite(outcome.jobs.ended).all()
