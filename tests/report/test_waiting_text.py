"""What would start a waiting job, as text, one line for each change."""

from muri_opt import Cluster, Decision, Job, Node, Round, Waiting, WaitingReason
from muri_opt.report.round.round_svg import round_picture
from muri_opt.report.text.result import waiting_lines
from muri_opt.report.text.round import job_text
from muri_opt.rounds import Change

WAIT = Waiting(
    job="a",
    reason=WaitingReason.BACKOFF,
    detail="in back-off",
    remedy="wait 1 min 30 s",
    changes=(Change(wait_seconds=90.0), Change(preempt=("b\n",), gpus=2), Change(add_gpus=1, gpus=1)),
)


def test_the_remedy_comes_first_and_every_other_change_has_a_line():
    _, _, row, *rest = waiting_lines([WAIT])
    assert row.split() == ["a", "backoff", "in", "back-off"]
    assert [line.strip() for line in rest] == [
        "remedy: wait 1 min 30 s",
        "or stop 'b\\n' (2 GPUs)",
        "or add a node of 1 GPU",
    ]
    assert {len(line) - len(line.lstrip()) for line in rest} == {row.index("in back-off")}


def test_one_job_is_explained_with_all_changes():
    lines = job_text(Job(id="a", gpus=2), Decision(waiting=(WAIT,))).splitlines()
    assert lines[-4:] == [
        "because      in back-off",
        "remedy       wait 1 min 30 s",
        "             or stop 'b\\n' (2 GPUs)",
        "             or add a node of 1 GPU",
    ]


def test_a_job_without_changes_has_its_remedy_only():
    plain = Waiting(job="a", reason=WaitingReason.QUOTA, detail="too much", remedy="ask for less")
    assert [line.strip() for line in waiting_lines([plain])[3:]] == ["remedy: ask for less"]


def test_the_picture_knows_back_off():
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=(Job(id="a", gpus=2),))
    assert "backoff: 1 job" in round_picture(round_, Decision(waiting=(WAIT,)))
