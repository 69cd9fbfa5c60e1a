"""No running job of Muri is changed that could go on as it is, all else as decided, without a loss of value."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from benchmarks.stillness import needless
from muri_opt import Round, solve_round
from muri_opt.rounds import after
from muri_opt.rounds.generate.families import generate
from muri_opt.systems import policy_from

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
