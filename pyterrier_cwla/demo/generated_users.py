"""Generated users: ratings of lists and sessions that follow a measure, and clicks that follow a click model."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..behaviour.logs.log import InteractionLog
from ..errors import BadParameter
from ..errors.parameter_checks import check_whole
from ..evaluation.driver import evaluate
from ..measures.sessions import evaluate_sessions
from ..studies.users.ratings import Rated

_RATINGS = (0.05, 0.15, 0.40, 0.75)
"""Shares of the ratings that are at most 1, 2, 3 and 4."""


def rated_sessions(
    measure: Any = "AdaptiveGRBP(p=0.6,effort='ratio(4)')@9",
    seed: int = 0,
    sessions: int = 80,
    users: int = 20,
    noise: float = 0.5,
) -> Rated:
    """Generate search sessions whose ratings follow a measure.

    A session has two to six queries with nine results each, which are judged for the session, with grades from 0 to 2.
    The rating, from 1 to 5, increases with the standardised score of the session plus normal noise. A study of these
    ratings can therefore be compared with the measure that the users have in mind. By default, the noise is less than
    that of real users, so that few sessions are enough.

    Parameters
    ----------
    measure : Measure or str, default="AdaptiveGRBP(p=0.6,effort='ratio(4)')@9"
        Measure that the users have in mind.
    seed : int, default=0
        Random seed.
    sessions : int, default=80
        Number of sessions.
    users : int, default=20
        Number of users, who have about the same number of sessions.
    noise : float, default=0.5
        Standard deviation of the noise, relative to that of the scores.

    Returns
    -------
    Rated
        Rated sessions with the property ``user``.

    Examples
    --------
    >>> rated_sessions(sessions=40)
    <ratings of 40 sessions: 1: 2, 2: 4, 3: 10, 4: 14, 5: 10>
    """
    rng = np.random.default_rng(seed)
    session = np.repeat(_names("s", sessions), rng.integers(2, 7, sessions))
    query = _names("q", len(session))
    easy = pd.Series(rng.beta(2, 2, sessions), _names("s", sessions))[session].to_numpy()
    chance = np.clip(easy + rng.normal(0, 0.2, len(query)), 0, 1)
    relevant = rng.random((len(query), 9)) < chance[:, None]
    grades = relevant * rng.integers(1, 3, relevant.shape)
    qrels, run = _lists(query, grades, np.arange(grades.size).reshape(grades.shape))
    qrels["query_id"] = np.repeat(session, 9)
    asked = pd.DataFrame({"session": session, "query_id": query, "order": np.arange(len(query))})
    score = evaluate_sessions(qrels, run, asked, [measure]).iloc[:, 0]
    table = pd.DataFrame({"session": score.index, "user": _names("u", users)[np.arange(sessions) % users]})
    return Rated.sessions(qrels, run, asked, table.assign(rating=_rating(rng, score, noise)))


def rated_lists(
    measure: Any = "RBP(p=0.8,rel=1)",
    seed: int = 0,
    queries: int = 24,
    users: int = 60,
    noise: float = 1.5,
    max_rel: int = 1,
) -> Rated:
    """Generate lists whose ratings follow a measure: each user sees the documents of a query in a different order.

    A query has ten documents with judgments from 0 to ``max_rel``. Each user rates the lists of six queries, from 1 to
    5. The rating increases with the standardised score of the list, plus normal noise.

    Parameters
    ----------
    measure : Measure or str, default="RBP(p=0.8,rel=1)"
        Measure that the users have in mind.
    seed : int, default=0
        Random seed.
    queries : int, default=24
        Number of queries, six or more.
    users : int, default=60
        Number of users.
    noise : float, default=1.5
        Standard deviation of the noise, relative to that of the scores.
    max_rel : int, default=1
        Highest grade; all grades above 0 are equally frequent.

    Returns
    -------
    Rated
        Rated lists with the properties ``user`` and ``query``.

    Raises
    ------
    BadParameter
        If there are fewer than six queries, or ``max_rel`` is below 1.

    Examples
    --------
    >>> rated_lists(users=10)
    <ratings of 60 lists: 1: 3, 2: 6, 3: 15, 4: 21, 5: 15>
    """
    check_whole(6, queries=queries)
    check_whole(1, max_rel=max_rel)
    rng = np.random.default_rng(seed)
    asked = rng.permuted(np.tile(np.arange(queries), (users, 1)), axis=1)[:, :6].ravel()
    lists = _names("list", len(asked))
    relevant = rng.random((queries, 10)) < np.linspace(0.05, 0.6, queries)[:, None]
    order = rng.permuted(np.tile(np.arange(10), (len(asked), 1)), axis=1)
    grades = relevant * (1 if max_rel == 1 else rng.integers(1, max_rel + 1, relevant.shape))
    qrels, run = _lists(lists, np.take_along_axis(grades[asked], order, axis=1), order)
    score = evaluate(qrels, run, [measure], by_query=True).iloc[:, 0].to_numpy()
    table = pd.DataFrame({"query_id": lists, "user": np.repeat(_names("u", users), 6)})
    table["query"] = _names("query ", queries)[asked]
    return Rated.lists(qrels, run, table.assign(rating=_rating(rng, score, noise)))


def clicks(
    seed: int = 0,
    sessions: int = 3000,
    users: int = 150,
    attraction: Mapping[int, float] = {0: 0.2, 1: 0.5, 2: 0.8},
    satisfaction: Mapping[int, float] = {0: 0.1, 1: 0.4, 2: 0.7},
    gamma: float = 0.9,
    unjudged: float = 0.2,
) -> InteractionLog:
    """Generate a click log of users who follow a dynamic Bayesian network.

    There are 20 topics with 15 documents each, and four different lists of ten of them. A user who examines a document
    of grade g clicks it with probability a_g. A click satisfies with probability s_g, and satisfied users leave. The
    others continue with probability γ.

    Parameters
    ----------
    seed : int, default=0
        Random seed.
    sessions : int, default=3000
        Number of sessions, of one list each.
    users : int, default=150
        Number of users.
    attraction, satisfaction : dict of int to float
        a_g and s_g by grade, with the same grades.
    gamma : float, default=0.9
        γ.
    unjudged : float, default=0.2
        Probability that a document has no grade in the log. With the same seed, all else is the same, so that the log
        with ``unjudged=0`` has the grades that are missing.

    Returns
    -------
    InteractionLog
        One row for each result shown.

    Raises
    ------
    BadParameter
        If `attraction` and `satisfaction` have different grades.

    Examples
    --------
    >>> clicks(sessions=100, users=10)  # doctest: +ELLIPSIS
    A log of 10 users, 100 sessions, 1,000 results, ... clicked.
    ...
    """
    if set(attraction) != set(satisfaction):
        raise BadParameter(
            f"attraction= has the grades {list(attraction)}, satisfaction= {list(satisfaction)}: give the same."
        )
    rng = np.random.default_rng(seed)
    topics, documents, depth = 20, 15, 10
    grades = np.array(list(attraction))
    grade = rng.choice(len(grades), (topics, documents), p=np.linspace(1, 0.4, len(grades)) / (0.7 * len(grades)))
    lists = rng.permuted(np.tile(np.arange(documents), (topics, 4, 1)), axis=2)[:, :, :depth]
    topic, shown = rng.integers(0, topics, sessions), np.minimum(rng.geometric(0.4, sessions) - 1, 3)
    document = lists[topic, shown]
    code = grade[topic[:, None], document]
    attracts = rng.random(code.shape) < np.array([attraction[g] for g in grades])[code]
    satisfies = rng.random(code.shape) < np.array([satisfaction[g] for g in grades])[code]
    goes_on = (rng.random(code.shape) < gamma) & ~(attracts & satisfies)
    examined = np.cumprod(np.column_stack([np.ones(sessions, int), goes_on[:, :-1]]), axis=1).astype(bool)
    judged = rng.random(grade.shape) >= unjudged
    rows = pd.DataFrame({
        "user": np.repeat(_names("u", users)[rng.integers(0, users, sessions)], depth),
        "session": np.repeat(_names("s", sessions), depth),
        "topic": np.repeat(_names("q", topics)[topic], depth),
        "rank": np.tile(np.arange(1, depth + 1), sessions),
        "docno": _names("d", documents)[document].ravel(),
        "clicked": (attracts & examined).ravel(),
        "grade": np.where(judged[topic[:, None], document], grades[code], np.nan).ravel(),
    })  # fmt: skip
    return InteractionLog.of(rows)


def _names(prefix: str, number: int) -> np.ndarray:
    return np.array([f"{prefix}{n:0{len(str(number - 1))}d}" for n in range(number)], dtype=object)


def _lists(queries: np.ndarray, grades: np.ndarray, document: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return judgments and a run, from the grades and the numbers of the documents in rank order."""
    number, length = grades.shape
    docno = _names("d", int(document.max()) + 1)[document.ravel()]
    shown = pd.DataFrame({"query_id": np.repeat(queries, length), "doc_id": docno})
    return shown.assign(relevance=grades.ravel()), shown.assign(score=-np.tile(np.arange(float(length)), number))


def _rating(rng: np.random.Generator, score: Any, noise: float) -> np.ndarray:
    """Return ratings from 1 to 5, which increase with the standardised score plus noise."""
    score = np.asarray(score)
    felt = (score - score.mean()) / score.std() + rng.normal(0, noise, len(score))
    return 1 + np.searchsorted(np.quantile(felt, _RATINGS), felt)
