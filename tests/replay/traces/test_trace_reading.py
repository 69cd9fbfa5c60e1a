"""Which format a file is in, its machines, and files that cannot be read at all."""

import pytest

from muri_opt import Node
from muri_opt.errors import InputError
from muri_opt.replay.traces import EXAMPLES, FORMATS, Trace, TraceJob, example, parse_trace, read_trace

EXPECTED = {
    "philly": (9, 6, ["no-submission-time", "no-attempt", "end-before-start"]),
    "philly-csv": (7, 5, ["no-duration", "end-before-start"]),
    "openb": (6, 3, ["no-attempt", "no-gpu", "shared-gpu"]),
    "helios": (6, 3, ["no-attempt", "no-gpu", "start-before-submission"]),
}


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a file and returns its name."""

    def write(data, name="file"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_format_is_found(written, name, ends, mark):
    path = written(mark + EXAMPLES[name].replace("\n", ends))
    found = read_trace(path)
    assert found == read_trace(path, name)
    rows, kept, reasons = EXPECTED[name]
    assert (found.format, found.report.rows, found.report.kept) == (name, rows, kept)
    assert [one.reason for one in found.report.left_out] == reasons
    submitted = [job.submitted for job in found.jobs]
    assert submitted == sorted(submitted)
    assert submitted[0] == 0


def test_an_unknown_format(written):
    with pytest.raises(InputError, match=r"format: found 'phily' \(did you mean 'philly'\?\); allowed: one of helios"):
        read_trace(written(EXAMPLES["philly"]), "phily")
    with pytest.raises(InputError, match=r"format: found 'xml'"):
        parse_trace("", "xml")
    with pytest.raises(InputError, match=r"example: found 'filly' \(did you mean 'philly'\?\)"):
        example("filly")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "no header"),
        ("\n\n", "no header"),
        ("a,b\n1,2\n", "the columns a, b"),
        (EXAMPLES["openb-nodes"], "the columns sn, cpu_milli, memory_mib, gpu, model"),
        ('"' + "x" * 200_000 + '"\n', "no header"),
    ],
)
def test_a_file_in_no_format(written, text, found):
    path = written(text)
    with pytest.raises(InputError) as caught:
        read_trace(path)
    assert (caught.value.field, caught.value.found) == (f"{path}: line 1", found)
    assert caught.value.allowed.startswith(
        "philly: a JSON list, or CSV with the columns of one format (philly-csv: time"
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("helios", "job_id,vc\n1,v\n", r"line 1: found no column gpu_num, state, .* in job_id, vc; allowed: a header"),
        ("openb", "", r"line 1: found no column name, .* in an empty line"),
        ("philly-csv", "duration,duration,num_gpus,timestamp\n", r"line 1.duration: found the column twice"),
        ("philly", EXAMPLES["helios"], r"line 1, column 1: found text that is not JSON in 'job_id"),
        ("philly", "", r"line 1: found an empty file; allowed: a JSON list of jobs"),
        ("helios", EXAMPLES["philly"], r"line 1: found no column job_id"),
    ],
)
def test_a_file_in_another_format_than_said(written, name, text, message):
    with pytest.raises(InputError, match=message):
        read_trace(written(text), name)


def test_a_header_alone_is_an_empty_trace():
    trace = parse_trace("timestamp,duration,num_gpus\n")
    assert (trace.jobs, trace.epoch, trace.report.rows, trace.tenants) == ((), None, 0, ())


def test_files_that_cannot_be_read(written, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"nowhere: found No such file or directory; allowed: a readable file"):
        read_trace(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"found Is a directory"):
        read_trace(tmp_path)
    with pytest.raises(InputError, match=r"path: found 3; allowed: the path of a file"):
        read_trace(3)
    latin = EXAMPLES["philly-csv"].replace("speech", "für").encode("latin-1")
    with pytest.raises(InputError, match=r"file: found text that is not UTF-8 in line 3; allowed: text in UTF-8"):
        read_trace(written(latin))
    with pytest.raises(InputError, match=r"text that is not UTF-8 in line 1"):
        read_trace(written(EXAMPLES["philly"].encode("utf-16")))
    monkeypatch.setattr("muri_opt.replay.traces.reading.MOST_BYTES", 10)
    with pytest.raises(InputError, match=r"found more than 10 bytes"):
        read_trace(written(EXAMPLES["philly"]))


def test_jobs_of_a_trace_are_in_order():
    report = parse_trace("[]").report
    jobs = (TraceJob(id="b", submitted=2.0, gpus=1), TraceJob(id="a", submitted=1.0, gpus=1))
    with pytest.raises(InputError, match=r"jobs: found 'a' after 'b', which is submitted later; allowed: jobs in the"):
        Trace(format="openb", epoch=None, jobs=jobs, report=report)


def machines(written, text):
    return read_trace(written(EXAMPLES["philly"], "log"), machines=written(text, "machines"))


def test_the_machines_of_philly(written):
    trace = machines(written, "m31,8, 24GB\n\nm2,2,12GB\nm31,2,12GB\nm4,0,\nm5,4,\n")
    assert trace.nodes == (
        Node(id="m31", gpus=8, gpu_type="24GB"),
        Node(id="m2", gpus=2, gpu_type="12GB"),
        Node(id="m5", gpus=4),
    )
    found = {one.reason: (one.count, one.example) for one in trace.machines.left_out}
    assert found == {"duplicate-id": (1, "line 4 (m31)"), "machine-without-gpu": (1, "line 5 (m4)")}
    assert (trace.machines.rows, trace.machines.kept) == (5, 3)
    assert machines(written, EXAMPLES["philly-machines"]).nodes[0] == Node(id="m1", gpus=8, gpu_type="24GB")


def test_the_nodes_of_openb(written):
    trace = machines(written, EXAMPLES["openb-nodes"])
    assert trace.nodes == (
        Node(id="node-0", gpus=8, cpus=96, memory_gib=768, gpu_type="V100M32"),
        Node(id="node-1", gpus=2, cpus=64, memory_gib=256, gpu_type="P100"),
    )
    assert [one.example for one in trace.machines.left_out] == ["line 4 (node-2)"]
    assert machines(written, "sn,gpu,more\na,4,x\n").nodes == (Node(id="a", gpus=4),)
    assert machines(written, "sn,gpu,more\na,4,x\n").machines.unused_columns == ("more",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "machines: line 1: found no machine; allowed: at least one machine"),
        ("machineId,number of GPUs,single GPU mem\n", "machines: line 1: found no machine"),
        ("m1,8\n", "machines: line 1: found 2 cells; allowed: a machine, its number of GPUs and"),
        ("m1,8,24GB\nm2,many,24GB\n", "machines: line 2.number of GPUs: found 'many'; allowed: a whole number"),
        (",8,24GB\n", "machines: line 1.machineId: found nothing; allowed: a name"),
        ('m1,8,"24GB\n', "machines: line 1: found text that is not CSV"),
        ("sn,cpu_milli\na,4\n", "machines: line 1: found no column gpu in sn, cpu_milli"),
        ("sn,gpu\na,x\n", "machines: line 2.gpu: found 'x'"),
    ],
)
def test_bad_lists_of_machines(written, text, message):
    with pytest.raises(InputError) as caught:
        machines(written, text)
    assert message in str(caught.value)
