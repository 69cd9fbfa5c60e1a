"""Files appear whole or not at all, and nothing else is touched."""

import os
import stat

import pytest

from muri_opt.cli.files import check_writable, write_text
from muri_opt.errors import InputError


@pytest.mark.parametrize("option", ["--output", "--picture"])
def test_a_file_that_cannot_be_written_is_refused_before_the_solve(refused, toy, tmp_path, option):
    missing = tmp_path / "missing" / "file"
    assert "No such file or directory" in refused("solve", toy, option, missing)
    assert "found a directory" in refused("solve", toy, option, tmp_path)
    assert "found '-'" in refused("solve", toy, option, "-")
    assert "allowed: a file that can be written" in refused("solve", toy, option, f"{toy}/inside")
    assert "File name too long" in refused("solve", toy, option, tmp_path / ("x" * 300))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["generate", "gangs"], ["export", "TOY"]])
def test_other_commands_refuse_it_too(refused, toy, tmp_path, command):
    words = [toy if word == "TOY" else word for word in command]
    assert "allowed: a file that can be written" in refused(*words, "--output", tmp_path / "no" / "file")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(InputError, match="No space left on device"):
        write_text(str(path), "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_seeing_whether_a_file_could_be_written_changes_nothing(tmp_path):
    path = tmp_path / "file"
    check_writable(None)
    check_writable(str(path))
    assert list(tmp_path.iterdir()) == []
    path.write_text("old")
    check_writable(str(path))
    assert path.read_text() == "old"


def test_a_link_stays_a_link(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    link.symlink_to(path)
    write_text(str(link), "new")
    assert link.is_symlink()
    assert path.read_text() == "new"


def test_a_device_is_written_to_and_never_replaced(run, toy, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run("export", toy, "--output", pipe)[0] == 0
        assert os.read(reading, 100).startswith(b"\\ gangs\nMaximize")
    finally:
        os.close(reading)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_written_file_has_the_usual_permissions(tmp_path):
    write_text(str(tmp_path / "ours"), "text")
    (tmp_path / "usual").write_text("text")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode
