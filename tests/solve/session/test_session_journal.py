"""The journal of a session: resumed equal after a cut at any byte, and never half-done."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from muri_opt import Cluster, InputError, Job, Node, Session, Tenant
from muri_opt.solve.session import journal as journals
from muri_opt.solve.session.events import Snapshot
from muri_opt.solve.session.journal import Journal

CLUSTER = Cluster(
    nodes=tuple(Node(id=f"n{place}", gpus=4, gpu_type="a100") for place in range(3)),
    tenants=(Tenant(id="all"), Tenant(id="vision", parent="all", quota_gpus=6)),
)


def a_job(name: str, gpus: int = 2) -> Job:
    return Job(id=name, gpus=gpus, tenant="vision", iteration_seconds=1.0, remaining_iterations=60, restart_seconds=5.0)


def known(session: Session) -> tuple[object, ...]:
    """Return all that a session knows."""
    return session.now, dict(session.jobs), session.cluster, session.pending


def driven(path: Path, seed: int, steps: int = 12) -> list[tuple[int, tuple[object, ...]]]:
    """Drive a session by drawn events; return the bytes and what is known after each of them."""
    draw, session = Random(seed), Session(CLUSTER, "srtf", "heuristic", journal=path)
    found = [(path.stat().st_size, known(session))]

    def told() -> None:
        found.append((path.stat().st_size, known(session)))

    for step in range(steps):
        session.submit(a_job(f"j{step}", draw.randint(1, 5)))
        told()
        running = [job.id for job in session.jobs.values() if job.state == "running"]
        if running:
            event = draw.choice((session.finished, session.failed, session.cancel))
            event(draw.choice(running))
            told()
        if draw.random() < 0.3:
            session.set_priority(f"j{step}", draw.randint(-3, 3))
            told()
        if draw.random() < 0.2 and len(session.cluster.nodes) > 1:
            session.remove_node(session.cluster.nodes[0].id)
            told()
        decided = session.decide(10.0 * step)
        told()
        if draw.random() < 0.8:
            lost = {change.job: "node lost" for change in decided.changes.start if draw.random() < 0.2}
            session.acknowledge(decided, failed=lost)
            told()
    session.close()
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_journal_cut_at_any_byte_is_resumed_equal(tmp_path: Path, seed: int) -> None:
    whole = tmp_path / "whole.jsonl"
    states = driven(whole, seed)
    data, first = whole.read_bytes(), states[0][0]
    assert states[-1][0] == len(data)
    draw = Random(seed)
    for length in [first, len(data), *(draw.randrange(first, len(data)) for _ in range(50))]:
        cut = tmp_path / f"cut-{length}.jsonl"
        cut.write_bytes(data[:length])
        with Session.resume(cut) as session:
            assert known(session) == [state for size, state in states if size <= length][-1]
        assert cut.stat().st_size == max(size for size, _ in states if size <= length)


def test_a_journal_that_was_cut_as_it_was_begun_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "begun.jsonl"
    Session(CLUSTER, journal=path).close()
    data = path.read_bytes()
    for length in range(0, len(data) - 1, 7):
        path.write_bytes(data[:length])
        with pytest.raises(InputError):
            Session.resume(path)


def test_going_on_after_a_cut_is_like_going_on_without(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Session(CLUSTER, "srtf", journal=path) as session:
        session.submit(a_job("a"))
    with path.open("ab") as file:
        file.write(b'0badc0de {"event":"sub')
    with Session.resume(path) as session:
        session.submit(a_job("b"))
    with Session.resume(path) as session:
        assert list(session.jobs) == ["a", "b"]


def test_compacting_changes_nothing_that_is_known(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    driven(path, 7)
    long = path.stat().st_size
    with Session.resume(path) as session:
        before = known(session)
        session.compact()
        assert path.stat().st_size < long
        session.submit(a_job("late"))
    with Session.resume(path) as session:
        assert known(session)[1] == {**before[1], "late": a_job("late")}


def test_a_long_journal_is_compacted_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muri_opt.solve.session.session.LEAST_SIZE", 2_000)
    path = tmp_path / "journal.jsonl"
    with Session(CLUSTER, "srtf", journal=path) as session:
        session.submit(a_job("a"))
        for priority in range(200):
            session.set_priority("a", priority)
            assert path.stat().st_size < 10_000
    with Session.resume(path) as session:
        assert session.jobs["a"].priority == 199


def test_a_full_disk_refuses_the_event_and_leaves_the_journal_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    session = Session(CLUSTER, "srtf", journal=path)
    session.submit(a_job("a"))
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(journals.os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            session.submit(a_job("b"))
    assert (list(session.jobs), path.read_bytes()) == (["a"], before)
    session.submit(a_job("c"))
    session.close()
    with Session.resume(path) as again:
        assert list(again.jobs) == ["a", "c"]


def test_one_process_at_a_time_and_only_journals(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Session(CLUSTER, journal=path) as session:
        session.submit(a_job("a"))
        with pytest.raises(InputError, match="another process has open"):
            Session.resume(path)
        session.compact()
        with pytest.raises(InputError, match="another process has open"):
            Session.resume(path)
    with pytest.raises(InputError, match="which exists"):
        Session(CLUSTER, journal=path)
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"gpus":2', b'"gpus":3'))
    with pytest.raises(InputError, match="line 2"):
        Session.resume(path)
    path.write_bytes(b"something else\n")
    with pytest.raises(InputError, match="line 1"):
        Session.resume(path)
    with pytest.raises(InputError, match="No such file"):
        Session.resume(tmp_path / "none.jsonl")
    other = tmp_path / "other.jsonl"
    opened = Session(CLUSTER, journal=other)
    state = Snapshot(cluster=CLUSTER, resources=(), now=0.0, jobs=(), number=0)
    opened.close()
    reopened = Journal.open(other)
    reopened.close()
    other.unlink()
    Journal.create(other, replace(reopened.header, format="muri-opt/journal/9"), state).close()
    with pytest.raises(InputError, match="journal/9"):
        Session.resume(other)


_CHILD = """
import sys
from muri_opt import Cluster, Job, Node, Session
session = Session(Cluster(nodes=(Node(id="n0", gpus=4),)), "srtf", "heuristic", journal=sys.argv[1])
for number in range(10_000):
    session.submit(Job(id=f"j{number}", gpus=1, iteration_seconds=1.0, remaining_iterations=9))
    print(number, flush=True)
"""


def test_nothing_that_was_answered_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    command = [sys.executable, "-c", _CHILD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) == 200:
                child.send_signal(signal.SIGKILL)
                break
        answered = [200, *(int(line) for line in child.stdout.read().split())]
    with Session.resume(path) as session:
        there = [int(name.removeprefix("j")) for name in session.jobs]
    assert there == list(range(len(there)))
    assert len(there) in (max(answered) + 1, max(answered) + 2)
