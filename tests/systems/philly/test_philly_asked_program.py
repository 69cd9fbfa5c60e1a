"""The rows of the chapter *placement* for what jobs ask, and what the policy makes of types, shapes and levels."""

from __future__ import annotations

from pathlib import Path
from re import MULTILINE, findall

import pytest
from by_policy import formulation_of
from handmade import gang
from msgspec.structs import replace

from muri_opt import Cluster, Limits, Node, Round, Tenant, solve_round
from muri_opt.rounds import NodeRange, Within

ROOT = Path(__file__).resolve().parents[3]
TYPES = ("a", "a", "b", "b")


def round_of(*jobs: object, **said: object) -> Round:
    """Return jobs on four nodes of 4 GPUs, two of each type, in two racks that have one of each."""
    nodes = [Node(id=f"n{s}", gpus=4, gpu_type=kind, rack=f"r{s % 2}") for s, kind in enumerate(TYPES)]
    here = Cluster(levels=("rack",), nodes=tuple(nodes), tenants=(Tenant(id="t"),))
    return Round(format="muri-opt/round/2", now=100.0, cluster=here, jobs=tuple(jobs), **said)


def long_waiting(gpus: int, **asks: object) -> object:
    return gang(0, gpus, waiting_seconds=5000.0, **asks)


def test_the_chapter_names_the_rows_of_what_jobs_ask() -> None:
    text = (ROOT / "formulations" / "placement" / "README.md").read_text()
    section = text.partition("\n## Rows of what jobs ask")[2].partition("\n## ")[0]
    extra = findall(r"^\| `([a-z]+)` \|", section, flags=MULTILINE)
    program = formulation_of("philly")
    plain = program.build(round_of(long_waiting(6))).labels
    asked = program.build(round_of(long_waiting(6, nodes=NodeRange(least=2)))).labels
    assert [label for label in asked if label not in plain] == extra == ["uses", "least"]


@pytest.mark.parametrize(
    ("asks", "sizes"),
    [
        ({"gpus": 8}, [4, 4]),
        ({"gpus": 9}, None),  # no nine of one type
        ({"gpus": 8, "within": Within(level="rack")}, None),  # eight in one rack are of two types
        ({"gpus": 4, "within": Within(level="rack"), "gpu_types": ("b",)}, [4]),
        ({"gpus": 4, "nodes": NodeRange(least=2)}, [1, 3]),
        ({"gpus": 4, "nodes": NodeRange(least=2), "even": True}, [2, 2]),
        ({"gpus": 6, "nodes": NodeRange(most=1)}, None),
        ({"gpus": 6, "even": True}, [3, 3]),
        ({"gpus": 3, "nodes": NodeRange(least=2), "even": True}, None),  # three equal parts on two nodes of a type
    ],
)
def test_a_gang_gets_its_gpus_as_it_asks_for_them_or_waits(asks: dict[str, object], sizes: list[int] | None) -> None:
    round_ = round_of(gang(0, waiting_seconds=5000.0, **asks))
    for method in ("heuristic", "exact"):
        result = solve_round(round_, "philly", method)
        assert result.certificate.violations == ()
        found = [sorted(one.gpus.values()) for one in result.decision.assignments]
        if sizes is None:
            assert found == []
            assert result.decision.waiting[0].reason.value == "capacity"
        elif sizes == [1, 3]:
            assert len(found[0]) == 2
        else:
            assert found == [sizes]


def test_as_few_nodes_as_a_job_asks_for_are_together() -> None:
    # On two nodes because it asks for two: that is as close as it can be, and it starts at once.
    job = gang(0, 4, nodes=NodeRange(least=2), waiting_seconds=0.0)
    one_type = Cluster(nodes=tuple(Node(id=f"n{s}", gpus=4, rack="r") for s in range(3)))
    for method in ("heuristic", "exact"):
        result = solve_round(Round(now=100.0, cluster=one_type, jobs=(job,)), "philly", method)
        assert len(result.decision.assignments[0].gpus) == 2
        assert result.value == 4 * (1 + 1250 * 4) + 4 * 1000


def test_jobs_that_are_alike_share_the_sets_they_may_be_in() -> None:
    jobs = tuple(gang(j, 4, id=f"j{j}") for j in range(6))
    result = solve_round(round_of(*jobs), "philly", "exact")
    assert len(result.decision.running) == 4
    model = formulation_of("philly").build(round_of(*jobs))
    assert [name for name in model.column_names if name.startswith("y")] == ["y_0_0_0", "y_0_1_0"]


def test_a_larger_round_with_everything_asked_is_solved_within_its_limit() -> None:
    jobs = []
    for j in range(60):
        asks = [
            {},
            {"gpu_types": ("a",)},
            {"even": True},
            {"priority": j % 4},
            {"held": "x"},
            {"nodes": NodeRange(most=1)},
        ]
        jobs.append(gang(j, 1 + j % 4, tenant="t", waiting_seconds=700.0 * (j % 4), **asks[j % 6]))
    round_ = replace(round_of(*jobs), name="asked")
    result = solve_round(round_, "philly", "auto", Limits(work=0.5))
    assert result.certificate.violations == ()
    assert result.value >= solve_round(round_, "philly", "heuristic").value
