"""Discriminative power of metrics: shares of pairs of runs with significant differences, by several tests.

Question: with these topics, how many pairs of runs does a metric tell apart?

Method: all pairs of runs are tested by each metric, with the t-test, Wilcoxon's, the randomisation test, and Sakai's
bootstrap test (Sakai, 2006; Smucker and Clarke, 2012). Power is the share of pairs with p below the level, with an
interval over topics, and again after a correction for all pairs. The difference of means that is needed for
significance is reported beside it.

Not to conclude: high power does not make a good metric; a metric of something that users do not notice may have it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import BadJudgments, BadParameter, check_known, check_share, many, near, some
from ...evaluation.run_comparison import check_settings
from ...evaluation.significance import (
    CORRECTIONS,
    PAIRED_TESTS,
    corrected,
    lowest_p_of_randomisation,
    unit_of,
    without_noise,
)
from ...measures.labels import Measures
from ...rendering.figures import COLOURS, GREY, SCORE, STAY, axes_of, saved
from ...rendering.numbers import p_value, percent
from ...tasks.result_cache import Layout, Piece, Pieces
from ..correlation import around, half_width, parts, times_drawn
from ..report import About, Finding, Picture, Pictures, Study, Table, Tables, plot_curves, plot_rows, reported
from .metric_correlations import Cube, without_answers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

Array = np.ndarray

_CELLS = 1 << 20  # resampled numbers per chunk
_FEWER = 1000  # resamples that suffice for a standard error


def pairs_tested(scores: Array, alpha: float, resamples: int, seed: int) -> Piece:
    """Test all pairs of runs by one measure.

    Parameters
    ----------
    scores : ndarray, shape (runs, topics)
        Scores by the measure.
    alpha : float
        Level of significance.
    resamples, seed : int
        Number of resamples and their seed.

    Returns
    -------
    dict of str to ndarray
        Arrays described by :func:`layout_of_pairs`.
    """
    first, second = np.triu_indices(len(scores), 1)
    differences = without_noise(scores[first] - scores[second], scores)
    p, needed = bootstrap_test(differences, resamples, seed, alpha)
    return {
        **{test.column: test.p_values(differences, resamples, seed) for test in PAIRED_TESTS.values()},
        "p_bootstrap": p,
        "needed": needed * unit_of(scores),
        "same": np.asarray(~differences.any(axis=-1)),
        "resampled": resampled_power(differences, alpha, times_drawn(scores.shape[-1], min(resamples, _FEWER), seed)),
    }


def layout_of_pairs(runs: int, resamples: int) -> Layout:
    """Return the types and shapes of the arrays of :func:`pairs_tested`."""
    pairs = runs * (runs - 1) // 2
    of_pairs = (*(f"p_{test}" for test in POWER_TESTS), "needed")
    others: Layout = {"same": ("b", (pairs,)), "resampled": ("f", (min(resamples, _FEWER),))}
    return {**dict.fromkeys(of_pairs, ("f", (pairs,))), **others}


def bootstrap_test(differences: Array, resamples: int, seed: int, alpha: float = 0.05) -> tuple[Array, Array]:
    """Return two-sided p-values of Sakai's paired bootstrap test, and the difference required for significance.

    With q(z) = (Σz)²/(n·Σz²), t² = (n − 1)·q/(1 − q): q increases with t, and is 1 if t is infinite.

    Parameters
    ----------
    differences : ndarray, shape (pairs, topics)
        Differences between scores, in units of about the largest score, as :func:`without_noise` returns them.
    resamples, seed : int
        Number of resamples and their seed.
    alpha : float, default=0.05
        Level of significance.

    Returns
    -------
    p : ndarray, shape (pairs,)
        p-values.
    needed : ndarray, shape (pairs,)
        Mean difference required at level ``alpha``; NaN if all topics have the same difference.

    References
    ----------
    Sakai (2006), Figures 1 and 5.
    """
    n = differences.shape[-1]
    times = times_drawn(n, resamples, seed)
    at = resamples - rank_at(resamples, alpha)
    p, needed = np.empty(len(differences)), np.full(len(differences), np.nan)
    for part in parts(len(differences), _CELLS // resamples):
        z = differences[part]
        w = np.round(z - z.mean(axis=-1, keepdims=True), 13)  # 0 for topics at the mean
        sums = w @ times
        q = _of_t(sums, (w * w) @ times, n)
        least = _of_t(z.sum(axis=-1), (z * z).sum(axis=-1), n) - 1e-12  # counts values that are equal up to rounding
        p[part] = np.count_nonzero(q >= least[:, None], axis=-1) / resamples
        which = np.argpartition(q, at, axis=-1)[:, at]
        vary = w.any(axis=-1)
        needed[part][vary] = np.abs(sums[np.arange(len(w)), which] / n)[vary]
    return p, needed


def rank_at(resamples: int, alpha: float) -> int:
    """Return B·α, rounded down."""
    return int(resamples * alpha + 1e-9)


def resampled_power(differences: Array, alpha: float, times: Array) -> Array:
    """Return the share of pairs that are significant by the t-test in each resample of the topics."""
    from scipy.stats import t

    n = differences.shape[-1]
    critical = t.ppf(1 - alpha / 2, n - 1) ** 2
    found = np.zeros(times.shape[1])
    for z in np.array_split(differences, 1 + differences.shape[0] * times.shape[1] // _CELLS):
        q = _of_t(z @ times, (z * z) @ times, n)
        found += np.count_nonzero(q > critical / (n - 1 + critical), axis=0)
    return found / len(differences)


def _of_t(sums: Array, squares: Array, n: int) -> Array:
    """Return q, or 0 if all differences are 0."""
    return np.divide(sums * sums, n * squares, out=np.zeros_like(sums), where=squares > 0)


#: Display names of the tests of all pairs.
POWER_TESTS = {**{name: test.words for name, test in PAIRED_TESTS.items()}, "bootstrap": "Sakai's bootstrap test"}

_LEVELS = np.unique(np.round([*np.geomspace(1e-4, 0.1, 121), 0.001, 0.01, 0.05], 8))


@reported("alpha correction resamples seed")
def discriminative_power(
    qrels: Any,
    runs: Mapping[str, Any],
    measures: Measures,
    alpha: float = 0.05,
    *,
    correction: str | None = "holm",
    resamples: int = 10_000,
    seed: int = 0,
    cache_dir: str | Path | None = None,
    progress: bool = True,
    n_jobs: int = 1,
) -> Power:
    """Test all pairs of runs by each measure; the power of a measure is the share of pairs with p < ``alpha``.

    * t, Wilcoxon, randomisation: the tests of :func:`compare`.
    * Sakai's bootstrap test: for differences z, w = z − mean(z) is resampled, and p is the share of resamples w* with
      t(w*) ≥ t(z) in absolute value, where t = mean/(s/√n).
    * Required difference: for each pair, the absolute mean of the resample w* whose t is the (B·``alpha``)-th largest
      of all B resamples. Sakai takes the largest over all pairs. Extremes grow with the number of pairs, so the median
      over pairs is reported too. The unit is that of the measure's mean over topics.
    * Intervals (95 %) of the power by the t-test, and of its difference between two measures: the bootstrap standard
      error (over topics, up to 1,000 resamples) times the quantile of Student's t. They are for the same runs and the
      same number of other topics. In simulations modelled on the 143 runs and 30 topics of the first round of
      TREC-COVID, they covered the expected power in 91 to 95 % of cases; percentile bootstrap intervals, whose
      resamples vary more, in 74 to 96 %.

    If two runs have the same score on every topic, p = 1. If all topics have the same nonzero difference, t is
    infinite, and p = 0 by t and bootstrap.

    Parameters
    ----------
    qrels, runs, measures
        As :func:`evaluate` takes them; two or more runs by name. A topic that a run does not answer scores 0.
    alpha : float in (0, 1), default=0.05
        Level of significance.
    correction : str or None, default="holm"
        Correction over all pairs of a measure, one of those of :func:`compare`. Corrected power is reported in addition
        to the power, which uses uncorrected p-values.
    resamples : int from 100, default=10000
        Number of bootstrap resamples, and of random sign changes of the randomisation test. All pairs and measures
        share them.
    seed : int from 0, default=0
        Seed of the resamples and the sign changes.
    cache_dir : str or Path, optional
        Folder that caches the tests of each measure, so that an interrupted study can be continued.
    progress : bool, default=True
        Whether to show a progress bar.
    n_jobs : int, default=1
        Number of parallel processes; ``-1`` for one per core. Each needs about 100 MB.

    Returns
    -------
    Power

    Raises
    ------
    BadParameter
        If a level, correction or number of resamples is out of range, or if there are fewer than two runs.
    BadJudgments
        If fewer than three topics are judged.

    References
    ----------
    Sakai (2006), sections 3 and 4; Smucker and Clarke (2012), Table 2; Efron and Tibshirani (1993), chapter 6, for the
    standard error.

    Examples
    --------
    >>> qrels = {str(q): {"a": 1, "b": 0} for q in range(12)}
    >>> good, bad = {"a": 2.0, "b": 1.0}, {"a": 1.0, "b": 2.0}
    >>> runs = {"one": {q: good for q in qrels}, "two": {q: bad for q in qrels}}
    >>> runs["three"] = {q: good if int(q) % 2 else bad for q in qrels}
    >>> found = discriminative_power(qrels, runs, ["RR", "P@2"], correction=None, progress=False)
    >>> found.table[["measure", "pairs", "same", "t", "bootstrap"]]
      measure  pairs  same    t  bootstrap
    0      RR      3     0  1.0        1.0
    1     P@2      3     3  0.0        0.0
    """
    check_share(0.05, alpha=alpha)
    check_settings(0.95, "t", correction, resamples, seed)
    if rank_at(resamples, alpha) < 1:
        raise BadParameter(f"is too few for alpha={alpha!r}: give {1 / alpha:,.0f} or more.", resamples=resamples)
    cube = Cube.from_runs(qrels, runs, measures)
    if len(cube.queries) < 3:
        raise BadJudgments(f"only {some(cube.queries)} are judged: power and its interval need three or more topics.")
    identity = {"study": "power", "alpha": alpha, "resamples": int(resamples), "seed": int(seed)}
    compute = partial(pairs_tested, alpha=alpha, resamples=resamples, seed=seed)
    pieces = Pieces(identity, cache_dir, progress, n_jobs).of_arrays(
        list(cube.values), compute, "testing all pairs", "measures", layout_of_pairs(len(cube.runs), resamples)
    )
    found = dict(zip(cube.measures, pieces))
    pairs = [_pairs(name, of, found[name], cube.runs) for name, of in zip(cube.measures, cube.values)]
    table = pd.DataFrame([_row(name, piece, alpha, correction, len(cube.queries)) for name, piece in found.items()])
    contrasts = _contrasts(table, found, len(cube.queries))
    signs, lowest_p = lowest_p_of_randomisation(len(cube.queries), resamples)
    about = {
        **cube.about(),
        "pairs": len(pairs[0]),
        "randomisation": signs,
        "lowest_p_randomisation": lowest_p,
        "intervals": "95 %, standard error of the bootstrap over topics, with Student's t",
    }
    return Power(table, contrasts, pd.concat(pairs, ignore_index=True), about)


def _pairs(measure: str, scores: Array, piece: Piece, runs: list[str]) -> pd.DataFrame:
    """Return a row for each pair of runs."""
    first, second = np.triu_indices(len(runs), 1)
    names = np.array(runs, object)
    return pd.DataFrame(
        {
            "measure": measure,
            "first": names[first],
            "second": names[second],
            "difference": scores[first].mean(axis=1) - scores[second].mean(axis=1),
            **{f"p_{test}": piece[f"p_{test}"] for test in POWER_TESTS},
            "needed": piece["needed"],
        }
    )


@dataclass(frozen=True, eq=False, repr=False)
class Power(Study):
    """Discriminative power of measures; the result of :func:`discriminative_power`.

    Attributes
    ----------
    table : DataFrame
        A row for each measure: ``pairs``, ``same`` (number of pairs with the same score on every topic), the shares of
        pairs with p < alpha by ``t`` (with ``t_low``, ``t_high``), ``wilcoxon``, ``randomisation`` and ``bootstrap``,
        the corrected ``t_corrected`` and ``wilcoxon_corrected`` (if there is a correction), and the maximum and the
        median of the required difference of means by the bootstrap, ``needed`` and ``needed_median``.
    contrasts : DataFrame
        A row for each pair of measures: the ``difference`` between their powers by the t-test, ``low`` and ``high``.
    pairs : DataFrame
        A row for each measure and pair of runs, ``first`` and ``second``: the ``difference`` between their means,
        ``p_t``, ``p_wilcoxon``, ``p_randomisation``, ``p_bootstrap``, and the required difference, ``needed``.
    about : dict
        Settings, sizes and hash of the input.
    """

    title = "Discriminative power"
    table: pd.DataFrame
    contrasts: pd.DataFrame
    pairs: pd.DataFrame
    about: About

    def achieved(self, test: str = "t") -> pd.DataFrame:
        """Return achieved significance levels: the p-values of all pairs by each measure, in ascending order.

        Parameters
        ----------
        test : {"t", "wilcoxon", "randomisation", "bootstrap"}, default="t"
            Significance test.

        Returns
        -------
        DataFrame
            A row for each measure and pair of runs, with the columns ``measure``, ``first``, ``second``, ``p`` and
            ``place`` (the rank of the p-value within the measure, from 1).

        Raises
        ------
        BadParameter
            If the test is unknown.
        """
        check_known("test", POWER_TESTS, test=test)
        found = self.pairs[["measure", "first", "second"]].assign(p=self.pairs[f"p_{test}"])
        found = found.iloc[np.lexsort((found["p"], pd.factorize(found["measure"])[0]))].reset_index(drop=True)
        return found.assign(place=found.groupby("measure").cumcount() + 1)

    def levels(self, test: str = "t") -> pd.DataFrame:
        """Return the share of pairs with p below each level from 0.0001 to 0.1.

        Parameters
        ----------
        test : {"t", "wilcoxon", "randomisation", "bootstrap"}, default="t"
            Significance test.

        Returns
        -------
        DataFrame
            A row for each measure and level, with the columns ``measure``, ``level`` and ``share`` (from 0 to 1).

        Raises
        ------
        BadParameter
            If the test is unknown.
        """
        check_known("test", POWER_TESTS, test=test)
        frames = []
        for name, rows in self.pairs.groupby("measure", sort=False):
            share = np.searchsorted(np.sort(rows[f"p_{test}"]), _LEVELS) / len(rows)
            frames.append(pd.DataFrame({"measure": name, "level": _LEVELS, "share": share}))
        return pd.concat(frames, ignore_index=True)

    def shares(self) -> pd.DataFrame:
        """Return the power of each measure by each test, the highest by the t-test first."""
        columns = ["measure", "t", "t_low", "t_high", *(test for test in POWER_TESTS if test != "t")]
        return self.table[columns].sort_values("t", ascending=False, kind="stable", ignore_index=True)

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        how = f"Shares of {self._pairs} with p < {self._alpha}, uncorrected; {self._data}."
        correction = self.about["correction"]
        beside = f" Corrected: {CORRECTIONS[correction]}, over all pairs of a measure." if correction else ""
        apart = f"Differences of power by the t-test, with 95 % intervals (bootstrap over topics). {self._data}."
        return {
            "power": Table("Power", how + beside, self.table),
            "contrasts": Table("Pairs of measures", apart, self.contrasts),
            "pairs": Table("All pairs", f"p-values of each pair of runs, uncorrected; {self._data}.", self.pairs),
        }

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        share = f"Share of {many(self.about['pairs'], 'pair')} of runs with p"
        bars = "Bars are 95 % intervals of the t-test's share (bootstrap over topics)."
        return {
            "power": Picture(
                "Power by each test",
                f"{share} < {self._alpha}. {bars} {self._data}.",
                lambda ax: plot_power(self, ax=ax), self.shares(), (7.0, 1.2 + 0.3 * len(self.table)),
            ),
            "levels": Picture(
                "Power by level of significance",
                f"{share} below the level, by the t-test; {self._data}.",
                lambda ax: plot_levels(self, ax=ax), self.levels(),
                (7.0, max(3.6, 1.0 + 0.16 * len(self.table))),
            ),
        }  # fmt: skip

    @property
    def _alpha(self) -> str:
        return p_value(self.about["alpha"], digits=6)

    @property
    def _pairs(self) -> str:
        return f"{many(self.about['pairs'], 'pair')} of {many(self.about['runs'], 'run')}"

    @property
    def _data(self) -> str:
        about = self.about
        return f"{about['queries']:,} topics, {about['resamples']:,} resamples, seed {about['seed']}"

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        shares, pairs = self.shares(), self._pairs
        best, least = shares.iloc[0], shares.iloc[-1]
        if not best["t"]:
            return f"No measure finds a significant difference between the {pairs}."
        tied = int((shares["t"] == best["t"]).sum()) - 1
        like = f", like {many(tied, 'other measure')}," if tied else ""
        found = f"{best['measure']}{like} finds {percent(best['t'], 0)} of {pairs} significantly different"
        if len(shares) == 1:
            return f"{found}."
        if least["t"] == best["t"]:
            return f"All {len(shares):,} measures find {percent(best['t'], 0)} of {pairs} significantly different."
        alike = [name for name in shares["measure"][1:] if not self.differ(best["measure"], name)]
        most = f"not significantly more than {some(alike, 3)}" if alike else "the most"
        after = self.table.loc[self.table["t_corrected"].idxmax()] if self.about["correction"] else best
        other = (
            ""
            if after["measure"] == best["measure"] or not after["t_corrected"]
            else (f"; after {CORRECTIONS[self.about['correction']]}, {after['measure']} finds the most")
        )
        return f"{found}, {most}; {least['measure']} finds {percent(least['t'], 0)}, the fewest{other}."

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        about, shares = self.about, self.shares()
        if (self.table["same"] == about["pairs"]).all():
            return [f"By each measure, all {about['runs']:,} runs have the same score on every topic."]
        each = ", ".join(
            f"{row.measure} {percent(row.t, 1)} ({percent(0.95)} interval [{percent(row.t_low, 1)},"
            f" {percent(row.t_high, 1)}])"
            for row in shares.itertuples()
        )
        tests = f"the t-test (p < {self._alpha}) over {about['queries']:,} topics"
        said: list[str] = [Finding(f"Of {self._pairs}, {tests} finds significant: {each}.", "levels")]
        best, *others = shares["measure"]
        if not shares["t"].any():
            said.append(Finding("By no measure does any pair differ significantly.", "power"))
        elif others:
            alike = [name for name in others if not self.differ(best, name)]
            less = [name for name in others if name not in alike]
            not_above = f"; it is not significantly above {', '.join(alike)}" if alike else ""
            above = f"; it is significantly above {', '.join(less)}" if less else ""
            said.append(Finding(f"{best} has the most power{not_above}{above}.", "levels"))
        said.append(Finding(self._tests_compared(shares), "power"))
        if about["correction"]:
            said.append(self._after_correction(best))
        return said

    def _tests_compared(self, shares: pd.DataFrame) -> str:
        """Describe the differences between the tests, for the measure with the largest differences."""
        tests = shares.set_index("measure")[list(POWER_TESTS)]
        ranges = tests.max(axis=1) - tests.min(axis=1)
        if not ranges.any():
            return "The tests have the same power" + " by each measure" * (len(tests) > 1) + "."
        widest = ranges.idxmax()
        each = ", ".join(f"{test} {percent(share, 1)}" for test, share in tests.loc[widest].items())
        return f"The tests differ by up to {percent(ranges.max(), 1)} of the pairs ({widest}: {each})."

    def _after_correction(self, best: str) -> str:
        """Describe the power of the t-test after the correction; ``best`` has the most power without it."""
        after = f"After {CORRECTIONS[self.about['correction']]} over all pairs, the t-test"
        rows = self.table.sort_values("t_corrected", ascending=False, kind="stable")
        if not rows["t_corrected"].any():
            return f"{after} finds no significant pair."
        left = ", ".join(f"{row.measure} {percent(row.t_corrected, 1)}" for row in rows.itertuples())
        first = rows["measure"].iloc[0]
        other = f"; {first} then has the most power" if first != best else ""
        return f"{after} still finds significant: {left}{other}."

    def differ(self, one: str, other: str) -> bool:
        """Return whether the interval of the difference between the powers of two measures excludes 0.

        Parameters
        ----------
        one, other : str
            Names of two measures of the table, in either order.

        Returns
        -------
        bool

        Raises
        ------
        BadParameter
            If the study has no such pair of measures.
        """
        here = self.contrasts[self.contrasts[["measure", "other"]].isin([one, other]).all(axis=1)]
        if not len(here):
            raise BadParameter(f"no two measures {one!r}, {other!r}. {near(str(one), self.table['measure'])}")
        return bool(((here["low"] > 0) | (here["high"] < 0)).iloc[0])

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        about = self.about
        said = [
            "High power does not make a good measure: a measure of something that users do not notice may have it too."
            " Low power is a reason for doubt.",
            "Shares use uncorrected p-values: if all runs were equally good, about"
            f" {percent(about['alpha'])} of the pairs would still be significant.",
            "Intervals are for the same runs and the same number of other topics; pairs share runs and are not"
            " independent.",
            f"Randomisation has no p below {p_value(about['lowest_p_randomisation'], digits=2)}, and the bootstrap none"
            f" between 0 and {p_value(1 / about['resamples'], digits=2)}; therefore only t and Wilcoxon are corrected.",
        ]
        if counts := [f"{row.measure} {row.same:,}" for row in self.table.itertuples() if row.same]:
            said.append(f"Pairs with the same score on every topic count as not significant: {', '.join(counts)}.")
        if named := ", ".join(about["less_is_better"]):
            said.append(
                f"Of {named}, less is better: a negative difference of a pair means that its first run is better."
            )
        return said + without_answers(about)


def _row(name: str, piece: Piece, alpha: float, correction: str | None, queries: int) -> dict[str, Any]:
    """Return the row of a measure in the table."""
    shares = {test: float((piece[f"p_{test}"] < alpha).mean()) for test in POWER_TESTS}
    t = shares.pop("t")
    low, high = around(t, piece["resampled"], 0.95, queries, 0.0)
    row = {"measure": name, "pairs": len(piece["p_t"]), "same": int(piece["same"].sum())}
    row |= {"t": t, "t_low": low, "t_high": high, **shares}
    if correction is not None:
        for test in ("t", "wilcoxon"):
            row[f"{test}_corrected"] = float((corrected(piece[f"p_{test}"], correction) < alpha).mean())
    known = piece["needed"][np.isfinite(piece["needed"])]
    row["needed"], row["needed_median"] = (known.max(), np.median(known)) if len(known) else (np.nan, np.nan)
    return row


def _contrasts(table: pd.DataFrame, found: Mapping[str, Piece], queries: int) -> pd.DataFrame:
    rows, power = [], table.set_index("measure")["t"]
    for one, other in combinations(power.index, 2):
        half = half_width(found[one]["resampled"] - found[other]["resampled"], 0.95, queries)
        difference = power[one] - power[other]
        rows.append((one, other, difference, difference - half, difference + half))
    return pd.DataFrame(rows, columns=["measure", "other", "difference", "low", "high"])


_MARKS: dict[str, tuple[str, dict[str, Any]]] = {
    "t": ("t, with 95 % interval", {"marker": "o", "color": STAY, "markersize": 5}),
    "wilcoxon": ("Wilcoxon", {"marker": "x", "color": SCORE, "markersize": 5}),
    "randomisation": ("randomisation", {"marker": "|", "color": COLOURS[3], "markersize": 9}),
    "bootstrap": ("bootstrap", {"marker": "D", "color": GREY, "markersize": 5, "fillstyle": "none"}),
}


def plot_power(study: Power, ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the power of each measure by each test.

    Lines are 95 % intervals of the power by the t-test. :meth:`Power.shares` returns the numbers.

    Parameters
    ----------
    study : Power
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    data = study.shares()
    ax = axes_of(ax, (7, 1.2 + 0.3 * len(data)))
    marks: dict[str, tuple[Any, ...]] = {name: (look, 100 * data[test]) for test, (name, look) in _MARKS.items()}
    marks[_MARKS["t"][0]] += 100 * data["t_low"], 100 * data["t_high"]
    ax.grid(axis="x", color=GREY, linewidth=0.6, alpha=0.3)
    ax.set_axisbelow(True)
    title = f"How many pairs of runs each measure tells apart · {_title(study)}"
    xlabel = f"pairs of runs with p < {study._alpha} (%)"
    return saved(plot_rows(ax, list(data["measure"]), marks, title, xlabel=xlabel), path)


def plot_levels(study: Power, test: str = "t", ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the share of significant pairs over the level of significance.

    These are Sakai's curves of achieved significance levels (:meth:`Power.achieved`) with exchanged axes, so that
    higher is better. :meth:`Power.levels` returns the numbers.

    Parameters
    ----------
    study : Power
        Study to plot.
    test : {"t", "wilcoxon", "randomisation", "bootstrap"}, default="t"
        Test.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    data = study.levels(test)
    ax = axes_of(ax, (7, max(3.2, 1.0 + 0.16 * len(study.table))))
    by_measure = data.groupby("measure", sort=False)
    curves = {name: (rows["level"].to_numpy(), 100 * rows["share"].to_numpy()) for name, rows in by_measure}
    ax.axvline(study.about["alpha"], color=GREY, linewidth=0.7, zorder=2.1)
    title, across = f"Pairs told apart by the level of the test · {_title(study)}", POWER_TESTS[test]
    x, y = f"level of significance ({across})", "pairs of runs told apart (%)"
    return saved(plot_curves(ax, curves, title, xscale="log", xlim=_LEVELS[[0, -1]], xlabel=x, ylabel=y), path)


def _title(study: Power) -> str:
    return f"{study._pairs}, {study.about['queries']:,} topics"
