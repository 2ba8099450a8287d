"""Checks of the internal facts of built-in functions, on the random lists on which facts of users are tried."""

import itertools

import numpy as np

from pyterrier_cwla.model import fact_trials
from pyterrier_cwla.model.browsing import grid
from pyterrier_cwla.model.fact_trials import FAR, RANKS, ROWS, CannotTell, random_lists, unlike, values_of
from pyterrier_cwla.model.introspection import reads
from pyterrier_cwla.model.view import View


def is_wrong(spec, fact):
    """Return whether one of the random lists refutes a fact that a function states."""
    if not spec.fact(fact):
        return False
    with np.errstate(all="ignore"):
        for lists in random_lists():
            try:
                if np.any(CHECKS[spec.part.kind][fact](spec, lists)):
                    return True
            except CannotTell:
                continue
    return False


def vanishes(spec, lists):
    return next(fact_trials.goes_to_zero(spec, lists), None) is not None


def items_beyond(spec, lists):
    """Where ``items_beyond`` is not ΣV over the ranks after the list.

    The sum over the first 1,024 ranks is a lower bound, and for most functions the sum over all ranks is known.
    """
    view = fact_trials._deep(spec, lists)
    survival = bool(spec.fact("gives_survival"))
    reach = fact_trials._on_list(spec, view)[1][:, -1:]
    claimed = np.broadcast_to(np.asarray(spec.fact("items_beyond")(view, reach), float), reach.shape)
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
    if survival or not spec.fact("ignores_zero_gain"):  # otherwise items_beyond may count gain at infinite rank
        wrong |= (reach > 1e-9) & known & ~(claimed <= whole * (1 + 1e-6))
    return wrong


def items_between(spec, lists):
    """Where ``items_between`` differs from the product of C and the sum of V, after items at which users go on."""
    view, m = lists.view(), 5
    steps = [values_of(spec, view.after_each(rank)) for rank in range(1, m + 1)]
    V = np.cumprod([np.ones_like(steps[0]), *steps], axis=0)
    goes_on = np.broadcast_to(values_of(spec, view), V[0].shape) > 0
    share, items = spec.fact("items_between")(view, np.full(V[0].shape, float(m)))
    return goes_on & (unlike(share + 0 * V[0], V[-1], 1e-8, 1e-9) | unlike(items, V[:-1].sum(axis=0), 1e-8, 1e-9))


def affine_beyond_list(spec, lists):
    """Where A is not on the line through its first and last value after the list."""
    wrong = []
    for background in (False, True):
        try:
            A = values_of(spec, lists.view(background=background).beyond(FAR))
        except CannotTell:
            continue
        line = A[:, :1] + (A[:, -1:] - A[:, :1]) * (FAR - 1) / (FAR[0, -1] - 1)
        wrong.append(unlike(A, line, 0, 1e-12 + 1e-8 * np.abs(A).max(axis=1, keepdims=True)))
    return wrong


def constant_without_gain(spec, lists):
    """Where A changes at an item without gain."""
    A = fact_trials._here_and_beyond(spec, lists.view())
    nothing = np.append(lists.r == 0, np.ones((ROWS, FAR.shape[1]), bool), axis=1)
    return nothing[:, 1:] & unlike(A[:, 1:], A[:, :-1])


def credit_terms(spec, lists):
    """Whether the credit terms do not sum to the score, or w depends on other items, or on C though A is linear."""
    if lists.e is not None and "E" in reads(spec):  # the terms are valid, and used, at unit effort only
        return False
    view, rng = lists.view(), np.random.default_rng(1)
    C = rng.uniform(0.1, 1, lists.r.shape).round(2)
    C[:, -1] = 0
    V = np.concatenate([np.ones((ROWS, 1)), np.cumprod(C, axis=1)[:, :-1]], axis=1)
    e = np.broadcast_to(np.asarray(view.e, float), lists.r.shape)
    spent = (V * e).sum(axis=1, keepdims=True)
    view.spend = lambda: spent

    def terms(r, e, C):
        phi, w = spec.fact("credit_terms")(view.i, r, e, C)
        return np.broadcast_to(phi, view.i.shape), np.broadcast_to(w, r.shape)

    phi, w = terms(lists.r, e, C)
    score = (V * (1 - C) * values_of(spec, view)).sum(axis=1, keepdims=True)
    summed = (V * phi * w).sum(axis=1, keepdims=True) / (spent if "expected_effort" in reads(spec) else 1.0)
    order = rng.permutation(RANKS)
    moved = terms(lists.r[:, order], e[:, order], C[:, order])[1]
    wrong = unlike(score, summed, absolute=1e-9).any() or unlike(moved, w[:, order]).any()
    return wrong or (bool(spec.fact("linear_in_gain")) and unlike(terms(lists.r, e, None)[1], w).any())


def loss(spec, lists):
    """Where another order of the first four items has a higher Σ V(i)·r_i than the order by falling r/f(e)."""
    f = spec.fact("loss")()
    if f is None:
        return False
    r, e = lists.r[:, :4], np.broadcast_to(1.0 if lists.e is None else lists.e, lists.r.shape)[:, :4]

    def value(order):
        each, cost = (np.take_along_axis(values, order, axis=1) for values in (r, e))
        view = View(np.arange(1.0, 5)[None, :], each, each, lists.total, cost, lists.unseen)
        C = values_of(spec, view)
        V = C if spec.fact("gives_survival") else np.cumprod(np.insert(C[:, :-1], 0, 1.0, axis=1), axis=1)
        return (V * each).sum(axis=1)

    orders = [np.repeat([order], len(r), axis=0) for order in itertools.permutations(range(4))]
    return np.max([value(order) for order in orders], axis=0) > value(np.argsort(-r / f(e), axis=1)) + 1e-12


def satisfied_by_gain(spec, lists):
    """Where C is not γ·(1 − r), with binary gains for ``rel``."""
    values = dict(spec.values)
    gamma, rel = values.get("gamma", 1.0), values.get("rel")
    view = lists.view()
    return unlike(values_of(spec, view), gamma * (1 - view.at_least(rel).r))


def weights_fall(spec, lists):
    """Whether a later rank has a greater weight: φ of the credit terms, or the score of a single gain."""
    if not spec.fact("weights_fall")():
        return False
    i = np.arange(1.0, RANKS + 1)[None, :]
    if terms := spec.fact("credit_terms"):
        weights = np.broadcast_to(terms(i, np.ones_like(i), np.ones_like(i), np.ones_like(i))[0], i.shape)
    else:
        C = np.append(np.random.default_rng(1).uniform(0.1, 1, RANKS - 1), 0.0)
        L = np.append(1.0, np.cumprod(C)[:-1]) * (1 - C)
        single = View(i, np.eye(RANKS), np.eye(RANKS), lambda rel: np.ones((RANKS, 1)))
        weights = (L * spec(single)).sum(axis=1)
    return np.diff(weights) > 1e-12


CHECKS = {
    "continuation": {
        "vanishes": vanishes,
        "items_beyond": items_beyond,
        "items_between": items_between,
        "loss": loss,
        "satisfied_by_gain": satisfied_by_gain,
    },
    "aggregation": {
        "affine_beyond_list": affine_beyond_list,
        "constant_without_gain": constant_without_gain,
        "credit_terms": credit_terms,
        "weights_fall": weights_fall,
    },
}
