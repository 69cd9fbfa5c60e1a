"""The search: the same for the same seed, never below its starts, within its budget, and it says what it cannot do."""

from dataclasses import replace
from fractions import Fraction

import msgspec
import pytest

from muri_opt import InputError
from muri_opt.errors import RefusalError
from muri_opt.report.text.worst_case import worst_text
from muri_opt.rounds import Limits
from muri_opt.studies.library import instances
from muri_opt.studies.worst_case import MEASURES, Shrunk, Step, find_worst, measure_of, search_worst
from muri_opt.studies.worst_case.measure import CompletionMeasure, ValueMeasure
from muri_opt.studies.worst_case.rounds import drawn_round
from muri_opt.studies.worst_case.search import STARTS, exactly
from muri_opt.systems import Policy, policy_from

GANGS = {"family": "gangs", "jobs": 4, "nodes": 2, "budget": 40}


@pytest.fixture(scope="module")
def srtf():
    return find_worst("srtf", seed=3, **GANGS)


def test_the_same_seed_finds_the_same_round_and_another_seed_another(srtf):
    assert find_worst("srtf", seed=3, **GANGS) == srtf
    assert find_worst("srtf", seed=4, **GANGS).round != srtf.round


def test_the_worst_round_is_what_its_distance_says_and_the_trail_leads_to_it(srtf):
    assert ValueMeasure(policy_from("srtf")).of(srtf.round) == srtf.distance
    assert srtf.distance.gap == 1 - srtf.distance.reached / srtf.distance.optimum
    gaps = [step.gap for step in srtf.trail]
    assert gaps == sorted(set(gaps))
    assert gaps[-1] == srtf.distance.gap
    assert 0 < srtf.trail[-1].evaluations <= srtf.evaluations == 40


def test_climbing_never_ends_below_the_random_starts(srtf):
    starts = find_worst("srtf", seed=3, **GANGS | {"budget": STARTS})
    assert starts.evaluations == STARTS
    assert starts.distance.gap < srtf.distance.gap
    assert srtf.trail[: len(starts.trail)] == starts.trail


def test_a_long_trail_is_told_by_its_first_and_last_steps(srtf):
    steps = tuple(Step(evaluations=turn, gap=Fraction(turn, 100)) for turn in range(1, 10))
    small = Shrunk(round=srtf.round, distance=srtf.distance, evaluations=1)
    told = worst_text(ValueMeasure(policy_from("srtf")), replace(srtf, trail=steps), small)
    assert "1.00 % (1), 3 steps more, 5.00 % (5), 6.00 % (6), 7.00 % (7), 8.00 % (8), 9.00 % (9)\n" in told
    assert all(f"\n  {job.id} " in told for job in srtf.round.jobs)


def test_a_gap_that_is_enough_ends_the_search_early(srtf):
    enough = find_worst("srtf", seed=3, at_least=0.1, **GANGS)
    assert enough.distance.gap >= Fraction(1, 10)
    assert enough.evaluations == enough.trail[-1].evaluations < 40
    assert exactly(0.1) == Fraction(1, 10)


def test_progress_is_told_and_a_fixed_cluster_stays():
    told = []
    found = find_worst("srtf", gpus=3, progress=lambda over, total: told.append((over, total)), **GANGS)
    assert told == [(over, 40) for over in range(1, 41)]
    assert [node.gpus for node in found.round.cluster.nodes] == [3, 3]


def test_completion_times_are_measured_in_exact_numbers():
    found = find_worst("afs-l", measure="completion", family="elastic", jobs=3, nodes=1, budget=12)
    distance = found.distance
    assert distance.gap == distance.reached / distance.optimum - 1 >= 0
    assert isinstance(distance.reached, Fraction)
    assert "prices" in distance.proof


def test_an_optimum_that_is_not_proved_in_time_does_not_count():
    assert ValueMeasure(policy_from("muri-s"), Limits(seconds=0.0)).of(stages()) is None
    assert ValueMeasure(policy_from("muri-s")).of(stages()) is not None
    elastic = drawn_round("elastic", 4, 1, 0, 4)
    late = CompletionMeasure(policy_from("afs-l"), Limits(seconds=0.0))
    assert late.of(elastic) is None
    with pytest.raises(RefusalError, match="no proved elastic optimum"):
        late.gap(elastic)


def stages():
    return next(x for x in instances(family="toy") if x.name == "toy/eight-stages").round()


def test_a_round_the_policy_refuses_does_not_count():
    assert measure_of("value", "muri-s").of(find_worst("srtf", **GANGS).round) is None
    with pytest.raises(RefusalError, match="none with a proved optimum"):
        find_worst("muri-s", **GANGS | {"budget": 8})


def test_nobody_runs_where_nothing_has_a_value():
    round_ = find_worst("srtf", **GANGS | {"budget": 1}).round
    idle = [msgspec.structs.replace(job, gpus=100, state="waiting", placement=None) for job in round_.jobs]
    assert measure_of("value", "srtf").of(msgspec.structs.replace(round_, jobs=idle)) is None


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"family": "muri"}, "family"),
        ({"measure": "valu"}, "measure"),
        ({"policy": "srtfx"}, "policy"),
        ({"policy": "afs-p", "measure": "completion"}, "policy"),
        ({"policy": "afs-l:packing=node", "measure": "completion"}, "policy"),
        ({"jobs": 0}, "jobs"),
        ({"nodes": 0}, "nodes"),
        ({"gpus": 0}, "gpus"),
        ({"budget": 0}, "budget"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_arguments_are_named(changed, field):
    given = {"policy": "srtf", **GANGS} | changed
    with pytest.raises(InputError) as error:
        find_worst(given.pop("policy"), **given)
    assert error.value.field == field


def test_a_policy_without_an_exact_program_is_refused():
    class Idle(Policy):
        chapter = "idle"

        def check(self, round_):
            raise AssertionError

        decide = check

    with pytest.raises(RefusalError, match="a policy with an exact program"):
        search_worst(ValueMeasure(Idle(name="idle")), **GANGS)
    assert set(MEASURES) == {"value", "completion"}
