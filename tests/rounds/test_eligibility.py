"""Arrays of what jobs ask of nodes, against the same rules said job by job and node by node."""

import numpy as np
from full_rounds import full_rounds
from hypothesis import given, strategies as st

from muri_opt.rounds import Cluster, Job, Node, Round, Within
from muri_opt.rounds.eligibility import Eligibility, gpu_type_codes
from muri_opt.rounds.levels import unit_codes
from muri_opt.rounds.quantities import microseconds


def may_start(round_, job, node):
    if node.state != "up":
        return False
    if node.available_until is not None:
        end, now = microseconds(node.available_until), microseconds(round_.now)
        needs = 1 if job.time_limit_seconds is None else microseconds(job.time_limit_seconds)
        if now + needs > end:
            return False
    if job.gpu_types is not None and node.gpu_type not in job.gpu_types:
        return False
    if not set(job.requires) <= set(node.labels) or set(job.excludes) & set(node.labels):
        return False
    return job.within is None or not job.within.required or job.within.level in node.units


LETTERS = st.lists(st.sampled_from("abc"), max_size=2)


@st.composite
def small_rounds(draw):
    """Return rounds in which types, labels, levels and times often fit and often do not."""
    nodes = [
        Node(
            id=f"n{k}",
            gpus=4,
            gpu_type=draw(st.sampled_from([None, "v100", "a100"])),
            labels=draw(LETTERS),
            state=draw(st.sampled_from(["up", "up", "up", "drain", "down"])),
            available_until=draw(st.none() | st.integers(0, 8)),
            rack=draw(st.none() | st.sampled_from(["r0", "r1"])) if k else "r0",
        )
        for k in range(draw(st.integers(1, 4)))
    ]
    jobs = []
    for k in range(draw(st.integers(0, 5))):
        requires = draw(LETTERS)
        jobs.append(
            Job(
                id=f"j{k}",
                gpus=1,
                gpu_types=draw(st.none() | st.lists(st.sampled_from(["v100", "a100"]), min_size=1)),
                requires=requires,
                excludes=[label for label in draw(LETTERS) if label not in requires],
                within=draw(st.none() | st.builds(Within, level=st.just("rack"), required=st.booleans())),
                time_limit_seconds=draw(st.none() | st.integers(0, 5)),
            )
        )
    return Round(cluster=Cluster(nodes=nodes), jobs=jobs, now=draw(st.integers(0, 4)))


@given(round_=small_rounds() | full_rounds())
def test_eligible_is_what_the_rules_say_one_by_one(round_):
    expected = [[may_start(round_, job, node) for node in round_.cluster.nodes] for job in round_.jobs]
    shape = (len(round_.jobs), len(round_.cluster.nodes))
    assert round_.eligible.shape == shape
    assert (round_.eligible == np.array(expected, dtype=bool).reshape(shape)).all()
    assert len(Eligibility.of(round_).rows) <= max(len(round_.jobs), 1)


def test_alike_jobs_are_one_kind():
    jobs = [Job(id=f"j{k}", gpus=1, requires=["a"], time_limit_seconds=k) for k in range(50)]
    nodes = [Node(id="n0", gpus=1, labels=["a"]), Node(id="n1", gpus=1, available_until=20.0, labels=["a"])]
    found = Eligibility.of(Round(cluster=Cluster(nodes=nodes), jobs=jobs))
    assert len(found.rows) == 2
    assert found.mask[:, 1].tolist() == [k <= 20 for k in range(50)]


@given(round_=full_rounds())
def test_who_waits_by_order_and_with_which_priority(round_):
    down = {node.id for node in round_.cluster.nodes if node.state == "down"}
    waits = [
        (job.state == "waiting" or not down.isdisjoint(job.placement or ()))  # one that lost its node does not run
        and (job.held is not None or (job.not_before or 0) > round_.now)
        for job in round_.jobs
    ]
    assert round_.waits_by_order.tolist() == waits
    assert round_.priorities.tolist() == [job.priority for job in round_.jobs]


@given(round_=full_rounds())
def test_codes_of_types_and_units_are_equal_where_those_are(round_):
    nodes = round_.cluster.nodes
    types = gpu_type_codes(round_.cluster)
    for one, first in enumerate(nodes):
        for two, second in enumerate(nodes):
            assert (types[one] == types[two]) == (first.gpu_type == second.gpu_type)
    for level in round_.cluster.level_names:
        codes = unit_codes(round_.cluster, level)
        assert [code == -1 for code in codes] == [level not in node.units for node in nodes]
        for one, first in enumerate(nodes):
            for two, second in enumerate(nodes):
                assert (codes[one] == codes[two]) == (first.units.get(level) == second.units.get(level))
