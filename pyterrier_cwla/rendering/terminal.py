"""Text, plain tables, notes and progress on a terminal, in a pipe or in a file."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ..errors import CWLAWarning
from ..errors.sanitise import harmless, harmless_segments

UNLIMITED_WIDTH = 100_000  # columns of a file or a pipe: nothing is folded there
PROSE_WIDTH = 100  # no line of prose is longer
_LISTING_WIDTH = 150  # nor of a listing


class _Screen(Console):
    """A console on which texts from files do nothing but stand there."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        return harmless_segments(super().render(renderable, options))


def screen(file: IO[str] | None = None) -> Console:
    """Where tables go: as wide as the terminal (or COLUMNS) says, and as wide as they are in pipes and files."""
    on_terminal = file is None and ("COLUMNS" in os.environ or sys.stdout.isatty())
    return _Screen(
        file=file, width=None if on_terminal else UNLIMITED_WIDTH, highlight=False, markup=False, emoji=False
    )


def readable_screen() -> Console:
    """A screen on which prose is folded in pipes too."""
    console = screen()
    if console.width > _LISTING_WIDTH:
        console.width = PROSE_WIDTH if console.width == UNLIMITED_WIDTH else _LISTING_WIDTH
    return console


def note(message: str) -> None:
    """A line beside the results, on stderr."""
    print(harmless(message), file=sys.stderr)


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop."""
    return text[:1].upper() + text[1:] + "." * (text[-1:] not in ".?")


def prose(console: Console, text: str, style: str = "dim", indent: int = 0) -> None:
    """A paragraph of a readable width."""
    width = min(console.width, PROSE_WIDTH) - indent
    for line in Text(text, style=style).wrap(console, width):
        console.print(Text(" " * indent) + line)


def plain_table(*, gap: int = 2) -> Table:
    """A table with a line under its head, and nothing else but air."""
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap - 1, 0, 0), header_style="bold")


def column_head(lines: Sequence[str], height: int) -> Text:
    """A column's head, standing on the line under it however many lines its neighbours have."""
    return Text("\n".join([""] * (height - len(lines)) + list(lines)))


def two_columns(first: str, second: str) -> Table:
    """A table of two columns in these styles, without a head."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style=first, no_wrap=True)
    table.add_column(style=second)
    return table


def print_indented(console: Console, table: Table, by: int = 2) -> None:
    """Prints a table a little to the right, without blanks at the ends of lines."""
    options = console.options.update(width=console.width - by)
    for segments in console.render_lines(table, options, pad=False):
        text = Text(" " * by)
        for segment in segments:
            text.append(segment.text, segment.style)
        text.rstrip()
        console.print(text)


def decimal(value: float, places: int = 4) -> str:
    """A number of a table; nothing where there is none."""
    if math.isnan(value):
        return ""
    return f"{value:.{places}f}" if math.isfinite(value) else "∞" if value > 0 else "−∞"


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Say on stderr what is going on while it goes on, if that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(what):
        yield


@contextmanager
def resumable_from(folder: Path | None) -> Iterator[None]:
    """Say where finished work is stored when the user interrupts."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is not None:
            note(f"\nInterrupted. What is done is kept in {folder}: the same command goes on from there.")
        raise


@contextmanager
def warnings_as_sentences() -> Iterator[list[str]]:
    """Collect the warnings of this package, to be shown beside the results."""
    sentences: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        yield sentences
    for one in caught:
        if issubclass(one.category, CWLAWarning):
            sentences.append(sentence(str(one.message)))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
