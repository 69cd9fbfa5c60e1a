"""Rounds leave out what an allocator knows nothing of, and nothing is asked of it then."""

import pytest

from muri_opt import InputError
from muri_opt.testing import RATIONALITY, SAFETY, check_allocator, find_breaches, published
from muri_opt.testing.drawing import rounds_of_family
from muri_opt.testing.left_out import LIMITS

ALL = frozenset(LIMITS)


@pytest.mark.parametrize("family", ["gangs", "scaling"])
def test_rounds_say_nothing_of_what_is_left_out(family):
    for round_ in rounds_of_family(family, 20, 1, frozenset(), ALL):
        assert round_.cluster.tenants == ()
        assert {(node.cpus, node.memory_gib) for node in round_.cluster.nodes} <= {(None, None)}
        assert {(job.cpus, job.memory_gib, job.tenant) for job in round_.jobs} <= {(None, None, None)}


def test_the_other_limits_are_as_they_were():
    rounds = rounds_of_family("gangs", 100, 1, frozenset(), frozenset({"cpus"}))
    assert any(job.memory_gib is not None for round_ in rounds for job in round_.jobs)
    assert any(tenant.quota_gpus == 0 for round_ in rounds for tenant in round_.cluster.tenants)


@pytest.mark.parametrize("left_out", [("cpus",), ("memory",), ("quotas",), LIMITS])
def test_what_is_left_is_all_put_to_the_test(left_out):
    report = check_allocator(published("fifo"), SAFETY, without=left_out, fields=())
    told = {aspect for aspects in report.exercised.values() for aspect in aspects}
    assert ("CPUs bind" in told) == ("cpus" not in left_out)
    assert ("memory binds" in told) == ("memory" not in left_out)
    assert ("quota" in report.kept) == ("quotas" not in left_out)


def test_what_is_left_out_stays_out_when_a_round_is_made_smaller():
    report = find_breaches(lambda _round: None, SAFETY, without=LIMITS)
    assert report.of("answers").round_.cluster.tenants == ()


def test_names_are_checked():
    with pytest.raises(InputError, match="did you mean 'quotas'"):
        find_breaches(published("fifo"), RATIONALITY, without=("quota",))
    with pytest.raises(InputError, match="the family tenants"):
        find_breaches(published("philly"), RATIONALITY, policy="philly", without=("quotas",))
