"""Training rows of boosting libraries, validated, with gains and efforts, as matrices in rank order; also by intent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ..data.alignment import Judgments
from ..data.columns import Array
from ..data.lengths import Costs, Lengths
from ..data.rankings import Pool
from ..errors import BadJudgments, BadParameter, MissingCost, MissingLength, shown, some
from ..files import id_columns
from ..files.inputs import loaded
from ..measures.declarations import followed
from ..measures.provider import judged
from ..model.document_values import words_of_rows
from ..model.introspection import reads
from ..model.metric import Metric
from ..model.scoring import divisor
from ..model.view import Documents
from ..model.view_columns import packed
from .labelled_rows import Samples
from .row_columns import of_rows, one_per_row, refuse_missing, scores, texts
from .swaps import Changes, PaddedRankings, way_to_swap

_CELLS = 1 << 16  # maximum number of queries × ranks per chunk, which fits into the CPU cache


@dataclass
class TrainingRows:
    """Training rows, grouped by query, with the gains of a measure, or of one intent of each query.

    Attributes
    ----------
    sizes : ndarray of int, shape (n_queries,)
        The number of rows of each query.
    metric : Metric
        The metric.
    gain, grade : ndarray, shape (n_rows + 1,)
        The gain and the grade of each row; the additional last element stands for no row.
    effort : ndarray, shape (n_rows + 1,), or None
        The effort of each row in the same form; None if the effort is uniform.
    scale : ndarray, shape (n_queries,)
        1/N for each query; 0 if N is 0, and NaN if N is infinite.
    pool : Pool
        The judgments.
    share : ndarray, shape (n_queries,), or None
        The probability P(t|q) of the intent; None without intents.
    """

    sizes: Array
    metric: Metric
    gain: Array
    grade: Array
    effort: Array | None
    scale: Array
    pool: Pool
    share: Array | None

    @classmethod
    def from_labels(
        cls, measure: Measure, y: Array, sizes: Array, doc_length: Any, docno: Any, share: Array | None = None
    ) -> TrainingRows:
        """Return the training rows for a measure, after validation of labels, ids and lengths."""
        samples = samples_of_groups(y, sizes, doc_length, docno)
        if np.isnan(samples.label).any():
            raise BadJudgments(f"row {int(np.isnan(samples.label).argmax())} has no label: remove unjudged rows.")
        judgments = samples.judgments
        metric = followed(measure, judgments)
        rows = judgments.scored(np.zeros(len(y)))
        grade = samples.label if metric.signed else np.maximum(samples.label, 0)
        effort = None
        by_default = metric.default_lengths is not None and docno is not None
        if metric.needs_words and metric.lengths is None and doc_length is None and not by_default:
            raise MissingLength(
                f"{measure} needs the length of every training row: pass doc_length= to LambdaMART. Or call"
                " register_lengths(words) first, and pass docno=."
            )
        if metric.effort_depends_on("rank"):
            raise BadParameter(
                f"{measure}: LambdaMART takes no efforts that depend on ranks, such as {metric.effort.keyword}."
            )
        if metric.needs_cost and (metric.costs is None or docno is None):
            raise MissingCost(
                f"{measure} needs the cost of every training row: give it a table as costs=, and pass docno=."
            )
        if not metric.unit_effort:
            words, costs = (partial(words_of_rows, metric, rows, of) for of in (Lengths, Costs))
            documents = Documents(np.maximum(grade, 0), words, costs)
            effort = np.array(np.broadcast_to(np.asarray(metric.effort(documents), float), grade.shape))
            metric.refuse_odd_efforts(effort)
            effort = np.append(effort, 0)
        N = divisor(metric, judgments.rankings(rows, all_judged=True)) if metric.norm != "none" else np.ones(len(sizes))
        scale = np.divide(1, N, out=np.zeros(len(N)), where=N > 0)
        scale[~np.isfinite(N)] = np.nan
        gain = np.append(metric.gains(grade), 0)
        return cls(sizes, metric, gain, np.append(grade, 0), effort, scale, judgments.pool, share)

    @cached_property
    def start(self) -> Array:
        """Offset of each query's first row."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def way(self) -> Callable[[Metric, PaddedRankings, int], Changes]:
        """Function that computes the changes by swaps."""
        return way_to_swap(self.metric, int(self.sizes.max(initial=0)))

    @cached_property
    def equal_gains_are_equal(self) -> bool:
        """Whether swaps of items with equal gains do not change the score."""
        return self.metric.unit_effort and "grade" not in reads(self.metric.C) | reads(self.metric.A)

    @cached_property
    def chunks(self) -> list[tuple[Array, Array]]:
        """Chunks of queries of similar size, with their rows as arrays of shape (n_queries, n_ranks).

        Cells without a row contain ``n_rows``, the index of the additional last element.
        """
        chunks = []
        for queries, width in packed(np.argsort(self.sizes, kind="stable"), self.sizes, _CELLS):
            column, size = np.arange(width)[None, :], self.sizes[queries][:, None]
            chunks.append((queries, np.where(column < size, self.start[queries][:, None] + column, len(self.gain) - 1)))
        return chunks

    def in_order(self, queries: Array, rows: Array, pred: Array, dtype: Any) -> tuple[Array, Array]:
        """Return the rows of a chunk in descending order of prediction, and their predictions.

        Cells without a row contain the last prediction of the query. All matrices are in column-major order: the
        computations of a rank read this rank and the ranks after it, which then are contiguous.
        """
        scores = np.append(pred, -np.inf)[rows]
        order = np.argsort(-scores, axis=1, kind="stable")
        rows, scores = (np.take_along_axis(values, order, axis=1) for values in (rows, scores))
        scores = np.maximum(scores, np.take_along_axis(scores, self.sizes[queries][:, None] - 1, axis=1))
        return np.asfortranarray(rows), np.asfortranarray(scores, dtype)

    def rankings(self, queries: Array, rows: Array, dtype: Any) -> PaddedRankings:
        """Return the rankings of the rows of a chunk, which are in rank order."""
        gain, grade = (np.asfortranarray(values[rows]) for values in (self.gain, self.grade))
        effort = None if self.effort is None else np.asfortranarray(self.effort[rows])
        signed = self.metric.signed
        return PaddedRankings(self.sizes[queries], gain, grade, effort, queries, self.pool, dtype, signed)

    def changes(self, ranked: PaddedRankings, depth: int) -> Changes:
        """Yield for each rank a, from 0, the changes of the score if the item is swapped with each later one."""
        scale = self.scale[ranked.topic][:, None].astype(ranked.dtype)
        plain = bool((scale == 1).all())
        for a, change in self.way(self.metric, ranked, depth):
            yield a, change if plain else change * scale


def changes_of_intents(intents: list[TrainingRows], ranked: list[PaddedRankings], depth: int) -> Changes:
    """Yield for each rank a, from 0, the changes of the score by swaps: ΔM = Σ_t P(t|q)·ΔM_t over the intents."""
    of_intents = [one.changes(own, depth) for one, own in zip(intents, ranked, strict=True)]
    if intents[0].share is None:
        yield from of_intents[0]
        return
    shares = [one.share[ranked[0].topic][:, None] for one in intents if one.share is not None]
    for found in zip(*of_intents, strict=True):  # all intents have the same ranks in the same order
        total = 0.0
        for share, (_, change) in zip(shares, found, strict=True):
            total = total + share.astype(change.dtype) * change
        yield found[0][0], np.asarray(total)


def should_be_above(
    intents: list[TrainingRows], ranked: list[PaddedRankings], a: int, change: Array
) -> tuple[Array, Array | None]:
    """Return whether each item after rank a should be above the item there, and whether their gains are equal.

    An item should if its gain is higher for an intent and lower for none. If it is higher for an intent and lower for
    another, or the gains are equal, the change by the swap decides. Intents without users do not count. The second mask
    is None if swaps of equal gains change nothing.
    """
    of_ranks = [(own.gains[:, a : a + 1], own.gains[:, a + 1 :]) for own in ranked]
    if intents[0].share is None:
        here, below = of_ranks[0]
        higher = below > here
        if intents[0].equal_gains_are_equal:
            return higher, None
        equal = below == here
        higher |= equal & (change > 0)
        return higher, equal
    more, less = np.zeros((2, *change.shape), bool)
    shares = [one.share[own.topic][:, None] for one, own in zip(intents, ranked) if one.share is not None]
    for share, (here, below) in zip(shares, of_ranks, strict=True):
        counts = share > 0
        more |= (below > here) & counts
        less |= (below < here) & counts
    return (more & ~less) | ((more == less) & (change > 0)), ~(more | less)


def rows_by_intent(
    measure: Any, y: Array, sizes: Array, doc_length: Any, docno: Any, qid: Any, qrels: Any
) -> list[TrainingRows]:
    """Return the training rows for an intent-aware measure, with grades from ``qrels`` by query and document.

    The first element has the grades of the first intent of each query, the next one those of the second, and so on.

    Raises
    ------
    BadParameter, BadJudgments, MissingLength
        If the rows do not fit the groups or the measure, or no row is judged.
    """
    queries, documents = _ids(qid, "qid", len(y)), _ids(docno, "docno", len(y))
    start = np.cumsum(sizes) - sizes
    query = np.array(queries, object)
    if (mixed := np.flatnonzero(query != np.repeat(query[start], sizes))).size:
        raise BadParameter(f"row {mixed[0]} has another qid than the first row of its group: a group is one query.")
    pairs = pd.MultiIndex.from_arrays([queries, documents])
    if not pairs.is_unique:
        row = int(np.argmax(pairs.duplicated()))
        raise BadParameter(f"row {row}: document {documents[row]!r} occurs twice in query {queries[row]!r}.")
    judgments = judged(loaded(qrels, "qrels"))
    here = np.flatnonzero(_pairs_of(judgments).isin(pairs))
    if not len(here):
        raise BadJudgments(
            f"qrels= judge none of the rows: the rows have the queries {some(queries)}, the judgments"
            f" {some(judgments.qids)}."
        )
    judgments = Judgments(judgments.columns.taken(here), qids=judgments.qids)
    of_group = np.array([judgments.index.get(one, -1) for one in query[start]])
    intents = []
    for (_, own), shares in zip(judgments.intents, measure.weights.of(judgments), strict=True):
        judged_grades = pd.Series(np.maximum(own.columns.value, 0), _pairs_of(own))
        grades = judged_grades.reindex(pairs, fill_value=0).to_numpy()
        share = np.append(shares, 0.0)[of_group]
        intents.append(TrainingRows.from_labels(measure.inner, grades, sizes, doc_length, docno, share))
    return intents


def sizes_of_groups(group: Any, rows: int) -> Array:
    """Return the number of rows of each query, after validation."""
    if group is None:
        raise BadParameter("the sizes of groups are missing: pass group=, the number of rows of each query, to fit.")
    if not rows:
        raise BadParameter("there are no rows.")
    sizes = of_rows(group)
    if sizes.dtype.kind not in "iu" or sizes.ndim != 1:
        raise BadParameter(
            f"group must be whole numbers, the number of rows of each query in order, not {shown(group)}."
            " (GroupedRanker accepts a query id for each row.)"
        )
    if sizes.sum() != rows or (sizes < 1).any():
        raise BadParameter(
            f"the groups have {sizes.sum():,} rows together, but there are {rows:,} rows: group must be the number"
            " of rows of each query, 1 or more, in order. (GroupedRanker accepts a query id for each row.)"
        )
    return sizes


def predictions(pred: Any, rows: int) -> Array:
    """Return predictions as floats, after validation."""
    pred = scores(pred)
    if pred.shape != (rows,):
        raise BadParameter(
            f"the predictions have the shape {pred.shape}, but there are {rows:,} rows: pass one score per row."
        )
    small = np.abs(pred) < np.finfo(np.float32).max
    if not small.all():
        row = int(np.argmin(small))
        raise BadParameter(
            f"the prediction for row {row} is {pred[row]}: a smaller learning rate may keep predictions finite."
        )
    return pred


def groups_of_matrix(data: Any) -> tuple[Array, Any]:
    """Return the number of rows of each query in a matrix of XGBoost, and the weights of the rows."""
    bounds = data.get_uint_info("group_ptr")
    if len(bounds) < 2:
        raise BadParameter("the DMatrix has no queries: create it with group= or qid=.")
    sizes = np.diff(bounds.astype(np.int64))
    weight = data.get_weight()
    if len(weight) not in (0, len(sizes)):
        raise BadParameter(
            f"XGBoost weights queries: the DMatrix has {len(weight):,} weights for {len(sizes):,} queries."
        )
    return sizes, np.repeat(weight, sizes) if len(weight) else None


def samples_of_groups(y: Array, sizes: Array, doc_length: Any, docno: Any) -> Samples:
    """Return rows grouped by query as samples, with numbers as query ids."""
    known = {"qid": np.repeat(np.arange(len(sizes)), sizes)}
    for name, values in (("doc_length", doc_length), ("docno", docno)):
        if values is not None:
            known[name] = one_per_row(values, name, len(y))
    return Samples.of(y, known)


def _ids(values: Any, name: str, rows: int) -> list[str]:
    if values is None:
        raise BadParameter(
            f"LambdaMART of an intent-aware measure needs {name}=, one value per row, to find the judgments of the"
            " rows in qrels=."
        )
    found = one_per_row(values, name, rows)
    refuse_missing(found, name)
    return texts(found, name).to_pylist()


def _pairs_of(judgments: Judgments) -> pd.MultiIndex:
    """Return the query and the document of each judgment."""
    columns = judgments.columns
    return pd.MultiIndex.from_arrays(
        [id_columns.written(one).to_pylist() for one in (columns.query_id, columns.doc_id)]
    )
