"""Schedules of ``philly`` that were worked out by hand."""

import pytest
from handmade import round_of

from muri_opt import InputError, Job, Limits, Node, Round, Tenant, policy_from, solve_round
from muri_opt.rounds import WaitingReason
from muri_opt.systems.philly import TenantRules


def running(name, gpus, **fields):
    given = {"id": name, "gpus": sum(gpus.values()), "state": "running", "placement": gpus, "restart_seconds": 30.0}
    return Job(**given | fields)


def waiting(name, gpus, waited=0.0, **fields):
    return Job(**{"id": name, "gpus": gpus, "waiting_seconds": waited, "submitted": 0.0} | fields)


def decided(nodes, jobs, text="philly", **quotas):
    """Return where the jobs are that started or moved, and the reasons of those that wait."""
    tenants = [Tenant(id=name, quota_gpus=quota) for name, quota in quotas.items()]
    round_ = round_of(nodes, jobs, tenants)
    decision = policy_from(text).decide(round_, 0)
    places = {one.jobs[0]: dict(one.gpus) for one in decision.assignments}
    before = {job.id: job.placement for job in round_.jobs}
    new = {name: held for name, held in places.items() if held != before[name]}
    return new, {one.job: one.reason for one in decision.waiting}


def test_a_small_job_goes_to_the_tightest_node():
    jobs = [running("a", {"n0": 4}), running("b", {"n1": 6}), waiting("new", 2)]
    assert decided([8, 8], jobs) == ({"new": {"n1": 2}}, {})


LOADS = (("n0", (4, 2, 1)), ("n1", (4, 2)), ("n2", (4, 2, 1)))


def test_three_fragmented_servers():
    jobs = [running(f"{node}-{gpus}", {node: gpus}) for node, sizes in LOADS for gpus in sizes]
    jobs.append(waiting("new", 4, restart_seconds=30.0))
    for text in ("philly", "philly:migrate=2"):
        assert decided([8, 8, 8], jobs, text) == ({}, {"new": WaitingReason.FRAGMENTATION})
    for text in ("philly:migrate=inf", "philly:migrate=3", "philly:migrate=3,objective=weighted"):
        moved, late = decided([8, 8, 8], jobs, text)
        assert late == {}
        assert moved == {"new": {"n0": 4}, "n0-2": {"n1": 2}, "n0-1": {"n2": 1}}


@pytest.mark.parametrize("also", [False, True])
def test_nobody_is_evicted_for_a_job_that_cannot_start(also):
    pinned = [
        running(f"h{s}{j}", {f"n{s}": 1}, tenant="high", restart_seconds=None) for s in range(4) for j in range(6)
    ]
    low = [running(f"l{s}{j}", {f"n{s}": 1}, tenant="low") for s in range(4) for j in range(2)]
    new = [waiting("new", 8, tenant="high"), waiting("one", 1, tenant="high", submitted=1.0)]
    moved, late = decided([8] * 4, [*pinned, *low, *new[: 1 + also]], high=32, low=0)
    if not also:
        assert (moved, late) == ({}, {"new": WaitingReason.CAPACITY})
    else:
        (victim,) = set(late) - {"new"}
        assert moved == {"one": {f"n{victim[1]}": 1}}
        assert late[victim] is WaitingReason.STOPPED


def test_idle_quota_is_lent_after_all_who_are_within_theirs():
    jobs = [
        waiting("greedy", 2, tenant="a"),
        waiting("late", 3, tenant="b", submitted=9.0),
        waiting("more", 1, tenant="a"),
    ]
    assert decided([4], jobs, a=1, b=3) == ({"late": {"n0": 3}, "more": {"n0": 1}}, {"greedy": WaitingReason.QUOTA})
    assert decided([6], jobs, a=1, b=3)[1] == {}


def test_the_least_served_tenant_is_first():
    jobs = [
        running("old", {"n0": 2}, tenant="a"),
        *(waiting(f"a{j}", 1, tenant="a", submitted=float(j)) for j in range(3)),
        *(waiting(f"b{j}", 1, tenant="b", submitted=10.0 + j) for j in range(3)),
    ]
    # Of 8 and 4 GPUs a has a quarter and b nothing: b, then a (both a quarter), then b again while a has 3 of 8.
    started, _ = decided([5], jobs, a=8 - 3, b=2)
    assert set(started) == {"b0", "a0", "b1"}
    # A tenant without a quota counts the cluster as its own; one of no quota comes last; a job of nobody first.
    jobs = [running("old", {"n0": 1}, tenant="free"), waiting("f", 1, tenant="free"), waiting("b", 1, tenant="b")]
    assert set(decided([2], jobs, free=None, b=1)[0]) == {"b"}
    assert set(decided([2], [*jobs, waiting("nobody", 1)], free=None, b=1)[0]) == {"nobody"}
    assert set(decided([2], jobs, free=None, b=0)[0]) == {"f"}


def test_a_queue_is_first_in_first_out_but_smaller_jobs_overtake():
    jobs = [waiting("big", 4, submitted=1.0), waiting("c", 1, submitted=3.0), waiting("b", 2, submitted=2.0)]
    assert decided([3], jobs) == ({"b": {"n0": 2}, "c": {"n0": 1}}, {"big": WaitingReason.CAPACITY})
    assert set(decided([2], jobs)[0]) == {"b"}


def test_a_job_without_a_submission_time_is_as_old_as_its_wait():
    jobs = [Job(id="new", gpus=1, waiting_seconds=1.0), Job(id="old", gpus=1, waiting_seconds=50.0)]
    round_ = round_of([1], jobs)
    decision = policy_from("philly").decide(Round(cluster=round_.cluster, jobs=round_.jobs, now=100.0), 0)
    assert [one.jobs for one in decision.assignments] == [("old",)]


RACKS = [Node(id=f"n{s}", gpus=4, rack=f"r{s // 2}") for s in range(4)]
THREE_EACH = [running(f"j{s}", {f"n{s}": 3}) for s in range(4)]


@pytest.mark.parametrize(
    ("gpus", "waited", "held"),
    [
        (2, 599.0, None),
        (2, 600.0, {"n0": 1, "n1": 1}),
        (3, 1799.0, None),
        (3, 1800.0, {"n0": 1, "n1": 1, "n3": 1}),
        (1, 0.0, {"n0": 1}),
    ],
)
def test_locality_is_relaxed_with_waiting(gpus, waited, held):
    started, late = decided(RACKS, [*THREE_EACH, waiting("new", gpus, waited)])
    assert started == ({} if held is None else {"new": held})
    assert late == ({"new": WaitingReason.FRAGMENTATION} if held is None else {})


def test_racks_are_chosen_by_what_is_in_use_there():
    busy = [running("a", {"n0": 1}), running("b", {"n1": 1})]
    assert decided(RACKS, [*busy, waiting("new", 8)])[0] == {"new": {"n2": 4, "n3": 4}}
    assert decided(RACKS, [*busy, running("c", {"n2": 1}), waiting("new", 4)])[0] == {"new": {"n3": 4}}
    # As tight as each other: the rack with less in use.
    even = [running("a", {"n0": 2}), running("b", {"n2": 2}), running("c", {"n1": 1})]
    assert decided(RACKS, [*even, waiting("new", 2)])[0] == {"new": {"n2": 2}}


@pytest.mark.parametrize(
    ("waited", "starts"), [(0.0, True), (149.0, True), (150.0, False), (209.0, False), (210.0, True)]
)
def test_a_gang_is_left_alone_between_tries(waited, starts):
    started, late = decided([4], [waiting("new", 2, waited)], "philly:backoff=60")
    assert (set(started), late) == (({"new"}, {}) if starts else (set(), {"new": WaitingReason.BACKOFF}))


def test_dedicated_servers_are_shared_with_nobody():
    jobs = [running("a", {"n0": 1}), waiting("new", 4), waiting("small", 1, submitted=1.0)]
    assert decided([8, 8], jobs, "philly:dedicated=4")[0] == {"new": {"n1": 4}, "small": {"n0": 1}}
    late = decided([8], jobs, "philly:dedicated=4")
    assert late == ({"small": {"n0": 1}}, {"new": WaitingReason.FRAGMENTATION})
    # Who shares a server already stays.
    jobs = [running("a", {"n0": 1}), running("b", {"n0": 4}), waiting("small", 1)]
    assert decided([8], jobs, "philly:dedicated=4") == ({}, {"small": WaitingReason.FRAGMENTATION})


@pytest.mark.parametrize(("preempt_at", "evicted"), [("0.8", True), ("0.801", False), ("1", False), ("never", False)])
def test_nobody_is_preempted_below_the_load(preempt_at, evicted):
    # 16 of 20 GPUs are in use.
    jobs = [running("low", {"n0": 8}, tenant="low"), running("high", {"n1": 8}, tenant="high")]
    jobs.append(waiting("new", 2, tenant="high"))
    nodes = [8, 8, 1, 1, 1, 1]
    started, late = decided(nodes, jobs, f"philly:preempt_at={preempt_at}", high=10, low=0)
    assert started == ({"new": {"n0": 2}} if evicted else {})
    assert late == ({"low": WaitingReason.STOPPED} if evicted else {"new": WaitingReason.FRAGMENTATION})


def test_what_a_victim_leaves_over_is_lent_again():
    jobs = [
        running("low", {"n0": 4}, tenant="low"),
        waiting("new", 3, tenant="high"),
        waiting("tiny", 1, tenant="low", submitted=5.0),
    ]
    started, late = decided([4], jobs, high=4, low=0)
    assert started == {"new": {"n0": 3}, "tiny": {"n0": 1}}
    assert late == {"low": WaitingReason.STOPPED}


def test_a_borrower_that_has_just_started_goes_back_to_the_queue():
    jobs = [
        running("old", {"n0": 2}, tenant="low"),
        waiting("borrower", 2, tenant="low"),
        waiting("new", 4, tenant="high", submitted=5.0),
    ]
    started, late = decided([4], jobs, high=4, low=0)
    assert started == {"new": {"n0": 4}}
    assert set(late) == {"old", "borrower"}


def test_a_borrower_keeps_its_place_if_the_load_is_not_reached_without_it():
    # All 24 GPUs count as in use with the borrower, 21 with the new job in its place and that of the old one.
    jobs = [
        running("old", {"n0": 1}, tenant="low"),
        running("fixed", {"n0": 5, "n1": 6, "n2": 6}, tenant="high", restart_seconds=None),
        waiting("borrower", 6, 600.0, tenant="low"),
        waiting("new", 3, tenant="high", submitted=5.0),
    ]
    lent = {"borrower": {"n0": 2, "n1": 2, "n2": 2}}
    assert decided([8, 8, 8], jobs, high=20, low=0)[0] == lent
    again = {"new": {"n0": 3}, "old": {"n1": 1}}
    assert decided([8, 8, 8], jobs, "philly:preempt_at=0.8", high=20, low=0)[0] == again
    # Nor does the next round take the place of a borrower that started in this one.
    lending = [running("borrower", lent["borrower"], waiting_seconds=600.0, tenant="low"), *jobs[:2], jobs[3]]
    assert decided([8, 8, 8], lending, high=20, low=0)[0] == {}


def test_a_preemption_that_a_borrower_made_possible_is_no_longer_one_in_the_next_round():
    # All 56 GPUs count as in use with the borrower, so that the first job takes the place of the old one. With the
    # second in the place of the borrower it would be 54: too few. In the next round 55 are in use before anybody goes.
    jobs = [
        running("old", {"n0": 4}, tenant="low"),
        *(running(f"fixed{s}", {f"n{s}": 7 if s else 2}, restart_seconds=None) for s in range(7)),
        waiting("borrower", 8, 600.0, tenant="low", restart_seconds=30.0),
        waiting("first", 3, tenant="high"),
        waiting("second", 3, tenant="high", submitted=5.0),
    ]
    lent = {"n0": 2, **{f"n{s}": 1 for s in range(1, 7)}}
    started, late = decided([8] * 7, jobs, "philly:preempt_at=0.98", high=8, low=0)
    assert (started, set(late)) == ({"borrower": lent, "first": {"n0": 3}}, {"old", "second"})
    jobs[-3:-1] = [running("borrower", lent, tenant="low"), running("first", {"n0": 3}, tenant="high")]
    started, late = decided([8] * 7, jobs[1:], "philly:preempt_at=0.98", high=8, low=0)
    assert (started, set(late)) == ({"second": {"n0": 3}}, {"borrower"})


@pytest.mark.parametrize(("waited", "again"), [(599.0, {}), (600.0, {"low": {"n1": 2, "n2": 2}})])
def test_a_preempted_job_starts_again_as_far_apart_as_it_could_start(waited, again):
    jobs = [
        running("low", {"n0": 4}, tenant="low", waiting_seconds=waited),
        running("pinned", {"n1": 2, "n2": 2}, restart_seconds=None),
        waiting("new", 4, tenant="high"),
    ]
    late = {} if again else {"low": WaitingReason.STOPPED}
    assert decided([4, 4, 4], jobs, "philly:preempt_at=0.5", high=4, low=0) == ({"new": {"n0": 4}, **again}, late)


@pytest.mark.parametrize("older", ["a", "b"])
def test_of_preempted_jobs_the_older_starts_again_first(older):
    jobs = [running(name, {"n0": 2}, tenant="low", submitted=float(name != older)) for name in "ab"]
    jobs += [running("pinned", {"n1": 2}, restart_seconds=None), waiting("new", 4, tenant="high")]
    started, late = decided([4, 4], jobs, "philly:preempt_at=0.5", high=4, low=0)
    assert started == {"new": {"n0": 4}, older: {"n1": 2}}
    assert set(late) == {"a", "b"} - {older}


def test_a_gang_is_moved_closer_together_when_room_appears():
    jobs = [running("far", {"n0": 1, "n2": 1}), running("pinned", {"n1": 1, "n3": 1}, restart_seconds=None)]
    assert decided(RACKS, jobs) == ({}, {})
    assert decided(RACKS, jobs, "philly:migrate=1") == ({}, {})
    assert decided(RACKS, jobs, "philly:migrate=2") == ({"far": {"n1": 2}}, {})
    # A restart that loses more work than closeness gains is not worth it.
    slow = [running("far", {"n0": 1, "n2": 1}, restart_seconds=600.0)]
    assert decided(RACKS, slow, "philly:migrate=2") == ({}, {})
    assert decided(RACKS, slow, "philly:migrate=2,horizon=6000")[0] != {}


def test_a_victim_is_moved_if_that_is_allowed_and_else_starts_again():
    jobs = [running("low", {"n0": 2}, tenant="low"), running("pinned", {"n1": 2}, restart_seconds=None)]
    jobs.append(waiting("new", 4, tenant="high"))
    moved = {"new": {"n0": 4}, "low": {"n1": 2}}
    assert decided([4, 4], jobs, "philly:preempt_at=0.5", high=4, low=0) == (moved, {})
    assert decided([4, 4], jobs, "philly:preempt_at=0.5,migrate=2", high=4, low=0) == (moved, {})
    assert decided([4, 4], jobs, "philly:preempt_at=never,migrate=2", high=4, low=0) == (moved, {})


def test_moving_for_a_borrower_must_be_worth_it():
    jobs = [running(f"j{s}", {f"n{s}": 1}, restart_seconds=600.0) for s in range(2)]
    jobs.append(waiting("new", 2, tenant="low"))
    assert decided([2, 2], jobs, "philly:migrate=inf,horizon=6000", low=0)[0]["new"] == {"n0": 2}
    assert decided([2, 2], jobs, "philly:migrate=inf,horizon=60", low=0) == ({}, {"new": WaitingReason.QUOTA})
    assert decided([2, 2], jobs, "philly:migrate=inf,horizon=60", low=2)[0]["new"] == {"n0": 2}


def test_the_text_of_the_policy():
    assert policy_from("philly").tenant_rules == TenantRules(
        rack_after=600_000_000,
        any_after=1_800_000_000,
        hold=150_000_000,
        backoff=0,
        preempt_at=900,
        migrate=0,
        dedicated=None,
        speed=(1000, 854, 729),
        aging=86_400_000_000,
        horizon=600_000_000,
        objective="lexicographic",
    )
    text = (
        "philly:rack_after=0,any_after=1.5,hold=0.5,backoff=2,preempt_at=0.9001,migrate=inf,dedicated=8,rack_speed=1,"
        "any_speed=0.5007,aging=1,horizon=2,objective=weighted"
    )
    policy = policy_from(text)
    assert policy.spec == text
    assert policy.tenant_rules == TenantRules(
        rack_after=0,
        any_after=1_500_000,
        hold=500_000,
        backoff=2_000_000,
        preempt_at=901,
        migrate=None,
        dedicated=8,
        speed=(1000, 1000, 500),
        aging=1_000_000,
        horizon=2_000_000,
        objective="weighted",
    )
    assert policy_from("philly:rack_after=600,migrate=0,dedicated=never").spec == "philly"
    assert policy_from("philly:preempt_at=never").tenant_rules.preempt_at is None
    assert policy_from("philly:any_speed=0.001").tenant_rules.speed == (1000, 854, 1)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("any_speed=0.9", "any_speed"),
        ("rack_speed=0.5", "any_speed"),
        ("rack_speed=1.5", "rack_speed"),
        ("any_speed=0", "any_speed"),
        ("preempt_at=1.1", "preempt_at"),
        ("preempt_at=inf", "preempt_at"),
        ("migrate=1.5", "migrate"),
        ("migrate=never", "migrate"),
        ("dedicated=0", "dedicated"),
        ("hold=0", "hold"),
        ("aging=0", "aging"),
        ("horizon=0", "horizon"),
        ("rack_after=-1", "rack_after"),
        ("objective=any", "objective"),
    ],
)
def test_settings_that_make_no_sense_are_refused(text, field):
    with pytest.raises(InputError) as refused:
        policy_from(f"philly:{text}")
    assert refused.value.field == f"policy 'philly'.{field}"


def test_rounds_that_cannot_be_are_refused():
    policy = policy_from("philly")
    good = round_of([4], [waiting("new", 1)])
    assert policy.check(good) is None
    for call in (policy.check, lambda round_: policy.decide(round_, 0)):
        with pytest.raises(InputError, match="places gangs"):
            call(round_of([4], [Job(id="none", gpus=0)]))
        with pytest.raises(InputError, match="the job is running"):
            call(
                round_of([4], [Job(id="wider", gpus=1, scaling={1: 1.0, 2: 2.0}, state="running", placement={"n0": 2})])
            )
        with pytest.raises(InputError, match="at most the 4 GPUs of the node"):
            call(round_of([4], [_in_a_group("a"), _in_a_group("b")]))
    with pytest.raises(InputError, match="philly"):
        type(policy)(name="filly")


def _in_a_group(name):
    """Return a job that shares its GPUs: a state that can be, but not under gangs."""
    return Job(id=name, gpus=3, stage_seconds=(1.0, 1.0, 1.0, 1.0), state="running", placement={"n0": 3})


def test_a_quota_above_the_cluster_is_what_a_lost_node_leaves():
    """As with a quota of all GPUs: nobody is over it, and the other tenant takes what is free."""
    jobs = [waiting("a0", 2, tenant="a"), waiting("b0", 2, tenant="b")]
    for quota in (4, 5, 1000):
        assert decided([4], jobs, a=quota, b=0) == ({"a0": {"n0": 2}, "b0": {"n0": 2}}, {})
        tenants = [Tenant(id="a", quota_gpus=quota), Tenant(id="b", quota_gpus=0)]
        for method in ("heuristic", "exact", "auto"):
            result = solve_round(round_of([4], jobs, tenants), "philly", method, Limits(seconds=600.0))
            assert result.certificate.feasible
            assert result.decision.running == {"a0", "b0"}


def test_an_empty_round():
    assert decided([], []) == ({}, {})
    assert decided([], [waiting("new", 1)]) == ({}, {"new": WaitingReason.CAPACITY})
