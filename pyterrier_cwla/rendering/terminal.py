"""Text and plain tables on a terminal, in a pipe or in a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import IO

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ..errors.sanitise import harmless, harmless_segments

_UNLIMITED = 100_000  # columns of a file or a pipe: nothing is folded there


_PROSE = 100  # no line of prose is longer


class _Screen(Console):
    """A console on which texts from files do nothing but stand there."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        return harmless_segments(super().render(renderable, options))


def screen(file: IO[str] | None = None) -> Console:
    """Where tables go: as wide as the terminal (or COLUMNS) says, and as wide as they are in pipes and files."""
    on_terminal = file is None and ("COLUMNS" in os.environ or sys.stdout.isatty())
    return _Screen(file=file, width=None if on_terminal else _UNLIMITED, highlight=False, markup=False, emoji=False)


def note(message: str) -> None:
    """A line beside the results, on stderr."""
    print(harmless(message), file=sys.stderr)


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop."""
    return text[:1].upper() + text[1:] + "." * (text[-1:] not in ".?")


def prose(console: Console, text: str, style: str = "dim", indent: int = 0) -> None:
    """A paragraph of a readable width."""
    width = min(console.width, _PROSE) - indent
    for line in Text(text, style=style).wrap(console, width):
        console.print(Text(" " * indent) + line)


def plain_table(*, gap: int = 2) -> Table:
    """A table with a line under its head, and nothing else but air."""
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap - 1, 0, 0), header_style="bold")


def _head(lines: Sequence[str], height: int) -> Text:
    """A column's head, standing on the line under it however many lines its neighbours have."""
    return Text("\n".join([""] * (height - len(lines)) + list(lines)))
