"""Position-based click model: the probability that each rank is examined, estimated by expectation maximisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...data.arrays import Array
from ...errors import BadLog, many, some
from ..logs.estimate import over_users, printed
from ..logs.log import InteractionLog, as_log
from ..logs.user_model_curves import survival_of_lists

_TOLERANCE, _MOST_STEPS = 1e-8, 20_000
_BORDER = 1e-6
_BELOW_ONE = 1 - 1e-9
_NEAR_ONE = 1e-4  # EM approaches an estimate of 1 only to this distance
_FLAT = 1e10  # condition number above which the information matrix counts as singular
_FEW = 30  # views of a document


@dataclass(frozen=True, eq=False)
class PositionModel:
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
    sessions: int
    users: int
    notes: tuple[str, ...]
    log: InteractionLog = field(repr=False)

    def __repr__(self) -> str:
        return printed(
            f"Position model of {many(self.sessions, 'session')} of {many(self.users, 'user')}", self.table, self.notes
        )

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
    number = rows.groupby(of, sort=True).ngroup().to_numpy()
    cells, cell = np.unique(np.column_stack([number, rows["rank"].to_numpy()]), axis=0, return_inverse=True)
    clicked = rows["clicked"].to_numpy(bool)
    grid = _Grid.of(cells, np.bincount(cell), np.bincount(cell, clicked))
    identified = _identified_ranks(grid, of)
    fitted = grid.only(identified)
    a, b, steps, converged = fitted.fit()
    low, high = fitted.intervals(a, b, rows, cell, clicked, (confidence, resamples, seed))
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
    return PositionModel(table, attraction, steps, converged, shown, rows["user"].nunique(), notes, log)


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


def _identified_ranks(grid: _Grid, of: list[str]) -> Array:
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


def _counts(grid: _Grid, of: Array) -> dict[str, Array]:
    """Return the views and clicks of each rank, or of each item."""
    return {name: np.bincount(of, n).astype(int) for name, n in (("views", grid.views), ("clicks", grid.clicks))}


def _notes(grid: _Grid, fitted: _Grid, identified: Array, converged: bool, low: Array) -> list[str]:
    """Return notes about unidentified and uncertain estimates."""
    notes = []
    if not identified.all():
        notes.append(
            f"ranks {some(grid.ranks[~identified].tolist())}: no chain of clicked documents connects them with rank 1;"
            " b is not identified"
        )
    if not converged:
        notes.append(f"EM did not converge in {_MOST_STEPS:,} steps")
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


@dataclass(frozen=True)
class _Grid:
    """Views and clicks of each item at each rank where it was shown."""

    item: Array
    rank: Array
    """Index into `ranks`."""
    views: Array
    clicks: Array
    ranks: Array
    cell: Array
    """Number of the cell in the whole log."""
    items: int

    @classmethod
    def of(cls, cells: Array, views: Array, clicks: Array) -> _Grid:
        ranks, rank = np.unique(cells[:, 1], return_inverse=True)
        return cls(cells[:, 0], rank, views, clicks, ranks, np.arange(len(cells)), int(cells[:, 0].max()) + 1)

    @property
    def clicked_items(self) -> Array:
        """Mask of the items with at least one click."""
        return np.bincount(self.item, self.clicks, self.items) > 0

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

    def only(self, identified: Array) -> _Grid:
        """Return the cells of the selected ranks."""
        keep = identified[self.rank]
        number = np.cumsum(identified) - 1
        parts = self.item[keep], number[self.rank[keep]], self.views[keep], self.clicks[keep]
        return _Grid(*parts, self.ranks[identified], self.cell[keep], self.items)

    def fit(self) -> tuple[Array, Array, Array, bool]:
        """Fit a and b, both probabilities, by EM; return them, the log-likelihoods, and whether EM converged."""
        item, rank, n, c = self.item, self.rank, self.views, self.clicks
        seen, shown = np.bincount(item, n, self.items), np.bincount(rank, n)
        a = np.divide(np.bincount(item, c, self.items), seen, out=np.zeros(self.items), where=seen > 0) ** 0.5
        b = np.full(len(self.ranks), 0.5)
        steps: list[float] = []
        from scipy.special import xlog1py, xlogy

        for _ in range(_MOST_STEPS):
            p = a[item] * b[rank]
            steps.append(float((xlogy(c, p) + xlog1py(n - c, -p)).sum()))
            silent = (n - c) / np.maximum(1 - p, 1e-300)
            attracted = np.bincount(item, c + silent * (a[item] - p), self.items)
            examined = np.bincount(rank, c + silent * (b[rank] - p))
            # Stay below 1: EM cannot leave 1, even if the likelihood is higher elsewhere.
            new_b = np.minimum(examined / shown, _BELOW_ONE)
            new_a = np.divide(attracted, seen, out=np.zeros(self.items), where=seen > 0)
            new_a = np.minimum(new_a, _BELOW_ONE)
            moved = max(np.abs(new_b - b).max(), np.abs(new_a - a).max())
            a, b = new_a, new_b
            if moved < _TOLERANCE:
                return a, b, np.array(steps), True
        return a, b, np.array(steps), False

    def intervals(
        self, a: Array, b: Array, rows: pd.DataFrame, cell: Array, clicked: Array, bootstrap: tuple[float, int, int]
    ) -> tuple[Array, Array]:
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
        follow = between * np.divide(1.0, own, out=np.zeros(self.items), where=free_a & (own > 0))
        follow = csr_array(follow)
        whole = np.diag(np.asarray(between.sum(axis=1))) - (follow @ between.T).toarray()
        at = np.flatnonzero(free_b)
        if not len(at):
            return np.full((2, len(b)), np.nan)[0], np.full(len(b), np.nan)
        information = whole[np.ix_(at, at)]
        if np.linalg.cond(information) > _FLAT:
            return np.full(len(b), np.nan), np.full(len(b), np.nan)
        inverse = np.linalg.pinv(information)

        place = np.full(int(cell.max()) + 1, -1)
        place[self.cell] = np.arange(len(self.cell))
        mine = place[cell]
        keep = mine >= 0
        mine, y = mine[keep], clicked[keep]
        user, names = pd.factorize(rows["user"].to_numpy()[keep])
        score = (y - p[mine]) / np.maximum(1 - p[mine], 1e-12)
        shape = len(names), len(b)
        of_rank = csr_array((score, (user, self.rank[mine])), shape=shape).toarray()
        of_item = csr_array((score, (user, self.item[mine])), shape=(len(names), self.items))
        scores = of_rank - (of_item @ follow.T).toarray()
        shares = (inverse @ scores[:, at].T) if len(at) else np.zeros((0, len(names)))

        def moved(totals: Array) -> Array:
            change = np.zeros((len(b), totals.shape[1]))
            change[at] = totals
            return ((b / b[0])[:, None] * np.exp(change - change[0]))[1:]

        low, high = over_users(shares, moved, *bootstrap)
        ends = np.append(1.0, low), np.append(1.0, high)
        for end in ends:
            end[1:][((b <= _BORDER) | (b >= 1 - _NEAR_ONE))[1:]] = np.nan
        return ends
