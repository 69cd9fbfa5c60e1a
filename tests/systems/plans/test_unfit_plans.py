"""What is remembered of plans that do not fit is what is said anew."""

from __future__ import annotations

from msgspec.structs import replace

from muri_opt import Cluster, Job, Node, Plan, Round, solve_round
from muri_opt.rounds import Guarantee

PLANS = (Plan(name="dp", gpus=2, nodes=1, throughput=1.0), Plan(name="dp", gpus=8, nodes=1, throughput=3.0))
LARGE = (Plan(name="dp", gpus=8, nodes=1, throughput=3.0),)


def said(round_: Round) -> dict[str, tuple[str, str]]:
    """Return why each job waits, and what would help."""
    decision = solve_round(round_, "rubick", "heuristic").answer
    return {wait.job: (wait.detail, wait.remedy) for wait in decision.waiting}


def test_the_words_are_those_of_the_job_and_of_the_cluster() -> None:
    """Jobs of the same plans may be promised more or less, and the nodes may be others."""
    few = Cluster(nodes=(Node(id="n0", gpus=4),))
    jobs = (
        Job(id="plain", gpus=8, plans=LARGE),
        Job(id="promised", gpus=2, plans=PLANS, guarantee=Guarantee(throughput=2.0)),
        Job(id="more", gpus=2, plans=PLANS, guarantee=Guarantee(throughput=5.0)),
    )
    round_ = Round(cluster=few, jobs=jobs)
    first = said(round_)
    assert len({*first.values()}) == 3
    assert said(replace(round_, now=60.0)) == first
    larger = said(replace(round_, cluster=Cluster(nodes=(Node(id="n0", gpus=8),))))
    assert larger.keys() == {"promised", "more"} or larger.keys() == {"plain", "more"}
    assert larger["more"] == first["more"]
    assert said(round_) == first
