"""Result of a comparison of runs: tables in text, HTML, the terminal and LaTeX, and plots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.console import Console, ConsoleOptions
from rich.segment import Segment

from ..errors import BadParameter, near
from ..errors.sanitise import sanitised
from ..measures.counting import scores_of_unanswered
from ..rendering.figures import saved
from ..rendering.latex import floating_table, typeset
from ..rendering.tables import (
    Table,
    TableCell,
    TableColumn,
    decimals,
    fixed_point,
    interval_of,
    level,
    percent,
    probability,
)
from ..rendering.terminal import other_than_means
from .comparison_plots import plot_pairs, plot_scores, plot_topics, plot_wins
from .significance import CORRECTIONS, PAIRED_TESTS, TESTS, Array, SignificanceTest, unit_of, without_noise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOLD = "Bold: the highest."
"""Note below tables with bold type, if higher scores are better for all measures."""
_NOT_CORRECTED = "Intervals are not corrected: one may exclude 0 where there is no mark."
_EFFECT = "d_z is the mean of the differences of topics, divided by their standard deviation."
_OF_MATRIX = "Differences: the score of the run (row) minus that of the baseline (column)."
_RUNS_OF_MATRIX = 30  # in a notebook
_RUNS = 15  # in a notebook
_ONLY_PAIRS = ["baseline", "wins", "ties", "losses"]  # columns that a table with one row per run does not have


@dataclass(frozen=True, repr=False)
class Comparison:
    """Result of :func:`compare`: scores of runs, and the pairs of a run and a baseline that are compared.

    The pairs are those of one baseline, of several baselines or of all runs; without a baseline, there are none.

    Attributes
    ----------
    about : dict
        Information to report with the table: version of the package, measures, queries, seed, settings and methods.
        ``about["better"]`` says by measure which scores are better: "higher", "lower", or None if neither is.
    by_query : DataFrame
        Values of the measures, one row per run and query; logarithms for GeometricMean.
    """

    about: dict[str, Any]
    by_query: pd.DataFrame
    _runs: pd.DataFrame  # one row per run and measure
    _pairs: pd.DataFrame  # one row per pair and measure, without the columns of deferred tests

    @cached_property
    def runs(self) -> list[Any]:
        """Names of the runs, in the order of the arguments."""
        return self.by_query.index.unique("run").tolist()

    @property
    def measures(self) -> list[str]:
        """Names of the measures, in the order of the arguments."""
        return self.by_query.columns.tolist()

    @property
    def baselines(self) -> list[Any]:
        """Names of the baselines; all runs if all pairs are compared."""
        about = self.about
        if not self._has_row_per_pair:
            return [] if about["baseline"] is None else [about["baseline"]]
        return about["baselines"] or self.runs

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Score of each run (row) by each measure (column)."""
        values = self._runs["score"].to_numpy().reshape(len(self.runs), -1)
        return pd.DataFrame(values, index=pd.Index(self.runs, name="run"), columns=self.measures)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The results: one row per run and measure, or one row per pair if there are several baselines or all pairs.

        One row per run and measure has the columns

        * ``run``, ``measure``;
        * ``score``: mean over queries, as in :func:`evaluate` (sum for counts, geometric mean for GeometricMean), and
          ``score_low``, ``score_high``: its confidence interval;

        and with a baseline, whose own rows have NaN in these columns,

        * ``difference``: ``score`` minus the score of the baseline, and ``difference_low``, ``difference_high``: its
          confidence interval, not corrected;
        * ``effect``: Cohen's d_z, the mean of the differences of queries divided by their standard deviation;
        * ``p_t``, ``p_wilcoxon``, ``p_randomisation``: two-sided p-values of the paired tests;
        * ``p_t_corrected``, ``p_wilcoxon_corrected``, ``p_randomisation_corrected``: the same, corrected for all
          comparisons of the table (uncorrected if ``correction=None``).

        One row per pair and measure has ``run``, ``baseline``, ``measure``, the columns from ``difference`` on, and

        * ``wins``, ``ties``, ``losses``: numbers of queries for which the run is better than, as good as and worse than
          the baseline;

        and for all pairs of runs

        * ``p_tukey``: p-values of Tukey's HSD with topics as blocks, computed when the table is first read, and
          ``tukey_low``, ``tukey_high``: its simultaneous intervals (NaN for geometric means);
        * ``p_randomised_hsd``: p-values of the randomised HSD.
        """
        if self._has_row_per_pair:
            return self._all_pairs
        return self._by_run.drop(columns=[*_ONLY_PAIRS, "mark", "best", "places"], errors="ignore")

    @property
    def _has_row_per_pair(self) -> bool:
        return "baselines" in self.about

    @property
    def _test(self) -> SignificanceTest:
        return TESTS[self.about["test"]]

    @cached_property
    def _all_pairs(self) -> pd.DataFrame:
        """The pairs with the columns of deferred tests, after the wins, ties and losses."""
        if not self._has_row_per_pair or self.about["baselines"] is not None:
            return self._pairs
        tested = []
        for measure, rows in self._pairs.groupby("measure", sort=False):
            values = self.by_query[measure].to_numpy(float).reshape(len(self.runs), -1)
            deferred = all_pairs_tests(values, rows["difference"].to_numpy(), str(measure), self.about, deferred=True)
            tested.append(pd.DataFrame(deferred, index=rows.index))
        at = self._pairs.columns.get_loc("losses") + 1
        return pd.concat([self._pairs.iloc[:, :at], pd.concat(tested), self._pairs.iloc[:, at:]], axis=1)

    @cached_property
    def _marked(self) -> pd.DataFrame:
        """The pairs with the column ``mark``; those of a deferred test are read only if it decides on the marks."""
        pairs, about = self._all_pairs if self._test.deferred else self._pairs, self.about
        if pairs.empty:
            return pairs.assign(mark=0)
        of_pair = zip(pairs["run"], pairs["baseline"], pairs["measure"], strict=True)
        opposed = [list(pair) in about["opposed"] for pair in of_pair]
        significant = (pairs[self._test.decisive] < about["alpha"]) & ~np.array(opposed)
        return pairs.assign(mark=np.where(significant, np.sign(pairs["difference"]), 0).astype(int))

    @cached_property
    def _by_run(self) -> pd.DataFrame:
        """One row per run and measure, with the columns of the pairs with the one baseline, if there is one.

        ``places`` are the decimals of the measure, and ``best`` is true for the best score.
        """
        scores, table = self.scores, self._runs.copy()
        if not self._has_row_per_pair and self.baselines:
            reference = self.runs.index(self.about["baseline"])
            others = np.arange(len(scores)) != reference
            for name, values in self._marked.drop(columns=["run", "baseline", "measure"]).items():
                of_runs = np.full(scores.shape, np.nan)
                of_runs[others] = values.to_numpy().reshape(len(self.measures), -1).T  # pairs are measure by measure
                table[name] = of_runs.ravel()
            differences = scores.to_numpy() - scores.to_numpy()[reference]
            table["difference"] = np.where(others[:, None], differences, np.nan).ravel()
        best = pd.DataFrame({measure: self._is_best(measure, of) for measure, of in scores.items()})
        marks = table["mark"].fillna(0).astype(int) if "mark" in table else 0
        return table.assign(
            mark=marks, best=best.to_numpy().ravel(), places=[*map(self.places, self.measures)] * len(scores)
        )

    def rows_of_runs(self, measure: str) -> pd.DataFrame:
        """Return the rows of a measure by run, with the columns ``mark`` and ``best``."""
        return self._by_run[self._by_run["measure"] == measure].set_index("run")

    def _is_best(self, measure: Any, scores: pd.Series[float]) -> pd.Series[bool]:
        highest, lowest = scores.max(), scores.min()
        best = {"higher": highest, "lower": lowest}.get(self.about["better"][measure], np.nan)
        return (scores == best) & (highest > lowest)

    def places(self, measure: str) -> int:
        """Return the number of decimals of the scores of a measure: none for sums, and fewer for larger scores."""
        scores = self.scores[measure].abs()
        return 0 if self.about["aggregates"][measure] == "sum" else decimals(scores.where(np.isfinite(scores)).max())

    def rows(self, measure: str | None = None) -> pd.DataFrame:
        """Return the pairs of a measure, each also in the other direction, by (run, baseline).

        The column ``mark`` is 1 if the run is significantly higher than the baseline, −1 if it is significantly lower,
        and otherwise 0.

        Parameters
        ----------
        measure : str, optional
            Name of the measure; by default the first.

        Raises
        ------
        BadParameter
            If there is no such measure, or if nothing is compared.
        """
        return self._both_directions(self._all_pairs.assign(mark=self._marked["mark"]), measure)

    def _both_directions(self, pairs: pd.DataFrame, measure: str | None = None) -> pd.DataFrame:
        """Return the rows of a measure and the same with run and baseline exchanged, by (run, baseline)."""
        rows = self._of_measure(pairs, self.measure_or_first(measure))
        return pd.concat([rows, turned(rows)]).set_index(["run", "baseline"])

    def _of_measure(self, pairs: pd.DataFrame, measure: str) -> pd.DataFrame:
        if pairs.empty:
            raise BadParameter("there is no pair of runs to show: compare with a baseline, or with pairs=True.")
        return pairs[pairs["measure"] == measure]

    def measure_or_first(self, measure: str | None) -> str:
        """Return the name of a measure of the comparison, by default of the first."""
        if pd.api.types.is_list_like(measure):
            raise BadParameter(f"measure={measure!r:.80} must be one measure here, such as {self.measures[0]!r}.")
        return chosen_of("measure", measure, self.measures)[0]

    def best_runs(self, most: int, measure: str | None = None) -> list[Any]:
        """Return the best runs by a measure, in the order of the arguments; the baseline is always among them.

        Parameters
        ----------
        most : int
            Number of runs.
        measure : str, optional
            Name of the measure; by default the first.
        """
        measure = self.measure_or_first(measure)
        lower = self.about["better"][measure] == "lower"
        order = self.scores[measure].sort_values(ascending=lower, kind="stable").index.tolist()
        order.sort(key=lambda run: run != self.about["baseline"])
        return [run for run in self.runs if run in set(order[:most])]

    def differences(self, a: Any, b: Any, measure: str | None = None) -> pd.DataFrame:
        """Return the scores of two runs by query, and their difference.

        Parameters
        ----------
        a, b : str
            Names of the runs.
        measure : str, optional
            Name of the measure; by default the first.

        Returns
        -------
        DataFrame
            One row per query (index query_id), with the columns of the two runs and ``difference``, a − b. The highest
            difference is first; equal ones are in the order of the queries. As in the tests, differences that are
            only rounding errors are 0.

        Raises
        ------
        BadParameter
            If there is no such run or measure, or if both runs are the same.

        Examples
        --------
        >>> from pyterrier_cwla import compare
        >>> qrels = {q: {"a": 1, "b": 0} for q in "12"}
        >>> one = {q: {"a": 1.0, "b": float(q) - 0.5} for q in "12"}
        >>> other = {q: {"a": 2.0, "b": 1.0} for q in "12"}
        >>> compare(qrels, {"one": one, "other": other}, ["RR"]).differences("other", "one")
                  other  one  difference
        query_id
        2           1.0  0.5         0.5
        1           1.0  1.0         0.0
        """
        measure = self.measure_or_first(measure)
        chosen_of("run", [a, b], self.runs)
        if a == b:
            raise BadParameter(f"{a!r} is given twice: there is no difference to show. Give two runs.")
        values = self.by_query[measure]
        found = pd.DataFrame({a: values.loc[a], b: values.loc[b]})
        largest = float(np.abs(values).max())
        difference = found[a] - found[b]
        if np.isfinite(largest) and largest > 0:
            difference = without_noise(difference, largest) * unit_of(largest)
        found["difference"] = difference
        return found.sort_values("difference", ascending=False, kind="stable")

    # ---- sentences

    @property
    def other_aggregates(self) -> str:
        """End of a sentence on means, about measures with other aggregates."""
        return other_than_means(
            self.about["aggregates"], " (tested on logarithms)" if self.about["comparisons"] else ""
        )

    @property
    def of_topics(self) -> list[str]:
        """Sentences about the topics: the number, the aggregates, and the runs that do not answer all."""
        notes = [f"Means over {self.about['queries']:,} topics{self.other_aggregates}."]
        if self.about["unanswered"]:
            some = [f"{run} ({count:,})" for run, count in self.about["unanswered"].items()]
            some = [*some[:3], "…"] if len(some) > 3 else some
            scores = scores_of_unanswered(self.about["measures"].values())
            notes.append(f"Topics that a run does not answer {scores}: {', '.join(some)}.")
        return notes

    @property
    def significance(self) -> str:
        """Level of significance, test and correction, as a part of a sentence."""
        many, correction = self.about["comparisons"], self.about["correction"]
        family = f"all {many:,} comparisons of the table" if many > 1 else "the one comparison of the table"
        how = f"{'not ' if correction is None else CORRECTIONS[correction] + '-'}corrected for {family}"
        over = " over topics"
        if self._test.of_all_pairs:
            how, over = "corrected for all pairs of runs by each measure", ""
        return f"p < {level(self.about['alpha'])} in {self._test.words}{over}, {how}"

    @property
    def _of_intervals(self) -> tuple[str, ...]:
        """Sentence on intervals of differences that are not corrected, unlike the p-values."""
        corrected = self.about["correction"] is not None or self._test.of_all_pairs
        return (_NOT_CORRECTED,) if corrected and self.about["comparisons"] > 1 else ()

    @property
    def of_opposed(self) -> list[str]:
        """Sentence about significant comparisons that have no mark, if there are any."""
        opposed = self.about["opposed"]
        if not opposed:
            return []
        some = [f"{run} and {baseline} ({measure})" for run, baseline, measure in opposed[:3]]
        more = [f"{len(opposed) - 3:,} more"] if len(opposed) > 3 else []
        called = ", ".join([*some, *more])
        return [f"Without a mark, since means are equal or differ in the other direction than the ranks: {called}."]

    def _out_of_reach(self, test: SignificanceTest) -> list[str]:
        """Return the sentence on a test that cannot reach significance."""
        many = self.about["comparisons"]
        if test.lowest_p is None or not many:
            return []
        kind, lowest = test.lowest_p(self.about["queries"], self.about["resamples"])
        # For the other corrections, the corrected lowest p depends on the other p-values.
        factor = many if self.about["correction"] in ("bonferroni", "sidak", "holm", "holm-sidak") else 1
        if lowest * factor < self.about["alpha"]:
            return []
        times = f", {level(min(1.0, lowest * factor), 2)} corrected for {many:,} comparisons" if factor > 1 else ""
        way_out = "there are too few topics" if kind == "all signs" else "give more resamples"
        return [f"In {test.words}, no p is below {level(lowest, 2)}{times}: {way_out}."]

    @property
    def of_wins(self) -> str:
        """Sentence about wins, ties and losses."""
        least = self.about["least"]
        ties = f"differ by at most {least:g}" if least else "are equal"
        return f"Wins, ties and losses are by topic; topics tie if the scores {ties}."

    def about_bold(self, measures: Sequence[str] | None = None) -> list[str]:
        """Return the sentence about bold type, if any score by these measures is bold."""
        best = self._by_run.groupby("measure")["best"].any()
        bold = [name for name in measures or self.measures if best[name]]
        lowest = [name for name in bold if self.about["better"][name] == "lower"]
        if not lowest:
            return [BOLD] * bool(bold)
        if lowest == bold:
            return ["Bold: the lowest, since less is better."]
        return [f"{BOLD.removesuffix('.')}; of {', '.join(lowest)} the lowest, since less is better."]

    def called(self, measure: str) -> str:
        """Return the name of a measure in titles, which says if less is better."""
        return f"{measure} (less is better)" if self.about["better"][measure] == "lower" else measure

    def notes(self, interval: str | None = "difference", marks: tuple[str, str] = ("▲", "▼")) -> list[str]:
        """Return the sentences that explain a table.

        Parameters
        ----------
        interval : {"difference", "score", None}, default="difference"
            Interval in the table, as for :meth:`wide`.
        marks : tuple of str, default=("▲", "▼")
            Marks of significantly higher and lower scores.

        Returns
        -------
        list of str
            Sentences.
        """
        baseline, kind = self.about["baseline"], self._kind(interval)
        means, *unanswered = self.of_topics
        notes = [means, *self._about_interval(kind)]
        if len(self.runs) == 1:
            notes.append("Nothing is compared: there is only one run.")
        if self.about["comparisons"]:
            than = "" if baseline is None else f" than {baseline}"
            notes.append(f"{marks[0]} {marks[1]}: significantly higher or lower{than}, {self.significance}.")
        if self._has_row_per_pair:
            lower = [name for name in self.measures if self.about["better"][name] == "lower"]
            notes += [f"Less is better: {', '.join(lower)}."] if lower else []
        elif kind == "difference":
            notes += self._of_intervals
        return [*notes, *self.of_opposed, *unanswered, *self._out_of_reach(self._test)]

    def _about_interval(self, kind: str | None) -> list[str]:
        how = f"(percentile bootstrap over topics, {self.about['resamples']:,} resamples)"
        confidence = percent(self.about["confidence"])
        if kind == "score":
            return [f"In brackets {confidence} confidence intervals {how}."]
        if kind is None or self._has_row_per_pair:
            return []
        return [
            f"With each score its difference to {self.about['baseline']} and, in brackets, that difference's"
            f" {confidence} confidence interval {how}."
        ]

    def _kind(self, interval: str | None) -> str | None:
        if interval not in ("difference", "score", None):
            raise BadParameter(f"interval={interval!r} must be 'difference', 'score' or None.")
        return "score" if interval == "difference" and not self.baselines else interval

    # ---- tables

    def wide(self, measure: Any = None, interval: str | None = "difference") -> pd.DataFrame:
        """Return a table for reading: scores of runs by measures, or a matrix of the differences of pairs.

        With one baseline or none, there is one row per run and one column per measure. Each cell has the score, ▲ or ▼
        if it is significantly higher or lower than the score of the baseline, and the values that `interval` selects.

        With several baselines and for all pairs, there is one row per run, with its score and its differences to the
        baselines (columns), such as "+0.021▲".

        Parameters
        ----------
        measure : str or iterable of str, optional
            Names of the measures; by default all. A matrix shows one measure, by default the first.
        interval : {"difference", "score", None}, default="difference"
            "difference" adds the difference to the baseline with its confidence interval. "score", and "difference"
            without a baseline, add the confidence interval of the score. None adds nothing.

        Returns
        -------
        DataFrame of str
            Formatted cells.

        Raises
        ------
        BadParameter
            If there is no such measure or `interval`.
        """
        if self._has_row_per_pair:
            cells = [[cell.plain for cell in row] for row in self._matrix(measure)]
            heads = ["score", *map(str, self.baselines)]
        else:
            heads = chosen_of("measure", measure, self.measures)
            shown = self.cells(interval)
            cells = [
                ["", *(f"{cell.plain} {cell.below}".rstrip() for cell in (shown[run, name] for name in heads))]
                for run in self.runs
            ]
        return pd.DataFrame([row[1:] for row in cells], index=pd.Index(self.runs, name="run"), columns=heads)

    def wins(self, measure: str | None = None) -> pd.DataFrame:
        """Return a matrix of wins, ties and losses by topic of runs (rows) against baselines (columns).

        Parameters
        ----------
        measure : str, optional
            Name of the measure; by default the first.

        Returns
        -------
        DataFrame of str
            Cells such as "31/2/17": the run wins 31 topics, ties 2 and loses 17.
        """
        cells = [[cell.below or cell.text for cell in row[2:]] for row in self._matrix(measure)]
        return pd.DataFrame(cells, index=pd.Index(self.runs, name="run"), columns=list(map(str, self.baselines)))

    def cells(self, interval: str | None = "difference") -> dict[tuple[Any, str], TableCell]:
        """Return the cells of a table of scores, by run and measure; `interval` is that of :meth:`wide`."""
        kind = self._kind(interval)
        return {
            (row["run"], row["measure"]): TableCell(
                fixed_point(row["score"], row["places"]), row["mark"], row["best"], _beside(row, kind), _hint(row)
            )
            for row in self._by_run.to_dict("records")
        }

    def _matrix(self, measure: str | None) -> list[list[TableCell]]:
        """Return the cells of a matrix: name, score, and differences to baselines above wins, ties and losses."""
        measure = self.measure_or_first(measure)
        places = self.places(measure)
        found = {(run, run): TableCell("·") for run in self.runs}
        for pair, row in self._both_directions(self._marked, measure).to_dict("index").items():
            found[pair] = TableCell(fixed_point(row["difference"], places, "+"), row["mark"], below=_wins_of(row))
        return [
            [
                TableCell(str(run)),
                TableCell(f"{score:.{places}f}"),
                *(found.get((run, baseline), TableCell("")) for baseline in self.baselines),
            ]
            for run, score in self.scores[measure].items()
        ]

    def _listed(self, measures: Iterable[str], marks: tuple[str, str] = ("▲", "▼")) -> Table:
        """Return a table with one row per pair."""
        interval = self._test.name if f"{self._test.name}_low" in self._marked else "difference"
        about = f"Intervals: percentile bootstrap over topics, {self.about['resamples']:,} resamples."
        intervals = (about, *self._of_intervals)
        if interval != "difference":
            intervals = (f"Intervals hold for all pairs together, by {self._test.words}.",)
        columns = [
            TableColumn("run", lambda row: str(row["run"]), "name"),
            TableColumn("baseline", lambda row: str(row["baseline"]), "name"),
            _difference("Differences: the score of the run minus that of the baseline.", marked=True),
            _interval(interval, "+", f"{percent(self.about['confidence'])}\ninterval", 3, "intervals", intervals),
            _effect(1),
            TableColumn(
                "wins/ties/losses", _wins_of, left_out=2, called="wins, ties and losses", notes=(self.of_wins,)
            ),
            TableColumn("p", lambda row: probability(row[self._test.decisive]), notes=("p: that of the test above.",)),
        ]
        parts = {
            name: self._of_measure(self._marked, name).assign(places=self.places(name)).to_dict("records")
            for name in measures
        }
        return Table(parts, columns, self.notes(None, marks))

    def _of_runs(self, console: Console) -> Table:
        """Return a table with one row per run, for a terminal."""
        about, baseline = self.about, self.about["baseline"]
        head, with_score = f"{percent(about['confidence'])}\ninterval", tuple(self._about_interval("score"))
        columns = [
            TableColumn("run", lambda row: TableCell(str(row["run"]), below=self._tag(row["run"])), "name"),
            TableColumn(
                "score",
                lambda row: TableCell(fixed_point(row["score"], row["places"]), row["mark"], row["best"]),
                marked=True,
            ),
            _interval("score", "-", head, len(TESTS) + 1, "intervals of scores", with_score),
        ]
        if baseline is not None:
            corrected = "All p-values are corrected; the full table also has the uncorrected ones."
            columns += [
                _difference(f"Δ: the score minus that of {baseline}."),
                _interval(
                    "difference", "-", head, len(TESTS) + 2, "intervals of Δ", (*with_score, *self._of_intervals)
                ),
                _effect(len(TESTS)),
            ]
            for place, test in enumerate(PAIRED_TESTS.values(), 1):
                chosen = test == self._test
                notes = () if about["correction"] is None else (corrected,)
                notes = (*notes, *(() if chosen else self._out_of_reach(test)))
                columns.append(_probability(test, 0 if chosen else place, notes))
        bold = self.about_bold() if console.color_system is not None else []  # files and pipes have no bold type
        rows = {name: of.to_dict("records") for name, of in self._by_run.groupby("measure", sort=False)}
        return Table({str(name): of for name, of in rows.items()}, columns, [*self.notes(None), *bold])

    def _tag(self, run: Any) -> str:
        return "baseline" if self.about["baseline"] is not None and run == self.about["baseline"] else ""

    def _grid(self, runs: Sequence[Any], measures: Sequence[str], interval: str | None) -> Table:
        """Return a table with one row per run and one column per measure."""
        cells = self.cells(interval)
        rows = [
            [TableCell(str(run), below=self._tag(run)), *(cells[run, measure] for measure in measures)] for run in runs
        ]
        return Table.from_cells({"": rows}, ["", *measures])

    def to_latex(
        self,
        measure: Any = None,
        interval: str | None = "difference",
        caption: str | None = None,
        label: str = "",
        layout: str | None = None,
    ) -> str:
        r"""Return LaTeX table environments that use booktabs.

        For short column heads, give :func:`compare` the measures by name.

        Parameters
        ----------
        measure : str or iterable of str, optional
            Names of the measures; by default all.
        interval : {"difference", "score", None}, default="difference"
            Values below each score in the layout "runs", as for :meth:`wide`.
        caption : str, optional
            Caption in LaTeX. The default caption explains the table.
        label : str, optional
            Label for references; none by default.
        layout : {"runs", "matrix", "list"}, optional
            "runs" has one row per run and one column per measure; the best score is bold, and an arrow marks a
            significant difference to the one baseline. The others have one table for each measure: "matrix" is that of
            :meth:`wide` for pairs, with wins, ties and losses below the differences; "list" has one row per pair, with
            intervals, effect sizes, wins, ties and losses, and p-values. By default "runs" for one baseline or none,
            otherwise "matrix".

        Returns
        -------
        str
            LaTeX source.

        Raises
        ------
        BadParameter
            If there is no such measure, `interval` or layout, or if there is no pair to show.
        """
        layout = layout or ("matrix" if self._has_row_per_pair else "runs")
        if layout not in ("runs", "matrix", "list"):
            raise BadParameter(f"layout={layout!r} must be 'runs', 'matrix' or 'list'.")
        if layout == "runs" and self._has_row_per_pair:
            raise BadParameter("layout='runs' is for one baseline or none: for pairs of runs, give 'matrix' or 'list'.")
        measures, arrows = chosen_of("measure", measure, self.measures), ("↑", "↓")
        if layout != "runs" and len(measures) > 1:
            return "\n".join(
                self.to_latex(one, interval, caption, label and f"{label}-{one}", layout) for one in measures
            )
        if layout == "runs":
            table = self._grid(self.runs, measures, interval)
            notes = [*self.notes(interval, arrows), *self.about_bold(measures)]
        elif layout == "matrix":
            table = Table.from_cells({"": self._matrix(measures[0])}, ["", "score", *map(str, self.baselines)])
            notes = [f"{measures[0]}.", *self.notes(None, arrows), _OF_MATRIX, "Below: wins/ties/losses.", self.of_wins]
        else:
            table = self._listed(measures, arrows)
            notes = [f"{measures[0]}.", *table.all_notes]
        text = typeset(" ".join(notes)) if caption is None else caption
        return floating_table(table.latex(), text, label, self.about)

    @sanitised
    def _repr_html_(self) -> str:
        if self._has_row_per_pair:
            most = _RUNS_OF_MATRIX
            rows = {name: [row[: most + 2] for row in self._matrix(name)[:most]] for name in self.measures}
            table = Table.from_cells(rows, ["", "score", *map(str, self.baselines[:most])])
            notes, chosen = [_OF_MATRIX, "Below: wins/ties/losses.", *self.notes(), self.of_wins], ""
        else:
            most = _RUNS
            table = self._grid(self.best_runs(most), self.measures, "difference")
            notes, chosen = [*self.notes(), *self.about_bold()], f", the best by {self.measures[0]}"
        some = [f"Shown are {most} of {len(self.runs):,} runs{chosen}; .table has all."] * (len(self.runs) > most)
        return f"{table.html()}<p><small>{escape(' '.join([*some, *notes]))}</small></p>"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Yield a table of pairs or of runs for each measure, with the columns that fit the width, and notes."""
        table = self._listed(self.measures) if self._has_row_per_pair else self._of_runs(console)
        yield from table.__rich_console__(console, options)

    @sanitised
    def __repr__(self) -> str:
        if not self._has_row_per_pair:
            return "\n".join([self.wide().to_string(), *self.notes()])
        parts = [f"{measure}\n{self.wide(measure).to_string()}\n" for measure in self.measures]
        return "\n".join([*parts, _OF_MATRIX, *self.notes(), "Wins, ties and losses by topic: .wins(measure)."])

    # ---- pictures

    def plot(self, measures: Any = None, runs: Any = None, width: float = 7.0, path: Any = None) -> Figure:
        """Plot the scores of the runs with their intervals and marks of significance, one panel per measure.

        With one baseline, the bars are the confidence intervals of the differences to the baseline, drawn at the
        scores; the dashed line is the score of the baseline. Otherwise, they are the confidence intervals of the
        scores. Runs are sorted by the first measure, the best at the top.

        Parameters
        ----------
        measures : str or iterable of str, optional
            Names of the measures to plot; by default all.
        runs : str or iterable of str, optional
            Names of the runs to plot; by default all.
        width : float, default=7.0
            Width of the figure in inches. The number of panels in a row depends on it.
        path : path, optional
            File to save the figure to.

        Returns
        -------
        matplotlib Figure
            Its ``.axes`` are the panels, one for each measure.

        Raises
        ------
        BadParameter
            If there is no such run or measure.
        CWLAError
            If matplotlib is not installed.
        """
        shown, names = chosen_of("measure", measures, self.measures), chosen_of("run", runs, self.runs)
        return saved(plot_scores(self, shown, names, width), path)

    def plot_topics(
        self, a: Any, b: Any, measure: str | None = None, topics: Any = None, ax: Any = None, path: Any = None
    ) -> Axes:
        """Plot the difference of two runs topic by topic, sorted, with the shares of topics that each run wins.

        All topics have a bar. If there are more than 30, only the 12 with the highest and the 12 with the lowest
        differences have a name, and the bars of the others are thinner. :meth:`differences` returns the values.

        Parameters
        ----------
        a, b : str
            Names of the runs; the difference is a − b.
        measure : str, optional
            Name of the measure; by default the first.
        topics : dict, Series or DataFrame, optional
            Texts of the topics by query id, or a frame with the columns qid and query, as PyTerrier has it. By default
            the picture shows query ids.
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones, whose height depends on the number of topics.
        path : path, optional
            File to save the figure to.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        BadParameter
            If there is no such run or measure, if no difference is finite, or if no topic has a text.
        CWLAError
            If matplotlib is not installed.
        """
        return saved(plot_topics(self, a, b, measure, topics, ax), path)

    def plot_pairs(self, measure: str | None = None, ax: Any = None, path: Any = None) -> Axes:
        """Plot the differences of runs (rows) to baselines (columns) as a heat map; significant ones have a number.

        Runs are sorted by their scores, the best at the top.

        Parameters
        ----------
        measure : str, optional
            Name of the measure; by default the first.
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones.
        path : path, optional
            File to save the figure to.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        BadParameter
            If there is no such measure, or if nothing is compared.
        CWLAError
            If matplotlib is not installed.
        """
        measure = self.measure_or_first(measure)
        return saved(plot_pairs(self, measure, self._both_directions(self._marked, measure), ax), path)

    def plot_wins(self, measure: str | None = None, pairs: int = 20, ax: Any = None, path: Any = None) -> Axes:
        """Plot wins, ties and losses by topic of each pair as bars; the pairs with the largest differences first.

        Parameters
        ----------
        measure : str, optional
            Name of the measure; by default the first.
        pairs : int, default=20
            Largest number of pairs to show.
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones.
        path : path, optional
            File to save the figure to.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        BadParameter
            If there is no such measure, or if nothing is compared.
        CWLAError
            If matplotlib is not installed.
        """
        measure = self.measure_or_first(measure)
        return saved(plot_wins(self, measure, self._of_measure(self._pairs, measure), pairs, ax), path)


def _difference(note: str, marked: bool = False) -> TableColumn:
    def cell(row: Mapping[str, Any]) -> TableCell:
        return TableCell(fixed_point(row["difference"], row["places"], "+"), row["mark"] if marked else 0)

    return TableColumn("Δ", cell, marked=marked, notes=(note,))


def _interval(
    name: str, sign: str, heading: str, left_out: int = 0, called: str = "", notes: tuple[str, ...] = ()
) -> TableColumn:
    def cell(row: Mapping[str, Any]) -> str:
        return interval_of(row[f"{name}_low"], row[f"{name}_high"], row["places"], sign)

    return TableColumn(heading, cell, left_out=left_out, called=called, notes=notes)


def _effect(left_out: int = 0) -> TableColumn:
    return TableColumn(
        "d_z", lambda row: fixed_point(row["effect"], 2, "+"), left_out=left_out, called="d_z", notes=(_EFFECT,)
    )


def _probability(test: SignificanceTest, left_out: int, notes: tuple[str, ...]) -> TableColumn:
    def cell(row: Mapping[str, Any]) -> str:
        return probability(row[test.decisive])

    return TableColumn(f"p\n{test.heading}", cell, left_out=left_out, called=f"p by {test.name}", notes=notes)


def _wins_of(row: Mapping[str, Any]) -> str:
    """Return the wins, ties and losses of a pair, such as 31/2/17."""
    return f"{row['wins']}/{row['ties']}/{row['losses']}"


def _beside(row: Mapping[str, Any], kind: str | None) -> str:
    """Return the text below or beside a score."""
    if kind == "score":
        return interval_of(row["score_low"], row["score_high"], row["places"])
    if kind is None or np.isnan(row.get("difference", np.nan)):
        return ""
    interval = interval_of(row["difference_low"], row["difference_high"], row["places"])
    return f"{fixed_point(row['difference'], row['places'], '+')} {interval}"


def _hint(row: Mapping[str, Any]) -> str:
    if np.isnan(row.get("effect", np.nan)):
        return ""
    p = (f"p ({name}) {probability(row[test.decisive])}" for name, test in PAIRED_TESTS.items())
    return ", ".join([f"d_z {fixed_point(row['effect'], 2, '+')}", *p])


def turned(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of pairs in the other direction: the baseline compared with the run."""
    lower = [name for name in rows if name.endswith("_low")]
    upper = [f"{name.removesuffix('_low')}_high" for name in lower]
    swapped = {"run": "baseline", "baseline": "run", "wins": "losses", "losses": "wins"}
    swapped |= dict(zip([*lower, *upper], [*upper, *lower], strict=True))
    other = rows.rename(columns=swapped)[rows.columns]
    signed = other.columns.intersection(["difference", "effect", "mark", *lower, *upper])
    other[signed] = -other[signed]
    return other


def all_pairs_tests(
    scores: Array, differences: Array, measure: str, about: Mapping[str, Any], deferred: bool
) -> dict[str, Array]:
    """Return the p-values of the tests of all pairs of runs by a measure, and their simultaneous intervals.

    Parameters
    ----------
    scores : ndarray, shape (n_runs, n_queries)
        Scores of queries.
    differences : ndarray, shape (n_pairs,)
        Differences of the scores of runs.
    measure : str
        Name of the measure.
    about : dict
        Settings of the comparison.
    deferred : bool
        Whether to compute those tests that are deferred, or the others.
    """
    runs = pairs_of(range(len(scores)), None)
    # Intervals of a mean; those of a sum are as many times as wide as there are topics.
    times = {"mean": 1, "sum": scores.shape[1]}.get(about["aggregates"][measure], np.nan)
    found = {}
    for test in TESTS.values():
        if test.of_all_pairs and test.deferred == deferred:
            p, half = test.p_values(scores, *runs, about["confidence"], about["resamples"], about["seed"])
            found[test.column] = p
            if half is not None:
                width = half * times
                found |= {f"{test.name}_low": differences - width, f"{test.name}_high": differences + width}
    return found


def pairs_of(names: Sequence[Any], baselines: Sequence[Any] | None) -> tuple[Array, Array]:
    """Return the run and the baseline of each pair; two baselines are compared once, the later with the earlier one."""
    if baselines is None:
        second, first = np.triu_indices(len(names), 1)
        return first, second
    earlier: list[int] = []
    found = []
    for place in map(names.index, baselines):
        earlier.append(place)
        found += [(run, place) for run in range(len(names)) if run not in earlier]
    first, second = np.array(found, np.int64).reshape(-1, 2).T
    return first, second


def chosen_of(what: str, names: Iterable[Any] | None, known: Sequence[Any]) -> list[Any]:
    """Return the chosen names, or all."""
    if names is None:
        return list(known)
    names = [names] if isinstance(names, str) else list(names)
    for name in names:
        if name not in known:
            raise BadParameter(f"no {what} {name!r} in the comparison. {near(str(name), map(str, known))}")
    if not names:
        raise BadParameter(f"{what}s= is empty: give at least one, such as {what}s=[{known[0]!r}].")
    return list(dict.fromkeys(names))
