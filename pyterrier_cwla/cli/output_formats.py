"""Output formats of results: text tables, CSV, JSON lines, Parquet and LaTeX."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Protocol

import typer

from ..errors import BadParameter
from ..files.atomic import AnyPath, written
from ..rendering.notes import note
from .arguments import Force
from .paths import check_outputs

if TYPE_CHECKING:
    from rich.console import Console

    from ..files.table_writers import TableData


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
    def table(self) -> TableData:
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


@dataclass
class ResultFile:
    """Options for the file that a command writes its results to, or standard output if none is given."""

    form: Annotated[
        Format | None, typer.Option("--format", help="Format of the results; by default from the extension of FILE.")
    ] = None
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Output file.")] = None
    force: Force = False
    format: Format = field(init=False)
    """Format from ``--format``, or else from the name of the file."""

    def __post_init__(self) -> None:
        self.format = self.form or (Format.from_path(self.output) if self.output else Format.table)
        if self.format is Format.parquet and self.output is None:
            raise BadParameter(f"--format {self.format} needs a file: -o FILE.")
        if self.output is not None and not self.output.parent.is_dir():
            raise BadParameter(f"{self.output}: there is no directory {str(self.output.parent)!r}.")

    def check(self, inputs: Iterable[AnyPath | None], folders: Iterable[tuple[str, Path | None]] = ()) -> None:
        """Raise BadParameter if the file is an input, or exists without ``--force``; see `check_outputs`."""
        check_outputs([("-o", self.output)], inputs, self.force, folders)

    def write(self, results: WritableResults) -> None:
        """Write results to the file or to stdout, then the notes to stderr (a text table contains them)."""
        if self.output is None:
            self._write_text(results, None)
        elif self.format is Format.parquet:
            from ..files.table_writers import write_rows

            write_rows([results.table], self.format, self.output, results.origin)
        else:
            with written(self.output) as place, open(place, "w", encoding="utf-8", newline="\n") as file:
                self._write_text(results, file)
        if self.format is not Format.table:
            for text in results.notes_beside(self.format):
                note(text)

    def _write_text(self, results: WritableResults, file: IO[str] | None) -> None:
        from ..files.table_writers import write_csv, write_json_lines
        from ..rendering.terminal import screen

        if self.format is Format.table:
            results.print(screen(file))
        elif self.format is Format.latex:
            (file or sys.stdout).write(results.latex())
        else:
            (write_csv if self.format is Format.csv else write_json_lines)(results.table, file or sys.stdout)
