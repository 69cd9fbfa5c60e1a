"""Blox's own placement as a program that ``muri-opt check-allocator`` asks: a round in, a decision out, line by line.

python placement_program.py FOLDER [consolidated]

FOLDER is a clone of Blox. Its ``Fifo`` orders the jobs of a round and its ``JobPlacement`` places them; the second word
asks for placements on one node, as a Blox scheduler does with ``placement_preference``. Python 3.8 or newer, pandas.
"""

import json
import sys
from collections import Counter
from types import SimpleNamespace

import pandas as pd

FIRST_COME = 999
"""The priority that Blox gives to every job that arrives."""


def states(round_, preference):
    """Return a round as the state of jobs and of the cluster that Blox keeps; its nodes and GPUs are numbers."""
    nodes = {node["id"]: number for number, node in enumerate(round_["cluster"]["nodes"])}
    homes = [nodes[node["id"]] for node in round_["cluster"]["nodes"] for _ in range(node["gpus"])]
    rows = [(number, home, False, None) for number, home in enumerate(homes)]
    gpus = pd.DataFrame(rows, columns=["GPU_ID", "Node_ID", "IN_USE", "JOB_IDS"])
    jobs = {}
    for job in round_["jobs"]:
        jobs[job["id"]] = {
            "num_GPUs": job["gpus"],
            "submit_time": job.get("submitted", 0.0),
            "job_priority": FIRST_COME,
            "is_running": job.get("state") == "running",
            "placement_preference": preference,
        }
        for node, count in job.get("placement", {}).items():
            free = gpus.index[(gpus["Node_ID"] == nodes[node]) & ~gpus["IN_USE"].astype(bool)][:count]
            gpus.loc[free, ["JOB_IDS", "IN_USE"]] = job["id"], True
    return SimpleNamespace(active_jobs=jobs), SimpleNamespace(server_map={}, gpu_df=gpus)


def decide(order, placement, round_, preference):
    """Return the GPUs per node of each job that runs after Blox has decided."""
    jobs, cluster = states(round_, preference)
    stopped, launched = placement.place(jobs, cluster, order.schedule(jobs, cluster))
    names = [node["id"] for node in round_["cluster"]["nodes"]]
    node_of = [names[number] for number in cluster.gpu_df["Node_ID"]]
    runs = {job["id"]: job["placement"] for job in round_["jobs"] if "placement" in job and job["id"] not in stopped}
    return dict(runs, **{job: Counter(node_of[gpu] for gpu in gpus) for job, gpus in launched.items()})


def main(folder, preference=None):
    """Answer every line of the standard input."""
    sys.path.insert(0, folder)
    from placement.placement import JobPlacement
    from schedulers.fifo import Fifo

    order, placement = Fifo(None), JobPlacement(None)
    for line in sys.stdin:
        message = json.loads(line)
        answer = decide(order, placement, message["round"], preference)
        print(json.dumps({"id": message["id"], "answer": answer}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
