"""Directions of measures: where less is better, studies compare negated scores, so that greater values are better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ..measures.of_ir_measures import better_of
from ..measures.parsing import measures_of

Array = np.ndarray


def where_less_is_better(measures: Mapping[str, Measure]) -> list[str]:
    """Return the names of the measures of which less is better, such as costs and search lengths.

    Examples
    --------
    >>> from pyterrier_cwla import ESL, TBG
    >>> where_less_is_better({"length": ESL, "gain": TBG})
    ['length']
    """
    return [name for name, measure in measures.items() if sign_of_scores(measure) < 0]


def sign_of_scores(measure: Measure) -> float:
    """Return −1 if less is better, and 1 otherwise: scores times this factor are greater where they are better."""
    return -1.0 if better_of(measure) == "lower" else 1.0


def columns_where_less_is_better(columns: Iterable[str]) -> list[str]:
    """Return the names of columns that are texts of measures of which less is better.

    Examples
    --------
    >>> columns_where_less_is_better(["ESL(wanted=2)", "nDCG@10", "clicks"])
    ['ESL(wanted=2)']
    """
    found: dict[str, Measure] = {}
    for name in filter(lambda column: isinstance(column, str), columns):
        try:
            (found[name],) = measures_of([name])
        except ValueError:  # the name of a column need not be the text of a measure
            continue
    return where_less_is_better(found)


def signs_of(names: Iterable[str], less_is_better: Iterable[str]) -> Array:
    """Return factors that turn scores so that greater is better: −1 where less is better, and 1 elsewhere."""
    lower = set(less_is_better)
    return np.array([-1.0 if name in lower else 1.0 for name in names])


def why_negated(less_is_better: list[str]) -> list[str]:
    """Return a sentence on measures whose scores are negated, if there are any."""
    if not less_is_better:
        return []
    named = ", ".join(less_is_better[:4]) + (", …" if len(less_is_better) > 4 else "")
    return [
        f"Of {named}, less is better: the scores count negatively, so that a greater coefficient and a higher"
        " rank are better for all measures. Tables and axes of scores show the scores as they are."
    ]


def with_direction(name: str, about: Mapping[str, Any]) -> str:
    """Return the name of a measure for the axis of its scores, which says if less is better."""
    return f"{name}, less is better" if name in about["less_is_better"] else name
