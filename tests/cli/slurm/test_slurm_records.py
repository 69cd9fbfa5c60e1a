"""Records as Slurm prints them become a round of format 2 that says all they ask for, but for two listed kinds.

The records here are made by hand, one of every kind of request. ``MURI_OPT_SLURM=FOLDER`` reads captures, too:
``squeue*.json`` there, each with the ``sinfo*.json`` or ``scontrol_nodes*.json`` of the same ending.
"""

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from muri_opt import parse_round, solve_round, verify
from muri_opt.cli.slurm.reader import read_slurm
from muri_opt.rounds import NodeRange, Within, canonical_json
from muri_opt.systems import POLICIES

NOW = 1_700_000_000
ALL_MEMORY = "asks for no memory and is given all of a node: counted as that of the smallest"
LISTED = ("heterogeneous job", "licences: ", ALL_MEMORY)
WHOLE = {"memory_per_node": None, "tres_req_str": "cpu=1,mem=250G,node=1,billing=1"}


def node(name, gpu_type, features, partitions, memory=256_000, **other):
    plain = {"cpus": 32, "real_memory": memory, "state": "idle", "state_flags": [], "gres": f"gpu:{gpu_type}:4(S:0-1)"}
    return {"name": name, "features": features, "partitions": partitions, **plain, **other}


NODES = [
    node("gpu01", "a100", "nvlink,rackA", ["train", "prod"], state="mixed"),
    node("gpu02", "a100", "nvlink,rackA", ["train", "prod"]),
    node("gpu03", "v100", "rackB", ["train"], 128_000, state="mixed"),
    node("gpu04", "v100", "rackB", ["train"], 128_000, state_flags=["DRAIN"]),
]


def job(place, **said):
    """Return a record of a job that waits and asks for one GPU and 8 GiB, but for what is said."""
    plain = {
        "job_id": place,
        "job_state": "PENDING",
        "state_reason": "Priority",
        "user_name": "u",
        "account": "",
        "partition": "train",
        "priority": 5_000_000_000 - place,
        "submit_time": NOW - 60,
        "eligible_time": NOW - 60,
        "last_sched_evaluation": NOW,
        "time_limit": 5,
        "deadline": 0,
        "cpus": 1,
        "tasks": 1,
        "max_nodes": 0,
        "memory_per_node": 8192,
        "tres_per_node": "gres:gpu:1",
        "tres_req_str": "cpu=1,mem=8G,node=1,billing=1",
        "gres_detail": [],
    }
    return plain | said


RUNS = {"job_state": "RUNNING", "state_reason": "None"}
PAIR = {"max_nodes": 2, "tres_req_str": "cpu=2,mem=16G,node=2,billing=2", "tres_per_node": "gres:gpu:4"}
JOBS = {
    "typed": job(
        1,
        **RUNS,
        tres_per_node="gres:gpu:a100:2",
        nodes="gpu01",
        gres_detail=["gpu:a100:2(IDX:0-1)"],
        tres_alloc_str="cpu=1,mem=8G,node=1",
    ),
    "gang": job(
        2,
        **RUNS,
        tres_per_node="gres:gpu:v100:1",
        nodes="gpu[03-04]",
        tres_alloc_str="cpu=1,mem=16G,node=2",
        gres_detail=["gpu:v100:1(IDX:0)"] * 2,
        tres_req_str="cpu=2,mem=16G,node=2",
    ),
    "feature": job(3, features="nvlink"),
    "both": job(4, features="nvlink&rackA"),
    "either": job(5, features="rackA|rackB"),
    "alike": job(6, features="[rackA|rackB]", **PAIR),
    "array": job(7, array_task_string="0-9%3", array_max_tasks=3),
    "dependent": job(8, state_reason="Dependency", dependency="afterok:7(unfulfilled)", eligible_time=0),
    "total": job(9, tres_per_node="", tres_per_job="gres:gpu:6"),
    "tasks": job(10, tres_per_node="", tres_per_task="gres:gpu:1", tasks=4),
    "exclusive": job(11, partition="prod", shared="none", tres_per_node="gres:gpu:a100:4", **WHOLE),
    "begins": job(12, state_reason="BeginTime", eligible_time=NOW + 3600),
    "held": job(13, state_reason="JobHeldUser", priority=0, eligible_time=0),
    "nice": job(14, nice=500, priority=4_000_000_000),
    "range": job(15, max_nodes=3, tres_per_node="gres:gpu:4"),
    "late": job(16, deadline=NOW + 7200, time_limit=2880),
    "named": job(17, required_nodes="gpu[01-02]", **PAIR),
    "not there": job(18, excluded_nodes="gpu02,gpu04"),
    "reserved": job(19, state_reason="Reservation", resv_name="maint", eligible_time=0),
    "account": job(20, account="vision"),
    "default memory": job(21, **WHOLE),
    "licensed": job(22, licenses="matlab:1"),
    "first half": job(23, het_job_id=23, het_job_offset=0),
    "second half": job(24, het_job_id=23, het_job_offset=1),
    "ended": job(25, job_state="COMPLETED", tres_req_str=None),
}


def newer(record):
    """Return a record as versions from 24.11 on print it: numbers wrapped, states in lists, another name of GPUs."""
    wrapped = {"priority", "submit_time", "eligible_time", "last_sched_evaluation", "time_limit", "deadline", "cpus"}
    wrapped |= {"tasks", "max_nodes", "memory_per_node", "array_max_tasks", "het_job_id"}
    wrapped |= {"array_job_id", "array_task_id"}
    found = {}
    for field, said in record.items():
        if field in wrapped:
            said = {"set": said is not None, "infinite": False, "number": said or 0}
        elif field in ("job_state", "shared"):
            said = [said]
        elif field.startswith("tres_per_"):
            said = said.replace("gres:", "gres/")
        found[field] = said
    return found


def newer_node(record):
    states = [record["state"].upper(), *record["state_flags"]]
    return {**record, "state": states, "features": record["features"].split(",")}


VERSIONS = {
    "22.05": (list(JOBS.values()), NODES),
    "24.11": ([newer(one) for one in JOBS.values()], [newer_node(one) for one in NODES]),
}


def captures():
    """Return the captures that were named: jobs, and nodes of the same ending."""
    folder = Path(os.environ.get("MURI_OPT_SLURM", "/nowhere"))
    found = {}
    for queue in sorted(folder.glob("squeue*.json")):
        ending = queue.name.removeprefix("squeue")
        nodes = [folder / (begins + ending) for begins in ("scontrol_nodes", "sinfo")]
        file = next(one for one in nodes if one.exists())
        found[queue.name] = json.loads(queue.read_text())["jobs"], json.loads(file.read_text())["nodes"]
    return found


RECORDS = VERSIONS | captures()


@pytest.mark.parametrize("name", RECORDS)
def test_nothing_is_lost_but_what_is_listed(name):
    jobs, nodes = RECORDS[name]
    read = read_slurm(jobs, nodes)
    assert parse_round(canonical_json(read.round_)) == read.round_
    assert all(words.startswith(LISTED) for words in read.ledger.jobs)
    told = {one.id.partition("_")[0] for one in read.round_.jobs}
    apart = set(read.ledger.jobs.get("heterogeneous job", ()))
    ended = {str(one["job_id"]) for one in jobs if one["job_state"] in ("COMPLETED", ["COMPLETED"])}
    assert told | apart | ended == {str(one["job_id"]) for one in jobs}


@pytest.mark.parametrize("name", RECORDS)
def test_the_round_is_decided_as_the_records_ask(name):
    round_ = read_slurm(*RECORDS[name]).round_
    timely = replace(round_, jobs=tuple(replace(one, deadline=None) for one in round_.jobs))
    result = solve_round(timely, "fifo", "heuristic")
    certificate = verify(timely, result)
    assert certificate.feasible, certificate.violations
    assert POLICIES["fifo"].honours >= set(timely.used_fields)
    runs = {one.id for one in round_.jobs if one.state == "running"}
    assert runs <= result.decision.running


@pytest.mark.parametrize("version", VERSIONS)
def test_each_kind_of_request_is_in_the_round(version):
    read = read_slurm(*VERSIONS[version])
    jobs = {one.id: one for one in read.round_.jobs}
    of = {name: jobs.get(str(record["job_id"])) for name, record in JOBS.items()}
    assert read.ledger.jobs == {
        "licences: matlab:1": ["22"],
        "heterogeneous job": ["23", "24"],
        ALL_MEMORY: ["21"],
    }
    assert of["typed"].gpu_types == ("a100",)
    assert of["typed"].placement == {"gpu01": 2}
    assert of["gang"].placement == {"gpu03": 1, "gpu04": 1}
    assert (of["gang"].stays, of["gang"].stays_put, of["gang"].even) == (True, True, True)
    assert of["feature"].requires == ("nvlink", "partition=train")
    assert set(of["both"].requires) == {"nvlink", "rackA", "partition=train"}
    assert "rackA|rackB" in of["either"].requires
    assert of["alike"].within == Within(level="alike:rackA|rackB")
    assert (of["alike"].gpus, of["alike"].nodes, of["alike"].even) == (8, NodeRange(least=2, most=2), True)
    assert [one for one in jobs if one.startswith("7_")] == [f"7_{task}" for task in range(10)]
    assert [(one.id, one.quota_gpus) for one in read.round_.cluster.tenants] == [("array-7", 3), ("vision", None)]
    assert of["dependent"].held == "Dependency afterok:7(unfulfilled)"
    assert (of["total"].gpus, of["total"].nodes, of["total"].even) == (6, NodeRange(), False)
    assert of["tasks"].gpus == 4
    assert (of["exclusive"].gpus, of["exclusive"].memory_gib) == (4, 250.0)
    assert of["begins"].not_before == NOW + 3600.0
    assert (of["held"].held, of["held"].priority) == ("JobHeldUser", 0)
    assert of["nice"].priority == 4_000_000_000
    assert [(one.gpus, one.nodes) for one in of["range"].plans] == [(4, 1), (8, 2), (12, 3)]
    assert (of["late"].deadline, of["late"].time_limit_seconds) == (NOW + 7200.0, 2880 * 60.0)
    on = {label: [one.id for one in read.round_.cluster.nodes if label in one.labels] for label in of["named"].requires}
    assert ["gpu01", "gpu02"] in on.values()
    assert [one.id for one in read.round_.cluster.nodes if of["not there"].excludes[0] in one.labels] == [
        "gpu02",
        "gpu04",
    ]
    assert of["reserved"].held == "Reservation maint"
    assert of["account"].tenant == "vision"
    assert of["default memory"].memory_gib == 125.0
    assert [one.state for one in read.round_.cluster.nodes] == ["up", "up", "up", "drain"]


@pytest.mark.parametrize("shape", [lambda record: record, newer], ids=["22.05", "24.11"])
def test_tasks_of_an_array_keep_their_names_and_its_limit(shape):
    of_7 = {"array_job_id": 7, "array_task_string": "", "array_max_tasks": None}
    runs = {"job_state": "RUNNING", "gres_detail": ["gpu:a100:1(IDX:0)"], "nodes": "gpu01", "node_count": 1}
    runs |= {"tres_alloc_str": "cpu=1,mem=8G,node=1,gres/gpu:a100=1"}
    waits = job(7, array_job_id=7, array_task_string="2-3%2", array_max_tasks=2)
    begun = job(8, **of_7 | {"array_task_id": 0}, **runs)
    read = read_slurm([shape(waits), shape(begun)], VERSIONS["22.05"][1])
    assert [one.id for one in read.round_.jobs] == ["7_2", "7_3", "7_0"]
    assert {one.tenant for one in read.round_.jobs} == {"array-7"}
    assert [one.quota_gpus for one in read.round_.cluster.tenants] == [2]
    last = read_slurm([shape(job(7, **of_7 | {"array_task_id": 3}))], VERSIONS["22.05"][1])
    assert [one.id for one in last.round_.jobs] == ["7_3"]
    assert not last.round_.cluster.tenants
