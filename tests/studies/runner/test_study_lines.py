"""Lines of results: kept against kills, one study at a time, nothing of another kind or version read as one's own."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings, strategies as st

from muri_opt import __version__
from muri_opt.errors import InputError
from muri_opt.studies.runner.results_log import StudyLine, opened_lines

FORMAT = "muri-opt/counting/1"


class Counted(StudyLine, frozen=True, kw_only=True):
    number: int


def add(folder, *numbers):
    with opened_lines(folder, FORMAT, Counted) as lines:
        for number in numbers:
            lines.add(Counted(fingerprint=f"f{number % 10}", number=number))


def known(folder):
    with opened_lines(folder, FORMAT, Counted) as lines:
        return {key: line.number for key in ["f0", "f1", "f2", "f3"] if (line := lines.get(key)) is not None}


def test_what_was_added_is_there_next_time(tmp_path):
    add(tmp_path / "a" / "b", 1, 2)
    add(tmp_path / "a" / "b", 3)
    assert known(tmp_path / "a" / "b") == {"f1": 1, "f2": 2, "f3": 3}
    first, *rest = (tmp_path / "a" / "b" / "results.jsonl").read_text().splitlines()
    assert json.loads(first) == {"format": FORMAT, "version": __version__}
    assert json.loads(rest[0]) == {"fingerprint": "f1", "number": 1}


def test_the_last_of_a_repeated_run_counts(tmp_path):
    add(tmp_path, 1, 2, 11)
    assert known(tmp_path) == {"f1": 11, "f2": 2}


@settings(max_examples=25)
@given(cut=st.integers(0, 180))
def test_any_cut_loses_at_most_the_lines_it_cuts(cut, tmp_path_factory):
    """Whatever part of the file a kill leaves behind, all whole lines are read, and the file can be added to."""
    folder = tmp_path_factory.mktemp("cut")
    add(folder, 1, 2, 3)
    path = folder / "results.jsonl"
    data = path.read_bytes()[:cut]
    path.write_bytes(data)
    whole = max(0, data.count(b"\n") - 1)
    assert list(known(folder).values()) == [1, 2, 3][:whole]
    add(folder, 10)
    assert known(folder)["f0"] == 10
    assert path.read_bytes().count(b"\n") == 1 + whole + 1


def test_a_line_is_on_the_disk_when_it_is_added(tmp_path):
    with opened_lines(tmp_path, FORMAT, Counted) as lines:
        lines.add(Counted(fingerprint="f1", number=1))
        assert (tmp_path / "results.jsonl").read_text().endswith('{"fingerprint":"f1","number":1}\n')


@pytest.mark.parametrize(
    ("line", "text", "said"),
    [
        (
            0,
            '{"format":"muri-opt/study/1","version":"0.1.0"}',
            "format: found 'muri-opt/study/1'; allowed: 'muri-opt/c",
        ),
        (
            0,
            '{"format":"muri-opt/counting/1","version":"9"}',
            "found results of version '9'; allowed: those of version",
        ),
        (0, "results", "line 1: found b'results'"),
        (1, '{"fingerprint":"f1","number":"one"}', "line 2: found"),
    ],
)
def test_what_is_not_ours_is_refused_and_left_alone(tmp_path, line, text, said):
    add(tmp_path, 1, 2)
    path = tmp_path / "results.jsonl"
    lines = path.read_text().splitlines()
    lines[line] = text
    path.write_text("\n".join(lines) + "\ntorn")
    before = path.read_bytes()
    with pytest.raises(InputError) as refusal:
        known(tmp_path)
    assert said in str(refusal.value)
    assert path.read_bytes() == before


def test_one_study_at_a_time(tmp_path):
    with opened_lines(tmp_path, FORMAT, Counted), pytest.raises(InputError, match="a study that runs now"):
        add(tmp_path, 1)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a folder that can be written"):
        add(tmp_path / "file", 1)
