"""The shipped JSON Schema is the one of the types, and says of a file what the decoder says.

Rules that a JSON Schema cannot express, which only the decoder knows:

* ids are used once, among jobs, nodes and tenants;
* a job's tenant, its plan and the nodes of its placement are listed, and the nodes have that many GPUs;
* there is one stage time per resource;
* a plan's GPUs are a multiple of its nodes;
* a placement has GPUs on every node or on none; a running job has one, of as many GPUs as it can run with;
* levels are named once, some node is in each, all that nodes and jobs name are listed, and units lie in one wider one;
* a rack that is told twice is the same rack;
* parents of tenants are listed and lead to one without; what is borrowed and lent is beside a quota;
* the nodes a job may be on can hold its GPUs, and it requires no label that it excludes;
* there is one rate per model, and every group of models is measured once;
* a job on a node that is down may be stopped;
* what format 1 does not have is not in a file of format 1;
* a whole number is written without a fraction: 8, not 8.0, which a schema takes for an integer.
"""

import copy
import json
from pathlib import Path

import msgspec
import pytest
from full_rounds import full_rounds
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from muri_opt.errors import InputError
from muri_opt.rounds import canonical_json, parse_round
from muri_opt.rounds.quantities import MAX_GPUS
from muri_opt.rounds.round import Round
from muri_opt.rounds.schema import round_schema, round_schema_text

VALIDATOR = Draft202012Validator(round_schema())
RULES_BEYOND_A_SCHEMA = (
    "an id used once",
    "a tenant of the cluster",
    "the name of one of the job's plans",
    "a node of the cluster",
    "at most the ",
    "times, one per resource",
    "a divisor of the plan's gpus",
    "or 0 on every node",
    "the job is running",
    "GPUs it can run with",
    "a name used once",
    "levels that some node is in",
    "a unit of a level of the cluster",
    "used inside one",
    "a level of the cluster",
    "as 'rack' says",
    "another tenant of the cluster",
    "parents that lead to",
    "a quota beside it",
    "nodes of 'least'",
    "nodes that can hold",
    "labels that it does not require",
    "rates, one per model",
    "every group of models once",
    "a job that may be stopped",
    "for this field",
)
FULL = {
    "format": "muri-opt/round/2",
    "name": "full",
    "now": 5.5,
    "resources": ["cpu", "gpu"],
    "cluster": {
        "levels": ["block", "rack"],
        "nodes": [
            {
                "id": "n0",
                "gpus": 8,
                "cpus": 9.5,
                "memory_gib": 7.5,
                "rack": "r",
                "gpu_type": "v100",
                "levels": {"block": "b", "rack": "r"},
                "labels": ["nvlink"],
                "state": "drain",
                "available_until": 9.5,
            },
            {"id": "n9", "gpus": 8, "levels": {"block": "b", "rack": "r9"}},
        ],
        "tenants": [
            {
                "id": "t0",
                "quota_gpus": 5,
                "parent": "t9",
                "weight": 1.5,
                "quota_by_type": {"v100": 4},
                "borrow_gpus": 3,
                "lend_gpus": 2,
                "used_gpu_seconds": 2.5,
            },
            {"id": "t9"},
        ],
    },
    "jobs": [
        {
            "id": "job-0",
            "tenant": "t0",
            "user": "u",
            "submitted": 1.5,
            "gpus": 2,
            "cpus": 1.5,
            "memory_gib": 1.5,
            "state": "running",
            "remaining_iterations": 7,
            "iteration_seconds": 0.5,
            "attained_gpu_seconds": 1.5,
            "executed_seconds": 1.5,
            "waiting_seconds": 1.5,
            "restarts": 1,
            "stage_seconds": [0.5, 0.25],
            "scaling": {"1": 1.5, "16": 2.5},
            "plans": [
                {
                    "name": "dp",
                    "gpus": 4,
                    "nodes": 2,
                    "gpu_type": "v100",
                    "cpus": 1.5,
                    "memory_gib": 1.5,
                    "throughput": 1.5,
                }
            ],
            "guarantee": {"throughput": 1.5},
            "predictable": True,
            "placement": {"n0": 2},
            "plan": "dp",
            "restart_seconds": 1.5,
            "priority": 3,
            "gpu_types": ["v100"],
            "nodes": {"least": 1, "most": 2},
            "even": True,
            "requires": ["nvlink"],
            "excludes": ["spot"],
            "within": {"level": "rack", "required": True},
            "preemptible": True,
            "movable": True,
            "held": "asked",
            "not_before": 3.5,
            "deadline": 7.5,
            "time_limit_seconds": 1.5,
            "model": "bert",
        },
        {"id": "job-1", "gpus": 1},
    ],
    "together": [{"models": ["bert", "gpt2"], "rates": [0.5, 0.75]}, {"models": ["bert", "bert"], "rates": [0.5, 0.5]}],
}
REQUIRED = [
    *(((), field) for field in ("format", "cluster", "jobs")),
    (("cluster",), "nodes"),
    *((("cluster", "nodes", 0), field) for field in ("id", "gpus")),
    (("cluster", "tenants", 0), "id"),
    *((("jobs", 0), field) for field in ("id", "gpus")),
    *((("jobs", 0, "plans", 0), field) for field in ("name", "gpus", "throughput")),
    (("jobs", 0, "guarantee"), "throughput"),
    (("jobs", 0, "within"), "level"),
    *((("together", 0), field) for field in ("models", "rates")),
]
KEYED_BY_NAME = ("placement", "quota_by_type", "levels")
"""Mappings whose keys are names: whether there is a thing of that name is beyond the schema."""


def places(value, path=()):
    """Return the path of every value inside ``value``."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inside for place in places(item, (*path, key)))]


def at(data, path):
    for key in path:
        data = data[key]
    return data


def changed(path, value):
    data = copy.deepcopy(FULL)
    at(data, path[:-1])[path[-1]] = value
    return data


def changed_all(values, **job):
    data = copy.deepcopy(FULL)
    for path, value in values.items():
        at(data, path[:-1])[path[-1]] = value
    data["jobs"][0] |= job
    return data


def decoder_accepts(data):
    """Return whether the decoder accepts the data, or refuses it for no other reason than a rule listed above."""
    try:
        parse_round(json.dumps(data))
    except InputError as error:
        return any(rule in error.allowed for rule in RULES_BEYOND_A_SCHEMA)
    return True


def refused_by_both(data):
    return not VALIDATOR.is_valid(data) and not decoder_accepts(data)


def test_the_shipped_schema_is_the_one_of_the_types():
    shipped = Path(__file__).parents[2] / "instances" / "schema.json"
    assert shipped.read_text() == round_schema_text()


def test_the_schema_is_a_valid_schema():
    Draft202012Validator.check_schema(round_schema())
    assert round_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_schema_knows_every_field_and_no_other():
    for name, definition in round_schema()["$defs"].items():
        assert definition["additionalProperties"] is False, name
    assert set(round_schema()["$defs"]["Round"]["properties"]) == set(Round.__struct_fields__) == set(FULL)
    assert set(round_schema()["$defs"]["Job"]["properties"]) == set(FULL["jobs"][0])


def test_the_full_round_is_valid():
    assert VALIDATOR.is_valid(FULL)
    assert parse_round(json.dumps(FULL)).name == "full"


@given(round_=full_rounds())
def test_every_valid_round_validates(round_):
    VALIDATOR.validate(json.loads(canonical_json(round_)))


@pytest.mark.parametrize("path", [p for p in places(FULL) if p], ids=str)
def test_a_value_of_the_wrong_type_is_refused_by_both(path):
    old = at(FULL, path)
    wrong = [[5]] if isinstance(old, (str, bool, int, float)) else ["x", 5, True]
    wrong += {str: [5, True], bool: ["x", 5], int: ["x", True, 1.5], float: ["x", True], list: [{}], dict: [[]]}[
        type(old)
    ]
    for value in wrong:
        assert refused_by_both(changed(path, value)), value


@pytest.mark.parametrize("path", [p for p in places(FULL) if type(at(FULL, p)) in {int, float}], ids=str)
def test_numbers_out_of_range_are_refused_by_both(path):
    for value in (-(10**11), -0.5, 1e300, 10**30):
        assert refused_by_both(changed(path, value)), value


@pytest.mark.parametrize("path", [p for p in places(FULL) if isinstance(at(FULL, p), dict)], ids=str)
def test_an_unknown_key_is_refused_by_both(path):
    if path[-1:] == ("placement",):
        assert VALIDATOR.is_valid(changed((*path, "zzz"), 1))
        with pytest.raises(InputError, match="a node of the cluster"):
            parse_round(json.dumps(changed((*path, "zzz"), 1)))
    elif path[-1:] == ("quota_by_type",):
        assert VALIDATOR.is_valid(changed((*path, "zzz"), 1))
        assert decoder_accepts(changed((*path, "zzz"), 1))
    else:
        assert refused_by_both(changed((*path, "zzz"), 1))


@pytest.mark.parametrize(("path", "field"), REQUIRED, ids=str)
def test_a_missing_field_is_refused_by_both(path, field):
    data = copy.deepcopy(FULL)
    del at(data, path)[field]
    assert refused_by_both(data)


def test_every_field_that_is_not_required_may_be_missing():
    for path in [
        p for p in places(FULL) if isinstance(at(FULL, p), dict) and not {*p[-1:]} & {"scaling", *KEYED_BY_NAME}
    ]:
        for field in at(FULL, path):
            if (path, field) not in REQUIRED and path[-1:] != (1,):
                data = copy.deepcopy(FULL)
                del at(data, path)[field]
                assert VALIDATOR.is_valid(data)
                if field == "placement":
                    at(data, path)["state"] = "waiting"  # a running job says where it is
                assert decoder_accepts(data)


@pytest.mark.parametrize(
    "key", ["0", "x", "", "01", "1.0", "-1", "+1", " 1", "1e0", str(MAX_GPUS + 1), "9999999", "1_0", "\u0661"]
)
def test_a_scaling_key_that_is_no_gpu_count_is_refused_by_both(key):
    assert refused_by_both(changed(("jobs", 0, "scaling"), {key: 1.0}))


@pytest.mark.parametrize("key", ["1", "9", "10", "999999", str(MAX_GPUS)])
def test_a_scaling_key_that_is_a_gpu_count_is_accepted_by_both(key):
    data = changed(("jobs", 0, "scaling"), {key: 1.0})
    assert VALIDATOR.is_valid(data)
    assert parse_round(json.dumps(data)).jobs[0].scaling == {int(key): 1.0}


ANY_VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 10**7)
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x if x % 1 else x + 0.5)
    | st.text(max_size=3)
    | st.sampled_from(["n0", "t0", "dp", "waiting", "down", "rack", "muri-opt/round/1", 1e300]),
    lambda inside: (
        st.lists(inside, max_size=2) | st.dictionaries(st.sampled_from(["id", "gpus", "1", "n0"]), inside, max_size=2)
    ),
    max_leaves=4,
)


@given(path=st.sampled_from([p for p in places(FULL) if p]), value=ANY_VALUE)
def test_both_agree_on_any_value_at_any_place(path, value):
    data = changed(path, value)
    assert VALIDATOR.is_valid(data) == decoder_accepts(data)


def test_a_whole_number_with_a_fraction_is_where_the_two_differ():
    data = changed(("jobs", 0, "gpus"), 8.0)
    assert VALIDATOR.is_valid(data)
    assert not decoder_accepts(data)


def test_each_rule_beyond_a_schema_refuses_a_file_that_validates():
    broken = {
        "an id used once": changed(("jobs", 1, "id"), "job-0"),
        "a tenant of the cluster": changed(("jobs", 0, "tenant"), "t1"),
        "the name of one of the job's plans": changed(("jobs", 0, "plan"), "tp"),
        "a node of the cluster": changed(("jobs", 0, "placement"), {"n1": 1}),
        "at most the ": changed(("jobs", 0, "placement"), {"n0": 9}),
        "times, one per resource": changed(("jobs", 0, "stage_seconds"), [1]),
        "a divisor of the plan's gpus": changed(("jobs", 0, "plans", 0, "nodes"), 3),
        "or 0 on every node": changed(("jobs", 0, "placement"), {"n0": 2, "n1": 0}),
        "the job is running": changed(("jobs", 0, "placement"), None),
        "GPUs it can run with": changed_all({("jobs", 0, "placement"): {"n0": 1}}, scaling=None, stage_seconds=None),
        "a name used once": changed(("cluster", "levels", 0), "rack"),
        "levels that some node is in": changed(("cluster", "levels"), ["pod", "block", "rack"]),
        "a unit of a level of the cluster": changed(("cluster", "levels"), ["rack"]),
        "used inside one": changed(("cluster", "nodes", 1, "levels"), {"block": "b9", "rack": "r"}),
        "a level of the cluster": changed(("jobs", 0, "within", "level"), "pod"),
        "as 'rack' says": changed(("cluster", "nodes", 0, "rack"), "r9"),
        "another tenant of the cluster": changed(("cluster", "tenants", 0, "parent"), "t5"),
        "parents that lead to": changed(("cluster", "tenants", 1, "parent"), "t0"),
        "a quota beside it": changed(("cluster", "tenants", 1, "lend_gpus"), 5),
        "nodes of 'least'": changed(("jobs", 0, "nodes", "least"), 3),
        "nodes that can hold": changed(("jobs", 1, "nodes"), {"least": 2}),
        "labels that it does not require": changed(("jobs", 0, "excludes"), ["nvlink"]),
        "rates, one per model": changed(("together", 0, "rates"), [1, 1, 1]),
        "every group of models once": changed(("together", 1, "models"), ["gpt2", "bert"]),
        "a job that may be stopped": changed_all({("cluster", "nodes", 0, "state"): "down"}, preemptible=False),
        "for this field": changed(("format",), "muri-opt/round/1"),
    }
    assert tuple(broken) == RULES_BEYOND_A_SCHEMA
    for rule, data in broken.items():
        assert VALIDATOR.is_valid(data), rule
        with pytest.raises(InputError) as caught:
            parse_round(json.dumps(data))
        assert rule in caught.value.allowed
        if rule != "for this field":
            with pytest.raises(msgspec.ValidationError):
                msgspec.json.decode(json.dumps(data), type=Round)
