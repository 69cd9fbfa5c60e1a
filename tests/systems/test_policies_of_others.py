"""Policies that are not of the package: functions, subclasses, what can be imported, and registered systems."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import ClassVar

import pytest
from handmade import gang, round_of

from muri_opt import (
    POLICIES,
    Assignment,
    Decision,
    InputError,
    Limits,
    Policy,
    Reason,
    Round,
    System,
    parse_result,
    policy_from,
    register_system,
    result_json,
    solve_round,
    verify,
)
from muri_opt.report.text.policies import detailed, detailed_text
from muri_opt.rounds import plugins
from muri_opt.systems import PLAIN_RULES, FunctionPolicy, registry
from muri_opt.systems.gangs import SYSTEM, GangPolicy, list_decision
from muri_opt.testing import promised
from muri_opt.verify import Chapter, chapters, register_chapter

ROUND = round_of([4, 2], [gang(0, 3), gang(1, 4), gang(2, 2)])


def largest_first(round_: Round) -> Decision:
    return list_decision(round_, sorted(range(len(round_.jobs)), key=lambda place: -round_.jobs[place].gpus))


def nobody(round_: Round) -> Decision:
    return Decision()


def everybody_on_the_first_node(round_: Round) -> Decision:
    return Decision(assignments=tuple(Assignment(jobs=(job.id,), gpus={"n0": job.gpus}) for job in round_.jobs))


everybody_on_the_first_node.rules = {"chapter": "gangs", "order": "fifo", "nodes": "fewest"}


def no_decision(round_: Round) -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sized(Policy):
    first: str = "large"

    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"first": ("large", "small")}

    def decide(self, round_: Round, seed: int) -> Decision:
        sign = -1 if self.first == "large" else 1
        return list_decision(round_, sorted(range(len(round_.jobs)), key=lambda place: sign * round_.jobs[place].gpus))


MADE = Sized(name="made", first="small")


@pytest.fixture
def known_systems() -> Iterator[None]:
    before, added = list(registry._systems), dict(chapters._added)
    yield
    registry._systems[:] = before
    chapters._added.clear()
    chapters._added.update(added)


@pytest.mark.parametrize("method", ["heuristic", "auto", "exact"])
def test_a_function_is_solved_with_a_checked_bound(method: str) -> None:
    result = solve_round(ROUND, largest_first, method, Limits(seconds=60))
    assert (result.policy, result.rules) == (f"{__name__}:largest_first", PLAIN_RULES)
    assert verify(ROUND, result) == result.certificate
    assert result.certificate.feasible
    assert (result.bound, result.termination.reason is Reason.OPTIMAL) == (11, method != "heuristic")


def test_what_a_decision_leaves_out_is_filled_in() -> None:
    result = solve_round(ROUND, nobody, "heuristic")
    assert result.value == 0
    assert [(wait.job, str(wait.reason)) for wait in result.decision.waiting] == [
        ("j0", "priority"),
        ("j1", "priority"),
        ("j2", "priority"),
    ]
    assert result.certificate.feasible


def test_a_decision_that_breaks_rules_is_told_by_heuristic_and_left_by_auto() -> None:
    told = solve_round(ROUND, everybody_on_the_first_node, "heuristic")
    assert not told.certificate.feasible
    assert "gpu-capacity" in {violation.rule for violation in told.certificate.violations}
    best = solve_round(ROUND, everybody_on_the_first_node, "auto", Limits(seconds=60))
    assert best.certificate.feasible
    assert best.rules["nodes"] == "fewest"
    assert best.value == best.bound == solve_round(ROUND, "fifo:objective=weighted,nodes=fewest,preempt=yes").value


def test_a_policy_does_not_end_the_program() -> None:
    def leaves(round_: Round) -> Decision:
        raise SystemExit(3)

    with pytest.raises(RuntimeError, match="asked to end the program"):
        solve_round(ROUND, leaves, "heuristic")


def test_what_is_no_decision_is_bad_input() -> None:
    with pytest.raises(InputError, match="found dict; allowed: a Decision"):
        solve_round(ROUND, no_decision, "heuristic")


@pytest.mark.parametrize(
    ("given", "spec"),
    [
        (Sized, f"{__name__}:Sized"),
        (Sized(name="mine"), "mine"),
        (f"{__name__}:Sized", f"{__name__}:Sized"),
        (f"{__name__}:Sized:first=small", f"{__name__}:Sized:first=small"),
        (f"{__name__}:MADE", "made:first=small"),
        (f"{__name__}:largest_first", f"{__name__}:largest_first"),
        (largest_first, f"{__name__}:largest_first"),
        ("muri_opt.systems.gangs:GangPolicy.order", None),
        (lambda _round: Decision(), "<lambda>"),
    ],
)
def test_a_policy_is_given_in_many_ways(given: object, spec: str | None) -> None:
    if spec is None:
        with pytest.raises(InputError, match="module:attribute"):
            policy_from(given)
    elif spec == "<lambda>":
        assert policy_from(given).spec.endswith(spec)
    else:
        chosen = policy_from(given)
        assert chosen.spec == spec
        assert ":" not in spec or spec.startswith("made") or policy_from(spec) == chosen


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no_such_module:policy", "No module named"),
        ("muri_opt:no_such_name", "no attribute"),
        ("muri_opt:__version__", "a str"),
        (f"{__name__}:Sized:first=middle", "one of large, small"),
        (f"{__name__}:Sized:size=1", "one of first"),
        (f"{__name__}:largest_first:x=1", "parameters of a subclass of Policy only"),
        ("ffio", "did you mean 'fifo'"),
        ("ffio:preempt=no", "did you mean 'fifo'"),
        ("", "policy"),
    ],
)
def test_texts_that_mean_no_policy_are_refused(text: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        policy_from(text)
    assert words in str(refused.value)


def test_a_class_that_is_no_policy_is_refused() -> None:
    with pytest.raises(InputError, match="a subclass of Policy"):
        policy_from(dict)


def test_a_function_policy_travels_to_other_processes() -> None:
    chosen = policy_from(largest_first)
    assert isinstance(chosen, FunctionPolicy)
    assert pickle.loads(pickle.dumps(chosen)) == chosen  # noqa: S301 - it was pickled here


def test_rules_of_a_function_can_be_named() -> None:
    chosen = policy_from(largest_first).checked_as(policy_from("srtf").rules)
    assert chosen.rules["order"] == "srtf"
    with pytest.raises(InputError, match="has rules of its own"):
        policy_from("fifo").checked_as({"chapter": "gangs"})


def test_a_system_is_registered_once_and_with_names_of_its_own(known_systems: None) -> None:
    mine = System(name="sized", chapter="gangs", policies={"sized": Sized})
    register_system(mine)
    register_system(mine)
    assert "sized" in POLICIES
    assert policy_from("sized:first=small").spec == "sized:first=small"
    assert [name for name in POLICIES if name == "sized"] == ["sized"]
    for other in (
        System(name="another", chapter="gangs", policies={"sized": Sized}),
        System(name="sized", chapter="gangs", policies={"other": Sized}),
        System(name="afresh", chapter="gangs", policies={"fifo": GangPolicy}),
    ):
        with pytest.raises(InputError, match="does not have already"):
            register_system(other)
    register_system(SYSTEM)
    with pytest.raises(InputError, match="a System"):
        register_system(Sized)


def test_a_chapter_has_a_name_of_its_own(known_systems: None) -> None:
    class Mine(Chapter):
        pass

    register_chapter("mine", Mine)
    register_chapter("mine", Mine)
    for name in ("mine", "gangs"):
        with pytest.raises(InputError, match="the name of no other chapter"):
            register_chapter(name, Chapter)


def test_every_policy_says_rules_that_its_chapter_takes() -> None:
    for name in POLICIES:
        rules = policy_from(name).rules
        kind = chapters.chapter_kind(rules["chapter"])
        assert set(rules) - {"chapter"} <= set(kind.settings)


def test_what_a_system_takes_for_usual_is_what_the_verifier_does() -> None:
    """Programs and checks know nothing of each other, so the defaults are written twice."""
    for system in registry.systems():
        usual = {"chapter": system.chapter}
        settings = chapters.chapter_kind(system.chapter).settings
        full = usual | {name: setting.usual for name, setting in settings.items()}
        assert registry.program_of(usual) == registry.program_of(full)
        assert registry.unit_of(usual) == registry.unit_of(full)


def test_a_result_of_format_1_imports_nothing() -> None:
    result = solve_round(ROUND, largest_first, "heuristic")
    old = json.loads(result_json(result)) | {"format": "muri-opt/result/1", "policy": "no_such_module_at_all:policy"}
    del old["rules"]
    with pytest.raises(InputError, match="policy: found 'no_such_module_at_all'; allowed: one of"):
        parse_result(json.dumps(old))


def test_a_broken_package_of_others_is_named(monkeypatch: pytest.MonkeyPatch, known_systems: None) -> None:
    point = EntryPoint(name="broken", value="no_such_module_at_all:SYSTEM", group=registry.ENTRY_POINTS)
    monkeypatch.setattr(plugins, "entry_points", lambda **_: EntryPoints([point]))
    monkeypatch.setattr(registry, "_looked_for", set())
    assert policy_from("fifo").spec == "fifo"
    for _ in range(2):
        with pytest.raises(InputError, match=r"entry point 'broken' of 'muri_opt.systems'.*No module named"):
            policy_from("somebody-else")


def test_promises_of_a_registered_system_are_its_own(known_systems: None) -> None:
    broken = {"sized": frozenset({"waiting-removed"})}
    register_system(System(name="sized", chapter="gangs", policies={"sized": Sized}, not_promised=broken))
    names = {one.name for one in promised("sized")}
    assert "waiting-removed" not in names
    assert names | {"waiting-removed"} == {one.name for one in promised("srtf")}


def test_nothing_is_promised_for_policies_of_others(known_systems: None) -> None:
    register_system(System(name="sized", chapter="gangs", policies={"sized": Sized}))
    assert "no invariant: it is not of this package" in detailed_text(detailed("sized", "-"))
    assert "no invariant" not in detailed_text(detailed("fifo", "-"))


def test_a_module_in_this_folder_is_found_by_the_program(tmp_path: Path) -> None:
    """An installed program has its own folder first on its path, and not the one it is called in."""
    (tmp_path / "beside.py").write_text("from muri_opt import Decision\n\ndef nobody(round_):\n    return Decision()\n")
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-P", "-m", "muri_opt", "solve", "toy/two-gangs", "--policy", "beside:nobody"]
    done = subprocess.run(
        [*command, "--method", "heuristic"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "policy       beside:nobody" in done.stdout
