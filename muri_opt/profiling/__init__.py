"""Numbers for a round: plan speeds (``plan_speed``), lengths of jobs (``job_length``), and a timer for their stages."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.profiling.stage_timer import Spread as Spread, StageTimer as StageTimer

__all__, __getattr__, __dir__ = names_on_demand(__name__, {"muri_opt.profiling.stage_timer": ("Spread", "StageTimer")})
