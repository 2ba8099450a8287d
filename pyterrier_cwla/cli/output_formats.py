"""Output formats of results: text tables, CSV, JSON lines, Parquet and LaTeX."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from ..errors import BadParameter
from ..files.atomic import written
from ..rendering.terminal import note, screen

if TYPE_CHECKING:
    from rich.console import Console

    from ..files.table_writers import Table


class Format(StrEnum):
    """Output format of results."""

    table = "table"
    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"
    latex = "latex"

    @classmethod
    def from_path(cls, path: Path) -> Format:
        """Return the format for the extension of a file; raise BadParameter if it is unknown."""
        known = {suffix: form for form, suffix in _SUFFIXES.items()}
        if path.suffix.lower() not in known:
            raise BadParameter(f"-o {path}: the name must end in {', '.join(known)}, or give the format with --format.")
        return known[path.suffix.lower()]


class WritableResults(Protocol):
    """Protocol of results that can be written in all formats."""

    @property
    def table(self) -> Table:
        """Rows of a file."""

    @property
    def origin(self) -> dict[str, Any]:
        """Metadata: version, inputs and parameters. A Parquet file contains them."""

    def print(self, console: Console) -> None:
        """Print the results as text, with all notes."""

    def latex(self) -> str:
        """Return a LaTeX table."""

    def notes_beside(self, form: Format) -> Sequence[str]:
        """Return the notes for readers of a file in this format."""


_SUFFIXES = {
    Format.csv: ".csv",
    Format.jsonl: ".jsonl",
    Format.parquet: ".parquet",
    Format.latex: ".tex",
    Format.table: ".txt",
}


def format_for(form: Format | None, output: Path | None) -> Format:
    """Return the format from ``--format`` or else from the file name; check that it can be written there."""
    form = form or (Format.from_path(output) if output else Format.table)
    if form is Format.parquet and output is None:
        raise BadParameter(f"--format {form} needs a file: -o FILE.")
    if output is not None and not output.parent.is_dir():
        raise BadParameter(f"{output}: there is no directory {str(output.parent)!r}.")
    return form


def write_results(results: WritableResults, form: Format, path: Path | None) -> None:
    """Write results to a file or to stdout, then the notes to stderr (a text table contains them)."""
    if path is None:
        _write_text(results, form, None)
    elif form is Format.parquet:
        from ..files.table_writers import write_rows

        write_rows([results.table], form, path, results.origin)
    else:
        with written(path) as place, open(place, "w", encoding="utf-8", newline="\n") as file:
            _write_text(results, form, file)
    if form is not Format.table:
        for text in results.notes_beside(form):
            note(text)


def _write_text(results: WritableResults, form: Format, file: IO[str] | None) -> None:
    """Write results in a text format to a file, or to stdout without one."""
    from ..files.table_writers import write_csv, write_json_lines

    if form is Format.table:
        results.print(screen(file))
    elif form is Format.latex:
        (file or sys.stdout).write(results.latex())
    else:
        (write_csv if form is Format.csv else write_json_lines)(results.table, file or sys.stdout)
