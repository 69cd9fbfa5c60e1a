"""The event clock: hand-computed histories, what always holds, restarts, and rules that break the rules."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt.errors import InputError
from muri_opt.systems.afs.event_clock import Live, run_clock


def linear(jobs, gpus):
    return np.tile(np.arange(gpus + 1.0), (jobs, 1))


def run(arrivals, work, rule, gpus=2, **more):
    count = len(work)
    speed = more.pop("speed", linear(count, gpus))
    cap = more.pop("cap", [gpus] * count)
    return run_clock(arrivals=arrivals, work=work, speed=speed, cap=cap, rule=rule, gpus=gpus, **more)


def all_to_the_first(live):
    return [2, *[0] * (len(live.jobs) - 1)]


def one_each(live):
    return [1] * min(2, len(live.jobs)) + [0] * max(0, len(live.jobs) - 2)


def test_a_history_by_hand():
    """Two GPUs. Job 0 (6) alone on both from 0; job 1 (3) joins at 1; job 2 (1) comes at 10, after an idle time.

    0..1: job 0 does 2, 4 left. 1..4: one each, job 1 is done at 4, job 0 has 1 left, on two GPUs done at 4.5.
    """
    seen = []

    def rule(live):
        seen.append((live.now, live.jobs.tolist(), live.remaining.tolist(), live.shares.tolist()))
        return [2] if len(live.jobs) == 1 else [1, 1]

    result = run([0, 1, 10], [6, 3, 1], rule)
    assert result.completions.tolist() == [4.5, 4, 10.5]
    assert result.durations.tolist() == [4.5, 3, 0.5]
    assert result.mean_duration == pytest.approx(8 / 3)
    assert result.changes.tolist() == [3, 1, 1]
    assert result.gpu_seconds == 2 * 5
    assert seen == [
        (0, [0], [6], [0]),
        (1, [0, 1], [4, 3], [2, 0]),
        (4, [0], [1], [1]),
        (10, [2], [1], [0]),
    ]


def test_live_jobs_come_in_order_of_arrival_with_their_first_service():
    seen = []

    def rule(live: Live):
        seen.append((live.now, live.jobs.tolist(), live.first_served.tolist()))
        return one_each(live)

    run([5, 0, 0, 5], [1, 8, 4, 1], rule)
    assert seen[0] == (0, [1, 2], [np.inf, np.inf])
    assert seen[1] == (4, [1], [0])
    assert seen[2] == (5, [1, 0, 3], [0, np.inf, np.inf])


def test_the_clock_wakes_the_rule_when_asked():
    """Two jobs of 3 take turns of one second on the only GPU."""
    turn = iter(range(100))

    def rule(live):
        served = next(turn) % len(live.jobs)
        return [int(i == served) for i in range(len(live.jobs))]

    result = run([0, 0], [3, 3], rule, gpus=1, wake=lambda now: np.floor(now) + 1)
    assert result.completions.tolist() == [5, 6]
    assert result.changes.tolist() == [5, 5]


def test_a_restart_delays_and_a_newer_change_replaces_it():
    """Job 0 (10) starts on two GPUs at 0 and restarts for 4 s: it would work from 4 on.

    At 3, still restarting, it is set to one GPU because job 1 arrives: the old restart is forgotten and it works from
    7 on. Job 1 (1) works from 7 to 8. At 8 job 0 has 9 left, goes back to two GPUs and works from 12 to 16.5.
    """
    shares = {1: [2], 2: [1, 1]}
    result = run([0, 3], [10, 1], lambda live: shares[len(live.jobs)], restart_seconds=4.0)
    assert result.completions.tolist() == [16.5, 8]
    assert result.changes.tolist() == [3, 1]


def test_a_job_whose_share_stays_does_not_restart():
    result = run([0, 3], [10, 1], lambda live: [1] * len(live.jobs), restart_seconds=[4.0, 0.5])
    assert result.completions.tolist() == [14, 4.5]


def test_no_jobs_and_jobs_without_work():
    assert run([], [], one_each, speed=np.zeros((0, 3))).completions.tolist() == []
    assert run([2, 1], [0, 3], lambda live: [0] * (len(live.jobs) - 1) + [2]).completions.tolist() == [2, 2.5]


@st.composite
def histories(draw):
    gpus = draw(st.integers(1, 4))
    count = draw(st.integers(1, 6))
    curve = st.lists(st.integers(1, 9), min_size=gpus, max_size=gpus)
    speed = np.array([[0, *draw(curve)] for _ in range(count)], dtype=float)
    cap = np.array([draw(st.integers(1, gpus)) for _ in range(count)])
    work = [draw(st.integers(1, 30)) for _ in range(count)]
    arrivals = [draw(st.integers(0, 10)) for _ in range(count)]
    restart = draw(st.sampled_from([0.0, 0.5, 3.0]))
    return arrivals, work, speed, cap, gpus, restart, draw(st.integers(0, 2**32 - 1))


@more_examples(80)
@given(histories())
def test_work_time_and_gpus_are_accounted_for(history):
    """A rule that deals GPUs at random: what was seen between events adds up to each job's work, and no more."""
    arrivals, work, speed, cap, gpus, restart, seed = history
    draw = np.random.default_rng(seed)
    log = []

    def rule(live):
        shares, free = np.zeros(len(live.jobs), dtype=int), gpus
        for i in draw.permutation(len(live.jobs)):
            shares[i] = min(free, int(draw.integers(0 if shares.any() else 1, cap[live.jobs[i]] + 1)))
            free -= shares[i]
        log.append((live.now, live.jobs, live.remaining, shares))
        return shares

    result = run_clock(
        arrivals=arrivals, work=work, speed=speed, cap=cap, rule=rule, gpus=gpus, restart_seconds=restart
    )
    assert result.events == len(log)
    assert (result.durations >= np.array(work) / speed.max(axis=1) - 1e-9).all()
    ends = [now for now, *_ in log[1:]] + [np.inf]
    held = np.zeros(len(work))
    done = np.zeros(len(work))
    changes, last = np.zeros(len(work), dtype=int), np.zeros(len(work), dtype=int)
    ready = np.zeros(len(work))
    for (now, jobs, remaining, shares), following in zip(log, ends, strict=True):
        end = min(following, result.completions[jobs].max())
        assert shares.sum() <= gpus
        assert set(jobs) >= {j for j in range(len(work)) if arrivals[j] <= now < result.completions[j]}
        assert all(arrivals[j] <= now <= result.completions[j] for j in jobs)
        assert remaining == pytest.approx(np.array(work)[jobs] - done[jobs], abs=1e-9)
        moved = shares != last[jobs]
        changes[jobs[moved]] += 1
        ready[jobs[moved]] = now + restart
        last[jobs] = shares
        held[jobs] += shares * (end - now)
        done[jobs] += speed[jobs, shares] * np.maximum(0, end - np.maximum(now, ready[jobs]))
    assert done == pytest.approx(np.array(work, dtype=float), abs=1e-9)
    assert changes.tolist() == result.changes.tolist()
    assert held.sum() == pytest.approx(result.gpu_seconds)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([2, 1], "found 3 GPUs in all; allowed: at most 2"),
        ([1], "GPUs from 0 to the cap of each of 2 jobs"),
        ([-1, 1], "GPUs from 0 to the cap of each of 2 jobs"),
        ([0, 2], "GPUs from 0 to the cap of each of 2 jobs"),
        ([0, 0], "no progress of 2 jobs after 0"),
    ],
)
def test_a_rule_that_gives_impossible_shares_is_named(shares, words):
    with pytest.raises(InputError, match="shares: ") as caught:
        run([0, 0], [1, 1], lambda _: shares, cap=[2, 1])
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"arrivals": [0, np.nan]}, "arrivals"),
        ({"work": [1]}, "work"),
        ({"work": [1, -1]}, "work"),
        ({"speed": [[0, 1, 2]]}, "speed"),
        ({"speed": [[1, 1, 2]] * 2}, "speed"),
        ({"cap": [1, 3]}, "cap"),
        ({"cap": [1]}, "cap"),
        ({"restart_seconds": -1}, "restart_seconds"),
        ({"wake": lambda now: now}, "wake"),
    ],
)
def test_bad_arguments_are_named(given, field):
    known = {"arrivals": [0, 0], "work": [1, 1], "speed": linear(2, 2), "cap": [2, 2], "rule": one_each, "gpus": 2}
    with pytest.raises(InputError) as caught:
        run_clock(**{**known, **given})
    assert caught.value.field == field
