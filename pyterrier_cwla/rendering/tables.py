"""Tables for people: rows, columns and notes, written as text of a terminal, LaTeX or HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import chain
from operator import attrgetter, itemgetter, ne
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from ..errors.sanitise import harmless, harmless_segments, sanitised
from .numbers import fixed_point
from .terminal import as_text, broken, paragraph

MARKS = {1: "▲", -1: "▼", 0: ""}
"""Signs of significantly higher and lower values."""
HEADS = {"query_id": "topic", "doc_id": "document"}
"""Heads of columns whose names are not words."""
_IN_LATEX = {1: "\\uparrow", -1: "\\downarrow"}
_LEAST = 6  # characters, narrowest column of names
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "\N{NO-BREAK SPACE}": r"\,",
    "∞": r"$\infty$",
    "Δ": r"$\Delta$",
    "·": r"$\cdot$",
    "[": "{[}",  # at the start of a row, LaTeX would read [ and * as options of the preceding \\
    "*": "{*}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


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
        Text in small type below.
    hint : str
        Text that a browser shows when the pointer is on the cell.
    key : str
        Value by which pages sort the rows.
    """

    text: str
    mark: int = 0
    bold: bool = False
    below: str = ""
    hint: str = ""
    key: str = ""

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
    cell : str or callable
        Key of the column's values in the rows, or a function from a row to a value: a number, a text, or a TableCell.
    kind : {"number", "name"}
        Numbers are aligned to the right; long names are broken into lines on terminals.
    digits : int
        Number of decimals of values that are numbers.
    left_out : int
        Place in the order in which columns are left out on narrow terminals, from 1; 0 if it always stays.
    called : str
        Name in the note of the columns that are left out; by default the heading.
    notes : tuple of str
        Sentences that explain the column; they are shown with it.
    meaning : str
        Description of the values; one note has those of all columns that are shown.
    beside : bool
        Whether the column stays in one table with the column before it.
    """

    heading: str
    cell: Callable[[Any], TableCell | str | float] | str
    kind: str = "number"
    digits: int = 4
    left_out: int = 0
    called: str = ""
    notes: tuple[str, ...] = ()
    meaning: str = ""
    beside: bool = False

    @property
    def name(self) -> str:
        """Heading in one line."""
        return self.heading.replace("\n", " ")

    def of(self, row: Any) -> TableCell:
        """Return the cell of a row."""
        value = row[self.cell] if isinstance(self.cell, str) else self.cell(row)
        if isinstance(value, TableCell):
            return value
        return TableCell(value if isinstance(value, str) else fixed_point(value, self.digits))


class SumRow(dict[Any, Any]):
    """Row of sums or means, which a line separates from other rows.

    Parameters
    ----------
    values : mapping
        Values by key, as in other rows.
    style : {"bold", "dim"}, default="bold"
        Style of its texts on a terminal.
    """

    def __init__(self, values: Mapping[Any, Any], style: str = "bold"):
        super().__init__(values)
        self.style = style


@dataclass(frozen=True, eq=False)
class Table:
    """Table for people, and its numbers. Without headings, it has no head.

    On a narrow screen, names are broken into lines, and then columns with a number `left_out` are left out. If there
    are no such columns, those that do not fit are shown in further tables below, which repeat the names.

    Attributes
    ----------
    title : str
        Title of the table.
    caption : str
        Caption: sample sizes, intervals and explanations of columns.
    frame : DataFrame, or dict of columns by name
        Rows and columns with all digits, for files.
    columns : sequence of TableColumn
        Columns that people read.
    rows : dict of str to list
        Rows by the title of the part of the table that they stand in; a part with the title "" has no title.
    notes : sequence of str
        Sentences below the table, before those of the columns.
    narrowest : int
        Characters per line of a name on a narrow screen, before columns are left out or shown in a further table. By
        default 20, or 12 for several columns of names, if columns can be left out; otherwise as much as names fit into
        half the width of the screen, or two thirds if there are two columns of names.
    """

    title: str = ""
    caption: str = ""
    frame: Any = None
    columns: Sequence[TableColumn] = ()
    rows: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    narrowest: int = 0

    @classmethod
    def from_cells(
        cls,
        cells: Mapping[str, Sequence[Sequence[TableCell | str]]],
        heads: Sequence[str],
        kinds: Sequence[str] = ("name",),
    ) -> Table:
        """Return a table of given cells; columns have the given kinds, or else numbers."""
        kinds = [*kinds, *["number"] * (len(heads) - len(kinds))]
        columns = [TableColumn(head, itemgetter(at), kind) for at, (head, kind) in enumerate(zip(heads, kinds))]
        return cls(columns=columns, rows=cells)

    @classmethod
    def from_frame(cls, frame: Any, most: int | None = None, whole: str = "") -> Table:
        """Return a table of the first rows of a data frame; floats have four significant digits.

        A note has the number of the rows that are left out, and `whole` where they are.
        """
        heads = ["\n".join(filter(None, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
        kinds = ["number" if kind.kind in "iuf" else "name" for kind in frame.dtypes]

        def text(value: object) -> str:
            return "NaN" if value != value else f"{value:.4g}" if isinstance(value, float) else str(value)

        rows = [list(map(text, row)) for row in frame.head(most or len(frame)).itertuples(index=False, name=None)]
        more = len(frame) - len(rows)
        notes = [f"… {more:,} more in {whole}"] if more else []
        return replace(cls.from_cells({"": rows}, heads, kinds), notes=notes)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for number, part in enumerate(self._parts(options.max_width)):
            for renderable in [Text(), part] if number else [part]:
                yield from harmless_segments(console.render(renderable, options))

    def _parts(self, room: int) -> Iterator[RenderableType]:
        """Yield titles, tables with the columns that fit, and the notes, wrapped at 100 characters."""
        blocks, gap, longest = self._layout(room)
        for title, rows in self.rows.items():
            if title:
                yield Text(title, style="bold")
            for block in blocks:
                yield self._drawn(rows, block, gap, longest)
        shown = list(chain.from_iterable(blocks))
        notes = self._notes_on(shown)
        if left_out := {column.called or column.name: None for column in self._optional if column not in shown}:
            notes.append(f"Left out at this width: {', '.join(left_out)}.")
        if notes:
            yield Text("\n").join(paragraph(note, room) for note in notes)

    def _layout(self, room: int) -> tuple[list[list[TableColumn]], int, int]:
        """Return the columns of the tables one below the other, their gap, and the characters per line of a name."""
        names = [self._widths[column] for column in self.columns if column.kind == "name"]
        whole = _longest(names, room * len(names) // (len(names) + 1), 20)
        least = self.narrowest or (whole if not self._optional else 20 if len(names) == 1 else 12)
        for leaving in dict.fromkeys([0, *(column.left_out for column in self._optional)]):
            shown = [column for column in self.columns if not 0 < column.left_out <= leaving]
            for gap in (2, 1):
                free = room - self._width(shown, gap)
                if sum(min(name, least) for name in names) <= free:
                    return [shown], gap, _longest(names, free, least)
        if self._optional:
            return [shown], 1, _longest(names, free, _LEAST)
        number = 1 + max((at for at, column in enumerate(self.columns) if column.kind == "name"), default=-1)
        first, groups = list(self.columns[:number]), list[list[TableColumn]]()
        for column in self.columns[number:]:
            if column.beside:
                groups[-1].append(column)
            else:
                groups.append([column])
        free = room - self._width(first, 2) - sum(min(name, whole) for name in names)
        blocks = in_blocks([self._width(group, 2) + 2 for group in groups], free)
        return [[*first, *chain.from_iterable(groups[block])] for block in blocks], 2, whole

    def _width(self, columns: Sequence[TableColumn], gap: int) -> int:
        """Return the width of columns side by side, less that of names."""
        return sum(self._widths[one] for one in columns if one.kind != "name") + gap * (len(columns) - 1)

    @cached_property
    def _optional(self) -> list[TableColumn]:
        """Columns that can be left out, the first to go first."""
        return sorted((column for column in self.columns if column.left_out), key=attrgetter("left_out"))

    @property
    def all_notes(self) -> list[str]:
        """The sentences on the table and on all its columns."""
        return self._notes_on(self.columns)

    def _notes_on(self, columns: Sequence[TableColumn]) -> list[str]:
        meanings = dict.fromkeys(f"{column.name}: {column.meaning}" for column in columns if column.meaning)
        of_columns = (note for column in columns for note in column.notes)
        return list(dict.fromkeys(filter(None, [" · ".join(meanings), *self.notes, *of_columns])))

    def _drawn(self, rows: Sequence[Any], columns: Sequence[TableColumn], gap: int, longest: int) -> RichTable:
        """Return some rows as a table of rich; columns of numbers have the same widths for all rows."""
        table = RichTable(
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, gap - 1, 0, 0),
            header_style="bold",
            show_header=any(column.heading for column in columns),
        )
        heads = [broken(column.heading, longest) if column.kind == "name" else column.heading for column in columns]
        height = max(head.count("\n") for head in heads)
        for column, head in zip(columns, heads, strict=True):
            head = "\n" * (height - head.count("\n")) + head
            if column.kind == "name":
                table.add_column(Text(head), overflow="fold", max_width=longest)
            else:
                table.add_column(Text(_right(head, self._widths[column])), no_wrap=True)
        for row, line in zip(rows, [*_lines(rows), False]):
            cells = (self._in_terminal(column, row, longest) for column in columns)
            table.add_row(*cells, style=row.style if isinstance(row, SumRow) else None, end_section=line)
        return table

    def _in_terminal(self, column: TableColumn, row: Any, longest: int) -> Text:
        cell, bold = column.of(row), "bold" if column.of(row).bold else ""
        if column.kind == "name":
            return Text.assemble((broken(cell.text, longest), bold), (f"\n{cell.below}" if cell.below else "", "dim"))
        # Numbers are aligned here: rich would remove the blank after those without a mark.
        width, after = self._widths[column], MARKS[cell.mark] or " " * (column in self._marked)
        below = (f"\n{_right(cell.below, width)}", "dim") if cell.below else ""
        return Text.assemble((_right(cell.text, width - cell_len(after)), bold), after, below)

    @cached_property
    def _cells(self) -> dict[TableColumn, list[TableCell]]:
        rows = list(chain.from_iterable(self.rows.values()))
        return {column: [column.of(row) for row in rows] for column in self.columns}

    @cached_property
    def _marked(self) -> set[TableColumn]:
        """Columns with marks; a blank follows texts without one."""
        return {column for column, cells in self._cells.items() if any(cell.mark for cell in cells)}

    @cached_property
    def _widths(self) -> dict[TableColumn, int]:
        """Width of each column, with names in one line."""
        widths = {}
        for column, cells in self._cells.items():
            blank = " " * (column in self._marked)
            lines = [*column.heading.split("\n"), *(line for cell in cells for line in (cell.text + blank, cell.below))]
            widths[column] = max(map(cell_len, lines))
        return widths

    def latex(self) -> list[str]:
        """Return the lines of a tabular with all rows; texts below cells have a line of their own."""
        rows = list(chain.from_iterable(self.rows.values()))
        cells = [[column.of(row) for column in self.columns] for row in rows]
        spaced = any(cell.below for row in cells for cell in row[1:])
        body: list[str] = []
        for row, line in zip(cells, [False, *_lines(rows)], strict=True):
            body += ["\\midrule"] * line
            below = [f"{{\\scriptsize {typeset(cell.below)}}}" if cell.below else "" for cell in row]
            texts = [cell.latex for cell in row]
            if spaced:
                body += ["\\addlinespace"] * bool(body) + [table_row(texts)] + [table_row(below)] * any(below)
            else:
                body.append(table_row(f"{text} {more}".rstrip() for text, more in zip(texts, below, strict=True)))
        numbers = "c" if spaced else "r"
        alignment = "".join("l" if column.kind == "name" else numbers for column in self.columns)
        return tabular(alignment, [escaped(column.name) for column in self.columns], body)

    def to_latex(self) -> str:
        """Return a file of LaTeX with all rows."""
        return "\n".join(["% \\usepackage{booktabs}", *self.latex(), ""])

    def html(self) -> str:
        """Return the table in HTML, each part below its title."""
        heads = "".join(f'<th class="{column.kind}">{escape(column.name)}</th>' for column in self.columns)
        parts = []
        for title, rows in self.rows.items():
            body = "".join(f"<tr>{''.join(_in_html(column, row) for column in self.columns)}</tr>" for row in rows)
            parts.append(
                f"{f'<p><b>{escape(title)}</b></p>' if title else ''}"
                f'<table border="1" class="dataframe"><thead><tr style="text-align: right">{heads}</tr></thead>'
                f"<tbody>{body}</tbody></table>"
            )
        return harmless(f'<div style="overflow-x: auto">{"".join(parts)}</div>')


class Printed:
    """Base of results that print as a title, a table and remarks, as text and HTML.

    A subclass has the attribute ``title`` and the method ``shown``, which returns the table.
    """

    @property
    def remarks(self) -> Sequence[str]:
        """Sentences below the table."""
        return ()

    def __repr__(self: Any) -> str:
        table = self.shown()
        return as_text(self.title, replace(table, notes=[*table.notes, *self.remarks]))

    @sanitised
    def _repr_html_(self: Any) -> str:
        table = self.shown()
        remarks = "".join(f"<li>{escape(remark)}</li>" for remark in [*table.notes, *self.remarks])
        return f"<p><b>{escape(self.title)}</b></p>{table.html()}{f'<ul>{remarks}</ul>' if remarks else ''}"


def _right(text: str, width: int) -> str:
    """Return the lines of a text with blanks before them, so that they end at a width."""
    return "\n".join(" " * (width - cell_len(line)) + line for line in text.split("\n"))


def _lines(rows: Sequence[Any]) -> list[bool]:
    """Return whether there is a line between consecutive rows: before and after sums."""
    sums = [isinstance(row, SumRow) for row in rows]
    return list(map(ne, sums, sums[1:]))


def _longest(names: Sequence[int], room: int, least: int) -> int:
    """Return the characters per line, at least `least`, with which names of these lengths fit side by side."""
    fitting = (most for most in range(room, least, -1) if sum(min(name, most) for name in names) <= room)
    return next(fitting, least)


def in_blocks(widths: Sequence[int], room: int) -> list[slice]:
    """Divide columns of these widths among tables of at most `room` characters; a table has at least one column.

    >>> in_blocks([5, 5, 5], 12)
    [slice(0, 2, None), slice(2, 3, None)]
    """
    starts, used = [0], 0
    for place, width in enumerate(widths):
        used += width
        if used > room and place > starts[-1]:
            starts.append(place)
            used = width
    return [slice(start, end) for start, end in zip(starts, [*starts[1:], len(widths)], strict=True)]


def _in_html(column: TableColumn, row: Any) -> str:
    cell, tag = column.of(row), "th" if column.kind == "name" else "td"
    key = f' data-key="{escape(cell.key)}"' if cell.key else ""
    return f"<{tag}{key}>{cell.html}</{tag}>"


def escaped(text: str) -> str:
    r"""Escape the special characters of LaTeX.

    >>> print(escaped("BM25_RM3 & 100%, 95 %"))
    BM25\_RM3 \& 100\%, 95\,\%
    """
    text = "".join(_SPECIAL.get(character, character) for character in harmless(text))
    return re.sub(r"(?<=\d) \\%", r"\\,\\%", text)


def typeset(text: str) -> str:
    r"""Return numbers and notes in LaTeX, with minus signs, arrows, and p in italics.

    >>> print(typeset("-0.1, p < .05"))
    $-$0.1, $p <$ .05
    """
    text = re.sub(r"\bp (\$<\$|=)", lambda found: f"$p {found[1].strip('$')}$", escaped(text))
    return re.sub(r"(?<![\w.])-(?=\d)|−", "$-$", text).replace("↑", r"$\uparrow$").replace("↓", r"$\downarrow$")


def tabular(alignment: str, head: Sequence[str], body: Iterable[str]) -> list[str]:
    """Return the lines of a tabular, given escaped cells of the head and escaped rows of the body."""
    return [
        f"\\begin{{tabular}}{{{alignment}}}",
        "\\toprule",
        table_row(head),
        "\\midrule",
        *body,
        "\\bottomrule",
        "\\end{tabular}",
    ]


def floating_table(lines: Iterable[str], caption: str, label: str, about: Mapping[str, Any]) -> str:
    """Return a table environment with a tabular, a caption in LaTeX and an optional label.

    A comment names the version in `about`, and the seed if there is one, and the package that is needed.
    """
    seed = f", seed {about['seed']}" if "seed" in about else ""
    parts = [
        f"% pyterrier_cwla {about['version']}{seed}; \\usepackage{{booktabs}}",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{caption}}}",
        *([f"\\label{{{label}}}"] if label else []),
        *lines,
        "\\end{table}",
    ]
    return "\n".join(parts) + "\n"


def table_row(cells: Iterable[str]) -> str:
    """Join escaped cells into a row."""
    return " & ".join(cells) + " \\\\"
