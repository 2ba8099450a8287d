"""Text and plain tables on a terminal, in a pipe or in a file."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from itertools import chain
from textwrap import wrap
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ..errors.sanitise import harmless_segments

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
    width = None if on_terminal else UNLIMITED_WIDTH
    # In a notebook, rich would show the text instead of writing it, and colour it.
    plain: dict[str, Any] = {} if file is None else {"force_jupyter": False, "force_terminal": False}
    return _Screen(file=file, width=width, **plain, highlight=False, markup=False, emoji=False)


def readable_screen() -> Console:
    """Return a console for standard output that wraps long lines in pipes, too."""
    console = screen()
    if console.width > _LISTING_WIDTH:
        console.width = PROSE_WIDTH if console.width == UNLIMITED_WIDTH else _LISTING_WIDTH
    return console


def as_text(*shown: RenderableType) -> str:
    """Return what :func:`screen` shows of texts and tables, without colours and with an empty line between tables."""
    console = screen(StringIO())
    console.width = screen().width
    with console.capture() as captured:
        for number, one in enumerate(shown):
            if number and not isinstance(one, str):
                console.print()
            console.print(one)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


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
    lines = paragraph(text, min(console.width, PROSE_WIDTH) - indent, style).split("\n", allow_blank=True)
    for number, line in enumerate(lines):
        console.print(Text(("" if number else bullet).ljust(indent)) + line)


def paragraph(text: str, width: int, style: str = "dim") -> Text:
    """Return a text in lines of a width, and of at most 100 characters; lines are not broken at no-break blanks."""
    return Text("\n".join(wrap(text, min(width, PROSE_WIDTH), break_on_hyphens=False)), style=style)


def broken(name: str, width: int) -> str:
    r"""Break a long name into lines of at most `width` characters after blanks, and long words after punctuation.

    >>> broken("SPLADE_ENSEMBLE_DISTIL", 18)
    'SPLADE_ENSEMBLE_\nDISTIL'
    """
    lines = [""]
    words = re.findall(r"\s*\S+\s*", name) if len(name) > width else [name]
    pieces = ([word] if len(word.rstrip()) <= width else re.findall(r"[^\W_]+[\W_]*|[\W_]+", word) for word in words)
    for piece in chain.from_iterable(pieces):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def print_described(console: Console, described: Iterable[tuple[str, Text]], style: str) -> None:
    """Print names in a style of rich beside their descriptions, indented and without trailing blanks."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style=style, no_wrap=True)
    table.add_column()
    for name, description in described:
        table.add_row(Text(name), description)
    options = console.options.update(width=console.width - 2)
    for segments in console.render_lines(table, options, pad=False):
        line = Text("  ")
        for segment in segments:
            line.append(segment.text, segment.style)
        line.rstrip()
        console.print(line)
