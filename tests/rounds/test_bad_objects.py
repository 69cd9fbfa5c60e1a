"""Objects made in Python are checked like files: one InputError, and what is accepted is stored in plain types."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from muri_opt.errors import InputError
from muri_opt.rounds import Cluster, Guarantee, Job, Node, Plan, Round, Tenant, canonical_json, parse_round
from muri_opt.rounds.quantities import MAX_GPU_SECONDS

NOT_A_NUMBER = [
    math.nan,
    math.inf,
    -math.inf,
    "1",
    b"1",
    True,
    np.True_,
    [1],
    np.array([1, 2]),
    {},
    object(),
    1j,
    Decimal(1),
]
TIMES = (
    "submitted",
    "iteration_seconds",
    "attained_gpu_seconds",
    "executed_seconds",
    "waiting_seconds",
    "restart_seconds",
)


def refused(make, **fields):
    with pytest.raises(InputError) as caught:
        make(**fields)
    return caught.value


def job(**fields):
    return Job(**{"id": "a", "gpus": 1, **fields})


def node(**fields):
    return Node(**{"id": "n0", "gpus": 8, **fields})


def tenant(**fields):
    return Tenant(**{"id": "t0", **fields})


def plan(**fields):
    return Plan(**{"name": "dp", "gpus": 4, "throughput": 1.0, **fields})


def round_of(*jobs, **fields):
    return Round(**{"cluster": Cluster(nodes=[node()]), "jobs": jobs, **fields})


@pytest.mark.parametrize(
    "value", [*NOT_A_NUMBER, None, 1.0, -1, 10**7, 10**30, -(10**30), pytest.param(10**5000, id="5001 digits")]
)
@pytest.mark.parametrize(("make", "field"), [(job, "gpus"), (node, "gpus"), (plan, "gpus"), (plan, "nodes")])
def test_gpus_that_are_no_whole_number_in_range(make, field, value):
    error = refused(make, **{field: value})
    assert error.field == field
    assert error.allowed == f"a whole number from {int(field == 'nodes')} to 1,000,000"
    assert len(error.found) <= 60


@pytest.mark.parametrize("value", [*NOT_A_NUMBER, -1, 1.5, 10**30])
@pytest.mark.parametrize(("make", "field"), [(tenant, "quota_gpus"), (job, "remaining_iterations"), (job, "restarts")])
def test_optional_counts_that_are_no_whole_number_in_range(make, field, value):
    assert refused(make, **{field: value}).field == field


@pytest.mark.parametrize("value", [*NOT_A_NUMBER, -1, -1e-9, 1e300, 10**400, Fraction(10**400), MAX_GPU_SECONDS * 1.01])
@pytest.mark.parametrize("field", [*TIMES, "cpus", "memory_gib"])
def test_amounts_that_are_no_finite_number_in_range(field, value):
    error = refused(job, **{field: value})
    assert error.field == field
    assert error.allowed.startswith("a finite number from 0 to ")


@pytest.mark.parametrize("value", [*NOT_A_NUMBER, None, 0, 0.0, -1, 1e300])
@pytest.mark.parametrize("make", [plan, Guarantee])
def test_rates_are_above_zero(make, value):
    error = refused(make, throughput=value)
    assert (error.field, error.allowed) == ("throughput", "a finite number above 0 and up to 1,000,000,000,000")


def test_what_was_found_is_shown_and_shortened():
    assert refused(job, gpus=math.nan).found == "nan"
    assert refused(job, gpus="8").found == "'8'"
    assert refused(job, id=b"a").found == "b'a'"
    assert refused(job, gpus="8" * 100).found == "'" + 56 * "8" + "..."
    assert refused(job, gpus=10**5000).found == "a value of type int, too long to show"


@pytest.mark.parametrize("value", ["", 5, None, b"a", ["a"], "\ud800"])
@pytest.mark.parametrize(("make", "field"), [(job, "id"), (node, "id"), (tenant, "id"), (plan, "name")])
def test_names_are_non_empty_strings(make, field, value):
    error = refused(make, **{field: value})
    assert error.field == field
    assert error.allowed in {"a non-empty string", "text that UTF-8 can hold, without half surrogate pairs"}


@pytest.mark.parametrize("value", [5, b"a", True, ["a"], "\udfff"])
@pytest.mark.parametrize(
    ("make", "field"),
    [(job, "tenant"), (job, "user"), (job, "plan"), (node, "rack"), (node, "gpu_type"), (plan, "gpu_type")],
)
def test_other_texts_are_strings(make, field, value):
    assert refused(make, **{field: value}).field == field


@pytest.mark.parametrize(
    ("fields", "field", "allowed"),
    [
        ({"state": "done"}, "state", "one of 'running', 'waiting'"),
        ({"state": None}, "state", "one of 'running', 'waiting'"),
        ({"state": 5}, "state", "a string"),
        ({"predictable": "yes"}, "predictable", "a bool"),
        ({"predictable": 1}, "predictable", "a bool"),
        ({"guarantee": {"throughput": 1}}, "guarantee", "a Guarantee"),
        ({"plans": 5}, "plans", "a list"),
        ({"plans": {"dp": plan()}}, "plans", "a list"),
        ({"plans": [plan(), "tp"]}, "plans[1]", "a Plan"),
        ({"plans": [plan()], "plan": "tp"}, "plan", "the name of one of the job's plans: dp"),
        ({"stage_seconds": 5}, "stage_seconds", "a list"),
        ({"stage_seconds": "1234"}, "stage_seconds", "a list"),
        ({"stage_seconds": [0, math.nan]}, "stage_seconds[1]", "a finite number from 0 to 2,000,000,000"),
        ({"scaling": [1, 2]}, "scaling", "a mapping"),
        ({"scaling": {}}, "scaling", "at least one GPU count with its throughput, or no table"),
        ({"scaling": {0: 1.0}}, "scaling key", "a whole number from 1 to 1,000,000"),
        ({"scaling": {"1": 1.0}}, "scaling key", "a whole number from 1 to 1,000,000"),
        ({"scaling": {2: 0.0}}, "scaling[2]", "a finite number above 0 and up to 1,000,000,000,000"),
        ({"placement": ["n0"]}, "placement", "a mapping"),
        ({"placement": {0: 1}}, "placement key", "a string"),
        ({"placement": {"n0": -1}}, "placement[n0]", "a whole number from 0 to 1,000,000"),
    ],
)
def test_the_other_fields_of_a_job(fields, field, allowed):
    error = refused(job, **fields)
    assert (error.field, error.allowed) == (field, allowed)


def test_a_plan_has_a_gpu_on_each_of_its_nodes():
    assert plan(gpus=4, nodes=3).larger_parts == 1
    error = refused(plan, gpus=3, nodes=4)
    allowed = "at most one node for each of the plan's gpus"
    assert (error.field, error.found, error.allowed) == ("nodes", "4 for 3 GPUs", allowed)


@pytest.mark.parametrize(
    ("fields", "field", "allowed"),
    [
        ({"nodes": 5}, "nodes", "a list"),
        ({"nodes": "n0"}, "nodes", "a list"),
        ({"nodes": [node(), {"id": "n1"}]}, "nodes[1]", "a Node"),
        ({"nodes": [node()], "tenants": [node()]}, "tenants[0]", "a Tenant"),
        ({"nodes": [node(), node()]}, "nodes[1].id", "an id used once"),
        ({"nodes": [], "tenants": [tenant(), tenant()]}, "tenants[1].id", "an id used once"),
    ],
)
def test_a_wrong_cluster(fields, field, allowed):
    error = refused(Cluster, **fields)
    assert (error.field, error.allowed) == (field, allowed)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"format": "muri-opt/round/3"}, "format"),
        ({"name": 5}, "name"),
        ({"name": None}, "name"),
        ({"now": None}, "now"),
        ({"now": math.inf}, "now"),
        ({"resources": "cpu"}, "resources"),
        ({"resources": ["cpu", 5]}, "resources[1]"),
        ({"cluster": {"nodes": []}}, "cluster"),
        ({"jobs": None}, "jobs"),
        ({"jobs": [5]}, "jobs[0]"),
        ({"jobs": [job(), job()]}, "jobs[1].id"),
        ({"jobs": [job(), job(id="b", stage_seconds=[1, 2])]}, "jobs[1] ('b').stage_seconds"),
        ({"jobs": [job(placement={"n9": 1})]}, "jobs[0] ('a').placement[n9]"),
        ({"jobs": [job(placement={"n0": 9})]}, "jobs[0] ('a').placement[n0]"),
        ({"jobs": [job(tenant="t1")], "cluster": Cluster(nodes=[], tenants=[tenant()])}, "jobs[0] ('a').tenant"),
    ],
)
def test_a_wrong_round(fields, field):
    assert refused(round_of, **fields).field == field


def test_many_names_are_not_all_listed():
    cluster = Cluster(nodes=[], tenants=[Tenant(id=f"t{v:04}") for v in range(1000)])
    error = refused(Round, cluster=cluster, jobs=[job(tenant="none")])
    assert error.allowed == (
        "a tenant of the cluster: t0000, t0001, t0002, t0003, t0004, t0005, t0006, t0007 and 992 more"
    )


def test_numpy_and_other_kinds_of_numbers_are_stored_as_plain_ones():
    made = job(
        id=np.str_("a"),
        state=np.str_("running"),
        gpus=np.int32(4),
        cpus=np.float32(2.5),
        memory_gib=Fraction(1, 2),
        submitted=np.int64(7),
        remaining_iterations=np.uint8(200),
        stage_seconds=np.array([0.25, 0.5, 0, 1]),
        scaling={np.int64(1): np.float64(2.0)},
        placement={np.str_("n0"): np.int16(4)},
    )
    plain = job(
        id="a",
        state="running",
        gpus=4,
        cpus=2.5,
        memory_gib=0.5,
        submitted=7.0,
        remaining_iterations=200,
        stage_seconds=(0.25, 0.5, 0.0, 1.0),
        scaling={1: 2.0},
        placement={"n0": 4},
    )
    assert made == plain
    round_ = round_of(made, name=np.str_("x"), now=np.float64(9))
    assert parse_round(canonical_json(round_)) == round_ == round_of(plain, name="x", now=9)


def test_any_collection_may_stand_for_a_list():
    cluster = Cluster(nodes=(node(id=f"n{s}") for s in range(2)), tenants=[tenant()])
    assert cluster == Cluster(nodes=(node(id="n0"), node(id="n1")), tenants=(tenant(),))
    assert round_of(jobs=iter([job()])).jobs == (job(),)
    assert job(plans=[plan()]).plans == (plan(),)


def test_absent_quantities_are_none():
    made = job()
    said = {"id", "gpus", "state", "priority", "even", "requires", "excludes"}
    assert {getattr(made, field) for field in Job.__struct_fields__ if field not in said} == {None}
    assert (made.priority, made.even, made.requires, made.excludes) == (0, False, (), ())
    assert job(plan="anything").plan == "anything"  # without a list of plans a name cannot be wrong
