"""What must not change an answer does not: names, the order of nodes, nodes and jobs that are of no use."""

from __future__ import annotations

import msgspec
from by_policy import decision_value, formulation_of
from handmade import gang
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import Cluster, Decision, Job, Limits, Node, Round, policy_from
from muri_opt.solve.exact import optimise
from muri_opt.systems.orders import ORDERS
from muri_opt.testing import nodes, rounds

FOREVER = Limits(seconds=None)
replace = msgspec.structs.replace
SPECS = st.builds(
    "{}:objective={},nodes={}".format,
    st.sampled_from(sorted(ORDERS)),
    st.sampled_from(["weighted", "lexicographic"]),
    st.sampled_from(["any", "fewest"]),
)


def listed(round_: Round, spec: str) -> Decision:
    return policy_from(spec).decide(round_, seed=0)


def optimal(round_: Round, spec: str) -> Decision:
    answer = optimise(round_, formulation_of(policy_from(spec)), "highs", FOREVER, None)
    assert answer.termination.reason == "OPTIMAL"
    assert answer.decision is not None
    return answer.decision


def best(round_: Round, spec: str) -> int:
    return decision_value(round_, spec, optimal(round_, spec))


def renamed(round_: Round) -> Round:
    """Return the round with other names, which sort the other way round."""
    return replace(
        round_,
        name="renamed",
        cluster=Cluster(
            nodes=tuple(replace(node, id=new(node.id)) for node in round_.cluster.nodes),
            tenants=tuple(replace(tenant, id=new(tenant.id)) for tenant in round_.cluster.tenants),
        ),
        jobs=tuple(
            replace(
                job,
                id=new(job.id),
                tenant=job.tenant and new(job.tenant),
                placement=job.placement and {new(node): gpus for node, gpus in job.placement.items()},
            )
            for job in round_.jobs
        ),
    )


def new(name: str) -> str:
    return "".join(chr(ord("z") - ord(letter) + ord("0")) for letter in name)


def shares(decision: Decision, name: object = str) -> list[tuple[object, object]]:
    return [
        (name(assignment.jobs[0]), {name(node): gpus for node, gpus in assignment.gpus.items()})
        for assignment in decision.assignments
    ]


@given(rounds(), SPECS)
@more_examples(50)
def test_names_change_nothing_but_names(round_: Round, spec: str) -> None:
    other = renamed(round_)
    for decide in (listed, optimal):
        before, after = decide(round_, spec), decide(other, spec)
        assert shares(before, new) == shares(after)
        assert [(new(wait.job), wait.reason) for wait in before.waiting] == [
            (wait.job, wait.reason) for wait in after.waiting
        ]


@given(st.data(), rounds(max_nodes=4), SPECS)
@more_examples(50)
def test_the_order_of_the_nodes_does_not_change_the_optimum(data: st.DataObject, round_: Round, spec: str) -> None:
    shuffled = tuple(data.draw(st.permutations(round_.cluster.nodes)))
    assert best(replace(round_, cluster=replace(round_.cluster, nodes=shuffled)), spec) == best(round_, spec)


@given(st.data(), rounds(), SPECS)
@more_examples(50)
def test_a_node_without_gpus_changes_nothing(data: st.DataObject, round_: Round, spec: str) -> None:
    at = data.draw(st.integers(0, len(round_.cluster.nodes)))
    more = list(round_.cluster.nodes)
    more.insert(at, Node(id="useless", gpus=0, cpus=data.draw(st.sampled_from([None, 0, 64]))))
    larger = replace(round_, cluster=replace(round_.cluster, nodes=tuple(more)))
    assert shares(listed(larger, spec)) == shares(listed(round_, spec))
    assert best(larger, spec) == best(round_, spec)


@given(st.data(), rounds(), st.sampled_from(sorted(ORDERS)), st.sampled_from(["any", "fewest"]))
@more_examples(50)
def test_a_job_that_cannot_run_changes_no_other(data: st.DataObject, round_: Round, order: str, spread: str) -> None:
    """Ranks shift, and with them weights; who runs in order of priority does not."""
    spec = f"{order}:objective=lexicographic,nodes={spread}"
    at = data.draw(st.integers(0, len(round_.jobs)))
    jobs = list(round_.jobs)
    jobs.insert(at, hopeless(round_, data.draw(st.integers(0, 32))))
    larger = replace(round_, jobs=tuple(jobs))
    for decide in (listed, optimal):
        decision = decide(larger, spec)
        assert decision.running == decide(round_, spec).running
        assert {wait.job: wait.reason.value for wait in decision.waiting}["hopeless"] == "capacity"


def hopeless(round_: Round, submitted: int) -> Job:
    """Return a job that asks for one GPU more than the cluster has."""
    return gang(0, round_.cluster.total_gpus + 1, id="hopeless", submitted=float(submitted))


@given(
    rounds(),
    st.sampled_from(sorted({*ORDERS} - {"fair-share"})),
    st.sampled_from(["weighted", "lexicographic"]),
    nodes(name="extra"),
)
@more_examples(50)
def test_one_more_node_never_lowers_the_optimum(round_: Round, order: str, objective: str, extra: Node) -> None:
    """True where gangs may spread; a larger node can forbid a gang to do so under ``nodes=fewest``.

    And where ranks do not depend on nodes: which resource is dominant may change with one more.
    """
    spec = f"{order}:objective={objective}"
    larger = replace(round_, cluster=replace(round_.cluster, nodes=(*round_.cluster.nodes, extra)))
    assert best(larger, spec) >= best(round_, spec)
