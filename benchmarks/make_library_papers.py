"""The settings of the published systems that are in the library, each with the source of its figures.

Iteration times, stage times, speed-ups and job counts are the published ones. How much work is left of each job, and in
which order jobs came, is not published in this form: it is chosen here, plainly, and every source says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from muri_opt import Cluster, Job, Node, Plan, Round
from muri_opt.rounds.generate.published.model_tables import AFS_CURVES, MURI_STAGES


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A round of the family ``paper``: how it is made, the policies it is solved under, and where it is from."""

    name: str
    make: Callable[[str], Round]
    policies: Sequence[str]
    source: str


MURI_SOURCE = (
    "Muri (SIGCOMM 2022), profiles in the traces of the authors' repository Rivendile/Muri: iteration and stage times "
    "of eight models at {gpus}; 10,000 iterations left of each are chosen here"
)


def muri(gpus: int, copies: int, room: int) -> Callable[[str], Round]:
    """Return the maker of a round with so many jobs of each model, on so many gangs of GPUs."""

    def make(name: str) -> Round:
        jobs = []
        for copy in range(copies):
            for model, (alone, *stages) in MURI_STAGES[gpus].items():
                jobs.append(
                    Job(
                        id=model if copies == 1 else f"{model}-{copy}",
                        gpus=gpus,
                        submitted=float(len(jobs)),
                        remaining_iterations=10_000,
                        iteration_seconds=alone / 1000,
                        stage_seconds=tuple(time / 1000 for time in stages),
                        attained_gpu_seconds=0.0,
                        executed_seconds=0.0,
                    )
                )
        nodes = tuple(Node(id=f"n{s}", gpus=gpus) for s in range(room))
        return Round(name=name, resources=("data", "gpu", "network"), cluster=Cluster(nodes=nodes), jobs=tuple(jobs))

    return make


def elastic(jobs: Mapping[str, tuple[Mapping[int, float], int]], machines: Sequence[int]) -> Callable[[str], Round]:
    """Return the maker of a round of jobs by their curve and the iterations that are left."""

    def make(name: str) -> Round:
        nodes = tuple(Node(id=f"n{s}", gpus=gpus) for s, gpus in enumerate(machines))
        made = tuple(
            Job(id=job, gpus=1, submitted=float(place), remaining_iterations=left, scaling=dict(curve))
            for place, (job, (curve, left)) in enumerate(jobs.items())
        )
        return Round(name=name, cluster=Cluster(nodes=nodes), jobs=made)

    return make


def _curve(*speeds: float) -> dict[int, float]:
    return {gpus + 1: round(speed, 9) for gpus, speed in enumerate(speeds)}


def _amdahl(serial: float, most: int) -> dict[int, float]:
    return _curve(*(1 / (serial + (1 - serial) / gpus) for gpus in range(1, most + 1)))


AFS_TABLES = "AFS (NSDI 2021), throughput tables in the authors' simulator, as speed-ups to two decimals"
AFS_BY_HAND = "AFS (NSDI 2021), its pair rule by hand: curves and work are made up, to be worked out on paper"
SHARES = ("afs-l:objective=speed", "afs-p:objective=speed-up", "optimus")

RUBICK = {
    "roberta": {
        ("ga", 1): 0.70537019,
        ("ga", 2): 0.705230264,
        ("ga", 4): 0.372841222,
        ("zero-dp", 1): 0.68361435,
        ("zero-dp", 2): 0.697693418,
        ("zero-dp", 4): 0.373935671,
    },
    "t5-3b": {
        ("zero-offload", 1): 4.0345,
        ("zero-offload", 2): 3.2757,
        ("zero-offload", 4): 2.8666,
        ("tp+ga", 2): 3.567,
        ("tp+ga", 3): 0.9301,
        ("tp+ga", 4): 0.8233,
    },
}
LLAMA = {  # by plan, GPUs and nodes
    ("best", 32, 4): 1.165,
    ("best", 16, 4): 1.803,
    ("best", 4, 1): 5.107,
    ("offload", 16, 4): 15.0,
    ("offload", 4, 1): 30.0,
    ("offload", 1, 1): 66.0,
}


def figure_8(name: str) -> Round:
    """Return the two jobs of the figure on one node of 4 GPUs."""
    jobs = tuple(
        Job(
            id=model,
            gpus=4,
            submitted=float(place),
            plans=tuple(Plan(name=plan, gpus=gpus, throughput=1 / time) for (plan, gpus), time in times.items()),
        )
        for place, (model, times) in enumerate(RUBICK.items())
    )
    return Round(name=name, cluster=Cluster(nodes=(Node(id="n0", gpus=4),)), jobs=jobs)


def figure_7(name: str) -> Round:
    """Return three jobs of the figure's model on its 4 nodes of 8 GPUs: they cannot all have what is best for one."""
    plans = tuple(
        Plan(name=plan, gpus=gpus, nodes=nodes, throughput=round(16 / time, 6))
        for (plan, gpus, nodes), time in LLAMA.items()
    )
    nodes = tuple(Node(id=f"n{s}", gpus=8) for s in range(4))
    jobs = tuple(Job(id=f"llama-{j}", gpus=16, submitted=float(j), plans=plans) for j in range(3))
    return Round(name=name, cluster=Cluster(nodes=nodes), jobs=jobs)


# Parameter servers and workers, the most frequent pairs first.
AITURBO = ((2, 2), (1, 2), (2, 4), (2, 1), (3, 3), (4, 2), (2, 6))


def aiturbo(name: str) -> Round:
    """Return a job of each frequent shape: a GPU per worker, or the same shape on CPUs at a tenth of the speed."""
    jobs = []
    for place, (servers, workers) in enumerate(AITURBO):
        shape = f"p{servers}-w{workers}"
        predictable = place != len(AITURBO) - 1
        jobs.append(
            Job(
                id=f"job-{place}",
                gpus=workers,
                submitted=float(place),
                executed_seconds=0.0,
                remaining_iterations=8_970 * workers if predictable else None,
                predictable=predictable,
                plan=f"gpu-{shape}-s1",
                plans=(
                    Plan(name=f"gpu-{shape}-s1", gpus=workers, cpus=servers + workers, throughput=float(workers)),
                    Plan(name=f"cpu-{shape}", gpus=0, cpus=servers + 5 * workers, throughput=workers / 10),
                ),
            )
        )
    nodes = (Node(id="g0", gpus=8, cpus=64), Node(id="c0", gpus=0, cpus=64))
    return Round(name=name, cluster=Cluster(nodes=nodes), jobs=tuple(jobs))


PHILLY = {1: 17, 2: 2, 4: 4, 8: 6, 16: 1}
TIRESIAS = {1: 30, 2: 10, 4: 10, 8: 10}


def waiting_gangs(sizes: Mapping[int, int], machines: int, rack: int) -> Callable[[str], Round]:
    """Return the maker of a round of waiting jobs by GPUs, dealt out in turn, on nodes of 8 GPUs in racks."""

    def make(name: str) -> Round:
        left, order = dict(sizes), []
        while any(left.values()):
            for gpus in [gpus for gpus, number in left.items() if number]:
                order.append(gpus)
                left[gpus] -= 1
        jobs = tuple(
            Job(
                id=f"job-{place}",
                gpus=gpus,
                submitted=float(place),
                waiting_seconds=900.0,
                attained_gpu_seconds=0.0,
                executed_seconds=0.0,
            )
            for place, gpus in enumerate(order)
        )
        nodes = tuple(Node(id=f"n{s}", gpus=8, rack=f"r{s // rack}") for s in range(machines))
        return Round(name=name, now=900.0 + len(jobs), cluster=Cluster(nodes=nodes), jobs=jobs)

    return make


PAPERS = (
    Setting(
        name="muri-8-models",
        make=muri(1, 1, 2),
        policies=("muri-s", "muri-l", "muri-s:preset=authors"),
        source=MURI_SOURCE.format(gpus="1 GPU") + ", and 2 GPUs",
    ),
    Setting(
        name="muri-8-models-of-8-gpus",
        make=muri(8, 1, 2),
        policies=("muri-s", "muri-l", "muri-s:preset=authors"),
        source=MURI_SOURCE.format(gpus="8 GPUs") + ", and 2 nodes",
    ),
    Setting(
        name="muri-16-jobs",
        make=muri(1, 2, 4),
        policies=("muri-s", "muri-s:preset=authors"),
        source=MURI_SOURCE.format(gpus="1 GPU") + ", two jobs of each, and 4 GPUs",
    ),
    Setting(
        name="afs-9-models",
        make=elastic({model: (curve, 3600) for model, curve in AFS_CURVES.items()}, [4] * 16),
        policies=SHARES,
        source=f"{AFS_TABLES}; 16 machines of 4 GPUs as there; an hour on one GPU left of each is chosen here",
    ),
    Setting(
        name="afs-cycle",
        make=elastic(
            {
                "chatbot": ({1: 1.0, 2: 1.4289, 4: 1.73}, 3600),
                "deepspeech": ({1: 1.0, 2: 1.4907, 4: 1.74}, 7200),
                "inception4": ({1: 1.0, 2: 1.9524, 4: 3.97}, 10_800),
            },
            [4],
        ),
        policies=SHARES,
        source=f"{AFS_TABLES} (at 2 GPUs to four); 1, 2 and 3 hours left are chosen here: the pair rule has a cycle",
    ),
    Setting(
        name="afs-t1",
        make=elastic({"a": (_curve(1, 1.8, 2.4), 10), "b": (_curve(1, 1.9, 2.7), 30)}, [3]),
        policies=SHARES,
        source=AFS_BY_HAND,
    ),
    Setting(
        name="afs-t2",
        make=elastic({"a": (_curve(1, 1.2, 1.3), 10), "b": (_curve(1, 1.9, 2.7), 30)}, [3]),
        policies=SHARES,
        source=AFS_BY_HAND,
    ),
    Setting(
        name="afs-t3",
        make=elastic(
            {
                name: (_curve(*(gpus**power for gpus in range(1, 5))), left)
                for name, power, left in (("a", 0.5, 4), ("b", 0.7, 6), ("c", 0.9, 9))
            },
            [4],
        ),
        policies=SHARES,
        source=AFS_BY_HAND,
    ),
    Setting(
        name="afs-t4",
        make=elastic({"a": (_amdahl(0.1, 6), 10), "b": (_amdahl(0.3, 6), 10), "c": (_amdahl(0.5, 6), 10)}, [6]),
        policies=SHARES,
        source=AFS_BY_HAND,
    ),
    Setting(
        name="rubick-figure-8",
        make=figure_8,
        policies=("rubick", "equal-share"),
        source="Rubick, Figure 8, iteration times in the authors' artifact: RoBERTa and T5-3B on 4 GPUs",
    ),
    Setting(
        name="rubick-figure-7",
        make=figure_7,
        policies=("rubick", "equal-share"),
        source="Rubick, Figure 7, iteration times of LLaMA-2-7B at a batch of 16 in the authors' artifact, with the "
        "best plan and with offloading, on 4 nodes of 8 GPUs; that three such jobs are there is chosen here",
    ),
    Setting(
        name="aiturbo-7-shapes",
        make=aiturbo,
        policies=("aiturbo", "aiturbo:objective=time", "optimus-ps"),
        source="AITurbo (HPDC 2021), the job table its authors published: the seven most frequent shapes with "
        "parameter servers, the median running time of predictable jobs; speeds and nodes are chosen here",
    ),
    Setting(
        name="tiresias-60-jobs",
        make=waiting_gangs(TIRESIAS, 8, 8),
        policies=("tiresias", "fifo", "fifo:objective=weighted"),
        source="Tiresias (NSDI 2019), GPUs of the 60 jobs of the trace in the authors' repository; all waiting at "
        "once, on 8 nodes of 8 GPUs, is chosen here",
    ),
    Setting(
        name="philly-sizes",
        make=waiting_gangs(PHILLY, 12, 4),
        policies=("philly", "philly:objective=weighted"),
        source="Philly (ATC 2019), the trace as published with Sia: jobs in the proportions of GPU time (18.1 % in "
        "jobs of 1 GPU, 3.2, 16.7, 48.4 and 11.5 % of 2, 4, 8 and 16); 12 servers of 8 GPUs in racks of 4, all jobs "
        "waiting, is chosen here",
    ),
)
