"""Maximum-weight matching on complete graphs of interleaving weights, against networkx, rustworkx and PyMatching.

Run with ``python -m benchmarks.matching [--sizes N ...] [--seeds N ...]``; it takes some minutes, most of them in
rustworkx. PyMatching has wheels for x86 alone, and is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import importlib.util
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


REFERENCES = {256: ("networkx", "rustworkx"), 512: ("rustworkx",), 1000: ("rustworkx",)}
"""Who is asked for the same at which size; PyMatching at all of these."""


def main(arguments: list[str] | None = None) -> None:
    """Print tables of times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[256, 512, 1000, 2000, 5000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    given = parser.parse_args(arguments)
    print("## Matching: complete graphs of interleaving weights\n")
    print("Seconds of the processor, which other work on the machine changes little.\n")
    print("| vertices | stage times | seed | ours | checking the proof | reference | times faster |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for size in given.sizes:
        for kind in ("uniform", "models"):
            for seed in given.seeds:
                compare(size, kind, seed)
    by_types()


def compare(size: int, kind: str, seed: int) -> None:
    """Print what one graph takes, a row for each of the others."""
    weights = pair_weights_ppm(stage_times(size, kind, seed))
    found = max_weight_matching(weights)
    times = [spent_on(lambda: max_weight_matching(weights)) for _ in range(1 if size >= 2000 else 5)]
    ours, checking = statistics.median(times), spent_on(lambda: check(weights, found))
    head = f"| {size:,} | {kind} | {seed} | {ours:.4f} s | {checking:.4f} s |"
    others = {}
    if size in REFERENCES and (peer := by_pymatching(weights)) is not None:
        others["PyMatching"] = peer
    for engine in REFERENCES.get(size, ()):
        if engine != "networkx" or (kind, seed) == ("uniform", 1):  # it takes minutes for all of them
            began = time.process_time()
            value = max_weight_matching(weights, engine=engine).value
            others[engine] = (time.process_time() - began, value)
    for name, (spent, value) in others.items():
        assert value == found.value
        print(f"{head} {name} {spent:.4f} s | {spent / ours:.1f} |", flush=True)
    if not others:
        print(f"{head} | |", flush=True)


def by_pymatching(weights: NDArray[np.int64]) -> tuple[float, int] | None:
    """Return the seconds of PyMatching and the weight of its pairs, or ``None`` where it is not installed.

    It finds a perfect matching of least weight: with 2W - w for a weight of w, none of which is above W, that is the
    largest one, and a path over a third vertex costs no less than the edge. The graph is built before, and by a first
    call. The number of vertices is even.
    """
    if importlib.util.find_spec("pymatching") is None:
        return None
    import pymatching

    least = 2 * (int(weights.max()) + 1) - weights
    graph = pymatching.Matching()
    for u in range(len(weights)):
        for v in range(u):
            graph.add_edge(u, v, weight=int(least[u, v]))
    everybody = np.ones(len(weights), dtype=np.uint8)
    pairs = graph.decode_to_edges_array(everybody)
    spent = [spent_on(lambda: graph.decode_to_edges_array(everybody)) for _ in range(3)]
    return statistics.median(spent), int(weights[pairs[:, 0], pairs[:, 1]].sum())


def by_types() -> None:
    """Print what equal vertices take, and Muri's grouping of equal jobs."""
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
    """Return how long Muri's grouping on a quarter as many GPUs takes, and the groups, by types from ``many`` jobs.

    However many there are, they are matched at once: in blocks, as more than a thousand usually are, pairs weigh less.
    """
    with patch.object(grouping, "MANY", many), patch.object(grouping, "MOST_EXACT", len(jobs)):
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
