"""The program says what going through every end state says, on two backends; plans and values are the same thing."""

from fragmented_rounds import THREE_SERVERS, goals, random_round
from plain_moves import least_cost
from seeds import some_then_all

from muri_opt import Limits, Reason
from muri_opt.modelling import evaluate
from muri_opt.solve.solvers import backend_named
from muri_opt.systems.defragment.encode_decode import decoded, encoded
from muri_opt.systems.defragment.goal import Goal
from muri_opt.systems.defragment.greedy import greedy_plan
from muri_opt.systems.defragment.program import build_program
from muri_opt.systems.defragment.running_jobs import Start


def goal_of(start, nodes=None, job=None):
    return Goal.free(start, nodes) if job is None else Goal.hold(start, job)


@some_then_all(20, 150)
def test_the_program_equals_enumeration_on_two_backends(seeds):
    for seed in seeds:
        round_ = random_round(seed)
        start = Start.of(round_)
        for asked in goals(round_):
            goal = goal_of(start, **asked)
            least = least_cost(round_, **asked)
            program = build_program(start, goal)
            for backend in ("highs", "cp-sat"):
                found = backend_named(backend).solve(program.model, Limits(seconds=None))
                if least is None:
                    assert (seed, backend, found.termination.reason) == (seed, backend, Reason.INFEASIBLE)
                    continue
                assert (seed, backend, divmod(found.value, start.weight)) == (seed, backend, least)
                plan = decoded(start, program, found.values)
                assert plan.cost(start) == found.value
                again = evaluate(program.model, encoded(start, goal, program, plan))
                assert (again.broken, again.value) == ((), found.value)
            if goal.impossible(start) is not None:
                assert least is None
            elif (plan := greedy_plan(start, goal)) is not None:
                assert divmod(plan.cost(start), start.weight) >= least
                assert evaluate(program.model, encoded(start, goal, program, plan)).feasible


def test_of_equal_nodes_the_first_are_chosen():
    start = Start.of(THREE_SERVERS)
    assert start.kinds() == [[0, 2], [1]]
    program = build_program(start, Goal.hold(start, "w0"))
    assert [family.label for family in program.model.rows if len(family) == 0] == [
        "cpus",
        "memory",
        "leave",
        "enter",
        "release",
        "gang",
        "link",
        "few",
    ]
    order = next(family for family in program.model.rows if family.label == "order")
    assert order.index.tolist() == [[2]]
    assert order.columns.tolist() == [program.y[0], program.y[2]]


def test_jobs_of_one_size_are_one_type():
    start = Start.of(THREE_SERVERS)
    assert start.types.tolist() == [[4, 0, 0], [2, 0, 0], [1, 0, 0]]
    assert start.count.tolist() == [[1, 1, 1], [1, 1, 1], [1, 0, 1]]
    assert (start.weight, start.cost(0), start.most) == (9, 37, 20 * 9 + 8)
