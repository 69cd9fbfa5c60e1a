"""Figures of a gap study for papers: which files there are and what is in them."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from comparison_rows import at_random, refused

from muri_opt.errors import InputError
from muri_opt.report.charts.comparison_figures import write_figures

NAMES = ("profile", "loss_time", "loss_size", "loss_policy")
KINDS = ("svg", "png")
NASTY = {"auto": "_hidden", "cp-sat": "$x^2$ <&>\"'", "highs": "a\nb", "muri": "$y_1$ <&>"}


def words(path):
    return {text.text for text in ET.XML(path.read_text()).iter("{http://www.w3.org/2000/svg}text")}


def test_all_figures_as_svg_and_png_with_names_as_they_are(tmp_path):
    rows = [
        replace(row, method=NASTY.get(row.method, row.method), policy=NASTY.get(row.policy, row.policy))
        for row in at_random(rounds=6)
    ]
    written = write_figures(rows, tmp_path / "a" / "b")
    assert [path.name for path in written] == [f"{name}.{kind}" for name in NAMES for kind in KINDS]
    assert sorted(written) == sorted((tmp_path / "a" / "b").iterdir())
    assert all(path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n") for path in written[1::2])
    shown = {path.stem: words(path) for path in written[::2]}
    assert all({"heuristic", "_hidden", "$x^2$ <&>\"'", "a\\nb"} <= found for found in shown.values())
    assert {"best value found", "solved to the end", "part of the pairs"} <= shown["profile"]
    assert {"loss", "0 %", "time of the run"} <= shown["loss_time"]
    assert {"loss", "0 %", "jobs of the round"} <= shown["loss_size"]
    assert {"loss", "0 %", "fifo", "srtf", "$y_1$ <&>"} <= shown["loss_policy"]


def test_a_study_without_a_value_has_empty_figures_and_one_without_rows_none(tmp_path):
    assert len(write_figures([refused("exact")], tmp_path)) == 8
    assert "exact" in words(tmp_path / "loss_time.svg")
    with pytest.raises(InputError, match="at least one run"):
        write_figures([], tmp_path)
