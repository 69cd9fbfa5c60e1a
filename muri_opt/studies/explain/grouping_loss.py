"""Where Muri's published grouping loses against the optimum, cause by cause.

The algorithm's rules are lifted one after another; after each, the best grouping within the rules that are left is
found by the exact program over the groups they allow. Every step allows all groups of the step before, so no value
falls, and what it rises by is what the rule costs after those before it have been lifted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError, RefusalError
from muri_opt.rounds import INFORMATION, Budget, Limits, Reason, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.used_fields import refusal, unhonoured
from muri_opt.solve.exact import build
from muri_opt.solve.solvers import (
    FIRST_BACKEND,
    WorkerError,
    backend_named,
    borrowed_worker,
    is_wide,
    restricted,
    solve_wide,
)
from muri_opt.solve.solvers.process import GRACE_SECONDS
from muri_opt.systems import Policy, admit, policy_from, program_of, unit_of
from muri_opt.systems.muri import GroupingFormulation, MuriPolicy
from muri_opt.systems.muri.program_columns import GroupColumns
from muri_opt.verify import decision_value

Mask = NDArray[np.bool_]

CAUSES = {
    "order": "jobs of a group not in their best order",
    "always-pairing": "jobs kept in a group, or waiting, that do better apart",
    "merged-pairs": "which pairs were merged",
    "pairs-of-pairs": "pairs of pairs instead of groups",
    "candidates": "only the first jobs of each GPU count are candidates",
    "buckets": "only jobs of equal GPU counts share",
}
"""The rules that are lifted, in this order, and what is lost by each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossStep:
    """One rule lifted: the best value without it, what that gains, and whether the value was shown to be the best."""

    cause: str
    value: int
    loss: int
    optimal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupingLoss:
    """What the published algorithm reaches, what is best with all its rules lifted, and the way between the two."""

    policy: str
    value_unit: str
    heuristic: int
    steps: tuple[LossStep, ...]

    @property
    def optimum(self) -> int:
        """The best value with every rule lifted."""
        return self.steps[-1].value

    @property
    def loss(self) -> int:
        """All that is lost."""
        return self.optimum - self.heuristic


def grouping_loss(round_: Round, policy: str | Policy = "muri-s", limits: Limits | None = None) -> GroupingLoss:
    """Return how far the published grouping of a round is from the optimum, split by cause.

    CPUs and memory count for the whole cluster, as in the chapter *grouping*. A step that was not solved to its optimum
    in time says so; its value is the best that was found. Restarts do not count. Rounds in which
    jobs ask for certain nodes, or have priorities, are refused: there, a group is not lost by one cause alone.
    """
    chosen = policy_from(policy)
    spec = chosen.spec
    if not isinstance(chosen, MuriPolicy):
        raise InputError("policy", repr(chosen.name), "muri-s or muri-l: the loss is that of grouping")
    chosen = replace(chosen, restarts="ignore")
    admit(chosen, round_)
    round_ = chosen.decided_part(round_)
    field = unhonoured(round_.used_fields, INFORMATION | {"tenant.parent"})
    if field is not None:
        raise refusal(round_.used_fields, field, "the loss by causes", ())
    formulation = program_of(chosen.rules)
    if not isinstance(formulation, GroupingFormulation):
        raise TypeError(f"{spec} has no grouping program")
    rules = replace(formulation.rules, worst_order=False, sizes="mixed", distinct=True)
    program = GroupingFormulation(rules=rules)
    decision = chosen.decide(round_, seed=(limits or Limits()).seed)
    heuristic = decision_value(round_, chosen.rules, decision)
    start = program.encode(round_, decision)
    allowed = _allowed(round_, chosen, GroupColumns.of(round_, rules))
    budget = limits or Limits()
    reached = int(start @ GroupColumns.of(round_, rules).value)
    try:
        with borrowed_worker() as worker:
            seconds = None if budget.seconds is None else budget.seconds + GRACE_SECONDS
            found = worker.call(best_of_each, round_, program, allowed, budget, start, seconds=seconds)
    except WorkerError:  # stopped or dead: nothing better was found
        found = [(reached, False)] * len(allowed)
    values = [reached, *(value for value, _ in found)]
    proved = [True, *(optimal for _, optimal in found)]
    gains = np.diff([heuristic, *values]).tolist()
    steps = (
        LossStep(cause=cause, value=value, loss=gain, optimal=optimal)
        for cause, value, gain, optimal in zip(CAUSES, values, gains, proved, strict=True)
    )
    return GroupingLoss(policy=spec, value_unit=unit_of(chosen.rules), heuristic=heuristic, steps=tuple(steps))


def best_of_each(
    round_: Round, program: GroupingFormulation, allowed: list[Mask], limits: Limits, start: Ints
) -> list[tuple[int, bool]]:
    """Return, for each set of allowed groups, the best value and whether it is shown to be; later sets hold earlier."""
    budget = Budget(limits=limits)
    model = build(round_, program)
    backend = backend_named(FIRST_BACKEND)
    found = []
    for place, mask in enumerate(allowed):
        turn = budget.share(1 / (len(allowed) - place)).left()
        columns = np.flatnonzero(mask)
        part = restricted(model, columns)
        try:
            solve = solve_wide if is_wide(part) else type(backend).solve
            outcome = solve(backend, part, turn, start[columns])
        except RefusalError:
            found.append((int(start @ model.objective), False))
            continue
        budget.spend(outcome.work)
        if outcome.values is not None:
            start = np.zeros_like(start)
            start[columns] = outcome.values
        found.append((int(start @ model.objective), outcome.termination.reason is Reason.OPTIMAL))
    return found


def _allowed(round_: Round, policy: MuriPolicy, columns: GroupColumns) -> list[Mask]:
    """Return which groups may run after each rule is lifted, from the second cause on."""
    chosen = policy.grouped(round_)
    job_of = np.argsort(columns.types.type_of)  # every job is a type of its own
    used = columns.groups >= 0
    members = np.where(used, job_of[columns.groups], -1)
    group_of, pair_of = (np.full(len(round_.jobs), -1, dtype=np.int64) for _ in range(2))
    pairs = 0
    for place, group in enumerate(chosen.groups):
        group_of[list(group)] = place
        for first in range(0, len(group), 2):
            pair_of[list(group[first : first + 2])] = pairs
            pairs += 1
    g = np.where(used, columns.types.g[columns.groups], 0)
    equal = np.where(used, g, g.max(axis=1, initial=0)[:, None]).min(axis=1, initial=1 << 40) == columns.gpus
    candidate = np.where(used, group_of[members], 0).min(axis=1, initial=0) >= 0
    together = _different(np.where(used, group_of[members], -1)) <= 1
    two_pairs = _different(np.where(used, pair_of[members], -1)) <= 2
    return [
        equal & candidate & together,
        equal & candidate & two_pairs,
        equal & candidate,
        equal,
        np.ones_like(equal),
    ]


def _different(names: Ints) -> Ints:
    """Return how many different names of at least 0 each row has."""
    ordered = np.sort(names, axis=1)
    new = np.diff(ordered, axis=1, prepend=-1) > 0
    return np.asarray((new & (ordered >= 0)).sum(axis=1), dtype=np.int64)
