"""Facts about functions of the language, and checks of the facts that users state."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

from ..data.columns import Floats
from ..errors import BadParameter, near

#: Facts that users may state, by kind of function. All others are internal; tests hold them for the built-in functions.
STATED: dict[str, tuple[str, ...]] = {
    "continuation": ("constant_beyond_list", "ignores_zero_gain", "eventually_leaves", "gives_survival", "last_rank"),
    "aggregation": ("linear_in_gain", "monotone_in_gain", "less_is_better"),
    "gain": ("known_grades", "signed"),
    "effort": ("constant_from",),
    "discount": (),
}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts about a function; the decorators document those that users may state.

    Attributes
    ----------
    of_parts : callable, optional
        For functions with functions as parameters, such as ``product``: function of the name of a fact and the
        parameters that returns the fact.
    vanishes : bool
        Whether V goes to 0 with the rank, even if only slowly.
    gains_up_to_1 : callable, optional
        Function of the parameters that returns whether C is defined only for gains of at most 1.
    gains_from_0 : callable, optional
        Function of the parameters that returns whether C is defined only for gains of 0 or more.
    items_beyond : callable, optional
        Function of the view, V(n+1) and the parameters that returns ΣV(j) over the ranks after the list, where n is
        the last rank.
    items_between : callable, optional
        Function of the view, an array of numbers m and the parameters, for users who have gone on after an item that
        is followed by m items without gain and of equal effort: returns the share of these users who go on after the
        last of the m items, and the number of the m items that they see on average, as arrays of the shape of the view.
    loss : callable, optional
        Function of the parameters that returns a function f of efforts, or None. Of all orders of items of worth w, the
        one by falling w/f(e) has the highest Σ V(i)·w_i. If C gives V, this holds for lists without a cutoff only;
        otherwise C(i) is 1 − f(e_i).
    satisfied_by_gain : bool
        Whether C(i) = γ·(1 − r_i), with the gain, or the binary relevance for ``rel``, as the probability of leaving.
    affine_beyond_list : bool
        Whether A changes by the same amount (or not at all) with every item after the list.
    constant_without_gain : bool
        Whether A does not change at an item without gain.
    credit_terms : callable, optional
        Function of i, r, e, C and the parameters that returns (φ, w) with Σ L(i)·A(i) = Σ V(i)·φ(i)·w_i wherever all
        users leave. If A reads ``expected_effort``, the right side is divided by Σ V(i)·e_i. φ depends on the rank
        only; w depends on the gain, effort and C of the item. With these terms learning to rank is faster, and if φ is
        the number 1, the ideal ranking is exact for continuations with a `loss`.
    unit : str, optional
        The unit of a gain, or of an aggregation with ``{gain}`` and ``{effort}`` for the units of these two.
    weights_fall : callable, optional
        For aggregations and discounts, function of the parameters that returns whether the weights of ranks never rise:
        φ of `credit_terms`, or of the discount, or the score of a ranking with a single gain at the rank.
    signed : bool or callable
        Whether a gain may be negative, or a function of the parameters that returns it.
    given_with_items : bool
        Whether efforts are not computed, but given with the items of rankings in arrays.
    """

    of_parts: Callable[..., Any] | None = None
    # continuations
    constant_beyond_list: bool = False
    ignores_zero_gain: bool = False
    vanishes: bool = False
    eventually_leaves: bool = False
    gives_survival: bool = False
    gains_up_to_1: Callable[..., bool] | None = None
    gains_from_0: Callable[..., bool] | None = None
    last_rank: Callable[..., float | None] | None = None
    items_beyond: Callable[..., Floats] | None = None
    items_between: Callable[..., tuple[Floats, Floats]] | None = None
    loss: Callable[..., Callable[[Floats], Floats] | None] | None = None
    satisfied_by_gain: bool = False
    # aggregations
    linear_in_gain: bool = False
    affine_beyond_list: bool = False
    monotone_in_gain: bool = False
    constant_without_gain: bool = False
    less_is_better: bool = False
    credit_terms: Callable[..., tuple[Floats | float, Floats]] | None = None
    weights_fall: Callable[..., bool] | None = None  # also of discounts
    unit: str | None = None  # also of gains
    # gains and efforts
    known_grades: Callable[..., Iterable[float] | None] | None = None
    signed: bool | Callable[..., bool] = False
    unit_effort: bool = False
    given_with_items: bool = False
    constant_from: Callable[..., float | None] | None = None

    @property
    def stated(self) -> dict[str, Any]:
        """Facts that were stated, by name."""
        return {fact.name: value for fact in fields(self) if (value := getattr(self, fact.name)) not in (False, None)}


def check_stated_facts(kind: str, name: str, parameters: Iterable[str], stated: dict[str, Any]) -> None:
    """Check the facts that a user states about a function.

    Parameters
    ----------
    kind, name : str
        Kind and name of the function.
    parameters : iterable of str
        Parameters of the function. Facts that are functions get them by name.
    stated : dict
        Keyword arguments of the decorator.

    Raises
    ------
    BadParameter
        If a fact is unknown, internal or of the wrong type.
    """
    for fact, value in stated.items():
        where = f"@{kind}({fact}=…) of {name!r}"
        if fact not in STATED[kind]:
            hint = near(fact, STATED[kind]) if STATED[kind] else f"A {kind} has none."
            by_kind = "; ".join(f"{of}: {', '.join(facts)}" for of, facts in STATED.items() if facts)
            raise BadParameter(f"{where}: no such fact. {hint} All facts of users' functions: {by_kind}.")
        is_flag = getattr(Facts, fact) is False
        if is_flag and not isinstance(value, bool):
            raise BadParameter(f"{where}: must be True or False, not {value!r:.80}.")
        if not is_flag and value is not None:
            _check_function(value, list(parameters), where)


def _check_function(value: Any, names: list[str], where: str) -> None:
    inputs = ", ".join(names)
    takes = f"must be a function of ({inputs})" if names else "must be a function without parameters"
    if not callable(value):
        raise BadParameter(f"{where}: {takes}, such as lambda{f' {inputs}' if names else ''}: …, not {value!r:.80}.")
    try:
        signature = inspect.signature(value)
    except ValueError:  # some functions written in C have no signature
        return
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        raise BadParameter(f"{where}: {takes}: {error}.") from None
