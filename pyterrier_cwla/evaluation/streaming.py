"""Scores of runs in files of any size, read table by table in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby, islice
from typing import Any

import numpy as np
import pyarrow as pa
from ir_measures.measures import Measure

from ..data.alignment import Overlap
from ..data.columns import Array, Columns, distinct
from ..data.rows import Rows
from ..errors import BadRun, CWLAError, MalformedFile, naming
from ..files import id_columns
from ..files.arrow_arrays import is_text, of_numbers, of_strings, to_numpy
from ..files.atomic import is_path
from ..files.formats import run_with
from ..files.inputs import refuse_same_name, runs_by_name
from ..files.memory_limit import NoRoom, has_room, limit_for
from ..files.run_files import EXTRAS, RunFiles, RunPart, sources
from ..measures.declarations import needs_of
from ..measures.provider import CWLAEvaluator
from ..tasks.parallel import ahead
from ..tasks.progress import counted
from .score_cache import ScoreCache
from .scored import Scored, in_groups, whole_runs

_RANKINGS = 1 << 20  # most rankings of several runs that are scored together


def values_of_files(
    evaluator: CWLAEvaluator, files: Iterable[RunFiles], progress: bool = False, cache: ScoreCache | None = None
) -> Iterator[Scored]:
    """Yield the scores of runs in files, from the cache where possible."""
    if cache is not None:
        for source in files:
            yield from cache.of_source(source, partial(values_of_files, files=[source], progress=progress))
        return
    for small, some_files in groupby(files, lambda source: source.is_small):
        yield from (_values_of_small if small else _values_of_large)(evaluator, some_files, progress)


def _values_of_small(evaluator: CWLAEvaluator, files: Iterable[RunFiles], progress: bool) -> Iterator[Scored]:
    """Yield the scores of small files, several runs at a time, since the cost is per run rather than per row.

    Files that exceed the memory limit once they are decompressed are read table by table.
    """
    files, more = iter(files), True
    while more:
        read: list[RunFiles] = []
        too_large: list[RunFiles] = []
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
        "doc_cost": any(need.costs == "run" for need in needs),
    }
    return [name for name, read in extras.items() if read]


def _read_whole(
    files: Iterator[RunFiles], extras: list[str], read: list[RunFiles], too_large: list[RunFiles]
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


def _values_of_large(evaluator: CWLAEvaluator, files: Iterable[RunFiles], progress: bool) -> Iterator[Scored]:
    if any(needs.mean_of for needs in map(needs_of, evaluator.measures)):
        for source in files:
            runs = runs_of(source, extras_of(evaluator.measures))
            yield from in_groups(evaluator, ((run, table, str(source)) for run, table in runs))
        return
    for source in files:
        yield from whole_runs(scores_of(source, evaluator, progress), len(evaluator.judgments.qids))


def separate_runs(runs: Any) -> dict[str, Any]:
    """Return runs by name; the runs of a file with a column ``run`` are read and separated, and others are as given.

    Raises
    ------
    BadRun
        If two runs have the same name.
    """
    places: dict[str, str] = {}
    found: dict[str, Any] = {}
    for name, run in runs_by_name(runs).items():
        each: Iterable[tuple[str, Any]] = [(str(name), run)]
        place = ""
        if is_path(run):
            source = sources({str(name): run})[0]
            place = str(source)
            each = each if source.name is not None and len(source.paths) == 1 else runs_of(source, EXTRAS)
        for one, rows in each:
            refuse_same_name(one, place, places)
            found[one], places[one] = rows, place
    return found


def runs_of(source: RunFiles, extras: Collection[str]) -> Iterator[tuple[str, pa.Table]]:
    """Yield the names and all rows of the runs of a source."""
    rows = _whole(source, extras, "Studies, and means in place of missing lengths, need whole runs: give a table")
    source.check_unchanged()
    number, runs = codes_and_names(rows["run"], np.arange(len(rows)))
    if len(runs) > 1:
        rows = rows.take(of_numbers(np.argsort(number, kind="stable")))
    ends = np.cumsum(np.bincount(number))
    for run, start, end in zip(runs.to_pylist(), [0, *ends], ends):
        yield run, rows.slice(start, end - start)


def _whole(source: RunFiles, extras: Collection[str], way_out: str) -> pa.Table:
    """Return all rows; raise MalformedFile if there are none, and with a way out if they exceed the memory limit."""
    tables: list[pa.Table] = []
    size = 0
    for _, table in _tables(source, extras):
        tables.append(in_words(table))
        size += tables[-1].nbytes
        if not has_room(size):
            raise MalformedFile(
                f"{source}: {size:,} bytes or more once it is unpacked, which exceed the memory limit. {way_out}, or"
                f" set another limit, such as {limit_for(size)}."
            )
    if not tables:
        raise source.empty
    return joined(tables)


def _tables(source: RunFiles, extras: Collection[str]) -> Generator[tuple[RunPart, pa.Table], None, None]:
    """Yield the tables of a source, each with the part that it is read from."""
    for part in source.parts:
        for table in part.tables(extras):
            if len(table):
                yield part, table


def scores_of(source: RunFiles, evaluator: CWLAEvaluator, progress: bool) -> Iterator[Scored]:
    """Yield the scores of the judged queries of a source as they are ready; unanswered queries come at the end.

    Raises
    ------
    MalformedFile
        If the source is larger than the memory limit and the rows of a query of a run are not consecutive, or if a file
        changes while it is read.
    """

    def pieces() -> Iterator[Scored]:
        source.check_unchanged()
        for table in _of_complete_queries(source, evaluator, progress):
            with naming(str(source)):
                scores = scores_of_queries(evaluator, table)
            yield from scores
        source.check_unchanged()

    scored = None
    for scored in with_unanswered(pieces(), evaluator.unanswered, len(evaluator.judgments.qids)):
        yield scored._replace(place=str(source))
    if scored is None:
        raise source.empty


def _of_complete_queries(source: RunFiles, evaluator: CWLAEvaluator, progress: bool) -> Iterator[pa.Table]:
    """Yield the rows of a source as tables that have all rows of their judged queries."""
    extras = extras_of(evaluator.measures)
    if source.fits:
        first = list(islice(_tables(source, extras), 2)) if len(source.parts) == 1 else []
        if len(first) == 1:
            yield first[0][1]
            return
        order = Order(evaluator.judgments.qids)
        ids = (table for part in source.parts for table in part.ids() if len(table))
        if any(order.add(Segments(table))[1] is not None for table in ids):
            yield _whole(source, extras, f"The rows of a query are not consecutive: sort them, {source.sort_command}")
            return
    order, before = Order(evaluator.judgments.qids), Counter[str]()
    held: list[pa.Table] = []  # the rows of the last query of the tables before
    with counted(progress, "evaluating", sum(part.work for part in source.parts), "rows") as done:
        for part, table in ahead(_tables(source, extras)):
            segments = Segments(table)
            continues, again = order.add(segments)
            if again is not None:
                raise _scattered(source, part, before[part.path] + int(segments.starts[again]), segments, again)
            begin, last = int(segments.sizes[0]) * continues, int(segments.starts[-1])
            if continues:
                held.append(in_words(table.slice(0, begin)))
            if last >= begin:  # another query begins in this table
                yield from [joined(held)] if held else []
                yield from [table.slice(begin, last - begin)] if last > begin else []
                held = [in_words(table.slice(last))]
            before[part.path] += len(table)
            done(len(table))
    yield from [joined(held)] if held else []


def _scattered(source: RunFiles, part: RunPart, row: int, segments: Segments, number: int) -> MalformedFile:
    run, query = segments.ids(number)
    return MalformedFile(
        f"{part.path}: row {row + 1:,}: query {query!r} of run {run!r} continues here, after rows of other queries."
        f" {source} is larger than the memory limit, and is read in parts: the rows of a query must be one after the"
        f" other. Sort them, or use the cluster: {source.sort_command}"
    )


class Order:
    """Search for judged queries of runs whose rows are not consecutive in a sequence of tables."""

    def __init__(self, qids: Sequence[str]) -> None:
        self._qids = of_strings(qids)
        self._seen: dict[str, Array] = {}
        self._last: tuple[str, str] | None = None

    def add(self, segments: Segments) -> tuple[bool, int | None]:
        """Add the next table.

        Returns
        -------
        bool
            Whether its first segment continues the last one of the table before.
        int or None
            The first segment of a query that other segments separate from its earlier rows.
        """
        first, last = segments.ids(0), segments.ids(len(segments.starts) - 1)
        continues, self._last = first == self._last, last
        query = id_columns.places(segments.queries, self._qids)[segments.query]
        query[: int(continues)] = -1
        found = []
        for number, run in enumerate(segments.runs.to_pylist()):
            seen = self._seen.setdefault(run, np.zeros(len(self._qids), bool))
            mine = np.flatnonzero((segments.run == number) & (query >= 0))
            again = seen[query[mine]]
            new = np.zeros(len(mine), bool)
            new[np.unique(query[mine], return_index=True)[1]] = True
            found += mine[again | ~new][:1].tolist()
            seen[query[mine]] = True
        return continues, min(found, default=None)


def scores_of_queries(evaluator: CWLAEvaluator, table: pa.Table) -> list[Scored]:
    """Return the scores of the queries of a table with all their rows, in any order; one element for each run.

    Raises
    ------
    BadRun
        If a document is retrieved twice.
    """
    segments, index = Segments(table), evaluator.judgments.index
    runs = segments.runs.to_pylist()
    if evaluator.reads_ranks_only and len(runs) > 1 and len(runs) * len(index) < _RANKINGS:
        with suppress(CWLAError):  # the errors below name the run
            return _scores_of_rows(evaluator, runs, _rows_of_runs(table, index))
    found = []
    for number, run in enumerate(runs):
        with naming(run):
            rows = Rows.from_run(_columns(segments.only(segments.run == number, table)), index)
            found += _scores_of_rows(evaluator, [run], rows)
    return found


def _rows_of_runs(table: pa.Table, index: Mapping[str, int]) -> Rows:
    """Return the rows of several runs, which are aligned together."""
    segments = Segments(table)
    if len(distinct(segments.pairs)) < len(segments.pairs):  # rows of a query are not consecutive
        table = table.take(of_numbers(np.argsort(np.repeat(segments.pairs, segments.sizes), kind="stable")))
        segments = Segments(table)
    queries = segments.queries.to_pylist()
    names = [queries[number] for number in segments.query.tolist()]
    more: Any = {"run": segments.run, "runs": len(segments.runs), "check": True}
    return Rows(_columns(table), segments.starts, names, index, **more)


def _scores_of_rows(evaluator: CWLAEvaluator, runs: Sequence[str], rows: Rows) -> list[Scored]:
    try:
        tables, overlaps = evaluator.tables([rows]), evaluator.judgments.overlaps_of_parts(rows)
        answered = map(np.flatnonzero, rows.answered)
    finally:
        # Rankings and their views refer to each other: Python would free them only at the next garbage collection.
        vars(rows).clear()
    return [
        Scored(run, {measure: values[queries] for measure, values in table.items()}, np.zeros(0, bool),
               overlap, queries=queries, last=False)
        for run, table, overlap, queries in zip(runs, tables, overlaps, answered, strict=True)
    ]  # fmt: skip


def with_unanswered(pieces: Iterable[Scored], unanswered: Mapping[Any, Array], queries: int) -> Iterator[Scored]:
    """Yield the scores of some queries, and at the end, for each run, those of the queries that it does not answer.

    Parameters
    ----------
    pieces : iterable of Scored
        Scores of the answered queries of runs, each with the overlap of its queries.
    unanswered : mapping of ndarray
        Values of the judged queries for an empty ranking.
    queries : int
        Number of judged queries.
    """
    answered: dict[str, Array] = {}
    overlaps: dict[str, Overlap] = {}
    for piece in pieces:
        answered.setdefault(piece.run, np.zeros(queries, bool))[piece.queries] = True
        overlaps[piece.run] = overlaps[piece.run] + piece.overlap if piece.run in overlaps else piece.overlap
        yield piece
    for run, mine in answered.items():
        rest = np.flatnonzero(~mine)
        values = {measure: of_all[rest] for measure, of_all in unanswered.items()}
        yield Scored(run, values, mine, overlaps[run], queries=rest)


class Segments:
    """Segments of consecutive rows of a table that belong to one query of one run."""

    def __init__(self, table: pa.Table) -> None:
        runs, queries = table["run"], table["query_id"]
        new = np.ones(len(table), bool)
        new[1:] = id_columns.changes(runs) | id_columns.changes(queries)
        self.starts = np.flatnonzero(new)
        self.sizes = np.diff(np.append(self.starts, len(table)))
        self.run, self.runs = codes_and_names(runs, self.starts)
        self.query, self.queries = codes_and_names(queries, self.starts)
        self.pairs = self.run * max(len(self.queries), 1) + self.query

    def only(self, which: Array, table: pa.Table) -> pa.Table:
        """Return the rows of selected segments, without a copy if these are consecutive.

        Parameters
        ----------
        which : ndarray of bool, shape (n_segments,)
            Mask of the segments.
        table : Table
            Table of the segments.
        """
        chosen = np.flatnonzero(which)
        if not len(chosen):
            return table.slice(0, 0)
        first, last = int(chosen[0]), int(chosen[-1])
        if last - first + 1 > len(chosen):
            return table.take(of_numbers(np.flatnonzero(np.repeat(which, self.sizes))))
        return table.slice(int(self.starts[first]), int(self.sizes[first : last + 1].sum()))

    def ids(self, number: int) -> tuple[str, str]:
        """Return the run and the query of a segment."""
        return self.runs[self.run[number]].as_py(), self.queries[self.query[number]].as_py()


def codes_and_names(names: pa.ChunkedArray, rows: Array) -> tuple[Array, Any]:
    """Return the names of the rows as numbers in order of first occurrence, and the distinct names."""
    encoded = id_columns.written(names.take(of_numbers(rows))).combine_chunks().dictionary_encode()
    return to_numpy(encoded.indices).astype(np.int64), encoded.dictionary


def _columns(table: pa.Table) -> Columns:
    """Return the columns of a run, with at most one dictionary per column."""
    query_id, doc_id = (
        (id_columns.of_one_dictionary if id_columns.are_encoded(column) else id_columns.written)(column)
        for column in (table["query_id"], table["doc_id"])
    )
    has_length, has_original, has_cost = (name in table.column_names for name in EXTRAS)
    return Columns(
        query_id,
        doc_id,
        to_numpy(table["score"]),
        to_numpy(table["doc_length"]) if has_length else None,
        id_columns.written(table["duplicate_of"]) if has_original else None,
        doc_cost=to_numpy(table["doc_cost"]) if has_cost else None,
    )


def joined(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the rows of all tables; columns that a table does not have, such as lengths, are null in its rows."""
    return pa.concat_tables(tables, promote_options="default")


def in_words(table: pa.Table) -> pa.Table:
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
        if quantity := needs_of(measure).mean_of:
            raise quantity._error(
                f"{measure} needs the mean {quantity._noun} of a whole run, and runs are read in parts here: give"
                f" {quantity._parameter}=, a table, or evaluate the run as a frame."
            )
