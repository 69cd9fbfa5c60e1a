"""The baselines of plans on rounds worked out by hand."""

from __future__ import annotations

from plan_rounds_for_policies import gpus, plan_round, planned, promise, running, shares

from muri_opt import Node, Plan, Round, Tenant
from muri_opt.systems import policy_from
from muri_opt.systems.plans.options import PlanOptions


def cpus(round_: Round, policy: str) -> dict[str, float]:
    return {one.jobs[0]: sum(one.cpus.values()) for one in policy_from(policy).decide(round_, 0).assignments}


TUNED = {(1, 1, 1): 1.0, (1, 1, 2): 2.0, (1, 1, 6): 3.0}


class TestSynergy:
    def test_the_fastest_cpus_come_first_then_what_fits(self) -> None:
        node = Node(id="n0", gpus=4, cpus=8.0)
        jobs = [planned(j, TUNED) for j in range(3)]
        # A proportional share is 2 CPUs: who would get less waits, though a GPU is free.
        assert cpus(plan_round([node], jobs), "synergy") == {"j0": 6.0, "j1": 2.0}

    def test_jobs_that_do_not_fit_are_skipped(self) -> None:
        jobs = [planned(0, {3: 1.0}, gpus=3), planned(1, {4: 1.0}, gpus=4), planned(2, {1: 1.0})]
        assert gpus(plan_round([4], jobs), "synergy") == [3, 0, 1]

    def test_gpus_and_strategy_are_as_asked(self) -> None:
        job = planned(0, {1: 1.0, 2: 5.0})
        faster = Plan(name="q", gpus=1, throughput=9.0)
        assert gpus(plan_round([4], [job]), "synergy") == [1]
        both = planned(0, {}, plans=(*job.plans, faster))
        assert [one.plan for one in policy_from("synergy").decide(plan_round([4], [both]), 0).assignments] == ["p"]

    def test_a_single_part_goes_to_the_tightest_node_and_several_to_the_emptiest(self) -> None:
        job = planned(0, {2: 1.0}, gpus=2)
        assert shares(plan_round([4, 2, 3], [job]), "synergy") == {"j0": {"n1": 2}}
        wide = planned(0, {(2, 2): 1.0}, gpus=2)
        assert shares(plan_round([4, 2, 3], [wide]), "synergy") == {"j0": {"n0": 1, "n2": 1}}

    def test_running_jobs_keep_their_nodes_before_others_start(self) -> None:
        jobs = [planned(0, {4: 9.0}, gpus=4), running(1, {2: 1.0}, {"n0": 2}, gpus=2)]
        assert gpus(plan_round([4], jobs), "synergy") == [0, 2]


class TestAntMan:
    def test_guaranteed_jobs_get_what_they_ask_for_and_others_the_rest(self) -> None:
        late = planned(1, {1: 1.0, 2: 2.0, 4: 4.0}, gpus=2, guarantee=promise(1.0))
        assert gpus(plan_round([8], [planned(0, {1: 1.0, 4: 2.0, 8: 3.0}), late]), "antman") == [4, 2]

    def test_a_guaranteed_job_may_run_smaller_where_that_is_all_there_is(self) -> None:
        first = planned(0, {3: 1.0}, gpus=3, guarantee=promise(1.0))
        second = planned(1, {1: 1.0, 2: 2.0}, gpus=2, guarantee=promise(1.0))
        assert gpus(plan_round([4], [first, second]), "antman") == [3, 1]

    def test_the_latest_best_effort_jobs_are_evicted_where_room_is_needed(self) -> None:
        guests = [running(j, {1: 1.0}, {"n0": 1}) for j in range(3)]
        promised = planned(3, {2: 1.0}, gpus=2, guarantee=promise(1.0))
        assert gpus(plan_round([4], [*guests, promised]), "antman") == [1, 1, 0, 2]
        assert gpus(plan_round([4, 2], [*guests, promised]), "antman") == [1, 1, 1, 2]

    def test_nobody_is_evicted_in_vain(self) -> None:
        guests = [running(0, {2: 1.0}, {"n0": 2}), running(1, {2: 1.0}, {"n0": 2}, guarantee=promise(1.0))]
        promised = planned(2, {4: 1.0}, gpus=4, guarantee=promise(1.0))
        assert gpus(plan_round([4], [*guests, promised]), "antman") == [2, 2, 0]
        quota = (Tenant(id="t", quota_gpus=2),)
        both = [
            running(0, {2: 1.0}, {"n0": 2}, gpus=2, tenant="t", guarantee=promise(1.0)),
            running(1, {2: 1.0}, {"n0": 2}),
            planned(2, {2: 1.0}, gpus=2, tenant="t", guarantee=promise(1.0)),
        ]
        assert gpus(plan_round([4], both, quota), "antman") == [2, 2, 0]

    def test_running_best_effort_jobs_grow_where_it_pays(self) -> None:
        held = running(0, {1: 1.0, 4: 1.2}, {"n1": 1}, restart_seconds=60.0)
        assert shares(plan_round([4, 4], [held]), "antman") == {"j0": {"n1": 4}}
        assert shares(plan_round([4, 4], [held]), "antman:horizon=120") == {"j0": {"n1": 1}}

    def test_the_strategy_stays(self) -> None:
        other = Plan(name="q", gpus=4, throughput=9.0)
        job = planned(0, {}, plans=(*planned(0, {1: 1.0, 2: 1.5}).plans, other))
        assert gpus(plan_round([4], [job]), "antman") == [2]


class TestSia:
    def test_slow_jobs_count_more_than_the_sum_of_speeds(self) -> None:
        # 1.1 - 1/sqrt(1) each, or 1.1 - 1/sqrt(4) for one: 0.2 in all against 0.6.
        assert gpus(plan_round([4], [planned(j, {1: 1.0, 4: 4.0}) for j in range(2)]), "sia") == [4, 0]
        # 1.1 - 1/sqrt(2) twice is 0.786, and more than 0.6.
        assert gpus(plan_round([4], [planned(j, {1: 1.0, 2: 2.0, 4: 4.0}) for j in range(2)]), "sia") == [2, 2]

    def test_a_restart_counts(self) -> None:
        held = running(0, {1: 1.0, 2: 1.1}, {"n0": 1}, submitted=0.0, restart_seconds=500.0)
        assert gpus(plan_round([4], [held]), "sia") == [1]
        cheap = running(0, {1: 1.0, 2: 1.1}, {"n0": 1}, submitted=0.0, restart_seconds=1.0)
        assert gpus(plan_round([4], [cheap]), "sia") == [2]

    def test_a_configuration_without_nodes_falls_back(self) -> None:
        # The program sees 6 GPUs; two nodes of 3 hold one part of 2 each and one GPU more.
        jobs = [planned(j, {1: 1.0, 2: 4.0}) for j in range(3)]
        assert gpus(plan_round([3, 3], jobs), "sia") == [2, 2, 1]

    def test_who_waits_takes_what_is_left(self) -> None:
        # The program chooses two parts of 3 GPUs, of which the nodes hold one.
        first = [planned(j, {(3, 1, 0): 1.0, (3, 1, 1): 4.0}) for j in range(2)]
        assert gpus(plan_round([4, 2], [*first, planned(2, {2: 1.0})]), "sia") == [3, 0, 2]

    def test_a_job_that_can_stay_stays(self) -> None:
        held = running(1, {2: 2.0}, {"n1": 2})
        assert shares(plan_round([2, 2], [planned(0, {2: 2.0}), held]), "sia") == {"j0": {"n0": 2}, "j1": {"n1": 2}}

    def test_guaranteed_jobs_come_first_within_the_quota(self) -> None:
        promised = [planned(j, {2: 1.0}, gpus=2, tenant="t", guarantee=promise(1.0)) for j in range(2)]
        rest = planned(2, {1: 1.0, 2: 9.0, 4: 99.0})
        assert gpus(plan_round([4], [*promised, rest], (Tenant(id="t"),)), "sia") == [2, 2, 0]
        assert gpus(plan_round([4], [*promised, rest], (Tenant(id="t", quota_gpus=3),)), "sia") == [2, 0, 2]

    def test_types_of_gpus_are_limits_of_their_own(self) -> None:
        typed = tuple(Plan(name="p", gpus=2, gpu_type=kind, throughput=rate) for kind, rate in (("a", 2.0), ("b", 1.0)))
        nodes = [Node(id="n0", gpus=2, gpu_type="a"), Node(id="n1", gpus=2, gpu_type="b")]
        found = shares(plan_round(nodes, [planned(j, {}, plans=typed) for j in range(2)]), "sia")
        assert sorted(map(tuple, found.values())) == [("n0",), ("n1",)]

    def test_levels_of_priority_that_are_not_looked_at_in_time_are_placed_one_after_another(self) -> None:
        jobs = [planned(j, {2: 2.0, 4: 2.1}, gpus=2, priority=9 - j // 2) for j in range(4)]
        round_, policy = plan_round([4], jobs), policy_from("sia")
        options = PlanOptions.of(round_, policy.plan_rules)
        in_time, too_late = policy.choose(round_, options, 0), policy.choose(round_, options, 0, until=0.0)
        assert [int(options.g[option]) for option in sorted(in_time)] == [2, 2]
        assert [int(options.g[option]) for option in sorted(too_late)] == [4]


class TestEqualShare:
    def test_what_does_not_divide_goes_to_the_last(self) -> None:
        jobs = [planned(j, {1: 1.0, 2: 2.0, 3: 3.0}) for j in range(3)]
        assert gpus(plan_round([8], jobs), "equal-share") == [2, 2, 3]

    def test_what_a_plan_leaves_of_a_share_stays_free(self) -> None:
        jobs = [planned(j, {1: 1.0, 4: 4.0}) for j in range(2)]
        assert gpus(plan_round([6], jobs), "equal-share") == [1, 1]

    def test_the_fastest_plan_within_the_share_that_finds_its_nodes(self) -> None:
        jobs = [planned(0, {2: 2.0, 3: 3.0}), planned(1, {1: 1.0, 3: 3.0, (2, 2): 2.0})]
        assert gpus(plan_round([4, 2], jobs), "equal-share") == [3, 2]

    def test_the_first_jobs_get_a_gpu_where_jobs_outnumber_gpus(self) -> None:
        jobs = [planned(j, {1: 1.0, 2: 2.0}, submitted=float(-j % 3)) for j in range(3)]
        assert gpus(plan_round([2], jobs), "equal-share") == [1, 0, 1]

    def test_jobs_that_cannot_run_have_no_share(self) -> None:
        assert gpus(plan_round([4], [planned(0, {8: 1.0}), planned(1, {4: 1.0})]), "equal-share") == [0, 4]
