"""The check of moves counts for itself: every broken rule is named, and no bound is believed that is not proved."""

from dataclasses import replace

import msgspec
import pytest

from muri_opt import Cluster, Job, Limit, Node, Proof, Reason, Round, Termination
from muri_opt.rounds import LinearDuals
from muri_opt.solve.solvers import backend_named, relaxation
from muri_opt.systems.defragment import Cost, Move, free_nodes, make_room
from muri_opt.verify.defragment.check import check_defragmentation
from muri_opt.verify.defragment.dual_bound import Ground, price_bound
from muri_opt.verify.defragment.enumeration import cheaper_cost
from muri_opt.verify.enumeration import OutOfStepsError


def job(number, placement, **fields):
    given = {"gpus": sum(placement.values()), "state": "running", "placement": placement, "restart_seconds": 30.0}
    return Job(id=f"r{number}", **given | fields)


NODES = (
    Node(id="n0", gpus=8),
    Node(id="n1", gpus=8, cpus=16),
    Node(id="n2", gpus=8),
    Node(id="n3", gpus=8, memory_gib=64),
    Node(id="n4", gpus=0),
)
ROUND = Round(
    cluster=Cluster(nodes=NODES),
    jobs=(
        job(0, {"n0": 2}),
        job(1, {"n0": 1, "n1": 1}, cpus=4.0),
        job(2, {"n1": 4}, restart_seconds=None),
        job(3, {"n2": 5}),
        job(4, {"n3": 6}, memory_gib=60.0),
        job(5, {"n3": 0}, gpus=0, memory_gib=1.0),
        Job(id="w0", gpus=12),
    ),
)
HIGHS = {"highs": backend_named("highs").solve}
FREED = free_nodes(ROUND, nodes=1, budget=5, solvers=HIGHS, relax=relaxation)
ROOM = make_room(ROUND, job="w0", solvers=HIGHS, relax=relaxation)


def test_the_answers_are_right():
    for found, cost in ((FREED, (4, 2)), (ROOM, (4, 2))):
        certificate = check_defragmentation(ROUND, found)
        assert (found.cost, found.bound, certificate.violations, certificate.feasible) == (cost, cost, (), True)
        assert certificate.checked_bound == 4
    assert [move.job for move in FREED.moves] == ["r0", "r1"]


def moved(found, name, target, **changes):
    """Return the answer with one job moved to other nodes, at the cost that has."""
    source = ROUND.jobs[ROUND.job_index[name]].placement
    moves = [move for move in found.moves if move.job != name]
    moves = tuple(moves) if target is None else (*moves, Move(job=name, source=source, target=target))
    cost = Cost(sum(ROUND.jobs[ROUND.job_index[move.job]].gpus for move in moves), len(moves))
    return replace(found, **{"moves": moves, "cost": cost, "budget": None, "bound": None, **STOPPED} | changes)


STOPPED = {"termination": Termination(reason=Reason.FEASIBLE, limit=Limit.TIME)}


def nothing(reason, limit=None, **changes):
    termination = Termination(reason=reason, limit=limit)
    empty = {"moves": (), "freed": (), "placement": None, "cost": None, "bound": None, "termination": termination}
    return replace(FREED, **empty | changes)


MUTANTS = {
    "a moved job overlaps another": (moved(moved(FREED, "r0", {"n3": 2}), "r1", {"n3": 2}), {"capacity"}),
    "too many GPUs on a node": (moved(FREED, "r3", {"n3": 5}), {"capacity"}),
    "a pinned job is moved": (moved(FREED, "r2", {"n2": 4}), {"pinned"}),
    "a job is split": (moved(FREED, "r0", {"n1": 1, "n2": 1}), {"split"}),
    "a spread job is on more nodes": (moved(FREED, "r1", {}), {"split", "gang"}),
    "a GPU is lost": (moved(FREED, "r0", {"n2": 1}), {"gang"}),
    "a share of nothing": (moved(FREED, "r1", {"n1": 2, "n2": 0}), {"gang"}),
    "a node that is not there": (moved(FREED, "r0", {"n9": 2}), {"node"}),
    "a job that is not there": (
        replace(FREED, moves=(*FREED.moves, Move(job="x", source={}, target={})), cost=Cost(4, 3), **STOPPED),
        {"job"},
    ),
    "a waiting job is moved": (
        replace(FREED, moves=(*FREED.moves, Move(job="w0", source={}, target={"n2": 12})), budget=None, **STOPPED),
        {"job", "cost"},
    ),
    "a job is moved twice": (replace(FREED, moves=FREED.moves * 2, budget=None), {"job", "cost"}),
    "a move from elsewhere": (
        replace(FREED, moves=(replace(FREED.moves[0], source={"n2": 2}), FREED.moves[1])),
        {"source"},
    ),
    "a move to where it is": (moved(FREED, "r3", {"n2": 5}), {"source"}),
    "over the budget": (replace(FREED, budget=3), {"budget"}),
    "a freed node with a job": (replace(FREED, freed=("n2",)), {"freed"}),
    "a freed node without GPUs": (replace(FREED, freed=("n4",)), {"freed"}),
    "one node counted twice": (replace(FREED, nodes=2, freed=("n0", "n0")), {"freed"}),
    "a job left behind": (moved(FREED, "r1", None), {"freed"}),
    "wrong GPUs": (replace(FREED, cost=Cost(3, 2), bound=Cost(3, 2)), {"cost"}),
    "wrong jobs": (replace(FREED, cost=Cost(4, 1), bound=Cost(4, 1)), {"cost"}),
    "a bound above the cost": (replace(FREED, bound=Cost(5, 2)), {"bound", "termination"}),
    "a bound that is too high": (moved(FREED, "r3", {"n1": 5}, bound=Cost(5, 0)), {"bound", "capacity"}),
    "optimal without a bound": (replace(FREED, bound=None), {"termination"}),
    "moves and no cost": (replace(FREED, cost=None), {"cost", "termination"}),
    "an answer without moves": (nothing(Reason.OPTIMAL), {"termination"}),
    "infeasible, and a plan exists": (nothing(Reason.INFEASIBLE, budget=None), {"bound"}),
    "infeasible within the budget": (nothing(Reason.INFEASIBLE, bound=Cost(4, 2), budget=4), {"termination"}),
    "another budget would do": (
        nothing(Reason.INFEASIBLE, bound=Cost(4, 2), budget=3, needed_budget=5),
        {"budget"},
    ),
    "no goal": (replace(FREED, nodes=None), {"goal"}),
    "two goals": (replace(FREED, job="w0"), {"goal"}),
    "a goal that runs": (replace(ROOM, job="r0"), {"goal"}),
    "a goal that is not there": (replace(ROOM, job="w7"), {"goal"}),
    "the job has no place": (replace(ROOM, placement=None), {"placement"}),
    "the job is on too many nodes": (replace(ROOM, placement={"n0": 8, "n2": 3, "n1": 1}), {"placement"}),
    "the job lacks a GPU": (replace(ROOM, placement={"n0": 8, "n2": 3}), {"placement"}),
    "the job is in the way": (replace(ROOM, placement={"n0": 8, "n3": 4}), {"capacity"}),
    "prices of other jobs": (
        replace(FREED, evidence=(LinearDuals(denominator=1, multipliers={"jobs": (0,)}),)),
        {"evidence"},
    ),
    "prices over nothing": (
        replace(FREED, evidence=(LinearDuals(denominator=0, multipliers={"jobs": (0,)}),)),
        {"evidence"},
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_rejected_and_the_rule_named(name):
    mutant, rules = MUTANTS[name]
    certificate = check_defragmentation(ROUND, mutant)
    assert {violation.rule for violation in certificate.violations} == rules
    assert not certificate.feasible


def test_cpus_and_memory_are_counted():
    jobs = (job(0, {"n0": 1}, cpus=10.0), job(1, {"n1": 1}, cpus=10.0), job(2, {"n3": 1}, memory_gib=60.0))
    round_ = Round(cluster=Cluster(nodes=NODES), jobs=jobs)
    found = free_nodes(round_, nodes=2)
    for name, source, target, detail in (
        ("r0", {"n0": 1}, {"n1": 1}, "4,000 milli-CPUs too many"),
        ("r2", {"n3": 1}, {"n0": 1}, ""),
    ):
        moves = (Move(job=name, source=source, target=target),)
        claim = replace(found, moves=moves, cost=Cost(1, 1), bound=None, freed=("n2", next(iter(source))), **STOPPED)
        assert [breach.detail for breach in check_defragmentation(round_, claim).violations] == (
            [detail] if detail else []
        )
    more = msgspec.structs.replace(round_, jobs=(*jobs, job(3, {"n2": 1}, memory_gib=8.0)))
    moves = (Move(job="r3", source={"n2": 1}, target={"n3": 1}),)
    claim = replace(found, nodes=1, moves=moves, cost=Cost(1, 1), bound=None, freed=("n2",), **STOPPED)
    assert [breach.detail for breach in check_defragmentation(more, claim).violations] == [
        "4,096 MiB of memory too many"
    ]


def test_any_prices_give_a_bound_and_good_ones_the_best():
    nodes = tuple(Node(id=f"n{s}", gpus=8) for s in range(3))
    loads = [(s, gpus) for s, load in enumerate(((4, 2, 1), (4, 2), (4, 2, 1))) for gpus in load]
    jobs = [job(number, {f"n{s}": gpus}) for number, (s, gpus) in enumerate(loads)]
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=(*jobs, Job(id="w0", gpus=4)))
    ground = Ground.of(round_, None, "w0")
    assert (ground.weight, ground.wanted, ground.least) == (9, 1, 4)

    def bound(four, two, one, waiting=0):
        prices = {"jobs": (four, two, one), "waiting": (waiting,)}
        return divmod(price_bound(ground, LinearDuals(denominator=1, multipliers=prices)), 9)

    assert bound(0, 0, 0) == (2, 1)
    assert bound(-2, -10, 0) == (3, 2)
    assert all(bound(a, b, c, w) <= (3, 2) for a in (-9, 5) for b in (-12, 3, 20) for c in (-7, 0, 11) for w in (-3, 8))
    found = make_room(round_, job="w0", solvers=HIGHS)
    proofs = [
        check_defragmentation(round_, replace(found, evidence=evidence)).proof
        for evidence in (
            (),
            (LinearDuals(denominator=1, multipliers={"jobs": (-2, -10, 0), "gang": (), "waiting": (0,)}),),
        )
    ]
    assert proofs == [Proof.EXHAUSTIVE, Proof.LINEAR_DUALS]


def test_what_cannot_be_gone_through_is_a_claim():
    ground = Ground.of(ROUND, 1, None)
    gpus = [node.gpus for node in NODES]
    assert cheaper_cost(ground, gpus, ground.weight * 4 + 2) is None
    assert cheaper_cost(ground, gpus, ground.weight * 4 + 3) == ground.weight * 4 + 2
    with pytest.raises(OutOfStepsError):
        cheaper_cost(ground, gpus, ground.most + 1, steps=3)
    many = tuple(job(number, {"n0": 1}) for number in range(1500))
    crowd = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1500), Node(id="n1", gpus=1))), jobs=many)
    assert cheaper_cost(Ground.of(crowd, 1, None), [1500, 1], 1) == 0
    proofs = {}
    for number in (2, 16):  # two thirds of every node are taken, and one job more does not fit
        nodes = tuple(Node(id=f"n{s}", gpus=3) for s in range(number))
        jobs = tuple(job(s, {f"n{s}": 2}) for s in range(number))
        round_ = Round(cluster=Cluster(nodes=nodes), jobs=(*jobs, Job(id="w0", gpus=2)))
        found = make_room(round_, job="w0", solvers=HIGHS)
        proofs[number] = check_defragmentation(round_, found).proof
        assert (found.termination.reason, found.proof) == (Reason.INFEASIBLE, Proof.CLAIM_ONLY)
        priced = make_room(round_, job="w0", relax=relaxation)
        assert (priced.proof, check_defragmentation(round_, priced).proof) == (Proof.LINEAR_DUALS, Proof.LINEAR_DUALS)
    assert proofs == {2: Proof.EXHAUSTIVE, 16: Proof.CLAIM_ONLY}


def test_many_contents_are_counted_by_gpus_alone():
    nodes = (Node(id="n0", gpus=17, cpus=33), Node(id="n1", gpus=16, cpus=33), Node(id="n2", gpus=2))
    jobs = tuple(job(number, {"n0": 1}, cpus=0.001 * 2**number) for number in range(15))
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=(*jobs, job(15, {"n1": 1}), job(16, {"n2": 1})))
    found = free_nodes(round_, nodes=2, relax=relaxation)
    assert (found.cost, found.bound, found.freed) == ((2, 2), (2, 2), ("n1", "n2"))
    assert check_defragmentation(round_, found).proof is Proof.COUNTING
