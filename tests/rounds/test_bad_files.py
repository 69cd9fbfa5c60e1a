"""Every fault of a round file is one InputError that names the field, what was found and what is allowed."""

import copy
import json
import re
from pathlib import Path

import pytest

from muri_opt.errors import InputError
from muri_opt.rounds import files, parse_round, read_round

GOOD = {
    "format": "muri-opt/round/1",
    "cluster": {
        "nodes": [{"id": "n0", "gpus": 8}, {"id": "n1", "gpus": 4}],
        "tenants": [{"id": "vision", "quota_gpus": 4}, {"id": "speech"}],
    },
    "jobs": [{"id": "a", "gpus": 1}, {"id": "b", "gpus": 2, "tenant": "vision"}],
}
SECONDS = "a finite number from 0 to 2,000,000,000"
RATE = "a finite number above 0 and up to 1,000,000,000,000"
FORMATS = "one of 'muri-opt/round/1', 'muri-opt/round/2'"
GPUS = "a whole number from 0 to 1,000,000"
SOME_GPUS = "a whole number from 1 to 1,000,000"
PLAN_FIELDS = "an object with the fields name, gpus, nodes, gpu_type, cpus, memory_gib, throughput, gpu_types"


def refused(text):
    with pytest.raises(InputError) as caught:
        parse_round(text)
    error = caught.value
    assert str(error) == f"{error.field}: found {error.found}; allowed: {error.allowed}"
    assert caught.value.__cause__ is None
    return error.field, error.found, error.allowed


def with_job(**fields):
    data = copy.deepcopy(GOOD)
    data["jobs"][1].update(fields)
    return json.dumps(data)


def with_raw(field, raw):
    """Return the good round with raw text as a field of its second job: JSON no encoder would write."""
    return with_job(**{field: "@"}).replace('"@"', raw)


def test_the_good_round_is_good():
    assert [job.id for job in parse_round(json.dumps(GOOD)).jobs] == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "field", "found", "allowed"),
    [
        ({"gpus": -1}, "gpus", "-1", GPUS),
        ({"gpus": "x"}, "gpus", "'x'", GPUS),
        ({"gpus": 1.5}, "gpus", "1.5", GPUS),
        ({"gpus": True}, "gpus", "true", GPUS),
        ({"gpus": None}, "gpus", "null", GPUS),
        ({"gpus": 10**30}, "gpus", "1" + 30 * "0", GPUS),
        ({"gpus": [1, {"a": 2}]}, "gpus", '[1, {"a": 2}]', GPUS),
        ({"submitted": -0.5}, "submitted", "-0.5", SECONDS + ", or null"),
        ({"submitted": 1e300}, "submitted", "1e+300", SECONDS + ", or null"),
        ({"submitted": "soon"}, "submitted", "'soon'", SECONDS + ", or null"),
        ({"cpus": -1}, "cpus", "-1", "a finite number from 0 to 1,000,000, or null"),
        ({"memory_gib": 1e8}, "memory_gib", "100000000.0", "a finite number from 0 to 10,000,000, or null"),
        ({"remaining_iterations": 10**13}, "remaining_iterations", "10000000000000", None),
        ({"restarts": -3}, "restarts", "-3", "a whole number from 0 to 1,000,000,000, or null"),
        ({"state": "done"}, "state", "'done'", "one of 'running', 'waiting'"),
        ({"state": 3}, "state", "3", "one of 'running', 'waiting'"),
        ({"predictable": 1}, "predictable", "1", "true or false, or null"),
        ({"tenant": 5}, "tenant", "5", "a string, or null"),
        ({"tenant": "audio"}, "tenant", "'audio'", "a tenant of the cluster: speech, vision"),
        ({"stage_seconds": 5}, "stage_seconds", "5", f"a list, each item {SECONDS}, or null"),
        ({"stage_seconds": [1, 2, -3, 4]}, "stage_seconds[2]", "-3", SECONDS),
        (
            {"stage_seconds": [1, 2, 3]},
            "stage_seconds",
            "3 times",
            "4 times, one per resource: storage, cpu, gpu, network",
        ),
        ({"scaling": {}}, "scaling", "{}", None),
        ({"scaling": {"0": 1}}, "scaling key", "'0'", SOME_GPUS),
        ({"scaling": {"1": 1, "x": 1}}, "scaling key", "'x'", SOME_GPUS),
        ({"scaling": {"01": 1}}, "scaling key", "'01'", SOME_GPUS),
        ({"scaling": {"1": 1, "2": 0}}, "scaling[2]", "0", RATE),
        ({"scaling": {"1": 1, "2": "fast"}}, "scaling[2]", "'fast'", RATE),
        ({"placement": {"n0": 1, "n1": 0}}, "placement[n1]", "0", "at least 1 GPU, or 0 on every node"),
        (
            {"placement": {"n9": 1}},
            "placement[n9]",
            "1 GPUs on 'n9'",
            "a node of the cluster: n0, n1; a job whose node is gone waits: leave out its state and placement",
        ),
        ({"placement": {"n1": 5}}, "placement[n1]", "5 GPUs", "at most the 4 GPUs of the node"),
        ({"guarantee": {}}, "guarantee.throughput", "nothing", f"{RATE}; this field is required"),
        ({"guarantee": {"throughput": 0}}, "guarantee.throughput", "0", RATE),
        ({"plans": [5]}, "plans[0]", "5", PLAN_FIELDS),
        ({"plans": [{"name": "p", "gpus": -1, "throughput": 1}]}, "plans[0].gpus", "-1", GPUS),
        (
            {"plans": [{"name": "p", "gpus": 3, "nodes": 4, "throughput": 1}]},
            "plans[0].nodes",
            "4 for 3 GPUs",
            "at most one node for each of the plan's gpus",
        ),
        (
            {"plan": "tp", "plans": [{"name": "dp", "gpus": 1, "throughput": 1}]},
            "plan",
            "'tp'",
            "the name of one of the job's plans: dp",
        ),
    ],
)
def test_a_wrong_value_of_a_job(fields, field, found, allowed):
    said = refused(with_job(**fields))
    assert said[:2] == (f"jobs[1] ('b').{field}", found)
    assert allowed is None or said[2] == allowed


@pytest.mark.parametrize(("raw", "found"), [("1e999", "1e999"), ("-1e999", "-1e999")])
def test_a_number_no_float_can_hold(raw, found):
    assert refused(with_raw("submitted", raw)) == ("jobs[1] ('b').submitted", found, SECONDS + ", or null")


@pytest.mark.parametrize("raw", ["NaN", "Infinity", "-Infinity", "nan"])
def test_numbers_that_are_not_json(raw):
    field, found, allowed = refused(with_raw("submitted", raw))
    assert (field, allowed) == ("round", "one JSON object in UTF-8")
    assert re.match(r"text that is not JSON at line 1, column \d+, in ", found)
    assert f'"submitted": {raw}' in found


@pytest.mark.parametrize(
    ("change", "field", "found", "allowed"),
    [
        (lambda d: d.pop("format"), "format", "nothing", f"{FORMATS}; this field is required"),
        (lambda d: d.update(format=1), "format", "1", FORMATS),
        (lambda d: d.update(format="muri-opt/round/3"), "format", "'muri-opt/round/3'", FORMATS),
        (lambda d: d.pop("jobs"), "jobs", "nothing", None),
        (lambda d: d.pop("cluster"), "cluster", "nothing", None),
        (lambda d: d["jobs"][1].pop("gpus"), "jobs[1] ('b').gpus", "nothing", f"{GPUS}; this field is required"),
        (lambda d: d["jobs"][1].pop("id"), "jobs[1].id", "nothing", "a non-empty string; this field is required"),
        (lambda d: d["jobs"][1].update(id=""), "jobs[1].id", "''", "a non-empty string"),
        (lambda d: d["jobs"][1].update(id=7), "jobs[1].id", "7", "a non-empty string"),
        (lambda d: d["jobs"][1].update(id="a"), "jobs[1].id", "'a', used by jobs[0] already", "an id used once"),
        (
            lambda d: d["cluster"]["nodes"][1].update(id="n0"),
            "cluster.nodes[1].id",
            "'n0', used by nodes[0] already",
            "an id used once",
        ),
        (
            lambda d: d["cluster"]["tenants"][1].update(id="vision"),
            "cluster.tenants[1].id",
            "'vision', used by tenants[0] already",
            "an id used once",
        ),
        (lambda d: d["cluster"]["nodes"][1].update(gpus=-1), "cluster.nodes[1] ('n1').gpus", "-1", GPUS),
        (lambda d: d["cluster"]["tenants"][0].update(quota_gpus=0.5), None, "0.5", f"{GPUS}, or null"),
        (lambda d: d.update(now=-1), "now", "-1", SECONDS),
        (lambda d: d.update(jobs={}), "jobs", "{}", None),
        (lambda d: d.update(jobs=[[]]), "jobs[0]", "[]", None),
        (lambda d: d.update(resources=["cpu", 1]), "resources[1]", "1", "a string"),
    ],
)
def test_a_wrong_round(change, field, found, allowed):
    data = copy.deepcopy(GOOD)
    change(data)
    said = refused(json.dumps(data))
    assert field is None or said[0] == field
    assert said[1] == found
    assert allowed is None or said[2] == allowed


@pytest.mark.parametrize(
    ("change", "field", "found"),
    [
        (lambda d: d.update(job=[]), "round", "unknown field 'job' (did you mean 'jobs'?)"),
        (lambda d: d["jobs"][1].update(gpu=1), "jobs[1] ('b')", "unknown field 'gpu' (did you mean 'gpus'?)"),
        (lambda d: d["jobs"][1].update(zzz=1), "jobs[1] ('b')", "unknown field 'zzz'"),
        (lambda d: d["cluster"].update(node=[]), "cluster", "unknown field 'node' (did you mean 'nodes'?)"),
        (
            lambda d: d["cluster"]["nodes"][0].update(memory=1),
            "cluster.nodes[0] ('n0')",
            "unknown field 'memory' (did you mean 'memory_gib'?)",
        ),
        (
            lambda d: d["jobs"][1].update(guarantee={"throughput": 1, "rate": 2}),
            "jobs[1] ('b').guarantee",
            "unknown field 'rate'",
        ),
    ],
)
def test_an_unknown_field_is_named_and_the_nearest_suggested(change, field, found):
    data = copy.deepcopy(GOOD)
    change(data)
    said = refused(json.dumps(data))
    assert said[:2] == (field, found)
    assert said[2].startswith("an object with the fields ")


@pytest.mark.parametrize(
    "place", ["$.jobs", "$.jobs[7].zzz", "$.jobs[0].id.x[3]", "$.name[...]", "$.jobs[1].scaling[...]"]
)
@pytest.mark.parametrize("key", ["", "key` in `"])
def test_an_unknown_field_that_looks_like_the_end_of_a_message(place, key):
    _, found, _ = refused(json.dumps({**GOOD, f"x` - at `{key}{place}": 1}))
    assert found.startswith("unknown field")


def test_a_field_given_twice_where_the_first_is_wrong():
    field, found, _ = refused(with_raw("scaling", '{"1": 0, "1": 1}'))
    assert (field, found) == ("jobs[1] ('b').scaling", '{"1": 0, "1": 1}')


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"", "an empty text"),
        (b" \n\t ", "an empty text"),
        (b"{", "text that is not JSON (Input data was truncated)"),
        (b"nul", "text that is not JSON (Input data was truncated)"),
        (
            b'{"format": "muri-opt/round/1",\n "jobs": [}',
            "text that is not JSON at line 2, column 11, in ' \"jobs\": [}'",
        ),
        (b"\xef\xbb\xbf{}", "text that is not JSON at line 1, column 1, in '\\ufeff{}'"),
        (b"\x00\xff\xfe\x80", "text that is not JSON at line 1, column 1, in '\\x00���'"),
        (json.dumps(GOOD).encode("utf-16"), None),
        (json.dumps(GOOD)[:-1].encode(), "text that is not JSON (Input data was truncated)"),
        (json.dumps(GOOD).encode() + b"}", None),
        (b'{"format": "muri-opt/round/1", "name": "\xff"}', None),
        ('{"format": "muri-opt/round/1", "name": "\ud800"}', None),
        (b'{"format": "muri-opt/round/1", "name": "\\ud800"}', None),
        (b'{"format": "muri-opt/round/1", \'name\': 1}', None),
    ],
)
def test_text_that_is_not_json(text, found):
    said = refused(text)
    assert (said[0], said[2]) == ("round", "one JSON object in UTF-8")
    assert said[1] == found if found else said[1].startswith("text that is not")


@pytest.mark.parametrize("text", ["[]", "5", '"muri"', "null"])
def test_json_that_is_no_object(text):
    field, found, allowed = refused(text)
    assert (field, found.strip("'")) == ("round", text.strip('"'))
    assert allowed == "an object with the fields format, name, now, resources, cluster, jobs, together"


def test_long_values_are_shortened():
    _, found, _ = refused(with_job(gpus="x" * 10_000_000))
    assert found == "'" + 56 * "x" + "..."
    field, _, _ = refused(with_job(id="j" * 1000, gpus=-1))
    assert field == "jobs[1] ('" + 56 * "j" + "...).gpus"
    _, found, _ = refused(with_job(**{"u" * 100_000: 1}))
    assert len(found) < 100


@pytest.mark.parametrize("inside", ["[", '{"a":', '[{"a":'])
@pytest.mark.parametrize(
    "place",
    ["%s", '{"format": "muri-opt/round/1", "extra": %s', '{"format": "muri-opt/round/1", "cluster": {}, "jobs": %s'],
)
@pytest.mark.parametrize("closed", [True, False])
def test_nesting_of_ten_thousand(inside, place, closed):
    deep = place % (10_000 * inside)
    if closed:
        deep += "".join({"[": "]", "{": "}"}[bracket] for bracket in reversed(re.findall(r"[\[{]", deep)))
    field, _, _ = refused(deep)
    assert field in {"round", "format"}


def test_the_longest_path_of_a_message_still_finds_its_value():
    many = copy.deepcopy(GOOD)
    many["jobs"] += [{"id": f"job-{j}", "gpus": 1} for j in range(2, 5000)]
    many["jobs"][4321]["stage_seconds"] = [0, 0, 0, "late"]
    assert refused(json.dumps(many)) == ("jobs[4321] ('job-4321').stage_seconds[3]", "'late'", SECONDS)


def test_a_directory_a_missing_file_and_a_path_no_file_can_have(tmp_path):
    for path, found in (
        (tmp_path, "Is a directory"),
        (tmp_path / "none.json", "No such file or directory"),
        (tmp_path / "a\0b", "embedded null byte"),
    ):
        with pytest.raises(InputError) as caught:
            read_round(path)
        assert caught.value.found == found
        assert caught.value.field.startswith(str(path)[:20])


def test_a_fault_in_a_file(tmp_path):
    path = tmp_path / "round.json"
    path.write_text(with_job(gpus=-1))
    with pytest.raises(InputError, match=re.escape("jobs[1] ('b').gpus: found -1; allowed: " + GPUS)):
        read_round(path)


BIG = 100_000_000


def test_a_hundred_megabytes_of_white_space(tmp_path):
    path = tmp_path / "big.json"
    path.write_bytes(json.dumps(GOOD).encode().replace(b", ", b"," + BIG * b" ", 1))
    assert len(read_round(path).jobs) == 2
    path.write_bytes(BIG * b"\n")
    with pytest.raises(InputError, match="an empty text"):
        read_round(path)


def test_a_hundred_megabytes_of_jobs(tmp_path):
    path = tmp_path / "big.json"
    jobs = [{"id": f"job-{j}", "gpus": 1, "user": "u" * 100_000} for j in range(1000)]
    path.write_text(json.dumps({**GOOD, "jobs": jobs}))
    assert path.stat().st_size > BIG
    assert len(read_round(path).jobs) == 1000
    jobs[-1]["gpus"] = -1
    path.write_text(json.dumps({**GOOD, "jobs": jobs}))
    with pytest.raises(InputError, match=re.escape("jobs[999] ('job-999').gpus: found -1; allowed: ")):
        read_round(path)


@pytest.mark.parametrize("garbage", [b"\x00", b"[", b"x", b"9", b"\xff"])
def test_ten_megabytes_of_garbage(tmp_path, garbage):
    path = tmp_path / "big.json"
    path.write_bytes(BIG // 10 * garbage)
    with pytest.raises(InputError) as caught:
        read_round(path)
    assert caught.value.field == "round"
    assert len(str(caught.value)) < 300


def test_a_file_too_large_to_read(tmp_path, monkeypatch):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(files.MAX_FILE_BYTES + 1)  # sparse: takes no room on the disk
    with pytest.raises(InputError, match=r"a file of more than 1,073,741,824 bytes; allowed: at most"):
        read_round(path)
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 1 << 23)
    with pytest.raises(InputError, match=r"a file of more than 8,388,608 bytes"):
        read_round(Path("/dev/zero"))  # never ends, and says that its size is 0
