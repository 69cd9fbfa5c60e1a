"""Rounds that elastic policies refuse: the error names the job, the field and what would do."""

from __future__ import annotations

import msgspec
import pytest
from elastic_draws import POLICIES, elastic, round_with

from muri_opt import InputError, Job, Round, parse_round, solve_round
from muri_opt.systems import policy_from
from muri_opt.systems.afs import AfsPolicy

GOOD = elastic(0, (1, 2))


def refusal(round_: Round, policy: str) -> InputError:
    with pytest.raises(InputError) as caught:
        solve_round(round_, policy, "heuristic")
    for method in ("auto", "exact@highs"):
        with pytest.raises(InputError) as other:
            solve_round(round_, policy, method)
        assert str(other.value) == str(caught.value)
    return caught.value


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("fields", "field", "found"),
    [
        ({"scaling": None}, "scaling", "nothing"),
        ({"scaling": {2: 1.0, 4: 2.0}}, "scaling", "no entry for 1 GPU (the smallest is 2)"),
        ({"gpus": 5, "iteration_seconds": 1.0}, "gpus", "5"),
        ({"gpus": 0}, "gpus", "0"),
        ({"iteration_seconds": 0.0}, "iteration_seconds", "0"),
    ],
)
def test_a_job_without_a_usable_table(policy: str, fields: dict[str, object], field: str, found: str) -> None:
    bad = msgspec.structs.replace(elastic(1, (1, 2)), id="bad", **fields)
    error = refusal(round_with([4], [GOOD, bad]), policy)
    assert (error.field, error.found) == (f"jobs[1] ('bad').{field}", found)
    assert error.allowed


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "afs-p"])
def test_an_unknown_length(policy: str) -> None:
    round_ = round_with([4], [GOOD, elastic(1, (1, 2), id="endless", remaining_iterations=None)])
    error = refusal(round_, policy)
    assert (error.field, error.found) == ("jobs[1] ('endless').remaining_iterations", "nothing")
    assert "'afs-p'" in error.allowed
    assert solve_round(round_, "afs-p", "heuristic").certificate.feasible


@pytest.mark.parametrize(
    ("table", "field"),
    [({}, "scaling"), ({1: 0.0}, "scaling[1]"), ({1: 1.0, 2: float("nan")}, "scaling[2]"), ({0: 1.0}, "scaling key")],
)
def test_a_table_that_is_none(table: dict[int, float], field: str) -> None:
    with pytest.raises(InputError) as caught:
        Job(id="bad", gpus=1, scaling=table)
    assert caught.value.field == field


@pytest.mark.parametrize("text", ["{}", '{"1": 0}', '{"1": -1}'])
def test_a_file_with_such_a_table_names_the_job(text: str) -> None:
    body = '{"format": "muri-opt/round/1", "cluster": {"nodes": []}, "jobs": [{"id": "bad", "gpus": 1, "scaling": %s}]}'
    with pytest.raises(InputError) as caught:
        parse_round(body % text)
    assert caught.value.field.startswith("jobs[0]")
    assert "scaling" in caught.value.field


@pytest.mark.parametrize("policy", POLICIES)
def test_nodes_of_unequal_sizes_do_not_pack(policy: str) -> None:
    round_ = round_with([4, 2, 0, 4], [GOOD])
    error = refusal(round_, f"{policy}:packing=node")
    assert (error.field, error.found) == ("cluster.nodes", "nodes of 2, 4 GPUs")
    assert solve_round(round_, f"{policy}:packing=any", "heuristic").certificate.feasible


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("afs-l:scan=random", "policy 'afs-l'.scan"),
        ("afs-l:tie=none", "policy 'afs-l'.tie"),
        ("afs-l:phi=0", "policy 'afs-l'.phi"),
        ("afs-l:phi=1.5", "policy 'afs-l'.phi"),
        ("afs-p:quantum=0", "policy 'afs-p'.quantum"),
        ("afs-p:objective=speed", "policy 'afs-p'.objective"),
        ("afs-p:restarts=never", "policy 'afs-p'.restarts"),
        ("afs-l:horizon=0", "policy 'afs-l'.horizon"),
        ("optimus:packing=rack", "policy 'optimus'.packing"),
        ("optimus:scan=longest", "parameter of policy 'optimus'"),
        ("max-min-elastic:restarts=never", "policy 'max-min-elastic'.restarts"),
    ],
)
def test_settings_that_do_not_exist(text: str, field: str) -> None:
    with pytest.raises(InputError) as caught:
        policy_from(text)
    assert caught.value.field == field


def test_a_policy_answers_to_its_own_name_only() -> None:
    with pytest.raises(InputError) as caught:
        AfsPolicy(name="afs-p")
    assert (caught.value.field, caught.value.allowed) == ("policy", "one of afs-l")
