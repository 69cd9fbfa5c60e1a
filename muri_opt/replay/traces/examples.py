"""Small files of every format to start from, hand-made; each has rows that readers keep and rows they leave out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from muri_opt.errors import unknown_name


def example(name: str) -> str:
    """Return the text of an example file: a format, or ``philly-machines`` or ``openb-nodes``."""
    if name not in EXAMPLES:
        raise unknown_name("example", name, EXAMPLES)
    return EXAMPLES[name]


def _attempt(start: str, end: str, **machines: int) -> dict[str, Any]:
    return {
        "start_time": _time(start),
        "end_time": _time(end),
        "detail": [{"ip": ip, "gpus": [f"gpu{k}" for k in range(gpus)]} for ip, gpus in machines.items()],
    }


def _philly_job(number: int, submitted: str, status: str, vc: str, *attempts: dict[str, Any]) -> dict[str, Any]:
    return {
        "status": status,
        "vc": vc,
        "jobid": f"application_{number}",
        "attempts": attempts,
        "submitted_time": _time(submitted),
        "user": f"u{number % 3}",
    }


def _time(clock: str) -> str:
    return clock if clock == "None" else f"2017-10-09 {clock}:00"


_PHILLY: Final = (
    _philly_job(1, "07:00", "Pass", "vision", _attempt("07:01", "09:01", m1=8)),
    _philly_job(2, "07:05", "Killed", "speech", _attempt("07:06", "07:36", m2=4), _attempt("07:50", "10:50", m2=4)),
    _philly_job(3, "07:10", "Failed", "speech", _attempt("07:10", "07:12", m3=1)),
    _philly_job(4, "07:20", "Pass", "vision", _attempt("09:02", "11:02", m1=8, m2=4)),
    _philly_job(5, "07:25", "Pass", "vision", _attempt("07:40", "None", m3=1)),
    _philly_job(6, "07:30", "Pass", "speech", _attempt("07:31", "08:31", m9=2)),
    _philly_job(7, "07:35", "Killed", "vision"),
    _philly_job(8, "07:40", "Pass", "speech", _attempt("07:41", "07:39", m2=1)),
    _philly_job(9, "None", "Pass", "speech", _attempt("08:00", "08:10", m2=1)),
)
_PHILLY_MACHINES: Final = "machineId,number of GPUs, single GPU mem\nm1,8, 24GB\nm2,8, 24GB\nm3,2, 12GB\n"
_PHILLY_CSV: Final = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:00:00,7200.0,8,57600.0,vision
2017-10-09 07:05:00,12600.0,4,50400.0,speech
2017-10-09 07:10:00,120.0,1,120.0,speech
2017-10-09 07:20:00,7200.0,12,86400.0,vision
2017-10-09 07:25:00,,1,,vision
2017-10-09 07:30:00,3600.0,2,7200.0,speech
2017-10-09 07:40:00,-120.0,1,-120.0,speech
"""
_OPENB: Final = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
pod-0,64000,262144,8,1000,,Burstable,Succeeded,0,7260,60
pod-1,12000,24576,1,1000,,LS,Running,120,86400,121
pod-2,4000,15258,1,220,,BE,Running,300,900,300
pod-3,8000,30517,0,0,,BE,Running,400,1000,400
pod-4,16000,32768,2,1000,V100M16|V100M32,LS,Failed,500,1700,500
pod-5,12000,49152,1,1000,,LS,Pending,600,700,
"""
_OPENB_NODES: Final = """sn,cpu_milli,memory_mib,gpu,model
node-0,96000,786432,8,V100M32
node-1,64000,262144,2,P100
node-2,32000,262144,0,
"""
_HELIOS: Final = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1,u1,vc1,8,32,1,COMPLETED,2020-06-09 18:00:00,2020-06-09 18:01:00,2020-06-09 20:01:00,7200,60
2,u2,vc1,1,4,1,CANCELLED,2020-06-09 18:05:00,2020-06-09 18:05:00,2020-06-10 04:05:00,36000,0
3,u1,vc2,16,64,2,NODE_FAIL,2020-06-09 18:10:00,2020-06-09 20:02:00,2020-06-09 20:32:00,1800,6720
4,u3,vc2,0,16,1,COMPLETED,2020-06-09 18:20:00,2020-06-09 18:20:00,2020-06-09 18:30:00,600,0
5,u3,vc2,4,16,1,CANCELLED,2020-06-09 18:30:00,,2020-06-09 18:40:00,,600
6,u2,vc1,2,8,1,COMPLETED,2020-06-09 18:40:00,2020-06-09 18:39:00,2020-06-09 19:39:00,3600,0
"""

EXAMPLES: Final[Mapping[str, str]] = {
    "philly": msgspec.json.format(msgspec.json.encode(_PHILLY), indent=1).decode() + "\n",
    "philly-machines": _PHILLY_MACHINES,
    "philly-csv": _PHILLY_CSV,
    "openb": _OPENB,
    "openb-nodes": _OPENB_NODES,
    "helios": _HELIOS,
}
