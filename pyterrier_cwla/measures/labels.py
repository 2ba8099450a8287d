"""Labels of measures: names that columns, titles and reports show instead of the texts of measures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any, Self

from ir_measures.measures import Measure

from ..errors import BadParameter, CWLAError, shown
from .text_reader import parsed

_COLUMNS = frozenset({"run", "query_id", "qid", "fold", "name", "mrt"})  # columns beside those of measures
_OTHER_WAYS = ", a text 'name=measure', or a dict {'…': measure} instead of a list"
_LABEL_AND_MEASURE = re.compile(r"((?:[^=()]|\([^()]*\))+)=(.*)", re.DOTALL)


class ShownMeasure(Measure):
    """Base class of measures whose name in tables may differ from their text.

    ``repr`` is the text of the measure, which can be parsed. ``str`` is the name that tables show. A measure equals a
    measure with the same text, the same name and the same functions of users. It also equals its name, because
    PyTerrier's searches look measures up by name.

    Attributes
    ----------
    label : str or None
        Label of the measure.
    """

    label: str | None = None

    def __str__(self) -> str:
        return repr(self) if self.label is None else self.label

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str(self) == other
        if not isinstance(other, Measure) or str(self) != str(other) or repr(self) != repr(other):
            return False
        return self._has_functions_of(other)

    def _has_functions_of(self, other: Measure) -> bool:
        """Return whether a measure with the same text has the same functions behind the names in its text."""
        return True

    def __hash__(self) -> int:
        return hash(str(self))

    def with_label(self, label: str | None) -> Measure:
        """Return the measure with another label, or without one."""
        return labelled(self, label)

    def _renamed(self, label: str | None) -> Measure:
        """Return the measure with a label that is valid already, or without one."""
        raise NotImplementedError


class _LabelledMeasure(ShownMeasure):
    """A measure of ir_measures with a label; a call with other parameters returns a measure without the label."""

    def __init__(self, measure: Measure, label: str) -> None:
        vars(self).update(vars(measure))
        self._measure, self.label = measure, label

    def __call__(self, **kwargs: Any) -> Measure | Self:
        return self._measure(**kwargs) if kwargs else self

    def _renamed(self, label: str | None) -> Measure:
        return renamed(self._measure, label)

    def __reduce__(self) -> tuple[Any, ...]:
        return renamed, (self._measure, self.label)


def is_labelled_other(measure: Measure) -> bool:
    """Return whether a measure is one of ir_measures with a label."""
    return isinstance(measure, _LabelledMeasure)


@cache
def _labelled_class(kind: type[Measure]) -> type[_LabelledMeasure]:
    return type(kind.__name__, (_LabelledMeasure, kind), {})


def labelled(measure: Measure, label: str | None) -> Measure:
    """Return a measure with a label, or without one.

    Parameters
    ----------
    measure : ir_measures.Measure
        A measure of this package or of ir_measures.
    label : str or None
        Name of the measure in tables; None for the name without a label.

    Raises
    ------
    BadParameter
        If the label is not a text of one line, or is the name of another column or the text of another measure.

    Examples
    --------
    >>> from ir_measures import nDCG
    >>> early = labelled(nDCG @ 10, "early")
    >>> str(early), repr(early)
    ('early', 'nDCG@10')
    """
    return renamed(measure, None if label is None else checked_label(label, measure, isinstance(measure, ShownMeasure)))


def renamed(measure: Measure, label: str | None) -> Measure:
    """Return a measure with a label that is valid already, or without one."""
    if isinstance(measure, ShownMeasure):
        return measure._renamed(label)
    if label is None or label == str(measure):
        return measure
    return _labelled_class(type(measure))(measure, label)  # type: ignore[arg-type]


def checked_column(label: object) -> str:
    """Return the label of a column.

    Raises
    ------
    BadParameter
        If the label is not a text of one line, or is the name of another column in tables of scores.
    """
    if not isinstance(label, str) or not label.isprintable() or not label.strip() or label != label.strip():
        raise BadParameter(
            f"label={shown(label)}: a label is a text of one line, such as 'TBG', without blanks at its ends."
        )
    if label in _COLUMNS:
        raise BadParameter(f"label={label!r}: tables of scores have another column of this name. Choose another label.")
    return label


def checked_label(label: object, measure: Measure, own_name: bool = True) -> str:
    """Return a label for a measure.

    A label may be the text of the measure itself, such as ``"map"`` for AP. It cannot be the text of another measure,
    because both may be in one experiment, where PyTerrier shows one column for measures of one name.

    Parameters
    ----------
    label : object
        The label.
    measure : ir_measures.Measure
        The measure.
    own_name : bool, default=True
        Whether the label may be the name of the measure without its parameters, such as "TBG" for a TBG with another
        half-life. This is safe where :func:`by_name` sees all measures of a call.

    Returns
    -------
    str
        The label.

    Raises
    ------
    BadParameter
        If the label is not a text of one line, or is the name of another column in tables of scores or the text of
        another measure.
    """
    label, own = checked_column(label), renamed(measure, None)
    if own_name and label == own.NAME:
        return label
    other = _measure_called(label, own)
    if other is not None and not {repr(other), str(other)} & {repr(own), str(own)}:
        raise BadParameter(
            f"label={label!r} of {own}: {label!r} is another measure. Choose a label that is none, such as"
            f" {f'{label} of users'!r}."
        )
    return label


def _measure_called(text: str, own: Measure) -> Measure | None:
    """Return the measure that a text means, or None: most labels are no measures.

    The name of ``own`` is no measure if it needs parameters, such as "P".
    """
    try:
        found = parsed(text)
    except CWLAError:
        return None
    if found.NAME == own.NAME:
        with suppress(CWLAError, AssertionError):
            found.validate_params()
            return found
        return None
    return found


def label_in(text: str) -> tuple[str | None, str]:
    """Return the label and the measure of a text such as ``"early=nDCG@10"``; the label is None if there is none.

    Measures contain ``=`` only within parentheses.

    Examples
    --------
    >>> label_in("early=nDCG@10")
    ('early', 'nDCG@10')
    >>> label_in("TBG(h=60)")
    (None, 'TBG(h=60)')
    """
    found = _LABEL_AND_MEASURE.fullmatch(text)
    return (None, text) if found is None else (found[1].strip(), found[2].strip())


def redefined(measure: Measure) -> BadParameter:
    """Return the error for two measures that differ, although they have the same text."""
    return BadParameter(
        f"two measures are called {measure} and differ: a function or a table was redefined between them. Give it"
        " another name, or give each measure a label."
    )


def by_name(measures: Iterable[Measure], texts: bool = False) -> dict[str, Measure]:
    """Return measures by the names of their columns, in order; a measure that is given twice has one column.

    Parameters
    ----------
    measures : iterable of ir_measures.Measure
        The measures.
    texts : bool, default=False
        Whether the caller also takes texts and dicts of measures. PyTerrier and ir_measures take objects alone.

    Raises
    ------
    BadParameter
        If two different measures have the same name.
    """
    named: dict[str, Measure] = {}
    for measure in measures:
        other = named.setdefault(str(measure), measure)
        if other is measure:
            continue
        if other != measure and repr(other) == repr(measure):
            raise redefined(measure)
        if other != measure:
            raise BadParameter(
                f"two measures are called {str(measure)!r}: {other!r} and {measure!r}. Give one another name:"
                f" label='…' of a measure of this package{_OTHER_WAYS * texts}."
            )
    return named
