"""Evaluates runs that are larger than memory: table after table; rows of queries that were cut wait for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import groupby, islice
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from ir_measures.measures import Measure

from ..data.alignment import Aligned, Judgments, Rows
from ..data.columns import Columns
from ..data.overlap import Overlap
from ..errors import MalformedFile, MissingLength, naming
from ..errors.user_warnings import warn
from ..files import id_columns
from ..files.formats import is_text, run_with
from ..files.inputs import loaded
from ..files.memory_limit import NoRoom, has_room, limit_for
from ..files.run_files import EXTRAS, Part, Source, sources, twice
from ..measures.of_ir_measures import needs_of
from ..measures.provider import CWLAEvaluator, CWLAProvider, computed_here, judged
from ..measures.wrappers import pinned
from ..tasks.progress import counted
from .driver import warn_of
from .in_memory import in_groups
from .score_cache import KeptScores, Scored

Array = np.ndarray
KEPT = 1_000_000
"""So many rows of queries that were cut are kept at a time."""


class Counts:
    """How many rows each query of each run has, and in which tables they are: from the first to the last.

    Queries are numbered here as they come, run by run as they come.
    """

    def __init__(self, runs: Any, queries: Any, pairs: Array, rows: Array, first: Array, last: Array, tables: int):
        self.runs, self.queries = runs, queries
        self.pairs, self.rows, self.first, self.last, self.tables = pairs, rows, first, last, tables

    @classmethod
    def of(cls, part: Part) -> Counts:
        """Those of a part: of its ids alone, which cost little to read."""
        return cls.total(cls.of_table(table) for table in part.ids())

    @classmethod
    def of_table(cls, table: pa.Table) -> Counts:
        segments = _Segments(table)
        pairs, of_segment = np.unique(segments.pairs, return_inverse=True)
        rows = np.bincount(of_segment, segments.sizes, len(pairs)).astype(np.int64)
        zeros = np.zeros(len(pairs), np.int64)
        return cls(segments.runs, segments.queries, pairs, rows, zeros, zeros, 1)

    @classmethod
    def total(cls, counts: Iterable[Counts]) -> Counts:
        """The counts of parts that follow one another."""
        counts = list(counts)
        runs, queries = (
            pa.concat_arrays([_NONE, *(getattr(c, names) for c in counts)]).unique() for names in ("runs", "queries")
        )
        before = np.cumsum([0, *(c.tables for c in counts)])
        pairs = np.concatenate([_NO_ROWS, *(c._pairs_in(runs, queries) for c in counts)])
        order = np.argsort(pairs, kind="stable")
        rows, first, last = (
            np.concatenate([_NO_ROWS, *columns])[order]
            for columns in (
                [c.rows for c in counts],
                [c.first + n for c, n in zip(counts, before)],
                [c.last + n for c, n in zip(counts, before)],
            )
        )
        pairs = pairs[order]
        new = np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]
        starts = np.flatnonzero(new)
        ends = np.append(starts[1:], len(pairs))[: len(starts)] - 1
        summed = np.add.reduceat(rows, starts) if len(starts) else _NO_ROWS
        return cls(runs, queries, pairs[starts], summed, first[starts], last[ends], int(before[-1]))

    def __add__(self, other: Counts) -> Counts:
        return Counts.total([self, other])

    def __len__(self) -> int:
        """How many rows there are."""
        return int(self.rows.sum())

    def _pairs_in(self, runs: Any, queries: Any) -> Array:
        """The pairs as others number runs and queries."""
        run, query = np.divmod(self.pairs, max(len(self.queries), 1))
        return id_columns.places(self.runs, runs)[run] * len(queries) + id_columns.places(self.queries, queries)[query]

    def places(self, segments: _Segments) -> Array:
        """Where each segment's pair of run and query stands here; -1 where it does not."""
        run, query = id_columns.places(segments.runs, self.runs), id_columns.places(segments.queries, self.queries)
        run, query = run[segments.run], query[segments.query]
        pairs = np.where((run < 0) | (query < 0), -1, run * len(self.queries) + query)
        if not len(self.pairs):
            return np.full(len(pairs), -1)
        at = np.minimum(np.searchsorted(self.pairs, pairs), len(self.pairs) - 1)
        return np.where(self.pairs[at] == pairs, at, -1)

    def of_run(self, run: str) -> tuple[Any, Array]:
        """The run's queries, as Arrow strings, and the rows that each has."""
        number = id_columns.places(pa.array([run], pa.large_string()), self.runs)[0]
        mine = slice(*np.searchsorted(self.pairs, [number * len(self.queries), (number + 1) * len(self.queries)]))
        return self.queries.take(pa.array(self.pairs[mine] % max(len(self.queries), 1))), self.rows[mine]

    def turns(self, most: int) -> Array:
        """In which pass over the tables each pair's rows are kept, if they must be, so that no more than that many are
        kept at any time; or than twice the longest ranking, which has to be kept whole."""
        cut = np.flatnonzero(self.first < self.last)
        cut = cut[np.argsort(self.first[cut], kind="stable")]
        turn = np.zeros(len(self.pairs), np.int64)
        most = max(most, 2 * int(self.rows[cut].max(initial=0)))
        passes = -(-self._most_kept(cut, turn, 1) // most)
        while passes > 1:
            turn[cut] = np.arange(len(cut)) % passes
            if self._most_kept(cut, turn, passes) <= most:
                break
            passes += 1
        return turn

    def _most_kept(self, cut: Array, turn: Array, passes: int) -> int:
        change = np.zeros((passes, self.tables + 1), np.int64)
        np.add.at(change, (turn[cut], self.first[cut]), self.rows[cut])
        np.add.at(change, (turn[cut], self.last[cut]), -self.rows[cut])
        return int(change.cumsum(axis=1).max())


_NONE = pa.array([], pa.large_string())
_NO_ROWS = np.zeros(0, np.int64)


class _Segments:
    """Rows of one query of one run that stand together in a table."""

    def __init__(self, table: pa.Table) -> None:
        runs, queries = table["run"], table["query_id"]
        new = np.ones(len(table), bool)
        new[1:] = id_columns.changes(runs) | id_columns.changes(queries)
        self.starts = np.flatnonzero(new)
        self.sizes = np.diff(np.append(self.starts, len(table)))
        self.run, self.runs = _numbered(runs, self.starts)
        self.query, self.queries = _numbered(queries, self.starts)
        self.pairs = self.run * max(len(self.queries), 1) + self.query

    def only(self, which: Array, table: pa.Table) -> pa.Table:
        """The rows of these segments (a bool for each), without a copy where they stand together."""
        chosen = np.flatnonzero(which)
        if not len(chosen):
            return table.slice(0, 0)
        first, last = int(chosen[0]), int(chosen[-1])
        if last - first + 1 > len(chosen):
            return table.take(pa.array(np.flatnonzero(np.repeat(which, self.sizes))))
        return table.slice(int(self.starts[first]), int(self.sizes[first : last + 1].sum()))

    def named(self, number: int) -> str:
        return f"{self.runs[self.run[number]].as_py()}: query {self.queries[self.query[number]].as_py()!r}"


def _numbered(names: pa.ChunkedArray, rows: Array) -> tuple[Array, Any]:
    """These rows' names as numbers, in order of coming, and what the numbers stand for."""
    encoded = id_columns.written(names.take(pa.array(rows))).combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary


class Scoring:
    """Scores the queries of tables: those that are whole in one at once, those that are cut when they are put together.

    It can be pickled, with its judgments, its measures and its counts.
    """

    def __init__(self, measures: Iterable[Any], judgments: Any, counts: Counts | None = None) -> None:
        self.measures = pinned(computed_here(measures))
        self.judgments = judged(judgments)
        self.counts = counts
        self.overlaps: dict[str, Overlap] = {}
        """How much of each run is judged, of the rows that were scored so far."""
        _no_mean_of_a_run(self.measures)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("evaluator", "_of_none")}

    @cached_property
    def evaluator(self) -> CWLAEvaluator:
        return CWLAEvaluator(list(self.measures), self.judgments)

    @property
    def extras(self) -> list[str]:
        return extras_of(self.measures)

    def of(self, counts: Counts) -> Scoring:
        """The same scoring of other runs."""
        self.evaluator  # noqa: B018 made once for all
        other = Scoring.__new__(Scoring)
        vars(other).update(vars(self), counts=counts, overlaps={})
        return other

    def whole(self, table: pa.Table) -> tuple[pd.DataFrame, pa.Table]:
        """The scores of the queries that are whole in this table, and the rows of those that are not.

        The table has the columns run, query_id, doc_id and score; the scores run, query_id, and one for each measure.

        Raises MalformedFile where there are rows that were not counted, and BadRun as ``evaluate``.
        """
        segments = _Segments(table)
        whole = self._whole(segments)
        frames = []
        for number, run in enumerate(segments.runs.to_pylist()):
            mine = segments.only(whole & (segments.run == number), table)
            if len(mine):
                frames.append(self._scores(run, mine))
        rest = _in_words(segments.only(~whole, table))
        return pd.concat(frames, ignore_index=True) if frames else self._frame("", _NO_ROWS, self._of_none), rest

    def cut(self, table: pa.Table) -> pa.Table:
        """The rows alone of the queries that are not whole in this table."""
        segments = _Segments(table)
        return _in_words(segments.only(~self._whole(segments), table))

    def together(self, tables: Sequence[pa.Table]) -> pd.DataFrame:
        """The scores of queries whose rows, all of them, are in these tables together."""
        scores, rest = self.whole(joined(tables))
        if len(rest):
            raise _changed(f"{rest['run'][0].as_py()}: query {rest['query_id'][0].as_py()!r} has fewer rows")
        return scores

    def unanswered(self, run: str) -> pd.DataFrame:
        """The scores of the judged queries that a run does not answer."""
        assert self.counts is not None
        answered = self.answered(run)
        if len(answered) and not answered.any():
            self.judgments.warn_of_none(self.counts.of_run(run)[0][:4].to_pylist(), run)
        return self._frame(run, np.flatnonzero(~answered), self._of_none)

    def about_overlaps(self, runs: Iterable[str]) -> list[str]:
        """A sentence on each of these runs of which almost nothing is judged."""
        return [about for run in runs if (about := self.overlaps.get(run, Overlap()).about(run))]

    def answered(self, run: str) -> Array:
        """Which of the judged queries a run answers [judged queries]."""
        assert self.counts is not None
        return id_columns.places(pa.array(self.judgments.qids, pa.large_string()), self.counts.of_run(run)[0]) >= 0

    @cached_property
    def _of_none(self) -> dict[Measure, Array]:
        nothing = pa.table({"query_id": _NONE, "doc_id": _NONE, "score": np.zeros(0), "doc_length": np.zeros(0)})
        return self.evaluator.tables([self._prepared(nothing)])[0]

    def frame(self, scored: Scored) -> pd.DataFrame:
        """What a run scores, as ``whole`` gives it."""
        return self._frame(scored.run, np.arange(len(scored.answered)), scored.values)

    def _whole(self, segments: _Segments) -> Array:
        assert self.counts is not None
        place = self.counts.places(segments)
        if (place < 0).any():
            at = int(np.flatnonzero(place < 0)[0])
            raise _changed(f"{segments.named(at)} was not there")
        rows = np.bincount(place, segments.sizes, len(self.counts.rows)).astype(np.int64)
        more = rows > self.counts.rows
        if more.any():
            at = int(np.flatnonzero(more[place])[0])
            raise _changed(f"{segments.named(at)} has more rows")
        return (rows == self.counts.rows)[place]

    def _scores(self, run: str, table: pa.Table) -> pd.DataFrame:
        with naming(run):
            aligned = Aligned([rows := self._prepared(table)])
            try:
                values = self.evaluator.values(aligned)
                self.overlaps[run] = self.overlaps.get(run, Overlap()) + rows.overlap
                return self._frame(run, rows.query[rows.query >= 0], values)
            finally:
                aligned.release()

    def _prepared(self, table: pa.Table) -> Rows:
        return Rows(self.judgments, _columns(table))

    def _frame(self, run: str, queries: Array, values: dict[Measure, Array]) -> pd.DataFrame:
        names = np.array(self.judgments.qids, object)[queries]
        scores = {str(measure): values[measure][queries] for measure in self.measures}
        return pd.DataFrame({"run": pd.array([run] * len(names), "str"), "query_id": pd.array(names, "str")} | scores)


def stream(
    qrels: Any, runs: Any, measures: Iterable[Any], *, kept: int = KEPT, progress: bool = False, keep: Any = None
) -> Iterator[pd.DataFrame]:
    """Evaluates runs in files of any size: the scores of queries, as they are ready, in bounded memory.

    Each frame has the columns run, query_id, and one for each measure. ``runs`` are a path, several, or a dict of paths
    by name, as ``parts.sources`` takes them, and ``qrels`` as in ``evaluate``. Judged queries that a run does not
    answer come last for the run; other queries of the run do not come. Of queries that lie scattered over a file about
    ``kept`` rows are kept at a time, and the file is read as often as that takes. With ``keep``, a folder in which
    scores are kept as by ``evaluate``, they come run by run. ``progress=True`` shows a bar.

    Raises MalformedFile for what is no run, for a NaN score, and where a file changes meanwhile; BadRun for a document
    that is retrieved twice and for two runs of one name; MissingLength for ``missing="mean"`` without ``lengths=``, for
    no run is ever whole here.

    >>> import tempfile
    >>> import pandas as pd
    >>> path = f"{tempfile.mkdtemp()}/bm25.parquet"
    >>> pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, 2.0]}).to_parquet(path)
    >>> pd.concat(stream({"q": {"a": 1}}, path, ["RR"]))
        run query_id   RR
    0  bm25        q  0.5
    """
    scoring = Scoring(measures, loaded(qrels, "qrels"))
    known: dict[str, Source] = {}

    def only_one_of_a_name(source: Source, run: str) -> None:
        if run in known:
            raise twice(run, [str(known[run]), str(source)])
        known[run] = source

    of_before = None if keep is None else KeptScores(keep, scoring.evaluator)
    for source in sources(runs):
        if of_before is not None:
            for scored in values_of_files(scoring.measures, scoring.judgments, [source], progress, of_before):
                only_one_of_a_name(source, scored.run)
                warn_of(scored)
                yield scoring.frame(scored)
            continue
        reading = Reading(source, scoring)
        for run in reading.runs:
            only_one_of_a_name(source, run)
        yield from reading.scores(kept, progress)
        for about in reading.scoring.about_overlaps(reading.runs):
            warn(about)


def values_of_files(
    measures: Iterable[Measure],
    judgments: Judgments,
    files: Iterable[Source],
    progress: bool = False,
    kept: KeptScores | None = None,
) -> Iterator[Scored]:
    """What each run scores: what is kept, and the rest anew."""
    measures = list(measures)
    if kept is not None:
        for source in files:
            yield from kept.of_source(
                source, partial(values_of_files, judgments=judgments, files=[source], progress=progress)
            )
        return
    for small, some_files in groupby(files, lambda source: source.is_small):
        values = _values_of_small if small else _values_of_large
        yield from values(measures, judgments, some_files, progress)


def _values_of_small(
    measures: list[Measure], judgments: Judgments, files: Iterable[Source], progress: bool
) -> Iterator[Scored]:
    """What costs more by the run than by the row is done for several runs at once.

    A file that turns out to be too large for that, once it is unpacked, is read as large ones are.
    """
    files, evaluator = iter(files), CWLAEvaluator(measures, judgments)
    more = True
    while more:
        too_large: list[Source] = []
        yield from in_groups(evaluator, _read_whole(files, extras_of(measures), too_large), check=False)
        yield from _values_of_large(measures, judgments, too_large, progress)
        more = bool(too_large)


def extras_of(measures: Iterable[Measure]) -> list[str]:
    """What measures ask of a run beside ids and scores."""
    return CWLAProvider().run_inputs(measures)[3:]


def _read_whole(files: Iterator[Source], extras: list[str], too_large: list[Source]) -> Iterator[tuple[str, pa.Table]]:
    """Runs by name, up to a file for which there is no room."""
    for source in files:
        try:
            run = run_with(source.parts[0].path, extras)
        except NoRoom:
            too_large.append(source)
            return
        yield str(source.name), run


def _values_of_large(
    measures: list[Measure], judgments: Judgments, files: Iterable[Source], progress: bool
) -> Iterator[Scored]:
    if any(needs_of(measure).mean_length for measure in measures):
        evaluator = CWLAEvaluator(measures, judgments)
        for source in files:
            for run, table in _runs(source, extras_of(measures)):
                with naming(run):
                    mine = judgments.rows(table)
                    yield Scored(run, evaluator.tables([mine])[0], mine.answered, mine.overlap)
        return
    scoring = Scoring(measures, judgments)
    place = pd.Index(judgments.qids)
    for source in files:
        reading = Reading(source, scoring)
        values = {run: {m: np.zeros(len(place)) for m in measures} for run in reading.runs}
        for scores in reading.scores(progress=progress):
            for run, of_run in scores.groupby("run", sort=False):
                at = place.get_indexer(of_run["query_id"])
                for measure, found in values[run].items():
                    found[at] = of_run[str(measure)]
        for run, of_run in values.items():
            overlap = reading.scoring.overlaps.get(run, Overlap())
            yield Scored(run, of_run, reading.scoring.answered(run), overlap)


def _runs(source: Source, extras: list[str]) -> Iterator[tuple[str, pa.Table]]:
    """The runs of a source, each whole, by name."""
    tables: list[pa.Table] = []
    size = 0
    for part in source.parts:
        for table in part.tables(extras):
            tables.append(_in_words(table))
            size += tables[-1].nbytes
            if not has_room(size):
                raise MalformedFile(
                    f"{source}: {size:,} bytes or more once it is unpacked. missing='mean' takes the mean length of"
                    " whole runs, and there is no room for them: give lengths=, or set another limit, such as"
                    f" {limit_for(size)}."
                )
    if not any(map(len, tables)):
        raise source.empty
    source.check_unchanged()
    rows = joined(tables)
    number, runs = _numbered(rows["run"], np.arange(len(rows)))
    if len(runs) > 1:
        rows = rows.take(pa.array(np.argsort(number, kind="stable")))
    ends = np.cumsum(np.bincount(number))
    for run, start, end in zip(runs.to_pylist(), [0, *ends], ends):
        yield run, rows.slice(start, end - start)


class Reading:
    """The rows of a source: first they are counted, then its tables are scored."""

    def __init__(self, source: Source, scoring: Scoring) -> None:
        source.check_unchanged()
        self.source = source
        self.extras = scoring.extras
        alone = list(islice(self.tables(), 2)) if len(source.parts) == 1 else []
        self.alone = alone if len(alone) == 1 else []
        self.counts = Counts.total(map(Counts.of_table, alone) if self.alone else map(Counts.of, source.parts))
        if not len(self.counts):
            raise source.empty
        self.scoring = scoring.of(self.counts)

    @property
    def runs(self) -> list[str]:
        return self.counts.runs.to_pylist()

    def tables(self) -> Iterator[pa.Table]:
        for part in self.source.parts:
            yield from part.tables(self.extras)

    def scores(self, kept: int = KEPT, progress: bool = False) -> Iterator[pd.DataFrame]:
        """The scores of all judged queries, as they are ready."""
        turn = self.counts.turns(kept)
        passes = int(turn.max()) + 1
        with counted(progress, "evaluating", passes * len(self.counts), "rows") as done:
            for number in range(passes):
                cut, rows = _Cut(self.scoring, self.counts, turn == number), 0
                for table in self.alone or self.tables():
                    with naming(str(self.source)):
                        if number == 0:
                            scores, rest = self.scoring.whole(table)
                            if len(scores):
                                yield scores
                        else:
                            rest = self.scoring.cut(table)
                        yield from cut.add(rest)
                    rows += len(table)
                    done(len(table))
                if cut.rows or rows != len(self.counts):
                    raise _changed(f"{self.source}: {rows:,} rows, and {len(self.counts):,} were counted")
                self.source.check_unchanged()
        for run in self.runs:
            unanswered = self.scoring.unanswered(run)
            if len(unanswered):
                yield unanswered


class _Cut:
    """The rows of queries that are not whole yet."""

    def __init__(self, scoring: Scoring, counts: Counts, mine: Array) -> None:
        self.scoring, self.counts, self.mine = scoring, counts, mine
        self.missing = counts.rows.copy()
        self.tables: list[pa.Table] = []
        self.rows = self.ready = 0

    def add(self, table: pa.Table) -> Iterator[pd.DataFrame]:
        """Keeps these rows, and gives the scores of what they make whole, as soon as that is worth the while."""
        if not len(table):
            return
        segments = _Segments(table)
        place = self.counts.places(segments)
        mine = self.mine[place]
        if not mine.all():
            table = segments.only(mine, table)
        np.subtract.at(self.missing, place[mine], segments.sizes[mine])
        whole = np.unique(place[mine])
        self.ready += int(self.counts.rows[whole[self.missing[whole] == 0]].sum())
        self.tables.append(table)
        self.rows += len(table)
        if self.ready and 4 * self.ready >= self.rows:
            scores, rest = self.scoring.whole(joined(self.tables))
            self.tables, self.rows, self.ready = [rest], len(rest), 0
            if len(scores):
                yield scores


def _columns(table: pa.Table) -> Columns:
    """A run's columns, with one dictionary at most."""
    query_id, doc_id = (
        (id_columns.of_one_dictionary if id_columns.are_encoded(column) else id_columns.written)(column)
        for column in (table["query_id"], table["doc_id"])
    )
    has_length, has_original = (name in table.column_names for name in EXTRAS)
    return Columns(
        query_id,
        doc_id,
        _numbers(table["score"]),
        _numbers(table["doc_length"]) if has_length else None,
        id_columns.written(table["duplicate_of"]) if has_original else None,
    )


def _numbers(column: pa.ChunkedArray) -> Array:
    return column.chunk(0).to_numpy(zero_copy_only=False) if column.num_chunks == 1 else column.to_numpy()


def joined(tables: Iterable[pa.Table]) -> pa.Table:
    """All rows; what some tables lack, such as lengths, is missing in theirs."""
    return pa.concat_tables(tables, promote_options="default")


def _in_words(table: pa.Table) -> pa.Table:
    """The table with strings for ids, which need no dictionary any more, and are of one type, whatever the file has."""
    return pa.table(
        {
            name: id_columns.written(column) if is_text(column.type) else column
            for name, column in zip(table.column_names, table.columns)
        }
    )


def _changed(what: str) -> MalformedFile:
    return MalformedFile(f"{what} when the rows were counted: a file was changed meanwhile. Evaluate it again.")


def _no_mean_of_a_run(measures: Sequence[Measure]) -> None:
    for measure in measures:
        if needs_of(measure).mean_length:
            raise MissingLength(
                f"{measure} takes the mean length of a whole run, and here no run is whole at any time: give lengths=,"
                " a table, or evaluate the run as a frame."
            )
