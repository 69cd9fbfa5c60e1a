"""Pictures as PNG: the same picture as the SVG, twice as large; refused where its labels would be missing."""

import sys
from io import BytesIO
from types import SimpleNamespace

import pytest

from muri_opt.errors import InputError
from muri_opt.report.png import check_png, png_of
from muri_opt.report.svg import document, rect, text

SIGNATURE = b"\x89PNG\r\n\x1a\n"


@pytest.mark.png
def test_a_png_has_the_colours_of_the_svg_at_twice_its_size():
    from matplotlib.image import imread

    pixels = imread(BytesIO(png_of(document(60, 20, "", [rect(0, 0, 30, 20, fill="#ee8866")]))))
    assert pixels.shape[:2] == (40, 120)
    left, right = ([round(255 * part) for part in pixels[20, x, :3]] for x in (20, 100))
    assert (left, right) == ([0xEE, 0x88, 0x66], [255, 255, 255])


@pytest.mark.png
def test_labels_are_rendered():
    check_png()
    assert png_of(document(60, 20, "", [text(2, 15, "n0")])) != png_of(document(60, 20, "", []))


@pytest.mark.png
@pytest.mark.parametrize("option", ["--picture", "--groups"])
def test_show_writes_png(tmp_path, capsys, option):
    from muri_opt.cli.main import main

    result, png = tmp_path / "result.json", tmp_path / "round.PNG"
    solve = ["solve", "toy/eight-stages", "--policy", "muri-s", "--method", "heuristic"]
    assert main([*solve, "--output", str(result)]) == 0
    assert main(["show", "toy/eight-stages", str(result), option, str(png)]) == 0
    assert png.read_bytes().startswith(SIGNATURE)


def test_a_machine_without_fonts_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", SimpleNamespace(svg_to_bytes=lambda **_: SIGNATURE))
    with pytest.raises(InputError, match="picture: found a PNG without a font; allowed: an SVG, or a font"):
        check_png()


def test_a_missing_library_is_refused_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(InputError, match=r"a PNG without resvg; allowed: an SVG, or pip install 'muri-opt\[png\]'"):
        check_png()
