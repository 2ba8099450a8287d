"""Training rows as boosters have them, query after query: checked, with gain and effort, as matrices in rank order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ..data.rankings import Array, Pool
from ..errors import BadJudgments, BadParameter, MissingLength, shown
from ..measures.of_ir_measures import followed
from ..model.metric import Metric
from ..model.query_chunks import packed
from ..model.scoring import divisor
from ..model.view import Documents
from .labelled_rows import Samples
from .swap_deltas import Ranked, way_to_swap

_CELLS = 1 << 16  # queries × ranks that are worked on at a time, so that they stay in cache


@dataclass
class TrainingRows:
    """Rows whose queries stand together, as the gradients need them."""

    y: Array
    sizes: Array
    """How many rows each query has."""
    metric: Metric
    gain: Array
    grade: Array
    effort: Array | None
    """None where it is uniform. Like gain and grade it has one number more than there are rows, for none."""
    scale: Array
    """1/N of each query, 0 where N is 0."""
    pool: Pool

    @classmethod
    def of(cls, measure: Measure, y: Array, sizes: Array, doc_length: Any, docno: Any) -> TrainingRows:
        """Raises what is wrong with labels, ids and lengths."""
        samples = samples_of_groups(y, sizes, doc_length, docno)
        if np.isnan(samples.label).any():
            raise BadJudgments(f"row {int(np.isnan(samples.label).argmax())} has no label: leave unjudged rows out.")
        judgments = samples.judgments
        metric = followed(measure, judgments)
        rows = judgments.rows(np.zeros(len(y)))
        grade = np.maximum(samples.label, 0)
        effort = None
        if metric.needs_words and metric.lengths is None and doc_length is None:
            raise MissingLength(f"{measure} needs the words of every training row: give LambdaMART doc_length=.")
        if not metric.unit_effort:
            documents = Documents(grade, lambda: rows.words_of_rows(metric))
            effort = np.array(np.broadcast_to(np.asarray(metric.effort(documents), float), grade.shape))
            metric.refuse_odd_efforts(effort)
            judgments.pool.memory["efforts"] = effort
        N = divisor(metric, rows.rankings(all_judged=True)) if metric.norm != "none" else np.ones(len(sizes))
        return cls(
            y.copy(),
            sizes,
            metric,
            np.append(metric.gains(grade), 0),
            np.append(grade, 0),
            None if effort is None else np.append(effort, 0),
            np.divide(1, N, out=np.zeros(len(N)), where=N > 0),
            judgments.pool,
        )

    @cached_property
    def start(self) -> Array:
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def way(self) -> Any:
        """The way in which changes by swaps are found."""
        return way_to_swap(self.metric, int(self.sizes.max(initial=0)))

    @cached_property
    def chunks(self) -> list[tuple[Array, Array]]:
        """Queries of about the same size, as many at a time as stay in cache, and their rows [queries × ranks].

        Where there is no row stands the number of all rows.
        """
        chunks = []
        for queries, width in packed(np.argsort(self.sizes, kind="stable"), self.sizes, _CELLS):
            column, size = np.arange(width)[None, :], self.sizes[queries][:, None]
            chunks.append((queries, np.where(column < size, self.start[queries][:, None] + column, len(self.y))))
        return chunks

    def ranked(self, queries: Array, rows: Array, pred: Array, dtype: Any) -> tuple[Array, Ranked, Array]:
        """The rows of a chunk by falling predictions, their rankings, and the predictions, in that order.

        Where there is no row stands the last prediction of the query.
        """
        scores = np.append(pred, -np.inf)[rows]
        order = np.argsort(-scores, axis=1, kind="stable")
        rows, scores = (np.take_along_axis(values, order, axis=1) for values in (rows, scores))
        n = self.sizes[queries]
        scores = np.maximum(scores, np.take_along_axis(scores, n[:, None] - 1, axis=1)).astype(dtype)
        effort = None if self.effort is None else self.effort[rows]
        ranked = Ranked(n, self.gain[rows], self.grade[rows], effort, queries, self.pool, dtype)
        return rows, ranked, scores


def sizes_of_groups(group: Any, rows: int) -> Array:
    """How many rows each query has, checked."""
    if group is None:
        raise BadParameter("the sizes of groups are missing: fit with group=, how many rows each query has.")
    if not rows:
        raise BadParameter("there are no rows.")
    sizes = np.asarray(group)
    if sizes.dtype.kind not in "iu" or sizes.ndim != 1:
        raise BadParameter(
            f"group must be whole numbers, how many rows each query has, in their order, and is {shown(group)} (a query"
            " id for each row goes to GroupedRanker)."
        )
    if sizes.sum() != rows or (sizes < 1).any():
        raise BadParameter(
            f"the groups have {sizes.sum():,} rows together, and there are {rows:,}: group says how many rows each"
            " query has, in their order (a query id for each row goes to GroupedRanker)."
        )
    return sizes


def predictions(pred: Any, rows: int) -> Array:
    """Predictions, checked."""
    pred = np.asarray(pred, float)
    if pred.shape != (rows,):
        raise BadParameter(f"there are predictions of shape {pred.shape} for {rows:,} rows: one score a row ranks it.")
    small = np.abs(pred) < np.finfo(np.float32).max
    if not small.all():
        row = int(np.argmin(small))
        raise BadParameter(
            f"the prediction for row {row} is {pred[row]}: a smaller learning rate may keep them finite."
        )
    return pred


def groups_of_matrix(data: Any) -> tuple[Array, Any]:
    """The sizes of the groups of XGBoost's matrix, and the weight of each row."""
    bounds = data.get_uint_info("group_ptr")
    if len(bounds) < 2:
        raise BadParameter("the DMatrix has no queries: give it group= or qid=.")
    sizes = np.diff(bounds.astype(np.int64))
    weight = data.get_weight()
    if len(weight) not in (0, len(sizes)):
        raise BadParameter(
            f"XGBoost weighs queries: the DMatrix has {len(weight):,} weights for {len(sizes):,} of them."
        )
    return sizes, np.repeat(weight, sizes) if len(weight) else None


def samples_of_groups(y: Array, sizes: Array, doc_length: Any, docno: Any) -> Samples:
    """Rows whose queries stand together, and are called by their numbers."""
    known = {"qid": np.repeat(np.arange(len(sizes)), sizes)}
    for name, values in (("doc_length", doc_length), ("docno", docno)):
        if values is not None:
            known[name] = np.asarray(values)
            if known[name].shape != y.shape:
                raise BadParameter(f"{name} has {known[name].size:,} values, and there are {len(y):,} rows.")
    return Samples.of(y, known)
