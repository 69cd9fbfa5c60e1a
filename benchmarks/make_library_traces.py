"""How the family ``traces`` was made: ``python -m benchmarks.make_library_traces FOLDER [SERIES ...]`` makes it again.

Eight series after public traces, each of rounds of 10 to 10,000 jobs on a tenth as many nodes. Only the calls of the
generator are stored, with the digests of what they make. Solvers work within a time limit, so that another machine may
leave more open; ``muri-opt library refresh`` never makes anything worse.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from muri_opt import Limits
from muri_opt.rounds.generate.published.published_rounds import PUBLISHED
from muri_opt.studies.library import Recipe, add, solved
from muri_opt.studies.library.recipe import Draw

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)
SEED = 1
JOBS_PER_NODE = 10
ALL_POLICIES_UP_TO = 1000
"""Of larger rounds only the first policy is solved: a decision takes up to half a megabyte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Rounds of growing size of one generated family, with the policies they are solved under."""

    name: str
    policies: Sequence[str]
    source: str

    @property
    def family(self) -> str:
        """The family of the generator."""
        return f"{self.name}-trace"


SERIES = (
    Series(
        name="tiresias",
        policies=("tiresias", "srtf"),
        source="GPUs of the 60 jobs in the repository of Tiresias (NSDI 2019), seconds of service of the simulator of "
        "AFS (NSDI 2021)",
    ),
    Series(
        name="muri",
        policies=("muri-s", "muri-l"),
        source="GPUs, models, iteration and stage times of the jobs in the traces of Rivendile/Muri (SIGCOMM 2022), "
        "seconds of service of its trace 3; jobs of 32 GPUs ask for 16",
    ),
    Series(
        name="afs",
        policies=("afs-l", "optimus"),
        source="GPUs, seconds of service and speed-ups of nine models in the simulator of AFS (NSDI 2021)",
    ),
    Series(
        name="deadline",
        policies=("deadline",),
        source="as the series afs, with deadlines of 0.5 to 1.5 times the seconds of service, as ElasticFlow "
        "(ASPLOS 2023) draws them",
    ),
    Series(
        name="joint",
        policies=("joint-s", "joint-l"),
        source="models, stage times and iteration times by GPUs in the traces of Rivendile/Muri (SIGCOMM 2022)",
    ),
    Series(
        name="rubick",
        policies=("rubick", "sia"),
        source="models, GPUs, seconds of service, guarantees and measured iteration times of six models in "
        "AlibabaPAI/reconfigurable-dl-scheduler (Rubick)",
    ),
    Series(
        name="aiturbo",
        policies=("aiturbo", "optimus-ps"),
        source="servers, workers, predictability and running times of the job table of LFSCODE/AITurbo (HPDC 2021); "
        "speeds are drawn here",
    ),
    Series(
        name="philly",
        policies=("philly", "philly:objective=weighted"),
        source="GPUs, running times and virtual clusters of the trace of Philly (ATC 2019) as flattened by Sia's "
        "authors; quotas are the parts of the GPU time",
    ),
)


def seconds_for(jobs: int) -> float:
    """Return the time limit of a solve."""
    return 10.0 if jobs <= 100 else 30.0 if jobs <= 1000 else 90.0


def draw_for(series: Series, jobs: int) -> Draw:
    """Return the call of the generator for a round of a series."""
    nodes = max(2, jobs // JOBS_PER_NODE)
    return Draw(family=series.family, jobs=jobs, nodes=nodes, seed=SEED)


def make(folder: str, series: Series, jobs: int) -> None:
    """Solve one round and write its two files."""
    recipe = Recipe.of(draw_for(series, jobs))
    round_ = recipe.round()
    policies = series.policies if jobs <= ALL_POLICIES_UP_TO else series.policies[:1]
    results = [solved(round_, policy, Limits(seconds=seconds_for(jobs))) for policy in policies]
    source = f"{PUBLISHED[series.family].what}: {series.source}"
    name = f"traces/{series.name}-{jobs}"
    added = add(folder, name, recipe, results, source=source, today=datetime.now(UTC).date())
    print(name, *(f"{one.policy}={one.value}/{one.bound} {one.proof}" for one in added.best.optima), flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Write the files of the series that are named, or of all, the smallest rounds first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("series", metavar="SERIES", nargs="*", default=[one.name for one in SERIES])
    parser.add_argument("--jobs", metavar="N", type=int, nargs="*", default=SIZES, help="sizes (default: all)")
    chosen = parser.parse_args(arguments)
    for jobs in chosen.jobs:
        for series in SERIES:
            if series.name in chosen.series:
                make(chosen.folder, series, jobs)


if __name__ == "__main__":
    main()
