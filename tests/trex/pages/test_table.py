"""One description of a table's columns gives a page, Markdown and lines of a terminal."""

from __future__ import annotations

from markupsafe import Markup

from trex.pages.page import fragment
from trex.pages.table import Column, Table, with_note

ROWS = [("one", 1.5), ("a <b> | c", 20.25)]
COLUMNS = (
    Column[tuple[str, float]]("name", lambda row: row[0]),
    Column[tuple[str, float]]("share", lambda row: f"{row[1]:.2f}", is_number=True),
)
TABLE = Table("Shares", COLUMNS, ROWS, lambda row: "clear" if row[1] > 2 else "")


def test_markdown_has_a_line_for_each_row_and_escapes_bars() -> None:
    assert TABLE.markdown() == "| name | share |\n|---|---|\n| one | 1.50 |\n| a <b> \\| c | 20.25 |\n"


def test_the_terminal_s_columns_are_aligned_numbers_to_the_right() -> None:
    assert TABLE.text("  ") == ["  name       share", "  one         1.50", "  a <b> | c  20.25"]


def test_a_page_escapes_every_cell_but_markup() -> None:
    html = fragment("{{ table }}", {"table": TABLE})
    assert '<th scope="row">a &lt;b&gt; | c</th><td class="number">20.25</td>' in html
    assert '<tr class="clear"><th scope="row">a' in html and '<tr><th scope="row">one' in html
    assert 'aria-label="Shares"' in html
    marked = Table(
        "Marked", (Column[str]("x", Markup), Column[str]("y", lambda row: with_note(row, "<i>"))), ["<b>"]
    )
    html = fragment("{{ table }}", {"table": marked})
    assert '<th scope="row"><b></th><td>&lt;b&gt; <span class="small">&lt;i&gt;</span></td>' in html


def test_a_table_without_rows_has_its_headings() -> None:
    empty = Table("Shares", COLUMNS, [])
    assert empty.text() == ["name  share"]
    assert empty.markdown() == "| name | share |\n|---|---|\n"
