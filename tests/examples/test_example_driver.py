"""The shared part of the adapters: a session kept in step, GPUs by id, and conversations that are recorded."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from examples.common.driver import Driver, Placed
from examples.common.gpu_ids import GpuIds
from examples.common.links import ROOT, InProcess, Recorded, Recording, Refused

NODES = [{"id": "n0", "gpus": 4}, {"id": "n1", "gpus": 4}]


def job(name: str, gpus: int, left: int, **more: Any) -> dict[str, Any]:
    return {"id": name, "gpus": gpus, "iteration_seconds": 1.0, "remaining_iterations": left, **more}


def test_jobs_start_make_way_and_end() -> None:
    driver = Driver(InProcess(), NODES, "srtf:preempt=yes", "heuristic")
    assert driver.decide(0.0, [job("a", 8, 600)]) == {"a": Placed({"n0": 4, "n1": 4}, None, ())}
    placed = driver.decide(60.0, [job("a", 8, 540), job("b", 8, 60)])
    assert set(placed) == {"b"}  # the shorter one, for which the other is stopped
    placed = driver.decide(120.0, [job("a", 8, 540)])
    assert set(placed) == {"a"}
    assert driver.decide(660.0, []) == {}
    assert (driver.decisions, driver.violations) == (4, 0)


def test_a_job_that_waits_and_is_no_more_there_is_cancelled() -> None:
    driver = Driver(InProcess(), NODES, "srtf", "heuristic")
    assert set(driver.decide(0.0, [job("a", 8, 60), job("b", 8, 600)])) == {"a"}
    assert set(driver.decide(6.0, [job("a", 8, 54)])) == {"a"}


def test_a_job_with_other_plans_goes_on_where_it_is() -> None:
    def planned(throughput: float) -> dict[str, Any]:
        plans = [{"name": f"dp{gpus}", "gpus": gpus, "throughput": throughput * gpus} for gpus in (1, 4)]
        return {"id": "a", "gpus": 4, "plans": plans}

    driver = Driver(InProcess(), NODES, "rubick", "heuristic")
    first = driver.decide(0.0, [planned(1.0)])
    assert first["a"].plan == "dp4"
    assert driver.decide(60.0, [planned(2.0)]) == first
    assert driver.decide(60.0, [planned(2.0)]) == first


def test_progress_reaches_the_session() -> None:
    link = InProcess()
    driver = Driver(link, NODES, "srtf:preempt=yes", "heuristic")
    assert set(driver.decide(0.0, [job("a", 8, 60), job("b", 8, 90)])) == {"a"}
    assert set(driver.decide(1.0, [job("a", 8, 600), job("b", 8, 90)])) == {"b"}  # longer than was thought


def test_a_recorded_conversation_is_answered_the_same_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    link = Recording(InProcess(), file)
    jobs = [[job("a", 8, 600)], [job("a", 8, 540), job("b", 2, 60)]]
    driver = Driver(link, NODES, "srtf", "heuristic", {"work": 1.0})
    found = [driver.decide(60.0 * place, told) for place, told in enumerate(jobs)]
    link.close()
    recorded = Recorded(file)
    again = Driver(recorded, NODES, "srtf", "heuristic", {"work": 1.0})
    assert [again.decide(60.0 * place, told) for place, told in enumerate(jobs)] == found
    assert recorded.ended
    other = Driver(Recorded(file), NODES, "srtf", "heuristic", {"work": 1.0})
    with pytest.raises(AssertionError, match="line 2 of the conversation"):
        other.decide(0.0, [job("a", 4, 600)])


def test_what_is_refused_is_raised() -> None:
    with pytest.raises(Refused, match="fifi"):
        Driver(InProcess(), NODES, "fifi")


counts = st.dictionaries(st.sampled_from("abcdef"), st.dictionaries(st.sampled_from(["n0", "n1"]), st.integers(1, 3)))


@given(st.lists(counts, min_size=1, max_size=4))
def test_gpus_are_given_once_and_kept_as_long_as_they_may_be(rounds: list[dict[str, dict[str, int]]]) -> None:
    ids = {"n0": range(9), "n1": range(9, 18)}
    gpus, before = GpuIds(ids), {}
    for asked in rounds:
        told = {name: nodes for place, (name, nodes) in enumerate(asked.items()) if place < 3}
        given_ids = gpus.assign(told)
        flat = [gpu for held in given_ids.values() for gpu in held]
        assert len(flat) == len(set(flat))
        for name, nodes in told.items():
            on = {node: sum(gpu in ids[node] for gpu in given_ids[name]) for node in nodes}
            assert on == nodes
            assert len(given_ids[name]) == sum(nodes.values())
            if before.get(name, (None,))[0] == nodes:
                assert given_ids[name] == before[name][1]
        before = {name: (told[name], given_ids[name]) for name in told}


def test_more_gpus_than_there_are_are_refused() -> None:
    with pytest.raises(ValueError, match="b: 2 GPUs more on n0, which has 1 left"):
        GpuIds({"n0": [0, 1, 2]}).assign({"a": {"n0": 2}, "b": {"n0": 2}})


def test_the_example_of_the_readme_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    code, printed = re.findall(
        r"```(?:python|text)\n(.*?)```", (ROOT / "examples" / "README.md").read_text(), re.DOTALL
    )
    exec(code, {})  # noqa: S102
    assert capsys.readouterr().out == printed
