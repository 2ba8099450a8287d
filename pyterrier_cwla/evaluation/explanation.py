"""Explanations of scores: what each rank adds and where users stop, by a measure, a mixture or intents."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ..data.alignment import Judgments
from ..data.columns import Array
from ..data.rankings import Rankings
from ..data.rows import Rows
from ..errors import BadParameter, NoFiniteValue, near
from ..errors.sanitise import sanitised
from ..files.atomic import AnyPath
from ..files.inputs import loaded, named_pair, one_run
from ..files.memory_limit import refuse_beyond_memory
from ..measures.declarations import followed, needs_of, user_model_of
from ..measures.named import measure_of
from ..measures.provider import judged, naming
from ..measures.wrappers import NO_INTENT, NOBODY, ByTopic, Expected, IntentAware, Mixture
from ..model.browsing import Walk
from ..model.expected import Labels, expected_walk, is_exact, labelled
from ..model.introspection import reads
from ..model.language import parse
from ..model.metric import FARTHEST, Metric
from ..model.scoring import divisor, raw_score
from ..model.view import View, before
from ..model.view_columns import refuse_too_many_ranks, seen_part, view_of_ranks
from ..rendering.figures import elided, notebook_picture, saved
from ..rendering.numbers import fixed_point
from ..rendering.tables import SumRow, Table, TableColumn
from ..rendering.terminal import as_text
from .explanation_plots import all_efforts_are_1, plot_explanation, plot_pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STOPS = "L·A / N"
"""Head of what a rank adds to a score that is not a weighted sum of gains: the value for users who stop there."""
_COLUMNS = ["docno", "grade", "gain", "V"]
_TAKES = "explain takes one run, or a dict of two runs by name"
_CELLS = 1 << 17  # queries × ranks per chunk
_SHOWN = 20  # ranks in terminals
_PARTS = 3  # ranks that are named as the largest parts of a difference
_ROUNDING = 1e-12  # relative to the score
_ROWS = 10  # of tables in notebooks
_SMALL = 4096  # largest number of ranks whose discounts are scores of a matrix of ranks × ranks


_MEANINGS = {
    "gain": "gain of the document",
    "effort": "cost of examining it",
    "before": "effort before this rank",
    "C": "probability of continuing",
    "V": "share of users who see this rank",
    "W": "V/V⁺, share of attention",
    "L": "share of users who leave here",
    "A": "value for users who leave here",
    "L·A": "part of the score that comes from these users",
    "discount": "contribution of a gain of 1 at this rank",
    "adds": "what this rank adds to the score",
    STOPS: "value for users who leave here, divided by the normaliser",
}
_MEANINGS_OF_TOTALS = (
    "expected number of items seen: ΣV",
    "expected effort of a user",
    "expected total gain",
    "expected rate of gain: ETG / effort",
    "part of Σ L·A after the end of the list",
    "normaliser",
    "Σ L·A / N",
)
_OPTIONAL = ("W", "discount", "T", "effort", "A", "C", "L", "grade")  # left out on narrow terminals, in this order


class _Explained:
    """Title, texts, tables and pictures of explanations in terminals and notebooks."""

    _inches = (7.0, 4.6)
    _only_in_terminals: tuple[str, ...] = ("effort", "C", "W", "A", "discount")

    @property
    def title(self: Any) -> str:
        """The measure and the topic."""
        return f"{self.measure} of topic {self.query}" if self.query else self.measure

    @property
    def adds_gains(self: Any) -> bool:
        """Whether the scores of all runs or classes are weighted sums of gains."""
        return all(one.adds_gains for one in self.explanations.values())

    @sanitised
    def __repr__(self: Any) -> str:
        return as_text(self.title, *self.sentences, *self.tables(_SHOWN))

    @sanitised
    def _repr_html_(self: Any) -> str:
        text, hidden = " ".join(self.sentences), self._only_in_terminals
        tables = [
            replace(table, columns=[column for column in table.columns if column.heading not in hidden])
            for table in self.tables(_ROWS)
        ]
        label = f"{self.title}: gains and users by rank. {text}"
        picture = notebook_picture(self.plot, self._inches, label) if hasattr(self, "plot") else ""
        notes = " ".join(note for table in tables for note in table.all_notes)
        shown = f"{''.join(table.html() for table in tables)}<p><small>{escape(notes)}</small></p>"
        return f"<p><b>{escape(self.title)}</b>: {escape(text)}</p>{shown}{picture}"


def _table_of_ranks(
    ranks: pd.DataFrame,
    depth: int,
    columns: Mapping[Any, TableColumn],
    sums: Mapping[str, Mapping[Any, float]],
    notes: Sequence[str],
) -> Table:
    """Return a table of the first ranks, and of sums: of the other ranks, and those given by name, the total last."""
    rows: list[Any] = ranks.head(depth).to_dict("records")
    names = [key for key, column in columns.items() if column.kind == "name"] or list(columns)[:1]
    *parts, (total, of_all) = sums.items()
    if len(ranks) > depth:
        parts.insert(0, (f"… {len(ranks) - depth:,} more", ranks.iloc[depth:][[*of_all.keys()]].sum()))
    rows += [SumRow({**dict.fromkeys(names, name), **values}, "dim") for name, values in parts]
    rows.append(SumRow({**dict.fromkeys(names, total), **of_all}))
    return Table(columns=list(columns.values()), rows={"": rows}, notes=notes)


def _columns(keys: Iterable[Any], adds_gains: bool, optional: Sequence[str] = ()) -> dict[Any, TableColumn]:
    """Return the columns of a table of ranks by their keys: a name, or for two runs the run and the name."""
    columns = {}
    for key in keys:
        run, name = (None, key) if isinstance(key, str) else key if key[1] else (None, key[0])
        head = _head_of(name, adds_gains)
        columns[key] = TableColumn(
            elided(run, 60) if run is not None and name == "docno" else head,
            partial(_value, name, key),
            "name" if name == "docno" else "number",
            digits=2 if name in ("effort", "T") else 4,
            left_out=optional.index(name) + 1 if name in optional else 0,
            meaning=_MEANINGS.get(head, ""),
        )
    return columns


def _head_of(name: str, adds_gains: bool) -> str:
    """Return the head of a column: of what ranks add to a score that may be no weighted sum of gains, or another.

    T is "before", beside "effort": the T of continuations is a parameter, such as a budget.
    """
    name = "before" if name == "T" else name
    return name if adds_gains else re.sub("^adds", STOPS, name)


def _value(name: str, key: Any, row: Mapping[Any, Any]) -> str | float:
    """Return a value of a row, or of a sum that may lack it; ranks and whole grades have no decimals."""
    value = row.get(key, math.nan)
    if isinstance(value, str) and value:
        return value
    if name == "docno":
        return "not retrieved"
    return (
        value if name not in ("rank", "grade") or math.isnan(value) else f"{value:.4g}" if value % 1 else f"{value:g}"
    )


@dataclass(frozen=True, repr=False)
class Explanation(_Explained):
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
        Expected effort, in the unit of the effort (such as seconds); NaN if the effort of unseen items is needed and is
        not known or 0.
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
        return self._adds(self.adds_gains)

    def _adds(self, gains: bool) -> pd.Series[float]:
        """Return what each rank adds to the score: weighted `gains`, or the values for users who stop there."""
        scale = 1 / self.divisor if self.divisor > 0 else 0.0
        adds = self.table["gain"] * self.table["discount"] if gains else self.table["L·A"] * scale
        return pd.Series(adds.to_numpy(), pd.Index(self.table["rank"], name="rank"), name="adds")

    @property
    def adds_gains(self) -> bool:
        """Whether the score is a weighted sum of gains, so that ranks have discounts."""
        return not self.table["discount"].isna().any()

    @property
    def last_seen(self) -> int:
        """Last rank of the table that any user sees, V > 0; 0 if all users leave before the first."""
        return int(self.table["rank"].where(self.table["V"] > 0, 0).max())

    def plot(
        self, ax: Axes | None = None, depth: int | None = None, docnos: bool = False, path: AnyPath | None = None
    ) -> Axes:
        """Plot gains and users by rank, in two panels.

        Upper panel: wide grey bars are the gains of documents, darker for higher grades; crosses are documents that are
        not judged. Narrow bars are what each rank adds to the score; the numbers above are the same in percent of the
        score. Bars of documents that harm are below 0. Lower panel: the share of users who see each rank (V) and the
        share who stop there (L), and above it the time or effort before the rank unless effort is the number of
        documents.

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
        path : path, optional
            File to which the figure is saved.

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
        return saved(plot_explanation(self, ax, depth, docnos), path)

    @property
    def sentences(self) -> list[str]:
        """The score, and what a user sees, spends and gains on average; without what is not known."""
        effort = np.nan if all_efforts_are_1(self.table) else self.expected_effort
        known = {
            f"sees {self.expected_items:,.1f} documents": self.expected_items,
            f"spends {self.expected_effort:,.1f} {self.unit}": effort,
            f"gains {self.expected_total_gain:.3f}": self.expected_total_gain,
        }
        texts = ", ".join(text for text, value in known.items() if np.isfinite(value))
        return [f"score {fixed_point(self.score)}.", *([f"On average, a user {texts}."] if texts else [])]

    def tables(self, depth: int, notes: Sequence[str] = ()) -> list[Table]:
        """Return a table of the first ranks and of sums, with notes, and a table of the totals."""
        ranks, items = self.table, self.expected_items
        hidden = {"discount"} if ranks["discount"].isna().all() else set()
        hidden |= {"effort", "T"} if all_efforts_are_1(ranks) else set()
        hidden |= set() if 0 < items < math.inf else {"W"}
        columns = _columns((name for name in ranks if name not in hidden), self.adds_gains, _OPTIONAL)
        sums = dict(ranks[["gain", "effort", "V", "W", "L", "L·A"]].sum())
        beyond = {"V": items - sums["V"], "W": 1 - sums["W"], "L·A": self.beyond}
        total = {**sums, "V": items, "W": 1.0, "L": math.nan, "L·A": sums["L·A"] + self.beyond}
        below = {"beyond": beyond} if self.beyond or beyond["V"] > 1e-9 else {}
        meanings = [*_MEANINGS_OF_TOTALS]
        if self.unit not in ("effort", "cost"):
            meanings[1] += f", in {self.unit}"
        totals = [
            {"name": name, "value": value, "meaning": "infinite or unknown" if math.isnan(value) else meaning}
            for (name, value), meaning in zip(self.totals.items(), meanings, strict=True)
        ]
        of_totals = [TableColumn("", "name", "name"), TableColumn("", "value"), TableColumn("", "meaning", "name")]
        of_ranks = _table_of_ranks(ranks, depth, columns, {**below, "total": total}, notes)
        return [of_ranks, Table(columns=of_totals, rows={"": totals})]


def explained(
    metric: Metric,
    rankings: Rankings,
    number: int,
    measure: str = "",
    query: str = "",
    names: list[str] | None = None,
    labels: Labels | None = None,
) -> Explanation:
    """Explain the score of query `number` of aligned rankings; `names` are its document ids in rank order.

    With `labels`, it is the expected score, and the rankings are those of :func:`labelled`.
    """
    one = np.array([number])
    cut = seen_part(metric, rankings) if labels is None else rankings
    n = int(cut.n[number])
    if not n and metric.end == "stop":
        raise BadParameter(f"no retrieved document of query {query!r} is judged, so users inspect no document.")
    width = max(n, metric.explicit_ranks)
    refuse_too_many_ranks(metric, width)
    if labels is None:
        walk, grades = Walk(metric, *view_of_ranks(metric, cut, one, width)), cut.grade
    else:
        walk, grades = expected_walk(metric, cut, labels, one, width), labels.mean(labels.grade)
    N = float(divisor(metric, rankings)[number])
    items = _or_nan(lambda: float(walk.expected_items[0, 0]))
    scale = 1 / N if N > 0 else 0.0
    table = _rank_by_rank(walk, items, scale)
    at, _, _ = cut.hits_of(one)
    table.loc[cut.rank[at] - 1, "grade"] = grades[at]
    if names is not None:
        table.insert(1, "docno", [*names[:n], *[""] * width][:width])
    etg = replace(metric, A=parse("etg", "aggregation"), norm="none", cutoff=None)
    if labels is None:
        gain = _or_nan(lambda: float(raw_score(etg, cut)[number]))
    else:
        gain = float(expected_walk(etg, cut, labels, one, width).score[0, 0]) if is_exact(etg) else np.nan
    effort = _or_nan(lambda: float(walk.expected_effort[0, 0]))
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
    view, V, L, A = walk.view, walk.V, walk.L, walk.A
    shape = 1, view.r.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        columns: dict[str, Any] = {
            "rank": np.arange(1, shape[1] + 1),
            "grade": np.nan,
            "gain": view.r,
            "effort": view.e,
            "T": before(np.broadcast_to(view.E, shape)),
            "C": walk.C,
            "V": V,
            "W": V / expected_items,  # 0 if V⁺ is infinite, NaN if it is unknown
            "L": L,
            "A": A,
            "L·A": np.where(L > 0, L * A, 0.0),
            "discount": _discounts(walk) * scale,
        }
    return pd.DataFrame({name: np.broadcast_to(values, shape)[0] for name, values in columns.items()})


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
    linear, terms = metric.A.fact("linear_in_gain"), metric.A.part.built_in and metric.A.fact("credit_terms")
    if terms and not linear and metric.C.fact("satisfied_by_gain"):  # ERR credits the probability of being satisfied
        return np.broadcast_to(walk.V * walk.A, (1, width))[0]
    if not linear:
        return np.full(width, np.nan)
    if width > _SMALL and terms:  # a gain counts for all users who see it, except those who never leave
        phi, credit = terms(view.i, np.ones((1, width)), view.e, walk.C)
        spent = walk.expected_effort if "expected_effort" in reads(metric.A) else 1.0
        return np.broadcast_to((walk.V - walk.staying) * phi * credit / spent, (1, width))[0]
    refuse_beyond_memory(4 * 8 * width * width, f"the discounts of {width:,} ranks")
    one_each = View(
        view.i, np.eye(width), np.eye(width), view.totals, None if metric.unit_effort else view.e, view.unseen
    )
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
    measure = measure_of(measure)
    whole = isinstance(depth, int | np.integer) and not isinstance(depth, bool)
    if depth is not None and not (whole and 1 <= depth <= FARTHEST):
        raise BadParameter(f": give a rank from 1 to {FARTHEST:,}.", depth=depth)
    judgments = judged(loaded(qrels, "qrels"))
    users = list(_classes(judgments, measure))
    rows = Rows.from_run(one_run(run), judgments.index)
    seen = [seen_part(metric, own.rankings(rows, metric.all_judged)) for _, metric, own in users]
    depth = depth or max(1, *(int(rankings.n.max(initial=0)) for rankings in seen))
    refuse_beyond_memory(8 * len(judgments.qids) * (depth + 2), f"depth={depth:,} for {len(judgments.qids):,} queries")
    stops = sum(
        share[:, None] * stops_of(metric, rankings, depth)
        for (share, metric, _), rankings in zip(users, seen, strict=True)
    )
    judgments.warn_of_overlap(rows)
    table = pd.DataFrame(stops, pd.Index(judgments.qids, name="query_id"), [*range(depth + 1), "later"])
    table.attrs["measure"] = str(measure)
    return table[np.isin(np.arange(len(table)), rows.query)]


def _classes(judgments: Judgments, measure: Any, share: float = 1.0) -> Iterator[tuple[Array, Metric, Judgments]]:
    """Yield the share of each class of users by query, the metric that they follow, and their judgments."""
    if isinstance(measure, type(Mixture)):
        for part, of_part in measure.classes.values():
            yield from _classes(judgments, part, share * of_part)
    elif needs_of(measure).intents:
        metric = followed(measure.inner, judgments)
        for _, of_intent, own in measure.users_by_intent(judgments):
            yield share * of_intent, metric, own
    else:
        yield np.full(len(judgments.qids), share), followed(measure, judgments), judgments


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


@dataclass(frozen=True, repr=False)
class ExplainedMixture(_Explained):
    """Explanation of the score of one query by a mixture of classes of users; result of :func:`explain`.

    Attributes
    ----------
    measure : str
        Name of the mixture.
    query : str
        Query id.
    explanations : dict of str to Explanation
        The explanation by the measure of each class.
    shares : dict of str to float
        The share of the users by class.
    """

    measure: str
    query: str
    explanations: dict[str, Explanation]
    shares: dict[str, float]

    def __post_init__(self) -> None:
        shown = [tuple(filter(None, one.table["docno"])) for one in self.explanations.values()]
        shortest = min(map(len, shown))
        if len({documents[:shortest] for documents in shown}) > 1:
            raise BadParameter(
                f"{self.measure}: its classes see different rankings, because judged_only= differs. Explain the measure"
                " of each class."
            )

    @property
    def score(self) -> float:
        """Score of the query: the sum of the shares times the scores of the classes."""
        return sum(self.shares[name] * one.score for name, one in self.explanations.items())

    @property
    def table(self) -> pd.DataFrame:
        """One row per rank: docno, grade, V, L, adds, and "adds: …" for each class (for intents, also "grade: …").

        V and L are the shares of all users who see the rank and who stop there; NaN where they are not known for a
        class. The column of a class is what the rank adds to the score of the mixture through the users of this class:
        their share times what it adds to their score. If the score of a class is not a weighted sum of gains, it is the
        value for the users who stop at the rank, share times L·A / N, for all classes. ``adds`` is the sum over the
        classes. Its sum over the ranks is the score, but for what lies below the table (``totals["beyond"]``).
        """
        tables = {name: one.table.set_index("rank") for name, one in self.explanations.items()}
        longest = max(tables.values(), key=len)
        known = {name: table.reindex(longest.index) for name, table in tables.items()}
        adds = {
            name: self.shares[name] * one._adds(self.adds_gains).reindex(longest.index, fill_value=0.0)
            for name, one in self.explanations.items()
        }
        seen = {
            column: sum(self.shares[name] * table[column] for name, table in known.items()) for column in ("V", "L")
        }
        columns = {"docno": longest["docno"], **self._grades(longest, known), **seen, "adds": sum(adds.values())}
        return pd.DataFrame({**columns, **{f"adds: {name}": values for name, values in adds.items()}})

    def _grades(self, longest: pd.DataFrame, known: dict[str, pd.DataFrame]) -> dict[str, pd.Series[float]]:
        """Return the columns of grades, which are the same for all classes."""
        return {"grade": longest["grade"]}

    @property
    def totals(self) -> pd.DataFrame:
        """One row per class and one for all users, "total".

        Columns: share, items (V⁺), effort, gain (ETG), score (of these users), adds (share times score) and beyond (the
        part of adds from below the ranks of the table). Items, effort, gain and score of the total are means over all
        users; effort is NaN if the classes measure it in several units.
        """
        rows = {
            name: {
                "share": self.shares[name],
                "items": one.expected_items,
                "effort": one.expected_effort,
                "gain": one.expected_total_gain,
                "score": one.score,
                "adds": self.shares[name] * one.score,
                "beyond": self.shares[name] * _below(one, self.adds_gains),
            }
            for name, one in self.explanations.items()
        }
        table = pd.DataFrame(rows).T.rename_axis("class")
        means = {
            name: (table["share"] * table[name]).sum(skipna=False) for name in ("items", "effort", "gain", "score")
        }
        if len({one.unit for one in self.explanations.values()}) > 1:
            means["effort"] = float("nan")
        table.loc["total"] = {**means, **{name: table[name].sum() for name in ("share", "adds", "beyond")}}
        return table

    @property
    def sentences(self) -> list[str]:
        """The score."""
        return [f"score {fixed_point(self.score)}."]

    def tables(self, depth: int, notes: Sequence[str] = ()) -> list[Table]:
        """Return a table of the totals of each class, and one of what the first ranks add by class, with notes."""
        ranks, classes = self.table.reset_index(), self.totals.reset_index()
        *rows, total = classes.to_dict("records")
        columns = [TableColumn(name, name, "name" if name == "class" else "number") for name in classes]
        adds = ranks.filter(regex="^adds").sum()
        about = "share: share of the users · adds: share times score"
        about += ", or what a rank adds to the score" if self.adds_gains else f" · {STOPS}: {_MEANINGS[STOPS]}"
        shown = _columns(ranks, self.adds_gains)
        return [
            Table(columns=columns, rows={"": [*rows, SumRow(total)]}),
            _table_of_ranks(ranks, depth, shown, {"total": adds}, [about, *notes]),
        ]


def _below(explanation: Explanation, gains: bool) -> float:
    """Return the part of a score that the ranks of the table do not add; 0 if it is only rounding."""
    below = explanation.score - float(explanation._adds(gains).sum())
    return below if abs(below) > _ROUNDING * max(1.0, abs(explanation.score)) else 0.0


class ExplainedIntents(ExplainedMixture):
    """Explanation of the score of one query by an intent-aware measure, whose classes of users are the intents.

    Each document has a grade for each intent. Users whose intent has no judgments, if there are any, are the class "no
    judged intent", which adds nothing.
    """

    def _grades(self, longest: pd.DataFrame, known: dict[str, pd.DataFrame]) -> dict[str, pd.Series[float]]:
        return {f"grade: {name}": table["grade"] for name, table in known.items() if name != NO_INTENT}


@dataclass(frozen=True, repr=False)
class ExplainedPair(_Explained):
    """Explanations of the scores of two runs for one query; result of :func:`explain` with two runs.

    Attributes
    ----------
    explanations : dict of str to Explanation
        The explanation of each run, by the name of the run, in the given order.
    """

    explanations: dict[str, Explanation]

    _inches = (7.0, 6.4)
    _only_in_terminals = ("gain", "V")

    @property
    def measure(self) -> str:
        """Name of the measure."""
        return self._pair[0].measure

    @property
    def query(self) -> str:
        """Query id."""
        return self._pair[0].query

    @property
    def scores(self) -> pd.Series[float]:
        """Score of each run."""
        return pd.Series({name: one.score for name, one in self.explanations.items()}, name=self.measure)

    @property
    def table(self) -> pd.DataFrame:
        """One row per rank, and for each run the columns docno, grade, gain, V, and adds (to the score).

        Ranks below the end of the shorter ranking have no values. Columns have two levels: run, and column.
        ``.explanations["name"].table`` has all columns of a run.
        """
        return pd.concat(
            {
                name: one.table.set_index("rank")[_COLUMNS].assign(adds=one.contributions)
                for name, one in self.explanations.items()
            },
            axis=1,
            names=["run", None],
        ).sort_index()

    @property
    def first_difference(self) -> int | None:
        """First rank at which the runs have different documents, or None if all documents are the same.

        Only ranks that a user sees in one of the rankings are compared: no ranks below the cutoff.
        """
        return self._first_difference("docno", "")

    @property
    def first_gain_difference(self) -> int | None:
        """First rank at which the documents have different gains, or None if all gains are the same."""
        return self._first_difference("gain", 0.0)

    def at(self, rank: int) -> pd.DataFrame:
        """Return what each run has at a rank.

        Parameters
        ----------
        rank : int
            The rank, such as ``first_difference``.

        Returns
        -------
        DataFrame
            One row per run: docno, grade, gain, V and adds (to the score). A run with fewer documents has no values.

        Raises
        ------
        BadParameter
            If both runs have fewer ranks.
        """
        table = self.table
        if rank not in table.index:
            raise BadParameter(f"rank={rank!r}: give one of the ranks 1 to {len(table):,} that are explained.")
        return table.loc[[rank]].stack("run", future_stack=True).droplevel(0)

    def plot(
        self, ax: Axes | None = None, depth: int | None = None, docnos: bool = False, path: AnyPath | None = None
    ) -> Axes:
        """Plot gains and scores of both runs by rank, in panels one below the other.

        The panels at the top show for each run the gains of its documents (wide grey bars, darker for higher grades)
        and what each rank adds to the score (narrow bars, with numbers). Below are the scores so far and, if the users
        of the two rankings behave differently, the shares of users who see each rank (V). The first rank with different
        gains is shaded, or, if all gains are the same, the first rank with different documents.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes whose place the panels take; by default a new figure.
        depth : int, optional
            Last rank to show; as for :meth:`Explanation.plot` by default.
        docnos : bool, default=False
            Whether to write document ids below the panels of the runs.
        path : path, optional
            File to which the figure is saved.

        Returns
        -------
        matplotlib Axes
            The upper panel; ``.figure`` is the figure.

        Raises
        ------
        BadParameter
            If `depth` is not a positive integer.
        CWLAError
            If matplotlib is not installed.
        """
        return saved(plot_pair(self, ax, depth, docnos), path)

    @property
    def where_different(self) -> str:
        """The first ranks with different documents and with different gains, in words."""
        documents, gains = self.first_difference, self.first_gain_difference
        if documents is None:
            return "the same documents at all ranks"
        if gains == documents:
            return f"documents and gains differ from rank {documents:,}"
        gained = f"gains differ from rank {gains:,}" if gains else "all gains are the same"
        return f"documents differ from rank {documents:,}, {gained}"

    @property
    def sentences(self) -> list[str]:
        """The scores, and what each run has at the first ranks with different documents and different gains."""
        (first, one), (second, other) = self.scores.items()
        scores = f"{first} scores {fixed_point(one)} and {second} {fixed_point(other)}, a difference of"
        scores += f" {fixed_point(other - one, signed=True)}."
        where = f"{self.where_different[:1].upper()}{self.where_different[1:]}."
        ranks = sorted({rank for rank in (self.first_difference, self.first_gain_difference) if rank})
        shown = [f"Rank {rank:,}: {'; '.join(self._in_words(rank))}." for rank in ranks]
        return [scores, *self._largest_parts, where, *shown]

    @property
    def contributions(self) -> pd.DataFrame:
        """Return what each rank adds to the score of each run, and ``difference``, the second run minus the first."""
        adds = pd.DataFrame({name: one.contributions for name, one in self.explanations.items()}).fillna(0.0)
        first, second = adds
        return adds.assign(difference=adds[second] - adds[first])

    @property
    def _largest_parts(self) -> list[str]:
        """Sentence on the ranks that add most to the difference, and on those that only one run has."""
        if not self.adds_gains or self.first_gain_difference is None:
            return []
        parts = self.contributions["difference"]
        largest = parts[parts.abs() > _ROUNDING].abs().sort_values(ascending=False, kind="stable").index[:_PARTS]
        listed = [f"rank {rank:,} ({fixed_point(parts[rank], signed=True)})" for rank in largest]
        found = [f"The largest parts of the difference: {', '.join(listed)}."] if listed else []
        lengths = {name: int((one.table["docno"] != "").sum()) for name, one in self.explanations.items()}
        (short, few), (long, many) = sorted(lengths.items(), key=lambda item: item[1])
        beyond = float(parts[parts.index > few].sum())
        if few < many and abs(beyond) > _ROUNDING:
            found.append(
                f"{short} has {few:,} documents and {long} {many:,}; the ranks after {few:,} add"
                f" {fixed_point(beyond, signed=True)} to the difference."
            )
        return found

    def tables(self, depth: int, notes: Sequence[str] = ()) -> list[Table]:
        """Return a table of the first ranks of both runs and of their scores, with notes."""
        ranks, scores = self.table.reset_index(), self.scores
        adds = pd.concat({"adds": scores}).swaplevel()
        beyond = adds - ranks[adds.index].sum()
        below = {"beyond": beyond} if (beyond.abs() > 1e-9).any() else {}
        columns = _columns(ranks, self.adds_gains, ("V", "gain", "grade"))
        return [_table_of_ranks(ranks, depth, columns, {**below, "score": adds}, notes)]

    @property
    def _pair(self) -> tuple[Explanation, Explanation]:
        first, second = self.explanations.values()
        return first, second

    def _in_words(self, rank: int) -> Iterator[str]:
        """Yield what each run has at a rank."""
        for run, row in self.at(rank).iterrows():
            if not isinstance(row["docno"], str) or not row["docno"]:
                yield f"{run} has no document"
                continue
            grade = "not judged" if pd.isna(row["grade"]) else f"grade {row['grade']:g}"
            gain, adds = (f"{row[name]:.4g}".replace("-", "−") for name in ("gain", "adds"))
            added = f"adds {adds} to the score" if self.adds_gains else f"has {STOPS} = {adds}"
            yield f"{run} has {row['docno']} ({grade}), which gains {gain} and {added}"

    def _first_difference(self, column: str, missing: Any) -> int | None:
        seen = max(one.last_seen for one in self._pair)
        pairs = zip_longest(*(one.table[column].head(seen) for one in self._pair), fillvalue=missing)
        return next((rank for rank, (first, second) in enumerate(pairs, 1) if first != second), None)


def explain(qrels: Any, run: Any, query: str, measure: Any) -> Explanation | ExplainedPair | ExplainedMixture:
    """Explain the score of one query rank by rank, for one run or for two runs side by side.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, iterable of named tuples, or path
        Judgments, as for :func:`evaluate`.
    run : DataFrame, dict of dicts, iterable of named tuples, or path; or a dict of two of these by name
        One run, as for :func:`evaluate`, or two runs by name.
    query : str
        Query id.
    measure : Measure or str
        Measure of this package, or of ir_measures if this package computes it, that follows a user model; or, for one
        run, a Mixture of such measures, or an IntentAware of such a measure.

    Returns
    -------
    Explanation, ExplainedPair or ExplainedMixture
        Values of the framework at each rank, and the score. For two runs, an :class:`ExplainedPair` of both with the
        first rank at which they have different documents. For a Mixture, an :class:`ExplainedMixture` with what each
        rank adds by class of users and in total; for an IntentAware, the same by intent.

    Raises
    ------
    BadParameter
        If the query is not judged or a run has no documents for it, or if the measure follows no user model.
    BadRun
        If there are more than two runs, or both have the same name.

    Examples
    --------
    >>> qrels = {"q": {"a": 1, "b": 0, "c": 1}}
    >>> explain(qrels, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "q", "RR").score
    1.0
    >>> runs = {"old": {"q": {"a": 3.0, "b": 2.0}}, "new": {"q": {"a": 3.0, "c": 2.0}}}
    >>> both = explain(qrels, runs, "q", "P@2")
    >>> both.first_difference
    2
    >>> both.at(2)
        docno  grade  gain    V  adds
    run
    old     b    0.0   0.0  1.0   0.0
    new     c    1.0   1.0  1.0   0.5
    """
    runs = named_pair(run)
    judgments = judged(loaded(qrels, "qrels"), uncertain=True)
    measure = by_part(measure_of(measure))
    if runs is not None and isinstance(measure, type(Mixture) | type(IntentAware)):
        raise BadParameter(f"{measure}: two runs side by side need a measure of one class of users; give one run.")
    with naming(measure):
        if runs is None:
            return explain_one(judgments, one_run(run, _TAKES), query, measure)
        return ExplainedPair(
            {
                name: _down_to_cutoff(explain_run(judgments, one, query, measure, f"run {name!r}"), measure)
                for name, one in runs.items()
            }
        )


def explain_run(
    judgments: Judgments, run: Any, query: str, measure: Any, name: str = "the run", of_intent: Judgments | None = None
) -> Explanation:
    """Explain the score of one query of one run, whose name errors give; `of_intent` are judgments of one intent."""
    measure = measure_of(measure)
    own = measure.of_topic(query) if isinstance(measure, type(ByTopic)) else measure
    metric = _followed(own, of_intent or judgments)
    number = _number(judgments, query)
    whole = judgments.rows(run)
    order = whole.of_query(number)
    if not len(order):
        raise BadParameter(f"{name} has no documents for query {query!r}.")
    names = whole.columns.doc_id.take(order).to_pylist()
    # Other queries may have documents without a length or cost, which only a mean over the run needs.
    rows = whole if needs_of(own).mean_of else judgments.rows(whole.columns.taken(order))
    rankings = (of_intent or judgments).rankings(rows, all_judged=True)
    if metric.judged_only:
        names = [names[rank - 1] for rank in rankings.condensed.listed_ranks(number).tolist()]
    labels = None
    if isinstance(own, type(Expected)):
        rankings, labels = labelled(metric, rankings, own.prior)
    explanation = explained(metric, rankings, number, str(measure), query, names, labels)
    judgments.warn_of_overlap(whole)
    return explanation


def _followed(measure: Measure, judgments: Judgments) -> Metric:
    """Return the metric of a measure with a user model, or of the expected score of one if it has an exact form."""
    if not isinstance(measure, type(Expected)):
        return followed(measure, judgments)
    if not measure.is_exact or measure["what"] != "mean":
        raise BadParameter(
            f"{measure}: no rank adds a part of it, since it is taken over samples of labels, or is no mean. Explain a"
            " measure whose mean has an exact form, such as Expected(measure='RBP(rel=1)')."
        )
    return user_model_of(measure.inner).metric_for(judgments, uncertain=True)


def by_part(measure: Measure) -> Measure:
    """Return a measure in which the parts of a Mixture, IntentAware or ByTopic are expected, and not the whole."""
    return measure.inside if isinstance(measure, type(Expected)) else measure


def explain_one(judgments: Judgments, run: Any, query: str, measure: Any) -> Explanation | ExplainedMixture:
    """Explain the score of one query of one run by a measure with a user model, a Mixture or an IntentAware."""
    measure = by_part(measure)
    if isinstance(measure, type(IntentAware)):
        return _explain_intents(judgments, run, query, measure)
    if not isinstance(measure, type(Mixture)):
        return _down_to_cutoff(explain_run(judgments, run, query, measure), measure)
    found = {name: explain_run(judgments, run, query, part) for name, (part, _) in measure.classes.items()}
    return ExplainedMixture(str(measure), query, found, {name: share for name, (_, share) in measure.classes.items()})


def _down_to_cutoff(explanation: Explanation, measure: Measure) -> Explanation:
    """Return an explanation without ranks below the cutoff, which no user sees."""
    cutoff = measure.params.get("cutoff")
    return replace(explanation, table=explanation.table.head(cutoff)) if cutoff else explanation


def _explain_intents(judgments: Judgments, run: Any, query: str, measure: Any) -> ExplainedIntents:
    if _followed(measure.inner, judgments).judged_only:
        raise BadParameter(
            f"{measure}: with judged_only=True, the users of each intent see another ranking. Explain the measure"
            " without judged_only=."
        )
    number = _number(judgments, query)
    found, shares = {}, {}
    for called, share, own in measure.users_by_intent(judgments):
        if share[number] > NOBODY:
            found[called[number]] = explain_run(judgments, run, query, measure.inner, of_intent=own)
            shares[called[number]] = float(share[number])
    if NO_INTENT in found:  # users who find nothing, also by a cost such as A="effort"
        found[NO_INTENT] = replace(found[NO_INTENT], score=0.0, divisor=0.0)
    return ExplainedIntents(str(measure), query, found, shares)


def _number(judgments: Judgments, query: Any) -> int:
    """Return the number of a query among the judged ones."""
    if not isinstance(query, str):
        raise BadParameter(f"the query {query!r} must be a string, as ids are: {str(query)!r}.")
    if query not in judgments.index:
        raise BadParameter(f"no query {query!r} in the judgments. {near(str(query), judgments.qids)}")
    return judgments.index[query]
