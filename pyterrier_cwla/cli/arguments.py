"""The command group, the arguments that its commands share, and what these are read into."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import errors
from .._version import __version__
from .output_formats import Format

if TYPE_CHECKING:
    from ir_measures.measures import Measure

    from ..data.alignment import Judgments
    from ..data.lengths import Lengths

app = typer.Typer(
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Missing(StrEnum):
    """What a document without a length is."""

    error = "error"
    mean = "mean"


Qrels = Annotated[
    Path,
    typer.Argument(metavar="QRELS", help="Judgments: a TREC file or Parquet, compressed or not.", show_default=False),
]
Runs = Annotated[
    list[Path],
    typer.Argument(metavar="RUN", help="Runs in the same formats, or directories of them.", show_default=False),
]
FormatName = Annotated[Format | None, typer.Option("--format", help="Without it, what the name of FILE says.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file, unless it is an input.")]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", "-m", metavar="MEASURE", help="A measure, such as nDCG@10; give -m once for each."),
]
ByQuery = Annotated[bool, typer.Option("--by-query", help="One line for each run and query.")]
LengthsFile = Annotated[
    Path | None,
    typer.Option("--lengths", metavar="FILE", help="Words by document, for measures that need them."),
]
CacheDir = Annotated[
    Path | None,
    typer.Option("--cache-dir", metavar="DIR", help="Store finished work there: the same command goes on from there."),
]
WhereMissing = Annotated[
    Missing | None, typer.Option("--missing", help="What a document without a length is: an error, or of mean length.")
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pyterrier-cwla {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def _everything(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Scores rankings with metrics that model users and time."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@dataclass(frozen=True)
class BoundMeasures:
    """Measures as they were asked for, and as they are computed: with the command line's table of lengths."""

    wanted: Sequence[Measure]
    measures: Sequence[Measure]
    notes: Sequence[str]
    lengths: Path | None

    @classmethod
    def of(cls, texts: Sequence[str], lengths: Path | None, missing: Missing | None) -> BoundMeasures:
        """The measures of these texts, each once."""
        from ..measures.provider import computed_here

        wanted = list({str(measure): measure for measure in computed_here(texts)}.values())
        table = None if lengths is None else lengths_from(lengths)
        measures = [_bound(measure, table, missing) for measure in wanted]
        changed = [str(old) for old, new in zip(wanted, measures, strict=True) if old is not new]
        notes = []
        if changed:
            given = [f"with the lengths of {lengths}"] if lengths else []
            given += ["a document without a length counts as one of mean length"] if missing is Missing.mean else []
            notes = [f"{', '.join(changed)}: {'; '.join(given)}."] if given else []
        elif lengths is not None:
            notes = [f"No measure here asks for the lengths of {lengths}."]
        return cls(wanted, measures, notes, lengths if changed else None)

    @property
    def by_name(self) -> dict[str, Measure]:
        """The measures as they are computed, by the names that they were asked for."""
        return dict(zip(map(str, self.wanted), self.measures, strict=True))

    @property
    def files(self) -> Iterator[str]:
        """The files that the measures name."""
        from ..measures.wrappers import files_of

        return files_of(self.measures)

    @property
    def origin(self) -> dict[str, Any]:
        """The table of lengths, by path and hash, that saved results were computed with."""
        if self.lengths is None:
            return {}
        with open(self.lengths, "rb") as file:
            return {"lengths": {"path": str(self.lengths), "sha256": hashlib.file_digest(file, "sha256").hexdigest()}}


def lengths_from(path: Path) -> Lengths:
    """A table of lengths that is read at once, so that what is wrong with it shows before the first run is scored."""
    from ..data.lengths import Lengths

    table = Lengths(str(path), path=str(path))
    len(table)
    return table


def _bound(measure: Measure, table: Lengths | None, missing: Missing | None) -> Measure:
    from ..measures.of_ir_measures import needs_of
    from ..measures.wrappers import changed_inside

    needs = needs_of(measure)
    if needs.lengths == "none":
        return measure
    more: dict[str, Any] = {}
    if table is not None and needs.lengths == "run":
        more["lengths"] = table
    if missing is not None:
        more["missing"] = str(missing)
    return changed_inside(measure, lambda inner: inner(**more)) if more else measure


def runs_by_name(paths: Sequence[Path]) -> dict[str, Path]:
    """The files and datasets of the runs by name."""
    from ..files.run_files import named_runs

    for path in paths:
        if not path.exists():
            raise errors.MalformedFile(f"{path}: no such file or directory.{_perhaps_a_measure(str(path))}")
    return named_runs(paths)


def _perhaps_a_measure(text: str) -> str:
    from ..measures.parsing import measures_of

    try:
        measures_of([text])
    except errors.CWLAError:
        return ""
    return f" If it is a measure, write -m {text}."


def judgments_of(path: Path) -> Judgments:
    from ..files.formats import read_qrels
    from ..measures.provider import prepare

    with errors.speaking_of(path, None):
        return prepare(read_qrels(path))
