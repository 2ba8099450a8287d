"""Changes of the scores of runs by the judgment of one more document, for all unjudged documents that runs retrieve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from ir_measures.measures import Measure

from ...data.alignment import Judgments
from ...data.columns import Columns, run_columns
from ...data.rankings import Pool, Rankings
from ...errors import BadJudgments, BadParameter, many, naming
from ...evaluation.streaming import separate_runs
from ...files.id_columns import written
from ...files.inputs import loaded
from ...measures.of_ir_measures import metric_of, needs_of
from ...measures.provider import CWLAEvaluator, aggregate_of
from ...measures.wrappers import innermost_measures, layers, pinned
from ...model.metric import Metric
from .masked_scores import Copies, Left, Masking, Tiled, parts
from .missing_judgments import plain_judgments

Array = np.ndarray
_HITS = 1 << 20  # judged documents per chunk of scored rankings
TOPICS = ("judged", "all")


@dataclass(frozen=True, eq=False)
class Candidates:
    """Runs aligned with all documents that they retrieve, each of which is judged or not.

    Attributes
    ----------
    measure : Measure
        The measure.
    masking : Masking
        The runs, aligned with the judgments of all judged and all retrieved documents. Documents without a judgment
        have the highest grade, and are left out of every score until they are judged.
    judged : ndarray of bool, shape (judgments,)
        Whether a judgment is one of the given ones.
    top : float
        Highest grade that a judgment can have.
    """

    measure: Measure
    masking: Masking
    judged: Array
    top: float

    @classmethod
    def of(
        cls,
        qrels: Any,
        runs: Any,
        measure: Measure,
        topics: str = "judged",
        max_rel: float | None = None,
    ) -> Candidates:
        """Align runs with their documents; ``topics="all"`` includes topics without judgments."""
        if topics not in TOPICS:
            raise BadParameter(f"topics={topics!r}: give 'judged' or 'all'.")
        runs = separate_runs(runs)
        if len(runs) < 2:
            found = many(len(runs), "run")
            raise BadParameter(f"judgments are chosen to compare runs: give at least 2 by name, not {found}.")
        _check(measure)
        measure = pinned([measure])[0]
        given = plain_judgments(qrels).columns
        tables = {}
        for name, run in runs.items():
            with naming(name):
                tables[name] = run_columns(loaded(run, "run"))
        top = _highest_grade(measure, float(max(given.value.max(initial=0), 1)), max_rel)
        every, new = _with_retrieved(given, tables, top, topics)
        judgments = Judgments(every)
        if not judgments.qids:
            raise BadJudgments("the judgments are empty: give topics='all' to choose documents for all topics.")
        masking = Masking.of(judgments, tables, {str(measure): measure}, "judged")
        pool_order = np.arange(len(new))[judgments.pool_order]
        judged = ~new[pool_order]
        return cls(measure, masking, judged, top)

    @property
    def unjudged(self) -> Array:
        """Whether each document has no judgment, or one with a grade below 0."""
        return ~self.judged | (self.masking.whole.pool.grade < 0)

    def scores(self, judged: Array) -> Array:
        """Return scores [runs × topics] by some of the judgments, ``judged`` [judgments]."""
        masking = self.masking
        return masking.scores(masking.whole, judged[None])[0, 0].reshape(len(masking.runs), -1)

    def changes(self, judged: Array, grade: float, which: Array) -> Iterator[tuple[Array, Array]]:
        """Yield the changes of scores if one document gets a grade, topic by topic.

        Parameters
        ----------
        judged : ndarray of bool, shape (judgments,)
            Documents that are judged now.
        grade : float
            Grade of the document.
        which : ndarray of bool, shape (judgments,)
            Documents to choose from.

        Yields
        ------
        documents : ndarray of int, shape (n,)
            Documents of one topic, as indices of judgments.
        changes : ndarray, shape (n, runs)
            Score of the topic with the grade, minus the score without it.
        """
        scoring = _Scoring(self, judged, grade)
        query = self.masking.whole.pool.query
        now = self.scores(judged)
        order = np.flatnonzero(which)
        topics, starts = np.unique(query[order], return_index=True)
        for topic, documents in zip(topics.tolist(), np.split(order, starts[1:])):
            yield documents, scoring.of_topic(topic, documents) - now[:, topic]


class _Scoring:
    """Scores of rankings in which one more document has a grade."""

    def __init__(self, candidates: Candidates, judged: Array, grade: float) -> None:
        self.masking, self.measure, self.grade = candidates.masking, candidates.measure, grade
        whole = self.masking.whole
        assert whole.judgment is not None
        self.judged = judged
        self.base = whole.only(judged[whole.judgment])
        self.evaluator = CWLAEvaluator([self.measure], self.masking.judgments)
        self.number = np.full(len(judged), -1)  # of the documents of one topic

    def of_topic(self, topic: int, documents: Array) -> Array:
        """Return the scores of a topic [documents × runs], if each of its documents alone gets the grade."""
        whole, runs = self.masking.whole, len(self.masking.runs)
        assert whole.judgment is not None
        rankings = np.arange(runs) * self.masking.queries + topic
        hit, run, _ = whole.hits_of(rankings)
        self.number[documents] = np.arange(len(documents))
        number = self.number[whole.judgment[hit]]
        self.number[documents] = -1
        hit, run, number = (values[number >= 0] for values in (hit, run, number))
        nowhere = np.zeros(runs, np.int64)
        pool = self._pool(topic, documents)
        scores = np.tile(self._scores(rankings, nowhere, pool), (len(documents), 1))
        each = max(int((self.base.start[rankings + 1] - self.base.start[rankings]).max(initial=0)), 1)
        for some in parts(len(hit), _HITS // each):
            scores[number[some], run[some]] = self._scores(rankings[run[some]], whole.rank[hit[some]], pool)
        return scores

    def _pool(self, topic: int, documents: Array) -> Pool:
        """Return the judgments of a topic and the new one. Which document it belongs to makes no difference."""
        pool = self.masking.whole.pool
        mine = np.flatnonzero(self.judged & (pool.query == topic))
        grade = np.append(pool.grade[mine], self.grade)
        copies: Any = Copies(pool.judgments, np.append(mine, documents[0]))
        return Pool(1, np.zeros(len(grade), np.int64), grade, judgments=copies)

    def _scores(self, rankings: Array, ranks: Array, pool: Pool) -> Array:
        """Return the scores of rankings with the grade at given ranks (0: nowhere), which replaces a grade below 0."""
        base = self.base
        at, row, _ = base.hits_of(rankings)
        other = base.rank[at] != ranks[row]
        at, row = at[other], row[other]
        new = np.flatnonzero(ranks)
        row, rank = np.append(row, new), np.append(base.rank[at], ranks[new])
        grade = np.append(base.grade[at], np.full(len(new), self.grade))
        order = np.lexsort((rank, row))
        again = Rankings.of_hits(
            base.n[rankings],
            row[order],
            rank[order],
            grade[order],
            pool,
            rows=None if base.rows is None else Tiled(base.rows, rankings),
            topic=np.zeros(len(rankings), np.int64),
        )
        return next(iter(self.evaluator.values(Left(again)).values()))


def _check(measure: Measure) -> None:
    needs = needs_of(measure)
    if needs.intents:
        raise BadParameter(f"{measure}: judgments with intents are not supported here.")
    if needs.scores:
        raise BadParameter(f"{measure} depends on the order of the judgments, which is not supported here.")
    if aggregate_of(measure) == "sum":
        raise BadParameter(f"{measure} is a sum over topics: choose a measure whose mean compares runs.")
    parts = list(layers(measure))
    if any(part.NAME == "ByTopic" for part in parts):
        raise BadParameter(f"{measure}: parameters by topic are not supported here. Choose one measure for all topics.")
    for part in parts:
        metric, own = _metric(part, None), needs_of(part)
        if metric is not None and metric.norm == "ideal" and (own.lengths, own.seconds) != ("none", "none"):
            raise BadParameter(
                f"{part}: its ideal depends on the lengths or the seconds of all judged documents, which is not"
                " supported here. Choose norm='none'."
            )


def _highest_grade(measure: Measure, highest: float, given: float | None) -> float:
    """Return the given grade, ``max_rel`` of the measure if that is a parameter, or the highest of the judgments."""
    metrics = {inner: _metric(inner, highest) for inner in innermost_measures(measure)}
    limits = {inner: metric.max_rel for inner, metric in metrics.items() if metric and metric.max_rel is not None}
    limit = min(limits.values(), default=None)
    if given is None:
        own = [value for inner, value in limits.items() if "max_rel" in inner.SUPPORTED_PARAMS]
        return float(min(own)) if own else highest
    if not 0 < given < np.inf:
        raise BadParameter(f"max_rel={given!r}: give the highest grade that a document may get, above 0.")
    if limit is not None and given > limit:
        raise BadParameter(f"max_rel={given:g} is above the highest grade of {measure}, {limit:g}.")
    return float(given)


def _metric(measure: Measure, highest: float | None) -> Metric | None:
    try:
        return metric_of(measure, highest)
    except BadParameter:  # a measure without a user model
        return None


def _with_retrieved(given: Columns, runs: Mapping[str, Columns], top: float, topics: str) -> tuple[Columns, Array]:
    """Return the judgments and all other retrieved documents, with the highest grade; and which of them are new."""
    frames = [_pairs(columns) for columns in (given, *runs.values())]
    pairs = pd.concat(frames, ignore_index=True)
    judged = np.arange(len(pairs)) < len(given)
    wanted = judged | ~pairs.duplicated().to_numpy()
    if topics == "judged":
        wanted &= pairs["query"].isin(frames[0]["query"].unique()).to_numpy()
    pairs, new = pairs[wanted], ~judged[wanted]
    query, document = (pa.array(pairs[name], pa.large_string()) for name in ("query", "document"))
    grade = np.where(new, top, 0).astype(np.result_type(given.value, np.asarray(top)))
    grade[: len(given)] = given.value
    return Columns(query, document, grade), new


def _pairs(columns: Columns) -> pd.DataFrame:
    ids = {"query": columns.query_id, "document": columns.doc_id}
    return pd.DataFrame({name: written(of).to_numpy(zero_copy_only=False) for name, of in ids.items()})
