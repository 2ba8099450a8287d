"""Lists of measures and functions of the command ``measures``."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from rich.text import Text

from ..measures.entries import KINDS, ROLES, Entry
from ..rendering.tables import Table, TableColumn
from ..rendering.terminal import prose, readable_screen, screen

_OF_MEASURES = ("measure", "ir_measures", "session")


def print_listing(entries: Sequence[Entry]) -> None:
    """Print a table of names and summaries, by kind."""
    parts = {what[0].upper() + what[1:]: [e for e in entries if e.kind == kind] for kind, what in KINDS.items()}
    columns = [TableColumn("", attrgetter("briefly"), "name"), TableColumn("", attrgetter("says"), "name")]
    if entries:
        screen().print(Table(columns=columns, rows={title: rows for title, rows in parts.items() if rows}), Text())


def print_mentioned(word: str, entries: Sequence[Entry]) -> None:
    """Print the names of entries with a word in their description."""
    if entries:
        names = ", ".join(entry.name for entry in entries)
        prose(readable_screen(), f"Also with {word!r} in the description: {names}.")


def print_overview(entries: Sequence[Entry]) -> None:
    """Print one line per measure, and the names of the functions that measures are composed of."""
    print_listing([entry for entry in entries if entry.kind in _OF_MEASURES])
    console = screen()
    prose(console, "Functions that measures are composed of", "bold")
    for kind in (kind for kind in KINDS if kind not in _OF_MEASURES):
        names = ", ".join(entry.name for entry in entries if entry.kind == kind)
        prose(console, f"{ROLES.get(kind, kind)}: {names}", "", 2)
    console.print()
    prose(console, "`pyterrier-cwla measures NAME` describes one of them, and `pyterrier-cwla measures C` (or A, gain,"
          " effort, discount, norm) lists functions. Measures are composed like this:")  # fmt: skip
    for example in ("CWLA(C='rbp(0.8)',A='max',max_rel=3)",
                    "CWLA(C='decay(60)',A='etg',effort='time',gain='binary')@20"):  # fmt: skip
        prose(console, example, "", 2)
