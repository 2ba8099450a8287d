"""Generated runs of many systems with judgments of a pool, for studies of measures."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


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
    qid = np.array([f"q{topic}" for topic in range(topics)], dtype=object)
    docno = np.array([f"d{number}" for number in range(documents)], dtype=object)
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
