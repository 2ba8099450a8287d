"""Generated data: a test collection and its files, runs of many systems, ratings, sessions and clicks of users."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..behaviour.logs.log import InteractionLog
from ..errors import BadParameter, check_whole
from ..evaluation.driver import evaluate
from ..files.atomic import AnyPath, written
from ..measures.sessions import evaluate_sessions
from ..studies.users.ratings import Rated


@dataclass(frozen=True, eq=False)
class Collection:
    """Test collection with the column names of PyTerrier.

    Attributes
    ----------
    documents : DataFrame
        Columns ``docno``, ``text``, ``doc_length`` (words) and ``duplicate_of``: the docno of the original of a
        near-duplicate, missing for other documents.
    topics : DataFrame
        Columns ``qid`` and ``query``.
    qrels : DataFrame
        Columns ``qid``, ``docno`` and ``label`` (0 to 3). Only pooled documents are judged, so that some relevant
        documents have no judgment.
    """

    documents: pd.DataFrame
    topics: pd.DataFrame
    qrels: pd.DataFrame


def collection(seed: int = 0, documents: int = 2000, topics: int = 50) -> Collection:
    """Generate a test collection.

    Each topic has ten words of its own and three words of the previous topic. A part of the words of a document belongs
    to up to two topics, and each document prefers some of the words of its topics. The grade increases with the share
    of topic words and with the length of the document. BM25 therefore works, but not perfectly: some relevant documents
    lack query words, and some non-relevant documents contain them. One tenth of the documents are near-duplicates with
    a few words changed.

    Parameters
    ----------
    seed : int from 0, default=0
        Random seed; the same seed generates the same collection.
    documents : int from 10, default=2000
        Number of documents, including near-duplicates.
    topics : int from 2, default=50
        Number of topics.

    Returns
    -------
    Collection
        Documents, topics and judgments.

    Examples
    --------
    >>> collection(documents=200, topics=5).topics.columns.tolist()
    ['qid', 'query']
    """
    rng = np.random.default_rng(seed)
    copies = documents // 10
    originals = documents - copies
    themes = _themes(rng, topics)
    queries = [rng.choice(words, rng.integers(2, 5), replace=False, p=weights) for words, weights in themes]

    lengths = np.clip(rng.lognormal(np.log(250), 0.8, originals), 15, 8000).astype(int)
    shares = _shares(rng, originals, topics)
    texts = [_words(rng, length, share, themes) for length, share in zip(lengths, shares)]
    mentions = _mention(rng, texts, queries)

    sources = np.append(np.arange(originals), rng.choice(originals, copies, replace=False))
    texts += [_edited(rng, texts[source]) for source in sources[originals:]]
    worth = shares * (lengths[:, None] / 250) ** 0.2
    worth += rng.normal(0, 0.01, worth.shape) * (worth > 0)
    judged = _pool(rng, (worth + 0.07 * mentions)[sources])

    # Random order: neither position nor docno distinguishes copies from originals.
    order = rng.permutation(documents)
    place = np.argsort(order)
    docnos = np.array([f"d{number:0{len(str(documents))}d}" for number in range(1, documents + 1)], dtype=object)
    qids = np.arange(1, topics + 1).astype(str).astype(object)
    is_copy = order >= originals
    topic, document = np.nonzero(judged[order].T)
    vocabulary = _vocabulary()
    return Collection(
        documents=pd.DataFrame({
            "docno": docnos,
            "text": [_text(rng, texts[number], vocabulary) for number in order],
            "doc_length": [len(texts[number]) for number in order],
            "duplicate_of": pd.Series(docnos[place[sources[order]]]).where(is_copy),
        }),
        topics=pd.DataFrame({"qid": qids, "query": [" ".join(vocabulary[query]) for query in queries]}),
        qrels=pd.DataFrame({
            "qid": qids[topic],
            "docno": docnos[document],
            "label": np.digitize(worth[sources[order[document]], topic], [0.03, 0.07, 0.11]),
        }),
    )  # fmt: skip


_WORDS = 8000


@functools.cache
def _vocabulary() -> np.ndarray:
    """Words of one to three syllables, in order of decreasing frequency; frequent words are shorter."""
    syllables = np.array([a + b for a in "bdfgklmnprstvz" for b in "aeiou"], dtype=object)
    rng = np.random.default_rng(0)
    ones = rng.permutation(syllables)
    twos = rng.permutation((syllables[:, None] + syllables).ravel())[:2400]
    threes = rng.choice(len(syllables) ** 3, _WORDS - len(ones) - len(twos), replace=False)
    first, second, third = np.unravel_index(threes, (len(syllables),) * 3)
    return np.concatenate([ones, twos, syllables[first] + syllables[second] + syllables[third]])


@functools.cache
def _zipf() -> np.ndarray:
    """Cumulative word frequencies by Zipf's law."""
    weights = 1 / (np.arange(_WORDS) + 2.7)
    return np.cumsum(weights) / weights.sum()


_Theme = tuple[np.ndarray, np.ndarray]
"""Words of a topic (indices in the vocabulary) and their probabilities."""


def _themes(rng: np.random.Generator, topics: int) -> list[_Theme]:
    own = [rng.choice(np.arange(200, 4000), 10, replace=False) for _ in range(topics)]
    weights = np.arange(1, 14) ** -0.8
    return [(np.append(words, own[topic - 1][:3]), weights / weights.sum()) for topic, words in enumerate(own)]


def _shares(rng: np.random.Generator, documents: int, topics: int) -> np.ndarray:
    """Share of each document's words that belong to each topic, shape (documents, topics)."""
    shares = np.zeros((documents, topics))
    for chance, most in [(0.3, 0.1), (0.7, 0.2)]:
        about = np.flatnonzero(rng.random(documents) < chance)
        shares[about, rng.integers(topics, size=len(about))] = most * rng.beta(1.2, 2.2, len(about))
    return shares


def _words(rng: np.random.Generator, length: int, shares: np.ndarray, themes: list[_Theme]) -> np.ndarray:
    text = _background(rng, length)
    for topic in np.flatnonzero(shares):
        words, weights = themes[topic]
        favourites = weights * rng.gamma(0.5, size=len(words))
        places = np.flatnonzero(rng.random(length) < shares[topic])
        text[places] = rng.choice(words, len(places), p=favourites / favourites.sum())
    return text


def _background(rng: np.random.Generator, length: int) -> np.ndarray:
    return np.searchsorted(_zipf(), rng.random(length))


def _mention(rng: np.random.Generator, texts: list[np.ndarray], queries: list[np.ndarray]) -> np.ndarray:
    """Insert words of each query into random documents; return a mask of shape (documents, topics)."""
    mentions = np.zeros((len(texts), len(queries)), bool)
    for topic, query in enumerate(queries):
        chosen = rng.choice(len(texts), 1 + len(texts) // 150, replace=False)
        mentions[chosen, topic] = True
        for document in chosen:
            words = np.repeat(query, rng.integers(0, 3, len(query)))
            texts[document][rng.integers(len(texts[document]), size=len(words))] = words
    return mentions


def _edited(rng: np.random.Generator, text: np.ndarray) -> np.ndarray:
    """Near-duplicate of a text: 2 % of the words are replaced, and up to 5 % are missing at the end."""
    text = text[: len(text) - rng.integers(len(text) // 20 + 1)].copy()
    places = np.flatnonzero(rng.random(len(text)) < 0.02)
    text[places] = _background(rng, len(places))
    return text


def _pool(rng: np.random.Generator, attraction: np.ndarray) -> np.ndarray:
    """Mask of judged documents, shape (documents, topics): the first documents of three noisy systems."""
    documents, topics = attraction.shape
    depth = min(documents, max(10, documents // 50))
    judged = np.zeros((documents, topics), bool)
    for _ in range(3):
        seen = attraction + rng.normal(0, 0.03, attraction.shape)
        np.put_along_axis(judged, np.argpartition(-seen, depth - 1, axis=0)[:depth], True, axis=0)
    return judged


def _text(rng: np.random.Generator, text: np.ndarray, vocabulary: np.ndarray) -> str:
    ends = rng.random(len(text)) < 1 / 15
    ends[-1] = True
    starts = np.append(True, ends[:-1])
    words = vocabulary[text]
    words[starts] = [word.capitalize() for word in words[starts]]
    return " ".join(words + np.where(ends, ".", "").astype(object))


@dataclass(frozen=True, eq=False)
class PooledRuns:
    """Runs of many systems, and judgments of a pool of their first documents.

    Attributes
    ----------
    qrels : DataFrame
        Columns ``query_id``, ``doc_id`` and ``relevance`` (0 to 2), for the documents of the pool.
    runs : dict of str to DataFrame
        Runs by name, with the columns ``query_id``, ``doc_id`` and ``score``.
    contributors : list of str
        Names of the runs whose first documents are the pool.
    pool_depth : int
        Number of documents of each topic that a contributor added to the pool.
    """

    qrels: pd.DataFrame
    runs: dict[str, pd.DataFrame]
    contributors: list[str]
    pool_depth: int


def pooled_runs(
    seed: int = 0,
    systems: int = 30,
    topics: int = 20,
    documents: int = 200,
    depth: int = 50,
    pool_depth: int = 7,
    contributing: int = 1,
) -> PooledRuns:
    """Generate runs of systems of decreasing quality, and judge the first documents of some of them.

    One document in eight is relevant, a third of these with grade 2. A system scores a document by its grade plus
    normal noise, whose standard deviation increases from the first system (0.6) to the last (2). Errors of different
    systems are independent.

    Parameters
    ----------
    seed : int, default=0
        Random seed.
    systems : int, default=30
        Number of systems.
    topics : int, default=20
        Number of topics.
    documents : int, default=200
        Number of documents of each topic.
    depth : int, default=50
        Number of documents that a system retrieves for a topic.
    pool_depth : int, default=7
        Number of documents of each topic that a contributor adds to the pool.
    contributing : int, default=1
        Every system with a number divisible by this one contributes to the pool: 1 for all, 3 for every third.

    Returns
    -------
    PooledRuns
        Judgments, runs, and the runs that contributed.

    Examples
    --------
    >>> pooled = pooled_runs(systems=4, topics=2, contributing=2)
    >>> list(pooled.runs), pooled.contributors
    (['system 00', 'system 01', 'system 02', 'system 03'], ['system 00', 'system 02'])
    """
    rng = np.random.default_rng(seed)
    grade = rng.choice(3, (topics, documents), p=[0.88, 0.08, 0.04])
    judged = np.zeros(grade.shape, bool)
    qid = "q" + np.arange(topics).astype(str).astype(object)
    docno = "d" + np.arange(documents).astype(str).astype(object)
    runs, contributors = {}, []
    for number, noise in enumerate(np.linspace(0.6, 2.0, systems)):
        score = grade + rng.normal(0, noise, grade.shape)
        best = np.argsort(-score, axis=1)[:, :depth]
        name = f"system {number:02d}"
        if number % contributing == 0:
            np.put_along_axis(judged, best[:, :pool_depth], True, axis=1)
            contributors.append(name)
        found = np.take_along_axis(score, best, axis=1)
        runs[name] = pd.DataFrame(
            {"query_id": np.repeat(qid, best.shape[1]), "doc_id": docno[best.ravel()], "score": found.ravel()}
        )
    topic, document = np.nonzero(judged)
    qrels = pd.DataFrame({"query_id": qid[topic], "doc_id": docno[document], "relevance": grade[judged]})
    return PooledRuns(qrels, runs, contributors, pool_depth)


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
    queries = rng.integers(2, 7, sessions)
    session = np.repeat(_names("s", sessions), queries)
    query = _names("q", len(session))
    easy = np.repeat(rng.beta(2, 2, sessions), queries)
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
    attracts, satisfies = (
        rng.random(code.shape) < np.array([chances[one] for one in attraction])[code]
        for chances in (attraction, satisfaction)
    )
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


_JUDGMENTS, _LENGTHS, _TOPICS = "qrels.txt", "doclens.tsv", "topics.tsv"


def paths_of(folder: AnyPath, runs: Iterable[str]) -> dict[str, Path]:
    """Return the path of each file that :func:`save` writes, by name of run or of file."""
    files = {name: Path(folder, name) for name in (_JUDGMENTS, _LENGTHS, _TOPICS)}
    return files | {run: Path(folder, "runs", f"{_stem(run)}.txt") for run in runs}


def save(made: Collection, runs: Mapping[str, pd.DataFrame], folder: AnyPath) -> None:
    """Write a collection and runs to a folder, in the formats of TREC.

    The files are ``qrels.txt``, ``doclens.tsv`` (docno and number of words), ``topics.tsv`` (topic and query), and one
    file per run in the folder ``runs``.

    Parameters
    ----------
    made : Collection
        Collection of :func:`collection`.
    runs : dict of str to DataFrame
        Runs by name, with the columns qid, docno, score and rank. The name of a file is the name of its run, in lower
        case and with ``_`` in place of blanks and punctuation.
    folder : path
        Folder, which is created if it does not exist. Existing files with these names are replaced.

    Examples
    --------
    >>> import os, tempfile
    >>> from pyterrier_cwla.demo import collection, save, systems
    >>> made = collection(documents=300, topics=5)
    >>> folder = tempfile.mkdtemp()
    >>> save(made, {"BM25": systems(made)["BM25"](made.topics)}, folder)
    >>> sorted(os.listdir(folder)), os.listdir(f"{folder}/runs")
    (['doclens.tsv', 'qrels.txt', 'runs', 'topics.tsv'], ['bm25.txt'])
    """
    paths = paths_of(folder, runs)
    os.makedirs(Path(folder, "runs"), exist_ok=True)
    tables = {
        _JUDGMENTS: made.qrels.assign(iteration=0)[["qid", "iteration", "docno", "label"]],
        _LENGTHS: made.documents[["docno", "doc_length"]],
        _TOPICS: made.topics[["qid", "query"]],
    }
    for run, rows in runs.items():
        tables[run] = rows.assign(iteration="Q0", tag=_stem(run))[["qid", "iteration", "docno", "rank", "score", "tag"]]
    for name, table in tables.items():
        with written(paths[name]) as place:
            separator = "\t" if paths[name].suffix == ".tsv" else " "
            table.to_csv(place, sep=separator, header=False, index=False)


def _stem(run: str) -> str:
    return re.sub(r"\W+", "_", run.lower())
