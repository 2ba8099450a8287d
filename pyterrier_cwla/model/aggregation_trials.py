"""Checks of the facts that users state about their aggregations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..data.arrays import Floats
from ..errors import BadParameter
from .introspection import reads
from .language import Spec
from .trial_lists import (
    FAR,
    RANKS,
    ROWS,
    CannotTell,
    Difference,
    Lists,
    first_place,
    given_by,
    rank_after,
    told_apart,
    unlike,
    values_of,
    written_list,
)
from .view import View


def _here_and_beyond(spec: Spec, view: View) -> tuple[Floats, Floats]:
    """Return A at ranks on the list and after it, and these ranks."""
    values = np.append(values_of(spec, view), values_of(spec, view.beyond(FAR)), axis=1)
    return values, np.append(view.i, view.i[:, -1:] + FAR)


def linear_in_gain(spec: Spec, lists: Lists) -> Difference | None:
    """Return gains for which A of a linear combination is not the combination of the values of A, if there are any."""
    rng = np.random.default_rng(1)
    others = replace(lists, r=np.where(lists.r > 0, rng.uniform(0, lists.best, lists.r.shape).round(2), 0.0))
    mixed = replace(lists, r=0.5 * lists.r + 0.3 * others.r)
    (x, ranks), (y, _), (both, _) = (_here_and_beyond(spec, one.view()) for one in (lists, others, mixed))
    if place := first_place(unlike(both, 0.5 * x + 0.3 * y, absolute=1e-9)):
        row, column = place
        one, other = told_apart(both[row, column], (0.5 * x + 0.3 * y)[row, column])
        return row, (
            f"with these gains x and the gains y = {written_list(others.r[row])}, A({ranks[column]:,.0f}) of"
            f" 0.5·x + 0.3·y is {one}, and 0.5·A(x) + 0.3·A(y) is {other}"
        )
    return None


def affine_beyond_list(spec: Spec, lists: Lists) -> Difference | None:
    """Return a rank after the list at which A is not on the line through its other values, if there is one."""
    for background in (False, True):
        view = lists.view(background=background)
        try:
            A = values_of(spec, view.beyond(FAR))
        except CannotTell:
            continue
        line = A[:, :1] + (A[:, -1:] - A[:, :1]) * (FAR - 1) / (FAR[0, -1] - 1)
        size = np.abs(A).max(axis=1, keepdims=True)
        if place := first_place(unlike(A, line, 0, 1e-12 + 1e-8 * size)):
            row, column = place
            first, rank, last = (rank_after(view, FAR, c) for c in (0, column, -1))
            one, other = told_apart(A[row, column], line[row, column])
            gain = f", where every item gains {lists.best:g}," if background else ""
            return row, (
                f"beyond the list{gain} A({rank}) is {one}, and {other} on the line from A({first}) to A({last})"
            )
    return None


def monotone_in_gain(spec: Spec, lists: Lists) -> Difference | None:
    """Return a list for which A falls when a gain rises, if there is one."""
    for before, after, item in _rises(lists):
        try:
            (low, ranks), (high, _) = (_here_and_beyond(spec, view) for view in (before, after))
        except CannotTell:
            continue
        if place := first_place(unlike(low, high) & (high < low)):
            row, column = place
            one, other = told_apart(low[row, column], high[row, column])
            what = "of unseen items" if item is None else f"of item {item + 1}, to {after.r[row, item]:.3g},"
            return row, f"A({ranks[column]:,.0f}) is {one}, and falls to {other} when the gain {what} rises"
    return None


def _rises(lists: Lists) -> Iterator[tuple[View, View, int | None]]:
    """Yield views before and after a gain rises, of one item or of all unseen items; the total gain stays the same."""
    total = lists.total(None) + RANKS * lists.best

    def seen(lists: Lists, background: bool = False) -> View:
        view = lists.view(background=background)
        view.totals = lambda rel: total
        return view

    share = np.random.default_rng(1).uniform(0.05, 1, lists.r.shape)
    for j in range(RANKS):
        r, grade = lists.r.copy(), lists.grade.copy()
        r[:, j] += (share * (lists.best - r))[:, j]
        grade[:, j] = np.maximum(grade, np.ceil(3 * r / lists.best))[:, j]
        yield seen(lists), seen(replace(lists, r=r, grade=grade)), j
    yield seen(lists), seen(lists, background=True), None


def constant_without_gain(spec: Spec, lists: Lists) -> Difference | None:
    """Return an item without gain at which A changes, if there is one."""
    A, ranks = _here_and_beyond(spec, lists.view())
    nothing = np.append(lists.r == 0, np.ones((ROWS, FAR.shape[1]), bool), axis=1)
    if place := first_place(nothing[:, 1:] & unlike(A[:, 1:], A[:, :-1])):
        row, column = place
        one, other = told_apart(A[row, column], A[row, column + 1])
        return row, (
            f"A({ranks[column]:,.0f}) is {one}, and A({ranks[column + 1]:,.0f}) is {other}, with no gain between"
        )
    return None


def credit_terms(spec: Spec, lists: Lists) -> Difference | None:
    """Return a list for which the credit terms do not sum to the score, if there is one."""
    if lists.e is not None and "E" in reads(spec):  # the terms are valid, and used, at unit effort only
        return None
    view, rng = lists.view(), np.random.default_rng(1)
    C = rng.uniform(0.1, 1, lists.r.shape).round(2)
    C[:, -1] = 0
    V = np.concatenate([np.ones((ROWS, 1)), np.cumprod(C, axis=1)[:, :-1]], axis=1)
    e = np.broadcast_to(np.asarray(view.e, float), lists.r.shape)
    spent = (V * e).sum(axis=1, keepdims=True)
    view.spend = lambda: spent
    phi, w = _terms(spec, view.i, lists.r, e, C)
    score = (V * (1 - C) * values_of(spec, view)).sum(axis=1, keepdims=True)
    divisor = spent if "expected_effort" in reads(spec) else 1.0
    summed = (V * phi * w).sum(axis=1, keepdims=True) / divisor
    if place := first_place(unlike(score, summed, absolute=1e-9)):
        row = place[0]
        one, other = told_apart(score[row, 0], summed[row, 0])
        return row, f"with C = {written_list(C[row])} the score is {one}, and its terms sum to {other}"
    order = rng.permutation(RANKS)
    _, moved = _terms(spec, view.i, lists.r[:, order], e[:, order], C[:, order])
    if place := first_place(unlike(moved, w[:, order])):
        row, column = place
        one, other = told_apart(w[row, order[column]], moved[row, column])
        return row, f"w of item {order[column] + 1} is {one}, and {other} when the items are in another order"
    if spec.fact("linear_in_gain") and (place := first_place(unlike(_terms(spec, view.i, lists.r, e, None)[1], w))):
        return place[0], f"w of item {place[1] + 1} depends on C, though A is linear in the gains"
    return None


def _terms(spec: Spec, i: Floats, r: Floats, e: Floats, C: Floats | None) -> tuple[Floats, Floats]:
    """Return φ, one number or one per rank, and w."""
    terms = given_by(spec, "credit_terms", i, r, e, C)
    try:
        phi, w = (np.asarray(term, float) for term in terms)
        return np.broadcast_to(phi, i.shape), np.broadcast_to(w, r.shape)
    except (TypeError, ValueError):
        raise BadParameter(
            f"{spec.keyword}: credit_terms= of its decorator must give φ, a number or an array [1 × ranks], and w, an"
            " array [queries × ranks]."
        ) from None
