"""``muri-opt convert`` and ``muri-opt policies``."""

import json

from rounds_by_field import NODES, ROUNDS

from muri_opt.rounds import Cluster, Round, read_round, write_round
from muri_opt.rounds.used_fields import FIELDS
from muri_opt.systems import POLICIES, policy_from


def test_a_round_is_the_same_in_both_formats(run, tmp_path):
    one, two, back = (tmp_path / name for name in ("one.json", "two.json", "back.json"))
    code, out, _ = run("convert", "toy/four-tenants", one)
    assert (code, out) == (0, f"{one}: muri-opt/round/1, 9 jobs, 4 nodes\n")
    assert run("convert", one, two, "--format", 2)[1] == f"{two}: muri-opt/round/2, 9 jobs, 4 nodes\n"
    assert run("convert", two, back)[0] == 0
    assert back.read_bytes() == one.read_bytes()
    assert json.loads(two.read_text())["format"] == "muri-opt/round/2"
    assert read_round(two).fingerprint == read_round(one).fingerprint


def test_a_format_that_cannot_say_it_is_refused(run, refused, tmp_path):
    path = tmp_path / "two.json"
    write_round(ROUNDS["job.priority"], path)
    assert "format: found 'muri-opt/round/1' for job.priority in jobs[2] ('c')" in refused(
        "convert", path, tmp_path / "one.json", "--format", 1
    )
    assert not (tmp_path / "one.json").exists()
    assert run("convert", path, tmp_path / "two-again.json")[0] == 0
    assert read_round(tmp_path / "two-again.json") == ROUNDS["job.priority"]


def test_gpu_types_that_are_no_longer_mixed_are_told(run, tmp_path):
    nodes = [node.__class__(id=node.id, gpus=4, gpu_type=f"type-{at}") for at, node in enumerate(NODES)]
    write_round(Round(cluster=Cluster(nodes=nodes), jobs=()), tmp_path / "one.json")
    _, out, _ = run("convert", tmp_path / "one.json", tmp_path / "two.json", "--format", 2)
    assert "no gang mixes them" in out
    assert read_round(tmp_path / "two.json").used_fields == {"node.gpu_type": "cluster.nodes[1] ('n1')"}


def test_a_round_with_a_field_that_a_policy_ignores_ends_with_code_2(refused, tmp_path):
    write_round(ROUNDS["round.together"], tmp_path / "two.json")
    said = refused("solve", tmp_path / "two.json", "--policy", "fifo")
    assert "round.together: found it in round; policy 'fifo' does not honour it" in said
    assert "allowed: a round without the field" in said
    assert "does not honour it" in refused("export", tmp_path / "two.json", "--policy", "fifo")


def test_all_policies_are_listed(run):
    code, out, _ = run("policies")
    assert code == 0
    for name in POLICIES:
        line = next(line for line in out.splitlines() if line.split()[:1] == [name])
        assert policy_from(name).summary in line
    found = json.loads(run("policies", "--json")[1])
    assert list(found) == list(POLICIES)
    for name, one in found.items():
        policy = policy_from(name)
        assert one == {
            "summary": policy.summary,
            "needs": list(policy.needs),
            "honours": [field for field in FIELDS if field in policy.honours],
        }
