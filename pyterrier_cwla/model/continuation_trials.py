"""Checks of the facts that users state about their continuations."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..data.arrays import Floats
from ..errors import BadParameter
from ..errors.user_warnings import warn
from .introspection import SUMS, reads
from .language import Spec
from .tail_sums import grid
from .trial_lists import (
    DEEPEST,
    FAR,
    RANKS,
    ROWS,
    RUN,
    CannotTell,
    Difference,
    Lists,
    first_place,
    given_by,
    random_lists,
    rank_after,
    told_apart,
    unlike,
    values_of,
)
from .view import View


def _rank(spec: Spec, fact: str) -> float:
    """Return the rank that a continuation states as a fact, or 0."""
    rank = given_by(spec, fact) if spec.fact(fact) else None
    if rank is None:
        return 0
    if not isinstance(rank, int | float | np.integer | np.floating) or not rank >= 0 or rank % 1:
        raise BadParameter(
            f"{spec.keyword}: {fact}= of its decorator gives {rank!r:.80}, and must give a rank, or None."
        )
    return float(min(rank, DEEPEST))


@lru_cache(maxsize=1024)
def warn_if_nobody_leaves(spec: Spec) -> None:
    """Warn of a continuation that is 1 at every rank for all gains, so that no user ever leaves."""
    far = np.append(FAR, [[1e12]], axis=1)
    for lists in random_lists():
        for background in (False, True):
            view = lists.view(background=background)
            try:
                with np.errstate(all="ignore"):
                    found = values_of(spec, view), values_of(spec, view.beyond(far))
            except CannotTell:
                return
            if min(values.min() for values in found) < 1:
                return
    warn(
        f"{spec.keyword} is 1 at every rank, for all gains, so that no user ever leaves and the score is 0: give C a"
        " k, a last rank, or end='stop', or a rank as end=."
    )


def _deep(spec: Spec, lists: Lists, background: bool = False) -> View:
    """Return the view of the lists, with one more column at the deepest rank that the continuation states."""
    return lists.view(max(_rank(spec, "last_rank"), _rank(spec, "jump_rank")), background)


def _goes_on(spec: Spec, view: View, m: Floats) -> Floats:
    """Return C at the m-th ranks after the list; NaN where no user is left."""
    if not spec.fact("gives_survival"):
        return values_of(spec, view.beyond(m))
    V, later = (values_of(spec, view.beyond(ranks)) for ranks in (m, m + 1))
    return np.where(V > 1e-280, later / np.maximum(V, 1e-280), np.nan)


def _on_list(spec: Spec, view: View) -> tuple[Floats, Floats]:
    """Return C at the ranks of the list, and V at these ranks and the next one."""
    if not spec.fact("gives_survival"):
        C = values_of(spec, view)
        return C, np.concatenate([np.ones((ROWS, 1)), np.cumprod(C, axis=1)], axis=1)
    V = np.concatenate([values_of(spec, view), values_of(spec, view.beyond([[1.0]]))], axis=1)
    return np.where(V[:, :-1] > 0, V[:, 1:] / np.where(V[:, :-1] > 0, V[:, :-1], 1), np.nan), V


def constant_beyond_list(spec: Spec, lists: Lists) -> Difference | None:
    """Return a difference between values of C after the list, if there is one."""
    for background in (False, True)[: 1 if reads(spec) & SUMS else 2]:
        view = _deep(spec, lists, background)
        C = _goes_on(spec, view, FAR)
        if place := first_place(unlike(C, C[:, :1], 1e-8, 1e-9)):
            row, column = place
            one, other = told_apart(C[row, 0], C[row, column])
            gain = f", where every item gains {lists.best:g}," if background else ""
            ranks = rank_after(view, FAR, 0), rank_after(view, FAR, column)
            return row, f"beyond the list{gain} C({ranks[0]}) is {one}, and C({ranks[1]}) is {other}"
    return None


def ignores_zero_gain(spec: Spec, lists: Lists) -> Difference | None:
    """Return an item without gain at which C is not 1, if there is one."""
    view = lists.view()
    C, V = _on_list(spec, view)
    beyond = _goes_on(spec, view, FAR)
    wrong = np.concatenate(
        [
            (lists.r == 0) & (V[:, :-1] > 1e-12) & unlike(C, 1.0, absolute=1e-9),
            (V[:, -1:] > 1e-12) & unlike(beyond, 1.0, absolute=1e-9),
        ],
        axis=1,
    )
    if place := first_place(wrong):
        row, column = place
        rank = np.append(view.i, view.i[:, -1:] + FAR)[column]
        found = np.append(C, beyond, axis=1)[row, column]
        return row, f"C({rank:g}) is {told_apart(found, 1.0)[0]} at an item without gain, and must be 1"
    return None


def goes_to_zero(spec: Spec, lists: Lists) -> Difference | None:
    """Return a list for which V does not go to 0, if there is one.

    V goes to a positive limit if 1 − C falls much faster than 1/i.
    """
    view = _deep(spec, lists)
    if spec.fact("gives_survival"):
        m = np.array([[1e3, 1e307]])
        V = values_of(spec, view.beyond(m))
        if place := first_place((V[:, :1] > 1e-9) & (V[:, 1:] > 0.5 * V[:, :1])):
            return place[0], f"V({rank_after(view, m, 0)}) is {V[place[0], 0]:.6g}, and V at 1e307 {V[place[0], 1]:.6g}"
        return None
    far = 1e6 + np.arange(128.0)[None, :]
    near, late = (-np.log(np.minimum(values_of(spec, view.beyond(m)), 1)) for m in (RUN, far))
    gone = _on_list(spec, view)[1][:, -1:] * np.exp(-near.sum(axis=1, keepdims=True)) <= 1e-12
    early, late = (m * loss.mean(axis=1, keepdims=True) for m, loss in ((1e3, near[:, -128:]), (1e6, late)))
    if place := first_place(~gone & (late <= 0.2 * early)):
        C = 1 - np.append(early[place[0]] / 1e3, late[place[0]] / 1e6)
        return place[0], (
            f"about the rank 10^3 C is {C[0]:.12g}, about 10^6 {C[1]:.12g}, and so some users never leave"
        )
    return None


def last_rank(spec: Spec, lists: Lists) -> Difference | None:
    """Return a list for which V is not 0 after the last rank, if there is one."""
    last = _rank(spec, "last_rank")
    if not last:
        return None
    view = lists.view()
    if spec.fact("gives_survival"):
        deep = lists.view(last + 1)
        left = values_of(spec, deep)[:, min(int(last), deep.i.shape[1] - 1)][:, None]
    else:
        after = last - RANKS
        ranks = np.unique(np.concatenate([np.arange(1, min(after, 1024) + 1), after - np.arange(64.0)]))
        left = values_of(spec, view)[:, : int(min(last, RANKS))].prod(axis=1, keepdims=True)
        if (ranks > 0).any():
            left = left * values_of(spec, view.beyond(ranks[None, ranks > 0])).prod(axis=1, keepdims=True)
    if place := first_place(left > 1e-12):
        row = place[0]
        return row, f"V({last + 1:,.0f}) is {left[row, 0]:.6g}, and must be 0 after the last rank, {last:,.0f}"
    return None


def jump_rank(spec: Spec, lists: Lists) -> Difference | None:
    """Return a jump of C after the stated rank, if there is one."""
    jump = _rank(spec, "jump_rank")
    if not jump or lists.e is not None:  # a jump has a fixed rank only at equal efforts
        return None
    view = _deep(spec, lists)
    C = _goes_on(spec, view, RUN)
    step = np.abs(np.diff(C))
    around = np.maximum(step[:, :-2], step[:, 2:])
    if place := first_place((step[:, 1:-1] > 1e-6) & (step[:, 1:-1] > 100 * around)):
        row, column = place[0], place[1] + 1
        ranks = rank_after(view, RUN, column), rank_after(view, RUN, column + 1)
        one, other = told_apart(C[row, column], C[row, column + 1])
        return row, f"C({ranks[0]}) is {one} and C({ranks[1]}) is {other}, a jump after the rank {jump:,.0f}"
    return None


def items_beyond(spec: Spec, lists: Lists) -> Difference | None:
    """Return a list for which ``items_beyond`` is not ΣV over the ranks after the list, if there is one.

    The sum over the first 1,024 ranks is a lower bound, and for most functions the sum over all ranks is known.
    """
    view = _deep(spec, lists)
    survival = bool(spec.fact("gives_survival"))
    reach = _on_list(spec, view)[1][:, -1:]
    claimed = given_by(spec, "items_beyond", view, reach)
    try:
        claimed = np.broadcast_to(np.asarray(claimed, float), reach.shape)
    except (TypeError, ValueError):
        raise BadParameter(
            f"{spec.keyword}: items_beyond= of its decorator must give one number for each query, [queries × 1]."
        ) from None
    nodes = grid(1024, 34)
    seen = values_of(spec, view.beyond(nodes.m))
    if survival:
        V, left, smooth = seen, seen[:, -1:], nodes.doubt(seen) <= 1e-9 * reach
    else:
        V, left, smooth = nodes.survival(seen)
        V, left = reach * V, reach * left
    explicit, whole = V[:, :1024].sum(axis=1, keepdims=True), nodes.total(V)
    finished = V[:, 1023:1024] <= 1e-200
    known = finished | (smooth & (left * nodes.m[0, -1] <= 1e-9 * whole))
    whole = np.where(finished, explicit, whole)
    wrong = (reach > 1e-9) & ~(claimed >= explicit * (1 - 1e-6))
    if survival or not spec.fact("not_in_products"):  # otherwise items_beyond may count gain at infinite rank
        wrong |= (reach > 1e-9) & known & ~(claimed <= whole * (1 + 1e-6))
    if place := first_place(wrong):
        row = place[0]
        some = "" if known[row, 0] else "at least "
        total = (whole if known[row, 0] else explicit)[row, 0]
        one, other = told_apart(claimed[row, 0], total)
        return row, f"it gives {one} items for V(n+1) = {reach[row, 0]:.6g}, and V sums to {some}{other}"
    return None


def items_between(spec: Spec, lists: Lists) -> Difference | None:
    """Return an item after which ``items_between`` differs from the product of C and the sum of V, if there is one.

    After an item with C = 0 there are no users, so that any value is right.
    """
    view, m = lists.view(), 5
    steps = [values_of(spec, view.after_each(rank)) for rank in range(1, m + 1)]
    V = np.cumprod([np.ones_like(steps[0]), *steps], axis=0)
    goes_on = np.broadcast_to(values_of(spec, view), V[0].shape) > 0
    claimed = given_by(spec, "items_between", view, np.full(V[0].shape, float(m)))
    try:
        share, items = (np.broadcast_to(np.asarray(values, float), V[0].shape) for values in claimed)
    except (TypeError, ValueError):
        raise BadParameter(
            f"{spec.keyword}: items_between= of its decorator must give two arrays of the shape of the view, or of m."
        ) from None
    for what, found, wanted in (("share", share, V[-1]), ("number", items, V[:-1].sum(axis=0))):
        if place := first_place(unlike(found, wanted, 1e-8, 1e-9) & goes_on):
            row, column = place
            one, other = told_apart(found[place], wanted[place])
            return row, f"for {m} items after rank {column + 1} it gives the {what} {one}, and C gives {other}"
    return None


def gives_survival(spec: Spec, lists: Lists) -> Difference | None:
    """Return a rank at which V rises, if there is one."""
    view, m = lists.view(), np.append(RUN[:, :64], [[1e3, 1e6]], axis=1)
    V = np.append(values_of(spec, view), values_of(spec, view.beyond(m)), axis=1)
    ranks = np.append(view.i, view.i[:, -1:] + m)
    if place := first_place(V[:, 1:] > V[:, :-1] * (1 + 1e-9) + 1e-12):
        row, column = place
        one, other = told_apart(V[row, column], V[row, column + 1])
        return row, f"V({ranks[column]:,.0f}) is {one}, and V({ranks[column + 1]:,.0f}) is {other}; V never rises"
    return None
