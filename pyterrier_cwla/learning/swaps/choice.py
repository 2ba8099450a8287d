"""Choice of the fastest way to compute the changes of a metric by swaps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...model.introspection import reads
from ...model.metric import Metric
from ...model.rank_weights import ranks_have_weights
from ...model.view import View
from .grade_paths import by_paths
from .pairs import by_pairs
from .paths import explicit
from .ranked import Changes, Ranked
from .scoring_anew import by_scoring_anew
from .sums import by_rank_weights, by_sums


def way_to_swap(metric: Metric, longest: int) -> Callable[[Metric, Ranked, int], Changes]:
    """Return the fastest function that computes the changes of a metric by swaps.

    Parameters
    ----------
    metric : Metric
        The metric.
    longest : int
        The number of items of the longest ranking.

    Returns
    -------
    callable
        One of :func:`by_rank_weights`, :func:`by_sums`, :func:`by_paths`, :func:`by_pairs` and
        :func:`by_scoring_anew`. The last one works for all metrics.
    """
    if ranks_have_weights(metric):
        return by_rank_weights
    if _is_made_of_sums(metric, longest):
        return by_sums
    if _forgets_the_order(metric):
        return by_paths if _grades_decide(metric, longest) else by_pairs
    return by_scoring_anew


def equal_gains_are_equal(metric: Metric) -> bool:
    """Return whether swaps of items with equal gains do not change the score."""
    return metric.unit_effort and "grade" not in reads(metric.C) | reads(metric.A)


def _is_made_of_sums(metric: Metric, longest: int) -> bool:
    """Return whether M·N is Σ V(i)·φ(i)·w_i or a ratio of such sums, with V fixed or a product over single items."""
    C, A, last = metric.C, metric.A, metric.last_that_counts
    if C.fact("gives_survival") or A.fact("credit_terms") is None or ("E" in reads(A) and not metric.unit_effort):
        return False
    if reads(C) <= {"i"}:
        return bool(A.fact("linear_in_gain")) and _everybody_leaves(metric)
    if not reads(C) <= {"r", "e", "grade", "at_least"}:
        return False
    whole = (
        last is None or longest <= last
    )  # otherwise swaps bring in items from ranks that do not count, and V changes
    if not A.fact("linear_in_gain"):
        return whole or (metric.end == "open" and _goes_on_beyond(metric) == 1)
    if "expected_effort" in reads(A) and not (whole or metric.end in ("stop", last)):
        return False
    return _everybody_leaves(metric)


#: The names of a view that depend on the set of items so far, but not on their order.
_SET = {"i", "r", "grade", "e", "at_least", "G", "G_before", "E", "E_before", "best", "total", "expected_effort"}
_SET |= {"totals", "spend", "background"}  # the inputs of these


def _forgets_the_order(metric: Metric) -> bool:
    """Return whether C and A depend on the set of items so far, but not on their order, except that A may forget."""
    C, A = metric.C, metric.A
    survival, terms = C.fact("gives_survival"), A.fact("credit_terms") is not None
    if not reads(C) <= _SET:
        return False
    if survival:
        return bool(A.fact("linear_in_gain")) and terms and _everybody_leaves(metric)
    forgets = {"fading"} if A.fact("linear_in_gain") else set()
    return reads(A) <= _SET | forgets and (terms or "expected_effort" not in reads(A))


def _grades_decide(metric: Metric, longest: int) -> bool:
    """Return whether C and A follow from the grades of the items, at all ranks to be computed one by one."""
    last = metric.last_that_counts
    if metric.flat_effort is None or "fading" in reads(metric.A):
        return False
    return last is None or longest <= last or explicit(metric, last) <= last


def _everybody_leaves(metric: Metric) -> bool:
    """Return whether all users leave at some rank, so that Σ L(i)·G(i) = Σ V(i)·r_i."""
    C = metric.C
    if metric.end != "open" or metric.rank_at("last_rank") or C.fact("vanishes") or C.fact("eventually_leaves"):
        return True
    return bool(C.fact("constant_beyond_list")) and _goes_on_beyond(metric) < 1


def _goes_on_beyond(metric: Metric) -> float:
    """Return C at items without gain, if it is the same at all of them."""
    nothing = np.zeros((1, 1))
    seen = View(nothing + 1, nothing, nothing, lambda _: nothing, nothing + 1, metric.unseen_effort or 1.0)
    return float(np.max(metric.C(seen.beyond([[1.0]]))))
