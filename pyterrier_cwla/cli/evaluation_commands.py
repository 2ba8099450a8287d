"""Commands ``evaluate``, ``compare``, ``rbo``, ``sessions`` and ``pages``."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._version import __version__
from ..errors import BadParameter, near
from ..rendering.notes import busy, note, resumable_from, warnings_as_sentences
from ..tasks.progress import bar
from .arguments import (
    JudgedBy,
    JudgedRuns,
    MeasureOptions,
    cells,
    command,
    judgments_of,
    runs_by_name,
)
from .options import displayed
from .output_formats import Format, ResultFile
from .parameters import Parameters
from .paths import check_exists, check_outputs

if TYPE_CHECKING:
    import pandas as pd

    from ..evaluation.comparison import Comparison
    from ..files.table_writers import TableData

DEFAULTS = ("nDCG@10", "AP", "RR")
_MANY = 3  # runs; more have a common progress bar
_NOTES = 5  # runs whose lengths or few judged documents are mentioned
_ABOUT_DEFAULTS = "Without -m: nDCG@10, AP, RR, and RBP with p=0.8; grades from {} are relevant for the last three."
_ABOUT_TIMED = (
    "Without -m: nDCG@10, AP, RR, RBP with p=0.8; with document lengths also TBG (relevant documents saved by users"
    " whose time is limited) and CWLA (gain of the best document seen by users who expect a total gain of 2). Grades"
    " from {} are relevant for AP, RR, RBP and TBG."
)
_CHOOSE = " Choose others with -m; `pyterrier-cwla measures` lists them."


@command()
def evaluate(
    judged: JudgedRuns,
    *,
    measures: list[str] | None = None,
    given: MeasureOptions,
    by_query: bool = False,
    residuals: bool = False,
    cache_dir: Path | None = None,
    results: ResultFile,
) -> None:
    """Score runs: one line per run, one column per measure.

    Example: pyterrier-cwla evaluate qrels.txt runs/ -m nDCG@10 -m TBG --lengths words.tsv
    """
    from ..files.table_writers import ROW_FORMATS, joined, write_rows
    from ..measures.wrappers import notes_on_labels
    from .score_tables import FileScores, scores_table

    files = judged.files
    wanted, about = _or_defaults(measures, judged, given)
    bound = given.bind(wanted)
    results.check([*judged.inputs, *bound.files], [("--cache-dir", cache_dir)])
    found = FileScores(judged.qrels, judged.judgments, dict(zip(bound.wanted, bound.measures, strict=True)))
    about_residuals = found.add_residuals(next(iter(files.values()))) if residuals else []
    origin: dict[str, Any] = {
        **judged.origin,
        "measures": {name: displayed(repr(measure)) for name, measure in found.measures.items()},
        "residuals": found.residuals,
        **bound.origin,
    }
    watched, many = sys.stderr.isatty(), len(files) > _MANY
    with_bar = bar(files.items(), watched and many, "runs", unit="runs")
    tables = found.tables(with_bar, by_query, cache_dir, progress=watched and not many)
    table: TableData = {}  # empty if rows are written run by run
    file = results.output if by_query and results.format in ROW_FORMATS else None
    with resumable_from(cache_dir), warnings_as_sentences() as warned:
        if file is not None:
            write_rows(tables, results.format, file, origin)
        else:
            table = joined(tables)
    notes = [
        found.about_queries(by_query),
        *found.notes_on_runs(_NOTES),
        *warned,
        *bound.notes,
        *about_residuals,
        *notes_on_labels(bound.measures),
        *judged.notes,
        *about,
    ]
    if file is None:
        results.write(scores_table(table, found.columns), origin, notes)
        return
    for line in notes:
        note(line)


@command()
def compare(
    context: typer.Context,
    judged: JudgedRuns,
    *,
    measures: list[str] | None = None,
    baseline: list[str] | None = None,
    chosen: Annotated[
        dict[str, Any],
        Parameters("evaluation.run_comparison.compare", "pairs least test correction confidence resamples seed"),
    ],
    no_baseline: bool = False,
    given: MeasureOptions,
    results: ResultFile,
) -> None:  # fmt: skip
    """Compare runs: intervals, differences to a baseline, significance, and a table for a paper (--format latex).

    With --pairs or several baselines, each pair of runs has a row, with wins, ties and losses by topic.

    Example: pyterrier-cwla compare qrels.txt runs/ -m nDCG@10 -m AP --baseline bm25 -o table.tex
    """
    from ..evaluation.run_comparison import compare as compared
    from ..evaluation.run_comparison import computed_somewhere

    wanted, about = _or_defaults(measures, judged, given)
    bound = given.bind(wanted, computed_somewhere)
    results.check([*judged.inputs, *bound.files])
    _check_needs_of_baseline(context, baseline, no_baseline, chosen["pairs"])
    baselines = _baselines(baseline, no_baseline)
    with busy("Reading, scoring and comparing …"), warnings_as_sentences() as warned:
        found = compared(judged.judgments, judged.files, bound.by_name, baselines, **chosen)
    found.about.update(**judged.origin, **bound.origin)
    _write(results, found, baselines, [*warned, *bound.notes, *judged.notes], about)


@command()
def correct(
    context: typer.Context,
    judged: JudgedRuns,
    *,
    machine: Path,
    measures: list[str] | None = None,
    machine_measures: list[str] | None = None,
    baseline: list[str] | None = None,
    no_baseline: bool = False,
    chosen: Annotated[
        dict[str, Any],
        Parameters("evaluation.correction.corrected", "pairs population common least correction confidence"),
    ],
    sampled: Path | None = None,
    given: MeasureOptions,
    results: ResultFile,
) -> None:  # fmt: skip
    """Compare runs by a machine's judgments of all topics, corrected by people's of some of them.

    QRELS are the judgments of people. Prints the tables of compare, with the number of topics that people alone would
    have to judge for the same interval.

    Example: pyterrier-cwla correct people.txt runs/ --machine gpt4.txt -m nDCG@10 --baseline bm25
    """
    from ..evaluation.correction import corrected

    wanted, about = _or_defaults(measures, judged, given)
    bound, others = given.bind(wanted), given.bind(machine_measures) if machine_measures else None
    results.check([*judged.inputs, *bound.files, machine, sampled])
    _check_needs_of_baseline(context, baseline, no_baseline, chosen["pairs"])
    baselines = _baselines(baseline, no_baseline)
    with busy("Reading, scoring and correcting …"), warnings_as_sentences() as warned:
        found = corrected(
            judged.judgments,
            judgments_of(machine, judged.split),
            judged.files,
            bound.by_name,
            baselines,
            machine_measures=None if others is None else others.measures,
            sampled=None if sampled is None else cells(sampled),
            **chosen,
        )
    found.about.update(**judged.origin, machine=displayed(str(machine)), **bound.origin)
    of_others = [] if others is None else others.notes
    warned = [text for text in warned if text not in found.about["cautions"]]
    _write(results, found, baselines, dict.fromkeys([*warned, *bound.notes, *of_others, *judged.notes]), about)


def _baselines(baseline: list[str] | None, no_baseline: bool) -> Any:
    """Return the baselines of ``--baseline`` and ``--no-baseline`` as the functions in Python take them."""
    baselines = list(dict.fromkeys(baseline or ()))
    if len(baselines) > 1:
        return baselines
    return baselines[0] if baselines else False if no_baseline else None


def _write(results: ResultFile, found: Comparison, baselines: Any, notes: Iterable[str], about: Sequence[str]) -> None:
    """Write a comparison with notes, and with one on its baseline if none was chosen."""
    first = found.about["baseline"]
    chosen = [f"The baseline is {first}, the first run; --baseline NAME chooses another."]
    notes = [*notes, *chosen * (baselines is None and first is not None), *about]
    if results.format not in (Format.table, Format.latex):
        notes = [*found.of_topics, *notes]
    results.write(found, found.about, notes)


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
    measures: Sequence[str] | None, judged: JudgedRuns, given: MeasureOptions
) -> tuple[Sequence[str], list[str]]:
    """Return the measures given with -m, or the default ones and a note about them.

    Measures that need lengths are among the defaults if --lengths is given or if all runs have complete lengths.
    """
    from ..files.run_files import have_all_lengths

    files, judgments = judged.files, judged.judgments
    if measures:
        return measures, []
    rel = 1 if given.rel is None else given.rel
    defaults = [*DEFAULTS, f"RBP(rel={rel})"]
    if given.lengths is None and not have_all_lengths(files):
        return defaults, [_ABOUT_DEFAULTS.format(rel) + _CHOOSE]
    best = max(1, math.ceil(judgments.pool.highest))
    return [*defaults, "TBG", f"CWLA(C='inst(2)',A='max',max_rel={best})"], [_ABOUT_TIMED.format(rel) + _CHOOSE]


_ABOUT = (
    "rbo: expected agreement if that at the end of the lists continues. rbo_min: if they have no further document in"
    " common. rbo_res: how much higher it could be."
)


@command()
def rbo(
    runs: list[Path],
    *,
    split: str | None = None,
    baseline: str | None = None,
    chosen: Annotated[
        dict[str, Any],
        Parameters("evaluation.run_overlap.rbo", "p depth"),
    ],
    by_query: bool = False,
    results: ResultFile,
) -> None:
    """Compare the rankings of runs with each other: one line per pair, with their rank-biased overlap.

    Example: pyterrier-cwla rbo runs/ --baseline bm25 --depth 100
    """
    from ..evaluation.run_overlap import VALUES
    from ..evaluation.run_overlap import rbo as overlap
    from ..rendering.tables import HEADS, Table, TableColumn

    files = runs_by_name(runs, split)
    results.check(runs)
    other = None if baseline is None else _file_of(baseline, files)
    compared = {name: file for name, file in files.items() if other is None or file != other}
    if not compared:
        raise BadParameter(f"--baseline {baseline}: it is the only run, so that there is nothing to compare with it.")
    with warnings_as_sentences() as warned:
        found = overlap(compared, other, by_query=by_query, **chosen).reset_index()
    if other is not None:
        found.insert(1, "other", next(name for name, file in files.items() if file == other))
    queries = "" if by_query else "Means over the topics of either run. "
    notes = [*warned, f"{queries}p = {chosen['p']:g}.", _ABOUT]
    columns = [TableColumn(HEADS.get(name, name), name, "number" if name in VALUES else "name") for name in found]
    shown = Table(frame=found, columns=columns, rows={"": found.to_dict("records")}, narrowest=12)
    results.write(shown, {"version": __version__, **chosen}, notes)


def _file_of(baseline: str, files: Mapping[str, Path]) -> Path:
    """Return the file of a run, given by its name or path."""
    for name, file in files.items():
        if baseline == name or Path(baseline) == file:
            return file
    raise BadParameter(f"--baseline {baseline}: no run has this name. {near(baseline, files)}")


_OF_SESSIONS = ("nDCG@10", "sDCG@10", "nsDCG@10", "esNDCG@10")


@command()
def sessions(
    judged: JudgedRuns,
    *,
    table: Path,
    judged_by: JudgedBy,
    measures: list[str] | None = None,
    given: MeasureOptions,
    by_session: bool = False,
    results: ResultFile,
) -> None:
    """Score search sessions: one line per run, with the mean of each measure over the sessions.

    Example: pyterrier-cwla sessions qrels.txt run.txt --sessions sessions.csv -m sDCG
    """
    from ..errors import speaking_of
    from ..measures.sessions import evaluate_sessions, of_sessions
    from .score_tables import measure_column, scores_table

    files = judged.files
    bound = given.bind(measures or _OF_SESSIONS, of_sessions)
    results.check([*judged.inputs, table, *bound.files])
    judgments, asked = judged.judgments, cells(table)
    columns = list(map(measure_column, bound.wanted))
    counts = [column.cell for column in columns if not column.digits]
    found: dict[str, pd.DataFrame] = {}
    for name, file in files.items():
        with speaking_of(judged.qrels, file):
            found[name] = evaluate_sessions(judgments, file, asked, bound.by_name, judged_by)
    notes = [*bound.notes, *judged.notes]
    if not by_session:
        notes.insert(0, _about_sessions(found, counts))
    origin = {**judged.origin, "sessions": displayed(str(table)), "judged_by": judged_by, **bound.origin}
    rows = _rows_of_sessions(found, counts, by_session)
    results.write(scores_table(rows, columns, "session"), origin, notes)


def _rows_of_sessions(found: dict[str, pd.DataFrame], counts: list[Any], by_session: bool) -> pd.DataFrame:
    """Return one row per run and session, or the means over sessions (the sums of counts) of each run."""
    import pandas as pd

    if by_session:
        return pd.concat(found, names=["run"]).reset_index()
    totals = {run: scores.agg({name: "sum" if name in counts else "mean" for name in scores})
              for run, scores in found.items()}  # fmt: skip
    return pd.DataFrame(totals).T.rename_axis(index="run").reset_index()


def _about_sessions(found: dict[str, pd.DataFrame], counts: list[Any]) -> str:
    number = len(next(iter(found.values())))
    return f"Means over {number:,} sessions" + (f"; sums of {', '.join(counts)}." if counts else ".")


@command()
def pages(run: Path, costs: Path, output: Path, force: bool = False) -> None:
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
