"""Chapter *configuration*: by which configuration each job runs, and whom a given order admits.

The rows and letters are those of the chapter *planning*; what an option is worth is another matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

import numpy as np

from muri_opt.errors import InputError
from muri_opt.modelling import STAGE_DIGITS, Model, Stage
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.program import PlanningFormulation
from muri_opt.systems.plans.program_columns import PlanColumns
from muri_opt.systems.program import Formulation

MOST_RANKED: Final = 60
"""Jobs of a lexicographic order: their binary weights fit a machine word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationFormulation(PlanningFormulation):
    """Run as many jobs as can be, then with the least remaining time, or remaining time by service units.

    >>> from muri_opt.systems.plans import PlanRules
    >>> program = ConfigurationFormulation(rules=PlanRules(objective="time"))
    >>> len(program.build(shipped_round("toy/four-configurations")).objective)
    16
    """

    chapter: ClassVar[str] = "configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionFormulation(PlanningFormulation):
    """Admit the best set of jobs for an order of all jobs, by their names, first served first.

    ``weighted``: the job of rank r among n counts n - r. ``lexicographic``: a job counts more than all after it.

    >>> from muri_opt.systems.plans import PlanRules
    >>> program = AdmissionFormulation(rules=PlanRules(), order=("c", "a", "b", "d", "e"))
    >>> len(program.build(shipped_round("toy/five-plans")).objective)
    24
    """

    order: tuple[str, ...]
    objective: str = "weighted"

    chapter: ClassVar[str] = "configuration"

    def table(self, round_: Round) -> PlanColumns:
        """Return the columns with the options worth what the rank of their job is."""
        table = PlanningFormulation.table(self, round_)
        worth = self._weights(round_)[table.options.job]
        return replace(table, options=replace(table.options, e=worth, served=0, started=0))

    def stages(self, round_: Round, model: Model) -> tuple[Stage, ...]:
        """Return one stage, or for the lexicographic objective one per block of jobs in their order."""
        if self.objective == "weighted" or not self.order:
            return Formulation.stages(self, round_, model)
        stages, rest, left = [], model.objective, len(self.order)
        for block in (self.order[start : start + STAGE_DIGITS] for start in range(0, len(self.order), STAGE_DIGITS)):
            left -= len(block)
            digits = rest >> left
            stages.append(Stage(objective=digits, weight=1 << left, best=(1 << len(block)) - 1))
            rest = rest - (digits << left)
        return tuple(stages)

    def _weights(self, round_: Round) -> Ints:
        """Return what each job is worth, or refuse an order that is none of these jobs."""
        count = len(round_.jobs)
        if sorted(self.order) != sorted(round_.job_index):
            raise InputError("order", f"{len(self.order)} names", f"every job of the round once, {count} in all")
        ranks = np.argsort([round_.job_index[job] for job in self.order]).astype(np.int64)
        if self.objective == "weighted":
            return np.asarray(count - ranks, dtype=np.int64)
        if count > MOST_RANKED:
            raise InputError("order", f"{count} jobs", f"at most {MOST_RANKED} for the lexicographic objective")
        return np.asarray(1 << (count - 1 - ranks), dtype=np.int64)
