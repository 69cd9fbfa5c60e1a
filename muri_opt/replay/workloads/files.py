"""One text for every workload: a file of any known format, or a family to generate, and what to make of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from muri_opt.errors import InputError
from muri_opt.replay.traces.csv_columns import header_of
from muri_opt.replay.traces.reading import MOST_BYTES, found_format, parse_trace
from muri_opt.replay.workload import Workload
from muri_opt.replay.workloads import muri_trace, rubick_trace
from muri_opt.replay.workloads.generated import MOST_GAP, MOST_JOBS, generate_workload
from muri_opt.replay.workloads.plans import with_plans_by_text
from muri_opt.replay.workloads.public_traces import without_large, workload_of
from muri_opt.replay.workloads.rubick_tables import read_plans
from muri_opt.replay.workloads.scaling import read_curves, with_scaling
from muri_opt.replay.workloads.skipped_rows import kept
from muri_opt.replay.workloads.stages import read_models, with_stages
from muri_opt.rounds.error_text import whole_range
from muri_opt.rounds.quantities import MAX_GPUS, MAX_ITERATIONS, MAX_SECONDS
from muri_opt.rounds.text_files import in_file, read_text
from muri_opt.rounds.text_options import TextOptions

GENERATE: Final = "generate:"
MOST_COUNT: Final = 100_000
MOST_SEED: Final = 2**63 - 1
_ANY: Final = ("most-gpus", "first", "stages", "restart", "scaling", "plans")


def read_workload(text: str) -> Workload:
    """Return the workload that a text stands for: ``trace.csv``, ``trace.csv?tenant=a``, ``generate:philly?jobs=9``.

    The format of a file is found from its header. Options follow a question mark, separated by ``&``: ``tenant`` of a
    public trace; ``measured``, the folder of the measured tables of a workload of Rubick's authors; ``jobs``, ``seed``
    and ``gap`` of a family; and of all, ``most-gpus`` to leave larger jobs out, ``first`` to keep so many jobs of those
    that are left, ``stages``, a trace of the Muri authors whose models the jobs take in turn, ``restart``, the seconds
    a restart takes, ``scaling``, a file of scaling tables that the jobs take in turn, and ``plans``, such as
    ``rubick@8x8``: plans made of those tables.
    """
    if not text:
        raise InputError("workload", "nothing", f"a file, or {GENERATE}FAMILY")
    source, _, tail = text.partition("?")
    options = TextOptions.of("workload", tail)
    workload = _generated(source, options) if source.startswith(GENERATE) else _from_file(source, options)
    most = options.whole("most-gpus", MAX_GPUS)
    if most is not None:
        workload = without_large(workload, most)
    first = options.whole("first", MAX_ITERATIONS)
    if first is not None:
        workload = kept(workload, workload.jobs[:first], "later")
    stages = options.text("stages")
    if stages is not None:  # first of what is made of jobs: it changes what an iteration is, which plans count
        workload = with_stages(workload, read_models(stages))
    restart = options.number("restart", MAX_SECONDS)
    if restart is not None:
        jobs = tuple(msgspec.structs.replace(job, restart_seconds=restart) for job in workload.jobs)
        workload = replace(workload, jobs=jobs)
    scaling, plans = options.text("scaling"), options.text("plans")
    if scaling is not None:
        workload = with_scaling(workload, read_curves(scaling))
    return workload if plans is None else with_plans_by_text(workload, plans)


def workload_texts(text: str) -> list[str]:
    """Return the texts of the workloads that a text stands for: of a family with ``count``, one for each seed.

    >>> workload_texts("generate:tiresias?jobs=9&count=2&seed=5")
    ['generate:tiresias?jobs=9&seed=5', 'generate:tiresias?jobs=9&seed=6']
    """
    source, _, tail = text.partition("?")
    options = TextOptions.of("workload", tail)
    count = options.whole("count", MOST_COUNT)
    if count is None or not source.startswith(GENERATE):
        return [text]
    if count == 0:
        raise InputError("count", "0", whole_range(1, MOST_COUNT))
    first = options.whole("seed", MOST_SEED) or 0
    others = [f"{key}={value}" for key, value in options.values.items() if key not in ("count", "seed")]
    return [f"{source}?{'&'.join([*others, f'seed={seed}'])}" for seed in range(first, first + count)]


def _generated(source: str, options: TextOptions) -> Workload:
    options.check("jobs", "seed", "gap", *_ANY)
    seed = options.whole("seed", MOST_SEED)
    return generate_workload(
        source.removeprefix(GENERATE),
        jobs=options.whole("jobs", MOST_JOBS),
        seed=0 if seed is None else seed,
        gap=options.number("gap", MOST_GAP),
    )


def _from_file(path: str, options: TextOptions) -> Workload:
    name = Path(path).stem
    with in_file(path):
        text = read_text(path, "a workload", MOST_BYTES)
    header = header_of(text)
    if set(muri_trace.LAYOUT.needed) <= set(header):
        options.check(*_ANY)
        with in_file(path):
            return muri_trace.muri_workload(text, name)
    if set(rubick_trace.LAYOUT.needed) <= set(header):
        options.check("measured", *_ANY)
        plans, _ = read_plans(options.text("measured") or Path(path).parent)
        with in_file(path):
            return rubick_trace.rubick_workload(text, name, plans)
    options.check("tenant", *_ANY)
    with in_file(path):
        trace = parse_trace(text, _trace_format(text))
    return workload_of(trace, name=name, tenant=options.text("tenant"))


def _trace_format(text: str) -> str:
    try:
        return found_format(text)
    except InputError as error:
        muri, rubick = (", ".join(layout.needed) for layout in (muri_trace.LAYOUT, rubick_trace.LAYOUT))
        raise InputError(error.field, error.found, f"{error.allowed}; muri: {muri}; rubick: {rubick}") from None
