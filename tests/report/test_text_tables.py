"""Tables in plain text."""

from muri_opt.report.tables import KEPT, LONG, indented, shortened, table


def test_columns_are_aligned():
    lines = table(("job", "GPUs"), [("機械", "8"), ("a", "16")], right=(1,))
    assert lines == ["job   GPUs", "機械     8", "a       16"]


def test_a_table_without_rows_is_its_head():
    assert table(("job", "GPUs"), []) == ["job  GPUs"]


def test_long_lists_are_shortened_unless_whole():
    items = list(range(LONG + 1))
    assert shortened(items[:LONG], whole=False) == (items[:LONG], [])
    assert shortened(items, whole=True) == (items, [])
    kept, rest = shortened(items, whole=False)
    assert list(kept) == items[:KEPT]
    assert rest == [f"... and {LONG + 1 - KEPT} more (--all lists them)"]


def test_indented_lines_leave_empty_ones_alone():
    assert indented(["a", "", "b"], by=3) == ["   a", "", "   b"]
