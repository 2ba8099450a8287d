"""Commands ``evaluate``, ``compare``, ``rbo`` and ``pages``."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._version import __version__
from ..errors import BadParameter, near
from ..evaluation.significance import PAIRED_TESTS, TESTS
from ..rendering.latex import escaped, table_row, tabular
from ..rendering.terminal import broken, busy, decimal, note, plain_table, prose, resumable_from, warnings_as_sentences
from ..tasks.progress import bar
from .arguments import (
    BoundMeasures,
    ByQuery,
    CacheDir,
    Force,
    FormatName,
    LengthsFile,
    Measures,
    Output,
    Qrels,
    Runs,
    SecondsFile,
    WhereMissing,
    about_grades,
    app,
    judgments_of,
    runs_by_name,
)
from .options import displayed
from .output_formats import Format, format_for, write_results
from .paths import check_exists, check_outputs, resolved

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ..data.alignment import Judgments
    from ..evaluation.comparison import Comparison
    from ..files.table_writers import Table

DEFAULTS = ("nDCG@10", "AP", "RR", "RBP(rel=1)")
_MANY = 3  # runs; more have a common progress bar
_NOTES = 5  # runs whose lengths or few judged documents are mentioned
_ABOUT_DEFAULTS = "Without -m: nDCG@10, AP, RR, and RBP with p=0.8; grades from 1 are relevant for the last three."
_ABOUT_TIMED = (
    "Without -m: nDCG@10, AP, RR, RBP with p=0.8; with document lengths also TBG (relevant documents saved by users"
    " whose time is limited) and CWLA (gain of the best document seen by users who expect a total gain of 2). Grades"
    " from 1 are relevant for AP, RR, RBP and TBG."
)
_CHOOSE = " Choose others with -m; `pyterrier-cwla measures` lists them."


@app.command()
def evaluate(
    qrels: Qrels,
    runs: Runs,
    measures: Measures = None,
    lengths: LengthsFile = None,
    seconds: SecondsFile = None,
    missing: WhereMissing = None,
    by_query: ByQuery = False,
    residuals: Annotated[
        bool,
        typer.Option(
            "--residuals", help="Also print how much higher each score could be if all documents were judged."
        ),
    ] = False,
    cache_dir: CacheDir = None,
    form: FormatName = None,
    output: Output = None,
    force: Force = False,
) -> None:  # over 50 lines: a third of them are options
    """Score runs: one line per run, one column per measure.

    Example: pyterrier-cwla evaluate qrels.txt runs/ -m nDCG@10 -m TBG --lengths words.tsv
    """
    from ..files.table_writers import FORMATS, joined, write_rows
    from .score_tables import FileScores, MeasureColumn, Scores

    form = format_for(form, output)
    files = runs_by_name(runs)
    judgments = judgments_of(qrels)
    wanted, about = _or_defaults(measures, judgments, lengths, files)
    bound = BoundMeasures.from_texts(wanted, lengths, missing, seconds=seconds)
    check_outputs([("-o", output)], [qrels, *runs, lengths, seconds, *bound.files], force, [("--cache-dir", cache_dir)])
    columns = map(MeasureColumn.for_measure, bound.wanted)
    found = FileScores(qrels, judgments, dict(zip(columns, bound.measures, strict=True)))
    why_not = found.add_residuals(next(iter(files.values()))) if residuals else []
    origin: dict[str, Any] = {
        "version": __version__,
        "qrels": displayed(str(qrels)),
        "measures": {column.name: displayed(repr(measure)) for column, measure in found.measures.items()},
        "residuals": {column.name: column.residual for column in found.measures if column.residual},
        **bound.origin,
    }
    watched, many = sys.stderr.isatty(), len(files) > _MANY
    with_bar = bar(files.items(), watched and many, "runs", unit="runs")
    tables = found.tables(with_bar, by_query, cache_dir, progress=watched and not many)
    table: Table = {}  # empty if rows are written run by run
    file = output if by_query and form in FORMATS else None
    with resumable_from(cache_dir), warnings_as_sentences() as warned:
        if file is not None:
            write_rows(tables, form, file, origin)
        else:
            table = joined(tables)
    notes = [
        found.about_queries(by_query),
        *found.notes_on_runs(_NOTES),
        *warned,
        *bound.notes,
        *why_not,
        *about_grades(qrels, judgments),
        *about,
    ]
    scores = Scores(table, list(found.measures), notes, origin)
    if file is None:
        write_results(scores, form, output)
        return
    for line in scores.notes_beside(form):
        note(line)


@app.command()
def compare(
    context: typer.Context,
    qrels: Qrels,
    runs: Runs,
    measures: Measures = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Run to compare the others with; by default the first. May be repeated."),
    ] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="Compare all pairs of runs.")] = False,
    least: Annotated[float, typer.Option(help="Largest difference of the scores of a topic that is a tie.")] = 0.0,
    lengths: LengthsFile = None,
    seconds: SecondsFile = None,
    missing: WhereMissing = None,
    no_baseline: Annotated[
        bool, typer.Option("--no-baseline", help="Only scores and their intervals, without a baseline.")
    ] = False,
    test: Annotated[
        str,
        typer.Option(
            metavar="TEST",
            help=f"Test that marks significant differences: {', '.join(PAIRED_TESTS)}; with --pairs also"
            f" {' and '.join(name for name in TESTS if name not in PAIRED_TESTS)}.",
        ),
    ] = "t",
    correction: Annotated[
        str,
        typer.Option(metavar="NAME", help="Correction for multiple comparisons: holm, bonferroni, fdr_bh …, or none."),
    ] = "holm",
    confidence: Annotated[
        float,
        typer.Option(help="Confidence level of the intervals; the significance level of the test is 1 - confidence."),
    ] = 0.95,
    resamples: Annotated[int, typer.Option(help="Resamples of the bootstrap and of the randomisation test.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Random seed of intervals and p-values.")] = 0,
    form: FormatName = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Compare runs: intervals, differences to a baseline, significance, and a table for a paper (--format latex).

    With --pairs or several baselines, each pair of runs has a row, with wins, ties and losses by topic.

    Example: pyterrier-cwla compare qrels.txt runs/ -m nDCG@10 -m AP --baseline bm25 -o table.tex
    """
    from ..evaluation.run_comparison import compare as compared
    from ..evaluation.run_comparison import computed_somewhere

    form = format_for(form, output)
    files = runs_by_name(runs)
    judgments = judgments_of(qrels)
    wanted, about = _or_defaults(measures, judgments, lengths, files)
    bound = BoundMeasures.from_texts(wanted, lengths, missing, computed_somewhere, seconds)
    check_outputs([("-o", output)], [qrels, *runs, lengths, seconds, *bound.files], force)
    _check_needs_of_baseline(context, baseline, no_baseline, pairs)
    chosen = list(dict.fromkeys(baseline or ()))
    if not (chosen or no_baseline or pairs) and (first := _first_of_several(files)) is not None:
        chosen = [first]
        about = [f"The baseline is {first}, the first run; --baseline NAME chooses another.", *about]
    with busy("Reading, scoring and comparing …"), warnings_as_sentences() as warned:
        found = compared(
            judgments,
            files,
            bound.by_name,
            chosen if len(chosen) > 1 else next(iter(chosen), None),
            pairs=pairs,
            least=least,
            confidence=confidence,
            test=test,
            correction=None if correction == "none" else correction,
            resamples=resamples,
            seed=seed,
        )
    found.about.update(qrels=displayed(str(qrels)), **bound.origin)
    alone = ["Nothing is compared: there is only one run."] if len(found.runs) == 1 else []
    notes = [*warned, *bound.notes, *alone, *about_grades(qrels, judgments), *about]
    write_results(_Compared(found, notes), form, output)


def _check_needs_of_baseline(
    context: typer.Context, baseline: Sequence[str] | None, no_baseline: bool, pairs: bool
) -> None:
    """Raise BadParameter if options that need a baseline are given together with ``--no-baseline``."""
    if pairs and (baseline or no_baseline):
        raise BadParameter(f"give --pairs or {'--baseline NAME' if baseline else '--no-baseline'}, not both.")
    if not no_baseline:
        return
    if baseline:
        raise BadParameter("give --baseline NAME or --no-baseline, not both.")
    for name in ("test", "correction"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise BadParameter(f"--{name} has no effect with --no-baseline: leave out one of them.")


def _or_defaults(
    measures: Sequence[str] | None, judgments: Judgments, lengths: Path | None, files: Mapping[str, Path]
) -> tuple[Sequence[str], list[str]]:
    """Return the measures given with -m, or the default ones and a note about them.

    Measures that need lengths are among the defaults if --lengths is given or if all runs have complete lengths.
    """
    from ..files.run_files import have_all_lengths

    if measures:
        return measures, []
    if lengths is None and not have_all_lengths(files):
        return DEFAULTS, [_ABOUT_DEFAULTS + _CHOOSE]
    best = max(1, math.ceil(judgments.pool.highest))
    return (*DEFAULTS, "TBG", f"CWLA(C='inst(2)',A='max',max_rel={best})"), [_ABOUT_TIMED + _CHOOSE]


def _first_of_several(files: Mapping[str, Path]) -> str | None:
    """Return the name of the first run; None if there is only one."""
    from ..files.run_files import sources

    first, *others = sources(files)
    if first.name is not None:
        return first.name if others else None
    return str(next(table["run"][0] for part in first.parts for table in part.ids()))


@dataclass(frozen=True)
class _Compared:
    """Comparison with notes, writable in all formats."""

    found: Comparison
    notes: Sequence[str]

    @property
    def table(self) -> pd.DataFrame:
        return self.found.table

    @property
    def origin(self) -> dict[str, Any]:
        return self.found.about

    def print(self, console: Console) -> None:
        console.print(self.found)
        for text in self.notes:
            prose(console, text)

    def latex(self) -> str:
        return self.found.to_latex()

    def notes_beside(self, form: Format) -> list[str]:
        return [*(self.found.of_topics if form is not Format.latex else ()), *self.notes]


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


Page = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="A run of cwl_eval: a TREC file whose second field is the type of each element.",
        show_default=False,
        callback=resolved,
    ),
]
Costs = Annotated[
    Path,
    typer.Argument(
        metavar="COSTS",
        help="The cost of each type, in lines of type and cost.",
        show_default=False,
        callback=resolved,
    ),
]
Parquet = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Output file, a Parquet run.", show_default=False)
]


@app.command()
def pages(run: Page, costs: Costs, output: Parquet, force: Force = False) -> None:
    """Write a run of typed elements, as cwl_eval reads it, with the cost of each element.

    Example: pyterrier-cwla pages run.txt costs.txt -o pages.parquet
    """
    from ..data.result_pages import read_element_costs, read_result_pages, with_element_costs
    from ..errors import speaking_of
    from ..files.atomic import written

    check_outputs([("-o", output)], [run, costs], force)
    for path in (run, costs):
        check_exists(path)
    known = read_element_costs(costs)
    with speaking_of(None, run):
        rows = with_element_costs(read_result_pages(run), known)
    with written(output) as place:
        rows.drop(columns="element").to_parquet(place, index=False)
