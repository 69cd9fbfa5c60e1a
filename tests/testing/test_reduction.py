"""A round is made small without losing what holds of it, and stays a state that can be."""

import pytest

from muri_opt.testing.aspects import forgetting
from muri_opt.testing.drawing import rounds_of_family
from muri_opt.testing.reduction import reduced
from muri_opt.verify.amounts import empty_rooms, need_of

ROUNDS = rounds_of_family("gangs", 300, 5)
MEMORY = forgetting("memory")


def spread(round_):
    return any(len(job.placement or ()) > 1 for job in round_.jobs)


@pytest.mark.parametrize(
    ("holds", "jobs", "nodes"),
    [(MEMORY, 2, 1), (spread, 1, 2), (lambda round_: len(round_.jobs) > 1, 2, 0), (lambda _round: True, 0, 0)],
)
def test_what_holds_is_kept_and_little_else(holds, jobs, nodes):
    for round_ in [one for one in ROUNDS if holds(one)][:20]:
        small = reduced(round_, holds, family="gangs")
        assert holds(small)
        assert len(small.jobs) <= jobs
        assert len(small.cluster.nodes) <= nodes
        assert [job.id for job in small.jobs] == [f"j{place}" for place in range(len(small.jobs))]


def test_every_round_that_is_tried_can_be():
    def asked(round_):
        rooms = dict(zip(round_.cluster.node_index, empty_rooms(round_), strict=True))
        for job in round_.jobs:
            for node, gpus in (job.placement or {}).items():
                rooms[node] = rooms[node].without(need_of(job), gpus)
        assert all(room.possible for room in rooms.values())
        return spread(round_)

    for round_ in [one for one in ROUNDS if spread(one)][:10]:
        small = reduced(round_, asked, family="gangs")
        assert sum(small.jobs[0].placement.values()) == small.jobs[0].gpus == 2


def test_the_question_is_asked_as_often_as_told_at_most():
    asked = []
    large = max(ROUNDS, key=lambda round_: len(round_.jobs))
    assert reduced(large, lambda one: asked.append(one) or False, family="gangs", most_tries=7) == large
    assert len(asked) == 7


@pytest.mark.parametrize("family", ["stages", "scaling", "plans", "configurations", "tenants"])
def test_fields_that_a_family_needs_are_kept(family):
    for round_ in [one for one in rounds_of_family(family, 40, 0) if one.jobs][:5]:
        small = reduced(round_, lambda one: bool(one.jobs), family=family)
        said = round_.jobs[0]
        for field in ("stage_seconds", "scaling", "plans", "waiting_seconds", "submitted", "remaining_iterations"):
            assert (getattr(small.jobs[0], field) is None) == (getattr(said, field) is None)
