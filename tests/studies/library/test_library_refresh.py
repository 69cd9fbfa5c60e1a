"""An answer replaces what is known only where it is better, and only after verification."""

import shutil
from dataclasses import replace as with_fields

import msgspec
import pytest
from library_copies import TODAY, best_data, copied, only, write_data

from muri_opt import InputError, Limits, Proof, solve_round
from muri_opt.rounds import Agreement
from muri_opt.studies.library import Recipe, add, instances, offer, refresh, solved
from muri_opt.studies.library.improve import combined, optimum_of
from muri_opt.studies.library.recipe import Draw

NAME = "toy/eight-gangs"  # srtf: the algorithm reaches 102, the optimum is 114
ENOUGH = Limits(seconds=600)


@pytest.fixture
def gangs(tmp_path):
    """The toy round with its optimum under srtf only."""
    data = best_data(copied(tmp_path, NAME), NAME)
    data["optima"] = [one for one in data["optima"] if one["policy"] == "srtf"]
    write_data(tmp_path, NAME, data)
    return only(tmp_path)


def answer(instance, method):
    return solve_round(instance.round(), "srtf", method, ENOUGH)


def known(instance):
    return instances(instance.path.parent.parent)[0].best.optima[0]


def saved(instance, optimum):
    """Return the instance with only ``optimum`` known of it, in its file too."""
    best = instance.best.with_optimum(optimum)
    instance.save(best)
    return with_fields(instance, best=best)


@pytest.fixture
def poor(gangs):
    """The same, of which only the algorithm's answer is known, without a bound."""
    found = optimum_of(gangs.round(), answer(gangs, "heuristic"), TODAY)
    return saved(gangs, msgspec.structs.replace(found, bound=None, proof=None, evidence=()))


def test_a_worse_answer_keeps_the_old(gangs):
    before = gangs.path.with_name("eight-gangs.best.json").read_bytes()
    change = offer(gangs, answer(gangs, "heuristic"), TODAY)
    assert (change.better, change.after.value, change.violations) == (False, 114, ())
    change = offer(gangs, answer(gangs, "auto"), TODAY)
    assert not change.better
    assert gangs.path.with_name("eight-gangs.best.json").read_bytes() == before


def test_a_better_answer_replaces_the_old(poor):
    change = offer(poor, answer(poor, "auto"), TODAY)
    assert change.better
    assert (change.before.value, change.before.bound) == (102, None)
    assert (change.after.value, change.after.bound, change.after.date) == (114, 114, TODAY)
    assert known(poor) == change.after


def test_a_better_bound_alone_is_kept_with_the_old_value(gangs):
    optimal = gangs.best.optima[0]
    loose = msgspec.structs.replace(optimal, bound=None, proof=None, evidence=())
    change = offer(saved(gangs, loose), answer(gangs, "heuristic"), TODAY)
    assert change.better
    assert (change.after.value, change.after.decision) == (114, optimal.decision)
    assert change.after.bound is not None
    assert change.after.bound >= 114


def test_an_answer_that_does_not_verify_is_refused_and_named(poor):
    false = msgspec.structs.replace(answer(poor, "auto"), value=500, bound=500)
    change = offer(poor, false, TODAY)
    assert not change.better
    assert {one.rule for one in change.violations} >= {"value"}
    assert change.lines()[0].startswith(f"{NAME}, srtf: ")
    assert known(poor).value == 102


def test_a_result_of_another_round_changes_nothing(poor, tmp_path):
    other = only(copied(tmp_path / "other", "toy/two-gangs"))
    result = msgspec.structs.replace(solve_round(other.round(), "fifo"), policy="srtf", value=500)
    with_faults = offer(poor, result, TODAY)
    assert with_faults.violations
    assert known(poor).value == 102


def test_an_unknown_policy_is_refused(gangs):
    with pytest.raises(InputError, match="policy of toy/eight-gangs"):
        offer(gangs, solve_round(gangs.round(), "fifo", "heuristic"), TODAY)


def test_a_stored_optimum_that_does_not_hold_is_named_and_stays(gangs):
    false = msgspec.structs.replace(gangs.best.optima[0], value=113)
    change = offer(saved(gangs, false), answer(gangs, "auto"), TODAY)
    assert "value" in {one.rule for one in change.violations}
    assert known(gangs) == false


def test_no_decision_is_no_better_answer(gangs):
    nothing = msgspec.structs.replace(answer(gangs, "auto"), decision=None, value=None)
    assert optimum_of(gangs.round(), nothing, TODAY) is None
    assert not offer(gangs, nothing, TODAY).better


def test_a_checked_proof_replaces_an_agreement_of_the_same_bound(gangs):
    optimal = gangs.best.optima[0]
    agreed = msgspec.structs.replace(optimal, proof=Proof.AGREEMENT, evidence=(Agreement(backends=("cbc", "scip")),))
    assert combined(agreed, optimal).proof is Proof.LINEAR_DUALS
    assert combined(optimal, agreed) == optimal
    assert combined(optimal, msgspec.structs.replace(optimal, bound=None, proof=None)) == optimal
    (change,) = refresh(saved(gangs, agreed), None, ENOUGH, TODAY)
    assert change.after.proof in (Proof.LINEAR_DUALS, Proof.COUNTING, Proof.EXHAUSTIVE)


def test_refresh_solves_what_is_open_and_leaves_what_is_proved(poor, tmp_path):
    (change,) = refresh(poor, "srtf", ENOUGH, TODAY)
    assert (change.better, known(poor).value, known(poor).bound) == (True, 114, 114)
    assert refresh(instances(tmp_path)[0], None, ENOUGH, TODAY) == []
    assert refresh(poor, "fifo", ENOUGH, TODAY) == []


def test_refresh_of_several_policies_keeps_all_that_is_found(tmp_path):
    instance = only(copied(tmp_path, NAME))
    poor = instance.best
    for optimum in instance.best.optima:
        result = solve_round(instance.round(), optimum.policy, "heuristic")
        found = optimum_of(instance.round(), result, TODAY)
        poor = poor.with_optimum(msgspec.structs.replace(found, bound=None, proof=None, evidence=()))
    instance.save(poor)
    changes = refresh(only(tmp_path), None, ENOUGH, TODAY)
    assert [change.better for change in changes] == [True, True]
    assert [(one.policy, one.value, one.bound) for one in only(tmp_path).best.optima] == [
        ("srtf", 114, 114),
        ("srtf:nodes=fewest", 102, 102),
    ]


def test_a_bare_claim_is_not_stored_as_a_bound(gangs):
    result = answer(gangs, "auto")
    claimed = msgspec.structs.replace(
        result,
        bound=None,
        gap=None,
        claimed_bound=result.bound,
        certificate=msgspec.structs.replace(result.certificate, proof=Proof.CLAIM_ONLY),
    )
    assert optimum_of(gangs.round(), claimed, TODAY).proof is Proof.LINEAR_DUALS
    without = msgspec.structs.replace(result.certificate, proof=Proof.CLAIM_ONLY, evidence=())
    stages = next(x for x in instances(family="small") if x.name == "small/interleaving-01")
    bare = msgspec.structs.replace(solve_round(stages.round(), "muri-s", "auto", ENOUGH), certificate=without)
    found = optimum_of(stages.round(), bare, TODAY)
    assert found.proof is Proof.COUNTING  # what the claim said is not stored, what can be counted is
    assert found.bound > bare.bound


def test_a_new_instance_is_added_with_what_solving_finds(tmp_path, gangs):
    round_ = msgspec.structs.replace(gangs.round(), name="small/mine")
    results = [solved(round_, policy, ENOUGH) for policy in ("srtf", "fifo")]
    added = add(tmp_path / "new", "small/mine", round_, results, source="a test", today=TODAY)
    assert added == only(tmp_path / "new")
    assert (added.round(), added.best.source, added.best.optima[0].value) == (round_, "a test", 114)
    assert results[0].stats.backend is None or added.best.optima[0].how.startswith(results[0].stats.backend)
    path = added.path
    path.write_text(path.read_text().replace("\n", ""))
    formatted = path.read_text()
    assert add(tmp_path / "new", "small/mine", round_, results, source="a test", today=TODAY) == added
    assert path.read_text() == formatted
    recipe = Recipe.of(Draw(family="gangs", jobs=30, nodes=2, seed=5))
    results = [solve_round(recipe.round(), "fifo", "heuristic")]
    shutil.rmtree(tmp_path / "new")
    large = add(tmp_path / "new", "stress/mine", recipe, results, source="a test", today=TODAY)
    assert (large.given, large.jobs, large.nodes) == (recipe, 30, 2)


def test_what_cannot_be_added_is_refused_and_nothing_is_written(tmp_path, gangs):
    round_, result = gangs.round(), answer(gangs, "heuristic")
    false = msgspec.structs.replace(result, value=result.value + 1)
    nothing = msgspec.structs.replace(result, decision=None, value=None)
    refused = [("smal/x", result), ("small", result), ("small/", result), ("small/a/b", result), ("small/.x", result)]
    refused += [("small/x", false), ("small/x", nothing)]
    for name, offered in refused:
        with pytest.raises(InputError):
            add(tmp_path / "new", name, round_, [offered], source="a test", today=TODAY)
    with pytest.raises(InputError, match="at least one optimum"):
        add(tmp_path / "new", "small/x", round_, [], source="a test", today=TODAY)
    assert not (tmp_path / "new").exists()
