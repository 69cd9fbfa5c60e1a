"""Maximum-weight matching on complete graphs of interleaving weights, against networkx and rustworkx."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import median
from muri_opt.algorithms.matching import Matching, match_types, max_weight_matching
from muri_opt.rounds import Job
from muri_opt.systems.muri import PAPER, Grouping, group_jobs, grouping
from muri_opt.systems.muri.interleaving import pair_weights_ppm
from muri_opt.verify.certificates.matching import matching_breaches

# Published profile of eight models on 8 GPUs (data, GPU and network milliseconds; Rivendile/Muri, Apache-2.0).
PROFILE = np.array(
    [
        [82, 75, 66],
        [82, 88, 60],
        [784, 117, 77],
        [769, 57, 10],
        [0.5, 167, 59],
        [0.6, 419, 49],
        [502, 14, 0.4],
        [435, 8, 0.5],
    ]
)


def main() -> None:
    """Print a table of times and ratios."""
    print("## Matching: complete graphs of interleaving weights\n")
    print("Seconds of the processor, which other work on the machine changes little.\n")
    print("| vertices | stage times | ours | checking the proof | reference | times faster |")
    print("| --- | --- | --- | --- | --- | --- |")
    for size, engine in ((256, "networkx"), (256, "rustworkx"), (1000, "rustworkx"), (2000, None), (5000, None)):
        for kind in ("uniform", "models"):
            weights = pair_weights_ppm(stage_times(size, kind))
            found = max_weight_matching(weights)
            times = [spent_on(lambda w=weights: max_weight_matching(w)) for _ in range(1 if size >= 2000 else 5)]
            ours, checking = statistics.median(times), spent_on(lambda w=weights, f=found: check(w, f))
            print(f"| {size:,} | {kind} | {ours:.3f} s | {checking:.3f} s |", end=" ", flush=True)
            if engine is None:
                print("| |")
                continue
            values: list[int] = []
            spent = spent_on(lambda w=weights, e=engine, v=values: v.append(max_weight_matching(w, engine=e).value))
            assert values == [found.value]
            print(f"{engine} {spent:.1f} s | {spent / ours:.0f} |")
    print("\n| vertices | types | proved matching |")
    print("| --- | --- | --- |")
    for types in (8, 48, 100):
        stages = np.repeat(stage_times(types, "uniform"), 2, axis=0)
        weights = pair_weights_ppm(stages)[::2, 1::2]
        weights = np.maximum(weights, weights.T)
        counts = np.random.default_rng(1).multinomial(100_000, np.ones(types) / types)
        print(f"| 100,000 | {types} | {median(lambda w=weights, c=counts: match_types(w, c)):.3f} s |", flush=True)
    print("\n| one-GPU jobs | types | Muri's grouping, job by job | type by type | times faster |")
    print("| --- | --- | --- | --- | --- |")
    for size, types in ((500, 16), (1_000, 16), (2_000, 16), (2_000, 48)):
        kinds = np.random.default_rng(2).integers(0, types, size)
        rows = stage_times(types, "uniform")[kinds] / 1_000_000
        jobs = [Job(id=f"j{j}", gpus=1, stage_seconds=tuple(row)) for j, row in enumerate(rows.tolist())]
        (each, by_job), (typed, by_type) = grouped(jobs[::-1], many=size + 1), grouped(jobs, many=0)
        assert by_job.rounds[0] == by_type.rounds[0]  # as many pairs, of the same weight
        print(f"| {size:,} | {types} | {each:.3f} s | {typed:.3f} s | {each / typed:.0f} |", flush=True)


def spent_on(action: Callable[[], object]) -> float:
    """Return the seconds of the processor that an action takes."""
    began = time.process_time()
    action()
    return time.process_time() - began


def grouped(jobs: list[Job], many: int) -> tuple[float, Grouping]:
    """Return how long Muri's grouping on a quarter as many GPUs takes, and the groups, by types from ``many`` jobs."""
    with patch.object(grouping, "MANY", many):
        began = time.perf_counter()
        found = group_jobs(jobs, len(jobs) // 4, PAPER)
        return time.perf_counter() - began, found


def stage_times(size: int, kind: str, seed: int = 1) -> NDArray[np.int64]:
    """Return stage times in microseconds: uniform, or of eight models with 2 % jitter."""
    draw = np.random.default_rng(seed)
    if kind == "uniform":
        return draw.integers(1, 10**6, (size, 4))
    data, gpu, network = PROFILE[draw.integers(0, len(PROFILE), size)].T * 1000
    split = draw.uniform(0.2, 0.8, size)
    stages = np.stack([data * split, data * (1 - split), gpu, network], axis=1)
    return (stages * draw.uniform(0.98, 1.02, stages.shape)).astype(np.int64)


def check(weights: NDArray[np.int64], found: Matching) -> None:
    """Check the proof, and that it holds."""
    blossoms = [(blossom.vertices, blossom.dual) for blossom in found.blossoms]
    assert matching_breaches(weights, found.mate, found.value, found.vertex_duals, blossoms) == []


if __name__ == "__main__":
    main()
