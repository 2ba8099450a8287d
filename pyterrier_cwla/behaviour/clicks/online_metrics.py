"""Click metrics of result lists (QCTR, UCTR, reciprocal ranks, search success), to compare with offline measures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...data.arrays import Array
from ...errors import BadLog, BadParameter, many
from ...errors.parameter_checks import check_whole
from ...errors.sanitise import sanitised
from ..logs.log import InteractionLog, as_log
from ..logs.validation import SESSION


@dataclass(frozen=True, eq=False, repr=False)
class ClickMetrics:
    """Click metrics of a log, by session and by configuration (a query with an ordered list of results).

    Attributes
    ----------
    depth : int
        Number of results per list.
    sessions : DataFrame
        One row per session: user, session, configuration and the metrics.
    configurations : DataFrame
        One row per configuration: topic, n (number of sessions) and the means of the metrics. The configurations of a
        query are in the order of decreasing frequency.
    run, qrels : DataFrame
        Lists and grades for :func:`evaluate`, with the configurations as queries. The grades are all those of the topic
        in the log, so an ideal ranking contains only these.
    excluded : dict of str to int
        Number of excluded sessions by reason.
    """

    depth: int
    sessions: pd.DataFrame
    configurations: pd.DataFrame
    run: pd.DataFrame
    qrels: pd.DataFrame
    excluded: dict[str, int] = field(default_factory=dict)

    @sanitised
    def __repr__(self) -> str:
        topics = self.configurations["topic"].nunique()
        lines = [
            f"Click metrics of {many(len(self.configurations), 'configuration')} (top {self.depth}) of"
            f" {many(topics, 'topic')} in {many(len(self.sessions), 'session')}."
        ]
        if self.excluded:
            why = "; ".join(f"{reason}: {n:,}" for reason, n in self.excluded.items())
            lines.append(f"Left out: {many(sum(self.excluded.values()), 'session')} ({why}).")
        return "\n".join([*lines, self.configurations.to_string(max_rows=10)])


def click_metrics(log: Any, depth: int = 10, good: float | None = None, judged_only: bool = True) -> ClickMetrics:
    """Compute click metrics of the first results of each session, and their means over equal lists.

    ``QCTR`` is the number of clicks, and ``UCTR`` is 1 if there is a click. ``MaxRR``, ``MeanRR`` and ``MinRR`` are the
    maximum, mean and minimum of 1/rank over the clicked ranks. ``PLC``, precision at the lowest click, is the number of
    clicks divided by the deepest clicked rank. All are 0 without a click. ``SS``, search success, is 1 if a result with
    at least the grade `good` was clicked.

    Parameters
    ----------
    log : InteractionLog, or rows of a log
        Log with a row for each result shown.
    depth : int, default=10
        Number of results; clicks below do not count. Sessions without all of these results are excluded.
    good : float, optional
        Lowest grade of a successful click; by default ``SS`` is not computed.
    judged_only : bool, default=True
        Whether to exclude sessions with unjudged results.

    Returns
    -------
    ClickMetrics

    Raises
    ------
    BadLog
        If grades are needed and missing, or no session is left.
    BadParameter
        If `depth` is not a positive integer.

    References
    ----------
    Chapelle et al. (2009), section 6.1.

    Examples
    --------
    >>> rows = [dict(user=user, session="1", topic="q", rank=rank, docno=docno, clicked=docno in clicked, grade=grade)
    ...         for user, clicked in [("ann", "a"), ("bob", "bc"), ("cyd", "")]
    ...         for rank, docno, grade in [(1, "a", 2), (2, "b", 0), (3, "c", 1)]]
    >>> found = click_metrics(InteractionLog.of(rows), depth=3, good=2)
    >>> found.sessions.drop(columns=["session", "configuration"]).round(3)
      user  QCTR  UCTR  MaxRR  MeanRR  MinRR    PLC   SS
    0  ann   1.0   1.0    1.0   1.000  1.000  1.000  1.0
    1  bob   2.0   1.0    0.5   0.417  0.333  0.667  0.0
    2  cyd   0.0   0.0    0.0   0.000  0.000  0.000  0.0
    >>> from pyterrier_cwla import evaluate
    >>> evaluate(found.qrels, found.run, ["ERR@3", "nDCG@3"], by_query=True).round(3)
                  ERR@3  nDCG@3
    run query_id
    run q/1       0.204    0.95
    """
    log = as_log(log)
    check_whole(1, depth=depth)
    graded = log.has("grade")
    if not graded and (judged_only or good is not None):
        wanted = "good needs grades" if good is not None else "judged_only=False includes sessions without grades"
        raise BadLog(f"the log has no column 'grade'; {wanted}.")
    rows, excluded = _whole(log.rows, int(depth), judged_only)
    sessions = rows.iloc[:: int(depth)][[*SESSION, "topic"]].reset_index(drop=True)
    documents = pd.factorize(rows["docno"])[0].reshape(-1, int(depth))
    lists = _named(sessions["topic"], documents)
    clicked = rows["clicked"].to_numpy().reshape(-1, int(depth))
    grades = rows["grade"].to_numpy().reshape(-1, int(depth)) if graded else None
    values = _metrics(clicked, grades, good)
    per_session = sessions[SESSION].assign(configuration=lists, **values)
    means = per_session.groupby("configuration", sort=False)[list(values)].mean()
    first = (~lists.duplicated()).to_numpy()
    about = pd.DataFrame(
        {"topic": sessions["topic"][first].to_numpy()}, index=pd.Index(lists[first], name="configuration")
    )
    about["n"] = lists.value_counts().reindex(about.index)
    configurations = about.join(means).sort_values(["topic", "n"], ascending=[True, False], kind="stable")
    of_first = rows[np.repeat(first, int(depth))]
    run = pd.DataFrame(
        {
            "query_id": np.repeat(lists[first].to_numpy(), int(depth)),
            "doc_id": of_first["docno"].to_numpy(),
            "score": -of_first["rank"].to_numpy(float),
            **({"doc_length": of_first["words"].to_numpy()} if log.has("words") else {}),
        }
    )
    return ClickMetrics(int(depth), per_session, configurations, run, _qrels(log, configurations), excluded)


def weighted_correlation(x: Any, y: Any, n: Any) -> float:
    """Compute the weighted Pearson correlation of two columns.

    C = Σ nᵢ(xᵢ−m_x)(yᵢ−m_y) / √(Σ nᵢ(xᵢ−m_x)² · Σ nᵢ(yᵢ−m_y)²), with m_x = Σ nᵢxᵢ / Σ nᵢ.

    Parameters
    ----------
    x, y : array_like, shape (n_pairs,)
        Finite values.
    n : array_like, shape (n_pairs,)
        Weights, such as numbers of sessions; they need not be integers.

    Returns
    -------
    float
        Correlation in [−1, 1]; NaN if a column is constant.

    Raises
    ------
    BadParameter
        If the lengths differ, Series have different indices, values are not finite, or weights are negative or all 0.

    References
    ----------
    Chapelle et al. (2009), section 6.1.

    Examples
    --------
    >>> round(weighted_correlation([1, 2, 3], [1, 3, 2], [4, 1, 1]), 4)
    0.7143
    """
    indices = [values.index for values in (x, y, n) if isinstance(values, pd.Series)]
    if any(len(index) == len(indices[0]) and not index.equals(indices[0]) for index in indices):
        raise BadParameter("x, y and n have different indices: give them the same index, as with y.reindex(x.index).")
    columns = [np.asarray(values, float) for values in (x, y, n)]
    if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1:
        raise BadParameter(
            f"x, y and n must be columns of equal length, not {', '.join(str(c.shape) for c in columns)}."
        )
    if not all(np.isfinite(column).all() for column in columns):
        raise BadParameter("x, y and n must be finite: leave out the configurations without a value.")
    if (columns[2] < 0).any() or not columns[2].sum() > 0:
        raise BadParameter("n must not be negative and not all 0.")
    kept = columns[2] > 0
    a, b, weight = (column[kept] for column in columns)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    a, b = a - np.average(a, weights=weight), b - np.average(b, weights=weight)
    a, b = a / np.abs(a).max(), b / np.abs(b).max()  # avoids overflow and underflow of the squares
    return float((weight * a * b).sum() / np.sqrt((weight * a * a).sum() * (weight * b * b).sum()))


def _whole(rows: pd.DataFrame, depth: int, judged_only: bool) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the rows of sessions with all of the first `depth` results, and the excluded sessions by reason."""
    number = rows.groupby(SESSION, sort=False).ngroup()
    top = rows["rank"] <= depth
    whole = top.groupby(number).sum() == depth
    judged = rows["grade"].notna().where(top, True).groupby(number).all() if judged_only else whole
    reasons = {
        f"not all of the top {depth} in the log": int((~whole).sum()),
        f"not all of the top {depth} judged": int((whole & ~judged).sum()),
    }
    excluded = {reason: sessions for reason, sessions in reasons.items() if sessions}
    rows = rows[top & number.map(whole & judged)]
    if rows.empty:
        why = "; ".join(f"{sessions:,} have {reason}" for reason, sessions in excluded.items())
        way_out = " or judged_only=False" if judged_only and (whole & ~judged).any() else ""
        raise BadLog(f"no session is left ({why}): use a smaller depth{way_out}.")
    return rows, excluded


def _named(topics: pd.Series, documents: Array) -> pd.Series:
    """Return a name for the list of each session: the topic and a number, 1 for its most frequent list."""
    topic, names = pd.factorize(topics)
    keys = np.column_stack([topic, documents])
    lists, first, codes, sizes = np.unique(keys, axis=0, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -sizes, lists[:, 0]))
    number = np.empty(len(lists), int)
    number[order] = pd.Series(lists[order, 0]).groupby(lists[order, 0]).cumcount() + 1
    text = [f"{names[of]}/{i}" for of, i in zip(lists[:, 0], number)]
    return pd.Series(np.array(text, object)[codes.ravel()], name="configuration").astype(str)


def _metrics(clicked: Array, grades: Array | None, good: float | None) -> dict[str, Array]:
    """Compute the metrics of each session from arrays [sessions × ranks]."""
    ranks = np.arange(1, clicked.shape[1] + 1)
    clicks = clicked.sum(axis=1)
    some = clicks > 0
    reciprocal = np.where(clicked, 1.0 / ranks, 0.0)
    deepest = (clicked * ranks).max(axis=1)
    least = np.maximum(deepest, 1)
    values = {
        "QCTR": clicks.astype(float),
        "UCTR": some.astype(float),
        "MaxRR": reciprocal.max(axis=1),
        "MeanRR": reciprocal.sum(axis=1) / np.maximum(clicks, 1),
        "MinRR": some / least,
        "PLC": clicks / least,
    }
    if good is not None and grades is not None:
        values["SS"] = (clicked & (grades >= good)).any(axis=1).astype(float)
    return values


def _qrels(log: InteractionLog, configurations: pd.DataFrame) -> pd.DataFrame:
    """Return all grades that the log has for the topic of each configuration."""
    names = ["query_id", "doc_id", "relevance"]
    if not log.has("grade"):
        return pd.DataFrame(columns=names)
    grades = log.rows.loc[log.rows["grade"].notna(), ["topic", "docno", "grade"]].drop_duplicates(["topic", "docno"])
    if (grades["grade"] % 1 == 0).all():
        grades["grade"] = grades["grade"].astype(np.int64)
    of = configurations["topic"].reset_index().merge(grades, on="topic")
    return of.drop(columns="topic").set_axis(names, axis=1)
