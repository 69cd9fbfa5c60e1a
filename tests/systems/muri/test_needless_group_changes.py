"""No running job of Muri is changed that could go on as it is, all else as decided, without a loss of value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from handmade import gang, round_of
from msgspec.structs import replace

from benchmarks.stillness import needless
from muri_opt import Limits, Round, solve_round
from muri_opt.rounds import after
from muri_opt.rounds.change_costs import cost_of_all
from muri_opt.rounds.generate.families import generate
from muri_opt.solve import needless_changes
from muri_opt.solve.search import Search
from muri_opt.systems import policy_from
from muri_opt.systems.muri.group_values import GroupRules
from muri_opt.systems.muri.group_worth import GroupWorth
from muri_opt.systems.muri.needless_changes import _Step, _Touched, _Undoing
from muri_opt.systems.muri.node_places import Places
from muri_opt.systems.muri.running_groups import running_groups
from muri_opt.systems.muri.running_now import RunningNow
from muri_opt.systems.muri.still_places import Placed, StillPlaces

SPECS = ("muri-s", "muri-l", "muri-s:group=2", "muri-s:run=free", "muri-l:sizes=mixed")


def next_round(round_: Round, turn: int) -> Round:
    """Return a round in which some of the jobs that ran have ended."""
    running = [job.id for job in round_.jobs if job.state == "running"]
    ended = set(running[turn % 5 :: 5])
    return replace(round_, jobs=tuple(job for job in round_.jobs if job.id not in ended))


@pytest.mark.parametrize("spec", SPECS)
def test_what_can_go_on_as_it_is_does(spec: str) -> None:
    changed = 0
    for seed in range(2):
        round_ = generate("interleaving", jobs=60, nodes=4, seed=seed)
        for turn in range(4):
            result = solve_round(round_, spec, "heuristic")
            assert result.decision is not None
            assert result.changes is not None
            kept = {change.job for change in result.changes.keep}
            assert {*needless(round_, policy_from(spec).rules, result.decision)} <= kept
            changed += len(result.changes.move) + len(result.changes.regroup)
            round_ = next_round(after(round_, result.decision), turn)
    assert changed, "nothing was tried"


@pytest.mark.parametrize("spec", SPECS)
def test_a_search_undoes_more_changes_than_it_could_check_one_by_one(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(needless_changes, "MOST_CHECKS", 0)
    policy, published = policy_from(spec), policy_from(spec + ("," if ":" in spec else ":") + "restarts=ignore")
    saved = 0
    for seed in range(3):
        first = generate("interleaving", jobs=60, nodes=4, seed=seed)
        round_ = next_round(after(first, solve_round(first, spec, "heuristic").answer), seed)
        search = Search(round_=round_, policy=policy, method="auto", limits=Limits(seconds=None))
        decision = published.decide(round_, 0)
        value = search.audit.value(decision)
        search.decision, search.value = decision, value
        needless_changes.undo_needless_changes(search)
        before, made = (search.changes_of(round_, one) for one in (decision, search.decision))
        assert {*needless(round_, policy.rules, search.decision)} <= {change.job for change in made.keep}
        assert search.value >= value
        saved += cost_of_all(round_, before) - cost_of_all(round_, made)
    assert saved > 0


@pytest.mark.parametrize("spec", SPECS)
def test_to_look_only_at_what_a_step_may_have_changed_finds_the_same(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, published = policy_from(spec), policy_from(spec + ("," if ":" in spec else ":") + "restarts=ignore")
    looked, few, every, steps = [0], 0, 0, _Undoing.steps

    def counted(self: _Undoing, line: Sequence[Any], where: Mapping[int, Places]) -> Any:
        looked[0] += len(line)
        return steps(self, line, where)

    monkeypatch.setattr(_Undoing, "steps", counted)
    for seed in range(4):
        first = generate("interleaving", jobs=60, nodes=4, seed=seed)
        round_ = next_round(after(first, solve_round(first, spec, "heuristic").answer), seed)
        decision = published.decide(round_, 0)
        looked[0] = 0
        found = policy.undone(round_, decision)
        few, looked[0] = few + looked[0], 0
        with monkeypatch.context() as all_again:
            all_again.setattr(_Touched, "at", lambda *_: True)
            assert policy.undone(round_, decision) == found
        every += looked[0]
    assert 0 < few < every


def two_that_run(gpus: int) -> Round:
    """Return two jobs of one GPU that run on a node of so many, beside an empty node of one."""
    fields = {"stage_seconds": (1.0, 1.0, 1.0, 1.0), "state": "running", "placement": {"n0": 1}}
    return round_of([gpus, 1], [gang(0, 1, **fields), gang(1, 1, **fields)])


@pytest.mark.parametrize(("gpus", "read"), [(1, [(0, 1)]), (2, [(0,), (1,)])])
def test_jobs_that_have_gpus_of_their_own_are_not_read_as_a_group_that_would_be_made(
    gpus: int, read: list[tuple[int, ...]]
) -> None:
    round_ = two_that_run(gpus)
    now = RunningNow.in_round(round_)
    found = running_groups(
        round_, now, {0, 1}, [0, 1], [(0, 1)], 4, lambda groups: np.ones(len(groups), dtype=np.int64)
    )
    assert found == dict.fromkeys(read, ((0, 1),))


def test_a_step_that_was_thought_of_before_its_group_went_elsewhere_is_not_taken() -> None:
    round_ = two_that_run(1)
    places, placed = StillPlaces(round_=round_, line=[0, 1]), Placed({(0, 1): ((1, 1),)})
    worth = GroupWorth.of(round_, GroupRules.of(policy_from("muri-s").rules))
    work = _Undoing(places=places, now=RunningNow.in_round(round_), worth=worth, placed=placed, largest=4)
    there, back = _Step.back(work, (0, 1), ((0, 1),)), _Step.back(work, (0, 1), ((1, 1),))
    assert work.take(there)
    assert not work.take(back)
    assert work.placed == {(0, 1): ((0, 1),)}
    assert work.left.gpus.tolist() == [0, 1]
