"""The commands: what each takes, what it computes with the package's own functions, and what it hands to printing."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import errors
from .._version import __version__
from ..files.atomic import written
from ..rendering.terminal import note, sentence
from .tables import Column, Format, Scores, note_beside

if TYPE_CHECKING:
    import pyarrow as pa
    from ir_measures.measures import Measure

    from ..data.alignment import Judgments
    from ..data.lengths import Lengths

app = typer.Typer(
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DEFAULTS = ("nDCG@10", "AP", "RR", "RBP(rel=1)")
_MANY = 3  # runs; for more there is a progress bar


class Missing(StrEnum):
    """What a document without a length is."""

    error = "error"
    mean = "mean"


class Listing(StrEnum):
    """What a listing is written as."""

    table = "table"
    jsonl = "jsonl"


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
LengthsFile = Annotated[
    Path | None,
    typer.Option("--lengths", metavar="FILE", help="Words by document, for measures that need them."),
]
Keep = Annotated[
    Path | None,
    typer.Option("--keep", metavar="DIR", help="Keep there what is done: the same command goes on from there."),
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


@app.command()
def evaluate(
    qrels: Qrels,
    runs: Runs,
    measures: Measures = None,
    lengths: LengthsFile = None,
    missing: WhereMissing = None,
    by_query: Annotated[bool, typer.Option("--by-query", help="One line for each run and query.")] = False,
    residuals: Annotated[
        bool, typer.Option("--residuals", help="How much higher each score could be if all documents were judged.")
    ] = False,
    keep: Keep = None,
    form: FormatName = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Scores runs: a line for each run, a column for each measure.

    Example: pyterrier-cwla evaluate qrels.txt runs/ -m nDCG@10 -m TBG --lengths words.tsv
    """
    import pandas as pd

    from ..files.table_writers import FORMATS, write_rows
    from .scored_files import FileScores

    form = _format(form, output)
    files = _named_runs(runs)
    bound = _Bound.of(_measures(measures or DEFAULTS), lengths, missing)
    _check_outputs([("-o", output)], [qrels, *runs, lengths], bound, force, [("--keep", keep)])
    found = FileScores(qrels, _judgments(qrels), list(map(Column.of, bound.wanted)), bound.measures)
    why_not = found.add_residuals(next(iter(files.values()))) if residuals else []
    origin: dict[str, Any] = {
        "version": __version__,
        "qrels": str(qrels),
        "measures": {column.name: str(m) for column, m in zip(found.columns, found.measures, strict=True)},
        "residuals": {column.name: column.residual for column in found.columns if column.residual},
        **_origin_of(bound),
    }
    few_and_watched = len(files) <= _MANY and sys.stderr.isatty()
    tables = found.tables(_with_progress(files), by_query, keep, few_and_watched)
    one_by_one = output if by_query and form in FORMATS else None
    with _going_on_from(keep):
        if one_by_one is None:
            table = pd.concat(tables, ignore_index=True)
        else:
            write_rows(tables, form, one_by_one, origin)
    notes = [found.about_queries(by_query), *found.notes, *bound.notes, *why_not]
    notes += [] if measures else [_ABOUT_DEFAULTS]
    if one_by_one is None:
        Scores(table, found.columns, notes, origin).write(form, output)
    else:
        note_beside(notes, found.columns)


_ABOUT_DEFAULTS = (
    "Without -m: nDCG@10, AP, RR, and RBP with p=0.8; grade 1 and above is relevant for the last three."
    " -m chooses others, `pyterrier-cwla measures` lists them."
)


@app.command()
def compare(
    qrels: Qrels,
    runs: Runs,
    measures: Measures = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="The run to compare the others with, by the name of its file.")
    ] = None,
    lengths: LengthsFile = None,
    missing: WhereMissing = None,
    test: Annotated[
        str, typer.Option(metavar="TEST", help="What says which are significant: t, wilcoxon or randomisation.")
    ] = "t",
    correction: Annotated[
        str, typer.Option(metavar="NAME", help="For all comparisons of the table: holm, bonferroni, fdr_bh …, or none.")
    ] = "holm",
    confidence: Annotated[float, typer.Option(help="Of the intervals; the rest is the level of the test.")] = 0.95,
    resamples: Annotated[int, typer.Option(help="Of the bootstrap and of the randomisation test.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same intervals and p-values.")] = 0,
    form: FormatName = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Compares runs: intervals, differences to a baseline, significance, and a table for a paper (--format latex).

    Example: pyterrier-cwla compare qrels.txt runs/ -m nDCG@10 -m AP --baseline bm25 -o table.tex
    """
    from ..evaluation.run_comparison import compare as compared
    from .tables import write_comparison

    form = _format(form, output)
    files = _named_runs(runs)
    bound = _Bound.of(_measures(measures or DEFAULTS), lengths, missing)
    _check_outputs([("-o", output)], [qrels, *runs, lengths], bound, force)
    judgments = _judgments(qrels)
    with _busy("Reading, scoring and comparing …"), _told() as told:
        found = compared(
            judgments,
            files,
            dict(zip(map(str, bound.wanted), bound.measures, strict=True)),
            baseline,
            confidence=confidence,
            test=test,
            correction=None if correction == "none" else correction,
            resamples=resamples,
            seed=seed,
        )
    found.about.update(qrels=str(qrels), **_origin_of(bound))
    write_comparison(found, [*told, *bound.notes, *([] if measures else [_ABOUT_DEFAULTS])], form, output)


@app.command()
def explain(
    qrels: Qrels,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run in one of the same formats.", show_default=False)],
    query: Annotated[str, typer.Option("--query", "-q", metavar="ID", help="The query.", show_default=False)],
    measure: Annotated[
        str, typer.Option("--measure", "-m", metavar="MEASURE", help="The measure.", show_default=False)
    ],
    lengths: LengthsFile = None,
    missing: WhereMissing = None,
    depth: Annotated[int, typer.Option("--depth", min=1, metavar="N", help="How many ranks to show.")] = 20,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Also draw it: an .svg, .png or .pdf file.")
    ] = None,
    force: Force = False,
) -> None:
    """Shows how a score comes about, rank by rank.

    Example: pyterrier-cwla explain qrels.txt bm25.txt -q 301 -m "CWLA(C='inst(1)',A='erg',max_rel=3)"
    """
    from ..evaluation.explanation import explain as explanation_of
    from ..files.formats import read_run
    from .tables import print_explanation

    if plot is not None and plot.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise errors.BadParameter(f"--plot {plot}: the file's name must end in .svg, .png or .pdf.")
    bound = _Bound.of(_measures([measure]), lengths, missing)
    _check_outputs([("--plot", plot)], [qrels, run, lengths], bound, force)
    if bound.wanted[0].NAME == "Residual":
        raise errors.BadParameter(f"{measure} is a difference of two scores; explain the measure itself.")
    judgments = _judgments(qrels)
    table = read_run(run)
    _queries_of(table, run, judgments, qrels)
    one_query = table.filter(_equal(table["query_id"], query))
    if query not in judgments.index:
        hint = errors.near(query, judgments.qids)
        hint = hint if hint.startswith("Near") else f"It has {errors.some(judgments.qids)}."
        raise errors.BadParameter(f"{qrels}: no query {query!r}. {hint}")
    if not one_query.num_rows:
        raise errors.BadParameter(f"{run}: no documents for query {query!r}.")
    # Other queries matter only where the mean length of the whole run stands in for a missing one.
    whole = missing is Missing.mean and lengths is None
    with errors.speaking_of(qrels, run), _told() as told:
        explained = explanation_of(judgments, table if whole else one_query, query, bound.measures[0])
    name = next(iter(_named_runs([run])))
    title = f"{bound.wanted[0]} of query {query} in {name}: {explained.score:.4f}"
    print_explanation(explained, title, depth, [*told, *bound.notes])
    if plot is not None:
        _draw(explained, plot, depth)


@app.command()
def measures(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Tell all about this one.")] = None,
    form: Annotated[Listing, typer.Option("--format", help="A table, or a line of JSON for each.")] = Listing.table,
) -> None:
    """Lists the measures, and the language in which new ones are written.

    Example: pyterrier-cwla measures TBG
    """
    from ..measures.reference import entries, find
    from .tables import print_entry, print_listing

    found = entries() if name is None else find(name)
    if form is Listing.jsonl:
        for entry in found:
            print(json.dumps(entry.record(), ensure_ascii=False))
    elif name is None:
        print_listing(found)
    else:
        for number, entry in enumerate(found):
            if number:
                print()
            print_entry(entry)


# ---- what goes in


def _format(form: Format | None, output: Path | None) -> Format:
    """What to write, and whether there is a place for it."""
    form = form or (Format.of(output) if output else Format.table)
    if form is Format.parquet and output is None:
        raise errors.BadParameter("--format parquet needs a file: -o FILE.")
    if output is not None and not output.parent.is_dir():
        raise errors.BadParameter(f"{output}: there is no directory {str(output.parent)!r}.")
    return form


def _check_outputs(
    outputs: Sequence[tuple[str, Path | None]],
    inputs: Sequence[Path | None],
    bound: _Bound | None,
    force: bool,
    folders: Sequence[tuple[str, Path | None]] = (),
) -> None:
    """Refuse to write onto or among inputs, the files that measures name included, and onto others without --force."""
    from ..measures.wrappers import files_of
    from .outputs import check_outputs

    check_outputs(outputs, [*inputs, *files_of(bound.measures if bound else ())], force, folders)


def _measures(texts: Sequence[str]) -> list[Measure]:
    """The measures, each once, and all of them computed here."""
    from ..measures.provider import computed_here

    return list({str(measure): measure for measure in computed_here(texts)}.values())


@dataclass(frozen=True)
class _Bound:
    """Measures as they were asked for, and as they are computed: with the command line's table of lengths."""

    wanted: Sequence[Measure]
    measures: Sequence[Measure]
    notes: Sequence[str]
    lengths: Path | None

    @classmethod
    def of(cls, wanted: Sequence[Measure], lengths: Path | None, missing: Missing | None) -> _Bound:
        table = None if lengths is None else _table(lengths)
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


def _table(path: Path) -> Lengths:
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


def _named_runs(paths: Sequence[Path]) -> dict[str, Path]:
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


def _judgments(path: Path) -> Judgments:
    from ..files.formats import read_qrels
    from ..measures.provider import prepare

    with errors.speaking_of(path, None):
        return prepare(read_qrels(path))


@contextmanager
def _told() -> Iterator[list[str]]:
    """What this package warns of, as sentences to be shown beside the results."""
    import warnings

    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        yield told
    for one in caught:
        if issubclass(one.category, errors.CWLAWarning):
            told.append(sentence(str(one.message)))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _equal(column: pa.ChunkedArray, value: str) -> Any:
    import pyarrow.compute as pc

    return pc.equal(column, value)


def _queries_of(table: pa.Table, run: Path, judgments: Judgments, qrels: Path) -> int:
    """How many of the judged queries a run answers; none is an error that shows both sides."""
    import pyarrow.compute as pc

    found = pc.unique(table["query_id"]).to_pylist()
    common = sum(query in judgments.index for query in found)
    if not common:
        raise errors.BadRun(
            f"{run}: no query in common with {qrels}: the run has {errors.some(found)}, the judgments"
            f" {errors.some(judgments.qids)}."
        )
    return common


# ---- scores


def _origin_of(bound: _Bound) -> dict[str, Any]:
    """Which table of lengths saved results were computed with."""
    if bound.lengths is None:
        return {}
    with open(bound.lengths, "rb") as file:
        return {"lengths": {"path": str(bound.lengths), "sha256": hashlib.file_digest(file, "sha256").hexdigest()}}


@contextmanager
def _going_on_from(folder: Path | None) -> Iterator[None]:
    """Whoever interrupts learns where that is kept which is done."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is not None:
            note(f"\nInterrupted. What is done is kept in {folder}: the same command goes on from there.")
        raise


def _with_progress(files: dict[str, Path]) -> Iterator[tuple[str, Path]]:
    """The files, with a bar on stderr where there are many and somebody watches."""
    if len(files) <= _MANY or not sys.stderr.isatty():
        yield from files.items()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("runs", total=len(files))
        for item in files.items():
            yield item
            progress.advance(task)


# ---- the others


def _draw(explained: Any, path: Path, depth: int) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        with written(path) as place:
            explained.plot(depth=depth).figure.savefig(place, bbox_inches="tight")
    except ModuleNotFoundError as error:
        raise errors.CWLAError(
            f"--plot needs matplotlib. Install it: pip install 'pyterrier-cwla[plots]' ({error})"
        ) from error


@contextmanager
def _busy(what: str) -> Iterator[None]:
    """Says what is going on while it goes on, to somebody who watches."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
