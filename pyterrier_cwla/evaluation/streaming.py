"""Scores of runs in files of any size, read table by table in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby, islice
from typing import Any

import numpy as np
import pyarrow as pa
from ir_measures.measures import Measure

from ..data.alignment import Aligned, JointRows, Overlap, Rows
from ..data.columns import Columns, distinct
from ..data.lengths import COST, LENGTH
from ..errors import BadRun, CWLAError, MalformedFile, MissingLength, MissingSeconds, naming
from ..files import id_columns
from ..files.arrow_arrays import of_numbers, of_strings, to_numpy
from ..files.formats import run_with
from ..files.inputs import RunNames, runs_by_name
from ..files.memory_limit import NoRoom, has_room, limit_for
from ..files.run_files import EXTRAS, Source, sources
from ..files.table_readers import is_text
from ..measures.of_ir_measures import needs_of
from ..measures.provider import CWLAEvaluator
from ..tasks.parallel import ahead
from ..tasks.progress import counted
from .row_counts import Array, Counts, Segments, codes_and_names
from .score_cache import ScoreCache
from .scored import Scored, in_groups, whole_runs

_RANKINGS = 1 << 20  # most rankings of several runs that are scored together
BUFFER_ROWS = 1_000_000
"""Default number of rows of incomplete queries that are held at a time."""


def values_of_files(
    evaluator: CWLAEvaluator, files: Iterable[Source], progress: bool = False, cache: ScoreCache | None = None
) -> Iterator[Scored[Measure]]:
    """Yield the scores of runs in files, from the cache where possible."""
    if cache is not None:
        for source in files:
            yield from cache.of_source(source, partial(values_of_files, files=[source], progress=progress))
        return
    for small, some_files in groupby(files, lambda source: source.is_small):
        yield from (_values_of_small if small else _values_of_large)(evaluator, some_files, progress)


def _values_of_small(evaluator: CWLAEvaluator, files: Iterable[Source], progress: bool) -> Iterator[Scored[Measure]]:
    """Yield the scores of small files, several runs at a time, since the cost is per run rather than per row.

    Files that exceed the memory limit once they are decompressed are read table by table.
    """
    files, more = iter(files), True
    while more:
        read: list[Source] = []
        too_large: list[Source] = []
        extras = extras_of(evaluator.measures)
        try:
            yield from in_groups(evaluator, _read_whole(files, extras, read, too_large))
        except BadRun:
            for source in read:  # the error of a file with a repeated document names the line
                run_with(source.parts[0].path, extras)
            raise
        yield from _values_of_large(evaluator, too_large, progress)
        more = bool(too_large)


def extras_of(measures: Iterable[Measure]) -> list[str]:
    """Return the columns of a run that measures need besides ids and scores."""
    needs = [needs_of(measure) for measure in measures]
    extras = {
        "doc_length": any(need.lengths in ("run", "default") for need in needs),
        "duplicate_of": any(need.duplicates == "run" for need in needs),
        "doc_seconds": any(need.seconds == "run" for need in needs),
    }
    return [name for name, read in extras.items() if read]


def _read_whole(
    files: Iterator[Source], extras: list[str], read: list[Source], too_large: list[Source]
) -> Iterator[tuple[str, pa.Table, str]]:
    """Yield names, runs and places, up to the first file that exceeds the memory limit.

    Repeated documents are found when the run is aligned.
    """
    for source in files:
        try:
            run = run_with(source.parts[0].path, extras, check=False)
            read.append(source)
        except NoRoom:
            too_large.append(source)
            return
        yield str(source.name), run, str(source)


def _values_of_large(evaluator: CWLAEvaluator, files: Iterable[Source], progress: bool) -> Iterator[Scored[Measure]]:
    if any(needs.mean_length or needs.mean_seconds for needs in map(needs_of, evaluator.measures)):
        for source in files:
            for run, table in runs_of(source, extras_of(evaluator.measures)):
                with naming(run):
                    rows = Rows(evaluator.judgments, table)
                    yield Scored(run, evaluator.tables([rows])[0], rows.answered, rows.overlap, str(source))
        return
    for source in files:
        yield from whole_runs(Reading(source, evaluator).scores(progress=progress), len(evaluator.judgments.qids))


def separate_runs(runs: Any) -> dict[str, Any]:
    """Return runs by name; the runs of a file with a column ``run`` are read and separated, and others are as given.

    Raises
    ------
    BadRun
        If two runs have the same name.
    """
    names = RunNames()
    found: dict[str, Any] = {}
    for name, run in runs_by_name(runs).items():
        each: Iterable[tuple[str, Any]] = [(str(name), run)]
        place = ""
        if isinstance(run, str | os.PathLike):
            source = sources({str(name): run})[0]
            place = str(source)
            each = each if source.name is not None else runs_of(source, EXTRAS)
        for one, rows in each:
            names.add(one, place)
            found[one] = rows
    return found


def runs_of(source: Source, extras: Collection[str]) -> Iterator[tuple[str, pa.Table]]:
    """Yield the names and all rows of the runs of a source."""
    tables: list[pa.Table] = []
    size = 0
    for part in source.parts:
        for table in part.tables(extras):
            tables.append(_in_words(table))
            size += tables[-1].nbytes
            if not has_room(size):
                raise MalformedFile(
                    f"{source}: {size:,} bytes or more once it is unpacked. missing='mean' and studies need whole runs,"
                    " which exceed the memory limit: give a table, or set another limit, such as"
                    f" {limit_for(size)}."
                )
    if not any(map(len, tables)):
        raise source.empty
    source.check_unchanged()
    rows = joined(tables)
    number, runs = codes_and_names(rows["run"], np.arange(len(rows)))
    if len(runs) > 1:
        rows = rows.take(of_numbers(np.argsort(number, kind="stable")))
    ends = np.cumsum(np.bincount(number))
    for run, start, end in zip(runs.to_pylist(), [0, *ends], ends):
        yield run, rows.slice(start, end - start)


class Reading:
    """Evaluation of a source: its rows are counted first, and then scored in one or several passes."""

    def __init__(self, source: Source, evaluator: CWLAEvaluator) -> None:
        source.check_unchanged()
        self.source, self.evaluator = source, evaluator
        self.extras = extras_of(evaluator.measures)
        alone = list(islice(self.tables(), 2)) if len(source.parts) == 1 else []
        self.alone = alone if len(alone) == 1 else []
        self.counts = Counts.total(map(Counts.of_table, alone) if self.alone else map(Counts.of, source.parts))
        if not len(self.counts):
            raise source.empty

    def tables(self) -> Generator[pa.Table, None, None]:
        """Yield the tables of the source."""
        for part in self.source.parts:
            yield from part.tables(self.extras)

    def scores(self, buffer_rows: int = BUFFER_ROWS, progress: bool = False) -> Iterator[Scored[Measure]]:
        """Yield the scores of judged queries as they are ready; unanswered queries come at the end."""
        scoring = TableScores(self.evaluator, self.counts)
        turn = self.counts.turns(buffer_rows)
        passes = int(turn.max()) + 1
        with counted(progress, "evaluating", passes * len(self.counts), "rows") as done:
            for number in range(passes):
                held, rows = _Held(scoring, turn == number), 0
                for table in self.alone or ahead(self.tables()):
                    with naming(str(self.source)):
                        if number == 0:
                            scores, rest = scoring.complete(table)
                            yield from self._placed(scores)
                        else:
                            rest = scoring.incomplete(table)
                        yield from self._placed(held.add(rest))
                    rows += len(table)
                    done(len(table))
                if held.rows or rows != len(self.counts):
                    raise _changed(f"{self.source}: {rows:,} rows, and {len(self.counts):,} were counted")
                self.source.check_unchanged()
        yield from self._placed(map(scoring.unanswered, self.counts.runs.to_pylist()))

    def _placed(self, scores: Iterable[Scored[Measure]]) -> Iterator[Scored[Measure]]:
        return (scored._replace(place=str(self.source)) for scored in scores)


class TableScores:
    """Scores of queries in tables with the columns run, query_id, doc_id and score.

    A query is scored when all its rows are in one table, or in several tables that are joined.

    Attributes
    ----------
    overlaps : dict of Overlap
        Overlap of each run with the judgments, for the rows scored so far.
    """

    def __init__(self, evaluator: CWLAEvaluator, counts: Counts) -> None:
        self.evaluator, self.judgments, self.counts = evaluator, evaluator.judgments, counts
        self.overlaps: dict[str, Overlap] = {}

    def complete(self, table: pa.Table) -> tuple[list[Scored[Measure]], pa.Table]:
        """Return the scores of the queries that are complete in this table, and the rows of the other queries.

        Raises
        ------
        MalformedFile
            If there are rows that were not counted.
        BadRun
            If a document is retrieved twice.
        """
        segments = Segments(table)
        complete = self._are_complete(segments)
        rest = _in_words(segments.only(~complete, table))
        rankings = len(segments.runs) * len(self.judgments.qids)
        if self.evaluator.reads_ranks_only and len(segments.runs) > 1 and rankings < _RANKINGS and complete.any():
            with suppress(CWLAError):  # the errors below name the run
                return self._jointly(segments.only(complete, table)), rest
        scores = []
        for number, run in enumerate(segments.runs.to_pylist()):
            mine = segments.only(complete & (segments.run == number), table)
            if len(mine):
                scores.append(self._scores(run, mine))
        return scores, rest

    def _jointly(self, table: pa.Table) -> list[Scored[Measure]]:
        """Return the scores of queries of several runs, which are aligned together."""
        segments = Segments(table)
        if len(distinct(segments.pairs)) < len(segments.pairs):  # rows of a query are not consecutive
            order = np.argsort(np.repeat(segments.pairs, segments.sizes), kind="stable")
            table = table.take(of_numbers(order))
            segments = Segments(table)
        queries, runs = segments.queries.to_pylist(), segments.runs.to_pylist()
        names = [queries[number] for number in segments.query.tolist()]
        rows = JointRows(self.judgments, _columns(table), segments.starts, names, segments.run, len(runs), check=True)
        aligned = Aligned([rows])
        try:
            values = {m: found.reshape(len(runs), -1) for m, found in self.evaluator.values(aligned).items()}
            for run, overlap in zip(runs, rows.overlaps, strict=True):
                self.overlaps[run] = self.overlaps.get(run, Overlap()) + overlap
            return [
                self._scored(run, np.flatnonzero(answered), {m: found[number] for m, found in values.items()})
                for number, (run, answered) in enumerate(zip(runs, rows.answered_by_run, strict=True))
            ]
        finally:
            aligned.release()

    def incomplete(self, table: pa.Table) -> pa.Table:
        """Return the rows of the queries that are not complete in this table."""
        segments = Segments(table)
        return _in_words(segments.only(~self._are_complete(segments), table))

    def together(self, tables: Sequence[pa.Table]) -> list[Scored[Measure]]:
        """Return the scores of the queries of these tables, which must be complete in the joined tables."""
        scores, rest = self.complete(joined(tables))
        if len(rest):
            raise _changed(f"{rest['run'][0].as_py()}: query {rest['query_id'][0].as_py()!r} has fewer rows")
        return scores

    def unanswered(self, run: str) -> Scored[Measure]:
        """Return the scores of the judged queries that a run does not answer; these are the last of the run."""
        queries = self.counts.of_run(run)[0]
        answered = id_columns.places(of_strings(self.judgments.qids), queries) >= 0
        overlap = self.overlaps.get(run, Overlap())
        if len(answered) and not answered.any():
            overlap = Overlap(apart=(queries[:4].to_pylist(), self.judgments.qids[:4]))
        return self._scored(run, np.flatnonzero(~answered), self.evaluator.unanswered)._replace(
            answered=answered, overlap=overlap, last=True
        )

    def _are_complete(self, segments: Segments) -> Array:
        place = self.counts.places(segments)
        if (place < 0).any():
            at = int(np.flatnonzero(place < 0)[0])
            raise _changed(f"{segments.name(at)} was not there")
        rows = np.bincount(place, segments.sizes, len(self.counts.rows)).astype(np.int64)
        more = rows > self.counts.rows
        if more.any():
            at = int(np.flatnonzero(more[place])[0])
            raise _changed(f"{segments.name(at)} has more rows")
        return (rows == self.counts.rows)[place]

    def _scores(self, run: str, table: pa.Table) -> Scored[Measure]:
        with naming(run):
            aligned = Aligned([rows := Rows(self.judgments, _columns(table))])
            try:
                values = self.evaluator.values(aligned)
                self.overlaps[run] = self.overlaps.get(run, Overlap()) + rows.overlap
                return self._scored(run, rows.query[rows.query >= 0], values)
            finally:
                aligned.release()

    def _scored(self, run: str, queries: Array, values: dict[Measure, Array]) -> Scored[Measure]:
        of_queries = {measure: of_all[queries] for measure, of_all in values.items()}
        return Scored(run, of_queries, np.zeros(0, bool), queries=queries, last=False)


class _Held:
    """Buffer of rows of incomplete queries that are collected in this pass."""

    def __init__(self, scoring: TableScores, mine: Array) -> None:
        self.scoring, self.counts, self.mine = scoring, scoring.counts, mine
        self.missing = self.counts.rows.copy()
        self.tables: list[pa.Table] = []
        self.rows = self.ready = 0

    def add(self, table: pa.Table) -> list[Scored[Measure]]:
        """Add rows; score the complete queries as soon as they hold a quarter of the buffered rows."""
        if not len(table):
            return []
        segments = Segments(table)
        place = self.counts.places(segments)
        mine = self.mine[place]
        if not mine.all():
            table = segments.only(mine, table)
        np.subtract.at(self.missing, place[mine], segments.sizes[mine])
        touched = np.unique(place[mine])
        self.ready += int(self.counts.rows[touched[self.missing[touched] == 0]].sum())
        self.tables.append(table)
        self.rows += len(table)
        if not self.ready or 4 * self.ready < self.rows:
            return []
        scores, rest = self.scoring.complete(joined(self.tables))
        self.tables, self.rows, self.ready = [rest], len(rest), 0
        return scores


def _columns(table: pa.Table) -> Columns:
    """Return the columns of a run, with at most one dictionary per column."""
    query_id, doc_id = (
        (id_columns.of_one_dictionary if id_columns.are_encoded(column) else id_columns.written)(column)
        for column in (table["query_id"], table["doc_id"])
    )
    has_length, has_original, has_seconds = (name in table.column_names for name in EXTRAS)
    return Columns(
        query_id,
        doc_id,
        to_numpy(table["score"]),
        to_numpy(table["doc_length"]) if has_length else None,
        id_columns.written(table["duplicate_of"]) if has_original else None,
        doc_seconds=to_numpy(table["doc_seconds"]) if has_seconds else None,
    )


def joined(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the rows of all tables; columns that a table does not have, such as lengths, are null in its rows."""
    return pa.concat_tables(tables, promote_options="default")


def _in_words(table: pa.Table) -> pa.Table:
    """Return the table with ids as plain strings instead of dictionary codes."""
    return pa.table(
        {
            name: id_columns.written(column) if is_text(column.type) else column
            for name, column in zip(table.column_names, table.columns)
        }
    )


def refuse_mean_lengths(measures: Iterable[Measure]) -> None:
    """Raise MissingLength for a measure that needs the mean length, or the mean cost, of a whole run."""
    for measure in measures:
        needs = needs_of(measure)
        if needs.mean_length or needs.mean_seconds:
            quantity, error = (LENGTH, MissingLength) if needs.mean_length else (COST, MissingSeconds)
            raise error(
                f"{measure} needs the mean {quantity.noun} of a whole run, and runs are read in parts here: give"
                f" {quantity.parameter}=, a table, or evaluate the run as a frame."
            )


def _changed(what: str) -> MalformedFile:
    return MalformedFile(f"{what} when the rows were counted: a file has changed since. Evaluate it again.")
