"""Small clusters whose answers are known, budgets, what cannot be done, and input that is refused."""

import dataclasses
import re

import pytest
from fragmented_rounds import ONE_TO_FREE, THREE_SERVERS, loaded, running
from msgspec.structs import replace

from muri_opt import Cluster, InputError, Job, Limit, Node, Proof, Reason, RefusalError, Round
from muri_opt.rounds import Agreement, Limits
from muri_opt.solve.solvers import BACKENDS, backend_named, relaxation
from muri_opt.systems.defragment import Move, free_nodes, make_room, moved_round

HIGHS = {"highs": backend_named("highs").solve}
CIRCLE = Round(  # the two large jobs have to change places
    cluster=Cluster(nodes=tuple(Node(id=f"n{s}", gpus=gpus) for s, gpus in enumerate((4, 3, 1, 1)))),
    jobs=(running(0, {"n0": 3}), running(1, {"n1": 2}), running(2, {"n2": 1}), Job(id="w0", gpus=2)),
)


@pytest.mark.parametrize("backend", [*BACKENDS, None])
def test_two_migrations_of_three_gpus_make_room_for_four(backend):
    solvers = {} if backend is None else {backend: backend_named(backend).solve}
    found = make_room(THREE_SERVERS, job="w0", solvers=solvers, relax=None if solvers else relaxation)
    assert (found.moved_gpus, found.moved_jobs, found.bound) == (3, 2, (3, 2))
    assert found.termination.reason is Reason.OPTIMAL
    assert found.proof is (Proof.CLAIM_ONLY if solvers else Proof.LINEAR_DUALS)
    assert sum(found.placement.values()) == 4
    assert len(found.placement) == 1


def test_without_migration_there_is_no_room():
    found = make_room(THREE_SERVERS, job="w0", budget=0, relax=relaxation)
    assert (found.termination.reason, found.moves, found.cost, found.needed_budget) == (Reason.INFEASIBLE, (), None, 3)
    assert found.termination.detail == "a budget of 0 moved GPUs does not do: 3 would do"
    assert (found.moved_gpus, found.moved_jobs) == (None, None)


def test_one_server_is_freed_with_two_moved_gpus():
    found = free_nodes(ONE_TO_FREE, nodes=1)
    assert (found.cost, found.bound, found.proof, found.termination.reason) == (
        (2, 1),
        (2, 1),
        Proof.COUNTING,
        Reason.OPTIMAL,
    )
    assert found.moves == (Move(job="r0", source={"n0": 2}, target={"n2": 2}),)
    assert found.freed == ("n0",)
    assert free_nodes(ONE_TO_FREE, nodes=1, budget=2).cost == (2, 1)
    assert free_nodes(ONE_TO_FREE, nodes=0).freed == ()


def test_moves_may_go_in_a_circle_where_the_greedy_finds_nothing():
    greedy = make_room(CIRCLE, job="w0")
    assert (greedy.termination.reason, greedy.termination.limit) == (Reason.NO_SOLUTION, Limit.HEURISTIC)
    found = make_room(CIRCLE, job="w0", solvers=HIGHS)
    assert (found.cost, found.placement) == ((5, 2), {"n0": 2})
    assert [move.target for move in found.moves] == [{"n1": 3}, {"n0": 2}]
    whole = make_room(CIRCLE, job="w0", solvers=HIGHS, relax=relaxation)
    assert (whole.cost, whole.placement, whole.termination.reason) == ((5, 2), {"n0": 2}, Reason.OPTIMAL)
    short = make_room(CIRCLE, job="w0", budget=0)
    assert short.termination.detail == "a budget of 0 moved GPUs does not do: at least 2 are needed"


def test_pinned_jobs_are_moved_around():
    round_ = loaded(3, (2,), (2,), (1, 1), waiting=(3,))
    pinned = replace(round_.jobs[2], restart_seconds=None)
    found = make_room(round_, job="w0", relax=relaxation)
    assert (found.cost, found.placement) == ((2, 2), {"n2": 3})
    found = make_room(replace(round_, jobs=(*round_.jobs[:2], pinned, *round_.jobs[3:])), job="w0", solvers=HIGHS)
    assert (found.cost, "r2" in [move.job for move in found.moves]) == ((3, 2), False)


def test_a_solver_may_find_that_nothing_will_do():
    stuck = make_room(loaded(3, (2,), (2,), waiting=(2,)), job="w0", solvers=HIGHS)
    assert (stuck.termination.reason, stuck.proof, stuck.bound) == (Reason.INFEASIBLE, Proof.CLAIM_ONLY, None)
    assert stuck.termination.detail == "no moves reach the goal (Infeasible)"
    assert make_room(loaded(3, (2,), (2,), waiting=(2,)), job="w0", relax=relaxation).proof is Proof.LINEAR_DUALS


def test_a_spread_job_moves_whole_to_no_more_nodes():
    nodes = tuple(Node(id=f"n{s}", gpus=4) for s in range(4))
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=(running(0, {"n0": 1, "n1": 3}), running(1, {"n2": 2})))
    found = free_nodes(round_, nodes=2)
    assert (found.cost, found.freed) == ((2, 1), ("n2", "n3"))
    found = free_nodes(round_, nodes=3, relax=relaxation, solvers=HIGHS)
    assert found.termination.reason is Reason.INFEASIBLE  # six GPUs on one node of four
    crowded = Round(
        cluster=Cluster(nodes=nodes[:3]),
        jobs=(running(0, {"n0": 1, "n1": 3}), running(1, {"n1": 1, "n2": 3}), running(2, {"n0": 1})),
    )
    found = free_nodes(crowded, nodes=1, relax=relaxation, solvers=HIGHS)
    assert found.termination.reason is Reason.INFEASIBLE
    several = Round(
        cluster=Cluster(nodes=nodes[:3]), jobs=(running(0, {"n0": 1, "n1": 1, "n2": 1}), running(1, {"n0": 4 - 1}))
    )
    found = free_nodes(several, nodes=1, relax=relaxation, solvers=HIGHS)
    assert (found.cost, len(found.moves[0].target)) == ((3, 1), 1)


def test_a_job_on_several_nodes_takes_as_few_as_in_the_empty_cluster():
    round_ = loaded(4, (1,), (1,), (2,), (), waiting=(8,))
    found = make_room(round_, job="w0", relax=relaxation, solvers=HIGHS)
    assert (found.cost, sorted(found.placement.values())) == ((1, 1), [4, 4])
    assert make_room(loaded(4, (), (), waiting=(6,)), job="w0").placement in ({"n0": 4, "n1": 2}, {"n0": 2, "n1": 4})
    odd = loaded(4, (1, 1), (2,), (2,), (3, 1), waiting=(6,))
    assert make_room(odd, job="w0", relax=relaxation, solvers=HIGHS).cost == (2, 1)


def test_small_nodes_are_no_hosts_of_a_large_job():
    nodes = tuple(Node(id=f"n{s}", gpus=gpus) for s, gpus in enumerate((4, 4, 4, 2)))
    jobs = (running(0, {"n0": 2}), running(1, {"n1": 1}), running(2, {"n2": 1}), Job(id="w0", gpus=8))
    found = make_room(Round(cluster=Cluster(nodes=nodes), jobs=jobs), job="w0")
    assert (found.cost, found.placement) == ((2, 2), {"n1": 4, "n2": 4})
    held = [running(s, {f"n{s}": 1}, restart_seconds=None) for s in (1, 2)]
    jobs = (running(0, {"n0": 1}), *held, Job(id="w0", gpus=7))
    found = make_room(Round(cluster=Cluster(nodes=nodes), jobs=jobs), job="w0")
    assert (found.cost, found.placement) == ((1, 1), {"n0": 4, "n1": 3})


def test_of_many_jobs_on_a_node_few_leave():
    nodes = (Node(id="n0", gpus=16), Node(id="n1", gpus=5))
    jobs = tuple(running(number, {"n0": 1}) for number in range(12))
    found = make_room(Round(cluster=Cluster(nodes=nodes), jobs=(*jobs, Job(id="w0", gpus=7))), job="w0")
    assert (found.cost, found.bound, found.placement) == ((3, 3), (3, 3), {"n0": 7})


def test_columns_of_prices_become_a_plan():
    round_ = loaded(8, *[(5, 2), (3, 3), (4, 3), (5, 2), (3,)] * 4)
    assert free_nodes(round_, nodes=3).termination.reason is Reason.NO_SOLUTION
    found = free_nodes(round_, nodes=3, solvers=HIGHS, relax=relaxation)
    assert (found.cost, found.bound, found.proof) == ((13, 5), (13, 5), Proof.LINEAR_DUALS)
    assert found.termination.detail == "prices and columns made whole"


def test_prices_stand_where_every_program_is_refused():
    def refuse(model, limits, start):
        raise RefusalError(model.name, f"{model.column_count} columns", "none")

    round_ = loaded(8, *[(5, 2), (3, 3), (4, 3), (5, 2), (3,)] * 4)
    refused = free_nodes(round_, nodes=3, solvers={"refuse": refuse}, relax=relaxation)
    assert (refused.termination.reason, refused.termination.limit) == (Reason.NO_SOLUTION, Limit.SIZE)
    assert refused.bound == (13, 5)


def test_a_node_of_cpus_takes_a_job_without_gpus():
    nodes = (Node(id="n0", gpus=4, cpus=8), Node(id="n1", gpus=0, cpus=8), Node(id="n2", gpus=0, cpus=2))
    jobs = (running(0, {"n0": 0}, gpus=0, cpus=4.0), running(1, {"n2": 0}, gpus=0, cpus=1.0))
    found = free_nodes(Round(cluster=Cluster(nodes=nodes), jobs=jobs), nodes=1)
    assert (found.cost, found.freed, found.moves[0].target) == ((0, 1), ("n0",), {"n1": 0})


def test_two_solvers_agree_or_one_claims():
    both = {name: backend_named(name).solve for name in ("highs", "cp-sat")}
    found = make_room(THREE_SERVERS, job="w0", solvers=both)
    assert (found.proof, found.evidence) == (Proof.AGREEMENT, (Agreement(backends=("highs", "cp-sat")),))
    assert make_room(THREE_SERVERS, job="w0", solvers=HIGHS).proof is Proof.CLAIM_ONLY


def test_solvers_that_contradict_each_other_are_not_believed():
    def dearest(model, limits, start):
        """Claim that the worst plan is the best."""
        found = backend_named("highs").solve(dataclasses.replace(model, objective=-model.objective), limits, None)
        return dataclasses.replace(found, bound=int(found.values @ model.objective))

    for solvers in ({**HIGHS, "other": dearest}, {"other": dearest, **HIGHS}):
        found = make_room(CIRCLE, job="w0", solvers=solvers)
        assert (found.termination.reason, found.termination.limit) == (Reason.FEASIBLE, Limit.FAULT)
        assert found.termination.detail == " and ".join(solvers) + " claim different optima"
        assert (found.cost, found.bound, found.proof) == ((5, 2), (2, 1), Proof.COUNTING)


def test_a_second_solver_without_time_confirms_nothing():
    def idle(model, limits, start):
        return backend_named("highs").solve(model, Limits(seconds=0), start)

    found = make_room(THREE_SERVERS, job="w0", solvers={**HIGHS, "idle": idle})
    assert (found.termination.reason, found.proof) == (Reason.OPTIMAL, Proof.CLAIM_ONLY)


def test_a_refused_program_leaves_the_answer_of_who_came_before():
    exhaustive = {"exhaustive": backend_named("exhaustive").solve}
    round_ = loaded(8, (4, 2, 1), (4, 2), (4, 2, 1), *[(8,)] * 40, waiting=(4,))
    found = make_room(round_, job="w0", solvers=exhaustive)
    assert (found.cost, found.termination.limit) == ((3, 2), Limit.SIZE)
    assert "columns" in found.termination.detail
    assert make_room(round_, job="w0", solvers=exhaustive, relax=relaxation).termination.reason is Reason.OPTIMAL
    claimed = make_room(round_, job="w0", solvers={**HIGHS, **exhaustive})
    assert (claimed.termination.reason, claimed.proof) == (Reason.OPTIMAL, Proof.CLAIM_ONLY)


def test_no_time_leaves_the_greedy_answer():
    found = make_room(THREE_SERVERS, job="w0", solvers=HIGHS, relax=relaxation, limits=Limits(seconds=0))
    assert (found.cost, found.bound, found.termination.reason, found.termination.limit) == (
        (3, 2),
        (2, 1),
        Reason.FEASIBLE,
        Limit.TIME,
    )
    tight = make_room(THREE_SERVERS, job="w0", budget=2, solvers=HIGHS, limits=Limits(seconds=0))
    assert (tight.termination.reason, tight.cost) == (Reason.NO_SOLUTION, None)
    assert "3 moved GPUs would do" in tight.termination.detail
    least = make_room(THREE_SERVERS, job="w0", budget=1)
    assert (least.termination.reason, least.needed_budget) == (Reason.INFEASIBLE, None)
    assert least.termination.detail == "a budget of 1 moved GPUs does not do: at least 2 are needed, 3 do"


@pytest.mark.parametrize(
    ("round_", "asked", "reason"),
    [
        (loaded(4, (3,), (3,)), {"nodes": 1}, "running jobs hold 6 GPUs, and without 1 nodes there are at most 4"),
        (loaded(4, (1,), (1,), waiting=(9,)), {"job": "w0"}, "job 'w0' does not fit into the empty cluster"),
        (loaded(4, (3,), (3,), waiting=(3,)), {"job": "w0"}, "running jobs hold 6 of 8 GPUs, too many for 3 more"),
    ],
)
def test_what_counting_rules_out_is_said(round_, asked, reason):
    found = (free_nodes if "nodes" in asked else make_room)(round_, **asked)
    assert (found.termination.reason, found.termination.detail) == (Reason.INFEASIBLE, reason)
    assert (found.proof, found.bound) == (Proof.COUNTING, None)


def test_pinned_jobs_rule_out_their_nodes():
    free = loaded(4, (1,), (1,))
    pinned = replace(free, jobs=tuple(replace(job, restart_seconds=None) for job in free.jobs))
    found = free_nodes(pinned, nodes=1)
    assert found.termination.detail == "only 0 nodes with GPUs hold no pinned job, 1 are to be freed"
    full = replace(pinned, jobs=(*pinned.jobs, Job(id="w0", gpus=4)))
    assert make_room(full, job="w0").termination.detail == "no 1 nodes have 4 GPUs beside their pinned jobs"


def bad(round_, position, **changes):
    jobs = list(round_.jobs)
    jobs[position] = replace(jobs[position], **changes)
    return replace(round_, jobs=tuple(jobs))


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: make_room(THREE_SERVERS, job="w1"), "job: found 'w1'; allowed: a waiting job: w0"),
        (lambda: make_room(THREE_SERVERS, job="r0"), "job: found 'r0', which is running; allowed: a waiting job"),
        (lambda: make_room(bad(THREE_SERVERS, 8, gpus=0), job="w0"), "job: found 'w0', which asks for no GPU"),
        (lambda: free_nodes(ONE_TO_FREE, nodes=4), "nodes: found 4; allowed: at most the 3 nodes with GPUs"),
        (lambda: free_nodes(ONE_TO_FREE, nodes=-1), "nodes: found -1"),
        (lambda: free_nodes(ONE_TO_FREE, nodes=1, budget=-1), "budget: found -1"),
        (lambda: free_nodes(bad(ONE_TO_FREE, 0, placement=None), nodes=1), "jobs[0] ('r0').placement: found nothing"),
        (lambda: free_nodes(bad(ONE_TO_FREE, 0, gpus=3), nodes=1), "jobs[0] ('r0').placement: found 2 GPUs; allowed"),
        (
            lambda: free_nodes(bad(ONE_TO_FREE, 1, gpus=4, placement={"n1": 4}), nodes=1),
            "jobs[2] ('r2').placement[n1]: found 1 GPUs, which makes 5",
        ),
        (
            lambda: free_nodes(bad(ONE_TO_FREE, 0, gpus=0, placement={"n0": 0, "n1": 0}), nodes=1),
            "jobs[0] ('r0').placement: found 2 nodes; allowed: one node for a job without GPUs",
        ),
        (lambda: moved_round(ONE_TO_FREE, [Move(job="x", source={}, target={})]), "moves.job: found 'x'"),
        (lambda: moved_round(THREE_SERVERS, [Move(job="w0", source={}, target={})]), "moves.job: found 'w0', which is"),
    ],
)
def test_bad_input_is_named(ask, said):
    with pytest.raises(InputError, match=re.escape(said)):
        ask()


def test_cpus_that_are_overfilled_are_named():
    nodes = (Node(id="n0", gpus=4, cpus=4), Node(id="n1", gpus=4))
    with pytest.raises(InputError, match=re.escape("jobs[0] ('r0').placement[n0]: found 6 CPUs")):
        Round(cluster=Cluster(nodes=nodes), jobs=(running(0, {"n0": 2}, cpus=6.0),))
    shares = {"stage_seconds": (1.0, 1.0, 1.0, 1.0)}
    jobs = tuple(running(number, {"n1": 3}, **shares) for number in range(2))
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=jobs)
    with pytest.raises(InputError, match=re.escape("cluster.nodes[1] ('n1'): found 6 GPUs held by running")):
        free_nodes(round_, nodes=1)
