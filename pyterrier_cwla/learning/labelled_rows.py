"""Rows with a label each become rankings and judgments: by the numbers of their queries, without a join by ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ..data.alignment import Judgments, Rows
from ..data.columns import Columns
from ..data.lengths import words_of_rows
from ..data.ranked_rows import RankedRows
from ..data.rankings import Array, Pool, Rankings
from ..errors import BadJudgments, BadParameter, BadRun, NotPassed
from ..files import id_columns
from ..files.pair_keys import PairKeys
from .row_columns import KNOWN, counted, flags, labels, numbered, row_ids, scores, texts, whole, words


@dataclass(frozen=True)
class Samples:
    """Labelled rows, each a document of a query.

    Without ``docno`` every row is a document of its own, and of equal scores the earlier row comes first; with it ties
    are settled as trec_eval does, by id, descending.

    Attributes
    ----------
    label : ndarray of float, shape (n_rows,)
        The grade, NaN where unjudged.
    qid, docno : ndarray, shape (n_rows,)
        Ids of any type.
    doc_length : ndarray, shape (n_rows,)
        In words.
    judged : ndarray of bool, shape (n_rows,)
        False where the label is none.
    """

    label: Array
    qid: Array
    docno: Array | None = None
    doc_length: Array | None = None
    judged: Array | None = None

    @classmethod
    def of(cls, label: Any, known: Mapping[str, Array]) -> Samples:
        """From labels, and what :func:`known_of_rows` found, ``qid`` included."""
        if label is None:
            raise BadJudgments("there are no labels: y must be the grade of each row.")
        if known.get("qid") is None:
            raise NotPassed(
                "qid is missing, so that no one knows which rows are of one query: pass qid=, one value for each row,"
                " or give y (or X) an index with the level 'qid'."
            )
        return cls(labels(label), **known)

    def __post_init__(self) -> None:
        for name in KNOWN:
            values = getattr(self, name)
            if values is not None and len(values) != len(self.label):
                raise BadParameter(f"{name} has {counted(values)}, and there are {len(self.label):,} labels.")
        for name in ("qid", "docno"):
            ids = getattr(self, name)
            if ids is not None and (holes := np.flatnonzero(pd.isna(ids))).size:
                raise BadParameter(f"row {holes[0]} has no {name}.")

    @cached_property
    def is_judged(self) -> Array:
        """Which rows have a label that counts."""
        known = ~np.isnan(self.label)
        return known if self.judged is None else known & flags(self.judged)

    @cached_property
    def queries(self) -> tuple[Array, list[str]]:
        """The number of each row's query, in the order in which queries first occur, and the names of the queries."""
        return numbered(self.qid, "qid")

    @cached_property
    def doc_id(self) -> Any:
        """The document of each row, as Arrow strings."""
        return texts(self.docno, "docno") if self.docno is not None else row_ids(len(self.label))

    @cached_property
    def words(self) -> Array | None:
        """The words of each row's document."""
        return None if self.doc_length is None else words(self.doc_length)

    @cached_property
    def judgments(self) -> LabelledJudgments:
        """The judgments of the rows that were judged."""
        return LabelledJudgments(self)

    def scores(self, values: Any) -> Array:
        """One score for each row, checked."""
        score = scores(values)
        if score.shape != self.label.shape:
            raise BadRun(f"there are {counted(score)} for {len(self.label):,} rows: give one score for each row.")
        if np.isnan(score).any():
            row = int(np.argmax(np.isnan(score)))
            raise BadRun(f"row {row} has the score NaN: every row needs a number to be ranked by.")
        return score

    # ---- the same with ids as text, for the providers of ir_measures and for errors

    @cached_property
    def query_id(self) -> Any:
        return texts(self.qid, "qid")

    @cached_property
    def text_judgments(self) -> Judgments:
        """The judgments, to be joined with a run by ids."""
        rows = pa.array(np.flatnonzero(self.is_judged))
        grades = whole(self.label[self.is_judged])
        return Judgments(Columns(self.query_id.take(rows), self.doc_id.take(rows), grades))

    def run(self, score: Any) -> Columns:
        """The rows as a run with these scores."""
        return Columns(self.query_id, self.doc_id, self.scores(score), self.words)


class LabelledJudgments:
    """The labels of rows as judgments.

    The rows of a query are brought together, in the order in which queries first occur. Judged queries are numbered in
    the order in which their judged rows first occur.
    """

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        number, names = samples.queries
        self.order = np.argsort(number, kind="stable")
        self.group = number[self.order]
        self.sizes = np.bincount(number, minlength=len(names))
        judged = np.flatnonzero(samples.is_judged)
        self.asked: Array = pd.unique(number[judged])
        """The judged queries, by their numbers among all."""
        self.qids = [names[one] for one in self.asked.tolist()]
        self.query = np.full(len(names), -1, np.int64)
        self.query[self.asked] = np.arange(len(self.asked))
        query, grade = self.query[number[judged]], whole(samples.label[judged])
        self.pool_order = np.argsort(query, kind="stable")
        pool_words = None if samples.doc_length is None else self._words_of_pool
        self.pool = Pool(len(self.qids), query[self.pool_order], grade[self.pool_order], self, pool_words)
        self._row_of_pool = judged[self.pool_order]
        self._words: dict[Any, Array] = {}
        if self._repeats:
            samples.text_judgments  # noqa: B018  (an error where a document is judged twice)

    @cached_property
    def judgment(self) -> Array:
        """The judgment in the pool of each row, in the order of groups; -1 where there is none."""
        judgment = np.full(len(self.order), -1)
        judgment[self._row_of_pool] = np.arange(len(self._row_of_pool))
        return judgment[self.order]

    @cached_property
    def doc_id(self) -> Any:
        return id_columns.taken(self.samples.doc_id, self.order)

    @cached_property
    def doc_length(self) -> Array | None:
        return None if self.samples.words is None else self.samples.words[self.order]

    def pair(self, row: int) -> tuple[str, str]:
        """The names of a row's query and document."""
        return self.samples.queries[1][self.group[row]], self.doc_id[row].as_py()

    @property
    def columns(self) -> Columns:
        """The judgments with ids as text."""
        return self.samples.text_judgments.columns

    @property
    def intents(self) -> list[tuple[dict[int, str], Judgments]]:
        return self.samples.text_judgments.intents

    def check_grades(self, max_rel: float) -> None:
        """Raise BadJudgments where a grade is above the highest one."""
        if self.pool.highest > max_rel:
            self.samples.text_judgments.check_grades(max_rel)

    def rows(self, score: Any) -> ScoredRows:
        """The rows, ranked by these scores, one for each row."""
        score = self.samples.scores(score)
        if self._repeats:
            Rows(self.samples.text_judgments, self.samples.run(score)).rankings()  # an error: a document is there twice
        return ScoredRows(self, score[self.order])

    @cached_property
    def _repeats(self) -> bool:
        """Whether a query has a document twice."""
        if self.samples.docno is None:
            return False
        return PairKeys(self.samples.doc_id, self.samples.queries[0]).repeat is not None

    def words_of_rows(self, metric: Any) -> Array:
        """The words of all documents, in the order of groups."""
        key = (metric.lengths, metric.missing)
        if key not in self._words:
            self._words[key] = words_of_rows(metric, self)
        return self._words[key]

    def _words_of_pool(self, metric: Any) -> Array:
        words = np.empty(len(self.order))
        words[self.order] = self.words_of_rows(metric)
        return words[self._row_of_pool]


class ScoredRows(RankedRows):
    """Labelled rows, ranked by scores."""

    def __init__(self, judgments: LabelledJudgments, score: Array) -> None:
        self.judgments = self.labelled = judgments
        self.query, self.ends = judgments.query, np.cumsum(judgments.sizes)
        self.starts = self.ends - judgments.sizes
        judgments.doc_length  # noqa: B018  (an error now where one is no number)
        with np.errstate(over="ignore"):
            bits = (-(score.astype(np.float32) + np.float32(0))).view(np.uint32)  # +0: one zero, and not two
        bits = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
        keys = (judgments.group.astype(np.uint64) << np.uint64(32)) | bits  # sorted as one number
        self.order = np.argsort(keys, kind="stable")
        """The row at each place, group after group in rank order."""
        if judgments.samples.docno is not None:
            self._settle_ties(keys[self.order])

    def _settle_ties(self, keys: Array) -> None:
        """Order rows of equal keys by document id, descending."""
        same = keys[1:] == keys[:-1]
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        if len(tied):
            rows = self.order[tied]
            ids = id_columns.taken(self.labelled.samples.doc_id, self.labelled.order[rows])
            self.order[tied] = rows[id_columns.order_in_groups(keys[tied], ids)]

    def rankings(self, all_judged: bool = False, judgments: Any = None) -> Rankings:
        """Which relevant (or judged) documents are at which ranks; raises where other judgments are given."""
        labelled = self.labelled
        judgment = labelled.judgment[self.order]
        wanted = np.flatnonzero(judgment >= 0)
        if not all_judged:
            wanted = wanted[labelled.pool.grade[judgment[wanted]] > 0]
        group = labelled.group[wanted]
        query, rank = labelled.query[group], wanted - self.starts[group] + 1
        in_order = np.argsort(query, kind="stable")
        judgment = judgment[wanted[in_order]]
        return Rankings.of_hits(
            labelled.sizes[labelled.asked],
            query[in_order],
            rank[in_order],
            labelled.pool.grade[judgment],
            labelled.pool,
            rows=self,
            judgment=judgment,
        )

    def in_rank_order(self, values: Array) -> Array:
        return values[self.order]

    def words_of_rows(self, metric: Any) -> Array:
        return self.labelled.words_of_rows(metric)

    def clusters(self, duplicates: Any) -> Array:
        return duplicates.clusters(self.labelled.doc_id, None)
