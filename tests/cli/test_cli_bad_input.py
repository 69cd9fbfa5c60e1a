"""Bad input at the command line: one clear line and code 2, or a right answer; never a traceback."""

import json

import pytest

NODES = {"nodes": [{"id": "n0", "gpus": 4}, {"id": "n1", "gpus": 4}]}


def job(**fields):
    return [{"id": "job-0", "gpus": 3, "submitted": 0, **fields}]


CHANGES = {
    "wrong type": ({"jobs": job(gpus="three")}, "jobs[0] ('job-0').gpus: found 'three'"),
    "missing field": ({"jobs": [{"id": "job-0", "submitted": 0}]}, "jobs[0] ('job-0').gpus: found nothing"),
    "missing cluster": ({"cluster": {}}, "cluster.nodes: found nothing"),
    "unknown field": ({"jobs": job(gpuss=3)}, "unknown field 'gpuss' (did you mean 'gpus'?)"),
    "other format": ({"format": "muri-opt/round/3"}, "format: found 'muri-opt/round/3'"),
    "duplicate job": ({"jobs": job() + job()}, "jobs[1].id: found 'job-0', used by jobs[0] already"),
    "duplicate node": ({"cluster": {"nodes": NODES["nodes"] * 2}}, "nodes[2].id: found 'n0'"),
    "not a number": ({"now": float("nan")}, "text that is not JSON"),
    "infinity": ({"jobs": job(submitted=float("inf"))}, "text that is not JSON"),
    "negative": ({"jobs": job(submitted=-1)}, "jobs[0] ('job-0').submitted: found -1"),
    "negative gpus": ({"jobs": job(gpus=-1)}, "jobs[0] ('job-0').gpus: found -1"),
    "absurd": ({"jobs": job(gpus=10**30)}, "jobs[0] ('job-0').gpus: found 1000000"),
    "no gpus": ({"jobs": job(gpus=0)}, "jobs[0] ('job-0').gpus: found 0"),
    "unknown node": ({"jobs": job(placement={"n9": 3})}, "found 3 GPUs on 'n9'"),
    "too many placed": ({"jobs": job(placement={"n0": 5})}, "found 5 GPUs; allowed: at most the 4 GPUs of the node"),
    "field of the policy": ({"jobs": [{"id": "job-0", "gpus": 1}]}, "jobs[0] ('job-0').submitted: found nothing"),
}


@pytest.mark.parametrize("fault", CHANGES)
def test_a_bad_round_is_named(refused, round_file, fault):
    changes, said = CHANGES[fault]
    assert said in refused("solve", round_file(**changes))


@pytest.mark.parametrize("text", ["", " \n", "{", "not json", "[]", "null", '"a"', "12", '{"format": 3}', "\ufeff{}"])
@pytest.mark.parametrize("command", ["solve", "show", "export"])
def test_text_that_is_no_round(refused, tmp_path, command, text):
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    assert "bad.json" in refused(command, path)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"\x00" * 64, b'{"format": "\xc3\x28"}', bytes(range(256))])
def test_bytes_that_are_no_text(refused, tmp_path, data):
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    assert "bad.json" in refused("solve", path)


@pytest.mark.parametrize("field", ["jobs", "cluster", "unknown"])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_is_refused(refused, tmp_path, field, opening, closing):
    deep = opening * 10_000 + "1" + closing * 10_000
    path = tmp_path / "deep.json"
    path.write_text(f'{{"format": "muri-opt/round/1", "{field}": {deep}}}')
    assert "deep.json" in refused("solve", path)


def test_a_file_of_100_megabytes_is_refused_or_read(refused, tmp_path):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.write(b'{"format": "muri-opt/round/1", "jobs": [')
        file.truncate(100_000_000)
    assert "large.json" in refused("solve", path)


def test_unknown_names_have_the_nearest_suggested(refused, toy):
    assert "policy: found 'fifi' (did you mean 'fifo'?)" in refused("solve", toy, "--policy", "fifi")
    assert "'nods' (did you mean 'nodes'?)" in refused("solve", toy, "--policy", "fifo:nods=any")
    assert "policy 'fifo'.nodes: found 'most'" in refused("solve", toy, "--policy", "fifo:nodes=most")
    assert "method: found 'exat' (did you mean 'exact'?)" in refused("solve", toy, "--method", "exat")
    assert "backend: found 'hihgs' (did you mean 'highs'?)" in refused("solve", toy, "--method", "exact@hihgs")
    assert "command: found 'sovle' (did you mean 'solve'?)" in refused("sovle", toy)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--seconds", "nan", "limits.seconds: found nan"),
        ("--seconds", "inf", "limits.seconds: found inf"),
        ("--seconds", "-1", "limits.seconds: found -1.0"),
        ("--seconds", "soon", "argument --seconds: invalid float value: 'soon'"),
        ("--gap", "-0.5", "limits.gap: found -0.5"),
        ("--threads", "0", "limits.threads: found 0"),
        ("--seed", "1.5", "argument --seed: invalid int value: '1.5'"),
        ("--seed", str(10**40), "limits.seed: found 1000"),
        ("--secons", "1", "unrecognized arguments: --secons 1"),
    ],
)
def test_bad_options(refused, toy, option, value, said):
    assert said in refused("solve", toy, option, value)


def test_a_backend_that_cannot_take_the_model_says_what_to_do(run, refused, tmp_path):
    path = tmp_path / "round.json"
    run("generate", "gangs", "--jobs", 200, "--nodes", 20, "--output", path)
    line = refused("solve", path, "--method", "exact@exhaustive")
    assert line.startswith("exhaustive: model ")
    assert "use " in line


def test_missing_arguments_and_files(refused, toy, tmp_path):
    assert "arguments are required: ROUND" in refused("solve")
    assert "arguments are required: RESULT.json" in refused("verify", toy)
    assert "No such file or directory" in refused("solve", tmp_path / "missing.json")
    assert "Is a directory" in refused("solve", tmp_path)


def test_names_cannot_move_the_cursor_or_break_the_lines(run, round_file, tmp_path):
    evil = "\x1b[2J\nmuri-opt: all is well\r"
    jobs = [{"id": evil, "gpus": 3, "submitted": 0}, {"id": evil + "2", "gpus": 9, "submitted": 0}]
    path = round_file(jobs=jobs, name=evil)
    result = tmp_path / "result.json"
    texts = [run("solve", path, "--output", result)[1], run("show", path, result)[1], run("verify", path, result)[1]]
    texts += [run("show", path, result, "--job", evil)[1], run("show", path, "--job", "\x1b[2J")[2]]
    for text in texts:
        assert text
        assert not set(text) & {"\x1b", "\r"}
        assert "\nmuri-opt: all" not in text
    assert json.loads(result.read_text())["decision"]["assignments"][0]["jobs"] == [evil]
