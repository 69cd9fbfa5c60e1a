"""Queues as a Slurm has them on a bad day are read all the same, and what is odd about them is in the ledger."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples
from test_slurm_records import JOBS, NODES, RUNS, WHOLE, job, node

from muri_opt import InputError, solve_round, verify
from muri_opt.cli.slurm.nodes import node_records
from muri_opt.cli.slurm.reader import Reading, read_slurm

ONE = node("gpu01", "a100", "", ["train"])


def running(number: int, gpus: int, nodes: str = "gpu01", *, memory: str = "8G", **said: Any) -> dict[str, Any]:
    held = {"nodes": nodes, "gres_detail": [f"gpu:a100:{gpus}(IDX:0)"], "tres_alloc_str": f"cpu=1,mem={memory},node=1"}
    return job(number, **(RUNS | {"tres_per_node": f"gres:gpu:{gpus}"} | held | said))


def decided(read: Reading) -> set[str]:
    """Return the jobs that run by fifo, verified."""
    result = solve_round(read.round_, "fifo", "heuristic")
    assert verify(read.round_, result).feasible
    return result.answer.running


@pytest.mark.parametrize(
    ("first", "second", "more"),
    [
        ({"memory": "250G"}, {"memory": "250G"}, "memory"),
        ({"cpus": 32}, {"cpus": 32, "job_state": "SUSPENDED"}, "CPUs"),
        ({"gpus": 4}, {"gpus": 4, "job_state": "COMPLETING"}, "GPUs"),
    ],
)
def test_a_node_has_what_runs_on_it(first: dict[str, Any], second: dict[str, Any], more: str) -> None:
    read = read_slurm([running(1, **{"gpus": 1, **first}), running(2, **{"gpus": 1, **second}), job(3)], [ONE])
    assert read.ledger.nodes == {f"what runs there holds more {more} than it has: counted as having that": ["gpu01"]}
    assert decided(read) >= {"1", "2"}


def test_equal_parts_of_a_whole_node_fit_on_it() -> None:
    three = {"tres_per_node": "gres:gpu:3"}
    waits = read_slurm([job(1, **WHOLE, **three)], [ONE])
    assert decided(waits) == {"1"}
    runs = read_slurm([running(1, 3, memory="250G", cpus=32)], [ONE])
    assert (decided(runs), runs.ledger.nodes) == ({"1"}, {})


def test_a_job_that_was_given_all_gpus_of_its_node_asks_for_them() -> None:
    read = read_slurm([running(1, 4, tres_per_node="gres:gpu:1", shared="none"), job(2)], [ONE])
    assert read.round_.jobs[0].gpus == 4
    assert "holds another number of GPUs than it asks for: counted as asking for that" in read.ledger.jobs
    assert decided(read) == {"1"}


def test_nodes_that_are_not_listed() -> None:
    two = {"nodes": "cloud[1-2]", "gres_detail": ["gpu:1", "gpu:1"], "tres_req_str": "cpu=2,mem=8G,node=2"}
    half = two | {"nodes": "gpu01,cloud1"}
    read = read_slurm([running(1, 1, **two), running(2, 1, **half), job(3)], [ONE])
    assert read.ledger.jobs["runs on nodes not listed"] == ["1"]
    assert read.ledger.jobs["runs on nodes that are not listed, too"] == ["2"]
    assert {one.id: one.placement for one in read.round_.jobs} == {"2": {"gpu01": 1}, "3": None}
    assert read.round_.jobs[0].memory_gib == 4.0
    assert decided(read) == {"2", "3"}


def test_no_time_limit_and_no_gpus() -> None:
    read = read_slurm([job(1, time_limit=4_294_967_295), job(2, tres_per_node="gres:gpu:0")], [ONE])
    assert [one.time_limit_seconds for one in read.round_.jobs] == [None]
    assert read.ledger.jobs == {"asks for no GPUs, and waits": ["2"]}


def test_features_that_no_node_has_any_of_keep_only_their_job_waiting() -> None:
    read = read_slurm([job(1, features="[rackX|rackY]"), job(2)], [ONE])
    assert decided(read) == {"2"}


ODD = st.sampled_from(
    [None, -1, 1.5, 1e300, "", "x", "-1", [], {}, [None], True, "gpu[01-", "gpu:x", ["RUNNING"], {"set": True}]
)


@given(st.data())
@more_examples(150)
def test_a_record_of_another_shape_is_read_or_refused_by_name(data: st.DataObject) -> None:
    group = {"nodes": {"nodes": ["gpu01"]}, "partition": {"name": "train"}, "gres": {"total": "gpu:a100:4"}}
    text: Any = {"jobs": deepcopy(list(JOBS.values())), "nodes": deepcopy(NODES), "sinfo": [group]}
    kind = data.draw(st.sampled_from(sorted(text)))
    records = text[kind]
    record = data.draw(st.integers(0, len(records) - 1))
    if data.draw(st.booleans()):
        records[record][data.draw(st.sampled_from(sorted(records[record])))] = data.draw(ODD)
    else:
        records[record] = data.draw(ODD)
    with suppress(InputError):
        nodes = node_records({kind: text[kind]} if kind == "sinfo" else {"nodes": text["nodes"]})
        solve_round(read_slurm(text["jobs"], nodes).round_, "las", "heuristic")
