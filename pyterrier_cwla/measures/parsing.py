"""Lists of measures from texts, objects, or a dict of these by label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ir_measures.measures import Measure

from ..errors import BadParameter, shown
from .labels import by_name, checked_column, checked_label, label_in, renamed
from .named import CWLAMeasure
from .text_reader import checked_text, parsed, validated


def measures_of(texts: Iterable[object]) -> list[Measure]:
    """Return measures of ir_measures from their texts or objects.

    Parameters
    ----------
    texts : iterable of str or ir_measures.Measure, one of them, or dict of these by label
        The measures, such as ``"nDCG@10"``, or ``"early=nDCG@10"`` for a measure with a label. Upper and lower case are
        equivalent where only one measure fits. The names of trec_eval, such as ``"ndcg_cut_10"``, stand for the
        measures of ir_measures. One text may contain several measures, separated by commas.

    Returns
    -------
    list of ir_measures.Measure
        The measures in the order given. ``str`` of each is the name of its column.

    Raises
    ------
    BadParameter
        If a parameter is unknown, missing or out of its range; or if two different measures have the same name.
    UnknownSpec
        If a text cannot be read, or a name is unknown; the error suggests near matches.

    Examples
    --------
    >>> measures_of("ndcg_cut_10, tbg(half_life=60), CWLA(C=inst(2),A=max,max_rel=3)")
    [nDCG@10, TBG(half_life=60), CWLA(C='inst(2)',A='max',max_rel=3)]
    """
    if isinstance(texts, Mapping):
        measures = [renamed(_measure_of(text), checked_column(label)) for label, text in texts.items()]
    else:
        measures = [_measure_of(text) for text in listed(texts)]
    by_name(measures, texts=True)
    return measures


def _measure_of(text: object) -> Measure:
    label = None
    if not isinstance(text, Measure):
        label, text = label_in(checked_text(text))
    measure = text if isinstance(text, Measure) else parsed(text)
    if not isinstance(measure, CWLAMeasure):
        measure = validated(measure)
    return measure if label is None else renamed(measure, checked_label(label, measure))


def listed(measures: object) -> list[object]:
    """Return one or several measures as a list."""
    if isinstance(measures, str):
        return list(split_measures(measures))
    if isinstance(measures, Measure):
        return [measures]
    if not isinstance(measures, Iterable):
        raise BadParameter(
            f"measures must be a measure or a list of them, such as ['nDCG@10', 'TBG'], not {shown(measures)}."
        )
    return list(measures)


def split_measures(text: str) -> list[str]:
    """Return the measures of a text, separated by commas that stand in no brackets and no quotes.

    Several cutoffs after a name of trec_eval, as in ``P.5,10``, stand for several measures.

    Examples
    --------
    >>> split_measures("nDCG@10, CWLA(C='rbp(0.8)',A='erg',max_rel=3), AP")
    ['nDCG@10', "CWLA(C='rbp(0.8)',A='erg',max_rel=3)", 'AP']
    >>> split_measures("P.5,10,map")
    ['P.5', 'P.10', 'map']
    """
    parts: list[str] = []
    for part in map(str.strip, _split(checked_text(text))):
        before = re.fullmatch(r"(\w*[A-Za-z][._])[\d.]+", parts[-1]) if parts else None
        continues = before is not None and re.fullmatch(r"\d+(\.\d+)?", part)
        parts.append(f"{before[1]}{part}" if before is not None and continues else part)
    return parts


def _split(text: str) -> Iterator[str]:
    start, open_brackets, quote, escaped = 0, 0, "", False
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote and not escaped else quote
            escaped = character == "\\" and not escaped
        elif character in "'\"":
            quote = character
        elif character in "([{":
            open_brackets += 1
        elif character in ")]}":
            open_brackets -= 1
        elif character == "," and open_brackets == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]
