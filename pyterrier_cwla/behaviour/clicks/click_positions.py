"""Position-based click model, click metrics of online tests, and plots of click models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...data.columns import Array
from ...errors import BadLog, BadParameter, check_whole, many, some
from ...errors.sanitise import in_picture
from ...rendering.figures import GAIN, GREY, SCORE, STAY, axes_of, label_ends, name_columns, saved, titled
from ...rendering.tables import Printed, Table
from ..logs.estimators import Bootstrap, LogResult
from ..logs.log import SESSION, InteractionLog, as_log, left_out
from ..logs.observed_browsing import draw_dots, draw_ranks, survival_of_lists
from .click_models import MOST_STEPS, em

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

_TOLERANCE = 1e-8
_BORDER = 1e-6
_BELOW_ONE = 1 - 1e-9
_NEAR_ONE = 1e-4  # EM approaches an estimate of 1 only to this distance
_FLAT = 1e10  # condition number above which the information matrix counts as singular
_FEW = 30  # views of a document
_SHOWN = 10  # printed configurations


@dataclass(frozen=True, eq=False, repr=False)
class PositionModel(LogResult):
    """Position-based click model, P(click on u at p) = a_u·b_p.

    Attributes
    ----------
    table : DataFrame
        One row per rank, with the columns rank, views, clicks, b (examination probability relative to rank 1), low and
        high (ends of its interval). b is NaN if it is not identified.
    attraction : DataFrame
        One row per item, with its columns (by default topic and docno), a (probability of a click at rank 1), views and
        clicks.
    log_likelihood : ndarray, shape (n_steps,)
        Log-likelihood after each EM step; it never decreases.
    converged : bool
        Whether EM converged.
    sessions : int
        Number of sessions.
    users : int
        Number of users.
    notes : tuple of str
        Remarks about the log and the estimates.
    log : InteractionLog
        The log.
    """

    table: pd.DataFrame
    attraction: pd.DataFrame
    log_likelihood: Array
    converged: bool

    @property
    def title(self) -> str:
        """Title of the printed table."""
        return f"Position model of {self.sizes}"

    def beside(self, measures: Any, depth: int | None = None) -> pd.DataFrame:
        """Return b_p and the share V(p) of users who inspect rank p under each measure.

        V of a measure that depends on gains or efforts is the mean over the lists of the log.

        Parameters
        ----------
        measures : sequence of Measure or str, or dict of these by label
            Measures that follow a user model.
        depth : int, optional
            Last rank; by default that of the model.

        Returns
        -------
        DataFrame, shape (depth, 3 + n_measures)
            One row per rank, with the columns b, low, high and one per measure.

        Raises
        ------
        BadLog
            If a measure needs lengths or ranks that the log does not have.
        """
        depth = depth or int(self.table["rank"].max())
        beside = self.table.set_index("rank")[["b", "low", "high"]].reindex(range(1, depth + 1))
        return beside.join(survival_of_lists(self.log, measures, depth))


def position_model(
    log: Any,
    depth: int | None = None,
    of: Sequence[str] = ("topic", "docno"),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> PositionModel:
    """Estimate the probability b_p that rank p is examined, from clicks on the same documents at different ranks.

    P(click on u at p) = a_u·b_p: users who examine a result click it with probability a_u, at any rank. The estimate is
    maximum likelihood by EM over all rows of the log (one per result *shown*). Missing ranks of a list do not bias it.

    Only the product is identified, so b_1 = 1, and other b_p can exceed 1. b_p is identified only if a chain of clicked
    documents, each shown at two of the ranks, connects rank p with rank 1. Otherwise b_p is NaN, and a note names the
    rank. Documents without clicks do not contribute and have a = 0.

    Intervals come from the bootstrap over users of the first Newton step from the estimate, with all a_u refitted. With
    few views per document, they are too narrow (with ten views, half of the 95 % intervals miss the true value); a note
    reports this.

    Parameters
    ----------
    log : InteractionLog, or rows of a log
        Log to estimate from.
    depth : int, optional
        Last rank to use; by default all.
    of : sequence of str, default=("topic", "docno")
        Columns that identify the items with a separate attraction. With ``("grade",)``, all results of a grade have the
        same attraction, so no document has to appear at two ranks.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    resamples : int, default=1000
        Number of bootstrap resamples of users.
    seed : int, default=0
        Seed of the resamples.

    Returns
    -------
    PositionModel

    Raises
    ------
    BadLog
        If the log has no clicks, or no rank except the first is identified.

    References
    ----------
    Craswell et al. (2008), examination model; Chapelle et al. (2009), section 3 and Figure 1.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng, b = np.random.default_rng(0), [1, 0.6, 0.3]
    >>> rows = [(f"u{s % 40}", f"s{s}", "t", p + 1, f"d{d}", bool(rng.random() < (0.3, 0.5, 0.9)[d] * b[p]))
    ...         for s in range(1000) for p, d in enumerate(rng.permutation(3))]
    >>> names = ["user", "session", "topic", "rank", "docno", "clicked"]
    >>> model = position_model(InteractionLog.of(pd.DataFrame(rows, columns=names)))
    >>> model.table.round(2)
       rank  views  clicks     b   low  high
    0     1   1000     582  1.00  1.00  1.00
    1     2   1000     328  0.60  0.55  0.64
    2     3   1000     173  0.29  0.26  0.33
    """
    log = as_log(log)
    rows = log.rows if depth is None else log.rows[log.rows["rank"] <= depth]
    if not rows["clicked"].any():
        raise BadLog("the log has no clicks" + (f" down to rank {depth}." if depth else "."))
    of = list(of)
    _check(rows, of)
    number = rows.groupby(of).ngroup().to_numpy()
    user, rank, clicked = (rows[name].to_numpy() for name in ("user", "rank", "clicked"))
    grid = _Views(user, number, rank, clicked, int(number.max()) + 1)
    identified = _identified_ranks(grid, of)
    fitted = grid.only(identified)
    a, b, steps, converged = fitted.fit()
    low, high = fitted.intervals(a, b, Bootstrap(confidence, resamples, seed))
    table = pd.DataFrame({"rank": grid.ranks, **_counts(grid, grid.rank)})
    for name, values in (("b", b / b[0]), ("low", low), ("high", high)):
        table[name] = np.nan
        table.loc[identified, name] = values
    a_at_1 = np.where(a > 1 - 1e-8, 1.0, a) * b[0]
    a_at_1[~fitted.clicked_items] = 0.0
    a_at_1[np.bincount(fitted.item, minlength=grid.items) == 0] = np.nan
    attraction = rows[of].drop_duplicates().sort_values(of, ignore_index=True)
    attraction = attraction.assign(a=a_at_1, **_counts(grid, grid.item))
    notes = (*log.notes, *_notes(grid, fitted, identified, converged, low))
    shown = rows.groupby(["user", "session"]).ngroups
    return PositionModel(shown, rows["user"].nunique(), notes, log, table, attraction, steps, converged)


def _check(rows: pd.DataFrame, of: list[str]) -> None:
    unknown = [name for name in of if name not in rows]
    if unknown:
        raise BadLog(f"of={of!r}: the log has no column {unknown[0]!r}.")
    lacking = rows[of].isna().any(axis=1)
    if lacking.any():
        raise BadLog(
            f"of={of!r}: {int(lacking.sum()):,} rows lack one of these; leave them out, as with"
            f" log.only(log.rows[{of[0]!r}].notna())."
        )


def _identified_ranks(grid: _Views, of: list[str]) -> Array:
    """Return a mask of the ranks that are identified relative to rank 1; raise `BadLog` if there are none."""
    identified, ranks = grid.connected_ranks(), grid.ranks
    if len(ranks) == 1:
        raise BadLog("all results are at one rank; the model needs several.")
    if ranks[identified].tolist() == [1] or not identified.any():
        raise BadLog(
            f"no clicked document was at rank 1 and, in another list, at a different rank, so"
            f" attraction and position cannot be separated ({', '.join(of)} at {len(ranks)} ranks)."
            + ("" if of == ["grade"] else " With of=('grade',), all results of a grade have the same attraction.")
        )
    if not grid.clicks[grid.rank == 0].any():
        raise BadLog("no result was clicked at rank 1, the reference for the other ranks.")
    return identified


def _counts(grid: _Views, of: Array) -> dict[str, Array]:
    """Return the views and clicks of each rank, or of each item."""
    return {name: np.bincount(of, n).astype(int) for name, n in (("views", grid.views), ("clicks", grid.clicks))}


def _notes(grid: _Views, fitted: _Views, identified: Array, converged: bool, low: Array) -> list[str]:
    """Return notes about unidentified and uncertain estimates."""
    notes = []
    if not identified.all():
        notes.append(
            f"ranks {some(grid.ranks[~identified].tolist())}: no chain of clicked documents connects them with rank 1;"
            " b is not identified"
        )
    if not converged:
        notes.append(f"EM did not converge in {MOST_STEPS:,} steps")
    unsure = fitted.ranks[np.isnan(low)]
    if len(unsure):
        notes.append(
            f"ranks {some(unsure.tolist())}: b is at the bound of its range, or the log does not identify"
            " it: no interval"
        )
    clicked = fitted.clicked_items
    each = float(fitted.views[clicked[fitted.item]].sum() / clicked.sum())
    if each < _FEW:
        notes.append(
            f"{each:.0f} views per clicked document are few for separate attractions: b is biased towards 1, and its"
            " intervals are too narrow; with of=('grade',), all results of a grade have the same attraction"
        )
    return notes


class _Views:
    """Views of items at ranks, and the numbers of views and clicks of each item at each rank where it was shown.

    Parameters
    ----------
    user, number, position, clicked : ndarray, shape (n_views,)
        User, number of the item, rank, and whether it was clicked.
    items : int
        Number of items.
    """

    def __init__(self, user: Array, number: Array, position: Array, clicked: Array, items: int) -> None:
        self.of_views, self.items = (user, number, position, clicked), items
        cells, self.cell = np.unique(np.column_stack([number, position]), axis=0, return_inverse=True)
        self.item = cells[:, 0]
        self.ranks, self.rank = np.unique(cells[:, 1], return_inverse=True)
        self.views, self.clicks = np.bincount(self.cell), np.bincount(self.cell, clicked)
        self.clicked_items = np.bincount(self.item, self.clicks, items) > 0

    def connected_ranks(self) -> Array:
        """Return a mask of the ranks that clicked items connect with rank 1."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        some_clicks = self.clicked_items[self.item]
        size = self.items + len(self.ranks)
        ends = self.item[some_clicks], self.items + self.rank[some_clicks]
        links = coo_array((np.ones(len(ends[0])), ends), shape=(size, size))
        part = connected_components(links, directed=False)[1][self.items :]
        return (part == part[0]) if self.ranks[0] == 1 else np.zeros(len(self.ranks), bool)

    def only(self, identified: Array) -> _Views:
        """Return the views at the selected ranks."""
        keep = identified[self.rank][self.cell]
        user, number, position, clicked = (values[keep] for values in self.of_views)
        return _Views(user, number, position, clicked, self.items)

    def fit(self) -> tuple[Array, Array, Array, bool]:
        """Fit a and b, both probabilities, by EM; return them, the log-likelihoods, and whether EM converged."""
        from scipy.special import xlog1py, xlogy

        item, rank, n, c = self.item, self.rank, self.views, self.clicks

        def by_parameter(of_items: Array, of_ranks: Array) -> Array:
            return np.append(np.bincount(item, of_items, self.items), np.bincount(rank, of_ranks))

        def expected(theta: Array) -> tuple[Array, Array, float]:
            a, b = theta[item], theta[self.items + rank]
            p = a * b
            silent = (n - c) / np.maximum(1 - p, 1e-300)
            log_likelihood = float((xlogy(c, p) + xlog1py(n - c, -p)).sum())
            return by_parameter(c + silent * (a - p), c + silent * (b - p)), views, log_likelihood

        def maximised(_: Array, on: Array, of: Array) -> Array:
            # Stay below 1: EM cannot leave 1, even if the likelihood is higher elsewhere.
            return np.minimum(np.divide(on, of, out=np.zeros(len(on)), where=of > 0), _BELOW_ONE)

        views = by_parameter(n, n)
        start = np.divide(by_parameter(c, c), views, out=np.zeros(len(views)), where=views > 0) ** 0.5
        start[self.items :] = 0.5
        theta, steps, converged = em(expected, start, maximised, _TOLERANCE)
        return theta[: self.items], theta[self.items :], steps, converged

    def intervals(self, a: Array, b: Array, bootstrap: Bootstrap) -> tuple[Array, Array]:
        """Compute the ends of the intervals of b/b_1.

        With η = ln a + ln b, a cell has the score (c − n·p)/(1 − p) and the information n·p/(1 − p). The profile score
        of ln b (with each ln a refitted) is summed over each user and multiplied by the inverse of the profile
        information of ln b.
        """
        from scipy.sparse import csr_array

        p = a[self.item] * b[self.rank]
        free_a = (a > 0) & (a < 1 - _NEAR_ONE)
        free_b = (b > _BORDER) & (b < 1 - _NEAR_ONE)
        if free_b.all() and free_a[a > 0].all():
            free_b[0] = False  # fixes the scale
        weight = self.views * p / np.maximum(1 - p, 1e-12)
        between = csr_array((weight, (self.rank, self.item)), shape=(len(b), self.items))
        own = np.asarray(between.sum(axis=0))
        follow = csr_array(between * np.divide(1.0, own, out=np.zeros(self.items), where=free_a & (own > 0)))
        whole = np.diag(np.asarray(between.sum(axis=1))) - (follow @ between.T).toarray()
        at = np.flatnonzero(free_b)
        information = whole[np.ix_(at, at)]
        if not len(at) or np.linalg.cond(information) > _FLAT:
            return np.full(len(b), np.nan), np.full(len(b), np.nan)
        inverse = np.linalg.pinv(information)
        ids, _, _, clicked = self.of_views
        user, names = pd.factorize(ids)
        score = (clicked - p[self.cell]) / np.maximum(1 - p[self.cell], 1e-12)
        of_rank = csr_array((score, (user, self.rank[self.cell])), shape=(len(names), len(b))).toarray()
        of_item = csr_array((score, (user, self.item[self.cell])), shape=(len(names), self.items))
        scores = of_rank - (of_item @ follow.T).toarray()

        def moved(totals: Array) -> Array:
            change = np.zeros((len(b), totals.shape[1]))
            change[at] = totals
            return ((b / b[0])[:, None] * np.exp(change - change[0]))[1:]

        low, high = bootstrap.intervals(inverse @ scores[:, at].T, moved)
        ends = np.append(1.0, low), np.append(1.0, high)
        for end in ends:
            end[1:][((b <= _BORDER) | (b >= 1 - _NEAR_ONE))[1:]] = np.nan
        return ends


@dataclass(frozen=True, eq=False, repr=False)
class ClickMetrics(Printed):
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

    @property
    def title(self) -> str:
        """Numbers of configurations, topics and sessions, as text."""
        topics = self.configurations["topic"].nunique()
        return (
            f"Click metrics of {many(len(self.configurations), 'configuration')} (top {self.depth}) of"
            f" {many(topics, 'topic')} in {many(len(self.sessions), 'session')}."
        )

    @property
    def remarks(self) -> list[str]:
        """The number of excluded sessions and the reasons, as text."""
        return left_out(self.excluded)

    def shown(self) -> Table:
        """Return the printed table for people: the first configurations."""
        return Table.from_frame(self.configurations.reset_index(), _SHOWN, ".configurations")


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
    depth = int(depth)
    graded = log.has("grade")
    if not graded and (judged_only or good is not None):
        wanted = "good needs grades" if good is not None else "judged_only=False includes sessions without grades"
        raise BadLog(f"the log has no column 'grade'; {wanted}.")
    rows, excluded = _whole(log.rows, depth, judged_only)
    sessions = rows.iloc[::depth][[*SESSION, "topic"]].reset_index(drop=True)
    documents = pd.factorize(rows["docno"])[0].reshape(-1, depth)
    lists = _named(sessions["topic"], documents)
    clicked = rows["clicked"].to_numpy().reshape(-1, depth)
    grades = rows["grade"].to_numpy().reshape(-1, depth) if graded else None
    values = _metrics(clicked, grades, good)
    per_session = sessions[SESSION].assign(configuration=lists, **values)
    means = per_session.groupby("configuration", sort=False)[list(values)].mean()
    first = (~lists.duplicated()).to_numpy()
    about = sessions.loc[first, ["topic"]].set_index(pd.Index(lists[first], name="configuration"))
    about["n"] = lists.value_counts().reindex(about.index)
    configurations = about.join(means).sort_values(["topic", "n"], ascending=[True, False], kind="stable")
    of_first = rows[np.repeat(first, depth)]
    run = pd.DataFrame(
        {
            "query_id": np.repeat(lists[first].to_numpy(), depth),
            "doc_id": of_first["docno"].to_numpy(),
            "score": -of_first["rank"].to_numpy(float),
            **({"doc_length": of_first["words"].to_numpy()} if log.has("words") else {}),
        }
    )
    return ClickMetrics(depth, per_session, configurations, run, _qrels(log, configurations), excluded)


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
    if not np.isfinite(columns).all():
        raise BadParameter("x, y and n must be finite: leave out the configurations without a value.")
    weight = columns[2]
    if (weight < 0).any() or not weight.sum() > 0:
        raise BadParameter("n must not be negative and not all 0.")
    a, b, weight = np.compress(weight > 0, columns, axis=1)
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


def plot_positions(
    model: Any, measures: Any = (), depth: int = 10, ax: Any = None, path: AnyPath | None = None
) -> Axes:
    """Plot the examination probability of each rank, of a click model and of measures.

    Dots show b_p with its interval; lines show V of `measures` over the lists of the log.

    Parameters
    ----------
    model : PositionModel
        Model of :func:`position_model`.
    measures : sequence of Measure or str, or dict of these by label, default=()
        Measures that follow a user model, at most eight.
    depth : int, default=10
        Last rank.
    ax : matplotlib Axes, optional
        Axes to draw on; by default new ones.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    Chapelle et al. (2009), Figure 1.
    """
    table = model.beside(measures, depth)
    ax = axes_of(ax)
    draw_ranks(ax, table, "b", table.drop(columns=["b", "low", "high"]), measures, table["b"], "clicks")
    highest = max(1.0, float(np.nanmax(table["high"].fillna(table["b"]))))
    ax.set(ylim=(0, 1.08 * highest), ylabel="share who examine the rank")
    what = "How many users examine each rank, relative to rank 1 (b of the log, V of measures)"
    return saved(titled(ax, f"{what} · {model.sizes}"), path)


def plot_relevance(model: Any, ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot attraction a, satisfaction s and relevance R(g) = a·s of each grade.

    Bars show R(g) with its interval, circles a (click if examined), triangles s (satisfied if clicked).

    Parameters
    ----------
    model : ClickModel
        Model of :func:`dbn_from_clicks` or :func:`cascade_from_clicks`.
    ax : matplotlib Axes, optional
        Axes to draw on; by default new ones.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    table = model.table
    ax = axes_of(ax)
    x = np.arange(len(table))
    ax.bar(x, table["R"], width=0.5, color=GAIN)
    names = {"a": "a: clicked if examined", "s": "s: satisfied if clicked", "R": "R = a·s"}
    looks = {"a": (-0.12, STAY, "o"), "s": (0.12, SCORE, "^"), "R": (0.0, GREY, "")}
    for name, (shift, colour, mark) in looks.items():
        draw_dots(ax, x + shift, table[name], table[f"{name} low"], table[f"{name} high"], colour, mark)
    name_columns(ax, x, [str(grade) for grade in table["grade"]])
    ax.set(xlim=(-0.6, len(table) - 0.6), ylim=(0, 1.05), xlabel="grade", ylabel="probability")
    going_on = f"{in_picture(model.gamma)} of users go on if not satisfied (γ)"
    titled(ax, f"How results of each grade attract and satisfy users · {going_on} · {model.sizes}")
    ends = {text: ([x[-1] + 0.25], [table[name].iloc[-1]]) for name, text in names.items()}
    label_ends(ax, ends, {text: {"color": looks[name][1]} for name, text in names.items()})
    return saved(ax, path)
