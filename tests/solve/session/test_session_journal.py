"""The journal of a session: resumed equal after a cut at any byte, and never half-done."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
import session_events
from msgspec.structs import replace
from session_events import CLUSTER, CountedFile, a_job, count_bytes, driven, known

from muri_opt import InputError, Session
from muri_opt.solve.session import journal as journals
from muri_opt.solve.session.events import Snapshot
from muri_opt.solve.session.journal import Journal
from muri_opt.solve.session.state import counted


def sizes_and_states(path: Path, seed: int, steps: int) -> list[tuple[int, tuple[object, ...]]]:
    """Return the bytes of the journal and what is known after each event of a session."""
    found: list[tuple[int, tuple[object, ...]]] = []
    driven(path, seed, steps, lambda session: found.append((path.stat().st_size, known(session))))
    return found


def test_a_journal_cut_at_any_byte_is_resumed_equal(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    states = sizes_and_states(whole, 1, steps=1)
    data, first = whole.read_bytes(), states[0][0]
    assert states[-1][0] == len(data)
    cut = tmp_path / "cut.jsonl"
    for length in range(first, len(data) + 1):
        cut.write_bytes(data[:length])
        with Session.resume(cut) as session:
            assert known(session) == [state for size, state in states if size <= length][-1]
        assert cut.stat().st_size == max(size for size, _ in states if size <= length)


def test_a_journal_cut_off_as_it_was_begun_is_begun_anew(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    with Session(CLUSTER, "srtf", journal=whole) as session:
        begun = known(session)
    data = whole.read_bytes()
    for length in range(len(data)):
        cut.write_bytes(data[:length])
        with pytest.raises(InputError, match="this one was cut off as it was begun"):
            Session.resume(cut)
        with Session(CLUSTER, "srtf", journal=cut) as session:
            assert known(session) == begun
        assert cut.read_bytes() == data


@pytest.mark.parametrize("text", ["notes", "notes\n", "abcdef12 notes", '{"format":"muri-opt/journal/1"}', "1\n2\n"])
def test_a_file_that_is_no_journal_is_not_written_over(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes"
    path.write_text(text)
    with pytest.raises(InputError, match="which exists"):
        Session(CLUSTER, "srtf", journal=path)
    assert path.read_text() == text


@pytest.mark.parametrize("count", [70, pytest.param(300, marks=pytest.mark.slow)])
def test_a_session_killed_at_random_bytes_is_resumed_equal(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal is written anew several times meanwhile: then too, one of the two files is whole."""
    seed, steps = 3, 5
    states: list[tuple[int, tuple[object, ...]]] = []
    with monkeypatch.context() as patched:
        count_bytes(patched.setattr)
        monkeypatch.setattr(CountedFile, "written", 0)
        driven(tmp_path / "whole.jsonl", seed, steps, lambda it: states.append((CountedFile.written, known(it))))
    assert CountedFile.written > 2 * (tmp_path / "whole.jsonl").stat().st_size
    draw = Random(seed)
    places = sorted(draw.sample(range(states[0][0] + 1, states[-1][0] + 1), count))
    command = [sys.executable, session_events.__file__, str(tmp_path), str(seed), str(steps), *map(str, places)]
    subprocess.run(command, check=True)
    for place in places:
        with Session.resume(tmp_path / f"{place}.jsonl") as session:
            answered = [state for written, state in states if written < place]
            assert known(session) in states_around(answered[-1], states)


def states_around(last: tuple[object, ...], states: list[tuple[int, tuple[object, ...]]]) -> list[tuple[object, ...]]:
    """Return what was known last, and after the event that was being written: it may be there whole."""
    place = max(place for place, (_, state) in enumerate(states) if state == last)
    return [state for _, state in states[place : place + 2]]


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
    driven(path, 7, 12)
    long = path.stat().st_size
    with Session.resume(path) as session:
        before = known(session)
        session.compact()
        assert path.stat().st_size < long
        session.submit(a_job("late"))
    with Session.resume(path) as session:
        assert known(session)[1] == {**before[1], "late": counted(a_job("late"))}


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


def test_lines_that_were_lost_doubled_or_exchanged_are_found(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Session(CLUSTER, journal=path) as session:
        for name in "abcd":
            session.submit(a_job(name))
    header, start, *lines = path.read_bytes().splitlines(keepends=True)
    a, b, c, d = lines
    for changed, line in (((a, c, d), 4), ((a, b, b, c, d), 5), ((b, a, c, d), 3), ((a, b[:-9] + b"\n", c, d), 4)):
        path.write_bytes(b"".join((header, start, *changed)))
        with pytest.raises(InputError, match=f"line {line}: "):
            Session.resume(path)
    path.write_bytes(b"".join((header, start, *lines)))
    with Session.resume(path) as session:
        assert list(session.jobs) == [*"abcd"]


def test_an_event_that_another_version_wrote_is_refused_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    Session(CLUSTER, journal=path).close()
    opened = Journal.open(path)
    opened._write(b'{"event":"rename","job":"a","name":"b"}')
    opened.close()
    with pytest.raises(InputError, match=r"line 3: .*rename"):
        Session.resume(path)


def test_what_could_not_be_read_again_is_never_written(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Session(CLUSTER, "srtf", "heuristic", journal=path) as session:
        session.submit(a_job("a"))
        step = session.decide(1.0)
        before = path.read_bytes(), known(session)
        for failed in ({"a": 3}, {"a": None}, {"a": object()}):
            with pytest.raises(InputError, match="event"):
                session.acknowledge(step, failed=failed)
            assert (path.read_bytes(), known(session)) == before
        session.acknowledge(step)
        session.progress("a", remaining_iterations=np.int64(7), executed_seconds=np.float32(2.0))
        session.set_priority("a", np.int64(3))
        session.progress("a", restarts=None)
        after = known(session)
    with Session.resume(path) as session:
        assert known(session) == after
        assert (session.jobs["a"].priority, session.jobs["a"].restarts) == (3, None)


def test_an_interrupt_leaves_no_half_line_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.jsonl"
    session = Session(CLUSTER, journal=path)

    def interrupted(handle: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(journals.os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.submit(a_job("a"))
    session.submit(a_job("b"))
    session.close()
    with Session.resume(path) as again:
        assert list(again.jobs) == ["b"]


def test_an_event_stands_although_there_is_no_room_to_write_the_journal_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muri_opt.solve.session.session.LEAST_SIZE", 0)
    path = tmp_path / "journal.jsonl"
    session = Session(CLUSTER, journal=path)
    session.submit(a_job("a"))

    def full(journal: Journal, now: Snapshot) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Journal, "compact", full)
    for priority in range(100):
        session.set_priority("a", priority)
    session.close()
    with Session.resume(path) as again:
        assert again.jobs["a"].priority == 99


def test_what_follows_a_compaction_is_kept_though_the_folder_cannot_be_synchronised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    session = Session(CLUSTER, journal=path)

    def refuses(folder: Path) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr("muri_opt.solve.session.journal._sync_folder", refuses)
    with pytest.raises(OSError, match="Invalid argument"):
        session.compact()
    session.submit(a_job("a"))
    session.close()
    with Session.resume(path) as again:
        assert list(again.jobs) == ["a"]


def test_a_journal_stays_where_it_was_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever becomes of the working directory, and with the rights it was given."""
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "one")
    with Session(CLUSTER, journal="journal.jsonl") as session:
        Path("journal.jsonl").chmod(0o640)
        monkeypatch.chdir(tmp_path / "other")
        session.compact()
        session.submit(a_job("a"))
    assert [path.name for path in tmp_path.rglob("*.jsonl")] == ["journal.jsonl"]
    assert (tmp_path / "one" / "journal.jsonl").stat().st_mode & 0o777 == 0o640
    with Session.resume(tmp_path / "one" / "journal.jsonl") as session:
        assert list(session.jobs) == ["a"]


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
                with pytest.raises(InputError, match="another process has open"):
                    Session.resume(path)
                child.send_signal(signal.SIGKILL)
                break
        answered = [200, *(int(line) for line in child.stdout.read().split())]
    with Session.resume(path) as session:
        there = [int(name.removeprefix("j")) for name in session.jobs]
    assert there == list(range(len(there)))
    assert len(there) in (max(answered) + 1, max(answered) + 2)
