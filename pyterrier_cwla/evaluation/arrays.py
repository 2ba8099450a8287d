"""Scores of rankings given as plain arrays of gains or grades, without ids or DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.columns import Array, Columns, Floats
from ..data.rankings import Pool, Rankings
from ..data.rows import Rows
from ..errors import BadJudgments, BadParameter, near, shown
from ..files.arrow_arrays import NotReal, reals, unwrapped
from ..measures.declarations import computation_of, needs_of
from ..measures.named import CWLA, measure_of
from ..model import residuals, scoring
from ..model.gains import GIVEN
from ..model.metric import Metric
from .explanation import Explanation, explained


def score(
    grades: Any,
    measure: Any = None,
    *,
    C: Any = None,
    A: Any = None,
    judged: Any = None,
    lengths: Any = None,
    **options: Any,
) -> Any:
    """Return the score of one ranking or of several rankings, by a measure or by a continuation C and aggregation A.

    Parameters
    ----------
    grades : list of float, list of lists, or array_like of shape (n_queries, n_ranks)
        Grades in rank order; with C and A without `gain` and `max_rel`, gains, which may be negative. None or NaN marks
        an unjudged item, whose gain is 0.
    measure : str or Measure, optional
        Measure of this package or of ir_measures, such as ``"nDCG@10"``. A query without results scores 0.
    C : str or continuation
        Continuation, such as ``"rbp(0.8)"``; the score is Σ L(i)·A(i).
    A : str or aggregation
        Aggregation, such as ``"erg"``.
    judged : list of float or list of lists, optional
        Grades (or gains) of all judged items of each query, retrieved or not, for totals and ideal rankings. By
        default, the retrieved items are the only ones.
    lengths : list of float or list of lists, optional
        Number of words of each item, in the form of `grades`, for a measure that reads lengths; others ignore them.
    **options
        Options of C and A; a measure has parameters instead.

        gain : str or gain function, default="raw", or "linear" with `max_rel`
            Gain function; the numbers of `grades` are then grades, for example with ``gain="exponential", max_rel=3``.
        max_rel : number, optional
            Highest grade.
        efforts : list of float or list of lists, optional
            Effort of each item, in the form of `grades`.
        effort : str or effort function, default="unit"
            Effort as a function of grades, instead of `efforts`.
        unseen : number, optional
            Effort of an item that was not retrieved.
        norm : {"none", "ideal", "all", "mean", "unlimited"}
            Normalisation: the quantity that the score is divided by, such as the score of the ideal ranking.
        end : {"open", "stop"} or int
            How the ranking continues below its last item; a number is the rank of the last item.
        cutoff : int, optional
            Number of items to score from the top.

    Returns
    -------
    float, or ndarray of shape (n_queries,)
        One float for one ranking, an array for several: the values by query of :func:`evaluate`.

    Raises
    ------
    BadParameter
        If an option or a number cannot be used, or if lists of grades do not define the measure.
    UnknownSpec
        If there is no measure, continuation, aggregation, gain or effort with a given name.
    NoFiniteValue
        If the score is not finite.

    References
    ----------
    Moffat et al. (2022), Eq. 15.

    Examples
    --------
    >>> score([1, 0, 1], C="rbp(0.5)", A="erg")
    0.625
    >>> score([[0, 2], [1, 0, 2]], C="rr", A="err", gain="exponential", max_rel=2)
    array([0.375 , 0.4375])
    >>> score([[0, 2, 1], [1, 0, 0]], "nDCG@2", judged=[[0, 2, 1], [1, 1, 0, 0]]).round(4)
    array([0.4796, 0.6131])
    >>> round(score([1, 0, 1], "TBG(half_life=120)", lengths=[100, 250, 700]), 6)
    0.932492
    """
    if measure is not None:
        if C is not None or A is not None:
            raise BadParameter("give a measure, or C= and A=, not both.")
        _refuse_unknown(options.keys() - _OPTIONS, ("judged", "lengths"))
        if options:
            first = next(iter(options))
            raise BadParameter(
                f"{first}= belongs to C= and A=: give the measure its parameters, as in 'RBP(p=0.8,rel=1)'."
            )
        return _score_of_measure(grades, measure, judged, lengths)
    if C is None or A is None:
        missing = "" if C is A else f"{'C' if C is None else 'A'}= is missing: "
        raise BadParameter(f"{missing}give a measure, as in score([1, 0, 1], 'nDCG@10'), or C= and A=.")
    if lengths is not None:
        raise BadParameter("lengths= needs a measure that reads them, such as 'TBG'; with C and A, give efforts=.")
    many, metric, rankings = _rankings(grades, _metric(C, A, options), judged, options, all_hits=False)
    return _shaped(scoring.score(metric, rankings), many)


def residual(gains: Any, *, C: Any, A: Any, judged: Any = None, side: residuals.Side = "upper", **options: Any) -> Any:
    """Return how much higher each score would be if all unjudged and unseen items had the best gain.

    The best gain is the gain of `max_rel`, or 1 without `max_rel`. With ``norm="ideal"``, and C and A that depend on
    ranks only, the residual is the highest score under any judgments of these items, minus the score.

    Parameters
    ----------
    gains, C, A, judged, **options
        As for :func:`score`; None or NaN in `gains` marks an unjudged item.
    side : {"upper", "lower"}, default="upper"
        With "lower", how much lower each score would be if all these items had the lowest gain of any grade. It needs
        `gain` or `max_rel`.

    Returns
    -------
    float, or ndarray of shape (n_queries,)
        Residual in the unit of the score.

    Raises
    ------
    BadParameter
        If an option or a number cannot be used.

    Examples
    --------
    >>> residual([1, None, 0], C="rbp(0.5)", A="erg")
    0.375
    >>> residual([1, None, 0], C="prec(2)", A="erg", gain="table({0: -0.5, 1: 1})", side="lower")
    0.25
    """
    metric = _metric(C, A, options)
    if side not in ("upper", "lower"):
        raise BadParameter(": give 'upper' or 'lower'.", side=side)
    if side == "lower" and _are_gains(options):
        raise BadParameter(" needs gain=, such as 'table({0: -0.5, 1: 1})', for the lowest gain.", side=side)
    if metric.gain.name == "raw" and metric.max_rel is None:
        metric = replace(metric, max_rel=1)
    many, metric, rankings = _rankings(gains, metric, judged, options)
    return _shaped(residuals.residual(metric, rankings, side), many)


def explain_gains(gains: Any, *, C: Any, A: Any, judged: Any = None, **options: Any) -> Explanation:
    """Explain the score of one ranking, rank by rank.

    Parameters
    ----------
    gains, C, A, judged, **options
        As for :func:`score`, for one ranking.

    Returns
    -------
    Explanation
        Values of the framework at each rank, and the score.

    Raises
    ------
    BadParameter
        If there are several rankings, or if an option or a number cannot be used.

    Examples
    --------
    >>> explain_gains([0.7, 0.4, 0.0, 1.0], C="fixed(0.8, 1, 0.5, 0)", A="avg").table["V"].tolist()
    [1.0, 0.8, 0.8, 0.4]
    """
    many, metric, rankings = _rankings(gains, _metric(C, A, options), judged, options)
    if many:
        raise BadParameter("explain_gains explains one ranking: give one list of gains.")
    return explained(metric, rankings, 0)


def _score_of_measure(grades: Any, measure: Any, judged: Any, lengths: Any) -> Any:
    one = measure_of(measure)
    needs = needs_of(one)
    of_documents = {needs.duplicates, needs.costs} != {"none"} or needs.lengths == "table" or needs.abstention
    if needs.intents or needs.scores or of_documents:
        way_out = (
            "pass lengths= to score, not to the measure" if needs.lengths == "table" else "use evaluate(qrels, run)"
        )
        raise BadParameter(
            f"{one} is not defined by lists of grades: it reads intents, scores, or a table of documents: {way_out}."
        )
    if needs.lengths != "none" and lengths is None:
        raise BadParameter(f"{one} needs lengths=, the number of words of each item.")
    if needs.judged_lengths and judged is not None:
        raise BadParameter(f"{one} needs the lengths of all judged items, retrieved or not: leave judged= out.")
    many, given = _lists(grades, "grades")
    words = None if needs.lengths == "none" else _one_for_each(lengths, "lengths", given, "grades")
    lists: Any = _GradedLists(given, judged, words)
    return _shaped(computation_of(one).prepare(lists)(lists), many)


class _GradedLists:
    """Lists of grades as judgments and as aligned rankings: what measures are prepared for, and what they score."""

    intents: Sequence[Any] = ()

    def __init__(
        self,
        given: _FlatLists,
        judged: Any,
        lengths: _FlatLists | None = None,
        any_type: bool = True,
        signed: bool = False,
    ) -> None:
        self.given, self._pools, self._any_type = given, given, any_type
        if judged is not None:
            _, self._pools = _lists(judged, "judged", signed)
            if len(self._pools.n) != len(given.n):
                raise BadParameter(f"judged has {len(self._pools.n)} lists for {len(given.n)} rankings.")
        self.rows: tuple[Rows, ...] = ()
        if lengths is not None:
            items = np.arange(len(given.flat))
            columns = Columns(None, None, -items, doc_length=lengths.flat)
            lists, index = np.flatnonzero(given.n), {qid: number for number, qid in enumerate(self.qids)}
            starts, names = (np.cumsum(given.n) - given.n)[lists], [self.qids[number] for number in lists.tolist()]
            self.rows = (Rows(columns, starts, names, index, order=items),)

    @cached_property
    def qids(self) -> list[str]:
        """Numbers of the lists, as ids of queries."""
        return [str(number) for number in range(len(self.given.n))]

    @property
    def numbers(self) -> tuple[_FlatLists, _FlatLists]:
        """Numbers of the rankings, and of all judged items."""
        return self.given, self._pools

    @cached_property
    def pool(self) -> Pool:
        """Grades of all judged items."""
        pool = Pool(len(self._pools.n), *self._pools.judged(self._any_type))
        if self.rows and self._pools is self.given:
            pool.columns, pool.rows = self.rows[0].columns, np.flatnonzero(~np.isnan(self.given.flat))
        return pool

    def check_grades(self, max_rel: float, way_out: str = "") -> None:
        """Raise BadJudgments if a grade is above `max_rel`."""
        if (highest := self.pool.highest) > max_rel:
            way_out = way_out or f"give max_rel={highest:g}"
            raise BadJudgments(f"a grade of {highest:g} is above max_rel={max_rel:g}: {way_out}.")

    def refuse_uncertain(self) -> None:
        """Accept the lists: they have grades."""

    @property
    def possible(self) -> _GradedLists:
        """The lists themselves, since their grades are certain."""
        return self

    def rankings(self, all_judged: bool = False, with_pool: bool = True) -> Rankings:
        """Return the rankings with their relevant items, or with all judged items."""
        given = self.given
        hits = given.where(~np.isnan(given.flat) if all_judged else given.flat > 0)
        return Rankings.of_hits(given.n, *hits, self.pool if with_pool else None, rows=self.rows)


_OPTIONS = ("gain", "max_rel", "efforts", "effort", "unseen", "norm", "end", "cutoff")


def _refuse_unknown(names: Iterable[str], known: Sequence[str]) -> None:
    for name in sorted(names):
        raise BadParameter(f"no option {name!r}. {near(name, known)}")


def _metric(C: Any, A: Any, options: dict[str, Any]) -> Metric:
    _refuse_unknown(options.keys() - _OPTIONS, _OPTIONS)
    if options.get("efforts") is not None and options.get("effort") not in (None, "given"):
        raise BadParameter("give efforts= (a number for each item) or effort= (a function of grades), not both.")
    choices = options | {
        "C": C,
        "A": A,
        "gain": options.get("gain") or ("raw" if options.get("max_rel") is None else "linear"),
        "effort": "given" if options.get("efforts") is not None else options.get("effort") or "unit",
    }
    choices.pop("efforts", None)
    if all(isinstance(value, str | int | float | None) for value in choices.values()):
        metric = _metric_of_texts(**choices)
        if metric.built_in:  # functions of users may be defined again under their names
            return metric
    return CWLA(**choices).metric


@lru_cache(maxsize=256, typed=True)
def _metric_of_texts(**choices: str | float | None) -> Metric:
    return CWLA(**choices).metric


def _are_gains(options: dict[str, Any]) -> bool:
    """Return whether the numbers of lists are gains, and not grades."""
    return options.get("gain") is None and options.get("max_rel") is None


def _rankings(
    gains: Any, metric: Metric, judged: Any, options: dict[str, Any], all_hits: bool = True
) -> tuple[bool, Metric, Rankings]:
    """Return whether there are several rankings, the metric, with signed gains if one is negative, and the rankings.

    Without ``all_hits``, their hits are the items that can have a gain.
    """
    signed, efforts = _are_gains(options), options.get("efforts")
    many, given = _lists(gains, "gains", signed)
    lists = _GradedLists(given, judged, None, metric.gain.built_in and metric.effort.built_in, signed)
    if signed and any((numbers.flat < 0).any() for numbers in lists.numbers):
        metric = replace(metric, gain=GIVEN)
    all_hits = all_hits or metric.signed
    with_pool = judged is not None or efforts is not None or metric.norm in ("ideal", "mean")
    rankings = lists.rankings(all_hits, with_pool)
    highest = max(rankings.grade.max(initial=0), rankings.pool.grade.max(initial=0))
    if metric.max_rel is not None and highest > metric.max_rel:
        raise BadParameter(f"a grade of {highest:g} is above max_rel={metric.max_rel:g}.")
    if efforts is not None:
        costs = _one_for_each(efforts, "efforts", given, "gains")
        rankings.efforts = costs.padded
        if judged is None:
            rankings.pool.memory["efforts"] = costs.flat[~np.isnan(given.flat)].astype(float)
        elif metric.norm == "ideal":
            raise BadParameter("norm='ideal' with efforts= needs the efforts of all judged items: leave judged= out.")
    return many, metric, rankings


@dataclass(frozen=True)
class _FlatLists:
    """Lists of numbers, one after the other.

    Attributes
    ----------
    flat : ndarray, shape (n_numbers,)
        All numbers: floats, or the integers or booleans of a matrix.
    n : ndarray of int, shape (n_lists,)
        Length of each list.
    """

    flat: Array
    n: Array

    def where(self, which: NDArray[np.bool_]) -> tuple[Array, Array, Floats]:
        """Return the list, the rank and the value of the chosen numbers."""
        at = np.flatnonzero(which)
        width = int(self.n[0]) if len(self.n) else 0
        if width and (self.n == width).all():
            query, numbers = at // width, self.flat[at].astype(float, copy=False)
            at -= query * width - 1
            return query, at, numbers
        query = np.repeat(np.arange(len(self.n)), np.diff(np.searchsorted(at, self._start, "left"), append=len(at)))
        return query, at - (self._start - 1)[query], self.flat[at].astype(float, copy=False)

    def judged(self, any_type: bool) -> tuple[Array, Array]:
        """Return the list and the value of all numbers but NaN, as floats unless integers of 64 bits are allowed."""
        query, known = np.repeat(np.arange(len(self.n)), self.n), ~np.isnan(self.flat)
        numbers = self.flat if any_type and self.flat.dtype == np.int64 else self.flat.astype(float, copy=False)
        return (query, numbers) if known.all() else (query[known], numbers[known])

    def padded(self, lists: Array, width: int) -> Floats:
        """Return the first numbers of some lists, of shape [lists × width], with 0 after the end of a list."""
        column = np.arange(width)
        inside = column < self.n[lists][:, None]
        places = np.where(inside, self._start[lists][:, None] + column, -1)
        return np.append(self.flat, 0.0).astype(float, copy=False)[places]

    @cached_property
    def _start(self) -> Array:
        return np.cumsum(self.n) - self.n


def _lists(values: Any, name: str, signed: bool = False) -> tuple[bool, _FlatLists]:
    """Return whether there are several lists, and the lists, with negative numbers only if `signed`."""
    values = unwrapped(values)
    array = isinstance(values, np.ndarray)
    if array and values.ndim > 2:
        raise BadParameter(f"{name} must be one list, or a list of lists, not {values.ndim} dimensions.")
    if not (values.ndim if array else isinstance(values, Iterable)) or isinstance(values, str | bytes | Mapping | Set):
        raise BadParameter(f"{name} must be numbers: one list, or a list of lists, not {shown(values)}.")
    if not array:
        values = list(values)
    nested = values.ndim > 1 if array else any(isinstance(one, Iterable) and not isinstance(one, str) for one in values)
    if array and nested and values.dtype.kind in "iufb":
        found = _FlatLists(values.ravel(), np.full(len(values), values.shape[1]))
    else:
        found = _of_rows(values if nested else [values], name, nested)
    low, high = found.flat.min(initial=0), found.flat.max(initial=0)
    if not (low >= 0 and high < np.inf):  # or a number is NaN
        odd = np.isinf(found.flat) | ((found.flat < 0) & (not signed))
        if odd.any():
            raise _odd_numbers(name, int(np.searchsorted(np.cumsum(found.n), odd.argmax(), side="right")), signed)
    return nested, found


def _one_for_each(values: Any, name: str, given: _FlatLists, of: str) -> _FlatLists:
    """Return lists with a number for each item of other lists."""
    _, found = _lists(values, name)
    if not np.array_equal(found.n, given.n) or np.isnan(found.flat).any():
        raise BadParameter(f"{name} must have one number for each item of {of}.")
    return found


def _of_rows(rows: Sequence[Any], name: str, nested: bool) -> _FlatLists:
    """Return lists of any type that holds real numbers, row by row."""
    lists = [np.zeros(0)]
    for row, one in enumerate(rows):
        try:
            lists.append(np.array(reals(one), float))
        except NotReal as wrong:
            of = f"list {row} of {name}" if nested else name
            raise BadParameter(f"{of} must be numbers, and {wrong}, at rank {wrong.row + 1}.") from None
        if lists[-1].ndim != 1:
            raise _odd_numbers(name, row)
    return _FlatLists(np.concatenate(lists), np.array(list(map(len, lists[1:])), np.int64))


def _odd_numbers(name: str, row: int, signed: bool = False) -> BadParameter:
    what = "finite numbers" if signed else "finite numbers of 0 or more"
    return BadParameter(f"{name} must be {what} in rank order; see list {row}.")


def _shaped(values: np.ndarray, many: bool) -> Any:
    return values if many else float(values[0])
