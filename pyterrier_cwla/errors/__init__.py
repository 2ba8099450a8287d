"""The errors a user can meet: each says what is wrong, where, and the way out."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .sanitise import harmless, sanitised


class CWLAError(ValueError):
    """Base of every error that this package raises on purpose. Text from data in it is sanitised."""

    @sanitised
    def __str__(self) -> str:
        return super().__str__()


class UnknownSpec(CWLAError):
    """A name that no gain, effort, continuation, aggregation, normaliser or measure has."""


class UnknownFunction(UnknownSpec):
    """A name that no gain, effort, continuation, aggregation or normaliser has."""


class BadParameter(CWLAError):
    """A parameter that is missing, unknown, or out of its range."""


class RefutedFact(BadParameter):
    """A fact that a decorator states about a function, and that does not hold on a short list."""


class NotPassed(BadParameter):
    """What has to be known of each row, its query, document or length, and was not passed."""


class BadRun(CWLAError):
    """A run that cannot be evaluated: NaN scores, a document twice, ids that are not strings."""


class BadJudgments(CWLAError):
    """Judgments that cannot be used: a pair twice, a grade above max_rel, ids that are not strings."""


class BadSessions(CWLAError):
    """Sessions that cannot be evaluated: a query twice or without a place, nothing judged."""


class BadLog(CWLAError):
    """A log that cannot be used: missing columns, negative times, clicks on the unseen, saves without a click."""


class BadRatings(CWLAError):
    """Ratings that cannot be used: missing columns, values that are no numbers, lists that nothing is judged for."""


class MissingLength(CWLAError):
    """A document whose length is needed and not known."""


class NoFiniteValue(CWLAError):
    """A combination whose expected effort or score is infinite, or cannot be shown to be finite."""


class MalformedFile(CWLAError):
    """A file that does not hold what it should; names file and line."""


class NotWritten(CWLAError, OSError):
    """A file that the system does not let us write: no such folder, no right, no space; nothing half of it is left."""


class CannotScore(BaseException):
    """Rows that no scorer can score, whatever a model predicts: no query ids, one query only, no lengths.

    Not an ``Exception``, for scikit-learn turns those into NaN and a warning, after which a search goes on and chooses
    a model by nothing.
    """

    @sanitised
    def __str__(self) -> str:
        return super().__str__()


class CWLAWarning(UserWarning):
    """Something that is allowed and often a mistake: no query in common, almost nothing judged, nothing cached."""


@contextmanager
def speaking_of(qrels: object, run: object) -> Iterator[None]:
    """Puts the file that an error is about before it, unless it is there already."""
    try:
        yield
    except BadJudgments as error:
        raise type(error)(f"{qrels}: {error}") from error
    except (BadRun, MissingLength, NoFiniteValue) as error:
        if run is None or str(error).startswith(harmless(f"{run}: ")):
            raise
        raise type(error)(f"{run}: {error}") from error


def some(values: Iterable[object], most: int = 3) -> str:
    """The first few values as a user wrote them: ``'a', 'b', 'c', …``."""
    values = list(values)
    return ", ".join(repr(v) for v in values[:most]) + (", …" if len(values) > most else "")


def shown(value: object, most: int = 60) -> str:
    """A value from data as an error shows it: its repr, shortened.

    >>> shown("x" * 100, most=10)
    "'xxxxxxxxx…"
    """
    try:
        text = repr(value)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        text = f"an integer of more than {sys.get_int_max_str_digits():,} digits"
    text = text.replace("\n", " ").replace("\t", " ")  # of types whose repr has several lines
    return text if len(text) <= most else text[:most] + "…"


def encodable(text: str) -> bool:
    """Return whether a text can be written as UTF-8, which half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def near(name: str, known: Iterable[str]) -> str:
    """What the user may have meant: ``Near: 'rbp'.``, or all there is where nothing is near."""
    known = sorted(known)
    lower = {one.lower(): one for one in known}
    matches = [lower[match] for match in difflib.get_close_matches(name.lower(), lower, cutoff=0.5)]
    if matches:
        return f"Near: {some(matches)}."
    return f"There is: {', '.join(known)}." if len(known) <= 20 else f"There are {len(known):,}, such as {some(known)}."


IS_A_RUN = "Is this a run? Judgments are given first, then runs."
ARE_JUDGMENTS = "Are these judgments? They are given first, then runs."


def if_swapped(lacking: str, names: Iterable[str]) -> str:
    """A hint, after a blank, where a run was given in the place of judgments, or the other way round."""
    names = {*names}
    if lacking == "relevance" and "score" in names:
        return f" {IS_A_RUN}"
    return f" {ARE_JUDGMENTS}" if lacking == "score" and {"relevance", "label"} & names else ""


def many(number: int, what: str) -> str:
    """How many of what: ``1 row``, ``1,200 rows``."""
    return f"{number:,} {what}" + "s" * (number != 1)


@contextmanager
def naming(run: str | None) -> Iterator[None]:
    """Says of which run an error speaks, where there may be many."""
    try:
        yield
    except (BadParameter, BadRun, MissingLength, NoFiniteValue) as error:
        if run is None:
            raise
        kind = NoFiniteValue if isinstance(error, NoFiniteValue) else type(error)
        raise kind(f"{run}: {error}") from error
