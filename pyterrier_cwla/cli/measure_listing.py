"""Lists of measures and functions of the command ``measures``."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ..measures.entries import KINDS, ROLES, Entry
from ..rendering.terminal import prose, readable_screen, screen

_OF_MEASURES = ("measure", "ir_measures", "session")


def print_listing(entries: Sequence[Entry]) -> None:
    """Print one line per entry, by kind: name and summary, cut off at the width of a terminal."""
    console = screen()
    for kind, question in KINDS.items():
        of_kind = [entry for entry in entries if entry.kind == kind]
        if not of_kind:
            continue
        console.print(Text(question[0].upper() + question[1:], style="bold"))
        width = max(len(entry.briefly) for entry in of_kind)
        width = width if width <= console.width // 2 else max(14, console.width // 3)
        for entry in of_kind:
            line = Text.assemble("  ", (entry.briefly.ljust(width), "cyan"), "  ", entry.says)
            line.truncate(console.width, overflow="ellipsis")
            console.print(line)
        console.print()


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
