"""LambdaMART objectives for metrics with a user model, and evaluation metrics for early stopping."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any, Self

import numpy as np
from ir_measures.measures import Measure

from ..data.columns import Array
from ..errors import BadJudgments, BadParameter, MissingLength, NoFiniteValue, near_parameter
from ..measures.declarations import metric_of, needs_of
from ..measures.named import measure_of
from ..measures.provider import CWLAEvaluator, computed_here
from ..measures.wrappers import IntentAware, pinned
from ..model.language import In, OneOf, Parameter
from ..model.scoring import TOO_LARGE
from .labelled_rows import Samples
from .metrics import greater_is_better_of
from .row_columns import labels, one_column, one_per_row
from .swaps import PaddedRankings
from .training_rows import (
    TrainingRows,
    changes_of_intents,
    groups_of_matrix,
    predictions,
    rows_by_intent,
    samples_of_groups,
    should_be_above,
    sizes_of_groups,
)

Derivatives = tuple[Array, Array]
"""Gradient and hessian, one value per row or per row of each query."""
PairsOfRanks = Iterator[tuple[int, Array, Array]]
"""A rank, from 0, with values of the pairs of its item and each later one, and of these pairs the other way round."""
_SMALLEST = 0.01  # the constant of LightGBM that is added to score differences


class _OfGroups:
    """Function of the labels and the group sizes of rows; what was computed for the last rows is kept."""

    _most = 1
    """Number of sets of rows for which it is kept."""

    def __init__(self) -> None:
        self._known: list[tuple[Array, Array, Any]] = []

    def _of_rows(self, y: Any, group: Any) -> Any:
        """Return what was computed for rows of equal labels and groups, or compute it."""
        y = found if (found := one_column(y)).ndim == 1 else labels(y)
        sizes = sizes_of_groups(group, len(y))
        for known_y, known_sizes, found in self._known:
            if np.array_equal(known_y, y) and np.array_equal(known_sizes, sizes):
                return found
        found = self._computed(y, sizes)
        self._known = [(y.copy(), sizes, found), *self._known[: self._most - 1]]
        return found

    def _computed(self, y: Array, sizes: Array) -> Any:
        raise NotImplementedError

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # LightGBM copies its parameters often, and this object has arrays of all rows

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_known": []}  # computed again in the other process


class LambdaMART(_OfGroups):
    """LambdaMART objective for LightGBM and XGBoost, for any metric that follows a user model.

    ``λ_ij = −σ·|ΔM_ij| / (1 + e^{σ(s_i − s_j)})`` for each pair of documents of a query in which i should be above j,
    where ΔM_ij is the change of the metric if the two are swapped. The document with the higher gain should be above
    the other. Of two documents with equal gains, the one whose higher rank raises the metric should be above: with
    time-biased gain, the one that takes less time to read (``pairs="gain"`` ignores these pairs).

    The object is the ``objective`` of LightGBM's estimators (with ``metric="None"``), ``.lightgbm`` is the objective of
    ``lightgbm.train``, and ``.xgboost`` is the ``obj`` of ``xgboost.train``. Rows must be grouped by query, as both
    libraries require. Labels are grades, or any floats that the gain function accepts. Rows with equal predictions
    rank in their order.

    Parameters
    ----------
    measure : str or Measure
        A measure that follows a user model.
    truncation_level : int, default=30
        Pairs count if at least one of the two documents is at this rank or above.
    sigmoid : float, default=1
        The steepness σ.
    norm : bool, default=True
        Whether to normalise as LightGBM does: ``|ΔM| / (0.01 + |s_i − s_j|)``, and the gradients of a query times
        ``log2(1 + Σ|λ|) / Σ|λ|``.
    pairs : {"all", "gain"}, default="all"
        Whether all pairs count, or only those with different gains.
    n_jobs : int, default=1
        The number of threads. The gradients do not depend on it.
    doc_length : array_like, shape (n_rows,), optional
        The number of words of each training row, if the metric needs it.
    docno : array_like, shape (n_rows,), optional
        The document of each training row, for tables of the measure and for ``qrels``.
    qid : array_like, shape (n_rows,), optional
        The query of each training row, for ``qrels``.
    qrels : DataFrame, dict of dicts, iterable of named tuples, or path, optional
        For an IntentAware measure: judgments with intents, as for :func:`evaluate`. They give the grades of each row,
        by ``qid`` and ``docno``; rows that are not judged for an intent have no gain for it. Judgments of other
        documents, and the labels of the rows, are not used.

    Raises
    ------
    BadParameter, BadJudgments, MissingLength
        If the measure or the rows are not suitable.

    Notes
    -----
    Gradients come from values of pairs in float32, the type of LightGBM's gradients, or in float64 if gains are too
    large for it. Errors of ΔM by rounding are about 1e-6 of the score of the ranking. They are larger relative to ΔM if
    swaps change little, as if nearly all users go on at each rank: with rbp(0.999) and max, gradients differ from those
    of float64 by up to 4e-4 of their root mean square. ``changes`` computes in float64.

    For an IntentAware measure, ``ΔM = Σ_t P(t|q)·ΔM_t`` over the intents of the query. A document should be above
    another if its gain is higher for an intent and not lower for any; if neither is, the swap that raises the metric
    decides.

    References
    ----------
    Burges (2010), section 7, with ΔM from the equations of each metric.

    Examples
    --------
    >>> import numpy as np
    >>> objective = LambdaMART("ERR", norm=False)
    >>> gradient, hessian = objective.gradients([0, 2, 0, 1], np.zeros(4), group=[2, 2])
    >>> gradient.round(4)
    array([ 0.0469, -0.0469,  0.0156, -0.0156])
    """

    def __init__(
        self,
        measure: Any = None,
        *,
        truncation_level: int = 30,
        sigmoid: float = 1.0,
        norm: bool = True,
        pairs: str = "all",
        n_jobs: int = 1,
        doc_length: Any = None,
        docno: Any = None,
        qid: Any = None,
        qrels: Any = None,
        **unknown: Any,
    ) -> None:
        names = [name for name in inspect.signature(LambdaMART).parameters if name != "unknown"]
        for name in unknown:
            raise BadParameter(f"LambdaMART has no parameter {name!r}. {near_parameter(name, names)}")
        if measure is None:
            raise BadParameter("LambdaMART needs a measure, such as LambdaMART('nDCG@10').")
        self.measure = _learnable(measure)
        self.truncation_level, self.sigmoid, self.norm, self.pairs = truncation_level, sigmoid, norm, pairs
        self.n_jobs = n_jobs
        self.doc_length, self.docno, self.qid, self.qrels = doc_length, docno, qid, qrels
        for parameter in _PARAMETERS:
            parameter.check(getattr(self, parameter.name), f"LambdaMART({parameter.name}=…)")
        if is_intent_aware(self.measure) != (qrels is not None):
            raise BadParameter(
                f"{self.measure} reads the intents of the judgments: LambdaMART needs qrels=, with a column iteration."
                if qrels is None
                else f"qrels= are for intent-aware measures; the grades of {self.measure} are the labels of the rows."
            )
        super().__init__()

    def bound(self, doc_length: Any = None, docno: Any = None, qid: Any = None) -> LambdaMART:
        """Return the same objective for other training rows.

        Parameters
        ----------
        doc_length, docno, qid : array_like, shape (n_rows,), optional
            The document length, the document and the query of each training row.

        Returns
        -------
        LambdaMART
        """
        other = copy(self)
        other.doc_length, other.docno, other.qid, other._known = doc_length, docno, qid, []
        return other

    def __call__(self, y: Any, pred: Any, weight: Any, group: Any) -> Derivatives:
        """Return gradient and hessian, with the signature of the objectives of LightGBM's estimators."""
        return self.gradients(y, pred, group, weight)

    def lightgbm(self, pred: Any, data: Any) -> Derivatives:
        """Return gradient and hessian, as the ``objective`` in the parameters of ``lightgbm.train``.

        Parameters
        ----------
        pred : array_like, shape (n_rows,)
            Predicted scores.
        data : lightgbm.Dataset
            Training rows with labels and group sizes, and optionally weights.

        Returns
        -------
        gradient, hessian : ndarray, shape (n_rows,)
            First and second derivatives of the loss with respect to the predicted scores.

        Raises
        ------
        BadParameter, BadJudgments, MissingLength
            If the rows are not suitable for the measure.
        """
        return self.gradients(data.get_label(), pred, data.get_group(), data.get_weight())

    def xgboost(self, pred: Any, data: Any) -> Derivatives:
        """Return gradient and hessian, as the ``obj`` of ``xgboost.train``.

        Parameters
        ----------
        pred : array_like, shape (n_rows,)
            Predicted scores.
        data : xgboost.DMatrix
            Training rows with labels and query ids or group sizes, and optionally one weight per query.

        Returns
        -------
        gradient, hessian : ndarray, shape (n_rows,)
            First and second derivatives of the loss with respect to the predicted scores.

        Raises
        ------
        BadParameter, BadJudgments, MissingLength
            If the matrix has no queries, or if the rows are not suitable for the measure.
        """
        group, weight = groups_of_matrix(data)
        return self.gradients(data.get_label(), pred, group, weight)

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        options = {name: getattr(self, name) for name in ("truncation_level", "sigmoid", "norm", "pairs")}
        own = [f"{name}={value!r}" for name, value in options.items() if value != defaults[name].default]
        return f"LambdaMART({', '.join([repr(str(self.measure)), *own])})"

    def gradients(self, y: Any, pred: Any, group: Any, weight: Any = None) -> Derivatives:
        """Return the first and second derivative of the loss with respect to the predictions.

        Parameters
        ----------
        y, pred : array_like, shape (n_rows,)
            Labels and predictions, grouped by query.
        group : array_like, shape (n_queries,)
            The number of rows of each query.
        weight : array_like, shape (n_rows,), optional
            The weight of each row.

        Returns
        -------
        gradient, hessian : ndarray, shape (n_rows,)

        Raises
        ------
        BadParameter, BadJudgments, MissingLength
            If the rows are invalid.
        NoFiniteValue
            If the measure is too large for floats.
        """
        intents, rows, pred = self._prepared(y, pred, group)
        gradient, hessian = np.zeros(len(pred) + 1), np.zeros(len(pred) + 1)

        def pull(chunk: tuple[Array, Array]) -> None:
            for dtype in (np.float32, float):  # float64 for gains that float32 does not hold
                with np.errstate(over="ignore", invalid="ignore"):
                    place, scores = rows.in_order(*chunk, pred, dtype)
                    ranked = [one.rankings(chunk[0], place, dtype) for one in intents]
                    found = self._lambdas(intents, ranked, scores, rows.sizes[chunk[0]])
                if np.isfinite(found).all():
                    break
            self._refuse_infinite(found)
            gradient[place], hessian[place] = found

        with ThreadPoolExecutor(self.n_jobs) as workers:
            list(workers.map(pull, rows.chunks))
        gradient, hessian = gradient[:-1], hessian[:-1]
        if weight is not None:
            weight = one_per_row(weight, "weight", len(pred))
            gradient, hessian = gradient * weight, hessian * weight
        return gradient, hessian

    def changes(self, y: Any, pred: Any, group: Any) -> list[Array]:
        """Return ΔM for all pairs of rows of each query: the change of the score if the two are swapped.

        Parameters
        ----------
        y, pred : array_like, shape (n_rows,)
            Labels and predictions, grouped by query.
        group : array_like, shape (n_queries,)
            The number of rows of each query.

        Returns
        -------
        list of ndarray, shape (n, n)
            One symmetric matrix per query, where n is its number of rows.

        Examples
        --------
        >>> LambdaMART("RR").changes([0, 1], [2.0, 1.0], group=[2])[0].tolist()
        [[0.0, 0.5], [0.5, 0.0]]
        """

        def of_ranks(intents: list[TrainingRows], ranked: list[PaddedRankings], inside: Array) -> PairsOfRanks:
            of_swaps = changes_of_intents(intents, ranked, inside.shape[1] - 1)
            return ((a, change, change) for a, change in of_swaps)

        return self._matrices(of_ranks, y, pred, group)

    def pair_weights(self, y: Any, pred: Any, group: Any) -> list[Array]:
        """Return the weights of the pairs of rows of each query in the loss, without ``norm``.

        The loss is ``Σ_ij weight_ij·log(1 + e^{−σ(s_i − s_j)})``. Other learners can minimise it for predictions s with
        these weights, as :func:`lambda_loss` does.

        Parameters
        ----------
        y, pred : array_like, shape (n_rows,)
            Labels and predictions, grouped by query.
        group : array_like, shape (n_queries,)
            The number of rows of each query.

        Returns
        -------
        list of ndarray, shape (n, n)
            One matrix per query, where n is its number of rows: ``|ΔM|`` if row i should be above row j, and 0 if not,
            or if both are below the truncation level.

        Examples
        --------
        >>> LambdaMART("RR").pair_weights([0, 1], [2.0, 1.0], group=[2])[0].tolist()
        [[0.0, 0.0], [0.5, 0.0]]
        """

        def of_ranks(intents: list[TrainingRows], ranked: list[PaddedRankings], inside: Array) -> PairsOfRanks:
            of_pairs = self._pairs(intents, ranked, inside)
            return ((a, weight * ~wrong, weight * wrong) for a, wrong, weight in of_pairs)

        return self._matrices(of_ranks, y, pred, group)

    def _matrices(self, of_ranks: Callable[..., PairsOfRanks], y: Any, pred: Any, group: Any) -> list[Array]:
        """Return the values of the pairs of rows of each query as matrices, in the order of the rows."""
        intents, rows, pred = self._prepared(y, pred, group)
        found = [np.zeros((n, n)) for n in rows.sizes.tolist()]
        for queries, place in rows.chunks:
            place, _ = rows.in_order(queries, place, pred, float)
            ranked = [one.rankings(queries, place, float) for one in intents]
            in_order = np.zeros((*place.shape, place.shape[1]))
            for a, above, below in of_ranks(intents, ranked, ranked[0].listed):
                in_order[:, a, a + 1 :], in_order[:, a + 1 :, a] = above, below
            place = place - rows.start[queries][:, None]
            for query, n, at, of_query in zip(queries, rows.sizes[queries], place, in_order, strict=True):
                found[query][np.ix_(at[:n], at[:n])] = of_query[:n, :n]
        self._refuse_infinite(found)
        return found

    def _refuse_infinite(self, found: Iterable[Array]) -> None:
        if not all(np.isfinite(values).all() for values in found):
            raise NoFiniteValue(f"{self.measure}: {TOO_LARGE}")

    def _lambdas(self, intents: list[TrainingRows], ranked: list[PaddedRankings], s: Array, n: Array) -> Derivatives:
        """Return the derivatives for rankings of n items each with the predictions s."""
        differ = s[:, :1] != np.take_along_axis(s, np.maximum(n - 1, 0)[:, None], axis=1)
        closest = np.where(differ, _SMALLEST, 1).astype(s.dtype)
        gradient, hessian, total = np.zeros_like(s), np.zeros_like(s), np.zeros((len(s), 1), s.dtype)
        for a, wrong, weight in self._pairs(intents, ranked, np.arange(s.shape[1])[None, :] < n[:, None]):
            apart = s[:, a : a + 1] - s[:, a + 1 :]
            p = apart * self.sigmoid
            with np.errstate(over="ignore"):  # the gradient vanishes for large differences
                np.exp(p, out=p)
            p += 1
            np.reciprocal(p, out=p)  # probability that the lower one is better
            if self.norm:
                apart += closest
                weight /= apart
            bend = p * weight
            wrong_p = p - wrong
            wrong_p *= weight
            p -= 1
            bend *= p  # −weight·p(1−p)
            gradient[:, a] -= wrong_p.sum(axis=1)
            gradient[:, a + 1 :] += wrong_p
            hessian[:, a] -= bend.sum(axis=1)
            hessian[:, a + 1 :] -= bend
            if self.norm:
                total += np.abs(wrong_p, out=wrong_p).sum(axis=1, keepdims=True)
        gradient *= self.sigmoid
        hessian *= self.sigmoid**2
        if self.norm:
            total *= 2 * self.sigmoid
            factor = np.divide(np.log2(1 + total), total, out=np.ones_like(total), where=total > 0)
            gradient *= factor
            hessian *= factor
        return gradient, hessian

    def _pairs(
        self, intents: list[TrainingRows], ranked: list[PaddedRankings], inside: Array
    ) -> Iterator[tuple[int, Array, Array]]:
        """Yield each rank a (from 0), a mask of the lower rows that should be above it, and |ΔM| of each swap."""
        ragged, width = not inside.all(), inside.shape[1]
        depth = min(self.truncation_level, width - 1, intents[0].metric.last_that_counts or width)
        for a, change in changes_of_intents(intents, ranked, depth):
            weight = np.abs(change)
            if ragged:
                weight *= inside[:, a + 1 :]
            wrong, equal = should_be_above(intents, ranked, a, change)
            if equal is not None and self.pairs == "gain":
                weight[equal] = 0
            yield a, wrong, weight

    def _prepared(self, y: Any, pred: Any, group: Any) -> tuple[list[TrainingRows], TrainingRows, Array]:
        """Return the training rows of each intent (of one without intents), the first of these, and predictions."""
        intents = self._of_rows(y, group)
        return intents, intents[0], predictions(pred, len(intents[0].gain) - 1)

    def _computed(self, y: Array, sizes: Array) -> list[TrainingRows]:
        if is_intent_aware(self.measure):
            return rows_by_intent(self.measure, y, sizes, self.doc_length, self.docno, self.qid, self.qrels)
        return [TrainingRows.from_labels(self.measure, y, sizes, self.doc_length, self.docno)]


_PARAMETERS = (
    Parameter("truncation_level", In("[1, inf)", whole=True)),
    Parameter("sigmoid", In("(0, inf)")),
    Parameter("pairs", OneOf("gain", "all")),
    Parameter("n_jobs", In("[1, inf)", whole=True)),
)


class EvalMeasure(_OfGroups):
    """Evaluation metric for LightGBM and XGBoost, which they report after each round and use for early stopping.

    The object is the ``eval_metric`` of LightGBM's estimators, ``.lightgbm`` is the ``feval`` of ``lightgbm.train``,
    and ``.xgboost`` is the ``custom_metric`` of ``xgboost.train`` (early stopping then needs ``maximize=True``).

    Parameters
    ----------
    measure : str or Measure
        A measure that is computed here.
    doc_length : array_like, shape (n_rows,), or list of these, optional
        The number of words of each row. For several sets of rows, a list of arrays, which are identified by their
        numbers of rows.
    docno : array_like, shape (n_rows,), or list of these, optional
        The document of each row, for tables of the measure.
    greater_is_better : bool, optional
        By default False for ESL, and True for all others; pass False for costs, such as A='effort'.

    Raises
    ------
    BadParameter, UnknownSpec
        If the measure is not computed here.

    Examples
    --------
    >>> EvalMeasure("RR")([0, 1, 1, 0], [2.0, 1.0, 2.0, 1.0], None, [2, 2])
    ('RR', 0.75, True)
    """

    _most = 4

    def __init__(
        self, measure: Any, *, doc_length: Any = None, docno: Any = None, greater_is_better: bool | None = None
    ) -> None:
        (self.measure,) = pinned(computed_here([measure]))
        self.doc_length, self.docno = doc_length, docno
        self.greater_is_better = greater_is_better_of(self.measure, greater_is_better)
        super().__init__()

    def __call__(self, y: Any, pred: Any, weight: Any, group: Any) -> tuple[str, float, bool]:
        """Return name, value, and whether higher is better; all queries have the same weight."""
        return str(self.measure), self.value(y, pred, group), self.greater_is_better

    def lightgbm(self, pred: Any, data: Any) -> tuple[str, float, bool]:
        """Return name, value, and whether higher is better, as the ``feval`` of ``lightgbm.train``.

        Parameters
        ----------
        pred : array_like, shape (n_rows,)
            Predicted scores.
        data : lightgbm.Dataset
            Validation rows with labels and group sizes. Weights are ignored.

        Returns
        -------
        name : str
            The measure as text.
        value : float
            Mean over the queries.
        greater_is_better : bool
            Whether higher values are better.
        """
        return self(data.get_label(), pred, None, data.get_group())

    def xgboost(self, pred: Any, data: Any) -> tuple[str, float]:
        """Return name and value, as the ``custom_metric`` of ``xgboost.train``.

        Parameters
        ----------
        pred : array_like, shape (n_rows,)
            Predicted scores.
        data : xgboost.DMatrix
            Validation rows with labels and query ids or group sizes. Weights are ignored.

        Returns
        -------
        name : str
            The measure as text, with ``=`` in place of ``:`` and without spaces, because XGBoost splits its output at
            these characters.
        value : float
            Mean over the queries.

        Raises
        ------
        BadParameter
            If the matrix has no queries.
        """
        name = str(self.measure).replace(":", "=").replace(" ", "")  # XGBoost splits its output at these
        return name, self.value(data.get_label(), pred, groups_of_matrix(data)[0])

    def value(self, y: Any, pred: Any, group: Any) -> float:
        """Return the mean of the measure over all queries.

        Parameters
        ----------
        y, pred : array_like, shape (n_rows,)
            Labels and predictions, grouped by query.
        group : array_like, shape (n_queries,)
            The number of rows of each query.

        Returns
        -------
        float
        """
        samples, prepared = self._of_rows(y, group)
        rows = samples.judgments.scored(predictions(pred, len(samples.label)))
        [value] = prepared.means(prepared.tables([rows])[0]).values()
        return value

    def __repr__(self) -> str:
        return f"EvalMeasure({str(self.measure)!r})"

    def _computed(self, y: Array, sizes: Array) -> tuple[Samples, CWLAEvaluator]:
        known = {name: _of_these(name, getattr(self, name), len(y)) for name in ("doc_length", "docno")}
        needs = needs_of(self.measure)
        if needs.abstention:
            raise BadParameter(
                f"{self.measure} reads probabilities of topics, and groups have no topics here: use scorer(measure) or"
                " measure_score(measure, y_true, y_score, qid=…, docno=…)."
            )
        lengths = needs.lengths
        if self.doc_length is None and (lengths == "run" or (lengths == "default" and self.docno is None)):
            raise MissingLength(
                f"{self.measure} needs the length of every row: EvalMeasure({str(self.measure)!r}, doc_length=…). Or"
                " give docno= and a table of lengths, with register_lengths(words) or as lengths= of the measure."
            )
        samples = samples_of_groups(y, sizes, **known)
        if not samples.judgments.qids:
            raise BadJudgments("no row is judged.")
        return samples, CWLAEvaluator([self.measure], samples.judgments)


def _of_these(name: str, values: Any, rows: int) -> Any:
    """Return the array with this number of rows out of a list; a single array belongs to all sets."""
    if not isinstance(values, list | tuple) or not values or np.ndim(values[0]) != 1:
        return values
    fitting = [v for v in values if np.size(v) == rows]
    if not fitting:
        raise BadParameter(f"no {name} has {rows:,} rows; the given ones have {[np.size(v) for v in values]}.")
    if any(not np.array_equal(v, fitting[0]) for v in fitting[1:]):
        raise BadParameter(f"two sets have {rows:,} rows, so their {name} cannot be distinguished.")
    return fitting[0]


def is_intent_aware(measure: Measure) -> bool:
    """Return whether the measure is an IntentAware."""
    return isinstance(measure, type(IntentAware))


def _learnable(measure: Any) -> Measure:
    found: Any
    (found,) = pinned(computed_here([measure_of(measure)]))
    of_one = found.inner if is_intent_aware(found) else found
    if not needs_of(of_one).user_model:
        raise BadParameter(
            f"{found} follows no user model, or several, so LambdaMART has no ΔM for it: use a measure such as TBG."
        )
    metric = metric_of(of_one)
    if metric.duplicates is not None or metric.judged_only:
        what = "duplicates" if metric.duplicates is not None else "judged_only"
        raise BadParameter(f"{found}: LambdaMART does not remove or change rows. Use the measure without {what}=.")
    return found
