"""From GPUs per node of jobs to a decision: their periods, and why the others wait, with what that is to deadlines."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from muri_opt.rounds import Round, Waiting
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.decision import Decision
from muri_opt.systems.capacity import held_gpus
from muri_opt.systems.capacity.decision import Placed, group_decision
from muri_opt.systems.deadline.choices import Choices
from muri_opt.systems.deadline.job_times import job_times


def deadline_decision(round_: Round, choices: Choices, shares: Mapping[int, Ints]) -> Decision:
    """Return the decision that gives job j ``shares[j][s]`` GPUs of node s; all others wait for their least share.

    >>> round_ = shipped_round("toy/three-elastic")
    >>> deadline_decision(round_, Choices.of(round_, 60.0), {0: np.array([3])}).assignments[0].gpus
    {'n0': 3}
    """
    times, asks = job_times(round_), choices.least.copy()
    placed = []
    for job, share in sorted(shares.items()):
        asks[job] = share.sum()
        period = times[job].period[times[job].sizes.index(int(asks[job]))]
        placed.append(Placed(jobs=(job,), share=share, period_seconds=period))
    decision = group_decision(round_, placed, consolidate=False, asks=asks)
    return replace(decision, waiting=tuple(_with_deadline(round_, choices, wait) for wait in decision.waiting))


def _with_deadline(round_: Round, choices: Choices, wait: Waiting) -> Waiting:
    """Return the waiting job with how it stands to its deadline among what it is told."""
    said = standing(round_, choices, round_.job_index[wait.job])
    return replace(wait, detail=f"{wait.detail}; {said}") if said else wait


def standing(round_: Round, choices: Choices, job: int) -> str:
    """Return in words how a job stands to its deadline, nothing where it has none.

    >>> late = Job(id="a", gpus=1, deadline=5.0)
    >>> round_ = Round(now=9.0, cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=(late,))
    >>> standing(round_, Choices.of(round_, 60.0), 0)
    'its deadline passed 4 s ago: it has what others leave'
    """
    deadline = round_.jobs[job].deadline
    if deadline is None:
        return ""
    if deadline < round_.now:
        return f"its deadline passed {round_.now - deadline:g} s ago: it has what others leave"
    rows = choices.of_job(job)
    enough = [int(choices.gpus[row]) for row in rows if choices.in_time[row]]
    if not enough:
        return f"no share that it may have keeps its deadline in {deadline - round_.now:g} s: it has what others leave"
    return f"{gpus_text(min(enough))} from now on would keep its deadline in {deadline - round_.now:g} s"


def deadlines_kept(round_: Round, decision: Decision) -> dict[str, bool]:
    """Return for each job with a deadline whether it is done by then with what the decision gives it, from now on.

    >>> round_ = shipped_round("toy/four-deadlines")
    >>> deadlines_kept(round_, policy_from("deadline").decide(round_, 0))
    {'a': True, 'b': False, 'c': False, 'late': False}
    """
    times, found = job_times(round_), {job.id: False for job in round_.jobs if job.deadline is not None}
    for assignment in decision.assignments:
        name = assignment.jobs[0]
        if name in found:
            place = round_.job_index[name]
            stays = held_gpus(round_, place) is not None and dict(assignment.gpus) == round_.jobs[place].placement
            size = times[place].sizes.index(sum(assignment.gpus.values()))
            found[name] = times[place].in_time(size, stays=stays)
    return found
