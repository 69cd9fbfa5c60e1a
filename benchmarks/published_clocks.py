"""Replays by the clocks of the Muri and AFS authors beside reference figures.

Those of Muri are of its authors' simulator; those of AFS are of another implementation of its authors' rules, and for
``afs-p`` also of the authors' program, given the same jobs.

DIR holds your own copies of the files, which are not part of this project: the Muri authors' trace of their testbed as
``muri/cluster_trace.csv``, the flattened Philly trace of the Sia artifact as ``philly/philly_jobs.csv``, and the AFS
authors' curves as ``afs/iteration_seconds.csv`` (columns model, gpus, iteration_seconds). Muri: 8 nodes of 8 GPUs, its
authors' simulator at its default settings. AFS: 64 GPUs, average completion time in hours. ``afs-p`` tosses a coin, and
that of a reference is not known: the first table has its mean over the seeds, the last one how far they spread. CPU
seconds are those of the replay in this process; reading files is left out.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import fmean, pstdev

from muri_opt.replay import Workload
from muri_opt.replay.metrics.summary import summary
from muri_opt.replay.run import replay
from muri_opt.replay.studies.cluster_text import cluster_from
from muri_opt.replay.workloads.files import read_workload

MURI = {
    "srtf": (247_452.951389, 4_066_819.995340, 2_726_257.330000),
    "srsf": (233_909.169400, 4_198_586.591175, 3_080_984.527375),
    "tiresias": (328_736.501183, 3_991_729.080450, 2_847_184.146585),
    "muri-s:preset=authors": (120_033.713815, 2_663_198.680519, 797_906.036504),
    "muri-l:preset=authors": (127_846.003041, 2_671_191.064545, 869_497.072355),
    "muri-l:preset=authors,matching=queue": (140_677.135007, 2_801_419.145834, 911_230.626756),
    "muri-l:preset=authors,ordering=worst": (227_994.454706, 2_848_600.115142, 1_651_465.053659),
    "muri-s:preset=authors,autopack=off": (120_273.806047, 2_663_275.906687, 795_175.639108),
    "muri-l:preset=authors,autopack=off": (125_001.723623, 2_671_073.274781, 854_098.048663),
}
"""Average completion time, last end and 99th percentile of the authors' simulator, in seconds."""
AFS_POLICIES = (
    "fifo",
    "srtf",
    "srsf",
    "tiresias:queues=3250",
    "tiresias:queues=180000",
    "max-min-elastic",
    "srtf-elastic",
    "optimus",
    "afs-p",
    "afs-l:scan=arrival",
)
AFS = {
    "e13805": (15.338, 15.338, 15.338, 15.338, 15.338, 4.934, 5.069, 4.920, 4.899, 4.897),
    "2869ce": (43.189, 34.203, 37.363, 42.169, 38.746, 25.855, 118.301, 26.240, 23.706, 22.917),
    "ed69ec": (7.862, 7.862, 7.862, 7.862, 7.862, 2.833, 4.219, 2.871, 2.649, 2.583),
}
"""Reference hours, one for each policy above; that of ``afs-p`` is of one run of its coin."""
AUTHORS_AFS_P = {
    "e13805": (4.898, 4.898, 4.899),
    "2869ce": (23.701, 23.653, 23.753),
    "ed69ec": (2.646, 2.642, 2.650),
}
"""Mean, least and most hours of the authors' own program for ``afs-p`` on these jobs, seeds 0 to 19 of its coin."""
SECONDS_PER_HOUR = 3600


def main(arguments: list[str] | None = None) -> None:
    """Print the tables of both clocks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--clock", choices=("muri", "afs"), help="the tables of one of the two only")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="of the coin of afs-p (default: 3)")
    given = parser.parse_args(arguments)
    if given.seeds < 1:
        parser.error("--seeds: at least 1")
    if given.clock != "afs":
        muri_table(given.folder)
    if given.clock != "muri":
        afs_tables(given.folder, given.seeds)


def muri_table(folder: Path) -> None:
    """Print every policy by Muri's clock: three figures in seconds, and how far each is from the authors'."""
    workload, cluster = read_workload(str(folder / "muri" / "cluster_trace.csv")), cluster_from("8x8")
    print(f"Muri's clock: {len(workload.jobs)} jobs, 8 nodes of 8 GPUs, seconds\n")
    print("| policy | mean JCT | authors' | | last end | authors' | | 99th | authors' | | CPU s |")
    print("| --- |" + " ---: |" * 10)
    for policy, published in MURI.items():
        began = time.process_time()
        found = summary(replay(workload, cluster, policy, clock="muri")).as_dict()
        spent = time.process_time() - began
        cells = []
        for name, other in zip(("mean", "last_end", "p99_muri"), published, strict=True):
            cells += [f"{found[name]:,.6f}", f"{other:,.6f}", compared(found[name], other)]
        print(f"| {policy} | " + " | ".join(cells) + f" | {spent:.1f} |", flush=True)
    print()


def compared(value: float, other: float) -> str:
    """Return the difference in per cent, or that there is none to six decimals."""
    return "equal" if f"{value:.6f}" == f"{other:.6f}" else f"{value / other - 1:+.2%}"


def afs_tables(folder: Path, seeds: int) -> None:
    """Print hours of average completion time by AFS' clock, and how those of ``afs-p`` spread over the seeds."""
    print(f"AFS' clock: 64 GPUs, hours of average completion time; afs-p: mean of seeds 0 to {seeds - 1} of its coin\n")
    print("| virtual cluster (jobs) | " + " | ".join(("", *AFS_POLICIES, "CPU s")) + " |")
    print("| --- | --- |" + " ---: |" * (len(AFS_POLICIES) + 1))
    tossed = {}
    for tenant, published in AFS.items():
        workload = tenant_jobs(folder, tenant)
        label = f"{tenant} ({len(workload.jobs)})"
        began = time.process_time()
        found = {policy: mean_hours(workload, policy, seeds if policy == "afs-p" else 1) for policy in AFS_POLICIES}
        spent = time.process_time() - began
        tossed[tenant] = (label, found["afs-p"])
        ours = " | ".join(f"{fmean(hours):.3f}" for hours in found.values())
        print(f"| {label} | ours | {ours} | {spent:.1f} |")
        print("| | reference | " + " | ".join(f"{hours:.3f}" for hours in published) + " | |", flush=True)
    print("\nafs-p over the seeds, and the authors' program over 20 seeds of its own\n")
    print("| virtual cluster (jobs) | mean | deviation | least | most | authors' mean | least | most | difference |")
    print("| --- |" + " ---: |" * 8)
    for tenant, (label, hours) in tossed.items():
        authors = AUTHORS_AFS_P[tenant]
        cells = " | ".join(f"{value:.3f}" for value in (fmean(hours), pstdev(hours), min(hours), max(hours), *authors))
        print(f"| {label} | {cells} | {fmean(hours) / authors[0] - 1:+.2%} |")


def mean_hours(workload: Workload, policy: str, seeds: int) -> list[float]:
    """Return the average completion time in hours, one for each seed."""
    cluster = cluster_from("16x4")
    outcomes = (replay(workload, cluster, policy, clock="afs", seed=seed) for seed in range(seeds))
    return [summary(outcome).mean / SECONDS_PER_HOUR for outcome in outcomes]


def tenant_jobs(folder: Path, tenant: str) -> Workload:
    """Return the jobs of a virtual cluster of Philly, with the AFS authors' curves."""
    trace, curves = folder / "philly" / "philly_jobs.csv", folder / "afs" / "iteration_seconds.csv"
    return read_workload(f"{trace}?tenant={tenant}&scaling={curves}")


if __name__ == "__main__":
    main()
