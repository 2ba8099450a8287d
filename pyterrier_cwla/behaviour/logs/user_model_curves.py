"""Survival curves of user models on the lists of a log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ...data.arrays import Array
from ...data.rankings import Pool, Rankings
from ...errors import BadLog
from ...errors.parameter_checks import check_whole
from ...evaluation.explanation import stops_of
from ...measures.of_ir_measures import metric_of
from ...measures.parsing import measures_of
from ...model.metric import Metric
from ...model.view import Documents
from ...model.view_columns import seen_part
from .log import InteractionLog, as_log, numbered_sessions


def survival_of_lists(log: Any, measures: Any, depth: int) -> pd.DataFrame:
    """Compute V(i), the share of users who inspect rank i, under each measure, averaged over the lists of a log.

    The grades are those of the log. Missing and unjudged results gain nothing, and the total gain of a topic is that of
    all its documents in the log. Measures that need lengths use the column ``words``. If the effort varies by document,
    the average is over the lists that reach `depth`, because the effort of missing results is unknown.

    Parameters
    ----------
    log : InteractionLog, or rows of a log
        Log with the lists.
    measures : sequence of Measure or str, or dict of these by label
        Measures that follow a user model.
    depth : int
        Last rank.

    Returns
    -------
    DataFrame, shape (depth, n_measures)
        One row per rank, one column per measure.

    Raises
    ------
    BadLog
        If the effort varies by document, and no list reaches `depth` or lengths are missing.

    References
    ----------
    Moffat et al. (2022), Eq. 2; Chapelle et al. (2009), Figure 1.

    Examples
    --------
    >>> rows = [dict(user="u", session="s", topic="t", rank=r, docno=f"d{r}", clicked=False, grade=g)
    ...         for r, g in [(1, 0), (2, 1), (3, 0)]]
    >>> survival_of_lists(InteractionLog.of(rows), ["RBP(rel=1)", "AdaptiveERR(max_rel=1)"], 3)
          RBP(rel=1)  AdaptiveERR(max_rel=1)
    rank
    1           1.00                     1.0
    2           0.80                     1.0
    3           0.64                     0.5
    """
    log = as_log(log)
    check_whole(1, depth=depth)
    rankings = _rankings(log)
    found = {str(measure): _survival(metric, log, rankings, depth) for measure, metric in _followed(measures)}
    return pd.DataFrame(found, index=pd.RangeIndex(1, depth + 1, name="rank"))


def _followed(measures: Any) -> Iterable[tuple[Any, Metric]]:
    for measure in measures_of(measures):
        yield measure, metric_of(measure)  # without a maximum grade, which static continuations do not need


def _rankings(log: InteractionLog) -> Rankings:
    """Return the lists of all sessions as rankings."""
    rows = log.rows
    number, _ = numbered_sessions(log)
    rank = rows["rank"].to_numpy()
    n = np.zeros(int(number.max(initial=-1)) + 1, np.int64)
    np.maximum.at(n, number, rank)
    topic, topics = pd.factorize(rows["topic"], sort=True)
    grade = log.floats("grade")
    judged = ~np.isnan(grade)
    known = rows.assign(number=topic)[judged].drop_duplicates(["number", "docno"]).sort_values("number")
    pool = Pool(
        len(topics), known["number"].to_numpy(), known["grade"].to_numpy(float) if judged.any() else np.zeros(0)
    )
    of_topic = np.zeros(len(n), np.int64)
    of_topic[number] = topic
    return Rankings.of_hits(n, number[judged], rank[judged], grade[judged], pool, topic=of_topic)


def _survival(metric: Metric, log: InteractionLog, rankings: Rankings, depth: int) -> Array:
    if metric.rank_only and metric.unit_effort and metric.end != "stop":
        rankings = Rankings.of_gains([np.zeros(1)])
    elif not metric.unit_effort:
        rankings = replace(rankings, efforts=_efforts(metric, log, rankings), views={})
    stops = stops_of(metric, seen_part(metric, rankings), depth)
    if not metric.unit_effort:
        known = rankings.n >= depth
        if not known.any():
            raise BadLog(f"no list of the log reaches rank {depth}: give a depth of {rankings.n.max()} or less.")
        stops = stops[known]
    return 1 - np.cumsum(stops[:, :depth], axis=1).mean(axis=0)


def _efforts(metric: Metric, log: InteractionLog, rankings: Rankings) -> Any:
    number, _ = numbered_sessions(log)
    rank = log.rows["rank"].to_numpy() - 1
    grade, words = np.nan_to_num(log.floats("grade")).clip(0), log.floats("words")
    lacking = int(rankings.n.sum()) - int((~np.isnan(words)).sum())
    if metric.needs_words and lacking:
        raise BadLog(
            f"{metric.effort.keyword} needs the column words for every result; {lacking:,} of"
            f" {int(rankings.n.sum()):,} results (including missing ranks) have no value."
        )

    if metric.needs_seconds:
        raise BadLog(f"{metric.effort.keyword} reads known costs of documents, which logs do not have.")

    def efforts(queries: Array, width: int) -> Array:
        grades, lengths = np.zeros((len(rankings), width)), np.zeros((len(rankings), width))
        inside = rank < width
        grades[number[inside], rank[inside]] = grade[inside]
        lengths[number[inside], rank[inside]] = words[inside]
        documents = Documents(grades[queries], lambda: lengths[queries], rank=np.arange(1.0, width + 1)[None, :])
        return np.broadcast_to(np.asarray(metric.effort(documents), float), (len(queries), width))

    return efforts
