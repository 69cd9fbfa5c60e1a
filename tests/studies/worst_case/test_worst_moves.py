"""Every neighbour is a valid round of readable numbers, within the room of the search."""

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from muri_opt.rounds import canonical_json, parse_round
from muri_opt.rounds.configurations import configurations_of
from muri_opt.rounds.generate.families import FAMILIES
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.studies.worst_case.neighbours import Room, neighbour
from muri_opt.studies.worst_case.rounds import calm, drawn_round, is_sensible
from muri_opt.studies.worst_case.short_numbers import rank, rounded, rounded_down, simpler
from muri_opt.systems import policy_from

SEEDS = st.integers(0, 2**32)


def digits(value):
    return len(Decimal(repr(float(value))).normalize().as_tuple().digits)


def numbers(job):
    yield from job.stage_seconds or ()
    yield from (job.scaling or {}).values()
    yield from (plan.throughput for plan in job.plans or ())
    yield from (value for value in (job.remaining_iterations, job.iteration_seconds, job.waiting_seconds) if value)


def walk(room, seed, steps=12):
    draws = Draws(seed)
    round_ = drawn_round(room.family, room.jobs, room.nodes, seed, room.gpus or 4)
    for _ in range(steps):
        round_ = neighbour(room, round_, draws)
        yield round_


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=20)
@given(seed=SEEDS, fixed=st.booleans())
def test_neighbours_are_valid_readable_and_within_the_room(family, seed, fixed):
    room = Room(family=family, jobs=4, nodes=2, gpus=3 if fixed else None)
    for made in walk(room, seed):
        assert parse_round(canonical_json(made)) == made
        assert 1 <= len(made.jobs) <= 4
        assert is_sensible(made)
        assert [node.gpus for node in made.cluster.nodes] == [3, 3] or not fixed
        assert 1 <= len(made.cluster.nodes) <= 2
        assert max(digits(number) for job in made.jobs for number in numbers(job)) <= 2


@pytest.mark.parametrize("family", FAMILIES)
def test_every_kind_of_thing_changes_and_the_same_seed_changes_the_same(family):
    room = Room(family=family, jobs=4, nodes=3)
    made = list(walk(room, 5, 150))
    assert made == list(walk(room, 5, 150))
    assert len({canonical_json(one) for one in made}) > 100
    assert {len(one.jobs) for one in made} >= {2, 3, 4}
    assert len({len(one.cluster.nodes) for one in made}) > 1
    assert len({job.gpus for one in made for job in one.jobs}) > 3


def test_a_job_that_no_longer_fits_where_it_runs_waits():
    room = Room(family="philly", jobs=4, nodes=2)
    seen = set()
    for seed in range(20):
        for made in walk(room, seed):
            held = {node.id: 0 for node in made.cluster.nodes}
            for job in made.jobs:
                for node, gpus in (job.placement or {}).items():
                    held[node] += gpus
                seen.add(job.state)
                assert job.state == "waiting" or sum(job.placement.values()) == job.gpus
            assert all(held[node.id] <= node.gpus for node in made.cluster.nodes)
    assert seen == {"running", "waiting"}


def test_jobs_of_servers_and_workers_always_name_a_configuration_and_have_its_gpus():
    room, states, asked = Room(family="configurations", jobs=4, nodes=2), set(), set()
    for made in walk(room, 3, 120):
        for policy in ("aiturbo", "optimus-ps"):
            policy_from(policy).check(made)
        for job in made.jobs:
            assert configurations_of(job)[job.plan].gpus == job.gpus
            states.add(job.state)
            asked.add(job.plan)
    assert states == {"running", "waiting"}
    assert len(asked) > 5


RATES = st.floats(0.01, 1e6).map(rounded)


@given(st.dictionaries(st.integers(2, 16), RATES, max_size=4), RATES)
def test_a_calm_curve_never_falls_and_no_gpu_gets_faster(others, alone):
    found = calm({1: alone, **others})
    assert calm(found) == found
    assert list(found) == list(range(1, min(8, max([1, *others])) + 1))
    assert found[1] == alone
    for slow, fast in pairwise(found.items()):
        assert slow[1] <= fast[1]
        assert fast[1] == slow[1] or fast[1] * slow[0] <= slow[1] * fast[0] * (1 + 1e-12)


@given(st.floats(1e-3, 1e7))
def test_rounding_keeps_few_digits_and_rounding_down_never_adds(value):
    assert digits(rounded(value)) <= 2
    assert abs(rounded(value) - value) <= 0.051 * value
    down = rounded_down(value)
    assert digits(down) <= 2
    assert 0.9 * value <= down <= value * (1 + 1e-12)


def test_numbers_are_ranked_by_how_easy_they_are_to_read():
    assert [rank(x) for x in (0, 1, 7, 0.3, 400, 12, 0.55, 123)] == [0, 1, 2, 2, 2, 3, 3, 4]
    assert simpler(0.55) == [0.0, 1.0, 0.6]
    assert simpler(0.55, least=0.001) == [1.0, 0.6]
    assert simpler(0.0) == []
    assert simpler(7.0, least=1) == [1.0]
    assert rank(1 / 3) == 17
