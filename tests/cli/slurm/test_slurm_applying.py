"""Which held jobs are started in which partitions, and what is done where nobody reads the lines of a loop."""

from __future__ import annotations

import errno
import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from test_slurm_records import job, node

from muri_opt import InputError, Limits
from muri_opt.cli.slurm.apply import Applying, LogLost
from muri_opt.cli.slurm.plan import SlurmPlan, plan_of
from muri_opt.cli.slurm.reader import Reading, read_slurm

NODES = [node("gpu01", "a100", "", ["train", "prod"]), node("gpu02", "a100", "", ["train"])]
HELD = {"job_state": "PENDING", "state_reason": "JobHeldUser", "hold": True, "tres_per_node": "gres:gpu:4"}


def held(number: int, partition: str) -> dict[str, Any]:
    return job(number, **HELD, partition=partition)


def planned(reading: Reading, *partitions: str) -> SlurmPlan:
    return plan_of(reading, set(partitions), "fifo", "heuristic", Limits())


def test_a_job_of_several_partitions_may_be_on_the_nodes_of_any_of_them() -> None:
    reading = read_slurm([held(1, "train,prod"), held(2, "prod,train"), held(3, "prod")], NODES)
    plan = planned(reading, "train", "prod")
    assert plan.candidates == ("1", "2", "3")
    assert [start.nodes for start in plan.starts] == [("gpu01",), ("gpu02",)]
    assert planned(reading, "train").candidates == ()  # it might begin in the other partition, too
    assert planned(reading, "prod").candidates == ("3",)


@pytest.mark.parametrize(("asked", "found"), [(["nope"], "nope"), (["train", "TRAIN"], "TRAIN"), ([""], "")])
def test_a_partition_that_is_not_there_is_refused_with_those_there_are(asked: list[str], found: str) -> None:
    reading = read_slurm([held(1, "gone,train")], NODES)
    with pytest.raises(InputError) as error:
        planned(reading, *asked)
    told = error.value.field, error.value.found, error.value.allowed
    assert told == ("--partition", repr(found), "partitions of this Slurm: gone, prod, train")


class Full(io.StringIO):
    """An output that takes some lines and then no more."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._left = lines

    def write(self, text: str) -> int:
        self._left -= 1
        if self._left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


class Asked:
    """A Slurm that is asked again before each batch."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def read(self) -> Reading:
        return self._reading


@pytest.mark.parametrize("lines", [0, 1, 2])
def test_what_was_begun_is_finished_where_the_lines_cannot_be_written(
    lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muri_opt.cli.slurm.apply.drop_output", lambda: None)
    reading = read_slurm([held(1, "train"), held(2, "train")], NODES)
    given, log = list[Sequence[str]](), Full(lines)
    applying = Applying(Asked(reading), {"train"}, lambda words: given.append(words), log)
    with pytest.raises(LogLost, match="standard output: found No space left on device"):
        applying.apply(planned(reading, "train"))
    assert [words[1] for words in given] == ["update", "update", "release"]
    assert [json.loads(line)["do"] for line in log.getvalue().splitlines()] == ["place"] * lines
