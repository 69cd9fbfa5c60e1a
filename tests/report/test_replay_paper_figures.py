"""Figures for papers: which files there are, what is in them, the same bytes every time."""

import sys
import xml.etree.ElementTree as ET

import pytest
from replay_outcomes import at_random, by_hand, without_jobs, without_nodes

from muri_opt.errors import InputError, RefusalError
from muri_opt.report.charts.replay_figures import write_figures

NAMES = ("jct_cdf", "utilisation", "queue", "heat_map")
KINDS = ("svg", "png")


def words(path):
    return {text.text for text in ET.XML(path.read_text()).iter("{http://www.w3.org/2000/svg}text")}


def test_all_figures_as_svg_and_png(tmp_path):
    outcomes = [at_random(policy, jobs=40, nodes=3, moments=400, seed=2) for policy in ("fifo", "srtf")]
    written = write_figures(outcomes, tmp_path / "a" / "b")
    assert [path.name for path in written] == [f"{name}.{kind}" for name in NAMES for kind in KINDS]
    assert sorted(written) == sorted((tmp_path / "a" / "b").iterdir())
    for path in written:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        else:
            assert {"fifo", "srtf"} <= words(path)
    again = write_figures(outcomes, tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_axes_say_what_they_show_and_names_are_neither_formulas_nor_left_out(tmp_path):
    write_figures([by_hand("_hidden"), by_hand("$x^2$ <&>\"'"), by_hand("a\nb")], tmp_path)
    said = {name: words(tmp_path / f"{name}.svg") for name in NAMES}
    assert all({"_hidden", "$x^2$ <&>\"'", "a\\nb"} <= found for found in said.values())
    assert {"10 s", "30 s", "1 min", "2 min", "job completion time", "part of the jobs"} <= said["jct_cdf"]
    assert {"seconds since the beginning", "jobs that wait"} <= said["queue"]
    assert {"node", "GPUs in use"} <= said["heat_map"]


def test_groups_are_numbered_and_maps_need_nodes(tmp_path):
    written = write_figures([without_nodes(by_hand()), by_hand(seed=1)], tmp_path)
    stems = [f"{name}-1" for name in NAMES[:3]] + [f"{name}-2" for name in NAMES]
    assert [path.name for path in written] == [f"{stem}.{kind}" for stem in stems for kind in KINDS]


def test_a_replay_of_nothing_has_empty_figures(tmp_path):
    written = write_figures([without_jobs()], tmp_path)
    assert [path.name for path in written] == [f"{name}.{kind}" for name in NAMES[:3] for kind in KINDS]
    assert "fifo" in words(tmp_path / "jct_cdf.svg")


def test_where_nothing_can_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a folder that can be written to"):
        write_figures([by_hand()], tmp_path / "file")
    (tmp_path / "jct_cdf.svg").mkdir()
    with pytest.raises(InputError, match="a file that can be written"):
        write_figures([by_hand()], tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(RefusalError, match=r"muri-opt\[pictures\]"):
        write_figures([by_hand()], tmp_path / "new")
    assert not (tmp_path / "new").exists()
