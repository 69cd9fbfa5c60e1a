"""Failures as decisions of a round: what is removed, what asks for one GPU, and that the round can be solved."""

import msgspec
import pytest
from hypothesis import given, strategies as st

from muri_opt import Cluster, Job, Node, Round, solve_round
from muri_opt.errors import InputError
from muri_opt.replay.failures import AdaptiveRetry, FailureRules, FixedRetry, PastTrial, PreRun, admit
from muri_opt.rounds import Guarantee, Plan
from muri_opt.rounds.generate.families import generate

TYPO, DISK = "syntax error", "model checkpoint error"
RULES = FailureRules(retry=AdaptiveRetry(), pre_run=PreRun(milliseconds=120_000))
NODES = (Node(id="n0", gpus=8, cpus=32, memory_gib=256), Node(id="n1", gpus=8, cpus=32, memory_gib=256))


def round_of(*jobs):
    return Round(cluster=Cluster(nodes=NODES), jobs=jobs)


def past(*names, seconds=60.0, gpus=8):
    return tuple(PastTrial(failure=name, seconds=seconds, gpus=gpus) for name in names)


def test_who_is_refused_retried_and_run_ahead():
    jobs = (
        Job(id="bad", gpus=8, submitted=0),
        Job(id="unlucky", gpus=8, submitted=1),
        Job(id="new", gpus=4, submitted=2, cpus=10, memory_gib=33),
        Job(id="small", gpus=1, submitted=3),
        Job(id="old", gpus=4, submitted=4, executed_seconds=5),
        Job(id="served", gpus=4, submitted=5, attained_gpu_seconds=5),
        Job(id="restarted", gpus=4, submitted=6, restarts=1),
    )
    result = admit(
        round_of(*jobs), {"bad": past(TYPO, TYPO), "unlucky": past(DISK, seconds=10_800), "small": ()}, RULES
    )
    assert [job.id for job in result.round.jobs] == ["unlucky", "new", "small", "old", "served", "restarted"]
    assert [(row.job, row.reason) for row in result.refused] == [("bad", f"{TYPO!r} twice in a row: a user error")]
    # Chance 1/4; 0.58 minutes * e^0.5 = 57.376 s, on 8 GPUs, lost with a chance of 3/4.
    assert result.refused[0].saved_gpu_seconds == 344.256
    assert [row.job for row in result.retried] == ["unlucky"]
    assert "chance of 0.750" in result.retried[0].reason
    assert [(row.job, row.seconds) for row in result.pre_run] == [("new", 120.0)]
    new = result.round.jobs[1]
    assert (new.gpus, new.cpus, new.memory_gib, new.submitted) == (1, 2.5, 8.25, 2)
    assert [job for job in result.round.jobs if job.id != "new"] == [
        job for job in jobs if job.id not in ("new", "bad")
    ]


def test_shares_of_one_gpu_are_rounded_up():
    result = admit(round_of(Job(id="a", gpus=3, cpus=1, memory_gib=1)), {}, RULES)
    assert (result.round.jobs[0].cpus, result.round.jobs[0].memory_gib) == (0.334, 342 / 1024)


def test_the_known_work_decides_a_retry():
    # 3/4 of the value against 181.67 minutes * e^0.5 a GPU: worth it from 23,962.2 seconds of work on.
    for seconds, kept in ((23_960, 0), (23_965, 1)):
        job = Job(id="a", gpus=8, remaining_iterations=seconds, iteration_seconds=1)
        result = admit(round_of(job), {"a": past(DISK)}, RULES)
        assert (len(result.round.jobs), len(result.retried), len(result.refused)) == (kept, kept, 1 - kept)


def test_a_pre_run_is_a_short_job_on_one_gpu():
    plans = (Plan(name="one", gpus=1, throughput=1), Plan(name="all", gpus=8, throughput=6))
    job = Job(
        id="a",
        gpus=8,
        remaining_iterations=1000,
        iteration_seconds=0.7,
        plans=plans,
        scaling={1: 1.0, 8: 6.0},
        guarantee=Guarantee(throughput=5),
    )
    small = admit(round_of(job), {}, RULES).round.jobs[0]
    assert small.remaining_iterations == 172  # 120 / 0.7, rounded up
    assert (small.plans, small.scaling, small.guarantee) == (plans[:1], {1: 1.0}, None)
    shorter = msgspec.structs.replace(job, remaining_iterations=9)
    assert admit(round_of(shorter), {}, RULES).round.jobs[0].remaining_iterations == 9


@pytest.mark.parametrize(
    "fields",
    [{"plans": (Plan(name="all", gpus=8, throughput=6),)}, {"scaling": {4: 1.0, 8: 1.8}}],
    ids=["plans", "scaling"],
)
def test_a_job_that_cannot_run_on_one_gpu_starts_as_it_is(fields):
    round_ = round_of(Job(id="a", gpus=8, **fields))
    result = admit(round_, {}, RULES)
    assert (result.round, result.pre_run) == (round_, ())


def test_a_job_on_cpus_only_is_judged_as_if_it_held_one_gpu():
    result = admit(round_of(Job(id="a", gpus=0)), {"a": past(DISK, seconds=10_800, gpus=0)}, RULES)
    assert [row.job for row in result.retried] == ["a"]


def test_without_rules_to_apply_the_round_stays_as_it_is():
    round_ = generate("gangs", jobs=20, nodes=2, seed=1)
    for rules in (FailureRules(retry=FixedRetry()), FailureRules(retry=FixedRetry(), pre_run=PreRun(milliseconds=0))):
        result = admit(round_, {}, rules)
        assert result.round.fingerprint == round_.fingerprint
        assert (result.pre_run, result.refused, result.retried) == ((), (), ())


FAMILIES = {"gangs": "fifo", "elastic": "afs-l", "plans": "rubick", "interleaving": "muri-l"}


@given(
    st.sampled_from(sorted(FAMILIES)),
    st.integers(0, 1000),
    st.lists(st.sampled_from([(), (TYPO,), (TYPO, TYPO), (DISK,), ("no signature",) * 3]), min_size=12, max_size=12),
    st.sampled_from([FixedRetry(retries=1), AdaptiveRetry()]),
)
def test_running_jobs_are_left_alone_and_the_round_is_solved(family, seed, names, retry):
    made = generate(family, jobs=12, nodes=2, seed=seed)
    fresh = tuple(
        job
        if job.state == "running"
        else msgspec.structs.replace(job, executed_seconds=0.0, attained_gpu_seconds=0.0, restarts=0)
        for job in made.jobs
    )
    round_ = msgspec.structs.replace(made, jobs=fresh)
    histories = {job.id: past(*chosen) for job, chosen in zip(round_.jobs, names, strict=True)}
    result = admit(round_, histories, FailureRules(retry=retry, pre_run=RULES.pre_run))
    assert result == admit(round_, histories, FailureRules(retry=retry, pre_run=RULES.pre_run))
    kept = {job.id: job for job in result.round.jobs}
    ahead = {row.job for row in result.pre_run}
    refused, retried = {row.job for row in result.refused}, {row.job for row in result.retried}
    for job in round_.jobs:
        if job.state == "running":
            assert kept[job.id] == job
        elif histories[job.id]:
            assert (job.id in refused) != (job.id in retried)
            assert kept.get(job.id) == (job if job.id in retried else None)
        elif job.id in ahead:
            assert kept[job.id].gpus == 1 < job.gpus
        else:
            assert kept[job.id] == job
    solved = solve_round(result.round, policy=FAMILIES[family], method="heuristic")
    decided = solved.decision
    seen = [name for row in decided.assignments for name in row.jobs] + [row.job for row in decided.waiting]
    assert sorted(seen) == sorted(kept)
    assert not solved.certificate.violations
    for row in decided.assignments:
        if set(row.jobs) & ahead:
            assert sum(row.gpus.values()) <= 1


@pytest.mark.parametrize(
    ("histories", "said"),
    [
        ({"b": past(TYPO)}, "histories['b']: found a job that is not in the round"),
        ({"a": past(TYPO) + past("rust")}, "histories['a'][1].failure: found 'rust'"),
        ({"a": (3,)}, "histories['a'][0]: found 3; allowed: a PastTrial"),
        ({"a": TYPO}, "histories['a']: found 'syntax error'; allowed: a list"),
        ([], "histories: found []; allowed: a mapping"),
    ],
)
def test_bad_histories_are_refused(histories, said):
    with pytest.raises(InputError) as refused:
        admit(round_of(Job(id="a", gpus=2)), histories, RULES)
    assert said in str(refused.value)
