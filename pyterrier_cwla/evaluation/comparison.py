"""Result of a comparison of runs: tables in text, HTML, the terminal and LaTeX, and plots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.console import Console, ConsoleOptions

from ..errors import BadParameter, check_known, near
from ..errors.sanitise import sanitised
from ..measures.counting import scores_of_unanswered
from ..rendering.figures import saved
from ..rendering.numbers import decimals, fixed_point, interval_of, p_value, percent
from ..rendering.tables import Table, TableCell, TableColumn, floating_table, typeset
from ..rendering.terminal import as_text, other_than_means
from .comparison_plots import plot_pairs, plot_scores, plot_topics, plot_wins
from .significance import CORRECTIONS, PAIRED_TESTS, TESTS, Array, SignificanceTest, rounded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOLD = "Bold: the highest."
"""Note below tables with bold type, if higher scores are better for all measures."""
_NOT_CORRECTED = "Intervals are not corrected: one may exclude 0 where there is no mark."
_EFFECT = "d_z is the mean of the differences of topics, divided by their standard deviation."
_OF_MATRIX = "Differences: the score of the run (row) minus that of the baseline (column)."
_MOST = 30  # runs that are printed, or shown in a notebook
_AFTER_TESTS = 100  # place of the first column that is left out on narrow screens when p-values are left out
PAIR = ["run", "baseline", "measure"]
"""Columns that identify a pair of runs by a measure."""
_OF_PAIRS_AND_CELLS = ["wins", "ties", "losses", "mark", "best", "places"]  # not in tables with one row per run


@dataclass(frozen=True, repr=False)
class Comparison:
    """Result of :func:`compare`: scores of runs, and the pairs of a run and a baseline that are compared.

    The pairs are those of one baseline, of several baselines or of all runs; without a baseline, there are none.

    Attributes
    ----------
    about : dict
        Information to report with the table: version of the package, measures, topics, seed, settings and methods.
        ``about["better"]`` says by measure which scores are better: "higher", "lower", or None if neither is.
    by_query : DataFrame
        Values of the measures, one row per run and topic; logarithms for GeometricMean.
    """

    about: dict[str, Any]
    by_query: pd.DataFrame
    _runs: pd.DataFrame  # one row per run and measure
    _pairs: pd.DataFrame  # one row per pair and measure, without the columns of the tests of all pairs

    _adds_up = True  # a difference is that of the two scores

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
        * ``score``: mean over topics, as in :func:`evaluate` (sum for counts, geometric mean for GeometricMean), and
          ``score_low``, ``score_high``: its confidence interval;

        and with a baseline, whose own rows have NaN in these columns,

        * ``difference``: ``score`` minus the score of the baseline, and ``difference_low``, ``difference_high``: its
          confidence interval, not corrected;
        * ``effect``: Cohen's d_z, the mean of the differences of topics divided by their standard deviation;
        * ``p_t``, ``p_wilcoxon``, ``p_randomisation``: two-sided p-values of the paired tests;
        * ``p_t_corrected``, ``p_wilcoxon_corrected``, ``p_randomisation_corrected``: the same, corrected for all
          comparisons of the table (uncorrected if ``correction=None``).

        One row per pair and measure has ``run``, ``baseline``, ``measure``, the columns from ``difference`` on, and

        * ``wins``, ``ties``, ``losses``: numbers of topics for which the run is better than, as good as and worse than
          the baseline;

        and for all pairs of runs

        * ``p_tukey``: p-values of Tukey's HSD with topics as blocks, computed when the table is first read, and
          ``tukey_low``, ``tukey_high``: its simultaneous intervals (NaN for geometric means);
        * ``p_randomised_hsd``: p-values of the randomised HSD.
        """
        if self._has_row_per_pair:
            return self._all_pairs
        return self._by_run.drop(columns=_OF_PAIRS_AND_CELLS, errors="ignore")

    @property
    def _has_row_per_pair(self) -> bool:
        return "baselines" in self.about

    @property
    def _test(self) -> SignificanceTest:
        return TESTS[self.about["test"]]

    @property
    def _tests(self) -> list[SignificanceTest]:
        """Tests that are made of each pair."""
        return list(PAIRED_TESTS.values())

    @cached_property
    def _all_pairs(self) -> pd.DataFrame:
        """The pairs with the columns of the tests of all pairs of runs together, after the wins, ties and losses."""
        about = self.about
        if not self._has_row_per_pair or about["baselines"] is not None:
            return self._pairs
        runs, settings = pairs_of(self.runs, None), (about["confidence"], about["resamples"], about["seed"])
        tested = []
        for measure, rows in self._pairs.groupby("measure", sort=False):
            values = self.by_query[measure].to_numpy(float).reshape(len(self.runs), -1)
            # Intervals of a mean; those of a sum are as many times as wide as there are topics.
            times = {"mean": 1, "sum": values.shape[1]}.get(about["aggregates"][measure], np.nan)
            found = pd.DataFrame(index=rows.index)
            for test in TESTS.values():
                if test.of_all_pairs:
                    found[test.column], half = test.p_values(values, *runs, *settings)
                    if half is not None:
                        found[f"{test.name}_low"] = rows["difference"] - half * times
                        found[f"{test.name}_high"] = rows["difference"] + half * times
            tested.append(found)
        at = self._pairs.columns.get_loc("losses") + 1
        return pd.concat([self._pairs.iloc[:, :at], pd.concat(tested), self._pairs.iloc[:, at:]], axis=1)

    @cached_property
    def _marked(self) -> pd.DataFrame:
        """The pairs with the columns ``mark`` and ``places``; tests of all pairs are made only for marks."""
        if self._pairs.empty:
            raise BadParameter("there is no pair of runs to show: compare with a baseline, or with pairs=True.")
        pairs, about = self._all_pairs if self._test.of_all_pairs else self._pairs, self.about
        agreed = np.array([pair not in about["opposed"] for pair in pairs[PAIR].to_numpy(object).tolist()])
        significant = (pairs[self._test.decisive] < about["alpha"]) & agreed
        marks = np.sign(pairs["difference"]).where(significant, 0).astype(int)
        return pairs.assign(mark=marks, places=pairs["measure"].map(self._places))

    @cached_property
    def _by_run(self) -> pd.DataFrame:
        """One row per run and measure, with the columns of the pairs with the one baseline, if there is one.

        ``places`` are the decimals of the measure, and ``best`` is true for the best score.
        """
        table = self._runs.assign(mark=0)
        if self.baselines and not self._has_row_per_pair:
            pairs = self._marked.drop(columns=["baseline", "places"]).astype({"run": table["run"].dtype})
            table = self._runs.merge(pairs, "left", ["run", "measure"])
            if self._adds_up:
                of_baseline = table["measure"].map(self.scores.loc[self.baselines[0]])
                table["difference"] = (table["score"] - of_baseline).where(table["difference"].notna())
        low, high, better = self.scores.min(), self.scores.max(), pd.Series(self.about["better"])
        best = self.scores.eq(high.where(better == "higher", low.where(better == "lower"))) & (high > low)
        return table.assign(
            mark=table["mark"].fillna(0).astype(int),
            best=best.to_numpy().ravel(),
            places=table["measure"].map(self._places),
        )

    def _ranked(self, measure: str) -> list[Any]:
        """Return the runs, the best by a measure first."""
        lower = self.about["better"][measure] == "lower"
        return self.scores[measure].sort_values(ascending=lower, kind="stable").index.tolist()

    @cached_property
    def _places(self) -> dict[str, int]:
        """Number of decimals of the scores of each measure: none for sums, and fewer for larger scores."""
        highest = self.scores.abs().replace(np.inf, np.nan).max()
        sums = [measure for measure, kind in self.about["aggregates"].items() if kind == "sum"]
        return {name: 0 if name in sums else decimals(highest[name]) for name in self.measures}

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

    def _both_directions(self, pairs: pd.DataFrame, measure: str | None) -> pd.DataFrame:
        """Return the rows of a measure and the same with run and baseline exchanged, by (run, baseline)."""
        rows = pairs[pairs["measure"] == self._one(measure)]
        return pd.concat([rows, turned(rows)]).set_index(["run", "baseline"])

    def _one(self, measure: str | None) -> str:
        """Return the name of a measure of the comparison, by default of the first."""
        if pd.api.types.is_list_like(measure):
            raise BadParameter(f"measure={measure!r:.80} must be one measure here, such as {self.measures[0]!r}.")
        return chosen_of("measure", measure, self.measures)[0]

    def differences(self, a: Any, b: Any, measure: str | None = None) -> pd.DataFrame:
        """Return the scores of two runs by topic, and their difference.

        Parameters
        ----------
        a, b : str
            Names of the runs.
        measure : str, optional
            Name of the measure; by default the first.

        Returns
        -------
        DataFrame
            One row per topic (index query_id), with the columns of the two runs and ``difference``, a − b. The highest
            difference is first; equal ones are in the order of the topics. As in the tests, differences that are
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
        measure = self._one(measure)
        chosen_of("run", [a, b], self.runs)
        if a == b:
            raise BadParameter(f"{a!r} is given twice: there is no difference to show. Give two runs.")
        values = self.by_query[measure]
        found = pd.DataFrame({a: values.loc[a], b: values.loc[b]})
        found["difference"] = rounded(found[a] - found[b], values)
        return found.sort_values("difference", ascending=False, kind="stable")

    # ---- sentences

    @property
    def _other_aggregates(self) -> str:
        """End of a sentence on means, about measures with other aggregates."""
        tested = " (tested on logarithms)" if self.about["comparisons"] else ""
        return other_than_means(self.about["aggregates"], tested)

    @property
    def of_topics(self) -> list[str]:
        """Sentences about the topics: the number, the aggregates, and the runs that do not answer all."""
        notes = [f"Means over {self.about['queries']:,} topics{self._other_aggregates}."]
        if unanswered := [f"{run} ({count:,})" for run, count in self.about["unanswered"].items()]:
            some = [*unanswered[:3], "…"] if len(unanswered) > 3 else unanswered
            scores = scores_of_unanswered(self.about["measures"].values())
            notes.append(f"Topics that a run does not answer {scores}: {', '.join(some)}.")
        return notes

    @property
    def _significance(self) -> str:
        """Level of significance, test and correction, as a part of a sentence."""
        about, many, correction = self.about, self.about["comparisons"], self.about["correction"]
        over = f" over topics, {'not ' if correction is None else CORRECTIONS[correction] + '-'}corrected for "
        over += f"all {many:,} comparisons of the table" if many > 1 else "the one comparison of the table"
        if self._test.of_all_pairs:
            over = ", corrected for all pairs of runs by each measure"
        return f"p < {p_value(about['alpha'], digits=6)} in {self._test.words}{over}"

    @property
    def _not_corrected(self) -> tuple[str, ...]:
        """Sentence on intervals of differences that are not corrected, unlike the p-values."""
        corrected = self.about["correction"] is not None or self._test.of_all_pairs
        return (_NOT_CORRECTED,) if corrected and self.about["comparisons"] > 1 else ()

    @property
    def _about_opposed(self) -> list[str]:
        """Sentence about significant comparisons that have no mark, if there are any."""
        called = [f"{run} and {baseline} ({measure})" for run, baseline, measure in self.about["opposed"]]
        if not called:
            return []
        called[3:] = [f"{len(called) - 3:,} more"] if len(called) > 3 else []
        start = "Without a mark, since means are equal or differ in the other direction than the ranks"
        return [f"{start}: {', '.join(called)}."]

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
        said = f"In {test.words}, no p is below {p_value(lowest, digits=2)}"
        if factor > 1:
            said += f", {p_value(min(1.0, lowest * factor), digits=2)} corrected for {many:,} comparisons"
        way_out = "there are too few topics" if kind == "all signs" else "give more resamples"
        return [f"{said}: {way_out}."]

    @property
    def _about_wins(self) -> str:
        """Sentence about wins, ties and losses."""
        least = self.about["least"]
        ties = f"differ by at most {least:g}" if least else "are equal"
        return f"Wins, ties and losses are by topic; topics tie if the scores {ties}."

    def _about_bold(self, measures: Sequence[str]) -> list[str]:
        """Return the sentence about bold type, if any score by these measures is bold."""
        best = self._by_run.groupby("measure")["best"].any()
        bold = [name for name in measures if best[name]]
        lowest = [name for name in bold if self.about["better"][name] == "lower"]
        if not lowest:
            return [BOLD] * bool(bold)
        if lowest == bold:
            return ["Bold: the lowest, since less is better."]
        return [f"{BOLD.removesuffix('.')}; of {', '.join(lowest)} the lowest, since less is better."]

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
        return self._notes(self.measures, interval, marks)

    def _notes(self, measures: Sequence[str], interval: str | None, marks: tuple[str, str]) -> list[str]:
        """Return the sentences that explain a table of some measures."""
        baseline, kind = self.about["baseline"], self._kind(interval)
        means, *unanswered = self.of_topics
        notes = [means, *self._about_intervals(kind)]
        if len(self.runs) == 1:
            notes.append("Nothing is compared: there is only one run.")
        if self.about["comparisons"]:
            than = "" if baseline is None else f" than {baseline}"
            notes.append(f"{marks[0]} {marks[1]}: significantly higher or lower{than}, {self._significance}.")
        if self._has_row_per_pair:
            lower = [name for name in measures if self.about["better"][name] == "lower"]
            notes += [f"Less is better: {', '.join(lower)}."] if lower else []
        elif kind == "difference":
            notes += self._not_corrected
        labels = self.about.get("labels", [])
        return [*notes, *self._about_opposed, *unanswered, *labels, *self._out_of_reach(self._test)]

    def _about_intervals(self, kind: str | None) -> list[str]:
        if kind is None or (kind == "difference" and self._has_row_per_pair):
            return []
        confidence = percent(self.about["confidence"])
        start = f"In brackets {confidence} confidence intervals"
        if kind == "difference":
            start = f"With each score its difference to {self.about['baseline']} and, in brackets, that difference's"
            start += f" {confidence} confidence interval"
        return [f"{start} ({self._method_of_intervals})."]

    @property
    def _method_of_intervals(self) -> str:
        return f"percentile bootstrap over topics, {self.about['resamples']:,} resamples"

    def _kind(self, interval: str | None) -> str | None:
        check_known("interval", ["difference", "score", None], interval=interval)
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
        of_pairs = self._has_row_per_pair
        table = self._wide([self._one(measure)] if of_pairs else chosen_of("measure", measure, self.measures), interval)
        (rows,) = table.rows.values()
        texts = [
            [cell.plain if of_pairs else f"{cell.plain} {cell.below}".rstrip() for cell in row[1:]] for row in rows
        ]
        heads = [column.heading for column in table.columns[1:]]
        return pd.DataFrame(texts, index=pd.Index(self.runs, name="run"), columns=heads)

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
                _fixed(row, "score"), row["mark"], row["best"], _beside(row, kind), _hint(row, self._tests)
            )
            for row in self._by_run.to_dict("records")
        }

    def _matrix(self, measure: str | None) -> list[list[TableCell]]:
        """Return the cells of a matrix: name, score, and differences to baselines above wins, ties and losses."""
        found = {(run, run): TableCell("·") for run in self.runs}
        for pair, row in self._both_directions(self._marked, measure).to_dict("index").items():
            found[pair] = TableCell(_fixed(row, "difference"), row["mark"], below=_wins(row))
        scores = self._by_run[self._by_run["measure"] == self._one(measure)].to_dict("records")
        return [
            [
                TableCell(str(row["run"])),
                TableCell(_fixed(row, "score")),
                *(found.get((row["run"], baseline), TableCell("")) for baseline in self.baselines),
            ]
            for row in scores
        ]

    def _wide(self, measures: Sequence[str], interval: str | None = "difference", most: int | None = None) -> Table:
        """Return a table with one row per run: a column per measure, or for pairs a matrix for each measure.

        Of many runs, the first `most` ones of a matrix are shown, or the best ones and the baseline.
        """
        if self._has_row_per_pair:
            columns = None if most is None else most + 2
            parts = {name: [row[:columns] for row in self._matrix(name)[:most]] for name in measures}
            return Table.from_cells(parts, ["", "score", *map(str, self.baselines[:most])])
        cells = self.cells(interval)
        best = sorted(self._ranked(self.measures[0]), key=lambda run: not self._tag(run))[:most]
        rows = [
            [TableCell(str(run), below=self._tag(run)), *(cells[run, measure] for measure in measures)]
            for run in self.runs
            if run in set(best)
        ]
        return Table.from_cells({"": rows}, ["", *measures])

    def _long(self, measures: Sequence[str], marks: tuple[str, str] = ("▲", "▼"), bold: Iterable[str] = ()) -> Table:
        """Return a table with one row per pair, or with one row per run if there is one baseline or none."""
        columns = [TableColumn("run", lambda row: TableCell(str(row["run"]), below=self._tag(row["run"])), "name")]
        if self._has_row_per_pair:
            columns.append(TableColumn("baseline", lambda row: str(row["baseline"]), "name"))
        else:
            columns += [
                TableColumn("score", lambda row: TableCell(_fixed(row, "score"), row["mark"], row["best"])),
                self._interval("score", _AFTER_TESTS + 2, "intervals of scores"),
            ]
        rows = self._marked if self._has_row_per_pair else self._by_run
        parts = {name: rows[rows["measure"] == name].to_dict("records") for name in measures}
        columns += self._columns_of_pairs() if self.baselines else []
        return Table(columns=columns, rows=parts, notes=[*self._notes(measures, None, marks), *bold])

    def _columns_of_pairs(self) -> list[TableColumn]:
        """Return the columns of differences, their intervals and effect sizes, wins, and p-values."""
        of_pairs, chosen, baseline = self._has_row_per_pair, self._test, self.about["baseline"]
        minus = f"Δ: the score of the run minus that of {'the baseline' if baseline is None else baseline}."
        ends = chosen.name if f"{chosen.name}_low" in self._marked else "difference"
        columns = [
            TableColumn(
                "Δ",
                lambda row: TableCell(_fixed(row, "difference"), row["mark"] * of_pairs),
                notes=(minus,),
            ),
            self._interval(ends, _AFTER_TESTS + 3, "intervals of Δ"),
            TableColumn("d_z", _effect, left_out=_AFTER_TESTS, notes=(_EFFECT,)),
        ]
        if of_pairs:
            place, called = _AFTER_TESTS + 1, "wins, ties and losses"
            notes = (self._about_wins,)
            columns.append(TableColumn("wins/ties/losses", _wins, left_out=place, called=called, notes=notes))
        several = not of_pairs and self.about["correction"] is not None
        corrected = ["All p-values are corrected; the full table also has the uncorrected ones."] * several
        for place, test in enumerate([chosen] if of_pairs else self._tests, 1):
            left_out, unreached = (0, []) if test == chosen else (place, self._out_of_reach(test))
            columns.append(_p_column(test, left_out, (*corrected, *unreached)))
        return columns

    def _interval(self, name: str, left_out: int, called: str) -> TableColumn:
        """Return the column of an interval, whose ends have the names ``name_low`` and ``name_high``."""
        notes = (*self._about_intervals("score"), *(() if name == "score" else self._not_corrected))
        if name == self._test.name:
            notes = (f"Intervals hold for all pairs together, by {self._test.words}.",)
        head = f"{percent(self.about['confidence'])}\ninterval"
        return TableColumn(head, lambda row: _ends(row, name), left_out=left_out, called=called, notes=notes)

    def _tag(self, run: Any) -> str:
        return "baseline" if self.about["baseline"] is not None and run == self.about["baseline"] else ""

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
            Beginning of the caption, in LaTeX. The explanation of the table follows it: topics, marks and tests.
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
        check_known("layout", ["runs", "matrix", "list"], layout=layout)
        if layout == "runs" and self._has_row_per_pair:
            raise BadParameter("layout='runs' is for one baseline or none: for pairs of runs, give 'matrix' or 'list'.")
        measures, arrows = chosen_of("measure", measure, self.measures), ("↑", "↓")
        if layout != "runs" and len(measures) > 1:
            return "\n".join(
                self.to_latex(one, interval, caption, label and f"{label}-{one}", layout) for one in measures
            )
        if layout == "list":
            table = self._long(measures, arrows)
            notes = table.all_notes
        else:
            table = self._wide(measures, interval)
            notes = [*self._notes(measures, interval, arrows), *self._about_wide(measures)]
        if layout != "runs":
            notes = [f"{measures[0]}.", *notes]
        own = (caption or "").strip()
        if own and not own.endswith((".", "?", "!", ":")):
            own += "."
        return floating_table(table.latex(), f"{own} {typeset(' '.join(notes))}".strip(), label, self.about)

    def _about_wide(self, measures: Sequence[str]) -> list[str]:
        """Return the sentences on the table of :meth:`_wide` besides the notes."""
        return [_OF_MATRIX, self._about_wins] if self._has_row_per_pair else self._about_bold(measures)

    def _brief(self, bold: bool) -> Table:
        """Return the table of :meth:`_wide` with its notes; of many runs, only some."""
        chosen = "" if self._has_row_per_pair else f", the best by {self.measures[0]}"
        some = [f"Shown are {_MOST} of {len(self.runs):,} runs{chosen}; .table has all."] * (len(self.runs) > _MOST)
        about = self._about_wide(self.measures) if bold or self._has_row_per_pair else []
        return replace(self._wide(self.measures, most=_MOST), notes=[*some, *self.notes(), *about])

    @sanitised
    def _repr_html_(self) -> str:
        table = self._brief(bold=True)
        return f"{table.html()}<p><small>{escape(' '.join(table.notes))}</small></p>"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        """Yield a table of pairs or of runs for each measure, with the columns that fit the width, and notes."""
        shows_bold = not self._has_row_per_pair and console.color_system is not None  # not in files and pipes
        yield self._long(self.measures, bold=self._about_bold(self.measures) if shows_bold else ())

    def __repr__(self) -> str:
        return as_text(self._brief(bold=False))

    # ---- pictures

    def plot(self, measures: Any = None, runs: Any = None, width: float = 7.0, path: Any = None) -> Figure:
        """Plot the scores of the runs with their intervals and marks of significance, one panel per measure.

        With one baseline, the bars are the confidence intervals of the differences to the baseline, drawn at the
        scores; the dashed line is the score of the baseline. Otherwise, they are the confidence intervals of the
        scores. Runs are sorted by the first measure, the best at the top. For pairs of runs, :meth:`plot_pairs` draws
        the differences.

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
        rows = self._both_directions(self._marked, measure)
        return saved(plot_pairs(self, self._one(measure), rows, ax), path)

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
        measure, rows = self._one(measure), self._marked
        rows = rows[rows["measure"] == measure]
        if self.about.get("baselines", ()) is None:  # of all pairs, the better run stands first
            lower = self.about["better"][measure] == "lower"
            rows = rows.where(rows["difference"] <= 0 if lower else rows["difference"] >= 0, turned(rows))
        return saved(plot_wins(self, measure, rows, pairs, ax), path)


def _fixed(row: Mapping[str, Any], name: str) -> str:
    """Return a score or a difference of a row; differences have a sign."""
    return fixed_point(row[name], row["places"], signed=name != "score")


def _ends(row: Mapping[str, Any], name: str) -> str:
    """Return the interval of a score or a difference of a row."""
    return interval_of(row[f"{name}_low"], row[f"{name}_high"], row["places"], signed=name != "score")


def _effect(row: Mapping[str, Any]) -> str:
    return fixed_point(row["effect"], 2, signed=True)


def _p_column(test: SignificanceTest, left_out: int, notes: tuple[str, ...]) -> TableColumn:
    """Return the column of the corrected p-values of a test."""
    head = f"p\n{test.heading}"
    return TableColumn(head, lambda row: p_value(row[test.decisive]), left_out=left_out, notes=notes)


def _wins(row: Mapping[str, Any]) -> str:
    """Return the wins, ties and losses of a pair, such as 31/2/17."""
    return f"{row['wins']}/{row['ties']}/{row['losses']}"


def _beside(row: Mapping[str, Any], kind: str | None) -> str:
    """Return the text below or beside a score."""
    if kind == "score":
        return _ends(row, kind)
    if kind is None or np.isnan(row.get(kind, np.nan)):
        return ""
    return f"{_fixed(row, kind)} {_ends(row, kind)}"


def _hint(row: Mapping[str, Any], tests: Iterable[SignificanceTest]) -> str:
    if np.isnan(row.get("effect", np.nan)):
        return ""
    p = (p_value(row[test.decisive], f"p ({test.heading})") for test in tests)
    return ", ".join([f"d_z {_effect(row)}", *p])


def turned(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of pairs in the other direction: the baseline compared with the run."""
    exchanged = {"run": "baseline", "wins": "losses"}
    exchanged |= {name: name.replace("_low", "_high") for name in rows if name.endswith("_low")}
    other = rows.rename(columns=exchanged | {b: a for a, b in exchanged.items()})[rows.columns]
    signed = other.columns[other.columns.str.contains("^(?:difference|effect|mark)$|_(?:low|high)$")]
    other[signed] = -other[signed]
    return other


def pairs_of(names: Sequence[Any], baselines: Sequence[Any] | None) -> tuple[Array, Array]:
    """Return the run and the baseline of each pair; two baselines are compared once, the later with the earlier one."""
    if baselines is None:
        second, first = np.triu_indices(len(names), 1)
        return first, second
    places = list(map(names.index, baselines))
    found = [(run, place) for at, place in enumerate(places, 1) for run in range(len(names)) if run not in places[:at]]
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
