"""Training rows for intent-aware measures: the rows with the grades of each intent, and the intents' probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..data.alignment import Judgments
from ..data.rankings import Array
from ..errors import BadJudgments, BadParameter, some
from ..files import id_columns
from ..files.arrow_arrays import of_numbers
from ..files.inputs import loaded
from ..measures.provider import judged
from .row_columns import of_rows, refuse_missing, texts
from .swaps.ranked import Changes, Ranked
from .training_rows import TrainingRows


@dataclass
class RankedByIntent:
    """Rankings of some queries with the grades of each intent.

    Attributes
    ----------
    n : ndarray of int, shape (n_queries,)
        The number of items of each ranking.
    queries : ndarray of int, shape (n_queries,)
        The queries.
    parts : list of Ranked
        The rankings with the grades of the first intent of each query, of the second, and so on.
    """

    n: Array
    queries: Array
    parts: list[Ranked]


@dataclass
class IntentRows:
    """Training rows for an intent-aware measure, grouped by query; the interface is that of :class:`TrainingRows`.

    ΔM = Σ_t P(t|q)·ΔM_t, where ΔM_t is the change of the inner measure with the grades of intent t.

    Attributes
    ----------
    y : ndarray, shape (n_rows,)
        The labels, which are not used.
    parts : list of TrainingRows
        The rows with the grades of the first intent of each query, of the second, and so on.
    P : list of ndarray, shape (n_queries,)
        The probabilities of these intents.
    """

    y: Array
    parts: list[TrainingRows]
    P: list[Array]

    @classmethod
    def of(cls, measure: Any, y: Array, sizes: Array, doc_length: Any, docno: Any, qid: Any, qrels: Any) -> IntentRows:
        """Return the training rows for an intent-aware measure, with grades from ``qrels`` by query and document.

        Raises
        ------
        BadParameter, BadJudgments, MissingLength
            If the rows do not fit the groups or the measure, or no row is judged.
        """
        queries, documents = _ids(qid, "qid", len(y)), _ids(docno, "docno", len(y))
        start = np.cumsum(sizes) - sizes
        group = np.repeat(np.arange(len(sizes)), sizes)
        query = np.array(queries, object)
        if (mixed := np.flatnonzero(query != query[start][group])).size:
            raise BadParameter(f"row {mixed[0]} has another qid than the first row of its group: a group is one query.")
        pairs = pd.MultiIndex.from_arrays([queries, documents])
        if not pairs.is_unique:
            row = int(np.argmax(pairs.duplicated()))
            raise BadParameter(f"row {row}: document {documents[row]!r} occurs twice in query {queries[row]!r}.")
        judgments = judged(loaded(qrels, "qrels"))
        here = np.flatnonzero(_rows_of(judgments, pairs) >= 0)
        if not len(here):
            raise BadJudgments(
                f"qrels= judge none of the rows: the rows have the queries {some(queries)}, the judgments"
                f" {some(judgments.qids)}."
            )
        columns = judgments.columns
        judgments.intents  # noqa: B018  (raises if there are none)
        intent: Any = columns.iteration
        some_columns = replace(columns.taken(here), iteration=intent.take(of_numbers(here)))
        judgments = Judgments(some_columns, qids=judgments.qids)
        parts = []
        for _, own in judgments.intents:
            grades = np.zeros(len(y), own.columns.value.dtype)
            grades[_rows_of(own, pairs)] = np.maximum(own.columns.value, 0)
            parts.append(TrainingRows.of(measure.inner, grades, sizes, doc_length, docno))
        of_group = np.array([judgments.index.get(one, -1) for one in query[start]])
        return cls(y.copy(), parts, [np.append(P, 0.0)[of_group] for P in measure.weights.of(judgments)])

    @property
    def sizes(self) -> Array:
        """Number of rows of each query."""
        return self.parts[0].sizes

    @property
    def start(self) -> Array:
        """Offset of each query's first row."""
        return self.parts[0].start

    @property
    def chunks(self) -> list[tuple[Array, Array]]:
        """Chunks of queries of similar size; see :attr:`TrainingRows.chunks`."""
        return self.parts[0].chunks

    @property
    def last_that_counts(self) -> int | None:
        """Last rank that counts, if there is one."""
        return self.parts[0].last_that_counts

    @property
    def equal_gains_are_equal(self) -> bool:
        """Always False: documents with equal gains for one intent may have different gains for another."""
        return False

    def ranked(self, queries: Array, rows: Array, pred: Array, dtype: Any) -> tuple[Array, RankedByIntent, Array]:
        """Return the rows of a chunk in descending order of prediction, their rankings and their predictions."""
        rows, scores = self.parts[0].in_order(queries, rows, pred, dtype)
        parts = [part.rankings(queries, rows, dtype) for part in self.parts]
        return rows, RankedByIntent(self.sizes[queries], queries, parts), scores

    def changes(self, ranked: RankedByIntent, depth: int) -> Changes:
        """Yield for each rank a, from 0, the changes of the score if the item is swapped with each later one."""
        of_intents = (part.changes(own, depth) for part, own in zip(self.parts, ranked.parts, strict=True))
        for found in zip(*of_intents, strict=True):  # all intents have the same ranks in the same order
            total = 0.0
            for P, (_, change) in zip(self.P, found, strict=True):
                total = total + P[ranked.queries][:, None].astype(change.dtype) * change
            yield found[0][0], np.asarray(total)

    def higher(self, ranked: RankedByIntent, a: int) -> Array:
        """Return whether each item after rank a has a higher gain for an intent, and a lower gain for none.

        Intents without users do not count.
        """
        more, less = self._compared(ranked, a)
        return more & ~less

    def undecided(self, ranked: RankedByIntent, a: int) -> tuple[Array, Array]:
        """Return whether neither an item after rank a nor that at a has a higher gain, and whether all are equal."""
        more, less = self._compared(ranked, a)
        return more == less, ~(more | less)

    def _compared(self, ranked: RankedByIntent, a: int) -> tuple[Array, Array]:
        """Return whether each item after rank a has a higher gain for an intent, and a lower one for an intent."""
        more, less = np.zeros((2, len(ranked.n), ranked.parts[0].r.shape[1] - a - 1), bool)
        for P, part, own in zip(self.P, self.parts, ranked.parts, strict=True):
            counts = P[ranked.queries][:, None] > 0
            higher, (_, equal) = part.higher(own, a), part.undecided(own, a)
            more |= higher & counts
            less |= ~(higher | equal) & counts
        return more, less


def _ids(values: Any, name: str, rows: int) -> list[str]:
    if values is None:
        raise BadParameter(
            f"LambdaMART of an intent-aware measure needs {name}=, one value per row, to find the judgments of the"
            " rows in qrels=."
        )
    found = of_rows(values)
    if found.shape != (rows,):
        raise BadParameter(f"{name} has {found.size:,} values, but there are {rows:,} rows.")
    refuse_missing(found, name)
    ids: list[str] = texts(found, name).to_pylist()
    return ids


def _rows_of(judgments: Judgments, pairs: pd.MultiIndex) -> Array:
    """Return the training row of each judgment, -1 for judgments of other documents."""
    columns = judgments.columns
    ids = [id_columns.written(one).to_pylist() for one in (columns.query_id, columns.doc_id)]
    return np.asarray(pairs.get_indexer(pd.MultiIndex.from_arrays(ids)))
