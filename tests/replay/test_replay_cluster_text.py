"""Clusters by text: so many equal nodes, a round file, a cluster file; or a refusal that says what is allowed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from muri_opt import Cluster, Node, Tenant
from muri_opt.errors import InputError
from muri_opt.replay.studies.cluster_text import cluster_from

NODES = [{"id": "a", "gpus": 8, "cpus": 32}, {"id": "b", "gpus": 4}]


@given(nodes=st.integers(1, 50), gpus=st.integers(1, 1000))
def test_equal_nodes(nodes: int, gpus: int) -> None:
    cluster = cluster_from(f"{nodes}x{gpus}")
    assert [node.gpus for node in cluster.nodes] == [gpus] * nodes
    assert cluster.total_gpus == nodes * gpus


@pytest.mark.parametrize("around", ["round", "cluster"])
def test_files(tmp_path, around: str) -> None:
    cluster = {"nodes": NODES, "tenants": [{"id": "t", "quota_gpus": 3}]}
    path = tmp_path / "8x"
    path.write_text(
        json.dumps({"format": "muri-opt/round/1", "cluster": cluster, "jobs": []} if around == "round" else cluster)
    )
    expected = Cluster(
        nodes=(Node(id="a", gpus=8, cpus=32), Node(id="b", gpus=4)), tenants=(Tenant(id="t", quota_gpus=3),)
    )
    assert cluster_from(str(path)) == expected


@pytest.mark.parametrize("text", ["", "8x", "x8", "8", "8x8x8", "8X8", "-1x8", "8x8 ", "٨x٨", "no\0file", "none.json"])
def test_a_text_that_is_neither(tmp_path, monkeypatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="nodes x GPUs of each, such as 8x8"):
        cluster_from(text or "\0")


@pytest.mark.parametrize("text", ["0x8", "8x0", "100001x1", "1x1000001"])
def test_too_few_and_too_many(text: str) -> None:
    with pytest.raises(InputError, match=r"cluster (nodes|GPUs): found \d+; allowed: a whole number from 1"):
        cluster_from(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "an empty text"),
        ("{", "not JSON"),
        ('{"nodes": ' + "[" * 100_000, "JSON nested too deep"),
        ("[1]", "round: found"),
        ('{"format": "muri-opt/round/3"}', "format: found 'muri-opt/round/3'"),
        ('{"nodes": [{"id": "a", "gpus": -1}]}', r"cluster\.nodes\[0\] \('a'\)\.gpus: found -1"),
        ('{"nodes": [], "racks": 3}', "unknown field 'racks'"),
    ],
)
def test_a_file_that_is_wrong_is_named(tmp_path, text: str, said: str) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(text)
    with pytest.raises(InputError, match=said) as refusal:
        cluster_from(str(path))
    assert "cluster.json" in str(refusal.value)


def test_a_folder_is_no_file(tmp_path) -> None:
    with pytest.raises(InputError, match="such as 8x8, or a file"):
        cluster_from(str(tmp_path))
