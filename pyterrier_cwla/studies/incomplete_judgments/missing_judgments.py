"""Scores and orders of runs when a part of the judgments is missing, and their possible changes.

Question: how do scores and orders change if these judgments are removed, and how far could they change?

Method: the documents of all runs are looked up once; a level of removal is a mask of them, and all runs and levels are
scored together.

Not to conclude: what is removed at random says little of judgments that a pool lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from ir_measures.measures import Measure

from ...data.alignment import Aligned, Judgments
from ...data.columns import Columns, run_columns
from ...data.rankings import Pool, Rankings
from ...errors import BadJudgments, BadParameter, BadRun, many, naming, some
from ...evaluation.streaming import separate_runs
from ...files.id_columns import written
from ...files.inputs import loaded
from ...measures.declarations import metric_of, needs_of
from ...measures.provider import CWLAEvaluator, aggregate_of, prepare
from ...measures.wrappers import innermost_measures, layers, pinned
from ...model.metric import Metric
from ...rendering.numbers import percent
from ..correlation import kendall_distance, parts, percentiles, tau

Array = np.ndarray

#: Shares of judgments that are kept, as in Buckley and Voorhees (2004).
FRACTIONS = tuple(percent / 100 for percent in (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100))
LEAST = {"relevant": 1, "non-relevant": 10}
"""Minimum numbers of a topic's judgments that are kept at every fraction, if available; bpref needs them."""
NOWHERE = np.iinfo(np.int64).max
"""Best rank of a document that no run has."""


@dataclass(frozen=True)
class Fractions:
    """Random shares of each topic's judgments; each share is a subset of the next."""

    levels: tuple[Any, ...]
    random = True
    few = 0.1  # highest of the low levels
    axis = "judgments that are kept (%)"
    at = "With {} of the judgments"

    def __post_init__(self) -> None:
        shares = {*map(_fraction, self.levels), Fraction(1)}
        object.__setattr__(self, "levels", tuple(map(float, sorted(shares))))

    def kept(self, query: Array, grade: Array, first: Array, seed: Any) -> Array:
        """Return a mask [levels × judgments] of the kept judgments.

        The relevant and the non-relevant judgments of each topic are permuted at random; the first max(1, ⌊fR⌋) and
        max(10, ⌊fN⌋) are kept. Grades below 0 are not judgments and are always kept. ``seed`` may be a generator; it is
        drawn from once for each judgment, for any number of levels.
        """
        kind = 3 * query + np.sign(grade).astype(int) + 1
        order = np.lexsort((np.random.default_rng(seed).random(len(kind)), kind))
        sizes = np.bincount(kind, minlength=3)
        place = np.empty(len(kind), np.int64)
        place[order] = np.arange(len(kind)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        most = np.array([share.numerator * sizes // share.denominator for share in map(_fraction, self.levels)])
        most[:, 0::3] = len(kind)
        most[:, 1::3] = np.maximum(most[:, 1::3], LEAST["non-relevant"])
        most[:, 2::3] = np.maximum(most[:, 2::3], LEAST["relevant"])
        return place < most[:, kind]

    def says(self, level: float) -> str:
        """Format a level."""
        return percent(level)


@dataclass(frozen=True)
class Depths:
    """Judgments of documents that the given runs have in their first k ranks, for several k; the last level has all."""

    levels: tuple[Any, ...]
    random = False
    few = 10
    axis = "depth of the pool (documents per run)"
    at = "With a pool of {}"

    def __post_init__(self) -> None:
        for depth in self.levels:
            if not isinstance(depth, int | np.integer) or depth < 1:
                raise BadParameter(f"depth {depth!r} must be a whole number of documents, 1 or more.")
        object.__setattr__(self, "levels", (*sorted({*map(float, self.levels)}), np.inf))

    def kept(self, query: Array, grade: Array, first: Array, seed: Any) -> Array:
        """Return a mask [levels × judgments]: whether ``first``, the best rank of a document, is at most k."""
        return first <= np.array(self.levels)[:, None]

    def says(self, level: float) -> str:
        """Format a level."""
        return "all" if np.isinf(level) else f"depth {level:g}"


def _fraction(level: Any) -> Fraction:
    """Return a share exactly as written: 0.29 is 29/100, not the nearest float."""
    try:
        share = Fraction(str(level))
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share <= 1:
        raise BadParameter(f"the fraction {level!r} must be a number above 0 and up to 1, such as 0.3.")
    return share


def f_qrels(qrels: Any, fraction: float, seed: int = 0) -> pd.DataFrame:
    """Return a random share of the judgments of each topic: the f-qrels of Buckley and Voorhees.

    The R relevant judgments (grades above 0) and the N non-relevant judgments (grade 0) of a topic are permuted at
    random. The first max(1, ⌊fR⌋) relevant and the first max(10, ⌊fN⌋) non-relevant judgments are kept, or all if there
    are fewer. (In the paper, max is misprinted as min.) f is used exactly as written: 0.29 keeps 29 of 100. Grades
    below 0 are not judgments and are kept. With the same judgments and seed, the judgments of a smaller fraction are a
    subset of those of a larger one.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or path
        Judgments in any form.
    fraction : float in (0, 1]
        Share f of the judgments.
    seed : int, default=0
        Seed of the permutations. They also depend on the order of the rows.

    Returns
    -------
    DataFrame
        Rows of the given frame, or a frame with query_id, doc_id and relevance.

    Raises
    ------
    BadParameter
        If the fraction is out of range.
    BadJudgments
        If a document is judged twice for a topic, for example for several intents.

    References
    ----------
    Buckley and Voorhees (2004), section 3; Bompada et al. (2007), section 4.1.

    Examples
    --------
    >>> qrels = {"q": {f"d{number:02}": int(number < 20) for number in range(60)}}
    >>> f_qrels(qrels, 0.3).relevance.value_counts().to_dict()
    {0: 12, 1: 6}
    >>> f_qrels(qrels, 0.01).relevance.value_counts().to_dict()
    {0: 10, 1: 1}
    """
    judgments = plain_judgments(qrels)
    holes = Fractions((_fraction(fraction),))
    pool = judgments.pool
    stays = holes.kept(pool.query, pool.grade, pool.query, seed)[0]
    rows = np.sort(judgments.pool.rows[stays])
    if isinstance(qrels, pd.DataFrame) and len(qrels) == len(stays):
        return qrels.iloc[rows]
    columns = judgments.columns
    ids = {"query_id": columns.query_id.to_pylist(), "doc_id": columns.doc_id.to_pylist()}
    return pd.DataFrame({**ids, "relevance": columns.value}).iloc[rows].reset_index(drop=True)


def plain_judgments(qrels: Any) -> Judgments:
    """Return judgments in which each pair of topic and document occurs once."""
    judgments = prepare(loaded(qrels, "qrels"))
    judgments.side(all_judged=True)  # raises an error if a pair is judged twice
    return judgments


def lacking(judgments: Judgments) -> list[str]:
    """Return the topics that fail bpref's condition: at least 1 relevant and 10 non-relevant judgments."""
    pool = judgments.pool
    relevant, others = (
        np.bincount(pool.query[which], minlength=pool.queries) for which in (pool.grade > 0, pool.grade == 0)
    )
    fails = (relevant < LEAST["relevant"]) | (others < LEAST["non-relevant"])
    return [judgments.qids[query] for query in np.flatnonzero(fails)]


def checked_groups(groups: Mapping[str, Any], runs: Sequence[str]) -> tuple[Array, list[str]]:
    """Return the number of the group of each run, and the names of the groups; every run must have a group."""
    without = [run for run in runs if pd.isna(groups.get(run))]
    if without:
        raise BadParameter(
            f"{some(without)} {'has' if len(without) == 1 else 'have'} no group: groups= must name one for each run."
        )
    group, names = pd.factorize(np.array([str(groups[run]) for run in runs], object))
    if len(names) < 2:
        raise BadParameter(f"all runs are in one group, {names[0]!r}: give two or more groups.")
    return group, list(names)


def without_group(has: Array, group: Array, groups: int) -> Array:
    """Return a mask [groups × judgments] of the judgments kept without the documents that only this group has.

    Judgments of documents that no run has are kept.

    Parameters
    ----------
    has : ndarray of bool, shape (runs, judgments)
        Whether a run has the document at a rank that contributes to the pool.
    group : ndarray of int, shape (runs,)
        Number of the group of each run.
    groups : int
        Number of groups.
    """
    by_group = np.stack([has[group == number].any(axis=0) for number in range(groups)])
    return ~(by_group & (by_group.sum(axis=0) == 1))


KNEE = 0.9
"""Value of τ above which orders are considered equivalent (Voorhees, 2001)."""


@dataclass(frozen=True, eq=False)
class ByLevel:
    """Levels of judgments and names of measures, for tables of what is computed for each of both."""

    levels: tuple[float, ...]
    measures: list[str]

    def apart(self, values: Array, first: str, second: str) -> Array:
        """Return values [… × measures] of the first measure minus those of the second."""
        return values[..., self.measures.index(first)] - values[..., self.measures.index(second)]

    def rows(self, columns: Mapping[str, Array]) -> pd.DataFrame:
        """Return a row for each level and measure, from columns [levels × measures]."""
        index = pd.MultiIndex.from_product([self.levels, self.measures], names=["level", "measure"])
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index).reset_index()

    def compared(self, difference: Array, low: Array, high: Array) -> pd.DataFrame:
        """Return a row for each level but the last: a difference, its interval, and the verdict if it is above 0."""
        verdict = np.select([low > 0, high < 0], ["yes", "no"], "undecided")
        columns = {"level": self.levels, "difference": difference, "low": low, "high": high, "verdict": verdict}
        return pd.DataFrame(columns).iloc[:-1]


@dataclass(frozen=True, eq=False)
class Orders(ByLevel):
    """Orders of runs at each level of judgments.

    Attributes
    ----------
    scores : ndarray, shape (seeds, levels, measures, runs, queries)
        Scores; the last level has all judgments.
    resampled : ndarray, shape (resamples, levels, measures)
        τ of resampled topics and judgment samples.
    undefined : ndarray, shape (resamples, levels, measures)
        Number of seeds for which τ is not defined because all runs tie. Means and intervals leave out these values.
    kind : str
        Kind of τ.
    confidence : float
        Level of the intervals.
    """

    scores: Array
    resampled: Array
    undefined: Array
    kind: str
    confidence: float

    @cached_property
    def means(self) -> Array:
        """Means over queries [seeds × levels × measures × runs]."""
        return self.scores.mean(axis=-1)

    @cached_property
    def by_seed(self) -> Array:
        """τ to the order by all judgments [seeds × levels × measures]."""
        return tau(self.means, self.means[:1, -1:], self.kind)

    @cached_property
    def tau(self) -> Array:
        """Mean of τ over the seeds [levels × measures]."""
        return mean_of_known(self.by_seed, axis=0)

    @property
    def tied(self) -> Array:
        """Share of pairs of runs that tie by all judgments, for each measure."""
        full = self.means[0, -1]
        return 1 - np.nan_to_num(tau(full, full, "a"))

    def interval(self, of: Array, resampled: Array) -> tuple[Array, Array]:
        """Return ends of intervals around values, by resamples [resamples × …]."""
        return centred_interval(of, resampled, self.confidence)

    def table(self) -> pd.DataFrame:
        """Return a row for each level and measure: τ, its interval and range over seeds, τ_a, τ_b, discordant pairs."""
        low, high = self.interval(self.tau, self.resampled)
        truth = self.means[:1, -1:]
        columns = {
            "tau": self.tau,
            "low": np.maximum(low, -1),
            "high": np.minimum(high, 1),
            "lowest_seed": np.fmin.reduce(self.by_seed),
            "highest_seed": np.fmax.reduce(self.by_seed),
            **{f"tau_{kind}": mean_of_known(tau(self.means, truth, kind), axis=0) for kind in ("a", "b")},
            "discordant_pairs": kendall_distance(self.means, truth, tied=0.0).mean(axis=0),
        }
        return self.rows(columns)

    def above(self, first: str, second: str) -> pd.DataFrame:
        """Compare two measures: the difference of τ at each level, with interval and verdict.

        The verdict is "undecided" if the interval of the difference contains 0. Both measures share the same resamples.
        """
        difference = self.apart(self.tau, first, second)
        return self.compared(difference, *self.interval(difference, self.apart(self.resampled, first, second)))

    def mean_above(self, first: str, second: str, most: float) -> tuple[float, float, float]:
        """Return the difference of mean τ over the levels up to ``most``, and the ends of its interval."""
        some = np.array(self.levels) <= most
        difference, resampled = (
            mean_of_known(self.apart(of, first, second)[..., some]) for of in (self.tau, self.resampled)
        )
        low, high = self.interval(difference, resampled)
        return float(difference), float(low), float(high)

    def knees(self) -> pd.DataFrame:
        """Return the smallest level with τ above 0.9 for each measure, with its interval and its range over seeds."""
        centred = self.resampled - mean_of_known(self.resampled, axis=0) + self.tau
        ends = [(1 - self.confidence) / 2, (1 + self.confidence) / 2]
        low, high = np.full((2, len(self.measures)), np.nan)
        for number, drawn in enumerate(np.moveaxis(centred, -1, 0)):
            defined = drawn[~np.isnan(drawn[:, -1])]  # undefined if all judgments tie all runs
            if len(defined):  # quantiles are levels or ∞, without interpolation
                low[number], high[number] = np.quantile(knee(self.levels, defined), ends, method="inverted_cdf")
        return knee_table(self.levels, self.measures, self.tau, self.by_seed).assign(low=low, high=high)


def mean_of_known(values: Array, axis: int = -1) -> Array:
    """Return the mean of the values that are not NaN; NaN if all are.

    Examples
    --------
    >>> mean_of_known(np.array([[1, np.nan, 2], [np.nan, np.nan, np.nan]])).tolist()
    [1.5, nan]
    """
    with np.errstate(invalid="ignore"):
        return np.nansum(values, axis=axis) / (~np.isnan(values)).sum(axis=axis)


def centred_interval(of: Array, resampled: Array, confidence: float) -> tuple[Array, Array]:
    """Return ends of intervals: the values plus the deviations of the resamples [resamples × …] from their own mean.

    The mean of the resamples is not an estimate of the value, because topics drawn twice bias it slightly. In
    simulations of 40 runs and 30 topics, intervals of 95 % contained the true τ in 94 to 98 of 100 cases, and those
    of differences of τ in 97 to 99.
    """
    low, high = percentiles(resampled.reshape(len(resampled), -1).T, confidence).reshape(2, *np.shape(of))
    centre = mean_of_known(resampled, axis=0)
    return of + np.minimum(low - centre, 0), of + np.maximum(high - centre, 0)


def knee(levels: tuple[float, ...], curves: Array) -> Array:
    """Return the smallest level at which curves [… × levels] exceed 0.9; ∞ if none does, NaN if all values are NaN.

    Examples
    --------
    >>> knee((0.1, 0.5, 1.0), np.array([[0.95, 0.9, 1.0], [0.5, 0.9, 1.0]])).tolist()
    [0.1, 1.0]
    """
    above = curves > KNEE + 1e-12
    found = np.where(above.any(axis=-1), np.array(levels)[above.argmax(axis=-1)], np.inf)
    return np.where(np.isnan(curves).all(axis=-1), np.nan, found)


def knee_table(levels: tuple[float, ...], measures: list[str], curve: Array, by_seed: Array) -> pd.DataFrame:
    """Return knees of curves [levels × measures], with the range of the knees of single seeds."""
    found, of_seeds = knee(levels, curve.T), knee(levels, np.moveaxis(by_seed, 1, -1))
    falls = [
        next((level for level, value in zip(levels, values) if level > at and value <= KNEE), np.nan)
        for at, values in zip(found, curve.T)
    ]
    lowest, highest = of_seeds.min(axis=0), of_seeds.max(axis=0)
    columns = {"knee": found, "lowest_seed": lowest, "highest_seed": highest, "falls_again_at": falls}
    return pd.DataFrame({"measure": measures, **columns})


def times_of(drawn: Array, number: int) -> Array:
    """Return how often each of ``number`` items was drawn [draws × number]."""
    at = drawn + number * np.arange(len(drawn))[:, None]
    return np.bincount(at.ravel(), minlength=len(drawn) * number).reshape(-1, number).astype(float)


POOLS = ("whole", "judged")
_HITS = 1 << 20  # judged documents per chunk of scored rankings
_RANKINGS = 1 << 15


@dataclass(frozen=True, eq=False)
class Masking:
    """Runs aligned with all their judgments.

    Attributes
    ----------
    measures : dict of str to Measure
        Measures by name.
    runs : list of str
        Names of the runs.
    judgments : Judgments
        All judgments.
    whole : Rankings
        Rankings of all runs, run by run, with all judged documents.
    pool : {"whole", "judged"}
        Treatment of documents with missing judgments by infAP: "whole" treats them as in the pool, "judged" as not in
        the pool. All other measures treat them as not judged.
    left_out : dict of str to int
        Runs that were left out, because they have too few documents, and their numbers of documents.
    """

    measures: dict[str, Measure]
    runs: list[str]
    judgments: Judgments
    whole: Rankings
    pool: str
    left_out: dict[str, int]

    @classmethod
    def from_runs(
        cls,
        judgments: Judgments,
        runs: Mapping[str, Any],
        measures: Mapping[str, Measure],
        pool: str = "whole",
        complete: float = 0.0,
    ) -> Masking:
        """Align runs with judgments, without those with less than this share of the documents of the longest run."""
        if pool not in POOLS:
            raise BadParameter(": give 'whole' or 'judged'.", pool=pool)
        measures = dict(zip(measures, pinned(measures.values())))
        for name, measure in measures.items():
            if needs_of(measure).intents:
                raise BadParameter(f"{name}: this study does not support judgments with intents.")
        aligned = {}
        for name, run in runs.items():
            with naming(str(name)):
                aligned[str(name)] = judgments.align(loaded(run, "run"), all_judged=True)
        retrieved = {run: int(rankings.n.sum()) for run, rankings in aligned.items()}
        longest = max(retrieved.values())
        short = {run: n for run, n in retrieved.items() if n < complete * longest}
        left = [run for run in aligned if run not in short]
        if short and len(left) < 2:
            raise BadRun(
                f"only {many(len(left), 'run')} retrieved {percent(complete, 0)} of the {longest:,} documents of the"
                " longest run: give complete=None to keep all runs."
            )
        whole = Rankings.stacked([aligned[run] for run in left])
        if not any(_reads_rows(measure) for measure in measures.values()):
            whole = replace(whole, rows=())  # reduces the data sent to other processes
        return cls(measures, left, judgments, whole, pool, short)

    @property
    def queries(self) -> int:
        """Number of judged queries."""
        return len(self.judgments.qids)

    def scores(self, whole: Rankings, kept: Array) -> Array:
        """Return scores [measures × levels × rankings] by subsets of the judgments, ``kept`` [levels × judgments]."""
        new = np.append(True, (kept[1:] != kept[:-1]).any(axis=1))
        if not new.all():  # with few judgments, small shares are equal subsets
            return self.scores(whole, kept[new])[:, np.cumsum(new) - 1]
        found = np.empty((len(self.measures), len(kept), len(whole)))
        pooled = {measure: needs_of(measure).pooled for measure in self.measures.values()}
        at_a_time = min(_HITS // max(len(whole.rank), 1), _RANKINGS // max(len(whole), 1))
        for levels in parts(len(kept), at_a_time):
            values: dict[Measure, Array] = {}
            for kind in {*pooled.values()}:
                evaluator = CWLAEvaluator([measure for measure in pooled if pooled[measure] == kind], self.judgments)
                values |= evaluator.values(Left(masked(whole, kept[levels], kind and self.pool == "whole")))
            found[:, levels] = [values[measure].reshape(-1, len(whole)) for measure in self.measures.values()]
        return found


class Left(Aligned):
    """Rankings with the remaining judgments."""

    def __init__(self, rankings: Rankings) -> None:
        self._all = rankings

    def rankings(self, all_judged: bool = False) -> Rankings:
        """Return the rankings with their relevant documents, or with all remaining judgments."""
        return self._all if all_judged else self._relevant

    @cached_property
    def _relevant(self) -> Rankings:
        return self._all.only(self._all.grade > 0)


def masked(whole: Rankings, kept: Array, hidden: bool) -> Rankings:
    """Return the rankings by the kept judgments [levels × judgments], level by level.

    Documents without a kept judgment are not judged or, if ``hidden``, in the pool without a grade (−1).
    """
    pool, levels = whole.pool, len(kept)
    topic = np.arange(len(whole)) if whole.topic is None else whole.topic
    of_hits = kept[:, judgment_of(whole)]
    (level, hit), (of_level, judged) = np.nonzero(of_hits | hidden), np.nonzero(kept | hidden)
    grade = np.where(of_hits[level, hit], whole.grade[hit], -1)
    pool_grade = np.where(kept[of_level, judged], pool.grade[judged], -1)
    place = np.full(kept.shape, -1)
    place[of_level, judged] = np.arange(len(judged))
    return Rankings.of_hits(
        np.tile(whole.n, levels),
        level * len(whole) + whole.query[hit],
        whole.rank[hit],
        grade,
        copied(pool, judged, levels * pool.queries, of_level * pool.queries + pool.query[judged], pool_grade),
        rows=whole.rows,
        place=np.tile(whole.place_in_rows, levels),
        topic=(np.arange(levels)[:, None] * pool.queries + topic).ravel(),
        judgment=place[level, judgment_of(whole)[hit]],
    )


def of_pairs(whole: Rankings, queries: int, pairs: Array) -> Rankings:
    """Return the rankings of pairs of runs [pairs × 2]; the pool of a pair has the judged documents of either run.

    The order is by pair, run and query. The queries of the pool are those of the first pair, then of the second, and so
    on.
    """
    which = (pairs[:, :, None] * queries + np.arange(queries)).ravel()
    hit, ranking, _ = whole.hits_of(which)
    pool, judgments = whole.pool, len(whole.pool.grade)
    found, judgment = np.unique(ranking // (2 * queries) * judgments + judgment_of(whole)[hit], return_inverse=True)
    pair, judged = np.divmod(found, max(judgments, 1))
    return Rankings.of_hits(
        whole.n[which],
        ranking,
        whole.rank[hit],
        whole.grade[hit],
        copied(pool, judged, len(pairs) * queries, pair * queries + pool.query[judged], pool.grade[judged]),
        rows=whole.rows,
        place=whole.place_in_rows[which],
        topic=np.repeat(np.arange(len(pairs)), 2 * queries) * queries + np.tile(np.arange(queries), 2 * len(pairs)),
        judgment=judgment,
    )


def judgment_of(rankings: Rankings) -> Array:
    """Return the number of the judgment of each hit."""
    assert rankings.judgment is not None
    return rankings.judgment


def best_ranks(rankings: Rankings) -> Array:
    """Return the best rank of each judged document of the pool over all rankings."""
    first = np.full(len(rankings.pool.grade), NOWHERE)
    np.minimum.at(first, judgment_of(rankings), rankings.rank)
    return first


def copied(pool: Pool, places: Array, queries: int, query: Array, grade: Array) -> Pool:
    """Return a pool of selected judgments, possibly repeated, with other queries and grades."""
    return Pool(queries, query, grade, pool.columns, pool.rows[places])


def _reads_rows(measure: Measure) -> bool:
    """Return whether a measure needs the lengths, duplicates, ties or scores of documents."""
    needs = needs_of(measure)
    of_tables = {needs.lengths, needs.duplicates, needs.costs} != {"none"} or needs.abstention
    return needs.ties or needs.scores or of_tables


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
    def from_runs(
        cls, qrels: Any, runs: Any, measure: Measure, topics: str = "judged", max_rel: float | None = None
    ) -> Candidates:
        """Align runs with their documents; ``topics="all"`` includes topics without judgments."""
        if topics not in TOPICS:
            raise BadParameter(": give 'judged' or 'all'.", topics=topics)
        runs = separate_runs(runs)
        if (found := len(runs)) < 2:
            raise BadParameter(
                f"judgments are chosen to compare runs: give at least 2 by name, not {many(found, 'run')}."
            )
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
        masking = Masking.from_runs(judgments, tables, {str(measure): measure}, "judged")
        return cls(measure, masking, ~new[judgments.pool.rows], top)

    @property
    def unjudged(self) -> Array:
        """Whether each document has no judgment, or one with a grade below 0."""
        return ~self.judged | (self.masking.whole.pool.grade < 0)

    def scores(self, judged: Array) -> Array:
        """Return scores [runs × topics] by some of the judgments, ``judged`` [judgments]."""
        masking = self.masking
        return masking.scores(masking.whole, judged[None])[0, 0].reshape(len(masking.runs), -1)

    def changes(self, judged: Array, grade: float, which: Array) -> Array:
        """Return the changes of the scores of topics if one document gets a grade.

        Parameters
        ----------
        judged : ndarray of bool, shape (judgments,)
            Documents that are judged now.
        grade : float
            Grade of the document.
        which : ndarray of bool, shape (judgments,)
            Documents to choose from.

        Returns
        -------
        ndarray, shape (n, runs)
            Score of the document's topic with the grade, minus the score without it.
        """
        scoring, now = _Scoring(self, judged, grade), self.scores(judged)
        documents = np.flatnonzero(which)
        topics, starts = np.unique(self.masking.whole.pool.query[documents], return_index=True)
        changes = [np.zeros((0, len(self.masking.runs)))]
        for topic, of_topic in zip(topics.tolist(), np.split(documents, starts[1:])):
            changes.append(scoring.of_topic(topic, of_topic) - now[:, topic])
        return np.concatenate(changes)


class _Scoring:
    """Scores of rankings in which one more document has a grade."""

    def __init__(self, candidates: Candidates, judged: Array, grade: float) -> None:
        self.masking, self.judged, self.grade = candidates.masking, judged, grade
        whole = self.masking.whole
        self.base = whole.only(judged[judgment_of(whole)])
        self.evaluator = CWLAEvaluator([candidates.measure], self.masking.judgments)

    def of_topic(self, topic: int, documents: Array) -> Array:
        """Return the scores of a topic [documents × runs], if each of its documents alone gets the grade."""
        whole, runs = self.masking.whole, len(self.masking.runs)
        rankings = np.arange(runs) * self.masking.queries + topic
        hit, run, _ = whole.hits_of(rankings)
        number = pd.Index(documents).get_indexer(judgment_of(whole)[hit])
        hit, run, number = (values[number >= 0] for values in (hit, run, number))
        pool = self._pool(topic, documents)
        nowhere = self._scores(rankings, np.zeros(runs, np.int64), pool)
        scores = np.tile(nowhere, (len(documents), 1))
        each = max(int(np.diff(self.base.start)[rankings].max(initial=0)), 1)
        for part in parts(len(hit), _HITS // each):
            scores[number[part], run[part]] = self._scores(rankings[run[part]], whole.rank[hit[part]], pool)
        return scores

    def _pool(self, topic: int, documents: Array) -> Pool:
        """Return the judgments of a topic and the new one. Which document it belongs to makes no difference."""
        pool = self.masking.whole.pool
        mine = np.flatnonzero(self.judged & (pool.query == topic))
        grade = np.append(pool.grade[mine], self.grade)
        return copied(pool, np.append(mine, documents[0]), 1, np.zeros(len(grade), np.int64), grade)

    def _scores(self, rankings: Array, ranks: Array, pool: Pool) -> Array:
        """Return the scores of rankings with the grade at given ranks (0: nowhere), which replaces a grade below 0."""
        base, new = self.base, np.flatnonzero(ranks)
        at, row, _ = base.hits_of(rankings)
        other = base.rank[at] != ranks[row]
        at, row = at[other], np.append(row[other], new)
        rank, grade = np.append(base.rank[at], ranks[new]), np.append(base.grade[at], [self.grade] * len(new))
        order = np.lexsort((rank, row))
        again = Rankings.of_hits(
            base.n[rankings],
            row[order],
            rank[order],
            grade[order],
            pool,
            rows=base.rows,
            place=rankings,
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
        if metric is not None and metric.norm == "ideal" and (own.lengths, own.costs) != ("none", "none"):
            raise BadParameter(
                f"{part}: its ideal depends on the lengths or the costs of all judged documents, which is not"
                " supported here. Choose norm='none'."
            )


def _highest_grade(measure: Measure, highest: float, given: float | None) -> float:
    """Return the given grade, ``max_rel`` of the measure if that is a parameter, or the highest of the judgments."""
    metrics = {inner: _metric(inner, highest) for inner in innermost_measures(measure)}
    limits = {inner: metric.max_rel for inner, metric in metrics.items() if metric and metric.max_rel is not None}
    if given is None:
        own = (value for inner, value in limits.items() if "max_rel" in inner.SUPPORTED_PARAMS)
        return float(min(own, default=highest))
    if not 0 < given < np.inf:
        raise BadParameter(": give the highest grade that a document may get, above 0.", max_rel=given)
    if given > (limit := min(limits.values(), default=np.inf)):
        raise BadParameter(f"is above the highest grade of {measure}, {limit:g}.", max_rel=given)
    return float(given)


def _metric(measure: Measure, highest: float | None) -> Metric | None:
    try:
        return metric_of(measure, highest)
    except BadParameter:  # a measure without a user model
        return None


def _with_retrieved(given: Columns, runs: Mapping[str, Columns], top: float, topics: str) -> tuple[Columns, Array]:
    """Return the judgments and all other retrieved documents, with the highest grade; and which of them are new."""
    pairs = pd.concat([_pairs(columns) for columns in (given, *runs.values())], ignore_index=True)
    judged = np.arange(len(pairs)) < len(given)
    wanted = judged | ~pairs.duplicated().to_numpy()
    if topics == "judged":
        wanted &= pairs["query"].isin(pairs["query"][judged].unique()).to_numpy()
    pairs, new = pairs[wanted], ~judged[wanted]
    query, document = (pa.array(pairs[name], pa.large_string()) for name in ("query", "document"))
    return Columns(query, document, np.append(given.value, np.full(new.sum(), top))), new


def _pairs(columns: Columns) -> pd.DataFrame:
    ids = {"query": columns.query_id, "document": columns.doc_id}
    return pd.DataFrame({name: written(of).to_numpy(zero_copy_only=False) for name, of in ids.items()})
