"""The elastic policies on whole rounds: their published shares, and what each of their settings does."""

from __future__ import annotations

import msgspec
import pytest
from elastic_draws import elastic, elastic_rounds, round_with, shares_of
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import Limits, Node, Round, Tenant, solve_round

LINEAR = (1, 2, 3, 4, 5, 6, 7, 8)


def shares(round_: Round, policy: str, seed: int = 0) -> list[int]:
    """Return the shares of a policy's own rule, once they are found to be true."""
    result = solve_round(round_, policy, "heuristic", limits=Limits(seed=seed))
    assert result.certificate.feasible, result.certificate.violations
    return shares_of(round_, result)


def amdahl(serial: float) -> list[float]:
    return [1 / (serial + (1 - serial) / k) for k in range(1, 7)]


def powers(exponent: float) -> list[float]:
    return [k**exponent for k in range(1, 5)]


CASES = {  # rates, work, GPUs
    "T1": ([(1, 1.8, 2.4), (1, 1.9, 2.7)], (10, 30), 3),
    "T2": ([(1, 1.2, 1.3), (1, 1.9, 2.7)], (10, 30), 3),
    "T3": ([powers(0.5), powers(0.7), powers(0.9)], (4, 6, 9), 4),
    "T4": ([amdahl(0.1), amdahl(0.3), amdahl(0.5)], (10, 10, 10), 6),
    "T5": ([(1, 2, 3)] * 3, (2, 3, 5), 3),
}


def case(name: str) -> Round:
    rates, work, gpus = CASES[name]
    jobs = [elastic(j, table, remaining_iterations=w) for j, (table, w) in enumerate(zip(rates, work, strict=True))]
    return round_with([gpus], jobs)


@pytest.mark.parametrize(
    ("name", "policy", "expected"),
    [
        ("T1", "afs-l", [2, 1]),
        ("T1", "optimus", [1, 2]),
        ("T1", "max-min-elastic", [2, 1]),
        ("T1", "srtf-elastic", [3, 0]),
        ("T1", "afs-l:phi=inf", [2, 1]),
        ("T2", "afs-l:phi=inf", [2, 1]),
        ("T2", "afs-l", [1, 2]),
        ("T3", "afs-l:scan=arrival", [1, 1, 2]),
        ("T3", "afs-l:scan=longest", [2, 1, 1]),  # one more cycle of three
        ("T3", "max-min-elastic", [2, 1, 1]),
        ("T4", "afs-l", [3, 2, 1]),
        ("T4", "optimus", [2, 2, 2]),
        ("T5", "afs-l", [1, 1, 1]),
        ("T5", "afs-l:tie=shorter", [2, 1, 0]),
        ("T5", "srtf-elastic", [3, 0, 0]),
    ],
)
def test_published_shares(name: str, policy: str, expected: list[int]) -> None:
    assert shares(case(name), policy) == expected


CHATBOT, DEEPSPEECH, INCEPTION = ("chatbot", 1.4289), ("deepspeech", 1.4907), ("inception", 1.9524)
HOURS = {"chatbot": 1, "deepspeech": 2, "inception": 3}


@pytest.mark.parametrize(
    ("arrivals", "scan", "winner"),
    [
        ((CHATBOT, DEEPSPEECH, INCEPTION), "arrival", "inception"),
        ((CHATBOT, INCEPTION, DEEPSPEECH), "arrival", "deepspeech"),
        ((DEEPSPEECH, INCEPTION, CHATBOT), "arrival", "chatbot"),
        ((DEEPSPEECH, INCEPTION, CHATBOT), "longest", "chatbot"),
        ((DEEPSPEECH, INCEPTION, CHATBOT), "shortest", "inception"),
    ],
)
def test_three_jobs_of_which_each_beats_another_are_decided_by_the_scan(
    arrivals: tuple[tuple[str, float], ...], scan: str, winner: str
) -> None:
    jobs = [
        elastic(place, {1: 1.0, 2: more}, id=name, submitted=float(place), remaining_iterations=3600 * HOURS[name])
        for place, (name, more) in enumerate(arrivals)
    ]
    for order in (jobs, jobs[::-1]):  # arrival is the order of submission, not of the round
        round_ = round_with([4], order)
        given_ = dict(zip((job.id for job in order), shares(round_, f"afs-l:scan={scan}"), strict=True))
        assert given_ == {name: 1 + (name == winner) for name in HOURS}


def plain_afs(round_: Round, scan: str, tie: str, phi: int | None) -> list[int]:
    """The rule as it is written: one GPU at a time, every job compared with the candidate."""
    total = round_.cluster.total_gpus
    speed = [{0: 0} | {k: int(rate * 8) for k, rate in job.scaling.items() if k <= total} for job in round_.jobs]
    work = [job.remaining_iterations * 8_000_000 for job in round_.jobs]
    now = [0] * len(work)

    def left(j: int, k: int) -> float:
        return work[j] // speed[j][k] if k else float("inf")

    order = list(range(len(work)))
    if scan == "arrival":
        order.sort(key=lambda j: round_.jobs[j].submitted)
    elif total:
        order.sort(key=lambda j: left(j, 1) * (1 if scan == "shortest" else -1))
    for _ in range(total):
        best = None
        for j in order:
            if now[j] == max(speed[j]):
                continue
            if best is None or _takes_over(best, j, speed, now, left, tie, phi):
                best = j
        if best is not None:
            now[best] += 1
    return now


def _takes_over(best, j, speed, now, left, tie, phi) -> bool:
    if now[best] == now[j] == 0:
        return left(j, 1) <= left(best, 1)
    a, b = (best, j) if left(best, now[best]) <= left(j, now[j]) else (j, best)
    if now[b] and phi is None:
        return a == j
    future = speed[b][min(now[b] + phi, max(speed[b]))] if now[b] else speed[b][1]
    to_b = speed[a][now[a]] * (2 * future - speed[b][now[b]])
    to_a = speed[a][now[a] + 1] * (2 * future - speed[b][now[b] + 1])
    return (to_b > to_a or (tie == "longer" and to_b == to_a)) == (b == j)


@given(
    elastic_rounds(gaps=False),
    st.sampled_from(["longest", "arrival", "shortest"]),
    st.sampled_from(["longer", "shorter"]),
    st.sampled_from([1, 2, 5, None]),
)
@more_examples(400)
def test_afs_gives_the_shares_of_its_plain_loop(round_: Round, scan: str, tie: str, phi: int | None) -> None:
    jobs = [msgspec.structs.replace(job, tenant=None, iteration_seconds=None) for job in round_.jobs]
    free = msgspec.structs.replace(round_, jobs=tuple(jobs))
    policy = f"afs-l:scan={scan},tie={tie},phi={'inf' if phi is None else phi},restarts=ignore"
    assert shares(free, policy) == plain_afs(free, scan, tie, phi)


@pytest.mark.parametrize("policy", ["afs-l", "optimus", "max-min-elastic", "srtf-elastic", "afs-p"])
def test_packing_gives_shares_that_divide_or_fill_nodes(policy: str) -> None:
    jobs = [elastic(j, LINEAR[:6], remaining_iterations=work) for j, work in enumerate((40, 50, 900))]
    round_ = round_with([4, 4, 0], jobs)
    result = solve_round(round_, f"{policy}:packing=node", "heuristic")
    assert result.certificate.feasible
    placed = [tuple(one.gpus.values()) for one in result.decision.assignments]
    assert len(placed) >= 2
    assert all(share in ((1,), (2,), (4,)) for share in placed)
    assert any(gpus not in (0, 1, 2, 4, 8) for gpus in shares(round_, policy))


def test_packing_fills_whole_nodes() -> None:
    result = solve_round(round_with([4, 4, 0], [elastic(0, LINEAR)]), "afs-l:packing=node", "heuristic")
    assert [one.gpus for one in result.decision.assignments] == [{"n0": 4, "n1": 4}]


def test_a_running_job_that_crosses_nodes_is_moved_onto_one() -> None:
    held = elastic(0, LINEAR[:2], gpus=2, state="running", placement={"n0": 1, "n1": 1}, restart_seconds=1000.0)
    result = solve_round(round_with([4, 4], [held, elastic(1, LINEAR[:4])]), "afs-l:packing=node", "heuristic")
    assert result.certificate.feasible
    assert sorted(sorted(one.gpus.values()) for one in result.decision.assignments) == [[2], [4]]


def test_restarts_are_paid_or_ignored() -> None:
    def job(restart: float | None) -> Round:
        running = {"state": "running", "placement": {"n0": 2}, "gpus": 2, "restart_seconds": restart}
        return round_with([4], [elastic(0, LINEAR, remaining_iterations=12, **running)])

    # two GPUs take 6 s, four 3 s: by time a change pays if the restart takes less than 3 s, here by a hundredth
    assert [shares(job(restart), "optimus") for restart in (None, 0.0, 2.99, 3.0)] == [[4], [4], [4], [2]]
    for policy in ("afs-l", "max-min-elastic", "srtf-elastic"):
        # of the 3 s that are left at least, half have to be worked at twice the speed
        assert [shares(job(restart), policy) for restart in (None, 0.0, 1.49, 1.5)] == [[4], [4], [4], [2]]
        # of a second that a decision stands, half
        short = f"{policy}:horizon=1"
        assert [shares(job(restart), short) for restart in (0.49, 0.5)] == [[4], [2]]
    # how long a job is nobody knows: of ten minutes, five
    assert [shares(job(restart), "afs-p") for restart in (299.0, 300.0)] == [[4], [2]]
    for policy in ("afs-l", "afs-p", "optimus", "max-min-elastic", "srtf-elastic"):
        assert shares(job(400.0), f"{policy}:restarts=ignore") == [4]


def test_a_kept_share_is_within_the_quota_and_the_sizes() -> None:
    held = {
        "state": "running",
        "placement": {"n0": 3},
        "restart_seconds": 1e6,
        "tenant": "a",
        "remaining_iterations": 8,
    }
    jobs = [elastic(0, LINEAR, **held), elastic(1, LINEAR, tenant="a")]
    assert shares(round_with([4], jobs, [Tenant(id="a", quota_gpus=2)]), "afs-l") == [1, 1]
    assert shares(round_with([4], jobs[:1], [Tenant(id="a")]), "afs-l") == [3]
    assert shares(round_with([4], jobs[:1], [Tenant(id="a")]), "afs-l:packing=node") == [4]


def test_a_share_that_packing_cuts_is_weighed_as_it_is_cut() -> None:
    """Three GPUs would be faster than four and pay the restart; the two that packing leaves of them are not."""
    running = {"state": "running", "placement": {"n0": 4}, "gpus": 4, "restart_seconds": 1.0}
    round_ = round_with([4], [elastic(0, (1, 1.5, 4, 3), remaining_iterations=120, **running)])
    assert shares(round_, "optimus") == [3]
    assert shares(round_, "optimus:packing=node") == [4]
    assert shares(round_, "optimus:packing=node,restarts=ignore") == [2]


@pytest.mark.parametrize(
    ("executed", "quantum", "expected"),
    [
        (3600.0, "7200", [2, 0]),  # half a quantum: the job keeps what it has
        (7200.0, "7200", [1, 1]),  # one is over: the others first
        (3600.0, "3600", [1, 1]),
        (3600.5, "3600", [2, 0]),
        (0.3, "0.1", [1, 1]),  # three whole quanta, though no float is a tenth
    ],
)
def test_a_quantum_is_kept_to_its_end(executed: float, quantum: str, expected: list[int]) -> None:
    held = elastic(0, LINEAR, state="running", placement={"n0": 2}, executed_seconds=executed)
    assert shares(round_with([2], [held, elastic(1, LINEAR)]), f"afs-p:quantum={quantum}") == expected


def test_jobs_take_turns_by_quanta_and_then_by_submission() -> None:
    jobs = [elastic(j, LINEAR, executed_seconds=7200.0 * quanta) for j, quanta in enumerate((2, 0, 1, 0))]
    jobs[1] = msgspec.structs.replace(jobs[1], submitted=9.0)
    assert [shares(round_with([gpus], jobs), "afs-p") for gpus in (1, 2, 3, 4)] == [
        [0, 0, 0, 1],
        [0, 1, 0, 1],
        [0, 1, 1, 1],
        [1, 1, 1, 1],
    ]


def test_the_seed_tosses_the_coin_of_afs_p_and_does_nothing_else() -> None:
    twins = round_with([3], [elastic(j, (1, 1.8, 2.4), remaining_iterations=None) for j in range(2)])
    tossed = [shares(twins, "afs-p", seed) for seed in range(12)]
    assert {tuple(found) for found in tossed} == {(2, 1), (1, 2)}
    assert tossed == [shares(twins, "afs-p", seed) for seed in range(12)]
    sure = round_with([3], [elastic(0, (1, 2.1, 3)), elastic(1, (1, 1.05, 1.06))])
    assert {tuple(shares(sure, "afs-p", seed)) for seed in range(12)} == {(2, 1)}
    for policy in ("afs-l", "optimus", "max-min-elastic", "srtf-elastic"):
        assert len({tuple(shares(case("T3"), policy, seed)) for seed in range(4)}) == 1


@pytest.mark.parametrize("policy", ["afs-l", "afs-p", "optimus", "max-min-elastic", "srtf-elastic"])
def test_quotas_are_kept_and_what_they_leave_goes_to_others(policy: str) -> None:
    jobs = [elastic(j, LINEAR, tenant="a" if j < 2 else "b", remaining_iterations=10 + j) for j in range(3)]
    tenants = [Tenant(id="a", quota_gpus=1), Tenant(id="b")]
    alone = [0, 0, 4]  # within its quota, the first job ends later than the last one with all GPUs
    assert shares(round_with([4], jobs, tenants), policy) == (alone if policy == "srtf-elastic" else [1, 0, 3])
    nothing = [Tenant(id="a", quota_gpus=0), Tenant(id="b", quota_gpus=0)]
    assert shares(round_with([4], jobs, nothing), policy) == [0, 0, 0]


@pytest.mark.parametrize("policy", ["afs-l", "afs-p", "optimus", "max-min-elastic", "srtf-elastic"])
@pytest.mark.parametrize(("limit", "use"), [("cpus", 4.0), ("memory_gib", 16.0)])
def test_cpus_and_memory_cut_shares(policy: str, limit: str, use: float) -> None:
    jobs = [elastic(0, LINEAR, gpus=2, **{limit: use})]  # half of it with every GPU
    node = Node(id="n0", gpus=4, **{limit: use * 1.75})
    assert shares(round_with([node], jobs), policy) == [3]
    assert shares(round_with([node], jobs), f"{policy}:packing=node") == [2]
    assert shares(round_with([Node(id="n0", gpus=4, **{limit: use / 4})], jobs), policy) == [0]


@pytest.mark.parametrize("policy", ["afs-l", "afs-p", "optimus", "max-min-elastic", "srtf-elastic"])
def test_rounds_of_nothing(policy: str) -> None:
    for packing in ("any", "node"):
        spec = f"{policy}:packing={packing}"
        assert shares(round_with([4], []), spec) == []
        assert shares(round_with([], [elastic(0, LINEAR)]), spec) == [0]
        assert shares(round_with([0], [elastic(0, LINEAR)]), spec) == [0]
