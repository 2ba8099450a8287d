"""Explanations of scores: the values of the C/W/L/A framework at each rank of one query, and where users stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..data.alignment import Judgments, Rows
from ..data.rankings import Array, Rankings
from ..errors import BadParameter, NoFiniteValue, shown
from ..errors.sanitise import sanitised
from ..files.inputs import loaded, one_run
from ..files.memory_limit import refuse_beyond_memory
from ..measures.mixtures import Mixture
from ..measures.named import measures_of
from ..measures.of_ir_measures import followed, needs_of
from ..measures.provider import judged
from ..model.browsing import EffortBeyond, Walk
from ..model.introspection import reads
from ..model.language import parse
from ..model.metric import FARTHEST, Metric
from ..model.scoring import divisor, raw_score
from ..model.view import View, before
from ..model.view_columns import refuse_too_many_ranks, seen_part, view_of_ranks
from ..rendering.notebook_pictures import notebook_picture
from .explanation_plots import plot_explanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROWS = 10  # of tables in notebooks
_SMALL = 4096  # largest number of ranks whose discounts are scores of a matrix of ranks × ranks


@dataclass(frozen=True, repr=False)
class Explanation:
    """Explanation of the score of one query, rank by rank.

    Attributes
    ----------
    measure : str
        Name of the measure.
    query : str
        Query id.
    table : DataFrame
        One row per rank, with the columns rank, docno, grade (NaN if unjudged), gain, effort, T (effort before the
        item), C, V, W, L, A, L·A and discount. The discount is the weight of a gain at this rank in the score while the
        behaviour of users stays the same (Jiang and Allan 2016, Eq. 8); it is NaN if A is not a weighted sum of gains.
    score : float
        Score of the query.
    divisor : float
        Normalisation N; 1 without normalisation.
    beyond : float
        Contribution of items below the retrieved ones, before normalisation.
    expected_items : float
        Expected number of items that a user inspects, V⁺.
    expected_effort : float
        Expected effort, in the unit of the effort (such as seconds).
    expected_total_gain : float
        Expected total gain, ETG.
    expected_rate_of_gain : float
        Expected total gain per unit of effort, ERG.
    unit : str
        Unit of the effort: "documents", "seconds", "words", or "effort" if it is not known.
    """

    measure: str
    query: str
    table: pd.DataFrame
    score: float
    divisor: float
    beyond: float
    expected_items: float
    expected_effort: float
    expected_total_gain: float
    expected_rate_of_gain: float
    unit: str = "effort"

    @property
    def totals(self) -> dict[str, float]:
        """Expected items, effort, total gain and rate of gain, the contribution beyond the list, N, and the score."""
        return {
            "V⁺": self.expected_items,
            "effort": self.expected_effort,
            "ETG": self.expected_total_gain,
            "ERG": self.expected_rate_of_gain,
            "beyond": self.beyond,
            "N": self.divisor,
            "score": self.score,
        }

    @property
    def contributions(self) -> pd.Series[float]:
        """What each rank adds to the score: its gain times its discount, indexed by rank.

        If A is not a weighted sum of gains, it is the value for the users who stop at the rank, L·A / N.
        """
        scale = 1 / self.divisor if self.divisor > 0 else 0.0
        adds = self.table["gain"] * self.table["discount"] if self.adds_gains else self.table["L·A"] * scale
        return pd.Series(adds.to_numpy(), pd.Index(self.table["rank"], name="rank"), name="adds")

    @property
    def adds_gains(self) -> bool:
        """Whether the score is a weighted sum of gains, so that ranks have discounts."""
        return not self.table["discount"].isna().any()

    @property
    def last_seen(self) -> int:
        """Last rank of the table that any user sees, V > 0; 0 if all users leave before the first."""
        return int(self.table["rank"].where(self.table["V"] > 0, 0).max())

    @property
    def title(self) -> str:
        """The measure and the query."""
        return f"{self.measure} of query {self.query}" if self.query else self.measure

    def plot(self, ax: Axes | None = None, depth: int | None = None, docnos: bool = False) -> Axes:
        """Plot gains and users by rank, in two panels.

        Upper panel: wide grey bars are the gains of documents, darker for higher grades; crosses are documents that are
        not judged. Narrow bars are what each rank adds to the score; the numbers above are the same in percent of the
        score. Lower panel: the share of users who see each rank (V) and the share who stop there (L), and above it the
        time or effort before the rank unless effort is the number of documents.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes whose place the panels take; by default a new figure.
        depth : int, optional
            Last rank to show; by default the last rank that at least 1 % of the users see, but at least 10 and at most
            50. A cutoff of the measure comes first. The title states what share of the score is shown.
        docnos : bool, default=False
            Whether to write document ids between the panels. Where they do not all fit, those that add most to the
            score are shown.

        Returns
        -------
        matplotlib Axes
            The upper panel; ``.figure`` is the figure.

        Raises
        ------
        BadParameter
            If `depth` is not a positive integer, or there are no document ids.
        CWLAError
            If matplotlib is not installed.
        """
        return plot_explanation(self, ax, depth, docnos)

    def __repr__(self) -> str:
        return str(self)

    @sanitised
    def __str__(self) -> str:
        totals = "  ".join(f"{name} {value:.4f}" for name, value in self.totals.items() if not np.isnan(value))
        table = self.table.head(20).to_string(index=False, na_rep="", float_format=lambda v: f"{v:.4f}")
        more = f"\n… {len(self.table) - 20} more ranks in .table" if len(self.table) > 20 else ""
        return f"{self.title}\n{table}{more}\n{totals}"

    @sanitised
    def _repr_html_(self) -> str:
        heads = {
            "docno": "docno", "grade": "grade", "gain": "gain", "T": f"T ({self.unit} before)", "V": "V (see it)",
            "L": "L (stop there)", "adds": "adds to the score",
        }  # fmt: skip
        if (self.table["effort"] == 1).all():
            del heads["T"]
        table = self.table.set_index("rank").assign(adds=self.contributions)
        table = table[[name for name in heads if name in table]].rename(columns=heads)
        return displayed(self.title, self._expected, table, (7, 4.6), self.plot)

    @property
    def _expected(self) -> str:
        """The score, and what a user sees, spends and gains on average, in words; without what is not known."""
        known = [
            (f"sees {self.expected_items:,.1f} documents", self.expected_items),
            (f"spends {self.expected_effort:,.1f} {self.unit}", self.expected_effort),
            (f"gains {self.expected_total_gain:.3f}", self.expected_total_gain),
        ]
        if (self.table["effort"] == 1).all():
            del known[1]
        texts = [text for text, value in known if np.isfinite(value)]
        return f"score {self.score:.4f}." + (f" On average, a user {', '.join(texts)}." if texts else "")


def displayed(title: str, text: str, table: pd.DataFrame, inches: tuple[float, float], plot: Callable[..., Any]) -> str:
    """Return a title, a text, the first ten rows of a table, and a picture (without matplotlib: none) as HTML."""
    heads = [name or table.index.name for name in table.columns.names]
    rows = (
        table.head(_ROWS).rename_axis(index=None, columns=heads).to_html(na_rep="", float_format=lambda v: f"{v:.4g}")
    )
    more = f"<p>{len(table) - _ROWS:,} more ranks: <code>.table</code></p>" if len(table) > _ROWS else ""
    picture = notebook_picture(plot, inches, f"{title}: gains and users by rank. {text}")
    return f"<p><b>{escape(title)}</b>: {escape(text)}</p>{rows}{more}{picture}"


def explained(
    metric: Metric, rankings: Rankings, number: int, measure: str = "", query: str = "", names: list[str] | None = None
) -> Explanation:
    """Explain the score of query `number` of aligned rankings; `names` are its document ids in rank order."""
    one = np.array([number])
    cut = seen_part(metric, rankings)
    n = int(cut.n[number])
    if not n and metric.end == "stop":
        raise BadParameter(f"no retrieved document of query {query!r} is judged, so users inspect no document.")
    width = max(n, metric.explicit_ranks)
    refuse_too_many_ranks(metric, width)
    view, leaves = view_of_ranks(metric, cut, one, width)
    walk = Walk(metric, view, leaves)
    N = float(divisor(metric, rankings)[number])
    items = _or_nan(lambda: float(walk.expected_items[0, 0]))
    scale = 1 / N if N > 0 else 0.0
    table = _rank_by_rank(walk, items, scale)
    at, _, _ = cut.hits_of(one)
    table.loc[cut.rank[at] - 1, "grade"] = cut.grade[at]
    if names is not None:
        table.insert(1, "docno", [*names[:n], *[""] * (width - len(names[:n]))])
    effort, gain = _or_nan(lambda: float(walk.expected_effort[0, 0])), _total_gain(metric, cut, number)
    return Explanation(
        measure=measure or f"C={metric.C}, A={metric.A}",
        query=query,
        table=table,
        score=float(walk.score[0, 0]) * scale,
        divisor=N,
        beyond=float(np.broadcast_to(walk.score_beyond, (1, 1))[0, 0]),
        expected_items=items,
        expected_effort=effort,
        expected_total_gain=gain,
        expected_rate_of_gain=gain / effort if effort > 0 else np.nan,
        unit=metric.effort_unit,
    )


def _rank_by_rank(walk: Walk, expected_items: float, scale: float) -> pd.DataFrame:
    """Return the table of an explanation without grades; discounts are multiplied by `scale`."""
    width = walk.view.r.shape[1]

    def row(values: Array) -> Array:
        return np.broadcast_to(values, (1, width))[0]

    V, L, A = row(walk.V), row(walk.L), row(walk.A)
    with np.errstate(invalid="ignore", divide="ignore"):
        W = V / expected_items  # 0 if V⁺ is infinite, NaN if it is unknown
        parts = np.where(L > 0, L * A, 0.0)
    return pd.DataFrame(
        {
            "rank": np.arange(1, width + 1),
            "grade": np.full(width, np.nan),
            "gain": row(walk.view.r),
            "effort": row(np.asarray(walk.view.e)),
            "T": before(row(walk.view.E)),
            "C": row(walk.C),
            "V": V,
            "W": W,
            "L": L,
            "A": A,
            "L·A": parts,
            "discount": _discounts(walk) * scale,
        }
    )


def _total_gain(metric: Metric, rankings: Rankings, number: int) -> float:
    total = replace(metric, A=parse("etg", "aggregation"), norm="none", cutoff=None)
    return _or_nan(lambda: float(raw_score(total, rankings)[number]))


def _or_nan(value: Callable[[], float]) -> float:
    try:
        return value()
    except NoFiniteValue:
        return float("nan")


def _discounts(walk: Walk) -> np.ndarray:
    """Return the derivative of the score by the gain at each rank for fixed users: Σ_j L(j)·∂A(j)/∂r_i.

    For a linear A this is the score of a ranking with a single gain of 1; for rr with err it is V(i)/i as in ERR.
    """
    metric, view = walk.metric, walk.view
    width = view.r.shape[1]
    if metric.A.name == "err" and metric.C.name in ("rr", "cascade"):
        return np.broadcast_to(walk.V * walk.A, (1, width))[0]
    if not metric.A.fact("linear_in_gain"):
        return np.full(width, np.nan)
    terms = metric.A.part.built_in and metric.A.fact("credit_terms")
    if width > _SMALL and terms:  # a gain counts for all users who see it, except those who never leave
        phi, credit = terms(view.i, np.ones((1, width)), view.e, walk.C)
        spent = walk.expected_effort if "expected_effort" in reads(metric.A) else 1.0
        return np.broadcast_to((walk.V - walk.staying) * phi * credit / spent, (1, width))[0]
    refuse_beyond_memory(4 * 8 * width * width, f"the discounts of {width:,} ranks")
    one_each = View(view.i, np.eye(width), np.eye(width), view.totals, view._e, view.unseen)
    return np.broadcast_to(_SameUsers(walk, one_each).score, (width, 1))[:, 0]


class _SameUsers(Walk):
    """Browsing of a ranking with the users of another: C, V and effort of `users`, gains of `view`."""

    def __init__(self, users: Walk, view: View) -> None:
        self.metric, self.view, self.users = users.metric, view, users
        self.C, self.V, self.reach = users.C, users.V, users.reach
        view.spend = lambda: users.expected_effort

    def goes_on(self, m: Any) -> np.ndarray:
        return self.users.goes_on(m)

    @property
    def items_beyond(self) -> np.ndarray:  # type: ignore[override]
        return self.users.items_beyond

    @property
    def _effort(self) -> EffortBeyond:  # type: ignore[override]
        return self.users._effort


def stop_distribution(qrels: Any, run: Any, measure: Any, depth: int | None = None) -> pd.DataFrame:
    """Return the probability that a user stops at each rank, L(i) = V(i)·(1 − C(i)), for each query.

    For ERR, this is the probability that a user is satisfied at rank i (Chapelle et al., 2009, Algorithm 2). For an
    intent-aware measure, it is the mixture over intents, Σ_t P(t|q)·L_t(i) (the same paper, section 7.5). Users whose
    intent has no relevant judged documents find nothing. For a Mixture, it is the mixture over classes, Σ_u p_u·L_u(i).

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, iterable of named tuples, or path
        Judgments, as for :func:`evaluate`.
    run : DataFrame, dict of dicts, iterable of named tuples, or path
        One run, as for :func:`evaluate`.
    measure : Measure or str
        Measure that follows a user model, an IntentAware or a Mixture of such measures.
    depth : int, optional
        Last rank with a column of its own; by default the length of the longest ranking, up to the cutoff of the
        measure.

    Returns
    -------
    DataFrame of shape (n_answered_queries, depth + 2)
        Probabilities; each row sums to 1. Column 0: users who leave before the first item, if C allows that. Columns 1
        to `depth`: users who stop at this rank. Column "later": users who stop below `depth`, never stop, or continue
        to unseen items of unknown effort. ``.mean()`` is the distribution over all queries;
        ``pyterrier_cwla.evaluation.plot_stops`` draws it.

    Raises
    ------
    BadParameter
        If the measure follows no user model, or if `depth` is not a rank.

    References
    ----------
    Moffat et al. (2022), Eq. 5.

    Examples
    --------
    >>> from pyterrier_cwla.evaluation import stop_distribution
    >>> qrels, run = {"q": {"a": 2, "b": 1}}, {"q": {"b": 3.0, "x": 2.0, "a": 1.0}}
    >>> stop_distribution(qrels, run, "AdaptiveERR(max_rel=2)")
               0     1    2       3   later
    query_id
    q        0.0  0.25  0.0  0.5625  0.1875
    """
    (measure,) = measures_of([measure])
    whole = isinstance(depth, int | np.integer) and not isinstance(depth, bool)
    if depth is not None and not (whole and 1 <= depth <= FARTHEST):
        raise BadParameter(f"depth={shown(depth)}: give a rank from 1 to {FARTHEST:,}.")
    judgments = judged(loaded(qrels, "qrels"))
    if isinstance(measure, type(Mixture)):
        return _stops_of_mixture(judgments, one_run(run), measure, depth)
    users, by_intent = [np.ones(len(judgments.qids))], [judgments]
    aware = needs_of(measure).intents
    metric = followed(measure.inner if aware else measure, judgments)
    if aware:
        intents = measure.users_by_intent(judgments)
        users, by_intent = [share for _, share, _ in intents], [own for _, _, own in intents]
    rows = Rows(judgments, one_run(run))
    seen = [seen_part(metric, rows.rankings(metric.judged_only, own)) for own in by_intent]
    depth = depth or max(1, *(int(rankings.n.max(initial=0)) for rankings in seen))
    refuse_beyond_memory(8 * len(judgments.qids) * (depth + 2), f"depth={depth:,} for {len(judgments.qids):,} queries")
    stops = sum(share[:, None] * stops_of(metric, rankings, depth) for share, rankings in zip(users, seen, strict=True))
    rows.warn_of_overlap()
    table = pd.DataFrame(stops, pd.Index(judgments.qids, name="query_id"), [*range(depth + 1), "later"])
    table.attrs["measure"] = str(measure)
    return table[np.isin(np.arange(len(table)), rows.query)]


def _stops_of_mixture(judgments: Judgments, run: Any, measure: Any, depth: int | None) -> pd.DataFrame:
    """Return the mean of the distributions of all classes, to the depth of the deepest."""
    classes = [*measure.classes.values()]
    if depth is None:
        depth = max(len(stop_distribution(judgments, run, part).columns) - 2 for part, _ in classes)
    table: pd.DataFrame = sum(share * stop_distribution(judgments, run, part, depth) for part, share in classes)
    table.attrs["measure"] = str(measure)
    return table


_CELLS = 1 << 17  # queries × ranks per chunk


def stops_of(metric: Metric, rankings: Rankings, depth: int) -> Array:
    """Return the shares of users who stop at ranks 0 (before the first item) to depth, and later.

    Returns
    -------
    ndarray of shape (n_queries, depth + 2)
    """
    stops = np.zeros((len(rankings), depth + 2))
    width = metric.end if isinstance(metric.end, int) else max(depth, int(rankings.n.max(initial=0)))
    shown = min(depth, width)
    for queries in np.array_split(np.arange(len(rankings)), len(rankings) * width // _CELLS + 1):
        walk = Walk(metric, *view_of_ranks(metric, rankings, queries, width))
        stops[queries, 0] = 1 - walk.V[:, 0]
        stops[queries, 1 : shown + 1] = np.broadcast_to(walk.L, (len(queries), width))[:, :shown]
    if metric.end == "stop":
        stops[rankings.n == 0] = np.eye(1, depth + 2)  # users of an empty list inspect no item
    stops[:, -1] = np.maximum(1 - stops[:, :-1].sum(axis=1), 0)
    return stops
