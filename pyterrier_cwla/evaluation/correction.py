"""Scores by a machine's judgments, corrected by people's judgments of a part of the topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..errors import BadJudgments, BadParameter, check_known, check_share, some, warn
from ..files.inputs import is_runs
from ..measures.labels import Measures
from ..rendering.numbers import fixed_point, percent
from ..rendering.tables import TableColumn
from .comparison import Comparison, pairs_of
from .run_comparison import about_of, baselines_of, check_compared, measures_by_name, names_and_queries, scores_of
from .significance import (
    Array,
    SignificanceTest,
    check_correction,
    effect_sizes,
    rounded,
    wins_ties_losses,
)
from .significance import corrected as corrected_p

POPULATIONS = {
    "topics like these": "of the kind from which these are drawn",
    "these topics": "that the machine judged, and no others",
}
_TEST = SignificanceTest("corrected", "corrected", "a t-test of the corrected differences", lambda *_: None)
_EFFECT = "d_z is the mean of the differences of the topics that people judged, divided by their standard deviation."
_FEWEST, _FEW, _DIFFER = 4, 20, 10  # topics that people judged; and topics on which two runs differ


@dataclass(frozen=True)
class Estimates:
    """Corrected means, one per row of scores.

    Attributes
    ----------
    mean, error : ndarray
        Estimates and their standard errors.
    weight : ndarray
        λ, the weight of the machine's scores.
    worth : ndarray
        Effective number of topics that people judged: so many would be needed for this error without the machine.
    freedom : int
        Degrees of freedom of Student's t.
    """

    mean: Array
    error: Array
    weight: Array
    worth: Array
    freedom: int

    def interval(self, confidence: float) -> tuple[Array, Array]:
        """Return the ends of confidence intervals."""
        from scipy.stats import t

        half = t.ppf((1 + confidence) / 2, self.freedom) * self.error
        return self.mean - half, self.mean + half

    @property
    def p(self) -> Array:
        """Two-sided p-values of the hypothesis that the mean is 0; 1 if it is 0 up to rounding errors."""
        from scipy.stats import t

        with np.errstate(divide="ignore", invalid="ignore"):
            p = 2 * t.sf(np.abs(self.mean / self.error), self.freedom)
        return np.where(np.abs(self.mean) <= 1e-13, 1.0, p)


def estimated(
    people: Array,
    machine: Array,
    everywhere: Array,
    share: Array | None = None,
    these: bool = False,
    weight: Array | float | None = None,
) -> Estimates:
    """Return estimates of the mean score by people's judgments over all topics.

    Parameters
    ----------
    people, machine : ndarray, shape (n_rows, n_topics)
        Scores by people's and by the machine's judgments, of the topics that people judged.
    everywhere : ndarray, shape (n_rows, n_all_topics)
        Scores by the machine's judgments, of all topics.
    share : ndarray, shape (n_topics,), optional
        Weights of the topics that people judged, which sum to 1; by default all are equal.
    these : bool, default=False
        Whether the mean is that of these topics, and not of all topics of their kind.
    weight : ndarray or float, optional
        λ; by default Cov(h, m)/Var(m) of each row, or 0 where the machine's scores are all equal.

    Notes
    -----
    With h and m the scores by people and by the machine, n topics that both judged, and N that the machine judged:

        mean = h̄ + λ·(m̄_all − m̄),  d = h − λ·m,  s² = Σ(d − d̄)²/(n − 2)
        error² = s²·(1/n + (m̄_all − m̄)²/Σ(m − m̄)²) + λ²·Var(m_all)/N + 2λ·Cov(d, m)/N   for topics like these
        error² = s²·(1/n − 1/N + (m̄_all − m̄)²/Σ(m − m̄)²)                                for these topics

    With a fitted λ, Cov(d, m) is 0. With a given one, the term of (m̄_all − m̄)², the error of λ, is left out.
    Means, λ and variances are weighted by the shares w of the topics. The terms s²/n and s²·(1/n − 1/N) are then
    n/(n − 2)·Σw²(d − d̄)² and n/(n − 2)·Σw·max(w − 1/N, 0)·(d − d̄)², and 1/Σ(m − m̄)² is Σw²(m − m̄)²/(Σw(m − m̄)²)².
    """
    n, N = people.shape[-1], everywhere.shape[-1]
    share = np.full(n, 1 / n) if share is None else share
    mean_h, mean_m, mean_all = people @ share, machine @ share, everywhere.mean(axis=-1)
    off_h, off_m = (  # exactly 0 where all scores of a row are equal
        np.where(np.ptp(scores, axis=-1, keepdims=True) > 0, scores - mean[:, None], 0.0)
        for scores, mean in ((people, mean_h), (machine, mean_m))
    )
    spread = off_m**2 @ share
    fitted = weight is None
    if weight is None:
        weight = np.divide((off_h * off_m) @ share, spread, out=np.zeros(len(people)), where=spread > 0)
    lam = np.broadcast_to(weight, mean_h.shape)
    left, shift = off_h - lam[:, None] * off_m, mean_all - mean_m
    of_sample = share * (np.maximum(share - 1 / N, 0.0) if these else share)
    variance = left**2 @ of_sample * n / (n - 2)
    if fitted:
        s2 = left**2 @ share * n / (n - 2)
        of_weight = s2 * shift**2 * (off_m**2 @ share**2)
        variance += np.divide(of_weight, spread**2, out=np.zeros(len(s2)), where=spread > 0)
    if not these:
        variance += (lam**2 * everywhere.var(axis=-1, ddof=1) + 2 * lam * ((left * off_m) @ share)) / N
    alone = off_h**2 @ share * n / (n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = 1 / (variance / alone + (1 / N if these else 0.0))
    error = np.sqrt(np.maximum(variance, 0.0))
    return Estimates(mean_h + lam * shift, error, lam, np.where(alone > 0, worth, n), n - 2)


class Corrected(Comparison):
    """Result of :func:`corrected`: corrected scores of runs and differences, in the form of :func:`compare`.

    ``by_query`` has people's scores of the topics that they judged. ``table`` has, in place of the paired tests,
    ``p_corrected`` and, with the correction for several comparisons, ``p_corrected_corrected``; and ``topics``, the
    effective number of topics that people judged, for the score and, as ``topics_of_difference``, for the difference.
    """

    _adds_up = False

    @property
    def _test(self) -> SignificanceTest:
        return _TEST

    @property
    def _tests(self) -> list[SignificanceTest]:
        return [_TEST]

    @property
    def _all_pairs(self) -> pd.DataFrame:
        return self._pairs

    @property
    def of_topics(self) -> list[str]:
        """Sentences about the topics, and about what the correction cannot tell."""
        about = self.about
        first = (
            f"Means over {about['topics']:,} topics by the machine's judgments, corrected by people's of"
            f" {about['queries']:,}, for topics {POPULATIONS[about['population']]}."
        )
        own = "A difference has its own weight of the machine, and is not exactly that of the two scores."
        weights = [own] * (not about["common"] and about["comparisons"] > 0)
        return [first, *weights, *about["cautions"], *super().of_topics[1:]]

    @property
    def _about_wins(self) -> str:
        return super()._about_wins.replace("by topic", "by topic that people judged")

    @property
    def _method_of_intervals(self) -> str:
        return f"Student's t, {self.about['queries'] - 2} degrees of freedom"

    def _columns_of_pairs(self) -> list[TableColumn]:
        columns = super()._columns_of_pairs()
        worth = "topics: so many topics judged by people alone would give the same interval of Δ."
        columns[2] = replace(columns[2], notes=(_EFFECT,))
        topics = TableColumn("topics", lambda row: fixed_point(row["topics_of_difference"], 0), notes=(worth,))
        columns.insert(2, topics)
        return columns


def corrected(
    human: Any,
    machine: Any,
    runs: Any,
    measures: Measures,
    baseline: Any = None,
    *,
    machine_measures: Measures | None = None,
    pairs: bool = False,
    population: str = "topics like these",
    common: bool = False,
    sampled: Any = None,
    least: float = 0.0,
    confidence: float = 0.95,
    correction: str | None = "holm",
) -> Corrected:
    """Estimate scores and differences from a machine's judgments of many topics and people's of some of them.

    Parameters
    ----------
    human : DataFrame, dict of dicts, iterable of named tuples, or path
        People's judgments of a random sample of the topics.
    machine : DataFrame, dict of dicts, iterable of named tuples, or path
        A machine's judgments of all topics, also of those that people judged.
    runs : DataFrame, dict of dicts, iterable of named tuples, path, or dict of these by run name
        Runs, as for :func:`compare`.
    measures : iterable of Measure or str, or dict of these by name
        Measures, which are means over topics.
    baseline : str or path, list of these, or False, optional
        Run that the others are compared with, or several; by default the first run, with False none.
    machine_measures : iterable of Measure or str, optional
        Measures for the machine's judgments, in the same order, if its grades have another scale; by default the same.
    pairs : bool, default=False
        Whether to compare all pairs of runs.
    population : {"topics like these", "these topics"}, default="topics like these"
        Topics that the estimates are about: the kind from which all topics were drawn, or exactly the topics that the
        machine judged.
    common : bool, default=False
        Whether all scores and differences by a measure have the same λ, so that differences add up. By default each
        has its own, which gives shorter intervals.
    sampled : dict, Series or DataFrame, optional
        Probability with which each topic was chosen for people, by query id; a frame has the columns query_id and
        p_sampled. By default all are equal.
    least : float, default=0
        Largest difference of the scores of a topic that counts as a tie, in the unit of the measures.
    confidence : float in (0, 1), default=0.95
        Confidence level of the intervals; the significance level is 1 minus this level.
    correction : {"holm", "bonferroni", "sidak", "holm-sidak", "simes-hochberg", "hommel", "fdr_bh", "fdr_by"} or None
        Correction for multiple comparisons, over all runs and measures of the table. By default "holm".

    Returns
    -------
    Corrected
        Table of results, as of :func:`compare`, with the same methods.

    Raises
    ------
    BadJudgments
        If people judged fewer than four topics, or a topic that the machine did not judge.
    BadParameter
        If a measure is not a mean over topics, or a setting is out of range.

    Warns
    -----
    CWLAWarning
        If people judged fewer than 20 topics, or if two runs differ on fewer than ten of these: intervals are then too
        short.

    Notes
    -----
    The estimate is h̄ + λ·(m̄_all − m̄), where h and m are the scores of the topics that both judged, and m_all those of
    all topics: prediction-powered inference with a fitted weight, which is also the regression estimator of surveys.
    λ = Cov(h, m)/Var(m) of each score and of each difference is not limited to 1, since the machine's scores may have
    the smaller scale. If the machine's judgments tell nothing, λ is about 0, and the estimate is that of people alone.
    A machine that favours a system does not bias the estimate: only people's topics decide on the difference of both.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023); Cochran (1977), chapter 7, for the regression estimator.

    Examples
    --------
    >>> from pyterrier_cwla.evaluation import corrected
    >>> topics = [str(topic) for topic in range(40)]
    >>> machine = {topic: {"a": 1, "b": int(int(topic) % 3 == 0)} for topic in topics}
    >>> people = {topic: {"a": 1, "b": int(int(topic) % 6 == 0)} for topic in topics[:24]}
    >>> runs = {"one": {topic: {"b": 2.0, "a": 1.0} for topic in topics}}
    >>> runs["other"] = {topic: {"a": 2.0, "b": 1.0} for topic in topics}
    >>> corrected(people, machine, runs, ["RR"], "one").table.round(3)[["run", "score", "difference", "topics"]]
         run  score  difference  topics
    0    one  0.588         NaN    27.6
    1  other  1.000       0.412    24.0
    """
    check_known("population", POPULATIONS, population=population)
    check_share(0.95, confidence=confidence)
    check_correction(correction)
    check_compared(human, runs, baseline, pairs, least)
    wanted = measures_by_name(measures)
    others = wanted if machine_measures is None else measures_by_name(machine_measures)
    if len(others) != len(wanted):
        raise BadParameter(
            f"machine_measures has {len(others)} measures, and measures {len(wanted)}: give one for each."
        )
    runs = {name: _kept(run) for name, run in runs.items()} if is_runs(runs) else _kept(runs)
    by_people, _ = scores_of(human, runs, wanted)
    by_machine, answered = scores_of(machine, runs, others)
    names, topics = names_and_queries(by_people)
    every = names_and_queries(by_machine)[1]
    if lacking := [topic for topic in topics if topic not in set(every)]:
        raise BadJudgments(f"people judged topics that the machine did not ({some(lacking)}): leave them out.")
    if len(topics) < _FEWEST:
        raise BadJudgments(f"people judged {len(topics)} topics: a corrected estimate needs at least {_FEWEST}.")
    baselines, several = baselines_of(baseline, runs, names, pairs)
    about = about_of(wanted, names, topics, answered)
    if sums := [name for name, kind in about["aggregates"].items() if kind != "mean"]:
        raise BadParameter(f"{some(sums)}: only measures that are means over topics can be corrected.")
    about |= {
        "least": float(least), "confidence": confidence, "alpha": round(1 - confidence, 12), "test": _TEST.name,
        "correction": correction, "population": population, "common": common, "topics": len(every), "opposed": [],
        "baseline": None if several or not baselines else baselines[0],
    }  # fmt: skip
    if several:
        about["baselines"] = None if pairs else baselines
    share = _shares(sampled, topics)
    estimate = partial(estimated, share=share, these=population == "these topics")
    first, second = pairs_of(names, None if pairs else baselines)
    at, called = [every.index(topic) for topic in topics], np.array(names, object)
    of_runs, of_pairs, effects, differ = [], [], [], []
    for (name, _), other in zip(wanted.items(), others, strict=True):
        h, m = (
            rounded(scores, scores)
            for frame, of in ((by_people, name), (by_machine, other))
            for scores in [frame[of].to_numpy(float).reshape(len(names), -1)]
        )
        weight = _common_weight(h, m[:, at], share) if common else None
        scores = estimate(h, m[:, at], m, weight=weight)
        low, high = scores.interval(confidence)
        of_runs.append(pd.DataFrame({"run": called, "measure": name, "score": scores.mean, "score_low": low,
                                     "score_high": high, "topics": scores.worth}))  # fmt: skip
        d_h, d_m = (rounded(of[first] - of[second], of) for of in (h, m))
        one_pair = len(names) == 2  # whose difference has the common weight, and the error of this weight
        found = estimate(d_h, d_m[:, at], d_m, weight=None if one_pair else weight)
        low, high = found.interval(confidence)
        wins, ties, losses = wins_ties_losses(h, first, second, least, about["better"][name] == "lower")
        of_pairs.append(pd.DataFrame({
            "run": called[first], "baseline": called[second], "measure": name, "difference": found.mean,
            "difference_low": low, "difference_high": high, "wins": wins, "ties": ties, "losses": losses,
            "topics_of_difference": found.worth, _TEST.column: found.p,
        }))  # fmt: skip
        effects.append(effect_sizes(d_h))
        differ += (d_h != 0).sum(axis=1).tolist()
    pairs_found = pd.concat(of_pairs, ignore_index=True)
    about["comparisons"] = len(pairs_found)
    if len(pairs_found):
        p = pairs_found[_TEST.column].to_numpy()
        together = p if correction is None else corrected_p(p, correction)
        pairs_found = pairs_found.assign(effect=np.concatenate(effects), **{_TEST.decisive: together})
    _caution(about, pairs_found, differ)
    return Corrected(about, by_people, pd.concat(of_runs).sort_index(kind="stable").reset_index(drop=True), pairs_found)


def _kept(run: Any) -> Any:
    """Return a run that can be read twice."""
    return list(run) if isinstance(run, Iterator) else run


def _common_weight(people: Array, machine: Array, share: Array | None) -> float:
    """Return one λ for all differences: that of the scores of runs less the mean over runs of each topic."""
    h, m = (scores - scores.mean(axis=0) if len(scores) > 1 else scores for scores in (people, machine))
    h, m = (scores - np.average(scores, 1, share, keepdims=True) for scores in (h, m))
    h, m = (rounded(scores, scores) for scores in (h, m))
    covariance, spread = (float(np.average(h_or_m * m, 1, share).sum()) for h_or_m in (h, m))
    return covariance / spread if spread > 0 else 0.0


def _shares(sampled: Any, topics: list[str]) -> Array | None:
    """Return weights of topics that sum to 1, inversely proportional to the probabilities of being sampled."""
    if sampled is None:
        return None
    if hasattr(sampled, "to_pandas"):
        sampled = sampled.to_pandas()
    if isinstance(sampled, pd.DataFrame):
        if not {"query_id", "p_sampled"} <= {*sampled}:
            raise BadParameter("is a frame without the columns query_id and p_sampled.", sampled=sampled)
        sampled = sampled.set_index("query_id")["p_sampled"]
    if not isinstance(sampled, Mapping | pd.Series):
        raise BadParameter("must be a dict, Series or DataFrame of probabilities by query id.", sampled=sampled)
    known = {str(topic): chance for topic, chance in sampled.items()}
    chances = pd.to_numeric(pd.Series([known.get(topic) for topic in topics], topics), errors="coerce")
    for topic in chances.index[~chances.between(0, 1, inclusive="right")]:
        raise BadParameter(f"topic {topic!r} needs a probability above 0, at most 1.", sampled=known.get(topic))
    weights = 1 / chances.to_numpy(float)
    return weights / weights.sum()


def _caution(about: dict[str, Any], pairs: pd.DataFrame, differ: list[int]) -> None:
    """Warn of few topics, and of pairs that differ on few, and note both for the table."""
    found = []
    if about["queries"] < _FEW:
        found.append(f"People judged {about['queries']} topics: with fewer than {_FEW}, intervals are too short.")
    near = [
        f"{row.run} and {row.baseline} ({row.measure})" for row, n in zip(pairs.itertuples(), differ) if n < _DIFFER
    ]
    if near:
        listed = ", ".join([*near[:3], f"{len(near) - 3:,} more pairs"] if len(near) > 3 else near)
        found.append(
            f"Scores differ on fewer than {_DIFFER} of these topics for {listed}: their"
            f" {percent(about['confidence'])} intervals are too short."
        )
    about["cautions"] = found
    for one in found:
        warn(one)
