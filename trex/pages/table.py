"""Tables whose columns are described once: for pages, for Markdown and for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Generic, TypeVar

from markupsafe import Markup

from trex.foundation.words import escaped

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column: its heading, and a row's cell, which is escaped on pages unless it is Markup."""

    head: str
    cell: Callable[[Row], str]
    is_number: bool = False  # aligned to the right


@dataclass(frozen=True)
class Table(Generic[Row]):
    """Rows in columns; the first column names the row. `{{ table }}` shows it on a page.

    `label` names the table for screen readers, `row_class` gives the CSS class of a row, "" for none.
    """

    label: str
    columns: Sequence[Column[Row]]
    rows: Sequence[Row]
    row_class: Callable[[Row], str] = lambda row: ""

    def __html__(self) -> str:
        return self.html(self.label)

    def html(self, label: str) -> Markup:
        """The table as HTML under another label, which is unique on its page."""
        head = Markup("").join(
            Markup(
                '<th scope="col" class="number">{}</th>' if column.is_number else '<th scope="col">{}</th>'
            ).format(column.head)
            for column in self.columns
        )
        rows = Markup("\n").join(map(self._html_row, self.rows))
        return Markup(
            '<div class="wide" tabindex="0" role="region" aria-label="{}"><table class="plain">\n'
            "<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>\n</table></div>"
        ).format(label, head, rows)

    def markdown(self) -> str:
        """The table in Markdown."""
        lines = [[column.head for column in self.columns], *self._cells()]
        head, *body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
        return "\n".join([head, "|" + "---|" * len(self.columns), *body]) + "\n"

    def text(self, indent: str = "") -> list[str]:
        """The table as lines for a terminal, with its headings."""
        lines = [[column.head for column in self.columns], *self._cells()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return [(indent + "  ".join(self._aligned(line, widths))).rstrip() for line in lines]

    def _cells(self) -> list[list[str]]:
        return [[escaped(column.cell(row)) for column in self.columns] for row in self.rows]

    def _aligned(self, line: Sequence[str], widths: Sequence[int]) -> list[str]:
        return [
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for column, cell, width in zip(self.columns, line, widths, strict=True)
        ]

    def _html_row(self, row: Row) -> Markup:
        first, *others = self.columns
        name, mark = Markup('<th scope="row">{}</th>').format(first.cell(row)), self.row_class(row)
        cells = [
            Markup('<td class="number">{}</td>' if column.is_number else "<td>{}</td>").format(
                column.cell(row)
            )
            for column in others
        ]
        opening = Markup('<tr class="{}">').format(mark) if mark else Markup("<tr>")
        return opening + name + Markup("").join(cells) + Markup("</tr>")


def table_of(label: str, heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table[tuple[str, ...]]:
    """The table of rows in words, each a name and numbers."""
    columns = [Column[tuple[str, ...]](head, itemgetter(k), k > 0) for k, head in enumerate(heads)]
    return Table(label, columns, rows)


def linked(text: str, url: str) -> str:
    """A cell of a page: the text as a link, plain if the URL is ""."""
    return Markup('<a href="{}">{}</a>').format(url, text) if url else text


def with_note(text: str, note: str) -> Markup:
    """A cell of a page: the text, and a note in small print."""
    return Markup('{} <span class="small">{}</span>').format(text, note)
