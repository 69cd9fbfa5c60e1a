"""Full rounds of gangs are possible states, say all that a round can say, and shrink to little."""

from collections import Counter

import pytest
from hypothesis import Phase, find, given, settings

from muri_opt import Round, parse_round
from muri_opt.rounds import canonical_json
from muri_opt.testing import INVARIANTS, gang_rounds
from muri_opt.testing.drawing import rounds_of_family
from muri_opt.testing.gang_building import THEMES
from muri_opt.verify.amounts import empty_rooms, need_of


def assert_possible(round_: Round) -> None:
    """Running jobs have all their GPUs, and fit together and their quotas; a round reads back equal."""
    assert parse_round(canonical_json(round_)) == round_
    rooms = dict(zip(round_.cluster.node_index, empty_rooms(round_), strict=True))
    held = Counter()
    for job in round_.jobs:
        assert (job.state == "running") == (job.placement is not None)
        assert job.placement is None or sum(job.placement.values()) == job.gpus
        assert 1 <= job.gpus <= round_.cluster.total_gpus + 1
        for node, gpus in (job.placement or {}).items():
            rooms[node] = rooms[node].without(need_of(job), gpus)
            held[job.tenant] += gpus
    assert all(room.possible for room in rooms.values())
    assert all(one.quota_gpus is None or held[one.id] <= one.quota_gpus for one in round_.cluster.tenants)


@settings(max_examples=60, database=None)
@given(gang_rounds())
def test_a_drawn_round_is_a_possible_state(round_):
    assert_possible(round_)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_rounds_of_a_check_are_possible_differ_and_have_every_aspect_often(seed):
    rounds = rounds_of_family("gangs", 400, seed)
    for round_ in rounds:
        assert_possible(round_)
    assert len({round_.fingerprint for round_ in rounds}) >= 390
    aspects = {aspect.name: aspect for one in INVARIANTS.values() for aspect in one.aspects if not aspect.fields}
    counts = {name: sum(map(aspect.holds, rounds)) for name, aspect in aspects.items()}
    assert counts.pop("no job") >= 1
    assert min(counts.values()) >= 10, counts


@pytest.mark.parametrize("theme", THEMES)
def test_the_simplest_round_has_a_node_and_no_job(theme):
    first = settings(database=None, max_examples=1, phases=[Phase.generate])  # the simplest is drawn first
    least = find(gang_rounds(theme=theme), lambda _round: True, settings=first)
    assert (len(least.cluster.nodes), len(least.jobs), least.cluster.tenants) == (1, 0, ())


def test_rounds_shrink_to_few_jobs_that_say_little():
    binds = next(one for one in INVARIANTS["capacity"].aspects if one.name == "memory binds")
    least = find(
        gang_rounds(theme="memory"), binds.holds, settings=settings(database=None, max_examples=300, derandomize=True)
    )
    assert len(least.jobs) == 1
    assert least.jobs[0].cpus is None
    assert least.jobs[0].submitted == 0.0
    assert least.cluster.tenants == ()
