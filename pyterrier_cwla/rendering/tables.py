"""Tables for people: rows, columns and notes, written as text of a terminal, LaTeX or HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from ..errors.sanitise import harmless_segments
from .latex import escaped, table_row, tabular, typeset
from .terminal import PROSE_WIDTH, UNLIMITED_WIDTH, broken, column_head, columns_that_fit, plain_table

MARKS = {1: "▲", -1: "▼", 0: ""}
"""Signs of significantly higher and lower values."""
_IN_LATEX = {1: "\\uparrow", -1: "\\downarrow"}


@dataclass(frozen=True)
class TableCell:
    """Text of a cell of a table, with its marks.

    Attributes
    ----------
    text : str
        The text.
    mark : {1, −1, 0}
        1 if the value is significantly higher, −1 if it is significantly lower.
    bold : bool
        Whether the text is bold.
    below : str
        Text in small type below; in plain text, it stands beside.
    hint : str
        Text that a browser shows when the pointer is on the cell.
    """

    text: str
    mark: int = 0
    bold: bool = False
    below: str = ""
    hint: str = ""

    @property
    def plain(self) -> str:
        """Text with its mark."""
        return self.text + MARKS[self.mark]

    @property
    def html(self) -> str:
        """The cell in HTML."""
        text = escape(self.text)
        text = (f"<b>{text}</b>" if self.bold else text) + MARKS[self.mark]
        hint = f' title="{escape(self.hint)}"' if self.hint else ""
        below = f"<br><small>{escape(self.below)}</small>" if self.below else ""
        return f"<span{hint}>{text}</span>{below}"

    @property
    def latex(self) -> str:
        """Text in LaTeX; the arrow has width 0, so that texts with and without a mark are aligned."""
        text = f"\\textbf{{{typeset(self.text)}}}" if self.bold else typeset(self.text)
        return text + (f"\\rlap{{$^{{{_IN_LATEX[self.mark]}}}$}}" if self.mark else "")


@dataclass(frozen=True)
class TableColumn:
    """Column of a :class:`Table`.

    Attributes
    ----------
    heading : str
        Head of the column; text tables keep its line breaks.
    cell : callable
        Function from a row to the text of its cell in this column, or to a TableCell.
    kind : {"number", "name"}
        Numbers are aligned to the right; long names are broken into lines on terminals.
    marked : bool
        Whether the cells may have marks, so that those without one are followed by a blank.
    left_out : int
        Place in the order in which columns are left out on narrow terminals, from 1; 0 if it always stays.
    called : str
        Name in the note of the columns that are left out.
    notes : tuple of str
        Sentences that explain the column; they are shown with it.
    """

    heading: str
    cell: Callable[[Any], TableCell | str]
    kind: str = "number"
    marked: bool = False
    left_out: int = 0
    called: str = ""
    notes: tuple[str, ...] = ()

    def of(self, row: Any) -> TableCell:
        """Return the cell of a row."""
        cell = self.cell(row)
        return TableCell(cell) if isinstance(cell, str) else cell


@dataclass(frozen=True)
class Table:
    """Table for people.

    Attributes
    ----------
    rows : dict of str to list
        Rows by the title of the part of the table that they stand in; a part with the title "" has no title.
    columns : sequence of TableColumn
        Columns.
    notes : sequence of str
        Sentences below the table, before those of the columns.
    """

    rows: Mapping[str, Sequence[Any]]
    columns: Sequence[TableColumn]
    notes: Sequence[str] = ()

    @classmethod
    def from_cells(
        cls, cells: Mapping[str, Sequence[Sequence[TableCell]]], heads: Sequence[str], names: int = 1
    ) -> Table:
        """Return a table of given cells; the first columns have names."""
        kinds = ["name"] * names + ["number"] * (len(heads) - names)
        columns = [TableColumn(head, itemgetter(at), kind) for at, (head, kind) in enumerate(zip(heads, kinds))]
        return cls(cells, columns)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for part in self._parts(console, options.max_width):
            yield from harmless_segments(console.render(part, options))

    def _parts(self, console: Console, room: int) -> Iterator[RenderableType]:
        """Yield the parts of the table with the columns that fit, and the notes, wrapped at 100 characters."""
        names = sum(column.kind == "name" for column in self.columns)
        widest = max(20 if names == 1 else 12, room // 5)
        first = next(iter(self.rows.values()))
        optional = sorted((column for column in self.columns if column.left_out), key=attrgetter("left_out"))
        shown, gap, left_out = columns_that_fit(
            console, room, self.columns, optional, lambda columns, gap: self._drawn(first, columns, gap, widest)
        )
        unlimited = console.options.update(max_width=UNLIMITED_WIDTH)
        free = room - Measurement.get(console, unlimited, self._drawn(first, shown, gap, widest)).maximum
        widest += max(0, free // names)  # for long names
        for title, rows in self.rows.items():
            yield from (Text(title, style="bold"), Text()) if title else ()
            yield self._drawn(rows, shown, gap, widest)
            yield Text()
        notes = self._notes_on(shown)
        if left_out:
            notes.append(f"Left out at this width: {', '.join(column.called for column in left_out)}.")
        for note in notes:
            yield Text("\n").join(Text(note, style="dim").wrap(console, min(room, PROSE_WIDTH)))

    @property
    def all_notes(self) -> list[str]:
        """The sentences on the table and on all its columns."""
        return self._notes_on(self.columns)

    def _notes_on(self, columns: Sequence[TableColumn]) -> list[str]:
        return list(dict.fromkeys([*self.notes, *(note for column in columns for note in column.notes)]))

    def _drawn(self, rows: Sequence[Any], columns: Sequence[TableColumn], gap: int, widest: int) -> RichTable:
        """Return some rows as a table of rich; columns of numbers have the same widths for all rows."""
        table, height = plain_table(gap=gap), max(column.heading.count("\n") + 1 for column in columns)
        for column in columns:
            head = column_head(column.heading.split("\n"), height)
            if column.kind == "name":
                table.add_column(head, overflow="fold", max_width=widest)
            else:
                table.add_column(head, justify="right", no_wrap=True, min_width=self._widths[column])
        for row in rows:
            table.add_row(*(_in_terminal(column, row, widest) for column in columns))
        return table

    @cached_property
    def _widths(self) -> dict[TableColumn, int]:
        rows = list(chain.from_iterable(self.rows.values()))
        return {
            column: max((cell_len(column.of(row).text) for row in rows), default=0) + column.marked
            for column in self.columns
        }

    def latex(self) -> list[str]:
        """Return the lines of a tabular with all rows; texts below cells have a line of their own."""
        rows = [[column.of(row) for column in self.columns] for row in chain.from_iterable(self.rows.values())]
        spaced = any(cell.below for row in rows for cell in row[1:])
        body: list[str] = []
        for row in rows:
            below = [f"{{\\scriptsize {typeset(cell.below)}}}" if cell.below else "" for cell in row]
            texts = [cell.latex for cell in row]
            if spaced:
                body += ["\\addlinespace"] * bool(body) + [table_row(texts)] + [table_row(below)] * any(below)
            else:
                body.append(table_row(f"{text} {more}".rstrip() for text, more in zip(texts, below, strict=True)))
        numbers = "c" if spaced else "r"
        alignment = "".join("l" if column.kind == "name" else numbers for column in self.columns)
        return tabular(alignment, [escaped(column.heading.replace("\n", " ")) for column in self.columns], body)

    def to_latex(self) -> str:
        """Return a file of LaTeX with all rows."""
        return "\n".join(["% \\usepackage{booktabs}", *self.latex(), ""])

    def html(self) -> str:
        """Return the table in HTML, each part below its title."""
        heads = "".join(f"<th>{escape(column.heading)}</th>" for column in self.columns)
        parts = []
        for title, rows in self.rows.items():
            body = "".join(f"<tr>{''.join(_in_html(column, row) for column in self.columns)}</tr>" for row in rows)
            parts.append(
                f"{f'<p><b>{escape(title)}</b></p>' if title else ''}"
                f'<table border="1" class="dataframe"><thead><tr style="text-align: right">{heads}</tr></thead>'
                f"<tbody>{body}</tbody></table>"
            )
        return f'<div style="overflow-x: auto">{"".join(parts)}</div>'


def _in_terminal(column: TableColumn, row: Any, widest: int) -> Text:
    cell = column.of(row)
    if column.kind == "name":
        return Text(broken(cell.text, widest)) + Text(f"\n{cell.below}" if cell.below else "", style="dim")
    return Text.assemble((cell.text, "bold" if cell.bold else ""), MARKS[cell.mark] or " " * column.marked)


def _in_html(column: TableColumn, row: Any) -> str:
    tag = "th" if column.kind == "name" else "td"
    return f"<{tag}>{column.of(row).html}</{tag}>"


def decimals(largest: float) -> int:
    """Return the number of decimals of scores: 3, and fewer for larger scores.

    >>> decimals(0.7), decimals(123.4)
    (3, 1)
    """
    return max(0, 3 - int(np.log10(np.fmax(largest, 1))))


def fixed_point(value: float, places: int, signed: bool = False) -> str:
    """Return a number with `places` decimals, `signed` also with a plus; zeros have no sign, and NaN is empty."""
    if np.isnan(value):
        return ""
    if np.isinf(value):
        return "+∞" if value > 0 else "−∞"
    text = f"{value:{'+' if signed else '-'}.{places}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("+-")


def interval_of(low: float, high: float, places: int, signed: bool = False) -> str:
    """Return an interval with `places` decimals; empty if it is unknown."""
    return "" if np.isnan(low) else f"[{fixed_point(low, places, signed)}, {fixed_point(high, places, signed)}]"


def probability(p: float) -> str:
    """Return a p-value with three decimals, without the 0 before the point; NaN is empty.

    >>> probability(0.0004), probability(0.05)
    ('<.001', '.050')
    """
    if np.isnan(p):
        return ""
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.95)
    '95 %'
    """
    return f"{100 * share:g} %"


def level(p: float, digits: int = 6) -> str:
    """Return a level of significance, without the 0 before the point.

    >>> level(0.05), level(1 / 3000, 2)
    ('.05', '.00033')
    """
    return f"{p:.{digits}g}".removeprefix("0")
