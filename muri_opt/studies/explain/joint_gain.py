"""What deciding together gains: the joint optimum against the best that a single system could do by the same value.

Columns of the joint program are of kinds: a job alone with the GPUs it asks for, other shares, plans, groups, and
changes of what runs. A single system has one kind beside the first. From the best of these the others are allowed one
after another, each time the one that gains most, until all are: what the value rises by is what the kind gained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from muri_opt.errors import InputError, RefusalError
from muri_opt.modelling import Model
from muri_opt.rounds import Budget, Decision, Limits, Reason, Round
from muri_opt.solve.solvers import FIRST_BACKEND, backend_named, restricted
from muri_opt.systems import Policy, admit, policy_from, unit_of
from muri_opt.systems.joint.program.columns import JointColumns, Key
from muri_opt.systems.joint.program.formulation import JointFormulation
from muri_opt.systems.joint.rules import JointRules

KINDS: Final = {
    "shares": "other numbers of GPUs than jobs ask for",
    "plans": "other plans than the fastest with the GPUs a job asks for",
    "sharing": "several jobs on the same GPUs",
    "placement": "running jobs moved, resized or regrouped",
}
"""What may be decided beside who runs, and what that means."""
SYSTEMS: Final = {"shares": "elastic shares", "plans": "plans", "sharing": "groups", "placement": "gangs that move"}
"""The single system that decides each kind, for people."""
_ALONE: Final = "gangs"


@dataclass(frozen=True, slots=True, kw_only=True)
class GainStep:
    """One kind allowed: the best value with it, what that gains, and whether the value was shown to be the best."""

    kind: str
    value: int
    gain: int
    optimal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JointGain:
    """The values of single systems by name, the best of them, and the way from there to the joint optimum.

    ``decisions`` are those of the best single system and of the joint round.
    """

    policy: str
    value_unit: str
    singles: dict[str, int]
    best: str
    steps: tuple[GainStep, ...]
    decisions: tuple[Decision, Decision]
    optimal: bool

    @property
    def single(self) -> int:
        """The value of the best single system."""
        return self.singles[self.best]

    @property
    def optimum(self) -> int:
        """The value with all kinds allowed."""
        return self.steps[-1].value if self.steps else self.single


def joint_gain(round_: Round, policy: str | Policy = "joint-s", limits: Limits | None = None) -> JointGain:
    """Return what shares, plans, sharing and placement gain in a joint round over the best single system.

    All are valued as the joint policy values its decisions. Rounds in which jobs have priorities are refused.
    """
    chosen = policy_from(policy)
    if chosen.chapter != "joint":
        raise InputError("policy", repr(chosen.name), "joint-s or joint-l")
    admit(chosen, round_)
    round_ = chosen.decided_part(round_)
    if "job.priority" in round_.used_fields:
        raise RefusalError("job.priority", round_.used_fields["job.priority"], "none: one value is split by kinds")
    rules = JointRules.of({key: value for key, value in chosen.rules.items() if key != "chapter"})
    search = _Search(round_, JointFormulation(rules=rules), limits or Limits())
    alone = search.best(())
    singles = {_ALONE: alone}
    singles |= {SYSTEMS[kind]: search.best((kind,)).no_less_than(alone) for kind in KINDS}
    best = max(singles, key=lambda name: singles[name].value)
    allowed: tuple[str, ...] = tuple(kind for kind in KINDS if SYSTEMS[kind] == best)
    reached, steps = singles[best], list[GainStep]()
    while len(allowed) < len(KINDS):
        others = [kind for kind in KINDS if kind not in allowed]
        found = {kind: search.best((*allowed, kind)).no_less_than(reached) for kind in others}
        kind = max(found, key=lambda one: found[one].value)
        gain = found[kind].value - reached.value
        steps.append(GainStep(kind=kind, value=found[kind].value, gain=gain, optimal=found[kind].optimal))
        allowed, reached = (*allowed, kind), found[kind]
    return JointGain(
        policy=chosen.spec,
        value_unit=unit_of(chosen.rules),
        singles={name: one.value for name, one in singles.items()},
        best=best,
        steps=tuple(steps),
        decisions=(singles[best].decision, reached.decision),
        optimal=reached.optimal and all(one.optimal for one in singles.values()),
    )


class _Best(NamedTuple):
    """The best that was found with some kinds of columns, and whether a solver says that nothing is better."""

    value: int
    optimal: bool
    decision: Decision

    def no_less_than(self, fewer: _Best) -> _Best:
        """Return this, or where the time was too short for it what was found with fewer kinds, allowed here too."""
        return self if self.value >= fewer.value else fewer._replace(optimal=False)


class _Search:
    """The best decisions of a round with some kinds of columns."""

    def __init__(self, round_: Round, program: JointFormulation, limits: Limits) -> None:
        self._round, self._program = round_, program
        self._columns = JointColumns.of(round_, program.rules)
        self._model: Model = program.build(round_)
        self._budget = Budget(limits=limits)
        self._kinds = [self._kinds_of(key) for key in self._columns.keys]
        self._known: dict[frozenset[str], _Best] = {}

    def best(self, allowed: tuple[str, ...]) -> _Best:
        """Return the best with these kinds of columns only."""
        kinds = frozenset(allowed)
        if kinds not in self._known:
            self._known[kinds] = self._solved(kinds)
        return self._known[kinds]

    def _solved(self, allowed: frozenset[str]) -> _Best:
        groups = np.flatnonzero([kinds <= allowed for kinds in self._kinds])
        values, optimal = np.zeros(self._model.column_count, dtype=np.int64), True
        if len(groups):
            on_nodes = np.arange(len(self._kinds), self._model.column_count)
            columns = np.append(groups, on_nodes)
            limits = self._budget.share(0.2).left()
            outcome = backend_named(FIRST_BACKEND).solve(restricted(self._model, columns), limits, None)
            optimal = outcome.termination.reason is Reason.OPTIMAL
            if outcome.values is not None:
                values[columns] = outcome.values
        decision = self._program.decode(self._round, values)
        return _Best(value=int(values @ self._model.objective), optimal=optimal, decision=decision)

    def _kinds_of(self, key: Key) -> frozenset[str]:
        """Return which kinds a column is of: none for a job as it runs, or alone with the GPUs it asks for."""
        jobs = [self._round.jobs[job] for job in key.group]
        found = {"sharing"} if len(jobs) > 1 else set[str]()
        if self._stays(key):
            return frozenset(found)
        if any(job.state == "running" for job in jobs):
            found.add("placement")
        if key.way is not None:
            ways = self._columns.models.ways_of(key.group[0])
            fastest = min((way.period for way in ways if way.gpus == jobs[0].gpus), default=0)
            if ways[key.way].period != fastest or key.gpus != jobs[0].gpus:
                found.add("plans")
        elif any(key.gpus != job.gpus for job in jobs):
            found.add("shares")
        return frozenset(found)

    def _stays(self, key: Key) -> bool:
        """Return whether a column has all its jobs where they run now, by the plan that they run by."""
        if key.spot is None:
            return False
        nodes = self._round.cluster.nodes
        here = {nodes[node].id: gpus for node, gpus in key.spot}
        jobs = [self._round.jobs[job] for job in key.group]
        same = all(job.state == "running" and dict(job.placement or {}) == here for job in jobs)
        ways = self._columns.models.ways_of(key.group[0])
        return same and (key.way is None or ways[key.way].name == jobs[0].plan)
