"""Aligns a run with its judgments: the only place where ids and scores become arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import BadJudgments, BadRun
from ..errors.user_warnings import warn
from ..files import id_columns
from ..files.pair_keys import PairKeys, repeated
from .columns import Columns, judgment_columns, run_columns
from .judged_pairs import JudgedPairs, ranges
from .lengths import words_of_rows
from .overlap import TOP, Overlap
from .ranked_rows import RankedRows
from .rankings import Array, Pool, Rankings

_forgets = RLock()


class Judgments:
    """Judgments, prepared once for all runs that are aligned with them."""

    def __init__(self, qrels: Any, qids: list[str] | None = None) -> None:
        columns = qrels if isinstance(qrels, Columns) else judgment_columns(qrels)
        starts, names = _queries(columns)
        if len(set(names)) < len(names) and not _several_intents(columns):
            columns = _said_once(columns)
            starts, names = _queries(columns)
        self.columns = columns
        if columns.value.dtype.kind == "f" and not np.isfinite(columns.value).all():
            row = int(np.argmin(np.isfinite(columns.value)))
            if np.isnan(columns.value[row]):
                raise BadJudgments(f"{self.describe(row)} has no relevance (NaN).")
            raise BadJudgments(f"{self.describe(row)} has the relevance {columns.value[row]}: grades are finite.")
        self.qids = list(dict.fromkeys(names)) if qids is None else qids
        self.index = {qid: number for number, qid in enumerate(self.qids)}
        sizes = np.diff(np.append(starts, len(columns)))
        self.row_query = np.repeat(np.array([self.index[name] for name in names], np.int64), sizes)
        scattered = (np.diff(self.row_query) < 0).any()
        order = np.argsort(self.row_query, kind="stable") if scattered else None
        self.pool_order = slice(None) if order is None else order
        self.place_in_pool = None if order is None else np.argsort(order)
        self.relevant = np.flatnonzero(columns.value > 0)
        self.pool = Pool(
            len(self.qids), self.row_query[self.pool_order], columns.value[self.pool_order], judgments=self
        )
        if not scattered:
            self.pool.positive = self.row_query[self.relevant], columns.value[self.relevant]
        self._sides: dict[bool, JudgedPairs] = {}
        if not _several_intents(columns):
            self._no_pair_twice()

    def __reduce__(self) -> Any:
        """What was computed from the judgments stays where it was."""
        return Judgments, (self.columns, self.qids)

    @cached_property
    def intents(self) -> list[tuple[dict[int, str], Judgments]]:
        """The judgments of every query's first intent (the qrels' column ``iteration``), of its second, and so on.

        With each: what the queries call that intent, by their numbers. How intents are named across queries so costs
        nothing.
        """
        if self.columns.iteration is None:
            raise BadJudgments(
                "the judgments tell no intents apart: they have no column 'iteration' (in a TREC file the second field,"
                " which must differ somewhere)."
            )
        encoded = pc.dictionary_encode(self.columns.iteration)
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        names = encoded.dictionary.to_pylist()
        pairs, of_row = np.unique(self.row_query * len(names) + encoded.indices.to_numpy(), return_inverse=True)
        query = pairs // max(len(names), 1)
        nth = np.arange(len(pairs)) - np.searchsorted(query, query)
        intents = []
        for number in range(nth.max(initial=-1) + 1):
            called = {int(pair // len(names)): names[pair % len(names)] for pair in pairs[nth == number]}
            rows = np.flatnonzero(nth[of_row] == number)
            intents.append((called, self.only(rows)))
        return intents

    def only(self, rows: Array) -> Judgments:
        """Some of these judgments, over the same queries."""
        return Judgments(taken(self.columns, rows), qids=self.qids)

    def describe(self, row: int) -> str:
        columns = self.columns
        return f"topic {columns.query_id[row].as_py()!r}: {columns.doc_id[row].as_py()!r}"

    def side(self, all_judged: bool) -> JudgedPairs:
        """The judged pairs to match runs with: those above grade 0, or all."""
        all_judged = all_judged or len(self.relevant) == len(self.columns)
        if all_judged not in self._sides:
            self._no_pair_twice()
            self._sides[all_judged] = JudgedPairs(self, all_judged)
        return self._sides[all_judged]

    @cached_property
    def pair_keys(self) -> PairKeys:
        return PairKeys(self.columns.doc_id, self.row_query)

    def _no_pair_twice(self) -> None:
        row = self.pair_keys.repeat
        if row is not None:
            intents = " (for intents, use IntentAware)" if _several_intents(self.columns) else ""
            raise BadJudgments(f"{self.describe(row)} is judged twice{intents}: keep one row.")

    def check_grades(self, max_rel: float) -> None:
        """No grade may be above the highest one."""
        grades = self.pool.grade
        if len(grades) and grades.max() > max_rel:
            row = int(np.flatnonzero(self.columns.value > max_rel)[0])
            raise BadJudgments(
                f"{self.describe(row)} has grade {self.columns.value[row]}, above max_rel={max_rel}: give max_rel="
                f"{grades.max()}, or mend the judgments."
            )

    def align(self, run: Any, all_judged: bool = False, check: bool = True) -> Rankings:
        """A run's rankings in trec_eval 9's order: score in float32 descending, ties by document id descending."""
        return self.rows(run, check).rankings(all_judged)

    def rows(self, run: Any, check: bool = True) -> Rows:
        """A run's rows, in order, to be matched with judgments. Warns of a run that answers no judged query."""
        rows = Rows(self, run, check)
        if self.qids and (rows.query < 0).all():
            rows.warn_of_overlap()
        return rows


class Aligned:
    """Runs, aligned with their judgments as far and as often as measures ask for, and stacked."""

    def __init__(self, runs: Sequence[RankedRows]) -> None:
        self.runs = runs
        self.judgments = runs[0].judgments
        self.intent: int | None = None
        self._found: dict[tuple, Rankings] = {}

    def of_intent(self, number: int) -> Aligned:
        """The same runs, aligned with the judgments of one intent; see :attr:`Judgments.intents`."""
        one = copy(self)
        one.intent = number
        return one

    def rankings(self, all_judged: bool = False) -> Rankings:
        """The rankings with their relevant documents, or with all judged ones."""
        key = (all_judged, self.intent)
        if key not in self._found:
            judgments = self.judgments if self.intent is None else self.judgments.intents[self.intent][1]
            self._found[key] = Rankings.stacked([run.rankings(all_judged, judgments) for run in self.runs])
        return self._found[key]

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """What measures leave behind meanwhile, their gains, totals and ideals, is dropped: of thousands that are
        scored once, nobody asks for it again. One thread at a time: others would miss what is dropped."""
        with _forgets:
            known = {id(cache): set(cache) for cache in self._remembered()}
            try:
                yield
            finally:
                for cache in self._remembered():
                    for key in cache.keys() - known.get(id(cache), set()):
                        del cache[key]

    def release(self) -> None:
        """Lets go of the rows, so that their memory is free at once: rankings and what is seen of them refer to each
        other, and Python looks for such circles only now and then. Nothing can be asked afterwards."""
        for run in self.runs:
            vars(run).clear()

    def _remembered(self) -> list[dict]:
        rankings = list(self._found.values())
        for kind in ("answered", "condensed"):
            rankings += [vars(found)[kind] for found in rankings if kind in vars(found)]
        of_rankings = [cache for found in rankings for cache in (found.pool.memory, found._gains, found.views)]
        return [self.judgments.pool.memory, *of_rankings]


class Rows(RankedRows):
    """The rows of a run, query after query; their order within a query is found only as far as it is asked for."""

    judgments: Judgments

    def __init__(self, judgments: Judgments, run: Any, check: bool = True) -> None:
        self.judgments = judgments
        columns = run if isinstance(run, Columns) else run_columns(run)
        starts, names = _queries(columns)
        if len(set(names)) < len(names):  # a query's rows are scattered: bring them together
            number = {name: i for i, name in enumerate(dict.fromkeys(names))}
            sizes = np.diff(np.append(starts, len(columns)))
            order = np.argsort(np.repeat([number[name] for name in names], sizes), kind="stable")
            columns = taken(columns, order)
            starts, names = _queries(columns)
        self.columns, self.names = columns, names
        self.starts = starts
        self.ends = np.append(starts[1:], len(columns)).astype(np.int64)
        self.query = np.array([judgments.index.get(name, -1) for name in names], np.int64)
        with np.errstate(over="ignore"):
            self.score = np.asarray(columns.value, np.float32)
        self._moved: tuple[Array, Array] | None = None  # rows that are not at their rank's place, and their places
        self._settle_unsorted()
        self._ordered = False
        self.unchecked = check
        """Whether the search for repeated documents is still to be done; it is part of the look-up of documents."""
        self._matched: tuple[JudgedPairs, Array, Array] | None = None  # what was looked up last
        self._counts: dict[tuple, tuple[int, int]] = {}  # judged documents in the top ten, and at all ranks

    def rankings(self, all_judged: bool = False, judgments: Judgments | None = None) -> Rankings:
        """Which judged documents are at which ranks; ``judgments`` may be others, of the same queries."""
        judgments = judgments or self.judgments
        side = judgments.side(all_judged)
        if self._matched is None or self._matched[0] is not side:
            self._matched = side, *side.match(self)
        _, row, pair = self._matched
        twice = np.flatnonzero(np.bincount(pair, minlength=1) > 1)
        if len(twice):
            self._refuse_twice(int(row[np.flatnonzero(pair == twice[0])[1]]))
        if not self._ordered:
            self._settle_ties(row)
        segment = self.segment(row)
        query, rank = self.query[segment], self._place(row) - self.starts[segment] + 1
        place = query * (int(rank.max(initial=0)) + 1) + rank
        order = slice(None) if (place[1:] > place[:-1]).all() else np.argsort(place)
        n = np.zeros(len(self.judgments.qids), np.int64)
        judged = self.query >= 0
        n[self.query[judged]] = (self.ends - self.starts)[judged]
        pair = pair[order]
        self._counts[judgments, all_judged] = int(np.count_nonzero(rank <= TOP)), len(rank)
        judgment = side.rows[pair] if judgments.place_in_pool is None else judgments.place_in_pool[side.rows[pair]]
        return Rankings.of_hits(
            n, query[order], rank[order], side.grade[pair], judgments.pool, rows=self, judgment=judgment
        )

    def counts(self, all_judged: bool) -> tuple[int, int, int]:
        """The documents in the top ten of judged queries, how many of them are judged (or else: above grade 0), and how
        many at all ranks. Where there are several intents, a document counts once for each."""
        given = self.judgments
        judged = [given] if given.pair_keys.repeat is None else [own for _, own in given.intents]
        for own in judged:
            if (own, all_judged) not in self._counts and (own, True) not in self._counts:
                self.rankings(all_judged, own)
        found = [self._counts.get((own, True)) or self._counts[own, all_judged] for own in judged]
        top = int(np.minimum(self.sizes[self.query >= 0], TOP).sum())
        return top, sum(top for top, _ in found), sum(every for _, every in found)

    @cached_property
    def overlap(self) -> Overlap:
        return Overlap.of(self)

    def warn_of_overlap(self) -> None:
        """Warn of a run that answers no judged query, or of which almost nothing is judged."""
        if about := self.overlap.about():
            warn(about)

    @property
    def numbers(self) -> Array:
        """A number for each query: of judged queries their own, of others numbers above these."""
        return np.where(self.query < 0, len(self.judgments.qids) + np.arange(len(self.query)), self.query)

    def between(self, queries: slice) -> tuple[int, int]:
        """Where the rows of these queries begin and end."""
        return int(self.starts[queries.start]), int(self.ends[queries.stop - 1])

    def segment(self, row: Array) -> Array:
        """In which query's rows these rows, in ascending order, are."""
        before = np.searchsorted(row, np.append(self.starts, len(self.columns)))
        return np.repeat(np.arange(len(self.starts)), np.diff(before))

    # ---- order

    def _settle_unsorted(self) -> None:
        """Sorts the queries whose scores do not descend already; ties stay as they are."""
        score, starts = self.score, self.starts
        if not len(score):
            return
        descends = score[1:] <= score[:-1]
        descends[starts[1:] - 1] = True
        if not descends.all() or np.isnan(score[starts]).any():
            if np.isnan(score).any():
                row = int(np.flatnonzero(np.isnan(score))[0])
                raise BadRun(f"{self._describe(row)} has the score NaN: every document needs a number to be ranked by.")
            unsorted = np.unique(self.segment(np.flatnonzero(~descends)))
            rows = ranges(starts[unsorted], self.ends[unsorted])
            places = np.empty(len(rows), np.int64)
            done = 0
            for a, b in zip(starts[unsorted].tolist(), self.ends[unsorted].tolist(), strict=True):
                places[done + np.argsort(-score[a:b], kind="stable")] = np.arange(a, b)
                done += b - a
            self._moved = rows, places
            self.score = score.copy()
            self.score[places] = score[rows]

    def _place(self, row: Array) -> Array:
        """Where these rows stand when each query's rows are in rank order."""
        if self._moved is None:
            return row
        rows, places = self._moved
        at = np.minimum(np.searchsorted(rows, row), len(rows) - 1)
        return np.where(rows[at] == row, places[at], row)

    def _settle_ties(self, hits: Array | None) -> None:
        """Orders equal scores by document id, descending: where a hit is involved, or everywhere (hits=None)."""
        score = self.score  # in rank order up to ties
        if hits is None:
            same = np.flatnonzero(score[1:] == score[:-1])
            same = same[self.segment(same) == self.segment(same + 1)]
            tied = np.union1d(same, same + 1)
        else:
            tied = self._tied_with(np.sort(self._place(hits)))
        if not len(tied):
            return
        row_at = tied if self._moved is None else self._rows_at(tied)
        new_group = np.ones(len(tied), bool)
        new_group[1:] = (np.diff(tied) > 1) | (score[tied[1:]] != score[tied[:-1]]) | (np.diff(self.segment(tied)) > 0)
        order = id_columns.order_in_groups(np.cumsum(new_group), self.columns.doc_id.take(pa.array(row_at)))
        self._move(row_at[order], tied)

    def _tied_with(self, place: Array) -> Array:
        """The places whose score ties with one of these, within its query."""
        score, last = self.score, len(self.score) - 1
        segment = self.segment(place)
        up = (place > self.starts[segment]) & (score[np.maximum(place - 1, 0)] == score[place])
        down = (place < self.ends[segment] - 1) & (score[np.minimum(place + 1, last)] == score[place])
        if not (up | down).any():
            return np.zeros(0, np.int64)
        segments = np.unique(segment[up | down])
        rows = ranges(self.starts[segments], self.ends[segments])
        group = np.cumsum(
            np.concatenate([[True], (score[rows[1:]] != score[rows[:-1]]) | (np.diff(self.segment(rows)) > 0)])
        )
        wanted = np.zeros(group[-1] + 1, bool)
        wanted[group[np.searchsorted(rows, place[up | down])]] = True
        return rows[wanted[group]]

    def _rows_at(self, places: Array) -> Array:
        assert self._moved is not None
        rows, moved_to = self._moved
        order = np.argsort(moved_to)
        at = np.minimum(np.searchsorted(moved_to, places, sorter=order), len(order) - 1)
        candidate = order[at]
        return np.where(moved_to[candidate] == places, rows[candidate], places)

    def _move(self, rows: Array, places: Array) -> None:
        if self._moved is not None:
            old_rows, old_places = self._moved
            stay = ~np.isin(old_rows, rows)
            rows, places = np.concatenate([rows, old_rows[stay]]), np.concatenate([places, old_places[stay]])
        order = np.argsort(rows)
        self._moved = rows[order], places[order]

    def in_rank_order(self, values: Array) -> Array:
        """A column's values, query after query in rank order, ties settled."""
        if not self._ordered:
            self._settle_ties(None)
            self._ordered = True
        if self._moved is None:
            return values
        rows, places = self._moved
        ordered = values.copy()
        ordered[places] = values[rows]
        return ordered

    @property
    def answered(self) -> Array:
        """Which of the judged queries the run answers."""
        return np.isin(np.arange(len(self.judgments.qids)), self.query)

    # ---- what only some metrics ask for

    @property
    def doc_id(self) -> Any:
        return self.columns.doc_id

    @property
    def doc_length(self) -> Array | None:
        return self.columns.doc_length

    def words_of_rows(self, metric: Any) -> Array:
        return words_of_rows(metric, self)

    def clusters(self, duplicates: Any) -> Array:
        return duplicates.clusters(self.columns.doc_id, self.columns.duplicate_of)

    def pair(self, row: int) -> tuple[str, str]:
        return self.columns.query_id[row].as_py(), self.columns.doc_id[row].as_py()

    # ---- errors

    def _describe(self, row: int) -> str:
        query, document = self.pair(row)
        return f"topic {query!r}: {document!r}"

    def _refuse_twice(self, row: int) -> None:
        raise BadRun(f"{self._describe(row)} is retrieved twice: keep one row of each document.")

    def refuse_repeats(self, queries: slice, keys: Array) -> None:
        """Raises BadRun where a document stands twice in a ranking of these queries, whose pairs have these keys."""
        start, end = self.between(queries)
        segment = np.repeat(np.arange(queries.start, queries.stop), self.sizes[queries])
        repeat = repeated(keys, self.columns.doc_id.slice(start, end - start), segment)
        if repeat is not None:
            self._refuse_twice(start + repeat)


def _several_intents(columns: Columns) -> bool:
    return columns.iteration is not None and len(columns.iteration.unique()) > 1


def _said_once(columns: Columns) -> Columns:
    """The judgments once, where the frame is several copies of one: PyTerrier's KFoldGridSearch makes such."""
    query, document, grade = columns.query_id, columns.doc_id, columns.value
    like_first = np.flatnonzero(_numpy(pc.and_(pc.equal(query, query[0]), pc.equal(document, document[0]))))
    n = int(like_first[1]) if len(like_first) > 1 else len(columns)
    copies = [Columns(query.slice(a, n), document.slice(a, n), grade[a : a + n]) for a in range(0, len(columns), n)]
    first = copies[0]
    if len(copies) == 1 or any(
        len(copy) < n
        or not (copy.query_id.equals(first.query_id) and copy.doc_id.equals(first.doc_id))
        or not np.array_equal(copy.value, first.value)
        for copy in copies[1:]
    ):
        return columns
    intent = columns.iteration
    return first if intent is None else replace(first, iteration=intent.slice(0, n))


def _queries(columns: Columns) -> tuple[Array, list[str]]:
    """The rows at which another query begins, and its name."""
    names = columns.query_id
    if not len(names):
        return np.zeros(0, np.int64), []
    starts = np.concatenate([[0], np.flatnonzero(id_columns.changes(names)) + 1])
    return starts, names.take(pa.array(starts)).to_pylist()


def _numpy(array: Any) -> Array:
    return array.to_numpy(zero_copy_only=False) if isinstance(array, pa.Array) else array.to_numpy()


def taken(columns: Columns, order: Array) -> Columns:
    """These rows of a run or of judgments."""
    rows = pa.array(order)
    lengths, originals = columns.doc_length, columns.duplicate_of
    return Columns(
        columns.query_id.take(rows),
        columns.doc_id.take(rows),
        columns.value[order],
        None if lengths is None else lengths[order],
        None if originals is None else originals.take(rows),
    )
