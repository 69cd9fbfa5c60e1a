"""The stored worst cases hold, are as far off as is said, and a gap that was changed is found."""

import json
import shutil
from datetime import date
from fractions import Fraction
from itertools import pairwise

import msgspec
import pytest

from muri_opt import InputError, Limits, solve_round
from muri_opt.rounds.generate.families import generate
from muri_opt.studies.explain import elastic_gap, grouping_loss
from muri_opt.studies.explain.followed_rule import follow_rule
from muri_opt.studies.library import (
    CompletionGap,
    add,
    check_gap,
    check_gaps,
    check_instance,
    instances,
    library_folder,
)
from muri_opt.studies.library.gaps import rational
from muri_opt.studies.worst_case import measure_of, save, shrink
from muri_opt.studies.worst_case.rounds import drawn_round
from muri_opt.systems import policy_from
from muri_opt.verify.certificates.elastic_case import elastic_case
from muri_opt.verify.certificates.elastic_optimum import total_completion

WORST = {instance.name: instance for instance in instances(family="worst")}
MURI, AFS = "worst/muri-two-rounds", "worst/afs-linear"
TODAY = date(2030, 1, 2)


def gap_of(name):
    (gap,) = WORST[name].best.gaps
    return gap


@pytest.mark.parametrize("name", WORST)
def test_every_stored_gap_holds_and_its_optimum_is_proved_without_a_solver(name):
    (finding,) = check_gaps(WORST[name])
    assert finding.violations == ()
    assert all(one.violations == () for one in check_instance(WORST[name]))
    assert all(one.proved and one.proof != "Agreement" for one in WORST[name].best.optima)
    assert gap_of(name).relative >= Fraction(1, 10)


def test_two_rounds_of_grouping_are_a_tenth_below_the_optimum():
    round_ = WORST[MURI].round()
    reached = solve_round(round_, "muri-s", "heuristic").value
    best = solve_round(round_, "muri-s", "exact@cp-sat", Limits(seconds=600)).value
    assert (reached, best) == (gap_of(MURI).reached, gap_of(MURI).optimum)
    assert 10 * (best - reached) >= best
    loss = grouping_loss(round_, "muri-s")
    pairing = sum(step.loss for step in loss.steps if step.cause in ("merged-pairs", "pairs-of-pairs"))
    assert 10 * pairing >= best
    assert len(round_.jobs) <= 8


def test_afs_is_a_fifth_above_the_elastic_optimum():
    round_ = WORST[AFS].round()
    found = elastic_gap(round_)
    means = {outcome.rule: outcome.mean_seconds for outcome in found.outcomes}
    assert found.proved
    assert means["afs-l"] >= 1.2 * found.optimum_seconds
    assert float(gap_of(AFS).relative) == pytest.approx(means["afs-l"] / found.optimum_seconds - 1, rel=1e-12)
    assert gap_of(AFS).relative >= Fraction(1, 5)


@pytest.mark.parametrize("name", [name for name in WORST if not name.startswith("worst/muri")])
def test_a_stored_worst_case_cannot_be_made_smaller(name):
    gap = gap_of(name)
    measure = measure_of("completion" if isinstance(gap, CompletionGap) else "value", gap.policy)
    at_least = next(word for before, word in words(name) if before == "--at-least")
    again = shrink(WORST[name].round(), measure, Fraction(at_least))
    assert msgspec.structs.replace(again.round, name=name) == WORST[name].round()


def words(name):
    found = WORST[name].best.source.split()
    return pairwise(found)


def rules(name, **changes):
    """Return the rules that break if fields of the stored gap are changed."""
    gap = msgspec.structs.replace(gap_of(name), **changes)
    return {one.rule for one in check_gap(WORST[name].round(), WORST[name].best, gap)}


def test_a_changed_value_is_found():
    gap = gap_of(MURI)
    assert rules(MURI) == set()
    assert rules(MURI, reached=gap.reached - 1) == {"gap"}
    assert rules(MURI, optimum=gap.optimum + 1) == {"gap"}
    assert rules(MURI, policy="muri-l") == {"proof"}
    instance = WORST[MURI]
    (stored,) = instance.best.optima
    false = instance.best.with_optimum(msgspec.structs.replace(stored, evidence=()))
    assert {one.rule for one in check_gap(instance.round(), false, gap)} == {"proof"}
    open_ = instance.best.with_optimum(msgspec.structs.replace(stored, bound=None, proof=None, evidence=()))
    assert {one.rule for one in check_gap(instance.round(), open_, gap)} == {"proof"}


def test_a_changed_completion_time_schedule_or_price_is_found():
    gap = gap_of(AFS)
    assert rules(AFS) == set()
    assert rules(AFS, reached="15") == {"gap"}
    assert rules(AFS, optimum="12") == {"gap"}
    assert rules(AFS, policy="srtf-elastic") == {"gap"}
    (first, *others), (price,) = gap.schedule, gap.prices
    shorter = msgspec.structs.replace(first, seconds="1")
    assert rules(AFS, schedule=(shorter, *others)) == {"proof"}
    longer = msgspec.structs.replace(first, seconds="4")
    assert rules(AFS, schedule=(longer, *others)) == {"gap", "bound"}
    greedy = msgspec.structs.replace(first, shares=(2, 2))
    assert rules(AFS, schedule=(greedy, *others)) == {"proof"}
    assert rules(AFS, schedule=()) == {"proof"}
    dearer = msgspec.structs.replace(price, work=("1", *price.work[1:]))
    assert rules(AFS, prices=(dearer,)) == {"proof"}
    cheaper = msgspec.structs.replace(price, work=("1/6", *price.work[1:]))
    assert rules(AFS, prices=(cheaper,)) == {"bound"}
    assert rules(AFS, prices=()) == {"proof"}


def test_a_proof_over_many_orders_is_checked_in_all_of_them(tmp_path):
    round_ = drawn_round("elastic", 4, 1, 0, 4)
    saved = save(tmp_path, "worst/mine", round_, measure_of("completion", "optimus"), source="a test", today=TODAY)
    (gap,) = saved.best.gaps
    assert len(gap.prices) > 1
    assert check_gaps(saved)[0].violations == ()
    for left_out in range(len(gap.prices)):
        kept = msgspec.structs.replace(gap, prices=(*gap.prices[:left_out], *gap.prices[left_out + 1 :]))
        assert [one.rule for one in check_gap(saved.round(), saved.best, kept)] == ["proof"]


def test_another_round_is_found(tmp_path):
    other = generate("elastic", jobs=2, nodes=1, seed=1)
    found = list(check_gap(other, WORST[AFS].best, gap_of(AFS)))
    assert [one.rule for one in found] == ["fingerprint"]


BROKEN = {
    "an unknown field": lambda gap: gap.update(comment="x"),
    "an unknown measure": lambda gap: gap.update(measure="speed"),
    "a number that is none": lambda gap: gap.update(reached="a lot"),
    "a number in another spelling": lambda gap: gap.update(reached="28/2"),
    "a division by nothing": lambda gap: gap.update(optimum="1/0"),
    "an optimum of nothing": lambda gap: gap.update(optimum="0"),
    "a policy in another spelling": lambda gap: gap.update(policy="afs-l:phi=1"),
    "a price that is none": lambda gap: gap["prices"][0].update(work=["1/2", "x"]),
    "a time that is none": lambda gap: gap["schedule"][0].update(seconds=""),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_gap_is_refused_and_named(tmp_path, fault):
    data = copied(tmp_path, AFS)
    BROKEN[fault](data["gaps"][0])
    written(tmp_path, AFS, data)
    with pytest.raises(InputError, match=r"^worst/afs-linear\.best\.json: "):
        instances(tmp_path)


def test_a_gap_is_stored_once_and_is_more_than_nothing(tmp_path):
    data = copied(tmp_path, MURI)
    written(tmp_path, MURI, data | {"gaps": data["gaps"] * 2})
    with pytest.raises(InputError, match="gaps: found one policy and measure more than once"):
        instances(tmp_path)
    written(tmp_path, MURI, data | {"gaps": [data["gaps"][0] | {"optimum": 0}]})
    with pytest.raises(InputError, match="optimum: found 0"):
        instances(tmp_path)
    assert rational("x", "-22/7") == Fraction(-22, 7)


def copied(folder, name):
    (folder / "worst").mkdir()
    for suffix in (".json", ".best.json"):
        shutil.copy(library_folder() / f"{name}{suffix}", folder / f"{name}{suffix}")
    return json.loads((folder / f"{name}.best.json").read_text())


def written(folder, name, data):
    (folder / f"{name}.best.json").write_text(json.dumps(data))


def test_a_gap_that_does_not_hold_is_not_added(tmp_path):
    instance = WORST[MURI]
    results = [solve_round(instance.round(), "muri-s", "auto", Limits(seconds=600))]
    false = msgspec.structs.replace(gap_of(MURI), reached=1)
    with pytest.raises(InputError, match="a gap that verifies"):
        add(tmp_path, "worst/x", instance.round(), results, source="a test", today=TODAY, gaps=[false])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rule", ["afs-l", "afs-l:scan=arrival", "optimus", "max-min-elastic", "srtf-elastic"])
def test_the_exact_clock_agrees_with_the_clock_in_floats(rule):
    for seed in range(3):
        round_ = generate("elastic", jobs=3, nodes=1, seed=seed)
        means = {outcome.rule: outcome.mean_seconds for outcome in elastic_gap(round_).outcomes}
        exact = total_completion(elastic_case(round_), follow_rule(round_, rule)) / 3
        assert float(exact) == pytest.approx(means[rule], rel=1e-9)
    assert follow_rule(round_, "afs-l:phi=inf")[-1][0] > 0
    assert policy_from(rule).spec == rule


@pytest.mark.parametrize("fault", ["gpus", "jobs", "length"])
def test_a_round_without_a_clock_is_refused(fault):
    round_ = generate("elastic", jobs=2, nodes=1, seed=1)
    nobody = msgspec.structs.replace(round_.jobs[0], remaining_iterations=None)
    none = msgspec.structs.replace(round_.cluster, nodes=())
    changes = {"gpus": {"cluster": none, "jobs": unplaced(round_)}, "jobs": {"jobs": ()}, "length": {"jobs": (nobody,)}}
    with pytest.raises(InputError):
        elastic_case(msgspec.structs.replace(round_, **changes[fault]))
    if fault == "gpus":
        with pytest.raises(InputError, match="no progress of 2 jobs"):
            follow_rule(msgspec.structs.replace(round_, **changes[fault]), "max-min-elastic")


def unplaced(round_):
    return tuple(msgspec.structs.replace(job, state="waiting", placement=None) for job in round_.jobs)
