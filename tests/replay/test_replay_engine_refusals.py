"""What the engine does not let a scheduler do, and when schedulers want to be asked."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from replay_watch import cluster_of, job, work_of

from muri_opt.replay.engine.bad_decisions import BadDecisionError, ReplayError
from muri_opt.replay.engine.engine import Engine
from muri_opt.replay.engine.job_state import Accounts, Live, Placement
from muri_opt.replay.engine.list_scheduler import ListScheduler
from muri_opt.replay.engine.schedulers import Allocation
from muri_opt.replay.engine.thinned_timeline import ThinNotes
from muri_opt.rounds import Violation
from muri_opt.systems import JobHistory, policy_from

WORK = work_of(job("a", 0, 10), job("b", 5, 10))


class Says:
    """A scheduler that always says the same."""

    def __init__(self, allocation: Allocation, wakes: float = inf) -> None:
        self.allocation, self.woken = allocation, wakes

    def decide(self, live: Live) -> Allocation:
        return self.allocation

    def wakes(self, live: Live) -> float:
        return self.woken


def placement(*jobs: int, gpus: int = 1, rate: float = 1.0) -> Placement:
    return Placement(jobs=jobs, gpus={0: gpus}, rates=(rate,) * len(jobs))


@pytest.mark.parametrize(
    ("allocation", "told"),
    [
        (Allocation(stops=(0,)), "at 0 s: job 'a' is stopped, and does not run"),
        (Allocation(placements=(placement(1),)), "at 0 s: job 'b' is given GPUs, and is not there"),
        (Allocation(placements=(placement(7),)), "at 0 s: job at place 7 is given GPUs, and is not there"),
        (Allocation(placements=(placement(0), placement(0))), "two placements"),
        (Allocation(placements=(placement(0),), stops=(0,)), "two placements, or one and none"),
        (Allocation(placements=(placement(0, gpus=3),)), "node 'n0' has 2 GPUs, and 3 are given"),
        (Allocation(placements=(placement(0, gpus=-1),)), "node 'n0' has 2 GPUs"),
        (Allocation(placements=(placement(0, gpus=0),)), "job 'a' is to make progress without GPUs"),
        (Allocation(placements=(placement(0, rate=0.0),)), "job 'a' has a placement and a rate of 0.0"),
        (Allocation(placements=(placement(0, rate=inf),)), "job 'a' has a placement and a rate of inf"),
    ],
)
def test_allocations_that_cannot_be_are_refused(allocation, told):
    with pytest.raises(ReplayError, match=told):
        Engine(WORK, cluster_of(2), Says(allocation)).run()


def test_a_scheduler_is_not_woken_in_the_past():
    with pytest.raises(ReplayError, match="asks to be woken at 0 s, which is over"):
        Engine(WORK, cluster_of(2), Says(Allocation(placements=(placement(0),)), wakes=0.0)).run()


def test_a_job_is_not_given_a_placement_on_nodes_that_are_full():
    scheduler = ListScheduler(WORK, cluster_of(2), "fifo")
    live = Live(accounts=Accounts(WORK), free=np.array([0]), waiting={0}, queued=[0])
    with pytest.raises(ReplayError, match="0 GPUs are free on all nodes, and 1 were counted"):
        scheduler.decide(live)


def test_begun_iterations_count_whole_but_not_what_rounding_adds():
    accounts = Accounts(work_of(*(job(f"j{at}", 0, 10) for at in range(4))))
    accounts.remaining[:] = [7 + 1e-9, 7.5, 1e-9, 7 - 1e-9]
    live = Live(accounts=accounts, free=np.array([1]))
    assert live.whole_iterations(np.arange(4)).tolist() == [7, 8, 1, 7]


class Script:
    """A scheduler that says one thing after the other."""

    def __init__(self, *allocations: Allocation) -> None:
        self.allocations = iter(allocations)

    def decide(self, live: Live) -> Allocation:
        return next(self.allocations)

    def wakes(self, live: Live) -> float:
        return live.now + 10.0


def test_waiting_is_split_by_the_reasons_of_each_stretch():
    script = Script(
        Allocation(waiting={0: "fairness"}),
        Allocation(waiting={0: "fragmentation"}),
        Allocation(waiting={0: "fairness"}),
        Allocation(placements=(placement(0),)),
        Allocation(stops=(0,)),  # for capacity, as nothing is said
        Allocation(waiting={0: "fragmentation"}),
        Allocation(waiting={0: "capacity"}),
        Allocation(placements=(placement(0),)),
    )
    engine = Engine(work_of(job("a", 0, 12)), cluster_of(1), script)
    engine.run()
    jobs = engine.outcomes()
    assert (jobs.fairness[0], jobs.fragmentation[0], jobs.capacity[0]) == (20.0, 20.0, 20.0)
    assert (jobs.ended[0], jobs.held[0]) == (72.0, 12.0)


def had(*waited: float, executed: float = 0.0) -> JobHistory:
    count = len(waited)
    return JobHistory(
        gpus=np.ones(count, dtype=np.int64),
        attained=np.zeros(count),
        executed=np.full(count, executed),
        waited=np.array(waited, dtype=np.float64),
    )


@pytest.mark.parametrize(
    ("policy", "waited", "seconds"),
    [
        ("fifo", (1.0,), inf),
        ("rubick", (1.0,), inf),
        ("rubick:patience=60", (10.0, 20.0, 90.0), 40.000001),
        ("rubick:patience=60", (90.0,), inf),
        ("aiturbo:patience=60", (10.0,), 50.000001),
        ("philly", (0.0, 500.0, 700.0), 100.0),
        ("philly", (2000.0,), inf),
        ("philly:hold=100,backoff=20", (0.0, 90.0), 10.0),
        ("philly:hold=100,backoff=20", (115.0,), 5.0),
        ("tiresias", (5.0,), 3250.0),
        ("afs-p:quantum=30", (5.0,), 13.0),
    ],
)
def test_policies_are_asked_when_time_changes_their_mind(policy, waited, seconds):
    assert policy_from(policy).wakes(had(0.0, executed=17.0), had(*waited)) == seconds


def test_many_broken_rules_are_told_shortly():
    broken = [Violation(rule=f"r{at}", where="here", detail="no") for at in range(8)]
    text = str(BadDecisionError.of(broken))
    assert text.startswith("r0 (here): no; r1")
    assert text.endswith("r4 (here): no; and 3 more")


def test_notes_are_thinned_evenly_and_keep_the_longest_queue():
    notes = ThinNotes(resources=0, nodes=1, most=4)
    for at in range(20):
        notes.note(float(at), busy=1, queue=9 if at == 13 else 0, running=1, last=at == 19, full=lambda: ([], [1]))
    line = notes.timeline()
    assert line.seconds.tolist() == [0.0, 8.0, 13.0, 16.0, 19.0]
    assert line.queue.tolist() == [0, 0, 9, 0, 0]
