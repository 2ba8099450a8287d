"""Exceptions and warnings of the package, and helpers for their messages."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from typing import Any

from .sanitise import harmless, sanitised


class CWLAError(ValueError):
    """Base class of the errors of this package. Control characters in texts from data are escaped."""

    @sanitised
    def __str__(self) -> str:
        return super().__str__()


class UnknownSpec(CWLAError):
    """Unknown name of a gain, effort, continuation, aggregation, normaliser or measure."""


class UnknownFunction(UnknownSpec):
    """Unknown name of a gain, effort, continuation, aggregation or normaliser."""


class BadParameter(CWLAError):
    """Parameter that is missing, unknown, or out of range.

    Parameters
    ----------
    message : str
        Message, or the rest of the sentence that begins with ``parameter=value``.
    **given : object
        Parameter with its value. The command line writes the option of this parameter instead.
    """

    def __init__(self, message: str, /, **given: object) -> None:
        subject = "".join(f"{name}={shown(value)}" for name, value in given.items())
        super().__init__(f"{subject}{'' if message.startswith(':') or not given else ' '}{message}")


class RefutedFact(BadParameter):
    """Property stated in the decorator of a function that does not hold for a short list."""


class NotPassed(BadParameter):
    """Required query ids, document ids or document lengths of rows that were not passed."""


class BadRun(CWLAError):
    """Invalid run: NaN scores, duplicate documents, ids that are not strings."""


class BadJudgments(CWLAError):
    """Invalid judgments: duplicate pairs, grades above max_rel, ids that are not strings."""


class BadSessions(CWLAError):
    """Invalid sessions: duplicate queries, queries without a position, no judgments."""


class BadLog(CWLAError):
    """Invalid log: missing columns, negative times, clicks on unseen results, saves without a click."""


class BadRatings(CWLAError):
    """Invalid ratings: missing columns, values that are no numbers, lists without judgments."""


class MissingLength(CWLAError):
    """Missing length of a document."""


class MissingCost(MissingLength):
    """Missing cost of a document. The treatment is that of a missing length."""


class NoFiniteValue(CWLAError):
    """Measure whose expected effort or score is infinite, or cannot be shown to be finite."""


class MalformedFile(CWLAError):
    """File with invalid content; the message names file and line."""


class NotWritten(CWLAError, OSError):
    """File that cannot be written: no such folder, no permission, no space. No partial file remains."""


class CannotScore(BaseException):
    """Data that cannot be scored for any model: no query ids, a single query, no lengths.

    This class is no subclass of ``Exception``. scikit-learn replaces exceptions of scorers by NaN with a warning, so
    that a search would continue and choose an arbitrary model.
    """

    @sanitised
    def __str__(self) -> str:
        return super().__str__()


class CWLAWarning(UserWarning):
    """Warning about a probable mistake: no query in common, few judged documents, results that are not cached."""


@contextmanager
def speaking_of(qrels: object, run: object) -> Iterator[None]:
    """Put the name of the file in front of errors that the block raises, unless the message begins with it.

    Parameters
    ----------
    qrels : path or str
        Name of the judgments, for BadJudgments.
    run : path or str, optional
        Name of the run, for BadRun, MissingLength and NoFiniteValue.
    """
    try:
        yield
    except BadJudgments as error:
        raise type(error)(f"{qrels}: {error}") from None
    except (BadRun, MissingLength, NoFiniteValue) as error:
        if run is None or str(error).startswith(harmless(f"{run}: ")):
            raise
        raise type(error)(f"{run}: {error}") from None


def some(values: Iterable[object], most: int = 3) -> str:
    """Return the reprs of the first values, such as ``'a', 'b', 'c', …``; numbers of NumPy as those of Python."""
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    return ", ".join(repr(v) for v in values[:most]) + (", …" if len(values) > most else "")


def shown(value: object, most: int = 60) -> str:
    """Return the repr of a value, shortened to ``most`` characters, for an error message.

    >>> shown("x" * 100, most=10)
    "'xxxxxxxxx…"
    """
    try:
        text = repr(value)
    except ValueError:  # Python converts integers of up to 4,300 digits only
        text = f"an integer of more than {sys.get_int_max_str_digits():,} digits"
    text = text.replace("\n", " ").replace("\t", " ")  # the repr may have several lines
    return text if len(text) <= most else text[:most] + "…"


def encodable(text: str) -> bool:
    """Return whether a text can be encoded as UTF-8; lone surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def near(name: str, known: Iterable[str]) -> str:
    """Return similar names as a hint, such as ``Near: 'rbp'.``; if none is similar, the known names."""
    known = sorted(known)
    matches = _similar(name, known, 0.5)
    if matches:
        return f"Near: {some(matches)}."
    return (
        f"Available: {', '.join(known)}." if len(known) <= 20 else f"There are {len(known):,}, such as {some(known)}."
    )


def _similar(name: str, known: Iterable[str], cutoff: float) -> list[str]:
    """Return up to three names that are most similar regardless of case; of names that differ in case, one."""
    lower: dict[str, list[str]] = {}
    for one in known:
        lower.setdefault(one.lower(), []).append(one)
    return [
        max(lower[match], key=lambda one: difflib.SequenceMatcher(None, name, one).ratio())
        for match in difflib.get_close_matches(name.lower(), lower, cutoff=cutoff)
    ]


_PARAMETERS_ELSEWHERE = {  # names in other packages, by name here
    "cutoff": ("k", "cut", "at", "depth"),
    "rel": ("relevance_level", "rel_level", "rel_threshold", "min_rel", "judged_rel"),
    "max_rel": ("max_grade", "max_relevance", "max_label", "max_gain"),
    "p": ("phi", "persistence", "patience"),
    "lengths": ("doc_length", "doc_lengths", "words"),
    "costs": ("cost", "doc_cost", "doc_costs", "doc_seconds"),
    "qid": ("groups", "group", "query", "query_id", "queries", "qids"),
    "docno": ("doc_id", "docid", "doc_ids", "docnos"),
    "doc_length": ("doc_lengths", "words"),
}


def near_parameter(name: str, known: Iterable[str]) -> str:
    """Return the parameter that other packages call `name`, or similar names, as a hint.

    >>> near_parameter("k", ["cutoff", "rel"])
    'Write cutoff=.'
    """
    known = list(known)
    here = next((here for here, others in _PARAMETERS_ELSEWHERE.items() if name in others and here in known), None)
    return f"Write {here}=." if here else near(name, known)


RENAMED = {
    "StudySearch": "OptunaSearch",
    "KFoldStudySearch": "KFoldOptunaSearch",
    "PairComparison": "evaluation.Comparison",
    "tbg_score": "learning.measure_score, for predictions, or score(grades, 'TBG', lengths=…), for lists in rank order",
    "err_score": "learning.measure_score, for predictions, or score(grades, 'ERR'), for lists in rank order",
    "cwla_score": "learning.measure_score, for predictions, or score(grades, C=…, A=…), for lists in rank order",
    "PairComparison.plot(measure)": "Comparison.plot_pairs(measure)",
    "Comparison.plot(), a list of Axes": "Comparison.plot().axes",
    "Comparison.wide('score')": "Comparison.wide(interval='score')",
    "Comparison.to_latex('score')": "Comparison.to_latex(interval='score')",
    "Comparison.notes(symbols=…)": "Comparison.notes(marks=…)",
    "Comparison.of_queries": "Comparison.of_topics",
    "Comparison.out_of_reach, Comparison.correction": "Comparison.notes()",
    "compare(qrels, runs, measures) without a baseline": "compare(qrels, runs, measures, baseline=False)",
    "Lengths.bind(table), Seconds.bind(table)": "Lengths.bind(value), Costs.bind(value)",
    "data.Seconds": "data.Costs",
    "data.register_doc_seconds": "data.register_costs",
    "pt.cwla.DocSeconds": "pt.cwla.DocCost",
    "errors.MissingSeconds": "errors.MissingCost",
    "doc_seconds=, of measures": "costs=",
    "the column doc_seconds": "doc_cost",
    "documents.seconds, in efforts": "documents.cost",
    "--seconds, for known costs": "--costs",
    "measure.explore()": "explore(measure=…)",
    "score(gains=…)": "score(grades=…)",
    "keep=, for folders of results": "cache_dir=",
    "jobs=, in studies and simulations": "n_jobs=",
    "demo.compare": "compare",
    "rendering.plot_stops": "evaluation.plot_stops",
}
"""New names of the last versions by old name; the page of renamed names shows this table."""


def elsewhere(name: str, places: Mapping[str, str]) -> str:
    """Return where a name can be found, as a sentence; else similar names, or an empty text.

    >>> elsewhere("gain", {"gain": "package", "brain": "package.other"})
    'It is package.gain.'
    >>> elsewhere("brains", {"gain": "package", "brain": "package.other"})
    'Near: package.other.brain.'
    """
    if name in RENAMED:
        return f"It is now {RENAMED[name]}."
    if name in places:
        return f"It is {places[name]}.{name}."
    matches = _similar(name, places, 0.7)
    return f"Near: {', '.join(f'{places[one]}.{one}' for one in matches)}." if matches else ""


IS_A_RUN = "Is this a run? Judgments are given first, then runs."
ARE_JUDGMENTS = "Are these judgments? Commands that take judgments take them first, then runs."


def if_swapped(lacking: str, names: Iterable[str]) -> str:
    """Return a hint, with a leading blank, if a run was given in place of judgments, or vice versa."""
    names = {*names}
    if lacking == "relevance" and "score" in names:
        return f" {IS_A_RUN}"
    return f" {ARE_JUDGMENTS}" if lacking == "score" and {"relevance", "label"} & names else ""


def many(number: int, what: str) -> str:
    """Return a number with its noun: ``1 row``, ``1,200 rows``."""
    return f"{number:,} {what}" + "s" * (number != 1)


@contextmanager
def naming(run: str | None) -> Iterator[None]:
    """Put the name of the run in front of errors that the block raises, unless ``run`` is None."""
    try:
        yield
    except (BadParameter, BadRun, MissingLength, NoFiniteValue) as error:
        if run is None:
            raise
        raise type(error)(f"{run}: {error}") from None


def check_whole(least: int, **given: Any) -> None:
    """Raise BadParameter for parameters that are no whole numbers, or are below ``least``."""
    for name, value in given.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise BadParameter(f"must be a whole number from {least}.", **{name: value})


def check_share(such_as: float, **given: float) -> None:
    """Raise BadParameter for parameters that are not between 0 and 1; the message gives the example ``such_as``."""
    for name, value in given.items():
        if not 0 < value < 1:
            raise BadParameter(f"must be between 0 and 1, such as {such_as}.", **{name: value})


def check_known(what: str, known: Iterable[object], /, **given: object) -> None:
    """Raise BadParameter for parameters whose value is not among the known ones: near ones, and all if they are few."""
    known = list(known)
    for name, value in given.items():
        if value not in known:
            hint, texts = near(str(value), map(str, known)), sorted(map(str, known))
            if hint.startswith("Near") and len(texts) <= 10:
                hint += f" Available: {', '.join(texts)}."
            raise BadParameter(f"is no {what}. {hint}", **{name: value})


_BETWEEN = {"pyterrier_cwla", "ir_measures", "pyterrier", "pandas", "functools"}


def warn(message: str) -> None:
    """Issue a CWLAWarning at the innermost line outside this package, ir_measures, PyTerrier and pandas."""
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    warnings.warn(harmless(message), CWLAWarning, stacklevel=level if frame is not None else 2)
