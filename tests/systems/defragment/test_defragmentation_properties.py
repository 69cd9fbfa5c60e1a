"""Whatever the cluster: ends fit, pinned jobs stay, budgets hold, bounds are bounds, and once done nothing is left."""

from fragmented_rounds import drawn_rounds, goals
from hypothesis import given, settings, strategies as st
from more_examples import more_examples
from plain_moves import least_cost

from muri_opt import Reason
from muri_opt.solve.solvers import backend_named, relaxation
from muri_opt.systems.defragment import free_nodes, make_room, moved_round
from muri_opt.systems.defragment.running_jobs import Start
from muri_opt.verify.defragment.check import check_defragmentation

HIGHS = {"highs": backend_named("highs").solve}


def ask(round_, asked, **means):
    return (make_room if "job" in asked else free_nodes)(round_, **asked, **means)


@more_examples(60)
@given(drawn_rounds(most_jobs=9), st.booleans())
def test_ends_fit_and_pinned_jobs_stay(round_, exact):
    for asked in goals(round_):
        found = ask(round_, asked, solvers=HIGHS if exact else {}, relax=relaxation if exact else None)
        assert check_defragmentation(round_, found).violations == ()
        after = moved_round(round_, found.moves)
        Start.of(after)  # refuses a node that holds too much
        moved = {move.job for move in found.moves}
        for job, end in zip(round_.jobs, after.jobs, strict=True):
            assert (job.placement != end.placement) == (job.id in moved)
            assert job.restart_seconds is not None or job.id not in moved
        if found.cost is not None:
            again = ask(after, asked)
            assert (again.cost, again.termination.reason) == ((0, 0), Reason.OPTIMAL)


@settings(max_examples=25)
@given(drawn_rounds(most_nodes=3, most_jobs=5), st.integers(0, 4))
def test_exact_is_the_least_and_the_rest_never_better(round_, budget):
    for asked in goals(round_):
        least = least_cost(round_, **asked)
        greedy, exact = ask(round_, asked), ask(round_, asked, solvers=HIGHS, relax=relaxation)
        assert exact.cost == least
        assert exact.termination.reason is (Reason.INFEASIBLE if least is None else Reason.OPTIMAL)
        if least is None:
            assert greedy.cost is None
            continue
        assert greedy.cost is None or greedy.cost >= least
        assert greedy.bound <= least
        limited = ask(round_, asked, budget=budget, solvers=HIGHS, relax=relaxation)
        if least[0] <= budget:
            assert (limited.cost, limited.termination.reason) == (least, Reason.OPTIMAL)
        else:
            assert (limited.termination.reason, limited.needed_budget) == (Reason.INFEASIBLE, least[0])
            assert check_defragmentation(round_, limited).violations == ()


@more_examples(40)
@given(drawn_rounds(most_jobs=8))
def test_names_and_order_of_nodes_do_not_matter(round_):
    for asked in goals(round_):
        there = ask(round_, asked, solvers=HIGHS)
        cluster = type(round_.cluster)(nodes=round_.cluster.nodes[::-1])
        back = ask(type(round_)(cluster=cluster, jobs=round_.jobs[::-1]), asked, solvers=HIGHS)
        assert (back.cost, back.termination.reason) == (there.cost, there.termination.reason)
