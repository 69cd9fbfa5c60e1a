"""The CSV formats: flattened Philly, openb pods and Helios; what is kept, left out and refused."""

from datetime import datetime

import pytest
from trace_writers import FLAT, HELIOS, OPENB

from muri_opt.errors import InputError
from muri_opt.replay.traces import Attempt, TraceJob, parse_trace

FLAT_ROW = "2017-10-09 07:00:00,66.5,2,133.0,vision"
OPENB_ROW = "pod-1,12000,24576,1,1000,,LS,Succeeded,100,400,160"
HELIOS_ROW = "7,u1,vc1,8,32,1,COMPLETED,2020-06-09 18:00:00,2020-06-09 18:01:00,2020-06-09 20:01:00,7200,60"


def read(*lines):
    return parse_trace("\n".join(lines) + "\n")


def counts(found):
    return {one.reason: (one.count, one.example) for one in found}


def test_a_flattened_job():
    trace = read(FLAT, FLAT_ROW)
    assert trace.epoch == datetime(2017, 10, 9, 7, 0, 0)
    assert trace.jobs == (TraceJob(id="line-2", submitted=0.0, gpus=2, tenant="vision", duration=66.5),)
    job = trace.jobs[0]
    assert (job.first_start, job.last_end, job.queueing_delay, job.run_time) == (None,) * 4
    assert job.service_seconds == 66.5


def test_an_openb_job():
    trace = read(OPENB, OPENB_ROW)
    expected = TraceJob(
        id="pod-1",
        submitted=100.0,
        gpus=1,
        cpus=12.0,
        memory_gib=24.0,
        status="passed",
        attempts=(Attempt(start=160.0, end=400.0),),
        duration=240.0,
    )
    assert (trace.epoch, trace.jobs) == (None, (expected,))
    assert trace.report.unused_columns == ("qos",)


def test_openb_without_memory_and_cpus():
    trace = read("name,num_gpu,gpu_milli,pod_phase,creation_time,deletion_time,scheduled_time", "p,1,1000,Failed,0,9,0")
    assert (trace.jobs[0].cpus, trace.jobs[0].memory_gib, trace.jobs[0].status) == (None, None, "failed")


@pytest.mark.parametrize(
    ("phase", "deleted", "status"),
    [("Succeeded", 400, "passed"), ("Failed", 400, "failed"), ("Running", 400, "unknown"), ("Running", "", "running")],
)
def test_phases_of_pods(phase, deleted, status):
    (job,) = read(OPENB, f"pod-1,12000,24576,1,1000,,LS,{phase},100,{deleted},160").jobs
    assert job.status == status


def test_a_helios_job():
    trace = read(HELIOS, HELIOS_ROW)
    expected = TraceJob(
        id="7",
        submitted=0.0,
        gpus=8,
        tenant="vc1",
        user="u1",
        cpus=32.0,
        status="passed",
        attempts=(Attempt(start=60.0, end=7260.0),),
        duration=7200.0,
    )
    assert (trace.epoch, trace.jobs) == (datetime(2020, 6, 9, 18, 0, 0), (expected,))
    assert trace.report.unused_columns == ("node_num", "queue")


@pytest.mark.parametrize(
    ("state", "status"),
    [("CANCELLED", "killed"), ("FAILED", "failed"), ("TIMEOUT", "failed"), ("NODE_FAIL", "failed")],
)
def test_states_of_helios(state, status):
    assert read(HELIOS, HELIOS_ROW.replace("COMPLETED", state)).jobs[0].status == status


def test_a_helios_job_still_running():
    (job,) = read(HELIOS, HELIOS_ROW.replace("2020-06-09 20:01:00,7200", "Unknown,")).jobs
    assert (job.status, job.duration) == ("running", None)


@pytest.mark.parametrize(
    ("header", "good", "bad", "reason", "example"),
    [
        (FLAT, FLAT_ROW, ",66,2,132,v", "no-submission-time", "line 3"),
        (FLAT, FLAT_ROW, "2017-10-09 07:00:00,,2,,v", "no-duration", "line 3"),
        (FLAT, FLAT_ROW, "2017-10-09 07:00:00,-1,2,-2,v", "end-before-start", "line 3"),
        (FLAT, FLAT_ROW, "2017-10-09 07:00:00,5,0,0,v", "no-gpu", "line 3"),
        (OPENB, OPENB_ROW, "x,1,1,0,0,,LS,Running,1,3,2", "no-gpu", "line 3 (x)"),
        (OPENB, OPENB_ROW, "x,1,1,1,460,,LS,Running,1,3,2", "shared-gpu", "line 3 (x)"),
        (OPENB, OPENB_ROW, "x,1,1,1,1000,,LS,Running,,3,2", "no-submission-time", "line 3 (x)"),
        (OPENB, OPENB_ROW, "x,1,1,1,1000,,LS,Pending,1,3,", "no-attempt", "line 3 (x)"),
        (OPENB, OPENB_ROW, "x,1,1,1,1000,,LS,Running,1,3,0", "start-before-submission", "line 3 (x)"),
        (OPENB, OPENB_ROW, "x,1,1,1,1000,,LS,Running,1,2,3", "end-before-start", "line 3 (x)"),
        (OPENB, OPENB_ROW, OPENB_ROW, "duplicate-id", "line 3 (pod-1)"),
        (HELIOS, HELIOS_ROW, HELIOS_ROW.replace("7,u1,vc1,8", "8,u1,vc1,0"), "no-gpu", "line 3 (8)"),
        (
            HELIOS,
            HELIOS_ROW,
            "8,u,v,1,1,1,COMPLETED,None,2020-06-09 18:01:00,2020-06-09 18:02:00,60,0",
            "no-submission-time",
            "line 3 (8)",
        ),
        (HELIOS, HELIOS_ROW, "8,u,v,1,1,1,CANCELLED,2020-06-09 18:01:00,,,,", "no-attempt", "line 3 (8)"),
        (
            HELIOS,
            HELIOS_ROW,
            "8,u,v,1,1,1,COMPLETED,2020-06-09 18:01:01,2020-06-09 18:01:00,2020-06-09 18:02:00,60,0",
            "start-before-submission",
            "line 3 (8)",
        ),
        (HELIOS, HELIOS_ROW, HELIOS_ROW, "duplicate-id", "line 3 (7)"),
    ],
)
def test_left_out(header, good, bad, reason, example):
    trace = read(header, good, bad)
    assert counts(trace.report.left_out) == {reason: (1, example)}
    assert (trace.report.rows, trace.report.kept, len(trace.jobs)) == (2, 1, 1)
    assert trace.report.left_out[0].meaning


@pytest.mark.parametrize(
    ("lines", "noted"),
    [
        ((FLAT, FLAT_ROW, FLAT_ROW), {"same-row": (1, "line 3")}),
        ((FLAT, FLAT_ROW.replace("133.0", "134")), {"other-gpu-time": (1, "line 2")}),
        (
            (OPENB, OPENB_ROW.replace("1000,,LS", "1000,P100|T4,LS")),
            {"gpu-type": (1, "line 2 (pod-1) asks for P100|T4")},
        ),
        ((OPENB, OPENB_ROW.replace("Succeeded", "Lost")), {"unknown-status": (1, "line 2 (pod-1)")}),
        ((HELIOS, HELIOS_ROW.replace("COMPLETED", "SUSPENDED")), {"unknown-status": (1, "line 2 (7)")}),
        ((HELIOS, HELIOS_ROW.replace("7200,60", "7201,60")), {"other-duration": (1, "line 2 (7)")}),
    ],
)
def test_kept_with_a_note(lines, noted):
    trace = read(*lines)
    assert counts(trace.report.noted) == noted
    assert len(trace.jobs) == len(lines) - 1


@pytest.mark.parametrize(
    ("header", "row", "field", "found"),
    [
        (FLAT, "yesterday,66,2,132,v", "line 2.timestamp", "'yesterday'"),
        (FLAT, "2017-10-09 07:00:00,long,2,132,v", "line 2.duration", "'long'"),
        (FLAT, "2017-10-09 07:00:00,1e400,2,132,v", "line 2.duration", "'1e400'"),
        (FLAT, "2017-10-09 07:00:00,inf,2,132,v", "line 2.duration", "'inf'"),
        (FLAT, "2017-10-09 07:00:00,66,1.5,132,v", "line 2.num_gpus", "'1.5'"),
        (FLAT, "2017-10-09 07:00:00,66,-2,132,v", "line 2.num_gpus", "'-2'"),
        (FLAT, "2017-10-09 07:00:00,66,1_0,132,v", "line 2.num_gpus", "'1_0'"),
        (FLAT, "2017-10-09 07:00:00,66,9999999,132,v", "line 2.num_gpus", "'9999999'"),
        (FLAT, "2017-10-09 07:00:00,66,²,132,v", "line 2.num_gpus", "'²'"),
        (FLAT, "2017-10-09 07:00:00,66,,132,v", "line 2.num_gpus", "nothing"),
        (FLAT, "2017-10-09 07:00:00,66,2", "line 2", "3 cells"),
        (FLAT, '2017-10-09 07:00:00,66,2,132,"v', "line 2", "text that is not CSV (unexpected end of data)"),
        (OPENB, ",1,1,1,1000,,LS,Running,1,3,2", "line 2.name", "nothing"),
        (OPENB, "x,1,1,1,1001,,LS,Running,1,3,2", "line 2.gpu_milli", "'1001'"),
        (OPENB, "x,-1,1,1,1000,,LS,Running,1,3,2", "line 2.cpu_milli", "-1.0"),
        (OPENB, "x,1,big,1,1000,,LS,Running,1,3,2", "line 2.memory_mib", "'big'"),
        (OPENB, "x,1,1,1,1000,,LS,Running,-1,3,2", "line 2.creation_time", "-1.0"),
        (HELIOS, HELIOS_ROW.replace("7,u1", ",u1"), "line 2.job_id", "nothing"),
        (HELIOS, HELIOS_ROW.replace("2020-06-09 18:01:00", "18:01"), "line 2.start_time", "'18:01'"),
    ],
)
def test_bad_cells_are_refused(header, row, field, found):
    with pytest.raises(InputError) as caught:
        read(header, row)
    assert (caught.value.field, caught.value.found) == (field, found)


def test_whole_numbers_with_a_point_and_columns_in_any_order():
    trace = read(" Cluster, NUM_GPUS,timestamp,duration,extra", "", "v,8.0,2017-10-09 07:00:00,5, ", "  ")
    assert trace.jobs == (TraceJob(id="line-3", submitted=0.0, gpus=8, tenant="v", duration=5.0),)
    assert trace.report.unused_columns == ("extra",)
