"""Output of the command ``measures``: the listing of measures and functions, and the entry of one of them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ..measures.reference import KINDS, Entry, made_of
from ..rendering.terminal import print_indented, prose, readable_screen, screen, two_columns

_ONE_OF = {
    "measure": "A measure of this package.",
    "ir_measures": "A measure of ir_measures, computed here with the same values.",
}
_OF_MEASURES = ("measure", "ir_measures", "session")
_ROLES = {"gain": "gain", "effort": "effort", "continuation": "C", "aggregation": "A", "norm": "norm"}


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


def print_overview(entries: Sequence[Entry]) -> None:
    """Print one line per measure, and the names of the functions that measures are composed of."""
    print_listing([entry for entry in entries if entry.kind in _OF_MEASURES])
    console = screen()
    prose(console, "Functions that measures are composed of", "bold")
    for kind in (kind for kind in KINDS if kind not in _OF_MEASURES):
        names = ", ".join(entry.name for entry in entries if entry.kind == kind)
        prose(console, f"{_ROLES.get(kind, kind)}: {names}", "", 2)
    console.print()
    prose(console, "`pyterrier-cwla measures NAME` describes one of them, and `pyterrier-cwla measures C` (or A, gain,"
          " effort, discount, norm) lists functions. Measures are composed like this:")  # fmt: skip
    for example in ("CWLA(C='rbp(0.8)',A='max',max_rel=3)",
                    "CWLA(C='decay(60)',A='etg',effort='time',gain='binary')@20"):  # fmt: skip
        prose(console, example, "", 2)


def print_entry(entry: Entry) -> None:
    """Print one entry in full: formula, unit, range, example, parts, parameters and source."""
    console = readable_screen()
    prose(console, f"{entry.signature}: {entry.summary}", "bold")
    if entry.formula or entry.units or entry.range:
        console.print()
    for paragraph in filter(None, entry.formula.split("\n\n")):
        prose(console, " ".join(paragraph.split()), "", 2)
    for name, value in (("Unit", entry.units), ("Range", entry.range)):
        if value:
            prose(console, f"{name}: {value}.", "", 2)
    if entry.example:
        console.print()
        for line in entry.example.split("\n"):
            console.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
    if entry.parts:
        table = two_columns("bold", "")
        for role, choice in entry.parts.items():
            lines: list[str] = []
            for part in made_of(role, choice):
                formula = " ".join(part.formula.split("\n\n")[0].split())
                lines += [f"{part.name}: {part.says}" if lines else part.says, formula]
            table.add_row(role, Text("\n").join([Text(choice, style="cyan"), *map(Text, filter(None, lines))]))
        console.print()
        print_indented(console, table)
    if entry.parameters:
        table = two_columns("cyan", "")
        for parameter in entry.parameters:
            means = f"{parameter.means}: " if parameter.means else ""
            table.add_row(Text(parameter.written), Text(means + parameter.allowed))
        console.print()
        print_indented(console, table)
    console.print()
    if entry.kind in _ROLES:
        needed = ",".join(parameter.name for parameter in entry.parameters if parameter.required)
        written = f"{entry.name}({needed})" if needed else entry.name
        console.print(Text.assemble("In a measure: ", (f"{_ROLES[entry.kind]}={written!r}", "cyan")))
    prose(console, _ONE_OF.get(entry.kind, KINDS[entry.kind][0].upper() + KINDS[entry.kind][1:]))
    if entry.source:
        prose(console, f"Source: {entry.source}.")
