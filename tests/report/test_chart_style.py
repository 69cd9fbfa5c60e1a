"""Colours and dashes of charts: they stand out from their ground, and no two series look the same."""

import pytest

from muri_opt.report.charts.style import DARK, DARK_GROUND, DASHES, LIGHT, LIGHT_GROUND, SHAPES, series_of, shape_of


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("colours", "ground"), [(LIGHT, LIGHT_GROUND), (DARK, DARK_GROUND)])
def test_lines_stand_out_from_their_ground(colours, ground):
    assert len(set(colours)) == len(colours)
    for colour in colours:
        low, high = sorted((luminance(colour), luminance(ground)))
        assert (high + 0.05) / (low + 0.05) >= 4.5  # what WCAG asks for text; a line needs 3


def test_no_two_lines_look_the_same():
    assert len({series_of(place) for place in range(len(LIGHT) * len(DASHES))}) == len(LIGHT) * len(DASHES)
    assert all(series_of(place)[1] != series_of(place + 1)[1] for place in range(7))


def test_no_two_marks_look_the_same():
    assert len({(series_of(place)[0], shape_of(place)) for place in range(24)}) == 24
    assert len(set(SHAPES.values())) == len(SHAPES)
