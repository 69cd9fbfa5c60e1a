"""What format 2 says beyond format 1: what is one thing in both, what is refused, and which fields a round uses."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from muri_opt.errors import InputError
from muri_opt.rounds import Cluster, Job, Node, NodeRange, Round, Tenant, Together, Within, canonical_json, parse_round
from muri_opt.rounds.files import in_format
from muri_opt.rounds.generate import FAMILIES, generate
from muri_opt.rounds.round import ROUND_FORMATS
from muri_opt.rounds.used_fields import FIELDS, INFORMATION

ONE, TWO = ROUND_FORMATS
EXAMPLE = """{
  "format": "muri-opt/round/2", "name": "toy/mixed", "now": 3600.0, "resources": ["storage", "cpu", "gpu", "network"],
  "cluster": {
    "levels": ["block", "rack"],
    "nodes": [{"id": "n0", "gpus": 8, "cpus": 96, "memory_gib": 520, "gpu_type": "a100",
               "levels": {"block": "b0", "rack": "r0"}, "labels": ["nvlink", "partition=train"], "state": "drain",
               "available_until": 86400.0},
              {"id": "n1", "gpus": 8, "gpu_type": "v100"}],
    "tenants": [{"id": "org"}, {"id": "vision", "parent": "org", "weight": 2.0, "quota_gpus": 32,
                 "quota_by_type": {"a100": 16}, "borrow_gpus": 16, "lend_gpus": 8, "used_gpu_seconds": 7.2e6}]
  },
  "jobs": [{
    "id": "job-1", "tenant": "vision", "priority": 10, "gpus": 8, "gpu_types": ["a100", "h100"],
    "nodes": {"least": 1, "most": 2}, "even": true, "requires": ["nvlink"], "excludes": ["spot"],
    "within": {"level": "rack", "required": true}, "preemptible": true, "movable": true, "restart_seconds": 30.0,
    "held": "asked", "not_before": 0.0, "deadline": 90000.0, "time_limit_seconds": 7200.0, "model": "resnet50",
    "plans": [{"name": "dp8", "gpus": 8, "throughput": 8.0, "gpu_types": ["a100", "h100"]}]
  }, {
    "id": "job-2", "gpus": 3, "plans": [{"name": "dp3", "gpus": 3, "nodes": 2, "throughput": 3.0}]
  }],
  "together": [{"models": ["resnet50", "gpt2"], "rates": [0.82, 0.91]}]
}"""


ONE_NODE = (Node(id="n0", gpus=8),)


def round_of(*jobs, nodes=ONE_NODE, tenants=(), levels=(), **fields):
    return Round(cluster=Cluster(levels=levels, nodes=nodes, tenants=tenants), jobs=jobs, **fields)


def job(**fields):
    return Job(**{"id": "a", "gpus": 4, **fields})


def refused(make):
    with pytest.raises(InputError) as caught:
        make()
    return caught.value


def test_the_example_uses_every_field_and_survives_its_text():
    round_ = parse_round(EXAMPLE)
    assert (round_.format, tuple(round_.used_fields)) == (TWO, FIELDS)
    assert round_.used_fields["node.gpu_type"] == "cluster.nodes[1] ('n1')"
    assert round_.used_fields["job.priority"] == "jobs[0] ('job-1')"
    assert parse_round(canonical_json(round_)) == round_
    assert json.loads(canonical_json(round_))["cluster"]["nodes"][0]["levels"] == {"block": "b0", "rack": "r0"}
    assert "rack" not in json.loads(canonical_json(round_))["cluster"]["nodes"][0]


def test_information_is_some_of_the_fields():
    assert INFORMATION.issubset(FIELDS)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_round_without_new_fields_is_of_format_1_in_whatever_format_it_was_written(family):
    round_ = generate(family, jobs=12, nodes=3, seed=5)
    assert (round_.format, round_.used_fields) == (ONE, {})
    again = parse_round(in_format(round_, TWO))
    assert again == round_
    assert again.fingerprint == round_.fingerprint


def test_the_shipped_rounds_keep_their_fingerprints():
    stored = sorted(path for family in ("toy", "paper") for path in Path("instances", family).glob("*.best.json"))
    assert len(stored) > 10
    for path in stored:
        text = path.with_name(path.name.replace(".best", "")).read_bytes()
        if b"muri-opt/round/" in text:
            assert parse_round(text).fingerprint == json.loads(path.read_bytes())["fingerprint"], path


def test_a_rack_and_the_level_rack_are_one():
    level = Node(id="n0", gpus=1, levels={"rack": "r0"})
    assert level == Node(id="n0", gpus=1, rack="r0")
    assert (level.rack, level.levels, level.units) == ("r0", None, {"rack": "r0"})
    assert Cluster(levels=["rack"], nodes=[level]) == Cluster(nodes=[level])
    assert Cluster(nodes=[level]).level_names == ("rack",)
    assert Cluster(nodes=[Node(id="n0", gpus=1)]).level_names == ()
    assert round_of(nodes=[level], levels=["rack"]).format == ONE
    both = Node(id="n0", gpus=1, levels={"rack": "r0", "block": "b0"})
    assert (both.rack, both.levels, both.units) == ("r0", {"block": "b0"}, {"rack": "r0", "block": "b0"})
    assert replace(both, rack="r1").units == {"rack": "r1", "block": "b0"}


def test_several_gpu_types_are_kept_apart_where_format_2_is_said():
    nodes = (Node(id="n0", gpus=1, gpu_type="a"), Node(id="n1", gpus=1, gpu_type="b"))
    assert round_of(nodes=nodes).format == ONE
    said = round_of(nodes=nodes, format=TWO)
    assert (said.format, said.used_fields) == (TWO, {"node.gpu_type": "cluster.nodes[1] ('n1')"})
    assert parse_round(canonical_json(said)) == said
    assert "node.gpu_type" in round_of(job(priority=1), nodes=nodes).used_fields
    assert round_of(nodes=nodes[:1], format=TWO).format == ONE


def test_sets_are_stored_in_order_and_once():
    made = job(gpu_types=["b", "a", "b"], requires=["y", "x"], excludes=["z", "z"])
    assert (made.gpu_types, made.requires, made.excludes) == (("a", "b"), ("x", "y"), ("z",))
    assert Node(id="n", gpus=1, labels=["b", "a", "b"]).labels == ("a", "b")


def test_a_file_of_format_1_says_nothing_new():
    data = {"format": ONE, "cluster": {"nodes": []}, "jobs": [{"id": "a", "gpus": 1, "priority": 3}]}
    error = refused(lambda: parse_round(json.dumps(data)))
    assert str(error) == (
        "format: found 'muri-opt/round/1' with job.priority in jobs[0] ('a'); "
        "allowed: 'muri-opt/round/2' for this field"
    )
    assert parse_round(json.dumps({**data, "format": TWO})).jobs[0].priority == 3
    error = refused(lambda: in_format(round_of(job(priority=3)), ONE))
    assert error.allowed == "'muri-opt/round/2' for this field"


BAD_JOBS = [
    ({"priority": 1.5}, "priority", "a whole number from -10,000,000,000 to 10,000,000,000"),
    ({"priority": True}, "priority", "a whole number from -10,000,000,000 to 10,000,000,000"),
    ({"priority": False}, "priority", "a whole number from -10,000,000,000 to 10,000,000,000"),
    ({"priority": 0.0}, "priority", "a whole number from -10,000,000,000 to 10,000,000,000"),
    ({"gpu_types": []}, "gpu_types", "at least one GPU type, or no list: any one type"),
    ({"gpu_types": "a100"}, "gpu_types", "a list"),
    ({"gpu_types": ["a", 5]}, "gpu_types[1]", "a non-empty string"),
    ({"requires": ["a", ""]}, "requires[1]", "a non-empty string"),
    ({"excludes": None}, "excludes", "a list"),
    ({"even": 1}, "even", "a bool"),
    ({"even": 0}, "even", "a bool"),
    ({"preemptible": "no"}, "preemptible", "a bool"),
    ({"movable": 0}, "movable", "a bool"),
    ({"within": "rack"}, "within", "a Within"),
    ({"nodes": 2}, "nodes", "a NodeRange"),
    ({"held": 5}, "held", "a string"),
    ({"model": b"x"}, "model", "a string"),
    ({"deadline": -1}, "deadline", "a finite number from 0 to 2,000,000,000"),
    ({"requires": ["a", "b"], "excludes": ["c", "b"]}, "excludes", "labels that it does not require"),
    ({"nodes": NodeRange(least=5)}, "nodes", "a number of nodes that can hold the job's GPUs"),
    ({"nodes": NodeRange(least=3, most=3), "even": True}, "nodes", "a number of nodes that can hold the job's GPUs"),
]


@pytest.mark.parametrize(("fields", "field", "allowed"), BAD_JOBS, ids=str)
def test_a_bad_job(fields, field, allowed):
    error = refused(lambda: job(**fields))
    assert (error.field, error.allowed) == (field, allowed)


def test_a_job_without_gpus_fits_any_shape():
    assert Job(id="a", gpus=0, nodes=NodeRange(least=3), even=True).nodes.least == 3


@given(gpus=st.integers(1, 40), least=st.integers(1, 9), most=st.none() | st.integers(1, 9), even=st.booleans())
def test_node_counts_are_those_that_hold_the_gpus(gpus, least, most, even):
    if most is not None and most < least:
        assert refused(lambda: NodeRange(least=least, most=most)).field == "most"
        return
    good = [
        count
        for count in range(1, gpus + 1)
        if count >= least and (most is None or count <= most) and (gpus % count == 0 or not even)
    ]
    assert [*NodeRange(least=least, most=most).counts(gpus, even=even)] == good


def test_who_stays():
    running = {"state": "running", "placement": {"n0": 4}}
    free = [job(), job(**running), job(preemptible=False), job(preemptible=True, **running)]
    assert not any(one.stays or one.stays_put for one in free)
    pinned = job(preemptible=False, **running)
    assert pinned.stays
    assert pinned.stays_put
    assert not job(preemptible=False, movable=True, **running).stays_put
    assert job(movable=False, **running).stays_put


NODES = (Node(id="n0", gpus=8, levels={"block": "b0"}), Node(id="n1", gpus=8))
BAD_ROUNDS = [
    (lambda: round_of(nodes=NODES), "nodes[0] ('n0').levels[block]", "it lists none in 'levels'"),
    (lambda: round_of(nodes=NODES, levels=["block", "row"]), "levels[1]", "levels that some node is in"),
    (lambda: round_of(nodes=NODES, levels=["block", "block"]), "levels[1]", "a name used once"),
    (
        lambda: round_of(
            nodes=[*NODES, Node(id="n2", gpus=1, levels={"block": "b1", "rack": "r"}), Node(id="n3", gpus=1, rack="r")],
            levels=["block", "rack"],
        ),
        "nodes[3] ('n3').levels[rack]",
        "a name that is used inside one block only",
    ),
    (
        lambda: round_of(job(within=Within(level="rack")), nodes=NODES, levels=["block"]),
        "jobs[0] ('a').within.level",
        "a level of the cluster: block",
    ),
    (lambda: round_of(job(within=Within(level="rack"))), "jobs[0] ('a').within.level", "it has none"),
    (
        lambda: round_of(
            job(preemptible=False, state="running", placement={"n0": 4}), nodes=[Node(id="n0", gpus=4, state="down")]
        ),
        "jobs[0] ('a').placement[n0]",
        "leave out its state and placement",
    ),
    (lambda: round_of(tenants=[Tenant(id="a", parent="b")]), "tenants[0] ('a').parent", "another tenant"),
    (lambda: round_of(tenants=[Tenant(id="a", parent="a")]), "tenants[0] ('a').parent", "a tenant without one"),
    (
        lambda: round_of(tenants=[Tenant(id="x"), *(Tenant(id=f"{k}", parent=f"{(k + 1) % 3}") for k in range(3))]),
        "tenants[1] ('0').parent",
        "a tenant without one",
    ),
    (lambda: Tenant(id="a", borrow_gpus=1), "borrow_gpus", "a quota beside it"),
    (lambda: Tenant(id="a", weight=0), "weight", "a finite number above 0"),
    (lambda: Tenant(id="a", quota_by_type={"x": -1}), "quota_by_type[x]", "a whole number"),
    (lambda: Node(id="a", gpus=1, state="gone"), "state", "one of 'up', 'drain', 'down'"),
    (lambda: Node(id="a", gpus=1, rack="r0", levels={"rack": "r1"}), "levels[rack]", "'r0', as 'rack' says"),
    (lambda: Together(models=["a"], rates=[1]), "models", "at least two that share GPUs"),
    (lambda: Together(models=["a", "b"], rates=[1]), "rates", "2 rates, one per model"),
    (lambda: Together(models=["a", "b"], rates=[1, 0]), "rates[1]", "a finite number above 0"),
    (
        lambda: round_of(
            together=[Together(models=["a", "b"], rates=[1, 1]), Together(models=["b", "a"], rates=[1, 1])]
        ),
        "together[1].models",
        "every group of models once",
    ),
]


@pytest.mark.parametrize(("make", "field", "allowed"), BAD_ROUNDS, ids=range(len(BAD_ROUNDS)))
def test_a_bad_round(make, field, allowed):
    error = refused(make)
    assert error.field == field
    assert allowed in error.allowed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["cluster"]["nodes"][0]["levels"].update(block=5), "nodes[0] ('n0').levels[block]: found 5"),
        (lambda d: d["cluster"]["tenants"][1]["quota_by_type"].update(v100=-1), "quota_by_type[v100]: found -1"),
        (lambda d: d["jobs"][0]["within"].update(levle="x"), "unknown field 'levle' (did you mean 'level'?)"),
        (lambda d: d["jobs"][0].update(prioriti=1), "unknown field 'prioriti' (did you mean 'priority'?)"),
        (lambda d: d["together"][0].update(rates=[1, -1]), "together[0].rates[1]: found -1"),
    ],
)
def test_a_bad_file_names_the_place(change, said):
    data = json.loads(EXAMPLE)
    change(data)
    assert said in str(refused(lambda: parse_round(json.dumps(data))))


def test_what_operators_meet_every_day_is_no_bad_input():
    tenants = [
        Tenant(id="org", quota_gpus=4),
        Tenant(id="a", parent="org", quota_gpus=100),
        Tenant(id="b", parent="org", quota_gpus=100, lend_gpus=500),
    ]
    nodes = [Node(id="n0", gpus=8, state="down"), Node(id="n1", gpus=8, available_until=1)]
    lost = job(state="running", placement={"n0": 4}, tenant="a")
    large = Job(id="b", gpus=64, tenant="b", gpu_types=["gone"], requires=["gone"], not_before=5)
    held = Job(id="c", gpus=4, state="running", placement={"n1": 4}, held="asked", preemptible=False)
    round_ = round_of(lost, large, held, nodes=nodes, tenants=tenants, now=100)
    assert parse_round(canonical_json(round_)) == round_


def test_a_thousand_tenants_ten_deep():
    tenants = [Tenant(id=f"t{k}", parent=f"t{k + 100}" if k < 900 else None) for k in range(1000)]
    assert round_of(tenants=tenants).format == TWO
    circle = [*tenants[:-1], Tenant(id="t999", parent="t99")]
    assert "makes a circle" in refused(lambda: round_of(tenants=circle)).found


def test_a_deadline_that_has_passed_is_no_fault():
    assert round_of(job(deadline=9), now=9.5).jobs[0].deadline == 9.0
