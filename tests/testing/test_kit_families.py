"""Rounds of every family are valid, have what its policies need, bind at times, and shrink to something readable."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings, strategies as st
from more_examples import more_examples

from muri_opt import Cluster, InputError, Job, Node, Round, parse_round, policy_from
from muri_opt.rounds import canonical_json
from muri_opt.testing import FAMILIES, decisions, family_clusters, family_of, family_rounds
from muri_opt.testing.rules_and_value import Judge

POLICY = {
    "gangs": "tiresias",
    "tenants": "philly",
    "stages": "muri-s",
    "scaling": "afs-l",
    "plans": "rubick",
    "configurations": "aiturbo",
    "deadlines": "deadline",
}
FEW = settings(more_examples(30), database=None)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tight", [False, True])
def test_a_drawn_round_is_valid_and_its_policy_takes_it(family, tight):
    @FEW
    @given(family_rounds(family, tight=tight))
    def drawn(round_):
        assert parse_round(canonical_json(round_)) == round_
        assert [job.id for job in round_.jobs] == [f"j{j}" for j in range(len(round_.jobs))]
        assert [node.id for node in round_.cluster.nodes] == [f"n{s}" for s in range(len(round_.cluster.nodes))]
        assert len(round_.jobs) <= 5
        policy_from(POLICY[family]).check(round_)
        used = Counter()
        for job in round_.jobs:
            assert (job.state == "running") == (job.placement is not None)
            used.update(job.placement or {})
        assert all(used[node.id] <= node.gpus for node in round_.cluster.nodes)

    drawn()


@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_those_of_their_policies(family):
    assert family_of(POLICY[family]) == family
    assert family_of(None) == "gangs"
    assert family_of("optimus-ps:switch=on") == family_of("aiturbo:objective=time") == "configurations"


def test_an_unknown_family_is_refused():
    with pytest.raises(InputError, match=r"family: found 'ganks' .did you mean 'gangs'"):
        find(family_clusters("ganks"), bool)


TRAITS = {
    "quotas bind": lambda round_: any(
        tenant.quota_gpus is not None
        and tenant.quota_gpus < sum(job.gpus for job in round_.jobs if job.tenant == tenant.id)
        for tenant in round_.cluster.tenants
    ),
    "GPUs are short": lambda round_: sum(job.gpus for job in round_.jobs) > round_.cluster.total_gpus,
    "some run": lambda round_: any(job.state == "running" for job in round_.jobs),
    "some are spread": lambda round_: any(len(job.placement or ()) > 1 for job in round_.jobs),
    "one cannot fit": lambda round_: any(job.gpus > round_.cluster.total_gpus for job in round_.jobs),
}


def test_what_makes_rounds_hard_is_drawn_often():
    seen = Counter()

    @seed(0)
    @settings(max_examples=200, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(family_rounds())
    def drawn(round_):
        seen.update(name for name, trait in TRAITS.items() if trait(round_))

    drawn()
    assert set(seen) == set(TRAITS)
    assert min(seen.values()) >= 10, seen


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gangs", "plans"])
def test_rounds_shrink_to_few_jobs_of_small_numbers(family):
    smallest = find(
        family_rounds(family),
        lambda round_: len(round_.jobs) > 1 and sum(job.gpus for job in round_.jobs) > round_.cluster.total_gpus,
        settings=settings(database=None, max_examples=100, derandomize=True),
    )
    assert [node.gpus for node in smallest.cluster.nodes] == [1]
    assert [job.gpus for job in smallest.jobs] == [1, 1]
    assert [job.submitted for job in smallest.jobs] == [0.0, 0.0]
    assert smallest.cluster.tenants == ()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_drawn_decision_breaks_no_rule(family):
    judge = Judge(policy=POLICY[family])

    @FEW
    @given(st.data(), family_rounds(family))
    def drawn(data, round_):
        decision = data.draw(decisions(round_, policy=POLICY[family]))
        assert judge.breaches(round_, decision) == []
        assert {*decision.running, *(wait.job for wait in decision.waiting)} == set(round_.job_index)

    drawn()


def staged(place):
    stages = (1.0, 2.0, 1.0, 3.0)
    return Job(
        id=f"j{place}", gpus=1, submitted=0.0, iteration_seconds=7.0, remaining_iterations=1, stage_seconds=stages
    )


def test_decisions_of_stages_have_jobs_that_interleave():
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=(staged(0), staged(1)))
    drawn = find(decisions(round_, policy="muri-s"), lambda decision: len(decision.running) == 2)
    assert [one.jobs for one in drawn.assignments] == [("j0", "j1")]
    assert not Judge(policy="muri-s").breaches(round_, drawn)


def test_decisions_of_plain_gangs_need_no_policy_and_may_be_empty():
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1), Node(id="n1", gpus=1))), jobs=(Job(id="j0", gpus=2),))
    spread = find(decisions(round_), lambda decision: decision.running == {"j0"})
    assert spread.assignments[0].gpus == {"n0": 1, "n1": 1}
    assert find(decisions(round_), lambda _decision: True).waiting[0].job == "j0"
