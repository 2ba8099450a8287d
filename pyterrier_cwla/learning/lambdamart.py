"""Learning to rank straight on a metric: LambdaMART's gradients, and the metric as what early stopping watches."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ..data.rankings import Array
from ..errors import BadParameter
from ..measures.of_ir_measures import metric_of, needs_of
from ..measures.provider import PreparedMeasures, computed_here
from ..measures.wrappers import pinned
from ..model.language import In, OneOf, Parameter
from .labelled_rows import Samples
from .swap_deltas import Ranked, by_paths, equal_gains_are_equal
from .training_rows import TrainingRows, groups_of_matrix, predictions, samples_of_groups, sizes_of_groups

_SMALLEST = 0.01  # LightGBM's: by how much scores that are equal differ


class LambdaMART:
    """LambdaMART for any metric that follows a user model: an objective for LightGBM and for XGBoost.

    ``λ_ij = −σ·|ΔM_ij| / (1 + e^{σ(s_i − s_j)})`` for each pair of a query's documents of which i should be above j,
    with ΔM_ij the change of the metric when the two change places. The document of the greater gain should be above,
    and of equal gains that which is better above: time-biased gain prefers the sooner read (``pairs="gain"`` leaves
    these pairs out).

    The object is the ``objective`` of LightGBM's estimators (with ``metric="None"``); ``.lightgbm`` is that of
    ``lightgbm.train`` and ``.xgboost`` the ``obj`` of ``xgboost.train``. Rows of a query stand together, as both
    libraries have it. Labels are grades, and any floats where the gain takes them; equal predictions stand in the order
    of their rows.

    Parameters
    ----------
    measure : str or Measure
        A measure that follows a user model.
    truncation_level : int
        One of the two documents of a pair is above this rank.
    sigmoid : float
        σ.
    norm : bool
        As LightGBM's: ``|ΔM| / (0.01 + |s_i − s_j|)``, and a query's gradients times ``log2(1 + Σ|λ|) / Σ|λ|``.
    pairs : {"all", "gain"}
        Whether pairs of equal gain count.
    n_jobs : int
        How many threads compute the gradients, which are the same for any number.
    doc_length : array_like, shape (n_rows,), optional
        The words of each training row, where the metric needs them.
    docno : array_like, shape (n_rows,), optional
        The document of each training row, for the measure's own table.

    Raises
    ------
    BadParameter, BadJudgments, MissingLength
        If the measure or the rows cannot be learned from.

    References
    ----------
    Burges (2010), section 7; ΔM by the equations of each metric.

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
        measure: Any,
        *,
        truncation_level: int = 30,
        sigmoid: float = 1.0,
        norm: bool = True,
        pairs: str = "all",
        n_jobs: int = 1,
        doc_length: Any = None,
        docno: Any = None,
    ) -> None:
        self.measure = _learnable(measure)
        self.truncation_level, self.sigmoid, self.norm, self.pairs = truncation_level, sigmoid, norm, pairs
        self.n_jobs = n_jobs
        self.doc_length, self.docno = doc_length, docno
        for parameter in _PARAMETERS:
            parameter.check(getattr(self, parameter.name), f"LambdaMART({parameter.name}=…)")
        self._rows: TrainingRows | None = None

    def bound(self, doc_length: Any = None, docno: Any = None) -> LambdaMART:
        """The same objective for other training rows."""
        other = copy(self)
        other.doc_length, other.docno, other._rows = doc_length, docno, None
        return other

    def __call__(self, y: Any, pred: Any, weight: Any, group: Any) -> tuple[Array, Array]:
        """Gradient and hessian, as LightGBM's estimators ask for them."""
        return self.gradients(y, pred, group, weight)

    def lightgbm(self, pred: Any, data: Any) -> tuple[Array, Array]:
        """The ``objective`` among the parameters of ``lightgbm.train``."""
        return self.gradients(data.get_label(), pred, data.get_group(), data.get_weight())

    def xgboost(self, pred: Any, data: Any) -> tuple[Array, Array]:
        """The ``obj`` of ``xgboost.train``; weights are one for each query."""
        group, weight = groups_of_matrix(data)
        return self.gradients(data.get_label(), pred, group, weight)

    def __deepcopy__(self, memo: Any) -> LambdaMART:
        return self  # LightGBM copies its parameters again and again, and these hold an array for all rows

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_rows": None}  # made anew where it is trained with

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        options = {name: getattr(self, name) for name in ("truncation_level", "sigmoid", "norm", "pairs")}
        own = [f"{name}={value!r}" for name, value in options.items() if value != defaults[name].default]
        return f"LambdaMART({', '.join([repr(str(self.measure)), *own])})"

    def gradients(self, y: Any, pred: Any, group: Any, weight: Any = None) -> tuple[Array, Array]:
        """The first and second derivative of the loss by each row's prediction, [rows].

        ``y``: labels [rows] · ``pred``: predictions [rows] · ``group``: how many rows each query has, in their order ·
        ``weight``: [rows], or None.
        """
        rows = self._prepared(y, group)
        pred = predictions(pred, len(rows.y))
        gradient, hessian = np.zeros(len(pred) + 1), np.zeros(len(pred) + 1)
        dtype = np.float64 if rows.way is by_paths else np.float32  # C may jump where a sum reaches a limit

        def pull(chunk: tuple[Array, Array]) -> None:
            place, ranked, scores = rows.ranked(*chunk, pred, dtype)
            gradient[place], hessian[place] = self._lambdas(rows, ranked, scores)

        with ThreadPoolExecutor(self.n_jobs) as workers:
            list(workers.map(pull, rows.chunks))
        gradient, hessian = gradient[:-1], hessian[:-1]
        if weight is not None:
            if np.shape(weight) != np.shape(pred):
                raise BadParameter(f"there are weights of shape {np.shape(weight)} for {len(pred):,} rows.")
            gradient, hessian = gradient * weight, hessian * weight
        return gradient, hessian

    def changes(self, y: Any, pred: Any, group: Any) -> list[Array]:
        """ΔM for every pair of rows of each query, [n × n] a query: what the score gains if the two change places.

        >>> LambdaMART("RR").changes([0, 1], [2.0, 1.0], group=[2])[0].tolist()
        [[0.0, 0.5], [0.5, 0.0]]
        """
        rows = self._prepared(y, group)
        pred = predictions(pred, len(rows.y))
        found = [np.zeros((n, n)) for n in rows.sizes.tolist()]
        for queries, place in rows.chunks:
            place, ranked, _ = rows.ranked(queries, place, pred, float)
            place = place - rows.start[queries][:, None]
            for a, change in rows.way(rows.metric, ranked, ranked.r.shape[1] - 1):
                for query, n, at, of_one in zip(queries.tolist(), ranked.n.tolist(), place, change):
                    x, y_ = at[a : min(a + 1, n)], at[a + 1 : n]
                    found[query][x, y_] = found[query][y_, x] = of_one[: len(y_)] * rows.scale[query]
        return found

    def _lambdas(self, rows: TrainingRows, ranked: Ranked, s: Array) -> tuple[Array, Array]:
        r = ranked.r.astype(s.dtype)
        differ = s[:, :1] != np.take_along_axis(s, np.maximum(ranked.n - 1, 0)[:, None], axis=1)
        closest = np.where(differ, _SMALLEST, 1).astype(r.dtype)
        gradient, hessian, total = np.zeros_like(r), np.zeros_like(r), np.zeros((len(r), 1), r.dtype)
        for a, wrong, weight in self._pairs(rows, ranked, r):
            apart = s[:, a : a + 1] - s[:, a + 1 :]
            p = apart * self.sigmoid
            with np.errstate(over="ignore"):  # far apart, nothing pulls
                np.exp(p, out=p)
            p += 1
            np.reciprocal(p, out=p)  # that the lower of the two is the better one
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

    def _pairs(self, rows: TrainingRows, ranked: Ranked, r: Array) -> Iterator[tuple[int, Array, Array]]:
        """Each rank a (from 0), and for the rows below it: which should be above the row at a, and |ΔM| of the swap."""
        width = r.shape[1]
        inside = np.arange(width)[None, :] < ranked.n[:, None]
        ragged = not inside.all()
        scale = rows.scale[ranked.topic][:, None].astype(r.dtype)
        depth = min(self.truncation_level, width - 1, rows.metric.last_that_counts or width)
        by_gain_alone = equal_gains_are_equal(rows.metric)
        for a, change in rows.way(rows.metric, ranked, depth):
            r_a, r_b = r[:, a : a + 1], r[:, a + 1 :]
            weight = np.abs(change)
            weight *= scale
            if ragged:
                weight *= inside[:, a + 1 :]
            wrong = r_b > r_a
            if not by_gain_alone:
                equal = r_a == r_b
                if self.pairs == "all":
                    wrong |= equal & (change > 0)
                else:
                    weight[equal] = 0
            yield a, wrong, weight

    def _prepared(self, y: Any, group: Any) -> TrainingRows:
        y, group = np.asarray(y), sizes_of_groups(group, len(y))
        if self._rows is None or not (np.array_equal(self._rows.y, y) and np.array_equal(self._rows.sizes, group)):
            self._rows = TrainingRows.of(self.measure, y, group, self.doc_length, self.docno)
        return self._rows


_PARAMETERS = (
    Parameter("truncation_level", In("[1, inf)", whole=True)),
    Parameter("sigmoid", In("(0, inf)")),
    Parameter("pairs", OneOf("gain", "all")),
    Parameter("n_jobs", In("[1, inf)", whole=True)),
)


class EvalMeasure:
    """A measure as what LightGBM and XGBoost report after every round, and stop early by.

    The object is the ``eval_metric`` of LightGBM's estimators; ``.lightgbm`` is the ``feval`` of ``lightgbm.train`` and
    ``.xgboost`` the ``custom_metric`` of ``xgboost.train`` (which needs ``maximize=True`` to stop early).

    Parameters
    ----------
    measure : str or Measure
        A measure that is computed here.
    doc_length : array_like, shape (n_rows,), or list of these, optional
        The words of each row that is evaluated. Where several sets of rows are, a list: the one with as many rows is
        taken.
    docno : array_like, shape (n_rows,), or list of these, optional
        The document of each row, for the measure's own table.
    greater_is_better : bool
        False for a cost, such as A='effort'.

    Examples
    --------
    >>> EvalMeasure("RR")([0, 1, 1, 0], [2.0, 1.0, 2.0, 1.0], None, [2, 2])
    ('RR', 0.75, True)
    """

    def __init__(
        self, measure: Any, *, doc_length: Any = None, docno: Any = None, greater_is_better: bool = True
    ) -> None:
        (self.measure,) = pinned(computed_here([measure]))
        self.doc_length, self.docno, self.greater_is_better = doc_length, docno, greater_is_better
        self._known: list[tuple[Array, Array, Samples, PreparedMeasures]] = []

    def __call__(self, y: Any, pred: Any, weight: Any, group: Any) -> tuple[str, float, bool]:
        """Name, value, and whether higher is better. Queries count alike, whatever the weights of their rows."""
        return str(self.measure), self.value(y, pred, group), self.greater_is_better

    def lightgbm(self, pred: Any, data: Any) -> tuple[str, float, bool]:
        """The ``feval`` of ``lightgbm.train``."""
        return self(data.get_label(), pred, None, data.get_group())

    def xgboost(self, pred: Any, data: Any) -> tuple[str, float]:
        """The ``custom_metric`` of ``xgboost.train``."""
        name = str(self.measure).replace(":", "=").replace(" ", "")  # XGBoost takes what it prints apart at these
        return name, self.value(data.get_label(), pred, groups_of_matrix(data)[0])

    def value(self, y: Any, pred: Any, group: Any) -> float:
        """The measure over all queries."""
        samples, prepared = self._prepared(np.asarray(y), group)
        rows = samples.judgments.rows(predictions(pred, len(samples.label)))
        [value] = prepared.means(prepared.tables([rows])[0]).values()
        return value

    def __deepcopy__(self, memo: Any) -> EvalMeasure:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_known": []}

    def __repr__(self) -> str:
        return f"EvalMeasure({str(self.measure)!r})"

    def _prepared(self, y: Array, group: Any) -> tuple[Samples, PreparedMeasures]:
        sizes = sizes_of_groups(group, len(y))
        for known_y, known_sizes, samples, prepared in self._known:
            if np.array_equal(known_y, y) and np.array_equal(known_sizes, sizes):
                return samples, prepared
        known = {name: _of_these(name, getattr(self, name), len(y)) for name in ("doc_length", "docno")}
        samples = samples_of_groups(y, sizes, **known)
        prepared = PreparedMeasures([self.measure], samples.judgments)
        self._known = [(y.copy(), sizes, samples, prepared), *self._known[:3]]
        return samples, prepared


def _of_these(name: str, values: Any, rows: int) -> Any:
    """Of one array a set of rows, that for so many rows; one array is for all."""
    nested = isinstance(values, list | tuple) and len(values) > 0 and np.ndim(values[0]) == 1
    if not nested:
        return values
    fitting = [v for v in values if len(v) == rows]
    if not fitting:
        raise BadParameter(f"no {name} is for {rows:,} rows; there are some for {[len(v) for v in values]}.")
    if any(not np.array_equal(v, fitting[0]) for v in fitting[1:]):
        raise BadParameter(f"two sets have {rows:,} rows, so that their {name} cannot be told apart.")
    return fitting[0]


def _learnable(measure: Any) -> Measure:
    (found,) = pinned(computed_here([measure]))
    if not needs_of(found).user_model:
        raise BadParameter(
            f"{found} follows no user model, so that LambdaMART has no ΔM for it: give a measure such as TBG."
        )
    metric = metric_of(found)
    if metric.duplicates is not None or metric.judged_only:
        what = "duplicates" if metric.duplicates is not None else "judged_only"
        raise BadParameter(f"{found}: LambdaMART learns from rows as they are; leave {what}= out.")
    return found
