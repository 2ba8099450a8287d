"""Output formats of results: text tables, CSV, JSON lines, Parquet and LaTeX."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..errors import BadParameter
from ..files.atomic import AnyPath, written
from ..rendering.notes import note
from .paths import check_outputs

if TYPE_CHECKING:
    from ..evaluation.comparison import Comparison
    from ..files.table_writers import TableData
    from ..rendering.tables import Table


Format = StrEnum("Format", ["table", "csv", "jsonl", "parquet", "latex"])
"""Output format of results."""
_SUFFIXES = {
    Format.csv: ".csv",
    Format.jsonl: ".jsonl",
    Format.parquet: ".parquet",
    Format.latex: ".tex",
    Format.table: ".txt",
}


def _format_of(path: Path) -> Format:
    """Return the format for the extension of a file; raise BadParameter if it is unknown."""
    known = {suffix: form for form, suffix in _SUFFIXES.items()}
    if path.suffix.lower() not in known:
        raise BadParameter(f"-o {path}: the name must end in {', '.join(known)}, or give the format with --format.")
    return known[path.suffix.lower()]


@dataclass
class ResultFile:
    """Options for the file that a command writes its results to, or standard output if none is given."""

    form: Format | None = None
    output: Path | None = None
    force: bool = False
    format: Format = field(init=False)
    """Format from ``--format``, or else from the name of the file."""

    def __post_init__(self) -> None:
        self.format = self.form or (_format_of(self.output) if self.output else Format.table)
        if self.format is Format.parquet and self.output is None:
            raise BadParameter(f"--format {self.format} needs a file: -o FILE.")
        if self.output is not None and not self.output.parent.is_dir():
            raise BadParameter(f"{self.output}: there is no directory {str(self.output.parent)!r}.")

    def check(self, inputs: Iterable[AnyPath | None], folders: Iterable[tuple[str, Path | None]] = ()) -> None:
        """Raise BadParameter if the file is an input, or exists without ``--force``; see `check_outputs`."""
        check_outputs([("-o", self.output)], inputs, self.force, folders)

    def write(self, shown: Table | Comparison, origin: dict[str, Any], notes: Sequence[str]) -> None:
        """Write results to the file or to stdout, with notes below a text table, or else on stderr.

        Parameters
        ----------
        shown : Table or Comparison
            Results as people read them, with the frame for files of rows.
        origin : dict
            Metadata of a Parquet file: version, inputs and parameters.
        notes : sequence of str
            Sentences for readers.
        """
        if self.format is Format.parquet and self.output is not None:
            from ..files.table_writers import write_rows

            write_rows([_frame(shown)], self.format, self.output, origin)
        elif self.output is None:
            self._write_text(shown, notes, None)
        else:
            with written(self.output) as place, open(place, "w", encoding="utf-8", newline="\n") as file:
                self._write_text(shown, notes, file)
        if self.format is not Format.table:
            for text in notes:
                note(text)

    def _write_text(self, shown: Table | Comparison, notes: Sequence[str], file: IO[str] | None) -> None:
        from ..files.table_writers import write_csv, write_json_lines
        from ..rendering.terminal import prose, screen

        if self.format is Format.table:
            console = screen(file)
            console.print(shown)
            if notes:
                console.print()
            for text in notes:
                prose(console, text)
        elif self.format is Format.latex:
            (file or sys.stdout).write(shown.to_latex())
        else:
            (write_csv if self.format is Format.csv else write_json_lines)(_frame(shown), file or sys.stdout)


def _frame(shown: Table | Comparison) -> TableData:
    """Return the rows of results with all digits."""
    from ..rendering.tables import Table

    return shown.frame if isinstance(shown, Table) else shown.table
