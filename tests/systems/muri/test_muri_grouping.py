"""Rounds of matching and merging: cases to follow by hand, published profiles, and properties of any grouping."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import InputError, Job
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri import AUTHORS, PAPER, Grouping, GroupingOptions, group_jobs, grouping
from muri_opt.systems.muri.interleaving import best_period, slot_count
from muri_opt.systems.muri.periods import stage_times

# Milliseconds of data, GPU and network of one iteration on 1 GPU (github.com/Rivendile/Muri, Apache-2.0).
PROFILE = {
    "vgg16": (117, 68, 0),
    "resnet18": (711, 110, 0),
    "bert": (0.5, 160, 0),
    "gpt2": (0.6, 410, 0),
    "a2c": (514, 14, 0),
    "dqn": (446, 8, 0),
}
SLOWDOWN = {"none": (1, 1, 1, 1), "muri": (1, Fraction(1330, 1015), Fraction(1500, 1015), Fraction(1370, 1015))}


def job(position: int, stages: tuple[float, ...], gpus: int = 1) -> Job:
    return Job(id=f"j{position}", gpus=gpus, stage_seconds=stages)


def busy(*resources: int, seconds: tuple[float, ...] = (), gpus: tuple[int, ...] = ()) -> list[Job]:
    """Return jobs that each use one of four resources: two pair with efficiency 1/2 if it is not the same, else 1/4."""
    return [
        job(
            j,
            tuple((seconds[j] if seconds else 1.0) * (r == resource) for r in range(4)),
            gpus[j] if gpus else 1,
        )
        for j, resource in enumerate(resources)
    ]


def models(*names: str) -> list[Job]:
    return [job(j, tuple(ms / 1000 for ms in PROFILE[name])) for j, name in enumerate(names)]


def weights(grouping: Grouping) -> list[list[float]]:
    return [[bucket.weight for bucket in round_] for round_ in grouping.rounds]


def sizes(grouping: Grouping) -> list[int]:
    return sorted(map(len, grouping))


def test_buckets_are_in_the_order_of_the_queue() -> None:
    found = group_jobs(busy(0, 0, 1, 1, gpus=(2, 1, 2, 1)), 6)
    assert found.groups == ((0,), (2,), (1,), (3,))
    ((two, one),) = found.rounds  # the demand fits, and one round is matched all the same
    assert (two.gpus, two.nodes, two.pairs, two.weight) == (2, 2, 1, 0.5)
    assert (one.gpus, one.nodes, one.pairs, one.weight) == (1, 2, 1, 0.5)


def test_jobs_of_other_gpu_counts_never_share() -> None:
    assert group_jobs(busy(0, 1, gpus=(2, 1)), 1).groups == ((0,), (1,))


def test_no_jobs_are_no_groups() -> None:
    assert group_jobs([], 4) == Grouping(groups=(), rounds=())


@pytest.mark.parametrize("largest", [1, 2, 3, 4])
def test_there_are_at_most_as_many_rounds_as_jobs_in_a_group(largest: int) -> None:
    found = group_jobs(busy(*range(4), *range(4)), 1, replace(PAPER, largest_group=largest))
    assert len(found.rounds) == largest
    assert sizes(found) == {1: [1] * 8, 2: [2] * 4, 3: [2] * 4, 4: [4, 4]}[largest]


def test_rounds_end_as_soon_as_the_demand_fits() -> None:
    jobs = busy(*range(4), *range(4))
    assert [len(group_jobs(jobs, gpus).rounds) for gpus in (8, 4, 3, 2, 1)] == [1, 1, 2, 2, 4]
    assert weights(group_jobs(jobs, 2)) == [[2.0], [2.0]]  # four pairs of 1/2, two fours of 1


# The two pairs of the best matching: jobs 0 and 3 with 1/2, jobs 1 and 2 with 18 / (4 * 10).
CROSSED = busy(0, 2, 3, 1, seconds=(1, 10, 8, 1))


def test_pairs_are_merged_from_the_front_of_the_queue() -> None:
    options = replace(PAPER, merge_order="queue")
    assert group_jobs(CROSSED, 4, options).groups == ((0,), (1,), (2,), (3,))
    assert group_jobs(CROSSED, 3, options).groups == ((0,), (1, 2), (3,))
    assert group_jobs(CROSSED, 2, options).groups == ((1, 2), (0, 3))
    assert weights(group_jobs(CROSSED, 3, options)) == [[0.95]]


def test_the_pair_that_wastes_least_is_merged_first() -> None:
    assert group_jobs(CROSSED, 3).groups == ((1,), (2,), (0, 3))


def test_waste_counts_once_per_gpu() -> None:
    jobs = busy(0, 1, 2, 2, gpus=(2, 2, 1, 1))  # half of 2 GPUs idle, or three quarters of 1
    assert group_jobs(jobs, 5).groups == ((0,), (1,), (2, 3))
    assert group_jobs(jobs, 5, replace(PAPER, merge_order="queue")).groups == ((0, 1), (2,), (3,))


def test_an_odd_job_stays_alone_until_the_next_round() -> None:
    jobs = busy(0, 0, 1)
    assert sizes(group_jobs(jobs, 2)) == [1, 2]
    tight = group_jobs(jobs, 1)
    assert sizes(tight) == [3]
    assert [(bucket.nodes, bucket.pairs) for (bucket,) in tight.rounds] == [(3, 1), (2, 1)]


@pytest.mark.parametrize(("jobs", "triples"), [(12, 0), (24, 0), (9, 1)])
def test_pairs_of_pairs_make_no_groups_of_three(jobs: int, triples: int) -> None:
    names = sorted(PROFILE)
    found = group_jobs(models(*(names[j % 6] for j in range(jobs))), 1, replace(AUTHORS, largest_group=3))
    assert Counter(map(len, found)) == Counter({2: (jobs - 3 * triples) // 2, 3: triples})


def test_a_group_has_no_more_jobs_than_slots() -> None:
    jobs = [job(j, (0.1, 0.2, 0.3)) for j in range(8)]
    assert sizes(group_jobs(jobs, 1)) == [2, 2, 2, 2]  # four do not fit three slots, and pairs make no threes
    assert sizes(group_jobs(jobs, 1, replace(PAPER, matching=False))) == [2, 3, 3]
    assert sizes(group_jobs(jobs, 1, AUTHORS)) == [4, 4]


def test_without_matching_neighbours_share_until_the_demand_fits() -> None:
    options = replace(AUTHORS, matching=False, slowdown="muri-without-blossom")
    found = group_jobs(models(*["a2c", "bert"] * 5), 5, options)
    assert found == Grouping(groups=((0, 1, 2, 3), (4, 5, 6), (7,), (8,), (9,)), rounds=())


def test_an_edge_must_exceed_the_least_weight() -> None:
    jobs = busy(0, 0)  # efficiency 1/4; the threshold of two jobs is half of the given weight
    assert sizes(group_jobs(jobs, 1, replace(PAPER, least_weight=0.499))) == [2]
    at_the_edge = group_jobs(jobs, 1, replace(PAPER, least_weight=0.5))
    assert sizes(at_the_edge) == [1, 1]
    assert at_the_edge.rounds[0][0].pairs == 0


@pytest.mark.parametrize(
    ("pair", "weight"),
    [
        (("a2c", "a2c"), 0.371722664595),
        (("a2c", "bert"), 0.24878513756),
        (("bert", "vgg16"), 0.289112996307),
        (("gpt2", "resnet18"), 0.286207449195),
    ],
)
def test_published_profiles_have_the_authors_weights(pair: tuple[str, str], weight: float) -> None:
    assert weights(group_jobs(models(*pair), 2, AUTHORS)) == [[pytest.approx(weight, abs=1.01e-9, rel=0)]]


def test_the_worst_order_weighs_less() -> None:
    ((worst,),) = weights(group_jobs(models("a2c", "a2c"), 2, replace(AUTHORS, worst_order=True)))
    assert worst == int(Fraction(1056 * 10**9, 4 * 1028) / SLOWDOWN["muri"][1]) / 10**9


@pytest.mark.parametrize(
    ("jobs", "field", "found"),
    [
        ([job(0, (1, 1)), Job(id="bare", gpus=1)], "jobs[1] ('bare').stage_seconds", "nothing"),
        ([Job(id="cpu", gpus=0, stage_seconds=(1, 1))], "jobs[0] ('cpu').gpus", "0"),
        ([job(0, (1, 1)), job(1, (1, 1, 1))], "jobs[1] ('j1').stage_seconds", "3 times"),
    ],
)
def test_a_job_that_cannot_share_is_named(jobs: list[Job], field: str, found: str) -> None:
    with pytest.raises(InputError) as error:
        group_jobs(jobs, 4)
    assert (error.value.field, error.value.found) == (field, found)


def test_the_authors_pattern_needs_their_three_stages() -> None:
    with pytest.raises(InputError, match="4 stage times"):
        group_jobs(busy(0, 1), 1, AUTHORS)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pattern": "cyclc"}, r"options.pattern: found 'cyclc' \(did you mean 'cyclic'\?\)"),
        ({"slowdown": "some"}, "options.slowdown: found 'some'"),
        ({"merge_order": "any"}, "options.merge_order: found 'any'"),
        ({"largest_group": 5}, "options.largest_group: found 5"),
        ({"largest_group": 0}, "options.largest_group: found 0"),
        ({"least_weight": float("nan")}, "options.least_weight: found nan"),
        ({"worst_order": True, "matching": False}, "options.worst_order"),
    ],
)
def test_wrong_options_are_named(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GroupingOptions(**fields)


@st.composite
def queues(draw: st.DrawFn, kinds: int) -> list[Job]:
    stage = st.integers(1, 40)
    rows = draw(st.lists(st.tuples(st.sampled_from([1, 1, 2, 4]), *[stage] * kinds), min_size=1, max_size=11))
    return [job(j, tuple(ms / 1000 for ms in times), gpus) for j, (gpus, *times) in enumerate(rows)]


CASES = st.tuples(queues(4), st.just(PAPER)) | st.tuples(queues(3), st.sampled_from([PAPER, AUTHORS]))


@given(CASES, st.integers(0, 30), st.integers(1, 4), st.booleans())
@more_examples(80)
def test_groups_part_the_jobs_and_fit_if_they_can(
    case: tuple[list[Job], GroupingOptions], gpus: int, largest: int, matching: bool
) -> None:
    jobs, preset = case
    options = replace(preset, largest_group=largest, matching=matching)
    found = group_jobs(jobs, gpus, options)
    assert sorted(position for group in found for position in group) == list(range(len(jobs)))
    assert all(len({jobs[position].gpus for position in group}) == 1 for group in found)
    most = min(largest, slot_count(options.pattern, len(jobs[0].stage_seconds or ())))
    assert max(map(len, found)) <= most
    asked = sum(jobs[group[0]].gpus for group in found)
    if asked > gpus and matching:
        alike = [(u, v) for u, v in combinations(found, 2) if jobs[u[0]].gpus == jobs[v[0]].gpus]
        assert all(len(u) + len(v) > most for u, v in alike)
    if len({j.gpus for j in jobs}) == 1 and len(found) < len(jobs):  # not more is merged than must be
        assert asked + jobs[0].gpus > gpus


@given(CASES)
@more_examples(60)
def test_the_first_round_is_a_maximum_matching(case: tuple[list[Job], GroupingOptions]) -> None:
    jobs, options = case
    for bucket in group_jobs(jobs, 0, options).rounds[0]:
        members = [j for j in jobs if j.gpus == bucket.gpus]
        graph = nx.Graph()
        for u, v in combinations(members, 2):
            stages = [u.stage_seconds or (), v.stage_seconds or ()]
            period = round(best_period(stages, options.pattern).period_seconds * 10**6)
            total = sum(round(time * 10**6) for times in stages for time in times)
            slots = slot_count(options.pattern, len(stages[0]))
            graph.add_edge(
                u.id, v.id, weight=int(Fraction(10**9 * total, slots * period) / SLOWDOWN[options.slowdown][1])
            )
        best = nx.max_weight_matching(graph)
        assert bucket.nodes == len(members)
        assert bucket.pairs == len(members) // 2
        assert round(bucket.weight * 10**9) == sum(graph.edges[edge]["weight"] for edge in best)


@st.composite
def alike(draw: st.DrawFn, kinds: int) -> list[Job]:
    """Draw jobs of up to four types, in any order."""
    rows = draw(st.lists(st.tuples(*[st.integers(1, 9)] * kinds), min_size=1, max_size=4))
    types = draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=40))
    return [job(j, tuple(ms / 1000 for ms in rows[kind])) for j, kind in enumerate(types)]


@given(
    st.tuples(alike(4), st.just(PAPER)) | st.tuples(alike(3), st.sampled_from([PAPER, AUTHORS])),
    st.sampled_from([0.0, 0.7]),
    st.integers(2, 4),
)
@more_examples(80)
def test_matching_type_by_type_weighs_as_much_as_matching_job_by_job(
    case: tuple[list[Job], GroupingOptions], least: float, largest: int
) -> None:
    jobs, preset = case
    kinds = len(jobs[0].stage_seconds or ())
    largest = min(largest, slot_count(preset.pattern, kinds))
    options = replace(preset, least_weight=least, largest_group=largest)
    singles = tuple(stage_times([one]).tobytes() for one in jobs)
    pairs = tuple(stage_times(jobs[at : at + 2]).tobytes() for at in range(0, len(jobs), 2))
    for members in (singles, pairs, singles + pairs):
        mate, efficiency = by_type(members, kinds, options)
        matched = np.flatnonzero(mate >= 0)
        assert np.array_equal(mate[mate[matched]], matched)
        assert efficiency.sum() == grouping._match.__wrapped__(members, kinds, options)[1].sum()
        assert np.array_equal(efficiency > 0, mate >= 0)
        for u, v in combinations(range(len(members)), 2):  # of equals the first are matched
            assert not (members[u] == members[v] and mate[u] < 0 <= mate[v])


def by_type(members: tuple[bytes, ...], kinds: int, options: GroupingOptions) -> tuple[Ints, Ints]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(grouping, "MANY", 0)
        patched.setattr(grouping, "ALIKE", 0)
        return grouping._match.__wrapped__(members, kinds, options)


def test_many_jobs_of_few_types_are_matched_type_by_type(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = models(*(list(PROFILE) * 60)[:350])
    found = group_jobs(jobs, 100, AUTHORS)
    monkeypatch.setattr(grouping, "max_weight_matching", None)
    grouping._match.cache_clear()
    (first, *_) = group_jobs(jobs, 300, AUTHORS).rounds
    assert first == found.rounds[0]
    assert sorted(position for group in found for position in group) == list(range(350))
