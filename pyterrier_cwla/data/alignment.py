"""Alignment of runs with judgments: document ids and scores become arrays of ranks and grades."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
import pyarrow.compute as pc

from ..errors import BadJudgments, shown, some, warn
from ..files import id_columns
from ..files.arrow_arrays import of_numbers, one_chunk, to_numpy
from ..files.id_columns import KeyPlaces, PairKeys, may_repeat, of_queries, of_runs, pieces
from .columns import Array, Columns, distinct, highest_possible, judgment_columns, refuse_uncertain
from .lengths import ReplacedLengths
from .rankings import Pool, Rankings
from .rows import Rows, ranges

PIECE = 1 << 19  # number of rows that are looked up together
_FEW = 32  # rows per place from which places are sorted


class JudgedPairs:
    """Judged pairs of query and document, for look-ups.

    Parameters
    ----------
    judgments : Judgments
        All judgments.
    rows : ndarray of int
        Rows of the judgments to include.
    """

    def __init__(self, judgments: Judgments, rows: Array) -> None:
        self.judgments, self.salt, self.rows = judgments, judgments.pair_keys.salt, rows
        self.keys = judgments.pair_keys.keys[rows]
        self._last_filter: tuple[Array, Array, np.uint64] | None = None  # queries, mask and shift

    def match(self, rows: Rows) -> tuple[Array, Array]:
        """Return the rows of judged documents, in ascending order, and the indices of their pairs.

        Raises
        ------
        BadRun
            If a judged document is retrieved twice. The first match of rows that are to be checked also refuses every
            other repeated document.
        """
        hashed = id_columns.hashing(rows.columns.doc_id, self.salt)
        query, added, sizes = rows.judged_query, of_queries(rows.numbers), rows.sizes
        apart = None if rows.runs == 1 else of_runs(rows.run)
        found = [(_NO_ROWS, _NO_ROWS)]
        for piece in pieces(rows.starts, PIECE):
            possible, shift = self._filter(query[piece])
            places, candidates = [], []
            for stretch in pieces(rows.starts, id_columns.BLOCK, piece):
                start, end = rows.between(stretch)
                keys = hashed(start, end) + np.repeat(added[stretch], sizes[stretch])
                if rows.unchecked:
                    alone = keys if apart is None else keys + np.repeat(apart[stretch], sizes[stretch])
                    if may_repeat(alone):
                        rows.refuse_repeats(stretch, alone)
                hit = np.flatnonzero(possible.take((keys >> shift).view(np.int64), mode="clip"))
                places.append(hit + start)
                candidates.append(keys[hit])
            found.append(self._confirmed(rows, np.concatenate(places), np.concatenate(candidates)))
        rows.unchecked = False
        row, pair = (np.concatenate(part) for part in zip(*found, strict=True))
        if rows.runs == 1:
            twice = np.flatnonzero(np.bincount(pair, minlength=1) > 1)
            if len(twice):
                rows.refuse_twice(int(row[np.flatnonzero(pair == twice[0])[1]]))
        return row, pair

    def judged(self, rows: Rows, row: Array) -> Array:
        """Return those of some rows of a run, in ascending order, whose documents are judged."""
        hashes = id_columns.hashes(id_columns.taken(rows.columns.doc_id, row), self.salt)
        return self._confirmed(rows, row, hashes + of_queries(rows.numbers[rows.segment(row)]))[0]

    def _filter(self, queries: Array) -> tuple[Array, np.uint64]:
        """Return a mask of the upper bits in the keys of the pairs of some queries, and the shift to these bits.

        Most runs answer the queries of the run before, so the last mask is kept.
        """
        queries, last = distinct(queries[queries >= 0]), self._last_filter
        if last is not None and np.array_equal(last[0], queries):
            return last[1:]
        order, first = self._by_query
        keys = self.keys[order[ranges(first[queries], first[queries + 1])]]
        bits = min(max((64 * len(keys)).bit_length(), 10), 20)
        shift = np.uint64(64 - bits)
        possible = np.zeros(1 << bits, bool)
        possible[keys >> shift] = True
        self._last_filter = queries, possible, shift
        return possible, shift

    def _confirmed(self, rows: Rows, row: Array, keys: Array) -> tuple[Array, Array]:
        """Return the candidate rows that are judged and their pairs; rows with the key of a pair are compared by id."""
        pair = self._places.find(keys)
        row, pair = row[pair >= 0], pair[pair >= 0]
        if not len(row):
            return row, pair
        judged = self.rows[pair]
        start = int(row[0])
        ours = id_columns.taken(rows.columns.doc_id.slice(start, int(row[-1]) - start + 1), row - start)
        same = to_numpy(pc.equal(ours, id_columns.taken(self.judgments.columns.doc_id, judged)))
        same &= rows.judged_query[rows.segment(row)] == self.judgments.row_query[judged]
        return row[same], pair[same]

    @cached_property
    def _places(self) -> KeyPlaces:
        return KeyPlaces(self.keys)

    @cached_property
    def _by_query(self) -> tuple[Array, Array]:
        """Indices of the pairs in order of queries, and the first one of each query."""
        query = self.judgments.row_query[self.rows]
        order = np.argsort(query, kind="stable")
        return order, np.searchsorted(query[order], np.arange(len(self.judgments.qids) + 1))


_NO_ROWS = np.zeros(0, np.int64)


TOP = 10
_LEAST = 0.01  # share of the top ten
_NAMES = 4  # queries in a note that a run and its judgments have none in common


@dataclass(frozen=True)
class Overlap:
    """Numbers of documents and of judged documents in the top ten of judged queries.

    Attributes
    ----------
    top, judged : int
        Number of documents in the top ten, and number of judged ones among them.
    anywhere : int
        Number of judged documents at any rank.
    example : tuple, optional
        If few documents are judged: a query, its first documents in the run, and judged documents.
    apart : tuple, optional
        If the run answers no judged query: the first queries of the run, and the first judged queries.
    lengths : mapping of str to ReplacedLengths
        Lengths that are replaced by the mean, and passages without a probability of abstention, by name of the table.
    """

    top: int = 0
    judged: int = 0
    anywhere: int = 0
    example: tuple[str, list[str], list[str]] | None = None
    apart: tuple[list[str], list[str]] | None = None
    lengths: Mapping[str, ReplacedLengths] = field(default_factory=dict, hash=False)

    def __add__(self, other: Overlap) -> Overlap:
        apart = None  # unless the run answers no judged query in either part
        if self.apart is not None and other.apart is not None:
            apart = list(dict.fromkeys([*self.apart[0], *other.apart[0]]))[:_NAMES], self.apart[1]
        return Overlap(
            self.top + other.top,
            self.judged + other.judged,
            self.anywhere + other.anywhere,
            self.example or other.example,
            apart,
            lengths={
                **self.lengths,
                **{name: self.lengths[name] + n if name in self.lengths else n for name, n in other.lengths.items()},
            },
        )

    @property
    def is_low(self) -> bool:
        """Whether less than 1 % of the documents in the top ten are judged."""
        return self.judged < _LEAST * self.top

    def notes(self, run: str = "the run") -> list[str]:
        """Return warnings about judgments and lengths of the run.

        Raises
        ------
        MissingLength
            If no document of the run is in a table of lengths whose mean would replace all lengths.
        """
        found = [self.about(run), *(of_table.about(run) for of_table in self.lengths.values())]
        return [about for about in found if about is not None]

    def about(self, run: str = "the run") -> str | None:
        """Return a warning if the run answers no judged query or has hardly any judged document, else None."""
        if self.apart is not None:
            retrieved, judged = map(some, self.apart)
            return (
                f"run and judgments have no query in common: {run} has {retrieved or 'none'}, the judgments {judged}."
            )
        if not self.is_low or self.example is None:
            return None
        query, found, wanted = self.example
        if not self.anywhere:
            what = f"no document of {run} is judged for its query, so that nothing is found"
        else:
            what = f"of the {self.top:,} documents in the top ten of {run} {self.judged:,} are judged, less than 1 %"
        return (
            f"{what}: for query {shown(query)} it has {_few(found)}, and judged are {_few(wanted)}. Are the ids of"
            " documents written alike?"
        )


def _few(documents: list[str]) -> str:
    return ", ".join(map(shown, documents[:3])) + ", …" * (len(documents) > 3)


_forgets = RLock()


class Judgments:
    """Judgments, prepared once for all runs that are aligned with them.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, iterable of named tuples, or Columns
        Judgments.
    qids : list of str, optional
        Queries, in order; by default the judged ones in order of first occurrence.

    Attributes
    ----------
    columns : Columns
        Columns of the judgments.
    qids : list of str
        Queries; elsewhere, queries are numbered by their index in this list.
    index : dict
        Number of each query by its id.
    row_query : ndarray of int, shape (n_judgments,)
        Number of the query of each judgment.
    relevant : ndarray of int
        Rows with a grade above 0.
    pool : Pool
        Grades of all judgments, in order of queries.
    place_in_pool : ndarray of int, or None
        Index of each row in the pool; None if the orders are equal.

    Raises
    ------
    BadJudgments
        If a grade is not finite, or if a pair is judged twice.
    """

    def __init__(self, qrels: Any, qids: list[str] | None = None) -> None:
        columns = qrels if isinstance(qrels, Columns) else judgment_columns(qrels)
        starts, names = columns.queries()
        if len(set(names)) < len(names) and not _several_intents(columns):
            columns = _without_copies(columns)
            starts, names = columns.queries()
        self.columns = columns
        if columns.value.dtype.kind == "f" and not np.isfinite(columns.value).all():
            row = int(np.argmin(np.isfinite(columns.value)))
            if np.isnan(columns.value[row]):
                raise BadJudgments(f"{columns.describe(row)} has no relevance (NaN).")
            raise BadJudgments(f"{columns.describe(row)} has the relevance {columns.value[row]}: grades are finite.")
        self.qids = list(dict.fromkeys(names)) if qids is None else qids
        self.index = {qid: number for number, qid in enumerate(self.qids)}
        sizes = np.diff(np.append(starts, len(columns)))
        self.row_query = np.repeat(np.array([self.index[name] for name in names], np.int64), sizes)
        scattered = (np.diff(self.row_query) < 0).any()
        order = np.argsort(self.row_query, kind="stable") if scattered else np.arange(len(columns))
        self.place_in_pool = np.argsort(order) if scattered else None
        self.relevant = np.flatnonzero(columns.value > 0)
        self.pool = Pool(len(self.qids), self.row_query[order], columns.value[order], columns, order)
        if not scattered:
            self.pool.positive = self.row_query[self.relevant], columns.value[self.relevant]
        self._sides: dict[bool, JudgedPairs] = {}
        if not _several_intents(columns):
            self._no_pair_twice()

    def __reduce__(self) -> tuple[type[Judgments], tuple[Columns, list[str]]]:
        """Pickle the judgments without values computed from them."""
        return Judgments, (self.columns, self.qids)

    @cached_property
    def intents(self) -> list[tuple[dict[int, str], Judgments]]:
        """Judgments of the first intent of every query (column ``iteration``), of the second intent, and so on.

        Each element is a dict from the number of a query to the name of its intent, and the judgments. The intents of a
        query are numbered separately, so their names may differ between queries.
        """
        if self.columns.iteration is None:
            raise BadJudgments(
                "the judgments have no intents: they have no column 'iteration' (in a TREC file the second field,"
                " which must have different values)."
            )
        encoded = one_chunk(self.columns.iteration).dictionary_encode()
        names = encoded.dictionary.to_pylist()
        pairs, of_row = np.unique(self.row_query * len(names) + to_numpy(encoded.indices), return_inverse=True)
        query, name = np.divmod(pairs, max(len(names), 1))
        nth = np.arange(len(pairs)) - np.searchsorted(query, query)
        intents = []
        for number in range(nth.max(initial=-1) + 1):
            mine = nth == number
            called = {query: names[place] for query, place in zip(query[mine].tolist(), name[mine].tolist())}
            intents.append((called, self.only(np.flatnonzero(mine[of_row]))))
        return intents

    def only(self, rows: Array) -> Judgments:
        """Return some rows of the judgments, with the same queries and without intents."""
        return Judgments(replace(self.columns.taken(rows), iteration=None), qids=self.qids)

    def side(self, all_judged: bool) -> JudgedPairs:
        """Return the judged pairs to match runs with: all pairs, or those with a grade above 0."""
        all_judged = all_judged or len(self.relevant) == len(self.columns)
        if all_judged not in self._sides:
            self._no_pair_twice()
            rows = np.arange(len(self.columns)) if all_judged else self.relevant
            self._sides[all_judged] = JudgedPairs(self, rows)
        return self._sides[all_judged]

    @cached_property
    def pair_keys(self) -> PairKeys:
        """Keys of all judged pairs of query and document."""
        return PairKeys(self.columns.doc_id, self.row_query)

    def _no_pair_twice(self) -> None:
        row = self.pair_keys.repeat
        if row is not None:
            intents = " (for intents, use IntentAware)" if _several_intents(self.columns) else ""
            raise BadJudgments(f"{self.columns.describe(row)} is judged twice{intents}: keep one row.")

    def refuse_uncertain(self) -> None:
        """Raise BadJudgments if the judgments have probabilities and no grades."""
        if self.pool.columns is not None:
            refuse_uncertain(self.pool.columns)

    @property
    def possible(self) -> Judgments:
        """Judgments with the highest possible grades in place of the grades that stand beside probabilities."""
        columns = self.pool.columns
        both = columns is not None and columns.chances is not None and columns.graded
        return self._by_highest_possible if both else self

    @cached_property
    def _by_highest_possible(self) -> Judgments:
        """The judgments with other grades, made once for all measures."""
        assert self.columns.chances is not None
        return Judgments(replace(self.columns, value=highest_possible(self.columns.chances)), qids=self.qids)

    def check_grades(self, max_rel: float, way_out: str = "") -> None:
        """Raise BadJudgments if a grade is above `max_rel`; the way out is a larger ``max_rel`` by default."""
        grades = self.pool.grade
        if len(grades) and grades.max() > max_rel:
            row = int(np.flatnonzero(self.columns.value > max_rel)[0])
            raise BadJudgments(
                f"{self.columns.describe(row)} has grade {self.columns.value[row]}, above max_rel={max_rel}:"
                f" {way_out or f'give max_rel={grades.max()}'}, or correct the judgments."
            )

    def rows(self, run: Any, check: bool = True) -> Rows:
        """Return the rows of a run, ready for alignment; warn if the run answers no judged query.

        Parameters
        ----------
        run : DataFrame, dict of dicts, iterable of named tuples, or Columns
            Run.
        check : bool, default=True
            Whether to search all rankings for repeated documents.
        """
        rows = Rows.from_run(run, self.index, check)
        if self.qids and (rows.query < 0).all():
            self.warn_of_overlap(rows)
        return rows

    def align(self, run: Any, all_judged: bool = False, check: bool = True) -> Rankings:
        """Return the aligned rankings of a run in the order of trec_eval 9; `run` and `check` as for :meth:`rows`."""
        return self.rankings(self.rows(run, check), all_judged)

    def rankings(self, rows: Rows, all_judged: bool = False) -> Rankings:
        """Return the ranks and grades of the relevant documents among rows, or of all judged documents."""
        query, rank, judgment = self.hits(rows, all_judged)
        n = np.zeros(rows.runs * len(self.qids), np.int64)
        answered = rows.query >= 0
        n[rows.query[answered]] = rows.sizes[answered]
        topic = None if rows.runs == 1 else np.tile(np.arange(len(self.qids)), rows.runs)
        return Rankings.of_hits(
            n, query, rank, self.pool.grade[judgment], self.pool, rows=(rows,), judgment=judgment, topic=topic
        )

    def hits(self, rows: Rows, all_judged: bool) -> tuple[Array, Array, Array]:
        """Return query, rank and index in the pool of the judged documents among rows, by query and rank."""
        key = self, all_judged
        if key not in rows.hits:
            row, judgment = self.match(rows, all_judged)
            rows.sort_ties(rows.place(row))
            segment, place = rows.segment(row), rows.place(row)
            query, rank = rows.query[segment], place - rows.starts[segment] + 1
            order = _ascending(place, len(rows.score))
            if (np.diff(query) < 0).any():
                order = order[np.argsort(query[order], kind="stable")]
            rows.hits[key] = query[order], rank[order], judgment[order]
        return rows.hits[key]

    def match(self, rows: Rows, all_judged: bool) -> tuple[Array, Array]:
        """Return the rows of relevant, or of all judged, documents in ascending order, and their indices in the pool.

        Raises
        ------
        BadRun
            If a document is retrieved twice.
        """
        side = self.side(all_judged)
        row, pair = side.match(rows)
        judgment = side.rows[pair]
        return row, judgment if self.place_in_pool is None else self.place_in_pool[judgment]

    def overlaps(self, rows: Rows) -> list[Overlap]:
        """Return the overlap of each run, and the lengths that have been replaced so far.

        Judged documents of grade 0 are counted only if few are relevant.
        """
        found = self.counts(rows, all_judged=False)
        if any(one.is_low for one in found):
            every = self.counts(rows, all_judged=True)
            found = [other if one.is_low else one for one, other in zip(found, every, strict=True)]
        return [self._explained(rows, number, one) for number, one in enumerate(found)]

    def overlaps_of_parts(self, rows: Rows) -> list[Overlap]:
        """Return the overlap of the rows of each run, for sums over parts of the run.

        All judged documents in the top ten are counted, because other parts may have few relevant ones. Only the rows
        of the top ten are looked up for this.
        """
        answered = rows.query >= 0
        first = rows.starts[answered]
        place = ranges(first, first + np.minimum(rows.sizes[answered], TOP))
        rows.sort_ties(place)
        row = np.sort(rows.rows_at(place))
        looked_up = [own.side(True).judged(rows, row) for own in self._by_intent]
        judged = np.sum([self._by_run(rows, rows.query[rows.segment(found)]) for found in looked_up], axis=0)
        return [replace(one, judged=number) for one, number in zip(self.overlaps(rows), judged.tolist(), strict=True)]

    def warn_of_overlap(self, rows: Rows) -> None:
        """Warn if a run answers no judged query, has hardly any judged document, or lacks lengths."""
        for overlap in self.overlaps(rows):
            for about in overlap.notes():
                warn(about)

    def counts(self, rows: Rows, all_judged: bool) -> list[Overlap]:
        """Return the numbers of documents in the top ten, of judged ones among them and of judged ones, for each run.

        Judged documents are those with a grade above 0 if `all_judged` is False. With several intents, a document
        counts once for each.
        """
        found = []
        for own in self._by_intent:
            query, rank, _ = own.hits(rows, all_judged or (own, True) in rows.hits)
            found.append((self._by_run(rows, query, rank <= TOP), self._by_run(rows, query)))
        answered = rows.query >= 0
        top = self._by_run(rows, rows.query[answered], np.minimum(rows.sizes[answered], TOP))
        return [Overlap(*of_run) for of_run in zip(top.tolist(), *np.sum(found, axis=0).tolist(), strict=True)]

    @cached_property
    def _by_intent(self) -> list[Judgments]:
        """The judgments, or those of each intent if a document is judged for several."""
        return [self] if self.pair_keys.repeat is None else [own for _, own in self.intents]

    def _by_run(self, rows: Rows, query: Array, counted: Array | None = None) -> Array:
        """Return how many elements of `query` each run has, or the sum of their values in `counted`."""
        run = query // max(len(self.qids), 1)
        return np.bincount(run, counted, minlength=rows.runs).astype(np.int64)

    def _explained(self, rows: Rows, number: int, found: Overlap) -> Overlap:
        """Return the overlap of a run, with examples if it answers no judged query or is low."""
        found = replace(found, lengths=rows.replaced_lengths | rows.unknown_passages.get(number, {}))
        if rows.answered[number].any() and not found.is_low:
            return found
        mine = np.flatnonzero(rows.run == number)
        answered = mine[rows.query[mine] >= 0]
        if not len(answered):
            apart = [rows.names[place] for place in mine[:_NAMES]], self.qids[:_NAMES]
            return Overlap(apart=apart) if self.qids else found
        first = int(answered[0])
        query, start = int(rows.judged_query[first]), int(rows.starts[first])
        retrieved = id_columns.written(rows.columns.doc_id.slice(start, min(int(rows.sizes[first]), 4))).to_pylist()
        judged = self.columns.doc_id.take(of_numbers(np.flatnonzero(self.row_query == query)[:4])).to_pylist()
        return replace(found, example=(self.qids[query], retrieved, judged))


def _ascending(places: Array, n: int) -> Array:
    """Return the order of distinct places among n; if they are many, a table of all places is faster than a sort."""
    if _FEW * len(places) < n:
        return np.argsort(places)
    at = np.full(n, -1)
    at[places] = np.arange(len(places))
    return at[at >= 0]


class Aligned:
    """Runs that are aligned with their judgments on demand, and stacked.

    Parameters
    ----------
    judgments : Judgments
        Judgments.
    runs : sequence of Rows
        Rows of the runs; an element may have several runs.
    """

    def __init__(self, judgments: Judgments, runs: Sequence[Rows]) -> None:
        self.judgments, self.runs = judgments, runs
        self.intent: int | None = None
        self._found: dict[tuple[bool, int | None], Rankings] = {}

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return sum(rows.runs for rows in self.runs)

    def of_intent(self, number: int) -> Aligned:
        """Return the same runs aligned with the judgments of one intent; see :attr:`Judgments.intents`."""
        one = copy(self)
        one.intent = number
        return one

    def rankings(self, all_judged: bool = False) -> Rankings:
        """Return the stacked rankings with their relevant documents, or with all judged documents."""
        key = (all_judged, self.intent)
        if key not in self._found:
            judgments = self.judgments if self.intent is None else self.judgments.intents[self.intent][1]
            self._found[key] = Rankings.stacked([judgments.rankings(rows, all_judged) for rows in self.runs])
        return self._found[key]

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Drop the gains, totals and ideals that measures cache within the block.

        This saves memory if thousands of measures are scored once each. Only one thread at a time can be in the block,
        since the others would lose cached values.
        """
        with _forgets:
            known = {id(cache): set(cache) for cache in self._remembered()}
            try:
                yield
            finally:
                for cache in self._remembered():
                    for key in cache.keys() - known.get(id(cache), set()):
                        del cache[key]

    def _remembered(self) -> list[dict[Hashable, Any]]:
        rankings = list(self._found.values())
        for kind in ("some_answered", "condensed"):
            rankings += [vars(found)[kind] for found in rankings if kind in vars(found)]
        of_rankings = [cache for found in rankings for cache in (found.pool.memory, found.views)]
        return [self.judgments.pool.memory, *of_rankings]


def _several_intents(columns: Columns) -> bool:
    return columns.iteration is not None and len(columns.iteration.unique()) > 1


def _without_copies(columns: Columns) -> Columns:
    """Return the judgments once if they consist of several equal copies, as in PyTerrier's KFoldGridSearch."""
    query, document, grade = columns.query_id, columns.doc_id, columns.value
    like_first = np.flatnonzero(to_numpy(pc.and_(pc.equal(query, query[0]), pc.equal(document, document[0]))))
    n = int(like_first[1]) if len(like_first) > 1 else len(columns)
    others = len(columns) - n
    if (
        not others
        or others % n
        or not (query.slice(n).equals(query.slice(0, others)) and document.slice(n).equals(document.slice(0, others)))
        or not all(np.array_equal(of[n:], of[:others]) for of in (grade, columns.chances) if of is not None)
    ):
        return columns
    return columns.taken(np.arange(n))
