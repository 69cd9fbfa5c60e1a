"""Where no time is left, those start that find room where they ask for it, and no rule is broken by that."""

from __future__ import annotations

import pytest
from asked_rounds import GROUPS, asked_round
from handmade import gang, round_of
from loan_rounds import draw_group, loan_round
from msgspec.structs import replace
from wish_rounds import wish_round

from benchmarks.joint_first import bound_round
from muri_opt import Limits, Node, NodeRange, Round, Within, policy_from, solve_round
from muri_opt.solve import first_answer, timed
from muri_opt.solve.pace import Pace
from muri_opt.solve.simple_decision import simple_decisions, without_wrong_starts
from muri_opt.verify import Audit


def kept_to_rules(round_: Round, policy: str) -> tuple[set[str], set[str]]:
    """Return who runs by the fuller one of the simple decisions, and by the other; the first breaks no rule more."""
    chosen = policy_from(policy)
    audit = Audit(round_, chosen.rules)
    *fuller, least = [audit.completed(one) for one in simple_decisions(chosen, round_)]
    broken = {one.rule for one in audit.breaches(least)}
    for one in fuller:
        assert {breach.rule for breach in audit.breaches(one)} <= broken
        assert one.running >= least.running
    return {name for one in fuller for name in one.running}, set(least.running)


@pytest.mark.parametrize("group", GROUPS)
def test_who_starts_at_once_keeps_the_rules_of_gangs(group: str) -> None:
    started = 0
    for seed in range(60):
        fuller, least = kept_to_rules(asked_round(seed, group, most_jobs=6), "fifo")
        started += len(fuller - least)
    assert started > 10  # jobs of the sixty rounds


def test_who_starts_at_once_keeps_wishes_and_loans() -> None:
    started = 0
    for seed in range(60):
        for round_ in (wish_round(seed, "all"), loan_round(seed, draw_group(seed))):
            fuller, least = kept_to_rules(round_, "fifo")
            started += len(fuller - least)
    assert started > 10


def test_each_starts_where_and_as_it_asks() -> None:
    nodes = [
        Node(id=f"n{s}", gpus=4, gpu_type="ab"[s % 2], labels=("x",) * (s < 2), rack=f"r{s // 2}") for s in range(4)
    ]
    jobs = [
        gang(0, 2, gpu_types=("b",), requires=("x",)),
        gang(1, 4, nodes=NodeRange(least=2), even=True, gpu_types=("a",)),
        gang(2, 2, excludes=("x",), gpu_types=("b",)),
        gang(3, 2, within=Within(level="rack"), excludes=("x",), gpu_types=("a",)),
        gang(4, 4, requires=("y",)),
    ]
    round_ = round_of(nodes, jobs)
    round_ = replace(round_, cluster=replace(round_.cluster, levels=("rack",)))
    fuller, _ = simple_decisions(policy_from("fifo"), round_)
    assert {one.jobs[0]: dict(one.gpus) for one in fuller.assignments} == {
        "j0": {"n1": 2},
        "j1": {"n0": 2, "n2": 2},
        "j2": {"n3": 2},
        "j3": {"n2": 2},
    }


def test_who_may_not_start_so_is_left_out() -> None:
    """Of three jobs of two GPUs on two nodes of three the third would be split, where one node would do."""
    round_ = round_of([3, 3], [gang(0, 2), gang(1, 2), gang(2, 2)])
    chosen = policy_from("fifo:nodes=fewest")
    audit, draft = Audit(round_, chosen.rules), next(simple_decisions(chosen, round_))
    breaches = audit.breaches(audit.completed(draft))
    assert [breach.rule for breach in breaches] == ["fewest-nodes"]
    kept = without_wrong_starts(round_, draft, breaches)
    assert [one.jobs for one in kept.assignments] == [("j0",), ("j1",)]
    assert not audit.breaches(audit.completed(kept))


def test_what_runs_is_not_left_out() -> None:
    round_ = round_of([3, 3], [gang(0, 2, state="running", placement={"n0": 1, "n1": 1}), gang(1, 2)])
    chosen = policy_from("fifo:nodes=fewest")
    audit, draft = Audit(round_, chosen.rules), next(simple_decisions(chosen, round_))
    kept = without_wrong_starts(round_, draft, audit.breaches(audit.completed(draft)))
    assert ("j0",) in [one.jobs for one in kept.assignments]


@pytest.mark.parametrize("policy", ["fifo", "srtf:nodes=fewest", "muri-s", "afs-l", "philly", "deadline"])
def test_somebody_starts_though_the_algorithm_is_left_out(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed, "PACE", Pace())
    monkeypatch.setattr(first_answer.FirstAnswer, "_is_too_long", lambda *_: True)
    round_ = bound_round("CPUs and memory, eight GPU types asked for in many ways", 100, "a")
    result = solve_round(round_, policy, limits=Limits(seconds=0.2))
    assert len(result.answer.running) > 8  # a solver may have gone on from there
    assert result.certificate.feasible
