"""Output formats of results: text tables, CSV, JSON lines, Parquet and LaTeX."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    def of(cls, path: Path) -> Format:
        """Return the format for the extension of a file; raise BadParameter if it is unknown."""
        known = {kind.suffix: form for form, kind in _KINDS.items()}
        if path.suffix.lower() not in known:
            raise BadParameter(f"-o {path}: the name must end in {', '.join(known)}, or give the format with --format.")
        return known[path.suffix.lower()]


class Results(Protocol):
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


@dataclass(frozen=True)
class _Kind:
    suffix: str
    write_text: Callable[[Results, IO[str] | None], object] | None = None
    """Writer to a file, or to stdout without one; None for binary formats."""


def _write_csv(results: Results, file: IO[str] | None) -> None:
    from ..files.table_writers import write_csv

    write_csv(results.table, file or sys.stdout)


def _write_json_lines(results: Results, file: IO[str] | None) -> None:
    from ..files.table_writers import write_json_lines

    write_json_lines(results.table, file or sys.stdout)


_KINDS = {
    Format.csv: _Kind(".csv", _write_csv),
    Format.jsonl: _Kind(".jsonl", _write_json_lines),
    Format.parquet: _Kind(".parquet"),
    Format.latex: _Kind(".tex", lambda results, file: (file or sys.stdout).write(results.latex())),
    Format.table: _Kind(".txt", lambda results, file: results.print(screen(file))),
}


def format_for(form: Format | None, output: Path | None) -> Format:
    """Return the format from ``--format`` or else from the file name; check that it can be written there."""
    form = form or (Format.of(output) if output else Format.table)
    if _KINDS[form].write_text is None and output is None:
        raise BadParameter(f"--format {form} needs a file: -o FILE.")
    if output is not None and not output.parent.is_dir():
        raise BadParameter(f"{output}: there is no directory {str(output.parent)!r}.")
    return form


def write_results(results: Results, form: Format, path: Path | None) -> None:
    """Write results to a file or to stdout, then the notes to stderr (a text table contains them)."""
    write_text = _KINDS[form].write_text
    if path is None:
        assert write_text is not None
        write_text(results, None)
    elif write_text is None:
        from ..files.table_writers import write_rows

        write_rows([results.table], form, path, results.origin)
    else:
        with written(path) as place, open(place, "w", encoding="utf-8", newline="\n") as file:
            write_text(results, file)
    if form is not Format.table:
        for text in results.notes_beside(form):
            note(text)
