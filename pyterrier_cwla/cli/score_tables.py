"""Scores of run files, computed run by run, and the tables that show them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from ir_measures.measures import Measure

from .. import errors
from ..data.alignment import Judgments
from ..data.rows import Rows
from ..evaluation.driver import checked
from ..evaluation.score_cache import ScoreCache
from ..evaluation.scored import Scored
from ..evaluation.streaming import extras_of, values_of_files
from ..files.arrow_arrays import of_strings
from ..files.id_columns import written
from ..files.run_files import RunFiles, sources
from ..files.table_writers import TableData, records
from ..measures.counting import scores_of_unanswered
from ..measures.provider import CWLAEvaluator, aggregate_of
from ..measures.wrappers import residual_of
from ..rendering.notes import sentence
from ..rendering.tables import HEADS, SumRow, Table, TableColumn
from ..rendering.terminal import other_than_means


def measure_column(measure: Measure) -> TableColumn:
    """Return the column of a measure; counts, which are summed over queries, have no decimals."""
    return TableColumn("\n".join(_head_of(measure)), str(measure), digits=0 if aggregate_of(measure) == "sum" else 4)


def _head_of(measure: Measure) -> tuple[str, ...]:
    """Split a measure's text into short lines: CWLA / C=rbp(0.8) / A=max / max_rel=3. A label is one line."""
    if getattr(measure, "label", None) is not None:
        return (str(measure),)
    params = getattr(measure, "shown_params", measure.params)
    cutoff = f"@{params[measure.AT_PARAM]}" if measure.AT_PARAM in params else ""
    parameters = [f"{name}={value}" for name, value in params.items() if name != measure.AT_PARAM]
    return (f"{measure.NAME}{cutoff}", *parameters)


def scores_table(scores: TableData, columns: Sequence[TableColumn], part: str = "query_id") -> Table:
    """Return a table of scores, with means of the scores of the queries of each run, and sums of their counts.

    Parameters
    ----------
    scores : DataFrame, or dict of columns by name
        Columns ``run``, `part` for scores by query, and those of `columns`.
    columns : sequence of TableColumn
        Columns of the measures.
    part : str, default="query_id"
        Column with the parts of a run that have scores of their own: queries or sessions.
    """
    rows = records(scores)
    names = [TableColumn(HEADS.get(name, name), name, "name") for name in ("run", part) if name in scores]
    if part in scores:
        of_runs = [list(of_run) for _, of_run in groupby(rows, itemgetter("run"))]
        rows = [row for of_run in of_runs for row in (*of_run, _sums(of_run, columns, part))]
    return Table(frame=scores, columns=[*names, *columns], rows={"": rows})


def _sums(rows: Sequence[dict[Any, Any]], columns: Sequence[TableColumn], part: str) -> SumRow:
    """Return the sums of counts of one run, and the means of other values; missing values are left out."""
    sums: dict[Any, Any] = {"run": rows[0]["run"], part: f"all {len(rows)}"}
    for column in columns:
        known = [value for row in rows if not math.isnan(value := row[column.cell])]
        total = math.fsum(known)
        sums[column.cell] = total if not column.digits else total / len(known) if known else math.nan
    return SumRow(sums)


class FileScores:
    """Scores of run files: one table per run, and notes for readers.

    Parameters
    ----------
    qrels : Path
        File of the judgments, for error messages.
    judgments : Judgments
        Judgments in this file.
    measures : mapping of Measure to Measure
        Measures that are computed, by the measures that the tables name.

    Attributes
    ----------
    columns : list of TableColumn
        Columns of the measures.
    measures : dict of str to Measure
        Measures by the names of their columns.
    residuals : dict of str to str
        "a bound" or "no bound is known" for each residual.
    """

    def __init__(self, qrels: Path, judgments: Judgments, measures: Mapping[Measure, Measure]):
        self.qrels, self.judgments = qrels, judgments
        self.columns = list(map(measure_column, measures))
        self.measures = {str(named): measure for named, measure in measures.items()}
        self.residuals: dict[str, str] = {}
        self._unanswered: dict[str, int] = {}  # numbers of queries by run
        self._undefined: dict[str, dict[str, int]] = {}  # and by measure and run
        self._notes: dict[str, list[str]] = {}  # on runs scored so far with few judged documents

    def add_residuals(self, file: Path) -> list[str]:
        """Add the residual of each measure after its column; return notes on them, and on measures without a residual.

        Each residual is tried on the first query of ``file``.
        """
        source = sources({str(file): file})[0]
        measures, columns = list(self.measures.items()), self.columns
        self.measures, self.columns = {}, []
        notes, unbounded = [], []
        with errors.speaking_of(self.qrels, file):
            first = _of_one_query(self.judgments, beginning(source, extras_of(measure for _, measure in measures)))
            rows = Rows.from_run(first, self.judgments.index)
            for column, (name, measure) in zip(columns, measures, strict=True):
                self.measures[name] = measure
                self.columns.append(column)
                try:
                    residual = residual_of(measure)
                    if residual is None:
                        continue
                    CWLAEvaluator([residual], self.judgments).tables([rows])
                except (errors.BadParameter, errors.NoFiniteValue) as error:
                    why = str(error).removeprefix(f"no residual of {measure}: ")
                    notes.append(f"No residual of {name}: {why}")
                    continue
                self.measures[str(residual)] = residual
                self.residuals[str(residual)] = "a bound" if residual.is_a_bound else "no bound is known"
                self.columns.append(TableColumn("residual", str(residual), beside=True))
                if not residual.is_a_bound:
                    unbounded.append(name)
        if self.residuals:
            notes.append(
                "Residual: how much the score could rise if all documents were judged, also those after a list."
            )
        if unbounded:
            notes.append(
                f"No bound is known for {', '.join(unbounded)}: the residual is that of the best gain for all unjudged"
                " documents, and other judgments may raise the score by more."
            )
        return notes

    def tables(
        self, files: Iterable[tuple[str, Path]], by_query: bool, cache_dir: Path | None, progress: bool
    ) -> Iterator[TableData]:
        """Yield one table per run: one row, or one row per query.

        Raises
        ------
        BadRun
            If a run contains none of the judged queries.
        """
        with errors.speaking_of(self.qrels, None):
            evaluator = CWLAEvaluator(list(self.measures.values()), self.judgments)
        cache = None if cache_dir is None else ScoreCache(cache_dir, evaluator)
        for scored in checked(self._scored(evaluator, files, cache, progress), self._notice):
            if lacking := int((~scored.answered).sum()):
                self._unanswered[scored.run] = lacking
            values = scored.values if by_query else {m: [v] for m, v in evaluator.means(scored.values).items()}
            queries = self.judgments.qids
            ids = {"run": [scored.run] * len(queries), "query_id": queries} if by_query else {"run": [scored.run]}
            for name, measure in self.measures.items():
                if without := int(np.isnan(scored.values[measure]).sum()):
                    self._undefined.setdefault(name, {})[scored.run] = without
            yield ids | {name: values[measure] for name, measure in self.measures.items()}

    def about_queries(self, by_query: bool) -> str:
        """Return a sentence on the number of queries, and on runs that lack some of them."""
        queries = len(self.judgments.qids)
        what = f"the {queries:,} judged topics" if queries > 1 else "the one judged topic"
        kinds = {name: aggregate_of(measure) for name, measure in self.measures.items()}
        text = f"Scores of {what}." if by_query else f"Means over {what}{other_than_means(kinds)}."
        if self._unanswered:
            scores = scores_of_unanswered(map(repr, self.measures.values()))
            text += f" Topics that a run does not answer {scores}: {_first(self._unanswered)}."
        for name, runs in self._undefined.items():
            effect = "" if by_query else ", which the means leave out"
            text += f" {name} has no value for some topics{effect}: {_first(runs)}."
        return text

    def _scored(
        self, evaluator: CWLAEvaluator, files: Iterable[tuple[str, Path]], cache: ScoreCache | None, progress: bool
    ) -> Iterator[Scored]:
        for name, file in files:
            with errors.speaking_of(self.qrels, file):
                for scored in values_of_files(evaluator, sources({str(file): file}), progress, cache):
                    yield scored._replace(run=name) if scored.run == str(file) else scored

    def _notice(self, scored: Scored, about: str) -> None:
        if scored.overlap.apart is not None:
            retrieved, judged = map(errors.some, scored.overlap.apart)
            raise errors.BadRun(
                f"{scored.place}: no query in common with {self.qrels}: the run has {retrieved}, the judgments"
                f" {judged}."
            )
        self._notes.setdefault(scored.run, []).append(sentence(about))

    def notes_on_runs(self, most: int) -> list[str]:
        """Return the notes on the first runs that have some, and how many more runs have some."""
        notes = [*self._notes.values()]
        more = [f"{len(notes) - most:,} more runs have such notes."] if len(notes) > most else []
        return [*chain.from_iterable(notes[:most]), *more]


def _first(counts: Mapping[str, int]) -> str:
    """Return the first three runs with their counts."""
    shown = [f"{run} ({count:,})" for run, count in counts.items()]
    return ", ".join(shown[:3]) + ", …" * (len(shown) > 3)


def beginning(source: RunFiles, extras: list[str]) -> pa.Table:
    """Return the first rows of the first run of a source: the first chunk that is read."""
    table = next((table for part in source.parts for table in part.tables(extras)), None)
    if table is None:
        raise source.empty
    return table.filter(pc.equal(table["run"], table["run"][0]))


def _of_one_query(judgments: Judgments, run: pa.Table) -> pa.Table:
    query = next((query for query in pc.unique(run["query_id"]).to_pylist() if query in judgments.index), None)
    queries = of_strings([] if query is None else [query])
    return run.filter(pc.is_in(written(run["query_id"]), value_set=queries))
