"""Many replays: where they run, what is kept of them, and how they compare."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.replay.studies.cluster_text import cluster_from as cluster_from
    from muri_opt.replay.studies.outcome_files import load_outcome as load_outcome
    from muri_opt.replay.studies.runs import RunRow as RunRow, StudyRun as StudyRun
    from muri_opt.replay.studies.study import (
        StudyError as StudyError,
        outcomes_of as outcomes_of,
        run_study as run_study,
    )

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.replay.studies.cluster_text": ("cluster_from",),
        "muri_opt.replay.studies.outcome_files": ("load_outcome",),
        "muri_opt.replay.studies.runs": ("RunRow", "StudyRun"),
        "muri_opt.replay.studies.study": ("StudyError", "outcomes_of", "run_study"),
    },
)
