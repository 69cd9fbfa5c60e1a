"""The heuristic and the optimum of a round: solved, verified, compared; and what is refused."""

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from muri_opt import (
    Assignment,
    Cluster,
    Decision,
    InputError,
    Job,
    Limits,
    Node,
    Proof,
    RefusalError,
    Round,
    read_round,
    solve_round,
)
from muri_opt.studies.explain import Difference, compare_results, explain_gap
from muri_opt.testing import family_rounds

LIMITS = Limits(seconds=60)
INSTANCES = {  # policy, what each change gains
    "toy/two-gangs": ("fifo:objective=weighted", [3]),
    "toy/eight-gangs": ("srtf", [12]),
    "toy/eight-stages": ("muri-s", [260_715]),
    "toy/three-elastic": ("afs-l:objective=speed", [333_334]),
    "small/interleaving-12": ("muri-s", [237_613, 181_105]),
    "small/philly-07": ("philly", [93_686]),
    "small/plans-10": ("rubick", [566_034]),
}


@pytest.mark.parametrize("name", INSTANCES)
def test_the_gap_of_a_shipped_round_is_split(name):
    policy, gains = INSTANCES[name]
    gap = explain_gap(read_round(f"instances/{name}.json"), policy, limits=LIMITS)
    assert [change.gain for change in gap.changes] == gains
    assert (gap.gap, gap.values) == (sum(gains), (gap.first.value, gap.second.value))
    assert (gap.proved, gap.names) == (True, ("heuristic", "optimum"))
    assert gap.first.certificate.feasible
    assert gap.second.certificate.feasible


@settings(max_examples=8, database=None)
@given(family_rounds("scaling", max_jobs=6, running=False))
def test_where_gpus_are_the_only_tie_no_change_to_the_optimum_loses(round_):
    # Any change could be undone alone; if one lost, the optimum would not be one.
    bare = replace(round_, jobs=tuple(replace(job, tenant=None) for job in round_.jobs))
    gap = explain_gap(bare, "srtf-elastic:objective=speed-up", limits=LIMITS)
    assert gap.proved
    assert min((change.gain for change in gap.changes), default=0) >= 0


def two_nodes(*gpus):
    nodes = tuple(Node(id=f"n{s}", gpus=2) for s in range(2))
    jobs = tuple(Job(id=f"j{at}", gpus=count, submitted=0.0) for at, count in enumerate(gpus))
    return Round(cluster=Cluster(nodes=nodes), jobs=jobs)


def test_a_heuristic_without_a_gap_is_said_to_be_optimal():
    gap = explain_gap(two_nodes(2, 2, 1), "fifo:objective=weighted", limits=LIMITS)
    assert (gap.gap, gap.changes, gap.proved) == (0, (), True)
    assert gap.used_gpus == (4, 4)
    assert gap.differences == {"j0": Difference.SAME, "j1": Difference.SAME, "j2": Difference.WAITS}


def test_a_tie_is_told_from_the_same_decision():
    jobs = tuple(Job(id=name, gpus=2, remaining_iterations=9, scaling={1: 1.0, 2: 1.5}) for name in "ab")
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=3),)), jobs=jobs)
    found = solve_round(round_, "afs-l", "auto", LIMITS)
    swapped = tuple(
        Assignment(jobs=one.jobs, gpus=other.gpus, period_seconds=other.period_seconds)
        for one, other in zip(found.decision.assignments, found.decision.assignments[::-1], strict=True)
    )
    other = replace(found, decision=Decision(assignments=swapped), changes=None)
    gap = compare_results(round_, found, other)
    assert (gap.gap, [(change.jobs, change.gain) for change in gap.changes]) == (0, [(("a", "b"), 0)])
    assert gap.names == ("first", "second")
    assert compare_results(round_, found, found).changes == ()


def test_without_a_checked_bound_the_second_is_the_best_known_only():
    round_ = two_nodes(2, 2, 1)
    gap = explain_gap(round_, "fifo:objective=weighted", limits=LIMITS)
    claimed = replace(gap.second, certificate=replace(gap.second.certificate, proof=Proof.CLAIM_ONLY))
    assert replaced(gap, second=claimed).names == ("heuristic", "best known")
    open_bound = replace(gap.second, bound=gap.second.bound + 1)
    assert not replaced(gap, second=open_bound).proved


def replaced(gap, **fields):
    return type(gap)(**{name: fields.get(name, getattr(gap, name)) for name in gap.__dataclass_fields__})


def test_the_exact_program_may_be_asked_for_by_backend():
    gap = explain_gap(two_nodes(2, 1, 1, 2), "fifo:objective=weighted", method="exact@highs", limits=LIMITS)
    assert gap.second.method == "exact@highs"
    assert gap.gap == 0


def test_what_cannot_be_compared_is_refused():
    round_ = two_nodes(2, 2, 1)
    result = solve_round(round_, "fifo:objective=weighted", "heuristic")
    with pytest.raises(InputError, match="method: found 'heuristic'; allowed: auto, exact"):
        explain_gap(round_, "fifo:objective=weighted", method="heuristic")
    with pytest.raises(RefusalError, match=r"gap: found no decision by exact.*more seconds"):
        explain_gap(round_, "fifo:objective=weighted", method="exact", limits=Limits(seconds=0.0))
    with pytest.raises(InputError, match=r"second.rules: found .*'srsf'.*allowed: .*'fifo'"):
        compare_results(round_, result, replace(result, rules={"chapter": "gangs", "order": "srsf"}))
    with pytest.raises(InputError, match=r"first.fingerprint: found sha256"):
        compare_results(two_nodes(2), result, result)
    with pytest.raises(InputError, match=r"second.decision: found none"):
        compare_results(round_, result, replace(result, decision=None, value=None))
    with pytest.raises(
        InputError, match=r"first.value: found value: said 99; it is \d+; allowed: a result that passes"
    ):
        compare_results(round_, replace(result, value=99), result)
