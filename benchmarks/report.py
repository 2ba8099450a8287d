"""Tables of results: printed on the terminal and written as sections of a Markdown file."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = (
    "pyterrier-cwla",
    "ir-measures",
    "pyterrier",
    "numpy",
    "pandas",
    "pyarrow",
    "pytrec-eval-terrier",
    "cwl-eval",
    "ranx",
    "ir-eval-numba",
    "scikit-learn",
    "lightgbm",
    "optuna",
)


@dataclass(frozen=True)
class Table:
    """Table of texts with a title, and notes that explain the numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def progress(message: str) -> None:
    """Print a progress message on stderr."""
    print(f"  {message}", file=sys.stderr, flush=True)


def seconds(value: float) -> str:
    """Format a time in seconds or milliseconds."""
    return f"{value * 1000:,.1f} ms" if value < 1 else f"{value:,.2f} s"


def brief(value: float) -> str:
    """Format a time with three digits, from nanoseconds to seconds."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def megabytes(value: float) -> str:
    """Format a number of bytes in megabytes."""
    return f"{value / 1e6:,.0f} MB"


def environment() -> str:
    """Return date, versions of Python and packages, and the number of processors, as one line."""
    versions = [f"{name} {version}" for name in PACKAGES if (version := _version(name))]
    python, processors = f"Python {platform.python_version()}", f"{os.cpu_count()} CPUs"
    return ", ".join([datetime.date.today().isoformat(), python, *versions, processors])


def show(tables: Sequence[Table]) -> None:
    """Print the tables, with rich if it is installed."""
    print(environment())
    for table in tables:
        print()
        _print(table)
        for note in table.notes:
            print(f"  {note}")


def keep(path: Path, tables: Sequence[Table]) -> None:
    """Write each table as the section `### title` of a file, replacing an older one; other sections stay unchanged.

    A new section is added to the end of the file; move it below the heading of its group.
    """
    known = path.read_text(encoding="utf-8") if path.exists() else "# Benchmarks\n"
    for table in tables:
        section = f"### {table.title}\n\n{_markdown(table)}\n\n"
        older = re.search(rf"^### {re.escape(table.title)}\n.*?(?=^##|\Z)", known, re.MULTILINE | re.DOTALL)
        start, stop = older.span() if older else (len(known), len(known))
        known = f"{known[:start].rstrip()}\n\n{section}{known[stop:]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(known.rstrip() + "\n", encoding="utf-8")


def _print(table: Table) -> None:
    try:
        from rich.console import Console
        from rich.table import Table as RichTable
    except ImportError:
        _print_plain(table)
        return
    drawn = RichTable(title=table.title, title_justify="left")
    for place, column in enumerate(table.columns):
        drawn.add_column(column, justify="right" if _is_number(table, place) else "left")
    for row in table.rows:
        drawn.add_row(*row)
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    console.print(drawn)


def _print_plain(table: Table) -> None:
    lines = [table.columns, *table.rows]
    for place in range(len(table.columns)):
        width = max(len(line[place]) for line in lines)
        side = ">" if _is_number(table, place) else "<"
        lines = [[*line[:place], f"{line[place]:{side}{width}}", *line[place + 1 :]] for line in lines]
    print("\n".join([table.title, *("  ".join(line).rstrip() for line in lines)]))


def _markdown(table: Table) -> str:
    rule = ["---:" if _is_number(table, place) else "---" for place in range(len(table.columns))]
    lines = [f"| {' | '.join(row)} |" for row in (table.columns, rule, *table.rows)]
    notes = [f"* {note}" for note in (*table.notes, f"Measured: {environment()}.")]
    return "\n".join([*lines, "", *notes])


def _is_number(table: Table, place: int) -> bool:
    cells = [row[place] for row in table.rows if row[place]]
    return bool(cells) and all(cell[0].isdigit() for cell in cells)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
