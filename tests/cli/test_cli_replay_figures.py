"""``muri-opt replay --figures``: written beside the report, refused before any work where they cannot be."""

import sys

import pytest
from replay_traces import write_trace


@pytest.fixture
def words(tmp_path):
    trace = write_trace(tmp_path / "trace.csv")
    where = ("--cluster", "1x4", "--engine", "here", "--folder", tmp_path / "study")
    return ("replay", trace, "--policy", "fifo,srtf", *where)


def test_figures_and_report_of_one_study(run, words, tmp_path):
    code, _, err = run(*words, "--figures", tmp_path / "figures", "--report", tmp_path / "report.html")
    assert (code, err) == (0, "")
    written = sorted(path.name for path in (tmp_path / "figures").iterdir())
    names = ("heat_map", "jct_cdf", "queue", "utilisation")
    assert written == [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    assert (tmp_path / "report.html").read_text().count('class="chart heat"') == 2


def test_refused_before_any_work(refused, words, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    assert "a folder that can be written to" in refused(*words, "--figures", tmp_path / "file")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "pip install 'muri-opt[pictures]'" in refused(*words, "--figures", tmp_path / "figures")
    assert not (tmp_path / "study").exists()
