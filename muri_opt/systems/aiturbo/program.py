"""Chapter *configuration*: by which configuration each job runs.

The rows and letters are those of the chapter *planning*; what an option is worth is another matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muri_opt.systems.plans.program import PlanningFormulation


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationFormulation(PlanningFormulation):
    """Run as many jobs as can be, then with the least remaining time, or remaining time by service units.

    >>> from muri_opt.systems.plans import PlanRules
    >>> program = ConfigurationFormulation(rules=PlanRules(objective="time"))
    >>> len(program.build(shipped_round("toy/four-configurations")).objective)
    16
    """

    chapter: ClassVar[str] = "configuration"
