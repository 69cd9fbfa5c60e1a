"""A round survives files and text unchanged, and its fingerprint says whether two rounds are equal."""

import math
from fractions import Fraction
from hashlib import sha256
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from full_rounds import JOB_FIELDS, full_rounds, job_fields, seconds
from hypothesis import example, given, strategies as st

from muri_opt.errors import InputError
from muri_opt.rounds import (
    Cluster,
    Guarantee,
    Job,
    Node,
    NodeRange,
    Plan,
    Round,
    Tenant,
    Within,
    canonical_json,
    parse_round,
    read_round,
    write_round,
)
from muri_opt.rounds.quantities import MAX_SECONDS, mebibytes, microseconds, milli_cpus

replace = msgspec.structs.replace


@given(round_=full_rounds())
def test_text_reads_back_equal(round_):
    again = parse_round(canonical_json(round_))
    assert again == round_
    assert canonical_json(again) == canonical_json(round_)
    assert again.fingerprint == round_.fingerprint


@given(round_=full_rounds())
def test_a_round_sent_to_another_process_has_the_same_text(round_):
    again = ForkingPickler.loads(ForkingPickler.dumps(round_))
    assert again == round_
    assert canonical_json(again) == canonical_json(round_)


@given(round_=full_rounds())
def test_a_file_reads_back_equal_and_is_written_alike_again(round_):
    with TemporaryDirectory() as folder:
        first, second = Path(folder, "first.json"), Path(folder, "second.json")
        write_round(round_, first)
        again = read_round(first)
        assert again == round_
        write_round(again, second)
        assert second.read_bytes() == first.read_bytes()
        assert first.read_bytes().endswith(b"}\n")


@given(data=st.data(), round_=full_rounds())
def test_a_changed_job_field_changes_the_fingerprint(data, round_):
    job = round_.jobs[0] if round_.jobs else Job(id="a", gpus=1)
    before = replace(round_, jobs=(job, *round_.jobs[1:]))
    strategies = {**job_fields(round_.cluster, round_.resources, round_.now), "plan": st.sampled_from([None, job.plan])}
    field = data.draw(st.sampled_from(sorted(strategies)))
    value = data.draw(strategies[field])
    fields = {field: value, **({"plan": None} if field == "plans" else {})}
    try:
        after = replace(before, jobs=(replace(job, **fields), *round_.jobs[1:]))
    except InputError:
        return  # with what the job says beside, there is no such job
    assert (after == before) == (after.fingerprint == before.fingerprint)


FULL_JOB = Job(
    id="a",
    tenant="t0",
    user="u0",
    submitted=1.0,
    gpus=2,
    cpus=3.0,
    memory_gib=4.0,
    state="waiting",
    remaining_iterations=5,
    iteration_seconds=6.0,
    attained_gpu_seconds=7.0,
    executed_seconds=8.0,
    waiting_seconds=9.0,
    restarts=10,
    stage_seconds=(1.0, 2.0, 3.0, 4.0),
    scaling={1: 1.0, 2: 1.5},
    plans=(Plan(name="dp", gpus=2, throughput=1.0), Plan(name="tp", gpus=2, throughput=1.0)),
    guarantee=Guarantee(throughput=1.0),
    predictable=True,
    placement={"n0": 2},
    plan="dp",
    restart_seconds=11.0,
    priority=12,
    gpu_types=("v100",),
    nodes=NodeRange(least=1, most=2),
    even=True,
    requires=("nvlink",),
    excludes=("spot",),
    within=Within(level="block"),
    preemptible=True,
    movable=True,
    held="asked",
    not_before=13.0,
    deadline=14.0,
    time_limit_seconds=15.0,
    model="bert",
)
FULL_NODE = Node(
    id="n0",
    gpus=8,
    cpus=16.0,
    memory_gib=64.0,
    rack="r0",
    gpu_type="v100",
    levels={"block": "b0"},
    labels=("nvlink",),
    state="drain",
    available_until=16.0,
)
FULL_PLAN = Plan(name="dp", gpus=4, nodes=2, gpu_type="v100", cpus=1.0, memory_gib=2.0, throughput=3.0)
OTHER = {
    "id": "b",
    "name": "tp",
    "tenant": "t1",
    "user": "u1",
    "state": "running",
    "stage_seconds": (1.0, 2.0, 3.0, 4.000001),
    "scaling": {1: 1.0, 4: 1.5},
    "plans": (Plan(name="dp", gpus=2, throughput=1.0),),
    "guarantee": Guarantee(throughput=2.0),
    "predictable": False,
    "placement": {"n0": 1},
    "plan": "tp",
    "rack": "r1",
    "gpu_type": "a100",
    "gpu_types": ("a100", "v100"),
    "even": False,
    "requires": ("ib",),
    "excludes": ("slow",),
    "within": Within(level="block", required=False),
    "preemptible": False,
    "movable": False,
    "held": "failed",
    "model": "gpt2",
    "levels": {"block": "b1"},
    "labels": ("ib",),
}
NODE_OTHER = {"id": "n2", "state": "down"}
ALWAYS = {"id", "name", "gpus", "state", "throughput", "priority", "even", "requires", "excludes", "labels"}
"""Fields that are never absent."""


def fingerprint(job=FULL_JOB, node=FULL_NODE, plan=FULL_PLAN, quota=4, **fields):
    cluster = Cluster(
        levels=["block", "rack"],
        nodes=[node, Node(id="n0-b", gpus=1, rack="r9", levels={"block": "b9"})],
        tenants=[Tenant(id="t0", quota_gpus=quota), Tenant(id="t1")],
    )
    given_fields = {"cluster": cluster, "jobs": [job, Job(id="z", gpus=4, plans=[plan])], **fields}
    return Round(**given_fields).fingerprint


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        *(("job", field) for field in Job.__struct_fields__),
        *(("node", field) for field in Node.__struct_fields__ if field != "id"),
        *(("plan", field) for field in Plan.__struct_fields__),
    ],
)
def test_every_field_of_a_full_round_counts(kind, field):
    full = {"job": FULL_JOB, "node": FULL_NODE, "plan": FULL_PLAN}[kind]
    if (kind, field) == ("plan", "gpu_types"):  # a plan says this or its gpu_type
        full = replace(full, gpu_type=None, gpu_types=("v100",))
    old = getattr(full, field)
    assert old is not None
    other = {**OTHER, **(NODE_OTHER if kind == "node" else {"nodes": NodeRange(most=3)} if kind == "job" else {})}
    values = [other[field] if field in other else 2 * old]
    if field not in ALWAYS and (kind, field) != ("plan", "nodes"):
        values.append(None)  # absent is another round than any value
    seen = {fingerprint(**{kind: full}), *(fingerprint(**{kind: replace(full, **{field: v})}) for v in values)}
    assert len(seen) == 1 + len(values)


def test_the_order_of_lists_counts_and_that_of_mappings_does_not():
    assert fingerprint(jobs=[Job(id="a", gpus=1), Job(id="b", gpus=1)]) != fingerprint(
        jobs=[Job(id="b", gpus=1), Job(id="a", gpus=1)]
    )
    assert fingerprint(name="x") != fingerprint(now=1.0) != fingerprint(quota=5) != fingerprint()
    one = Job(id="a", gpus=1, scaling={1: 1.0, 2: 2.0, 16: 9.0}, placement={"n0": 1, "n0-b": 1})
    two = Job(id="a", gpus=1, scaling={1: 1.0, 16: 9.0, 2: 2.0}, placement={"n0-b": 1, "n0": 1})
    assert fingerprint(jobs=[one]) == fingerprint(jobs=[two])


def test_a_fingerprint_is_the_sha256_of_the_canonical_text():
    round_ = Round(cluster=Cluster(nodes=()), jobs=())
    text = (
        b'{"format":"muri-opt/round/1","name":"","now":0.0,"resources":["storage","cpu","gpu","network"],'
        b'"cluster":{"nodes":[]},"jobs":[]}'
    )
    assert canonical_json(round_) == text
    assert round_.fingerprint == f"sha256:{sha256(text).hexdigest()}"


@given(count=st.integers(0, 2 * 10**15))
@example(count=2 * 10**15)
@example(count=2 * 10**15 - 1)
@example(count=1)
def test_every_microsecond_up_to_the_largest_time_is_kept(count):
    job = Job(id="a", gpus=1, submitted=count / 10**6)
    assert job.submitted == count / 10**6
    assert microseconds(job.submitted) == count


@given(value=seconds)
@example(value=MAX_SECONDS)
@example(value=math.nextafter(MAX_SECONDS, 0))
@example(value=5e-324)
@example(value=0.5e-6)
def test_a_time_is_snapped_to_the_nearest_microsecond_in_files_and_objects_alike(value):
    job = Job(id="a", gpus=1, submitted=value)
    assert job.submitted == microseconds(value) / 10**6
    # Twice rounded, in the product and in the quotient: half a microsecond and what a float cannot tell apart.
    assert abs(Fraction(job.submitted) - Fraction(value)) <= Fraction(1, 2 * 10**6) + Fraction(math.ulp(value))
    text = '{"format": "muri-opt/round/1", "cluster": {"nodes": []}, "jobs": [{"id": "a", "gpus": 1, "submitted": %r}]}'
    assert parse_round(text % value).jobs == (job,)
    assert replace(job) == job


@given(cpus=st.floats(0, 1e6), memory=st.floats(0, 1e7))
def test_cpus_and_memory_are_snapped_once(cpus, memory):
    node = Node(id="n0", gpus=1, cpus=cpus, memory_gib=memory)
    assert node.cpus == milli_cpus(cpus) / 1000
    assert node.memory_gib == mebibytes(memory) / 1024
    assert replace(node) == node
    assert (milli_cpus(node.cpus), mebibytes(node.memory_gib)) == (milli_cpus(cpus), mebibytes(memory))


def test_no_zero_is_negative():
    job = Job(id="a", gpus=1, submitted=-0.0, stage_seconds=(-0.0,))
    assert math.copysign(1, job.submitted) == math.copysign(1, job.stage_seconds[0]) == 1


def test_the_strategy_of_this_test_covers_every_field():
    free = set(JOB_FIELDS) | set(job_fields(Cluster(nodes=()), (), 0.0))
    assert free == set(Job.__struct_fields__) - {"id"}
