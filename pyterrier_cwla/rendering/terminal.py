"""Text and plain tables on a terminal, in a pipe or in a file."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, TypeVar

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ..errors.sanitise import harmless_segments

_Column = TypeVar("_Column")
UNLIMITED_WIDTH = 100_000  # characters, for files and pipes: lines are not wrapped
PROSE_WIDTH = 100  # characters, longest line of prose
_LISTING_WIDTH = 150  # characters, longest line of a listing


class _Screen(Console):
    """Console that escapes control characters in texts from files."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would exit with code 1

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        return harmless_segments(super().render(renderable, options))


def screen(file: IO[str] | None = None) -> Console:
    """Return a console for tables: as wide as the terminal (or COLUMNS), and of unlimited width for files and pipes.

    Parameters
    ----------
    file : text file, optional
        File to write to; by default standard output.
    """
    on_terminal = file is None and ("COLUMNS" in os.environ or sys.stdout.isatty())
    return _Screen(
        file=file, width=None if on_terminal else UNLIMITED_WIDTH, highlight=False, markup=False, emoji=False
    )


def readable_screen() -> Console:
    """Return a console for standard output that wraps long lines in pipes, too."""
    console = screen()
    if console.width > _LISTING_WIDTH:
        console.width = PROSE_WIDTH if console.width == UNLIMITED_WIDTH else _LISTING_WIDTH
    return console


def other_than_means(aggregates: Mapping[str, str], of_logarithms: str = "") -> str:
    """Return the end of a sentence on means, about measures with other aggregates.

    >>> other_than_means({"AP": "mean", "NumRet": "sum", "NumRel": "sum"})
    '; of NumRet, NumRel the sum'
    """
    kinds: dict[str, list[str]] = {}
    for measure, kind in aggregates.items():
        kinds.setdefault(kind, []).append(measure)
    more = {"sum": "sum", "geometric mean": f"geometric mean{of_logarithms}"}
    return "".join(f"; of {', '.join(kinds[kind])} the {name}" for kind, name in more.items() if kind in kinds)


def prose(console: Console, text: str, style: str = "dim", indent: int = 0, bullet: str = "") -> None:
    """Print a paragraph, wrapped at 100 characters or at the width of the console.

    Parameters
    ----------
    console : Console
        Console to print to.
    text : str
        The paragraph.
    style : str, default="dim"
        Style of rich.
    indent : int, default=0
        Number of blanks before each line.
    bullet : str, default=""
        Start of the first line, in place of the first blanks.
    """
    width = min(console.width, PROSE_WIDTH) - indent
    for number, line in enumerate(Text(text, style=style).wrap(console, width)):
        line.rstrip()
        console.print(Text(("" if number else bullet).ljust(indent)) + line)


def plain_table(*, gap: int = 2) -> Table:
    """Return an empty table with a line under its head and no other borders."""
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap - 1, 0, 0), header_style="bold")


def columns_that_fit(
    console: Console,
    room: int,
    names: Iterable[_Column],
    optional: Iterable[_Column],
    draw: Callable[[list[_Column], int], Table],
) -> tuple[list[_Column], int, list[_Column]]:
    """Return the columns of a table that fits the screen, the gap between them, and the columns that are left out.

    Parameters
    ----------
    console : Console
        Console of the table.
    room : int
        Width of the screen.
    names : iterable
        All columns.
    optional : iterable
        Columns that are left out one after the other until the table fits.
    draw : callable
        Function of columns and of a gap, 2 or 1, that returns the table.
    """
    unlimited = console.options.update(max_width=UNLIMITED_WIDTH)
    shown, left_out = list(names), list[_Column]()
    for name in (None, *optional):
        if name is not None and name in shown:
            shown.remove(name)
            left_out.append(name)
        for gap in (2, 1):
            if Measurement.get(console, unlimited, draw(shown, gap)).maximum <= room:
                return shown, gap, left_out
    return shown, 1, left_out


def tables_and_notes(
    console: Console, room: int, tables: Mapping[str, Table], notes: Iterable[str]
) -> Iterator[RenderableType]:
    """Yield tables below their titles, and notes, wrapped at 100 characters or at the width of the screen."""
    for title, table in tables.items():
        yield Text(title, style="bold")
        yield Text()
        yield table
        yield Text()
    for text in notes:
        yield Text("\n").join(Text(text, style="dim").wrap(console, min(room, PROSE_WIDTH)))


def column_head(lines: Sequence[str], height: int) -> Text:
    """Return the head of a column, aligned at the bottom of ``height`` lines."""
    return Text("\n".join([""] * (height - len(lines)) + list(lines)))


def broken(name: str, width: int) -> str:
    r"""Break a long name into lines of at most `width` characters after blanks and punctuation, where there are any.

    >>> broken("SPLADE_ENSEMBLE_DISTIL", 18)
    'SPLADE_ENSEMBLE_\nDISTIL'
    """
    lines = [""]
    for piece in re.findall(r"[^\W_]+[\W_]*|[\W_]+", name) if len(name) > width else [name]:
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


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


def two_columns(first: str, second: str) -> Table:
    """Return an empty table of two columns in these styles, without a head."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style=first, no_wrap=True)
    table.add_column(style=second)
    return table


def print_indented(console: Console, table: Table, by: int = 2) -> None:
    """Print a table, indented and without trailing blanks."""
    options = console.options.update(width=console.width - by)
    for segments in console.render_lines(table, options, pad=False):
        text = Text(" " * by)
        for segment in segments:
            text.append(segment.text, segment.style)
        text.rstrip()
        console.print(text)


def decimal(value: float, places: int = 4) -> str:
    """Format a number for a table; NaN becomes an empty cell."""
    if math.isnan(value):
        return ""
    return f"{value:.{places}f}" if math.isfinite(value) else "∞" if value > 0 else "−∞"
