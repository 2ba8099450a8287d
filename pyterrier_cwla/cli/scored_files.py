"""Scores of run files, computed run by run, as the command line shows and writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from ir_measures.measures import Measure

from .. import errors
from ..data.alignment import Judgments, Rows
from ..evaluation.driver import checked
from ..evaluation.score_cache import ScoreCache
from ..evaluation.scored import Scored
from ..evaluation.streaming import extras_of, values_of_files
from ..files.arrow_arrays import of_strings
from ..files.id_columns import written
from ..files.run_files import Source, sources
from ..files.table_writers import Table
from ..measures.provider import CWLAEvaluator, aggregate_of
from ..measures.search_length import scores_of_unanswered
from ..measures.wrappers import residual_of
from ..rendering.terminal import other_than_means, sentence
from .score_tables import Column


class FileScores:
    """Scores of run files: one table per run, and notes for readers.

    Parameters
    ----------
    qrels : Path
        File of the judgments, for error messages.
    judgments : Judgments
        Judgments in this file.
    columns : sequence of Column
        Columns of the tables.
    measures : sequence of Measure
        Measure of each column.
    """

    def __init__(self, qrels: Path, judgments: Judgments, columns: Sequence[Column], measures: Sequence[Measure]):
        self.qrels, self.judgments = qrels, judgments
        self.columns, self.measures = list(columns), list(measures)
        self._unanswered: list[tuple[str, int]] = []
        self._undefined: dict[str, dict[str, int]] = {}  # numbers of queries by measure and run
        self.notes: list[str] = []
        """Notes on runs scored so far with few judged documents."""

    def add_residuals(self, file: Path) -> list[str]:
        """Add the residual of each measure after its column; return notes on measures without a residual.

        Each residual is tried on the first query of ``file``.
        """
        source = sources({str(file): file})[0]
        with errors.speaking_of(self.qrels, file):
            first = _of_one_query(self.judgments, beginning(source, extras_of(self.measures)))
            rows = Rows(self.judgments, first)
            self.columns, self.measures, notes = _with_residuals(self.columns, self.measures, rows)
        return notes

    def tables(
        self, files: Iterable[tuple[str, Path]], by_query: bool, cache_dir: Path | None, progress: bool
    ) -> Iterator[Table]:
        """Yield one table per run: one row, or one row per query.

        Raises
        ------
        BadRun
            If a run contains none of the judged queries.
        """
        with errors.speaking_of(self.qrels, None):
            evaluator = CWLAEvaluator(self.measures, self.judgments)
        cache = None if cache_dir is None else ScoreCache(cache_dir, evaluator)
        for scored in checked(self._scored(evaluator, files, cache, progress), self._notice):
            lacking = int((~scored.answered).sum())
            self._unanswered += [(scored.run, lacking)] if lacking else []
            values = scored.values if by_query else {m: [v] for m, v in evaluator.means(scored.values).items()}
            queries = self.judgments.qids
            ids = {"run": [scored.run] * len(queries), "query_id": queries} if by_query else {"run": [scored.run]}
            for column, measure in zip(self.columns, self.measures, strict=True):
                if without := int(np.isnan(scored.values[measure]).sum()):
                    self._undefined.setdefault(column.name, {})[scored.run] = without
            named = {c.name: values[m] for c, m in zip(self.columns, self.measures, strict=True)}
            yield {**ids, **named}

    def about_queries(self, by_query: bool) -> str:
        """Return a sentence on the number of queries, and on runs that lack some of them."""
        queries = len(self.judgments.qids)
        what = f"the {queries:,} judged queries" if queries > 1 else "the one judged query"
        kinds = {column.name: aggregate_of(m) for column, m in zip(self.columns, self.measures, strict=True)}
        text = f"Scores of {what}." if by_query else f"Means over {what}{other_than_means(kinds)}."
        if self._unanswered:
            some = ", ".join(f"{name} ({lacking})" for name, lacking in self._unanswered[:3])
            more = ", …" if len(self._unanswered) > 3 else ""
            scores = scores_of_unanswered(map(repr, self.measures))
            text += f" Queries that a run does not answer {scores}: {some}{more}."
        for name, runs in self._undefined.items():
            without = ", ".join(f"{run} ({count:,})" for run, count in list(runs.items())[:3])
            more = ", …" if len(runs) > 3 else ""
            effect = "" if by_query else ", which the means leave out"
            text += f" {name} has no value for some queries{effect}: {without}{more}."
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
        self.notes.append(sentence(about))


def beginning(source: Source, extras: list[str]) -> pa.Table:
    """Return the first rows of the first run of a source: the first chunk that is read."""
    table = next((table for part in source.parts for table in part.tables(extras)), None)
    if table is None:
        raise source.empty
    return table.filter(pc.equal(table["run"], table["run"][0]))


def _of_one_query(judgments: Judgments, run: pa.Table) -> pa.Table:
    query = next((query for query in pc.unique(run["query_id"]).to_pylist() if query in judgments.index), None)
    queries = of_strings([] if query is None else [query])
    return run.filter(pc.is_in(written(run["query_id"]), value_set=queries))


def _with_residuals(
    columns: list[Column], measures: list[Measure], rows: Rows
) -> tuple[list[Column], list[Measure], list[str]]:
    """Columns and measures with their residuals, and notes on measures whose residual fails on these rows."""
    pairs, notes = [], []
    for column, measure in zip(columns, measures, strict=True):
        pairs.append((column, measure))
        try:
            residual = residual_of(measure)
            if residual is None:
                continue
            CWLAEvaluator([residual], rows.judgments).tables([rows])
        except (errors.BadParameter, errors.NoFiniteValue) as error:
            notes.append(f"No residual of {column.name}: {str(error).removeprefix(f'no residual of {measure}: ')}")
            continue
        bounded = residual.is_a_bound
        kind, lines = ("a bound", ["a bound"]) if bounded else ("no bound is known", ["no bound", "is known"])
        pairs.append((Column(str(residual), ("residual:", *lines), residual=kind), residual))
    return [column for column, _ in pairs], [measure for _, measure in pairs], notes
