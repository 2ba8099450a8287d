"""The formats of results: tables for the eye, and CSV, JSON lines, Parquet and LaTeX for other programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, Protocol

import pandas as pd
from rich.console import Console

from ..errors import BadParameter
from ..files.atomic import written
from ..files.table_writers import write_csv, write_json_lines, write_rows
from ..rendering.terminal import note, screen


class Format(StrEnum):
    """What results are written as."""

    table = "table"
    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"
    latex = "latex"

    @classmethod
    def of(cls, path: Path) -> Format:
        """The format that a file's name asks for."""
        known = {kind.suffix: form for form, kind in _KINDS.items()}
        if path.suffix.lower() not in known:
            raise BadParameter(
                f"-o {path}: the name must end in {', '.join(known)}, or --format must say what to write."
            )
        return known[path.suffix.lower()]


class Results(Protocol):
    """Results that can be written in all formats."""

    @property
    def table(self) -> pd.DataFrame:
        """The rows of a file."""

    @property
    def origin(self) -> dict[str, Any]:
        """How they were computed; a Parquet file carries it with it."""

    def print(self, console: Console) -> None:
        """Print them for the eye, with all notes."""

    def latex(self) -> str:
        """A table for a paper."""

    def notes_beside(self, form: Format) -> Sequence[str]:
        """What a reader should know who reads a file of this format."""


@dataclass(frozen=True)
class _Kind:
    suffix: str
    write_text: Callable[[Results, IO[str] | None], object] | None = None
    """Writes to a file, or to stdout; None for a format of bytes."""


_KINDS = {
    Format.csv: _Kind(".csv", lambda results, file: write_csv(results.table, file or sys.stdout)),
    Format.jsonl: _Kind(".jsonl", lambda results, file: write_json_lines(results.table, file or sys.stdout)),
    Format.parquet: _Kind(".parquet"),
    Format.latex: _Kind(".tex", lambda results, file: (file or sys.stdout).write(results.latex())),
    Format.table: _Kind(".txt", lambda results, file: results.print(screen(file))),
}


def format_for(form: Format | None, output: Path | None) -> Format:
    """The format of --format, or else of the file's name; there must be a place to write it to."""
    form = form or (Format.of(output) if output else Format.table)
    if _KINDS[form].write_text is None and output is None:
        raise BadParameter(f"--format {form} needs a file: -o FILE.")
    if output is not None and not output.parent.is_dir():
        raise BadParameter(f"{output}: there is no directory {str(output.parent)!r}.")
    return form


def write_results(results: Results, form: Format, path: Path | None) -> None:
    """Write results to a file, or to stdout; then the notes to stderr, unless they stand under a table."""
    write_text = _KINDS[form].write_text
    if path is None:
        assert write_text is not None
        write_text(results, None)
    elif write_text is None:
        write_rows([results.table], form, path, results.origin)
    else:
        with written(path) as place, open(place, "w", encoding="utf-8", newline="\n") as file:
            write_text(results, file)
    if form is not Format.table:
        for text in results.notes_beside(form):
            note(text)
