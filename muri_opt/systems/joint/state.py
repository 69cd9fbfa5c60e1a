"""What runs, while a round is decided: where jobs are, how they may share, and what a change would cost them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import microseconds
from muri_opt.rounds.sharing_now import Held, SharingNow, homes_now, homes_of
from muri_opt.systems.joint.group_value import Group, placed_value
from muri_opt.systems.joint.job_model import Floats, Models
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.joint.worth import Worth


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A round to be decided: its jobs as models, what their work is worth, and by which rules."""

    round_: Round
    models: Models
    worth: Worth
    rules: JointRules

    def left_by_restart(self) -> Floats:
        """Return which part of its value each job keeps if it runs and is changed."""
        if not self.rules.pay:
            return np.ones(len(self.models))
        lost = np.array([max(1, microseconds(job.restart_seconds or 0.0)) for job in self.round_.jobs])
        kept: Floats = np.maximum(0, self.rules.horizon - lost) / self.rules.horizon
        return kept


@dataclass(kw_only=True, eq=False)
class State:
    """Where jobs run: ``held[j]`` are the GPUs of job j, ``None`` where it waits."""

    case: Case
    held: Sequence[Held | None]
    now: SharingNow

    @classmethod
    def of(cls, case: Case) -> State:
        """Return what runs in the round."""
        now = homes_now(case.round_)
        return cls(case=case, held=[None if at < 0 else now.homes[at].held for at in now.of], now=now)

    def after(self, placed: Mapping[Group, Ints]) -> State:
        """Return what runs after groups have got GPUs per node, and all others none."""
        held: list[Held | None] = [None] * len(self.held)
        nodes = self.case.round_.cluster.nodes
        for group, share in placed.items():
            used = share.nonzero()[0]
            where = tuple(sorted((nodes[s].id, n) for s, n in zip(used.tolist(), share[used].tolist(), strict=True)))
            for job in group:
                held[job] = where
        return State(case=self.case, held=held, now=homes_of(self.case.round_, held))

    @cached_property
    def runs(self) -> Ints:
        """Which jobs run, as 0 and 1."""
        return np.array([where is not None for where in self.held], dtype=np.int64)

    @cached_property
    def worth(self) -> Worth:
        """What work is worth where those that run lose by a change."""
        whole, rules, jobs = self.case.worth, self.case.rules, self.case.round_.jobs
        changed = whole.work.copy()
        for job in np.flatnonzero(self.runs).tolist() if rules.pay else ():
            lost = max(1, microseconds(jobs[job].restart_seconds or 0.0))
            changed[job] = int(whole.work[job]) * max(0, rules.horizon - lost) // rules.horizon
        return Worth(work=whole.work, changed=changed, unit=whole.unit)

    def value(self, placed: Mapping[Group, Ints]) -> int:
        """Return what groups add on GPUs per node, less what is lost by changes."""
        case = self.case
        return placed_value(case.round_, case.models, self.worth, case.rules, placed, self.now)
