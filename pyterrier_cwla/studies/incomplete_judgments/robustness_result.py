"""Results of a robustness study: orders and significant differences kept, with findings and plots.

Question: which metric keeps its order of runs, and its significant differences, when judgments are missing?

Method: :mod:`.robustness_study` removes judgments (Bompada et al., 2007); here, the orders with and without them are
compared by Kendall's τ_b, and the differences that stay significant are counted, with intervals over samples.

Not to conclude: a metric that keeps its order need not be right with all judgments either.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ...errors import BadParameter, check_known, many, some
from ...measures.declarations import metric_of, needs_of
from ...measures.provider import aggregated
from ...measures.wrappers import innermost, known_as
from ...rendering.figures import (
    GREY,
    axes_of,
    inset_panels,
    label_ends,
    measure_look,
    name_at,
    saved,
    thin_ticks,
    titled,
)
from ...rendering.numbers import fixed_point, p_value, percent, with_interval
from ..correlation import TAUS, parts, percentiles, signs_of, where_less_is_better
from ..report import About, Finding, Picture, Pictures, Study, Table, Tables
from .missing_judgments import KNEE, ByLevel, Depths, Fractions, Orders, knee_table, mean_of_known, times_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

Array = np.ndarray
#: Result with all judgments, then with the remaining ones ("accepted" means H₀ accepted), as in the paper.
CELLS = ("accepted_accepted", "accepted_rejected", "rejected_accepted", "rejected_rejected")
_CHUNK = 1 << 21
_NO_TESTS = "this study tested no pairs of runs: compute it with pairs=, such as pairs=300."


@dataclass(frozen=True, eq=False)
class PairTests(ByLevel):
    """Significant differences between pairs of runs at each level of judgments.

    Attributes
    ----------
    p : ndarray, shape (seeds, levels, measures, pairs)
        p-values; the last level has all judgments of the pair's pool.
    alpha, confidence : float
        Levels of significance and of the intervals.
    resamples, seed : int
        Number of bootstrap resamples and their seed.
    """

    p: Array
    alpha: float
    confidence: float
    resamples: int
    seed: int

    @cached_property
    def rejected(self) -> Array:
        """Whether H₀ is rejected."""
        return self.p <= self.alpha

    @cached_property
    def by_seed(self) -> Array:
        """C(1,1), C(1,2), C(2,1), C(2,2) [4 × seeds × levels × measures]; row 1 is H₀ accepted at 100 %."""
        return self._cases.sum(axis=-1)

    @cached_property
    def _cases(self) -> Array:
        now, truly = self.rejected, self.rejected[:, -1:]
        return np.stack([~truly & ~now, ~truly & now, truly & ~now, truly & now])

    @cached_property
    def accuracy(self) -> Array:
        """Mean accuracy over the seeds [levels × measures]."""
        return accuracy(self.by_seed).mean(axis=0)

    @cached_property
    def _resampled(self) -> tuple[Array, Array]:
        """Accuracy and g-mean [resamples × levels × measures] of resampled pairs, each with a random seed."""
        _, seeds, levels, measures, pairs = self._cases.shape
        flat = np.moveaxis(self._cases, 1, -2).reshape(4 * levels * measures, seeds * pairs).astype(np.float32)
        of_pairs, of_seeds = (np.random.default_rng([self.seed, 3, what]) for what in range(2))
        found = []
        for part in parts(self.resamples, _CHUNK // (seeds * seeds * pairs)):
            drawn = of_pairs.integers(pairs, size=(part.stop - part.start, 1, pairs))
            cells = drawn + pairs * of_seeds.integers(seeds, size=(len(drawn), seeds, pairs))
            times = times_of(cells.reshape(-1, pairs), seeds * pairs).astype(np.float32)
            counts = flat @ times.T  # whole numbers, exact in single precision
            counts = counts.reshape(4, levels, measures, len(drawn), seeds).transpose(0, 3, 4, 1, 2).astype(float)
            found.append((accuracy(counts).mean(axis=1), mean_of_known(g_mean(counts), axis=1)))
        accurate, geometric = zip(*found, strict=True)
        return np.concatenate(accurate), np.concatenate(geometric)

    def table(self) -> pd.DataFrame:
        """Return a row for each level and measure: confusion, accuracy and g-mean, means over the seeds.

        False positives are C(2,1), H₀ rejected by all judgments and accepted by the remaining ones; false negatives are
        C(1,2). g-mean is the mean over the seeds for which it is defined; ``g_mean_undefined`` counts the others.
        """
        columns = dict(zip(CELLS, self.by_seed.mean(axis=1), strict=True))
        columns |= {"false_positives": columns[CELLS[2]], "false_negatives": columns[CELLS[1]]}
        geometric = g_mean(self.by_seed)
        means = self.accuracy, mean_of_known(geometric, axis=0)
        for name, values, resampled in zip(("accuracy", "g_mean"), means, self._resampled):
            low, high = percentiles(resampled.reshape(len(resampled), -1).T, self.confidence)
            columns |= {name: values, f"{name}_low": low, f"{name}_high": high}
        columns["g_mean_undefined"] = np.isnan(geometric).sum(axis=0)
        return self.rows(columns)

    def above(self, first: str, second: str) -> pd.DataFrame:
        """Compare the accuracy of two measures: its difference at each level, with interval and verdict."""
        difference, resampled = (self.apart(of, first, second) for of in (self.accuracy, self._resampled[0]))
        return self.compared(difference, *percentiles(resampled.T, self.confidence))

    def confusion(self, level: int, seed: int = 0) -> pd.DataFrame:
        """Return numbers of pairs at the level and for the seed at these positions; two rows for each measure."""
        cells = self.by_seed[:, seed, level].T.reshape(-1, 2)
        truth = ["H₀ accepted by all judgments", "H₀ rejected by all judgments"]
        index = pd.MultiIndex.from_product([self.measures, truth], names=["measure", ""])
        return pd.DataFrame(cells, index, ["H₀ accepted", "H₀ rejected"])

    def knees(self) -> pd.DataFrame:
        """Return the smallest level with an accuracy above 0.9 for each measure."""
        return knee_table(self.levels, self.measures, self.accuracy, accuracy(self.by_seed))


def accuracy(counts: Array) -> Array:
    """Return (C₁₁ + C₂₂)/ΣC of counts [4 × …].

    Examples
    --------
    >>> float(accuracy(np.array([62, 5, 22, 176])).round(3))
    0.898
    """
    return (counts[0] + counts[3]) / counts.sum(axis=0)


def g_mean(counts: Array) -> Array:
    """Return √(TP·P) of counts [4 × …], with TP = C₁₁/(C₁₁ + C₁₂) and P = C₁₁/(C₁₁ + C₂₁).

    It is 0 if C₁₁ = 0 and there are errors. It is NaN if H₀ is never accepted, neither by all judgments nor by the
    remaining ones.

    References
    ----------
    Bompada et al. (2007), section 4.3.

    Examples
    --------
    >>> float(g_mean(np.array([62, 5, 22, 176])).round(3))
    0.826
    """
    accepted = (counts[0] + counts[1]) * (counts[0] + counts[2])
    found = np.where(counts[:3].any(axis=0), 0.0, np.nan)
    return np.divide(counts[0], np.sqrt(accepted), out=found, where=accepted > 0)


@dataclass(frozen=True, eq=False, repr=False)
class Robustness(Study):
    """Effect of missing judgments on the order of runs and on tests between runs.

    The result of :func:`robustness` and :func:`robustness_to_depth`.

    Attributes
    ----------
    holes : Fractions or Depths
        Levels of judgments.
    measures : dict of str to Measure
        Measures by name.
    runs : list of str
        Names of the runs.
    order : Orders
        Orders of the runs at each level.
    tests : PairTests or None
        Tests of pairs of runs, None if none were tested.
    about : dict
        Settings, sizes and hash of the input.
    """

    about: About
    holes: Fractions | Depths
    measures: dict[str, Measure]
    runs: list[str]
    order: Orders
    tests: PairTests | None

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        what = "shallow pools" if isinstance(self.holes, Depths) else "incomplete judgments"
        return f"Robustness to {what}: {many(len(self.measures), 'measure')}, {self.sizes}"

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        sure = f"{percent(self.about['confidence'])} intervals over topics and judgment samples"
        shown = {
            "order": Table(
                "The order of runs",
                f"{TAUS[self.about['tau']]} to the order by all judgments, mean over the seeds; {sure}; {self.noted}",
                self.order.table(),
            ),
            "knees_of_order": Table(
                "Knees of the order",
                f"The smallest level with τ strictly above {KNEE}, of the mean curve and of single seeds; in brackets:"
                f" {sure}; {self.noted}",
                self.order.knees(),
            ),
            "rankings": Table("Runs", f"Scores and ranks of runs at each level; {self.noted}", self.rankings),
        }
        if len(self.measures) > 1:
            shown["differences"] = Table(
                "Which measure keeps the order better",
                f"Differences of τ between measures on the same topics and judgments; {sure}, for each level"
                f" separately; {self.noted}",
                differences(self, combinations(self.measures, 2)).drop(columns="comparison"),
            )
        if self.tests is not None:
            pairs = f"{many(self.about['pairs'], 'pair')} of runs, {self.noted}"
            level = 0.3 if 0.3 in self.holes.levels else self.holes.levels[len(self.holes.levels) // 2]
            shown |= {
                "tests": Table(
                    "Tests between runs",
                    f"Wilcoxon's signed-rank test (p ≤ {p_value(self.about['alpha'], digits=6)}) on the judgments of"
                    " each pair's own pool: results by the remaining and by all judgments, means over the seeds;"
                    f" intervals over pairs and judgment samples; {pairs}",
                    self.tests.table(),
                ),
                "knees_of_accuracy": Table(
                    "Knees of accuracy",
                    f"The smallest level with an accuracy strictly above {KNEE}; {pairs}",
                    self.tests.knees(),
                ),
                "confusion": Table(
                    f"Confusion at {self.holes.says(level)}",
                    f"Pairs of runs by the result of the test, the first seed; {pairs}",
                    self.confusion(level).reset_index(),
                ),
            }
        return shown

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        sure = f"{percent(self.about['confidence'])} intervals"
        size = (7.0, _height(len(self.measures)))
        drawn = {
            "order": Picture(
                "The order of runs",
                f"τ to the order by all judgments; {sure} over topics and judgment samples; {self.noted}",
                partial(plot_order, self),
                curves_of(self, "tau"),
                size,
            )
        }
        if len(self.measures) > 1:
            data = differences(self)
            drawn["differences"] = Picture(
                "Which measure keeps the order better",
                f"Differences of τ on the same topics and judgments; {sure}; {self.noted}",
                partial(plot_differences, self),
                data,
                (7.0, _height(data.comparison.nunique())),
            )
        if self.tests is not None:
            counted = f"{sure} over {many(self.about['pairs'], 'pair')} of runs and judgment samples; {self.noted}"
            for name, title, plot in (
                ("accuracy", "Accuracy of the test", plot_accuracy),
                ("g_mean", "Geometric mean", plot_g_mean),
            ):
                caption = f"Wilcoxon's test; {counted}"
                drawn[name] = Picture(title, caption, partial(plot, self), curves_of(self, name), size)
        return drawn

    def headline(self) -> str:
        """Return which measure keeps the order of runs best and which least, with few judgments, in one sentence."""
        level = (_low_levels(self) or self.holes.levels[:-1] or self.holes.levels)[-1]
        rows = _best_first(self.order.table(), level, "tau").dropna(subset="tau")
        if rows.empty:
            return "No measure tells the runs apart."
        best, least = rows.iloc[0], rows.iloc[-1]
        at, runs, tau = _at(self, level), f"the order of the {len(self.runs):,} runs", TAUS[self.about["tau"]]
        if len(rows) == 1:
            return f"{at}, {best.measure} keeps {runs} with {tau} {fixed_point(best.tau, 2)}."
        if best.tau - least.tau < 1e-9:
            return f"{at}, all {len(rows):,} measures keep {runs} equally well, with {tau} {fixed_point(best.tau, 2)}."
        second = rows.iloc[1].measure
        verdict = self.above(best.measure, second).set_index("level").verdict.get(level, "yes")
        chance = "" if verdict == "yes" else f"; its lead over {second} is undecided"
        return (
            f"{at}, {best.measure} keeps {runs} best ({tau} {fixed_point(best.tau, 2)}{chance}), and {least.measure}"
            f" least ({fixed_point(least.tau, 2)})."
        )

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        of = (
            (_orders(self), "order"),
            (_comparisons(self), "differences"),
            (_knees(self), "order"),
            (_tests(self), "accuracy"),
        )
        found = [(sentence, picture) for sentences, picture in of for sentence in sentences]
        return [Finding(one, "accuracy" if one.startswith(_OF_TESTS) else picture) for one, picture in found]

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        about = self.about
        said = [
            "Robustness is not validity: these numbers show whether a measure leads to the same conclusions with few"
            " judgments as with all, not whether users agree with them.",
            "Each measure is compared with its own order by all judgments: a measure with large differences between"
            " runs keeps its order more easily.",
            f"Intervals of {percent(about['confidence'])} hold for each level separately, not for all levels together.",
        ]
        if self.tests is not None:
            said.append(
                f"Accuracy has intervals over {many(about['pairs'], 'pair')} of runs"
                f"{' and judgment samples' if self.holes.random else ''} for these {many(about['queries'], 'topic')};"
                " pairs that share a run are not independent, so these intervals are too short."
            )
            undefined = self.tests.table().groupby("measure", sort=False)["g_mean_undefined"].sum()
            if named := [f"{name} {number:,}" for name, number in undefined.items() if number]:
                said.append(
                    "g-mean is not defined if every pair differs significantly with all and with the remaining"
                    f" judgments; means leave out these values: {', '.join(named)} of"
                    f" {self.tests.p.shape[0] * self.tests.p.shape[1]:,} values of each measure (levels and seeds)."
                )
        said += [*infap_pool_note(about["pool"], self.measures), *_ties(self)]
        if self.holes.random:
            said.append(
                "Here judgments are missing at random; in practice, documents that no system retrieved have none."
            )
        if short := about["left_out"]:
            said.append(
                f"Left out: {many(len(short), 'run')} with less than {percent(about['complete'])} of the documents of"
                f" the longest run: {some(short, len(short))}."
            )
        if poor := about["lacking"]:
            said.append(
                f"{many(len(poor), 'topic')} with fewer than the 1 relevant and 10 non-relevant judgments that bpref"
                f" needs: {some(poor, 10)}; they count like the others."
            )
        return said

    @property
    def sizes(self) -> str:
        """Numbers of runs, topics and seeds."""
        return f"{many(len(self.runs), 'run')}, {self.drawn}"

    @property
    def drawn(self) -> str:
        """Numbers of topics, and of seeds if the study is random."""
        seeds = f", {many(self.about['seeds'], 'seed')}" if self.holes.random else ""
        return f"{many(self.about['queries'], 'topic')}{seeds}"

    @property
    def noted(self) -> str:
        """Last part of captions."""
        return " ".join([f"{self.sizes}.", *infap_pool_note(self.about["pool"], self.measures)])

    def above(self, first: str, second: str) -> pd.DataFrame:
        """Return whether one measure keeps the order of runs better than another.

        Parameters
        ----------
        first, second : str
            Names of the measures.

        Returns
        -------
        DataFrame
            A row for each level: ``difference`` of τ, its interval ``low`` and ``high`` (paired resamples), and
            ``verdict``: "yes", "no" or "undecided".

        Raises
        ------
        BadParameter
            If the study does not have a measure.
        """
        for name in (first, second):
            check_known("measure of this study", self.measures, measure=name)
        return self.order.above(first, second)

    @cached_property
    def rankings(self) -> pd.DataFrame:
        """Scores and ranks of runs: a row for each level, measure and run.

        The score is computed from each topic's mean over the seeds. Rank 1 is best, and equal scores have
        the same rank.
        """
        measures = list(self.measures.values())
        by_level = self.order.scores.mean(axis=0)
        scores = np.array([[[aggregated(m, row) for row in runs] for m, runs in zip(measures, of)] for of in by_level])
        names = ["level", "measure", "run"]
        index = pd.MultiIndex.from_product([self.holes.levels, self.measures, self.runs], names=names)
        frame = pd.DataFrame({"score": scores.ravel()}, index).reset_index()
        better = frame.score.round(10) * signs_of(frame.measure, where_less_is_better(self.measures))
        ranks = better.groupby([frame.level, frame.measure], sort=False)
        return frame.assign(rank=ranks.rank(ascending=False, method="min").astype(int))

    def confusion(self, level: float = 0.3, seed: int = 0) -> pd.DataFrame:
        """Return numbers of pairs of runs by the result of the test at a level and by all judgments.

        Parameters
        ----------
        level : float, default=0.3
            Level of judgments.
        seed : int, default=0
            Position of a seed among the seeds of the study, from 0.

        Returns
        -------
        DataFrame
            Two rows for each measure, as in Table 4 of Bompada et al. (2007).

        Raises
        ------
        BadParameter
            If no pairs were tested, or if there is no such level.
        """
        if self.tests is None:
            raise BadParameter(_NO_TESTS)
        levels = self.holes.levels
        if level not in levels:
            raise BadParameter(f"no level {level!r}: there is {some(levels, 20)}.")
        return self.tests.confusion(levels.index(level), seed)


def infap_pool_note(pool: str, measures: dict[str, Any]) -> list[str]:
    """Return a sentence on the information that infAP has about missing judgments, if it is among the measures."""
    names = [name for name, measure in measures.items() if needs_of(measure).pooled]
    if not names:
        return []
    treated = "in the pool" if pool == "whole" else "not in the pool"
    verb = "treats" if len(names) == 1 else "treat"
    return [f"{' and '.join(names)} {verb} documents with missing judgments as {treated} (pool={pool!r})."]


_OF_TESTS = "Is the test by"


def _levels(study: Robustness) -> list[float]:
    """Return the levels to describe: the first, the last of the low ones, and one at about half of the judgments."""
    levels = study.holes.levels[:-1]
    return sorted({*levels[:1], *_low_levels(study)[-1:], *levels[len(levels) * 2 // 3 : len(levels) * 2 // 3 + 1]})


def _low_levels(study: Robustness) -> list[float]:
    """Return the levels of few judgments: shares up to 10 %, and pools of up to ten documents."""
    return [level for level in study.holes.levels[:-1] if level <= study.holes.few]


def _best_first(table: pd.DataFrame, level: float, by: str) -> pd.DataFrame:
    """Return the rows of a level, the highest value first."""
    return table[table.level == level].sort_values(by, ascending=False, kind="stable")


def _orders(study: Robustness) -> list[str]:
    table = study.order.table()
    said = []
    for level in _levels(study):
        rows = _best_first(table, level, "tau").itertuples()
        values = ", ".join(f"{row.measure} {with_interval(row.tau, row.low, row.high) or 'undefined'}" for row in rows)
        said.append(f"{_at(study, level)}, {TAUS[study.about['tau']]} to the order by all judgments is {values}.")
    return said


def _comparisons(study: Robustness) -> list[str]:
    """Compare measures: the claim of the paper if its measures are present, else neighbours in order of robustness."""
    chain = papers_chain(study.measures)
    low = _low_levels(study)
    if not low or len(study.measures) < 2:
        return []
    said = []
    if chain:
        claims = [*pairwise(chain), (chain[0], chain[-1])]
    else:
        at = np.isin(study.holes.levels, low)
        order = np.argsort(-study.order.tau[at].mean(axis=0), kind="stable")
        claims = list(pairwise(np.array([*study.measures], object)[order]))
    found = {(first, second): study.order.mean_above(first, second, low[-1]) for first, second in claims}
    for (first, second), (difference, lower, upper) in found.items():
        verdict = "Yes" if lower > 0 else "No, below it" if upper < 0 else "Undecided"
        said.append(
            f"Is {first} above {second} with few judgments ({study.holes.says(low[0])} to"
            f" {study.holes.says(low[-1])})? {verdict}: the mean difference of τ is"
            f" {with_interval(difference, lower, upper, signed=True) or 'undefined'}. Level by level:"
            f" {_by_verdict(study, study.above(first, second))}."
        )
        if chain and study.tests is not None:
            said.append(
                f"{_OF_TESTS} {first} more accurate than by {second}, over these pairs and topics? Level by level:"
                f" {_by_verdict(study, study.tests.above(first, second))}."
            )
    if chain:
        holds = all(lower > 0 for _, lower, _ in found.values())
        against = [f"{first} is below {second}" for (first, second), (*_, upper) in found.items() if upper < 0]
        otherwise = f"is contradicted here: {', '.join(against)}" if against else "is not confirmed here"
        said.append(
            f"So the order {' above '.join(chain)} with few judgments{_as_in_the_paper(study, chain)}"
            f" {'holds here' if holds else otherwise}."
        )
    return said


def _as_in_the_paper(study: Robustness, chain: list[str]) -> str:
    """Describe how the compared measures relate to those of the paper: not cut, and nDCG of binary judgments."""
    metric = metric_of(innermost(study.measures[chain[0]]))
    if metric.cutoff is not None or str(metric.C) != "dcg":
        return f" (not the claim of Bompada et al., 2007: {chain[0]} is cut, and their nDCG is not)"
    graded = len(np.unique(metric.gains(np.arange(1, study.about["highest_grade"] + 1)))) > 1
    return ", as Bompada et al. (2007) found it" + (f" of binary nDCG ({chain[0]} is graded here)," if graded else ",")


def papers_chain(measures: dict[str, Any]) -> list[str]:
    """Return the names of nDCG, infAP and bpref in this study, or no names if one of them is missing."""
    found = {known_as(measure): name for name, measure in reversed(measures.items())}
    chain = ("nDCG", "infAP", "Bpref")
    return [found[kind] for kind in chain] if found.keys() >= set(chain) else []


def _by_verdict(study: Robustness, table: pd.DataFrame) -> str:
    return "; ".join(
        f"{verdict} at {_ranges(study, (table.verdict == verdict).to_numpy())}"
        for verdict in ("yes", "no", "undecided")
        if (table.verdict == verdict).any()
    )


def _ranges(study: Robustness, which: np.ndarray) -> str:
    """Format levels; consecutive levels become "first to last"."""
    if which.all():
        return "every level"
    says = [study.holes.says(level) for level in study.holes.levels]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], which, [0]])))
    stretches = edges.reshape(-1, 2).tolist()
    return ", ".join(says[a] if b == a + 1 else f"{says[a]} to {says[b - 1]}" for a, b in stretches)


def _knees(study: Robustness) -> list[str]:
    knees = []
    for row in study.order.knees().itertuples():
        again = "" if np.isnan(row.falls_again_at) else f", but not at {study.holes.says(row.falls_again_at)}"
        ends = f" [{_level(study, row.low)} to {_level(study, row.high)}]" if row.low < row.high else ""
        knees.append(f"{row.measure} {_knee(study, row.knee)}{ends}{again}")
    return [f"τ is above {KNEE} from the knee on: {', '.join(knees)}."]


def _knee(study: Robustness, knee: float) -> str:
    at = _level(study, knee)
    return at if at == "never" or np.isnan(knee) else f"at {at}"


def _level(study: Robustness, level: float) -> str:
    if np.isnan(level):
        return "undefined"
    if np.isinf(level):
        return "never" if study.holes.random else "all judgments"
    return study.holes.says(level)


def _tests(study: Robustness) -> list[str]:
    if study.tests is None:
        return []
    table = study.tests.table()
    said = []
    for level in _levels(study)[:2]:
        rows = _best_first(table, level, "accuracy")
        values = ", ".join(
            f"{row.measure} {with_interval(row.accuracy, row.accuracy_low, row.accuracy_high)} (g-mean"
            f" {row.g_mean:.2f}, {row.false_positives:.0f} false positives, {row.false_negatives:.0f} false negatives)"
            for row in rows.itertuples()
        )
        said.append(
            f"{_at(study, level)}, the share of these pairs for which the test has the same result as with all"
            f" judgments is {values}."
        )
    knees = ", ".join(f"{row.measure} {_knee(study, row.knee)}" for row in study.tests.knees().itertuples())
    truly = study.tests.rejected[0, -1].mean(axis=-1)
    shares = ", ".join(f"{percent(share, 0)} by {name}" for name, share in zip(study.measures, truly))
    said.append(
        f"Accuracy is above {KNEE} from the knee on: {knees}. Share of pairs that differ significantly by all"
        f" judgments: {shares}."
    )
    return said


def _ties(study: Robustness) -> list[str]:
    """Return sentences on measures that tie runs by all judgments, and on undefined values of τ."""
    order, said = study.order, []
    if tied := [f"{name} {percent(round(share, 3))}" for name, share in zip(study.measures, order.tied) if share > 0]:
        what = "count as neither concordant nor discordant, so that τ is below 1"
        if study.about["tau"] == "b":
            what = "are left out of τ"
        said.append(f"Pairs of runs that tie by all judgments {what}: {', '.join(tied)} of the pairs.")
    lost = np.isnan(order.by_seed).sum(axis=(0, 1)) + order.undefined.sum(axis=(0, 1))
    if lost.any():
        of = len(order.by_seed) * len(order.levels) * (1 + len(order.resampled))
        named = ", ".join(f"{name} {number:,}" for name, number in zip(study.measures, lost) if number)
        said.append(
            f"τ is not defined if a measure ties all runs; means and intervals leave out these values: {named} of"
            f" {of:,} values of each measure (levels, seeds and resamples)."
        )
    return said


def _at(study: Robustness, level: float) -> str:
    return study.holes.at.format(study.holes.says(level))


_MOST_BANDS = 4  # maximum number of bands: more would hide each other
_OTHER = {"color": GREY, "linewidth": 0.6, "alpha": 0.5}  # lines of the measures of other panels
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # shares
_CURVES = {
    "tau": ("Order of runs with fewer judgments (line at 0.9: equivalent)", "τ to the order by all judgments"),
    "accuracy": ("Significance of differences with fewer judgments (line at 0.9)", "accuracy (share of pairs)"),
    "g_mean": ("Pairs without a significant difference, with fewer judgments", "g-mean"),
}


def plot_order(study: Robustness, ax: Any = None, measures: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot τ between the orders of runs by the remaining judgments and by all judgments, with intervals.

    The grey line is at 0.9, above which orders are considered equivalent. More than four measures have a panel each, in
    which the grey lines are the other measures.

    Parameters
    ----------
    study : Robustness
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.
    measures : iterable of str, optional
        Names of the measures to plot. By default all.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    Bompada et al. (2007), Figures 1 and 3.
    """
    return saved(_plot_measures(study, "tau", ax, measures), path)


def plot_accuracy(study: Robustness, ax: Any = None, measures: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the accuracy of the test: the share of pairs of runs with the same result as by all judgments.

    Parameters
    ----------
    study : Robustness
        Study to plot, with tested pairs.
    ax : matplotlib Axes, optional
        By default new axes.
    measures : iterable of str, optional
        Names of the measures to plot. By default all.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    Bompada et al. (2007), Figure 2.
    """
    return saved(_plot_measures(study, "accuracy", ax, measures), path)


def plot_g_mean(study: Robustness, ax: Any = None, measures: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the geometric mean of precision and recall of the test for pairs of runs that do not differ.

    Parameters
    ----------
    study : Robustness
        Study to plot, with tested pairs.
    ax : matplotlib Axes, optional
        By default new axes.
    measures : iterable of str, optional
        Names of the measures to plot. By default all.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    Bompada et al. (2007), Figure 2.
    """
    return saved(_plot_measures(study, "g_mean", ax, measures), path)


def plot_differences(study: Robustness, ax: Any = None, comparisons: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot differences of τ between measures; above 0, the first measure keeps the order of runs better.

    Parameters
    ----------
    study : Robustness
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.
    comparisons : iterable of pairs of str, optional
        Pairs of measures. By default nDCG and infAP, and infAP and bpref, if the study has these measures; otherwise
        each measure and the next.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    table = differences(study, comparisons)
    names = list(table.comparison.unique())
    looks = {name: measure_look(number) for number, name in enumerate(names)}
    title = f"Which measure keeps the order of runs better: above 0, the first · {study.sizes}"
    columns = {"comparison": "measure", "difference": "value"}
    ax = _plot(study, ax, table.rename(columns=columns), names, looks, title, "difference of τ", 0)
    return saved(ax, path)


def curves_of(study: Robustness, what: str) -> pd.DataFrame:
    """Return level, measure, value, low and high of "tau", "accuracy" or "g_mean"."""
    if what == "tau":
        table = study.order.table().rename(columns={"tau": "value"})
    else:
        if study.tests is None:
            raise BadParameter(_NO_TESTS)
        table = study.tests.table().rename(columns={what: "value", f"{what}_low": "low", f"{what}_high": "high"})
    return table[["level", "measure", "value", "low", "high"]]


def differences(study: Robustness, comparisons: Any = None) -> pd.DataFrame:
    """Return differences of τ between measures: comparison, first, second, level, difference, low, high, verdict.

    By default nDCG − infAP and infAP − bpref if the study has these measures, else each measure minus the next.
    """
    pairs = list(pairwise(papers_chain(study.measures) or study.measures) if comparisons is None else comparisons)
    if not pairs:
        raise BadParameter("there is only one measure: nothing to compare it with.")
    frames = []
    for one, other in pairs:
        names = {"comparison": f"{one} − {other}", "first": one, "second": other}
        frames.append(pd.DataFrame({**names, **study.above(one, other)}))
    return pd.concat(frames, ignore_index=True)


def _height(measures: int) -> float:
    return 3.6 if measures <= _MOST_BANDS else 1.2 + 1.4 * -(-measures // 3)


def _plot_measures(study: Robustness, column: str, ax: Any, measures: Any) -> Any:
    """Plot "tau", "accuracy" or "g_mean" of some measures, by default all."""
    names = list(study.measures) if measures is None else list(measures)
    for name in names:
        check_known("measure of this study", study.measures, measure=name)
    looks = {name: measure_look(number) for number, name in enumerate(study.measures)}
    table = curves_of(study, column)
    title, label = _CURVES[column]
    sizes = study.sizes if column == "tau" else f"{many(study.about['pairs'], 'run pair')}, {study.drawn}"
    ax = _plot(study, ax, table, names, looks, f"{title} · {sizes}", label, None if column == "g_mean" else KNEE)
    low = table[table.measure.isin(names)]["low"].min()
    lowest = min(0.8, np.floor(10 * low) / 10) if np.isfinite(low) else 0
    for one in (ax, *ax.child_axes):
        one.set_ylim(lowest, 1.02)
    return ax


def _plot(
    study: Robustness, ax: Any, table: pd.DataFrame, names: list[str], looks: dict[str, Any], title: str, label: str,
    line: float | None,
) -> Any:  # fmt: skip
    """Plot values by level with bands: of up to four names in one panel, of more in a panel for each name.

    The table has the columns measure (a name), level, value, low and high. A grey line may be at one value.
    """
    ax = axes_of(ax, (7, _height(len(names))))
    titled(ax, title)
    ax.set(xlabel=study.holes.axis, ylabel=label)
    places = _places(study)
    rows = {name: table[table.measure == name][::-1] for name in names}  # fewer judgments, at the right, come last
    curves = {name: (of.level.map(places).to_numpy(), of.value.to_numpy()) for name, of in rows.items()}
    single = len(names) <= _MOST_BANDS
    for number, one in enumerate([ax] if single else inset_panels(ax, names, looks)):
        for name in names:
            mine = single or name == names[number]
            look = looks[name] | {"label": name, "markersize": 3, "linewidth": 1.4} if mine else _OTHER
            one.plot(*curves[name], **look)
            if mine:
                band = {"label": name, "color": look["color"], "alpha": 0.15, "linewidth": 0}
                one.fill_between(curves[name][0], rows[name].low, rows[name].high, **band)
        if line is not None:
            one.axhline(line, color=GREY, linewidth=0.8)
        _x_axis(study, one, {level: places[level] for level in sorted(table.level.unique())})
    if single:
        label_ends(ax, curves, looks)
    return ax


def _places(study: Robustness) -> dict[float, float]:
    """Return the positions of levels on the axis; all judgments come after the deepest pool."""
    levels = study.holes.levels
    last = 2 * levels[-2] if len(levels) > 1 else 2.0
    return {level: last if np.isinf(level) else level for level in levels}


def _x_axis(study: Robustness, ax: Any, places: dict[float, float]) -> None:
    """Set up an axis with fewer judgments to the right, where curves diverge and have room for labels."""
    ax.set_xscale("log")
    says = [study.holes.says(of).removeprefix("depth ").removesuffix("\N{NO-BREAK SPACE}%") for of in places]
    said = dict(zip(places.values(), says))
    few = {x: text for (level, x), text in zip(places.items(), says) if level in _TICKS or not study.holes.random}
    ticks = few if len(few) > 1 else said
    ax.set_xticks(list(ticks), list(ticks.values()))
    ax.set_xticks([], minor=True)
    ax.fmt_xdata = partial(name_at, list(said), says)
    if not ax.xaxis_inverted():
        ax.invert_xaxis()
    thin_ticks(ax)
