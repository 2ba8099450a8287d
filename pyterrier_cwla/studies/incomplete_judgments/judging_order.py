"""Order in which documents are judged: the next ones for a comparison, and simulations of several orders.

Question: which unjudged documents should be judged next, so that a comparison of runs is settled with few judgments?

Method: each document is given each grade in turn, all rankings are scored again, and the largest change of a difference
of two runs orders the documents (Carterette, Allan and Sitaraman, 2006; Moffat, Webber and Zobel, 2007). Only pairs
count whose order judgments may still change. The simulation hides the judgments of a collection, reveals them in
several orders, and counts how many are needed until the runs have their final order.

Not to conclude: each change is that of one judgment alone. A settled pair is not a significant one, and an order that
saves judgments in one collection need not save them in the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ...behaviour.clicks.click_models import PredictedRelevance
from ...data.alignment import Judgments
from ...errors import BadJudgments, BadParameter, check_known, check_whole, many, some
from ...evaluation.run_comparison import measures_by_name
from ...files.id_columns import written
from ...files.inputs import loaded
from ...measures.declarations import needs_of
from ...measures.provider import prepare
from ...measures.reference import find
from ...rendering.figures import GREY, axes_of, saved
from ...rendering.numbers import percent
from ...tasks.hashing import fingerprint
from ..correlation import TAUS, parts, rounded, tau
from ..report import About, Finding, Picture, Pictures, Study, Table, Tables, plot_curves, reported
from .missing_judgments import KNEE, NOWHERE, Candidates, best_ranks, judgment_of
from .robustness_study import all_pairs, hash_of_input

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

Array = np.ndarray
DEVIATIONS = 3
"""Standard deviations by which the scores of two runs must differ for their order to count as settled."""
_CELLS = 1 << 22  # differences per chunk


@dataclass(frozen=True, eq=False)
class PairChanges:
    """Changes of mean scores if one document gets a grade.

    Attributes
    ----------
    documents : ndarray of int, shape (n,)
        Documents, as indices of judgments.
    grades : tuple of float
        Grades, the highest last.
    changes : ndarray, shape (grades, n, runs)
        Change of the mean score of each run.
    """

    documents: Array
    grades: tuple[float, ...]
    changes: Array

    @classmethod
    def from_candidates(
        cls, candidates: Candidates, judged: Array, which: Array, grades: Sequence[float]
    ) -> PairChanges:
        """Compute the changes of all documents of the mask ``which`` if those of the mask ``judged`` are judged."""
        topics = candidates.masking.queries
        changes = [candidates.changes(judged, grade, which) / topics for grade in grades]
        return cls(np.flatnonzero(which), tuple(grades), np.stack(changes))

    def sums(self) -> tuple[Array, Array, Array]:
        """Return, for each pair of runs, sums over documents of changes of the difference by the highest grade.

        Returns
        -------
        falls, rises : ndarray, shape (runs, runs)
            Sum of the negative and of the positive changes of the first run's score minus the second run's.
        squares : ndarray, shape (runs, runs)
            Sum of the squared changes.
        """
        runs = self.changes.shape[-1]
        rises, squares = np.zeros((2, runs, runs))
        for part in parts(len(self.documents), _CELLS // runs):
            changes = self.changes[-1, part]
            for run in range(runs):
                apart = changes[:, [run]] - changes
                rises[run] += np.maximum(apart, 0).sum(axis=0)
                squares[run] += (apart * apart).sum(axis=0)
        return -rises.T, rises, squares

    def largest(self, compared: Array) -> tuple[Array, Array, Array, Array]:
        """Return the largest and the mean change of a difference by each document.

        Parameters
        ----------
        compared : ndarray of int, shape (pairs, 2)
            Pairs of runs.

        Returns
        -------
        largest : ndarray, shape (grades, n)
            Largest absolute change of the difference of a pair.
        mean : ndarray, shape (grades, n)
            Mean of the absolute changes over the pairs.
        pair, grade : ndarray of int, shape (n,)
            Index of the pair whose difference changes most, and of the grade by which it does.
        """
        shape = self.changes.shape[:2]
        largest, mean, pair = np.full(shape, -1.0), np.zeros(shape), np.zeros(shape, np.int64)
        for level, of_grade in enumerate(self.changes):
            by_run = np.ascontiguousarray(of_grade.T)
            for number, (first, second) in enumerate(compared):
                apart = np.abs(by_run[first] - by_run[second])
                pair[level, apart > largest[level]] = number
                np.maximum(apart, largest[level], out=largest[level])
                mean[level] += apart
        grade = largest.argmax(axis=0)
        return largest, mean / len(compared), pair[grade, np.arange(len(grade))], grade


def are_open(differences: Array, squares: Array) -> Array:
    """Return whether judgments may still change the order of two runs.

    A document that changes a difference by 0 to δ adds a variance of at most δ²/4. If judgments were independent, the
    standard deviation of what they add would be at most √(Σ δ²)/2. A pair is settled if its difference is larger than
    three times this number. This is a rule to choose documents by, not a test.

    Parameters
    ----------
    differences : ndarray
        Differences of the mean scores.
    squares : ndarray, of the same shape
        Σ δ² over the unjudged documents.
    """
    return np.abs(differences) < DEVIATIONS * np.sqrt(squares) / 2


PAIRS = ("open", "all")
_BATCH = 100  # documents of which the headline reports the share of all changes


@dataclass(frozen=True, eq=False, repr=False)
class NextJudgments(Study):
    """Unjudged documents, ordered by how much their judgment could change a comparison of runs.

    The result of :func:`next_judgments`.

    Attributes
    ----------
    documents : DataFrame
        A row for each unjudged document, the next one to judge first:

        * ``query_id``, ``doc_id``;
        * ``change``: the largest change of the difference between the mean scores of two runs, over all grades that the
          document may get and over the compared pairs;
        * ``first``, ``second``, ``grade``: the pair of runs and the grade of this change;
        * ``mean_change``: the largest mean, over the pairs, of the changes by one grade;
        * ``predicted``, ``expected_change``: with ``predicted=``, the predicted grade (NaN if there is none) and the
          expected value of the largest change;
        * ``runs``, ``best_rank``: number of runs that retrieve the document, and its best rank in them.
    pairs : DataFrame
        A row for each pair of runs: ``first``, ``second``, ``difference`` of the mean scores, ``lowest`` and
        ``highest`` (the difference plus all falls, or all rises, by judgments with the highest grade, within [−1, 1]
        if scores are within [0, 1]: the ends of its range if changes add up), and ``open`` (whether judgments may still
        change the order; see :func:`next_judgments`).
    about : dict
        Settings, sizes and hash of the input.
    """

    about: About
    documents: pd.DataFrame
    pairs: pd.DataFrame
    sought = "documents"

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        return f"Documents to judge next: {sizes_of(self.about)}"

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        return {
            "documents": Table(
                "Documents to judge, the next one first",
                "Changes of the difference between the mean scores of two runs by one more judgment;"
                f" {self._compared}.",
                self.documents,
            ),
            "pairs": Table(
                "Pairs of runs",
                "Difference of the mean scores by the present judgments, and how far judgments of the highest grade"
                " could move it: the sum of the changes by single judgments, at most as far as the measure can reach."
                f" Judgments of several documents of a topic can add less than this sum. {sizes_of(self.about)}.",
                self.pairs,
            ),
        }

    @property
    def _compared(self) -> str:
        return f"{many(self.about['pairs_compared'], 'pair')} of runs compared; {sizes_of(self.about)}"

    @property
    def _changing(self) -> int:
        """Number of documents that can change a comparison."""
        return int((self.documents["change"] > 0).sum())

    def covered(self) -> pd.DataFrame:
        """Return the share of the sum of all changes that the first documents have, in this order and by best rank.

        Returns
        -------
        DataFrame
            A row for each number of judgments, with the columns ``judgments``, ``this_order`` and ``by_best_rank``.
        """
        change = self.documents["change"].to_numpy()
        by_rank = np.argsort(self.documents["best_rank"].to_numpy(), kind="stable")
        total = max(float(change.sum()), np.finfo(float).tiny)
        columns = {"this_order": change, "by_best_rank": change[by_rank]}
        shares = {name: np.append(0.0, np.cumsum(values)) / total for name, values in columns.items()}
        return pd.DataFrame({"judgments": np.arange(len(change) + 1), **shares})

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        about = f"Shares of the sum of the largest changes of all unjudged documents; {self._compared}."
        drawn = partial(plot_possible_changes, self)
        return {"changes": Picture("Possible changes by the number of judgments", about, drawn, self.covered())}

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        if not self._changing:
            return f"No unjudged document can change a comparison of these runs by {self.about['measure']}."
        first = self.documents.iloc[0]
        return (
            f"Judge {first.doc_id} for topic {first.query_id} first: grade {first.grade:g} would change the difference"
            f" between {first['first']} and {first.second} by {first.change:.4f}."
        )

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        number, still = len(self.documents), self.pairs["open"].sum()
        said = [
            f"{self._changing:,} of {many(number, 'unjudged document')} can change a comparison.",
            f"The order of {still:,} of {many(len(self.pairs), 'pair')} of runs is open: the difference is less than"
            f" {DEVIATIONS} times the standard deviation that independent judgments could add.",
        ]
        if not still:
            said.append("All pairs are compared.")
        if self._changing:
            at = min(_BATCH, number)
            _, this_order, by_rank = self.covered().iloc[at]
            first = (
                f"The first {many(at, 'document')} of this order have {percent(this_order, 0)} of the possible changes,"
                f" and the first by best rank {percent(by_rank, 0)}."
            )
            said.insert(0, Finding(first, "changes"))
        return said

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        said = [
            "Each change is that of one judgment alone: choose anew after each batch of judgments.",
            "Documents of no given run have no place in this order; a new run needs judgments of its own.",
            "That a pair is settled is a rule to choose documents by, not a test of significance.",
        ]
        if "predicted" in self.documents and (without := int(self.documents["predicted"].isna().sum())):
            said.append(f"{many(without, 'document')} without a predicted grade come last, by their largest change.")
        return said


def sizes_of(about: About) -> str:
    """Format the measure and the numbers of runs and topics."""
    return f"{about['measure']}, {many(about['runs'], 'run')}, {many(about['queries'], 'topic')}"


@reported("baseline pairs depth topics")
def next_judgments(
    qrels: Any,
    runs: Any,
    measure: Any,
    *,
    baseline: str | None = None,
    pairs: str = "open",
    predicted: Any = None,
    depth: int | None = None,
    topics: str = "judged",
    max_rel: float | None = None,
) -> NextJudgments:
    """Order unjudged documents by how much their judgment could change a comparison of runs.

    Let M_a be the mean score of run a, and M_a(d, g) the mean score after document d is judged with grade g. The change
    of the difference of runs a and b is

        δ_ab(d, g) = [M_a(d, g) − M_b(d, g)] − [M_a − M_b].

    Each M(d, g) is computed by scoring the rankings with this judgment. For a sum of gains over weights of ranks,
    M_a(d, g) − M_a is the weight that the residual of run a gives to d, times the gain. The documents are ordered by

        change(d) = max over g and pairs (a, b) of abs(δ_ab(d, g)).

    Documents at equal ranks of all runs have change 0: their judgment changes scores but no comparison.

    Parameters
    ----------
    qrels, runs
        As :func:`compare` takes them: at least two runs by name. Documents with a grade below 0 count as unjudged.
    measure : Measure, str, or dict of one by name
        Measure computed here that is a mean over topics (or a geometric mean, whose logarithms are compared).
    baseline : str, optional
        Name of the run that the others are compared with; by default all pairs are compared.
    pairs : {"open", "all"}, default="open"
        Pairs to compare: those whose order judgments may still change, or all. A pair is open if
        abs(M_a − M_b) < 3·√(Σ_d δ_ab(d)²)/2, with the highest grade in δ. If no pair is open, all are compared.
    predicted : PredictedRelevance, DataFrame, dict or path, optional
        Prediction of :meth:`ClickModel.predicted`, or predicted grades of unjudged documents in the form of judgments,
        also decimal ones. A grade of 1.3 is grade 1 with probability 0.7 and grade 2 with probability 0.3. Documents
        are then ordered by the expected value of the largest change; those without a prediction come last.
    depth : int from 1, optional
        Number of ranks of a run whose documents are listed; by default all.
    topics : {"judged", "all"}, default="judged"
        Whether topics without any judgment are included. They score 0 now and count in the means.
    max_rel : float, optional
        Highest grade that a document may get; by default that of the measure, if it has the parameter ``max_rel``, else
        the highest grade of the judgments.

    Returns
    -------
    NextJudgments

    Raises
    ------
    BadParameter
        If there are fewer than two runs, the measure is a sum over topics, needs intents, has parameters by topic or an
        ideal that depends on the lengths or costs of documents, or if a parameter is out of range.
    BadJudgments
        If no topic is judged (with ``topics="judged"``), or a predicted grade is above the highest grade.

    References
    ----------
    Moffat, Webber and Zobel (2007), who choose documents by the residuals of runs; Carterette, Allan and Sitaraman
    (2006), who choose them by their effect on differences of runs.

    Examples
    --------
    >>> qrels = {"1": {"a": 1, "b": 0}}
    >>> runs = {"A": {"1": {"a": 3.0, "c": 2.0, "d": 1.0}}, "B": {"1": {"b": 3.0, "c": 2.0, "e": 1.0, "d": 0.5}}}
    >>> found = next_judgments(qrels, runs, "RBP(rel=1,p=0.5)")
    >>> found.documents[["query_id", "doc_id", "change", "first", "second", "grade", "runs", "best_rank"]]
      query_id doc_id  change first second  grade  runs  best_rank
    0        1      e  0.1250     A      B    1.0     1          3
    1        1      d  0.0625     A      B    1.0     2          3
    2        1      c  0.0000     A      B    1.0     2          2
    """
    if pairs not in PAIRS:
        raise BadParameter(": give 'open' or 'all'.", pairs=pairs)
    if depth is not None:
        check_whole(1, depth=depth)
    name, wanted = one_measure(measure)
    candidates = Candidates.from_runs(qrels, runs, wanted, topics, max_rel)
    which = candidates.unjudged & (best_ranks(candidates.masking.whole) <= (depth or NOWHERE - 1))
    changes = PairChanges.from_candidates(candidates, candidates.judged, which, grades_of(candidates))
    means = candidates.scores(candidates.judged).mean(axis=1)
    of_pairs, compared = _pairs(candidates, means, changes, baseline, pairs)
    documents = _documents(candidates, changes, compared)
    if predicted is not None:
        documents = _with_predictions(documents, changes, candidates, predicted, qrels, compared)
    about = {
        "measure": name,
        "measures": {name: repr(wanted)},
        "runs": len(candidates.masking.runs),
        "queries": candidates.masking.queries,
        "judgments": int((~candidates.unjudged).sum()),
        "highest_grade": candidates.top,
        "pairs_compared": len(compared),
        "input": fingerprint(hash_of_input(candidates.masking), candidates.judged),
    }
    return NextJudgments(about, _ordered(documents), of_pairs)


def one_measure(measure: Any) -> tuple[str, Measure]:
    """Return the name and the measure of a text, a measure, or a dict of one measure by name."""
    named = measures_by_name(measure if isinstance(measure, Mapping) else [measure])
    if len(named) > 1:
        raise BadParameter(f"one measure orders the documents, not {len(named)}: {some(named)}.")
    return next(iter(named.items()))


def grades_of(candidates: Candidates) -> tuple[float, ...]:
    """Return the whole grades that a document may get, and the highest one; 0 only if it can change scores."""
    lowest = 0 if needs_of(candidates.measure).all_judged else 1
    return (*map(float, range(lowest, int(np.ceil(candidates.top)))), candidates.top)


def _pairs(
    candidates: Candidates, means: Array, changes: PairChanges, baseline: str | None, pairs: str
) -> tuple[pd.DataFrame, Array]:
    """Return the table of pairs, and the pairs to compare."""
    runs = candidates.masking.runs
    which = all_pairs(len(runs))
    if baseline is not None:
        check_known("run", runs, baseline=baseline)
        own = runs.index(baseline)
        which = np.array([(own, other) for other in range(len(runs)) if other != own])
    table, compared = _compared(which, means, changes, pairs)
    if find(str(candidates.measure))[0].range == "[0, 1]" and "gain" not in candidates.measure.params:
        table[["lowest", "highest"]] = table[["lowest", "highest"]].clip(-1, 1)
    names = pd.DataFrame(np.array(runs, object)[which], columns=["first", "second"])
    return pd.concat([names, table], axis=1), compared


def _compared(which: Array, means: Array, changes: PairChanges, pairs: str) -> tuple[pd.DataFrame, Array]:
    """Return the differences of pairs of runs, and the pairs to compare: all, or the open ones if there are any."""
    first, second = which.T
    falls, rises, squares = (sums[first, second] for sums in changes.sums())
    difference = means[first] - means[second]
    still = are_open(difference, squares)
    columns = {"difference": difference, "lowest": difference + falls, "highest": difference + rises, "open": still}
    return pd.DataFrame(columns), which[still] if pairs == "open" and still.any() else which


def _documents(candidates: Candidates, changes: PairChanges, compared: Array) -> pd.DataFrame:
    """Return the table of the documents, in the order of the judgments."""
    masking, whole = candidates.masking, candidates.masking.whole
    query, doc = ids_of(masking.judgments, changes.documents)
    largest, mean, pair, grade = changes.largest(compared)
    names = np.array(masking.runs, object)
    first, second = names[compared[pair]].T
    retrieved = np.bincount(judgment_of(whole), minlength=len(candidates.judged))
    return pd.DataFrame(
        {
            "query_id": query,
            "doc_id": doc,
            "change": rounded(largest.max(axis=0)),
            "first": first,
            "second": second,
            "grade": np.array(changes.grades)[grade],
            "mean_change": rounded(mean.max(axis=0)),
            "runs": retrieved[changes.documents],
            "best_rank": best_ranks(whole)[changes.documents],
        }
    )


def ids_of(judgments: Judgments, documents: Array) -> tuple[list[str], list[str]]:
    """Return the ids of the topics and documents of some judgments."""
    columns = judgments.columns.taken(judgments.pool.rows[documents])
    return columns.query_id.to_pylist(), columns.doc_id.to_pylist()


def _with_predictions(
    documents: pd.DataFrame, changes: PairChanges, candidates: Candidates, predicted: Any, qrels: Any, compared: Array
) -> pd.DataFrame:
    """Return the table with the predicted grades and the expected values of the largest changes."""
    if isinstance(predicted, PredictedRelevance):
        predicted = predicted.judgments(qrels)
    columns = prepare(loaded(predicted, "qrels")).columns
    keys = zip(written(columns.query_id).to_pylist(), written(columns.doc_id).to_pylist())
    grade_of = dict(zip(keys, np.maximum(columns.value, 0).tolist()))
    keys = zip(documents["query_id"], documents["doc_id"])
    grade = np.array([grade_of.get(key, np.nan) for key in keys], float)
    if (too_high := np.flatnonzero(grade > candidates.top)).size:
        row = documents.iloc[too_high[0]]
        raise BadJudgments(
            f"predicted: topic {row.query_id!r}: {row.doc_id!r} has grade {grade[too_high[0]]:g}, above the highest"
            f" grade, {candidates.top:g}. Correct the prediction, or give max_rel=."
        )
    grades, largest = np.array(changes.grades), changes.largest(compared)[0]
    if grades[0] > 0:
        grades, largest = np.append(0.0, grades), np.pad(largest, ((1, 0), (0, 0)))
    expected = [np.interp(own, grades, by_grade) for own, by_grade in zip(grade, largest.T)]
    at = documents.columns.get_loc("runs")
    documents.insert(at, "predicted", grade)
    documents.insert(at + 1, "expected_change", rounded(expected))
    return documents


def _ordered(documents: pd.DataFrame) -> pd.DataFrame:
    rising = {"expected_change": False, "change": False, "mean_change": False, "best_rank": True}
    by = [name for name in rising if name in documents]
    return documents.sort_values(by, ascending=[rising[name] for name in by], kind="stable", ignore_index=True)


def plot_possible_changes(study: NextJudgments, ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the share of all possible changes that the first documents have, in this order and by best rank.

    :meth:`NextJudgments.covered` returns the numbers.

    Parameters
    ----------
    study : NextJudgments
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax, (7, 3.4))
    data = study.covered()
    names = {"this order": "this_order", "by best rank": "by_best_rank"}
    curves = {name: (data["judgments"].to_numpy(), 100 * data[column].to_numpy()) for name, column in names.items()}
    title = f"Possible changes by the number of judgments · {sizes_of(study.about)}"
    return saved(plot_curves(ax, curves, title, xlabel="documents judged", ylabel="possible changes (%)"), path)


Order = Callable[[Array, Array], Array]
"""A function from masks of the judged and of the hidden documents to the hidden documents, the next one first."""
ORDERS = ("open", "all", "rank", "random")
_WORDS = {"open": "changes of open pairs", "all": "changes of all pairs", "rank": "best rank", "random": "random"}


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedJudging(Study):
    """Order of runs after each number of judgments, for several orders of judging.

    The result of :func:`simulated_judging`.

    Attributes
    ----------
    steps : DataFrame
        A row for each order of judging and number of judgments: ``order``, ``judgments``, ``tau`` to the order of runs
        by all judgments, and ``different_pairs``, the number of pairs of runs that are in another order, or tie in one
        of both orders alone.
    needed : DataFrame
        A row for each order of judging: the judgments after which τ stays above 0.9 (``knee``), and those after which
        the order of runs stays that by all judgments (``same_order``).
    about : dict
        Settings, sizes and hash of the input.
    """

    about: About
    steps: pd.DataFrame
    needed: pd.DataFrame

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        return f"Simulated judging: {sizes_of(self.about)}"

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        of = f"{self.about['judgments']:,} judgments of documents of these runs; {sizes_of(self.about)}."
        tau = f"{TAUS[self.about['tau']]} to the order by all judgments; {of}"
        return {
            "needed": Table("Judgments needed", f"In steps of {self.about['batch']:,}, of {of}", self.needed),
            "steps": Table("Order of runs", tau, self.steps),
        }

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        about = f"{TAUS[self.about['tau']]} to the order of runs by all judgments; {sizes_of(self.about)}."
        drawn = partial(plot_judging, self)
        return {"steps": Picture("Order of runs by the number of judgments", about, drawn, self.steps)}

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        rows = list(self.needed.itertuples())
        best = min(rows, key=lambda row: (row.same_order, row.knee))
        others = ", ".join(f"{row.same_order:,} by {row.order}" for row in rows if row is not best)
        return (
            f"The order of runs by all {self.about['judgments']:,} judgments needs {best.same_order:,} judgments if"
            f" documents are judged by {best.order}{'; ' if others else ''}{others}."
        )

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        kind = TAUS[self.about["tau"]]
        knees = ", ".join(f"{row.knee:,} by {row.order}" for row in self.needed.itertuples())
        return [Finding(f"{kind} stays above {KNEE} from these numbers of judgments on: {knees}.", "steps")]

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        return [
            "Documents without a judgment in this collection cannot be judged in the simulation.",
            "A collection that was pooled by depth has judgments where that order asks for them.",
            "That the order stays the same is known only because all judgments are.",
        ]


@reported("batch tau seed")
def simulated_judging(
    qrels: Any,
    runs: Any,
    measure: Any,
    *,
    orders: Sequence[str] = ORDERS,
    batch: int = 100,
    tau: str = "b",
    seed: int = 0,
) -> SimulatedJudging:
    """Hide judgments, reveal them in several orders, and compare the order of runs with that by all judgments.

    Judgments of documents that a run retrieves are hidden at first. Those of other documents are never hidden: they
    are the same for all orders.

    Parameters
    ----------
    qrels, runs, measure
        As for :func:`next_judgments`.
    orders : sequence of {"open", "all", "rank", "random"}
        Orders of judging, by default all four:

        * "open", "all": by the largest changes of differences of runs, as :func:`next_judgments` computes them for open
          pairs and for all pairs; computed anew after each batch;
        * "rank": by the best rank in any run, as in a pool that is judged to depth 1, then 2, and so on; documents of
          one rank in random order;
        * "random": in random order.
    batch : int, default=100
        Number of judgments between two comparisons.
    tau : {"a", "b", "ap", "ap_symmetric"}, default="b"
        Kind of τ; 0 where it is not defined, because all runs tie.
    seed : int, default=0
        Seed of the random orders.

    Returns
    -------
    SimulatedJudging

    Raises
    ------
    BadParameter
        As :func:`next_judgments`, or if there is no such order or kind of τ.
    BadJudgments
        If no retrieved document is judged.

    References
    ----------
    Moffat, Webber and Zobel (2007); Zobel (1998) for pools by depth.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(2)
    >>> qrels = {str(q): {f"d{d}": int(rng.random() < 0.2) for d in range(60)} for q in range(8)}
    >>> def run(noise):
    ...     scored = {q: {d: g + noise * rng.normal() for d, g in judged.items()} for q, judged in qrels.items()}
    ...     return {q: dict(sorted(of.items(), key=lambda pair: -pair[1])[:15]) for q, of in scored.items()}
    >>> runs = {name: run(noise) for name, noise in {"A": 1.0, "B": 1.4, "C": 2.0, "D": 3.0}.items()}
    >>> simulated_judging(qrels, runs, "RBP(rel=1)", batch=10).needed
                       order  knee  same_order
    0  changes of open pairs   140         140
    1   changes of all pairs   180         180
    2              best rank   180         180
    3                 random   330         330
    """
    if not orders:
        raise BadParameter(f"orders is empty: give at least one of {', '.join(ORDERS)}.")
    for order in orders:
        check_known("order of judging", ORDERS, order=order)
    check_known("kind of τ", TAUS, tau=tau)
    check_whole(1, batch=batch)
    check_whole(0, seed=seed)
    name, wanted = one_measure(measure)
    candidates = Candidates.from_runs(qrels, runs, wanted)
    hidden = ~candidates.unjudged & (best_ranks(candidates.masking.whole) < NOWHERE)
    if not hidden.any():
        raise BadJudgments("no document of these runs is judged, so that there is nothing to reveal.")
    full = rounded(candidates.scores(~candidates.unjudged).mean(axis=1))
    ways = _orders(candidates, seed)
    parts = []
    for order in dict.fromkeys(orders):
        means = [candidates.scores(judged).mean(axis=1) for judged in _revealed(candidates, hidden, ways[order], batch)]
        parts.append(_steps(_WORDS[order], np.array(means), full, int(hidden.sum()), batch, tau))
    steps = pd.concat(parts, ignore_index=True)
    about = {
        "measure": name,
        "measures": {name: repr(wanted)},
        "runs": len(full),
        "queries": candidates.masking.queries,
        "judgments": int(hidden.sum()),
        "input": fingerprint(hash_of_input(candidates.masking), candidates.judged),
    }
    return SimulatedJudging(about, steps, _needed(steps))


def _revealed(candidates: Candidates, hidden: Array, order: Order, batch: int) -> Iterator[Array]:
    """Yield masks of the judged documents: none of the hidden ones, one batch more each time, and all."""
    judged = ~candidates.unjudged & ~hidden
    while True:
        yield judged
        left = hidden & ~judged
        if not left.any():
            return
        judged = judged.copy()
        judged[order(judged, left)[:batch]] = True


def _orders(candidates: Candidates, seed: int) -> dict[str, Order]:
    drawn = np.random.default_rng(seed).random(len(candidates.judged))
    best = best_ranks(candidates.masking.whole)

    def by(*keys: Array) -> Order:
        def order(judged: Array, left: Array) -> Array:
            documents = np.flatnonzero(left)
            return documents[np.lexsort([key[documents] for key in keys])]

        return order

    def by_changes(pairs: str) -> Order:
        which, grades = all_pairs(len(candidates.masking.runs)), grades_of(candidates)

        def order(judged: Array, left: Array) -> Array:
            changes = PairChanges.from_candidates(candidates, judged, left, grades)
            means = candidates.scores(judged).mean(axis=1)
            compared = _compared(which, means, changes, pairs)[1] if pairs == "open" else which
            largest, mean, *_ = changes.largest(compared)
            keys = [-rounded(values.max(axis=0)) for values in (mean, largest)]
            return changes.documents[np.lexsort([best[changes.documents], *keys])]

        return order

    return {"open": by_changes("open"), "all": by_changes("all"), "rank": by(drawn, best), "random": by(drawn)}


def _steps(order: str, means: Array, full: Array, judgments: int, batch: int, kind: str) -> pd.DataFrame:
    """Return a row for each number of judgments."""
    number = np.minimum(np.arange(len(means)) * batch, judgments)
    tau_of = np.nan_to_num(tau(means, full[None], kind))
    first, second = all_pairs(len(full)).T
    signs, by_all = (np.sign(of[..., first] - of[..., second]) for of in (rounded(means), full))
    different = (signs != by_all).sum(axis=-1)
    return pd.DataFrame({"order": order, "judgments": number, "tau": tau_of, "different_pairs": different})


def _needed(steps: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of judgments from which on two conditions hold; the last number at the latest."""
    rows = []
    for order, own in steps.groupby("order", sort=False):
        row = {"order": order}
        for name, reached in (("knee", own["tau"] > KNEE), ("same_order", own["different_pairs"] == 0)):
            first = max(np.flatnonzero(~reached), default=-1) + 1
            row[name] = int(own["judgments"].iloc[min(first, len(own) - 1)])
        rows.append(row)
    return pd.DataFrame(rows)


def plot_judging(study: SimulatedJudging, ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot τ to the order of runs by all judgments, over the number of judgments.

    Parameters
    ----------
    study : SimulatedJudging
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax, (7, 3.4))
    by_order = study.steps.groupby("order", sort=False)
    curves = {name: (rows["judgments"].to_numpy(), rows["tau"].to_numpy()) for name, rows in by_order}
    ax.axhline(KNEE, color=GREY, linewidth=0.7, zorder=2.1)
    title = f"Order of runs by the number of judgments · {sizes_of(study.about)}"
    ylabel = f"{TAUS[study.about['tau']]} to the order by all judgments"
    return saved(plot_curves(ax, curves, title, xlabel="documents judged", ylabel=ylabel), path)
