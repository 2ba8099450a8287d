"""Labelled rows with what is known of them (query, document, length), checked, as judgments and rankings."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ..data.alignment import Judgments
from ..data.columns import Array, Columns, highest_possible
from ..data.rankings import Pool
from ..data.rows import Rows
from ..errors import BadJudgments, BadParameter, BadRun, NotPassed, some
from ..files import id_columns
from ..files.id_columns import PairKeys
from .row_columns import (
    KNOWN,
    Known,
    chances_of,
    counted,
    flags,
    index_with,
    known_of_rows,
    labels,
    level_and_codes,
    names_of_chances,
    number_of_rows,
    numbered,
    of_rows,
    one_column,
    refuse_missing,
    row_ids,
    scores,
    texts,
    whole,
    words,
)

_FEW = 10  # rows that may each be the only one of their query
_MOST_VALUES = 100  # totals, ideal scores and lengths that are cached for judgments that are used again


Marks = dict[str, tuple[int, int, int]]
"""Hash of the labels above 0, number of rows and number of judged rows, by query."""


@dataclass(frozen=True)
class Samples:
    """Labelled rows, each for a document of a query.

    Without ``docno`` each row is a separate document, and rows with equal scores keep their order. With ``docno`` ties
    are broken as in trec_eval, by id in descending order.

    Attributes
    ----------
    label : ndarray of float, shape (n_rows,)
        The grades, NaN for unjudged rows.
    qid, docno : ndarray, shape (n_rows,)
        Ids of any type.
    doc_length : ndarray, shape (n_rows,)
        Document lengths in words.
    judged : ndarray of bool, shape (n_rows,)
        False for rows whose label is to be ignored.
    chances : ndarray, shape (n_rows, n_grades)
        Probabilities of grades in place of labels; the labels are then the highest possible grades.
    """

    label: Array
    qid: Array
    docno: Array | None = None
    doc_length: Array | None = None
    judged: Array | None = None
    chances: Array | None = None

    @classmethod
    def of(cls, label: Any, known: Mapping[str, Array], uncertain: bool = False) -> Samples:
        """Return samples from labels and the result of :func:`known_of_rows`.

        With `uncertain`, the labels may be probabilities: see :func:`chances_of`.

        Raises
        ------
        BadJudgments
            If labels are missing or invalid.
        NotPassed
            If ``qid`` is missing.
        """
        if label is None:
            raise BadJudgments("there are no labels: y must contain the grade of each row.")
        if known.get("qid") is None:
            raise NotPassed(
                "qid is missing, the query of each row: pass qid=, one value per row, or give y (or X) an index with"
                " the level 'qid'."
            )
        chances = chances_of(label)
        if chances is None:
            return cls(labels(label), **known)
        if not uncertain:
            raise BadJudgments(
                "the labels are probabilities (p_relevant, or p_0, p_1, …), which only scorers of Expected(measure=…)"
                " read: give grades, or rename a Series that has these."
            )
        highest = np.where(np.isnan(chances[:, 0]), np.nan, highest_possible(chances))
        return cls(highest, **known, chances=chances)

    def __post_init__(self) -> None:
        for name in KNOWN:
            values = getattr(self, name)
            if values is not None and len(values) != len(self.label):
                raise BadParameter(f"{name} has {counted(values)}, but there are {len(self.label):,} labels.")
        for name in ("qid", "docno"):
            ids = getattr(self, name)
            if ids is not None:
                refuse_missing(ids, name)

    @cached_property
    def is_judged(self) -> Array:
        """Mask of the rows with a valid label."""
        known = ~np.isnan(self.label)
        return known if self.judged is None else known & flags(self.judged)

    @cached_property
    def queries(self) -> tuple[Array, list[str]]:
        """Number of each row's query, in the order of first occurrence, and the names of the queries."""
        return numbered(self.qid, "qid")

    @cached_property
    def doc_id(self) -> Any:
        """Document of each row, as Arrow strings."""
        return texts(self.docno, "docno") if self.docno is not None else row_ids(len(self.label))

    @cached_property
    def words(self) -> Array | None:
        """Document length of each row, in words."""
        return None if self.doc_length is None else words(self.doc_length)

    @cached_property
    def judgments(self) -> LabelledJudgments:
        """Judgments of the judged rows."""
        return LabelledJudgments(self)

    @cached_property
    def marks(self) -> Marks:
        """Hash of the labels above 0 of each query, in any order, and its numbers of rows and of judged rows."""
        number, names = self.queries
        above = self.is_judged & (self.label > 0)
        hashes = np.zeros(len(names), np.uint64)
        np.add.at(hashes, number[above], id_columns.mixed(self.label[above].view(np.uint64) + id_columns.ODD))
        rows, judged = (np.bincount(which, minlength=len(names)) for which in (number, number[self.is_judged]))
        return dict(zip(names, zip(hashes.tolist(), rows.tolist(), judged.tolist()), strict=True))

    def scores(self, values: Any) -> Array:
        """Return one score per row as floats.

        Raises
        ------
        BadRun
            If the number of scores is wrong, or a score is NaN.
        """
        score = scores(values)
        if score.shape != self.label.shape:
            raise BadRun(f"there are {counted(score)} for {len(self.label):,} rows: pass one score per row.")
        if np.isnan(score).any():
            row = int(np.argmax(np.isnan(score)))
            raise BadRun(f"row {row} has the score NaN: rows are ranked by numbers.")
        return score

    @cached_property
    def query_id(self) -> Any:
        """Query of each row, as Arrow strings."""
        return texts(self.qid, "qid")

    @cached_property
    def text_judgments(self) -> Judgments:
        """Judgments with ids as text, for other providers and for errors."""
        judged = self.is_judged
        rows = pa.array(np.flatnonzero(judged))
        certain = Columns(self.query_id.take(rows), self.doc_id.take(rows), whole(self.label[judged]))
        return Judgments(certain if self.chances is None else certain.uncertain(self.chances[judged]))

    def run(self, score: Any) -> Columns:
        """Return the rows as a run with these scores and with ids as text."""
        return Columns(self.query_id, self.doc_id, self.scores(score), self.words)


def rows_as_queries(samples: Samples) -> str | None:
    """Return a message if each of more than ten rows has a query of its own, as with row numbers in ``qid``."""
    rows = len(samples.label)
    if rows <= _FEW or len(samples.queries[1]) < rows:
        return None
    return (
        f"qid has a different value in each of {rows:,} rows ({some(samples.qid)}), so that each query has one document"
        " and nothing is ranked: qid must be the query of each row, not its number."
    )


def split_queries(samples: Samples, trained: Marks) -> str | None:
    """Return a message if queries were in the training rows with other rows; `trained` has the marks of these.

    Unjudged rows may be missing in the training rows, or have the label 0 there.
    """
    marks = samples.marks if trained else {}
    both = [(qid, trained[qid], mark) for qid, mark in marks.items() if qid in trained]
    split = [qid for qid, known, mark in both if known[0] != mark[0] or known[1] not in mark[1:]]
    if not split:
        return None
    return (
        f"{len(split):,} of {len(marks):,} queries ({some(split)}) were in the training rows with other rows or"
        " labels, so that the score may be too high: split whole queries, as with cv=GroupKFold() and groups=. If they"
        " are other queries, give them other ids."
    )


class LabelledJudgments(Judgments):
    """Labels of rows as judgments.

    The rows are grouped by query, in the order in which queries first occur. Judged queries are numbered in the order
    of their first judged rows.

    Parameters
    ----------
    samples : Samples
        The rows.

    Attributes
    ----------
    order : ndarray of int, shape (n_rows,)
        The rows, grouped by query.
    asked : ndarray of int, shape (n_judged,)
        The judged queries, as numbers among all queries.
    """

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        number, names = samples.queries
        self.order = np.argsort(number, kind="stable")
        sizes = np.bincount(number, minlength=len(names))
        judged = np.flatnonzero(samples.is_judged)
        self.asked: Array = pd.unique(number[judged])
        self.qids = [names[one] for one in self.asked.tolist()]
        self.index = {qid: number for number, qid in enumerate(self.qids)}
        query_of_group = np.full(len(names), -1, np.int64)
        query_of_group[self.asked] = np.arange(len(self.asked))
        query, grade = query_of_group[number[judged]], whole(samples.label[judged])
        in_pool = np.argsort(query, kind="stable")
        doc_id = None if samples.docno is None else id_columns.taken(samples.doc_id, self.order)
        words = None if samples.words is None else samples.words[self.order]
        columns = Columns(None, doc_id, np.zeros(len(self.order)), words)
        if samples.chances is not None:
            columns = columns.uncertain(samples.chances[self.order])
        place = np.empty_like(self.order)
        place[self.order] = np.arange(len(place))
        self._row_of_pool = place[judged[in_pool]]
        self.pool = Pool(len(self.qids), query[in_pool], grade[in_pool], columns, self._row_of_pool)
        self._rows = Rows(
            columns, np.cumsum(sizes) - sizes, names, self.index, query=query_of_group, order=self.order,
            memory=self.pool.memory,
        )  # fmt: skip
        if self._repeats:
            samples.text_judgments  # noqa: B018  (raises if a document is judged twice)

    def __reduce__(self) -> Any:
        """Pickle the rows without values computed from them."""
        return LabelledJudgments, (self.samples,)

    @property
    def reusable(self) -> bool:
        """Whether later scorings may use these judgments.

        They may not if lengths are replaced by their mean, of which each scoring warns, or if many values are cached.
        """
        replaced = self.pool.memory.get("replaced lengths", {})
        return not any(one.replaced for one in replaced.values()) and len(self.pool.memory) <= _MOST_VALUES

    @cached_property
    def columns(self) -> Columns:  # type: ignore[override]
        """Judgments with ids as text."""
        return self.samples.text_judgments.columns

    def check_grades(self, max_rel: float, way_out: str = "") -> None:
        """Raise BadJudgments if a grade is above ``max_rel``; the way out is a larger ``max_rel`` by default."""
        if self.pool.highest <= max_rel:
            return
        if self.samples.docno is not None:
            self.samples.text_judgments.check_grades(max_rel, way_out)
        label = np.where(self.samples.is_judged, self.samples.label, 0)
        row = int(np.flatnonzero(label > max_rel)[0])  # documents have no ids
        number, names = self.samples.queries
        raise BadJudgments(
            f"topic {names[number[row]]!r}: row {row} has grade {label[row]:g}, above"
            f" max_rel={max_rel}: {way_out or f'give max_rel={label.max():g}'}, or correct the judgments."
        )

    def scored(self, score: Any) -> Rows:
        """Return the rows ranked by scores, one score per row."""
        score = self.samples.scores(score)
        if self._repeats:
            self.samples.text_judgments.align(self.samples.run(score))  # raises: a document occurs twice
        return self._rows.with_scores(score[self.order])

    def match(self, rows: Rows, all_judged: bool) -> tuple[Array, Array]:
        """Return the rows of relevant, or of all judged, documents, and their indices in the pool."""
        return self._judged if all_judged else self._relevant

    @cached_property
    def _judged(self) -> tuple[Array, Array]:
        judgment = np.argsort(self._row_of_pool)
        return self._row_of_pool[judgment], judgment

    @cached_property
    def _relevant(self) -> tuple[Array, Array]:
        row, judgment = self._judged
        relevant = self.pool.grade[judgment] > 0
        return row[relevant], judgment[relevant]

    @cached_property
    def _repeats(self) -> bool:
        """Whether a document occurs twice in a query."""
        if self.samples.docno is None:
            return False
        return PairKeys(self.samples.doc_id, self.samples.queries[0]).repeat is not None


_Given = dict[str, "Array | pd.Index"]

_MOST = 32  # sets of rows
_SIZE = 1_000_000  # values in the columns of all sets of rows, about 80 MB with what is computed from them
_kept: dict[bytes, tuple[_Given, int, Samples]] = {}  # columns, their size and rows by the bytes of the labels


def prepared(X: Any, y: Any, given: Known) -> Samples:
    """Return labelled rows, from the cache if labels and data of rows equal those of an earlier call.

    Contents are compared, because scikit-learn takes the rows of a fold out of the data at each scoring. Of rows with
    equal labels the last ones are in the cache.

    Parameters
    ----------
    X, y : array_like or DataFrame or Series
        Features and labels.
    given : mapping of str to array_like or None
        The keyword arguments; see :func:`known_of_rows`.

    Returns
    -------
    Samples
    """
    columns = _columns(X, y, given)
    key = columns["label"].tobytes()
    if key in (kept := _kept):
        known, _, samples = kept[key]
        equal = known.keys() == columns.keys() and all(_same(known[name], columns[name]) for name in known)
        if equal and samples.judgments.reusable:
            return samples
    known = {name: np.array(values) for name, values in known_of_rows(X, y, given).items()}
    samples = Samples.of(y, known, uncertain=True)
    # Equal values of these columns have equal texts: numbers of one type, or texts only.
    comparable = (
        values.dtype.kind in "iufbU" or pd.api.types.infer_dtype(values, skipna=False) == "string"
        for values in columns.values()
    )
    if samples.judgments.qids and all(comparable):
        # NumPy 2.0 ends the process if an array of StringDType is copied by copy.deepcopy.
        own = {name: of.copy(deep=True) if isinstance(of, pd.Index) else of.copy() for name, of in columns.items()}
        _keep(key, own, samples)
    return samples


def _columns(X: Any, y: Any, given: Known) -> _Given:
    """Return labels and data of rows as they are given: as arrays, or as levels of an index and their codes."""
    columns: _Given = {"label": one_column(y), "rows": np.array(number_of_rows(X, y))}
    if names := names_of_chances(y):
        columns["probabilities"] = np.array(names)
    for name in KNOWN:
        if given.get(name) is not None:
            columns[name] = of_rows(given[name])
        elif (index := index_with(name, y, X)) is not None:
            columns[name], columns[f"{name} codes"] = level_and_codes(index, name)
    return columns


def _same(one: Array | pd.Index, other: Array | pd.Index) -> bool:
    """Return whether columns have equal types and values; NaN equals NaN."""
    if type(one) is not type(other) or one.dtype != other.dtype or one.shape != other.shape:
        return False
    if isinstance(one, pd.Index):
        return bool(one.equals(other))
    return one.tobytes() == other.tobytes() if one.dtype.kind in "iufb" else np.array_equal(one, other)


def _keep(key: bytes, columns: _Given, samples: Samples) -> None:
    """Put rows into the cache, and drop the oldest ones."""
    global _kept
    size = sum(len(values) for values in columns.values() if values.ndim)
    newest_first = [(key, (columns, size, samples)), *(one for one in _kept.items() if one[0] != key)]
    total = itertools.accumulate(size for _, (_, size, _) in newest_first)
    # A new dict, since other threads may read the old one.
    _kept = dict(one for one, size in zip(newest_first[:_MOST], total, strict=False) if size <= _SIZE)
