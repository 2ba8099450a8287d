"""Command ``rbo``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._version import __version__
from ..errors import BadParameter, near
from ..rendering.latex import escaped, table_row, tabular
from ..rendering.terminal import broken, decimal, plain_table, prose, warnings_as_sentences
from .arguments import ByQuery, Force, FormatName, Output, Runs, app, runs_by_name
from .output_formats import Format, format_for, write_results
from .outputs import check_outputs

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

_NAME_WIDTH = 30
_ABOUT = (
    "rbo: expected agreement if that at the end of the lists continues. rbo_min: if they have no further document in"
    " common. rbo_res: how much higher it could be."
)


@app.command()
def rbo(
    runs: Runs,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Run to compare the others with; by default each pair is compared."),
    ] = None,
    persistence: Annotated[
        float, typer.Option("--persistence", "-p", help="Probability of going on to the next depth, between 0 and 1.")
    ] = 0.9,
    depth: Annotated[int | None, typer.Option(help="Number of documents to compare; by default all.")] = None,
    by_query: ByQuery = False,
    form: FormatName = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Compare the rankings of runs with each other: one line per pair, with their rank-biased overlap.

    Example: pyterrier-cwla rbo runs/ --baseline bm25 --depth 100
    """
    from ..evaluation.run_overlap import rbo as overlap

    form = format_for(form, output)
    files = runs_by_name(runs)
    check_outputs([("-o", output)], runs, force)
    other = None if baseline is None else _file_of(baseline, files)
    compared = {name: file for name, file in files.items() if other is None or file != other}
    if not compared:
        raise BadParameter(f"--baseline {baseline}: it is the only run, so that there is nothing to compare with it.")
    with warnings_as_sentences() as warned:
        found = overlap(compared, other, persistence, depth, by_query).reset_index()
    if other is not None:
        found.insert(1, "other", next(name for name, file in files.items() if file == other))
    queries = "" if by_query else "Means over the queries of either run. "
    origin = {"version": __version__, "p": persistence, "depth": depth}
    write_results(_Overlaps(found, [*warned, f"{queries}p = {persistence:g}.", _ABOUT], origin), form, output)


def _file_of(baseline: str, files: Mapping[str, Path]) -> Path:
    """Return the file of a run, given by its name or path."""
    for name, file in files.items():
        if baseline == name or Path(baseline) == file:
            return file
    raise BadParameter(f"--baseline {baseline}: no run has this name. {near(baseline, files)}")


@dataclass(frozen=True)
class _Overlaps:
    """Overlaps of pairs of runs, writable in all formats."""

    table: pd.DataFrame
    notes: Sequence[str]
    origin: dict[str, Any]

    def _rows(self) -> list[list[str]]:
        return [
            [cell if isinstance(cell, str) else decimal(cell) for cell in row]
            for row in self.table.itertuples(index=False)
        ]

    def print(self, console: Console) -> None:
        """Print a text table, and the notes."""
        table, names = plain_table(), self.table.columns
        for name in names:
            table.add_column(name.removesuffix("_id"), justify="right" if name.startswith("rbo") else "left")
        for row in self._rows():
            table.add_row(*(broken(cell, _NAME_WIDTH) for cell in row))
        console.print(table)
        console.print()
        for text in self.notes:
            prose(console, text)

    def latex(self) -> str:
        """Return a LaTeX table with the style of booktabs."""
        names = list(self.table.columns)
        alignment = "".join("r" if name.startswith("rbo") else "l" for name in names)
        body = (table_row(map(escaped, row)) for row in self._rows())
        lines = ["% \\usepackage{booktabs}", *tabular(alignment, [escaped(name) for name in names], body)]
        return "\n".join(lines) + "\n"

    def notes_beside(self, form: Format) -> Sequence[str]:
        """Return the notes."""
        return self.notes
