"""Comparison of pairs of runs: with several baselines, or all pairs; results as tables, LaTeX and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ..errors import BadParameter, near
from ..errors.sanitise import harmless_segments, sanitised
from ..rendering.latex import escaped, floating_table, table_row, tabular
from ..rendering.terminal import PROSE_WIDTH, broken, other_than_means, plain_table
from .comparison import (
    EFFECT,
    NOT_CORRECTED,
    about_queries,
    decimals,
    fixed_point,
    interval_of,
    mark_of,
    of_opposed,
    out_of_reach,
    p_name,
    probability,
    typeset,
)
from .pair_plots import plot_pairs, plot_wins
from .pair_statistics import pair_intervals, randomised_hsd, tukey_hsd, wins_ties_losses
from .significance import CORRECTIONS, TESTS, Array, paired_tests, without_noise
from .topic_differences import ByTopic

#: Tests of all pairs together, which need no other correction.
OF_ALL_PAIRS = {"tukey": "Tukey's HSD test, with topics as blocks", "randomised_hsd": "a randomised HSD test"}

_ROWS = 30  # runs in a notebook
_OF_MATRIX = "Differences: the score of the run (row) minus that of the baseline (column)."
_MORE = "Wins, ties and losses by topic: .wins(measure)."


@dataclass(frozen=True, repr=False)
class PairComparison(ByTopic):
    """Result of :func:`compare` with several baselines or of all pairs of runs.

    Attributes
    ----------
    scores : DataFrame
        Score of each run (row) by each measure (column).
    about : dict
        Information to report with the table: version, measures, queries, settings and methods.
    by_query : DataFrame
        Values of the measures, one row per run and query.
    """

    _table: pd.DataFrame  # without the columns of Tukey's test
    scores: pd.DataFrame
    about: dict[str, Any]
    by_query: pd.DataFrame

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per pair and measure; Tukey's test is computed when the table is first read.

        The columns are

        * ``run``, ``baseline``, ``measure``;
        * ``difference``: score of the run minus that of the baseline, and ``difference_low``, ``difference_high``: its
          bootstrap interval, not corrected;
        * ``effect``: Cohen's d_z;
        * ``wins``, ``ties``, ``losses``: numbers of queries for which the run is better than, as good as and worse than
          the baseline;
        * ``p_t``, ``p_wilcoxon``, ``p_randomisation``, and ``p_t_corrected`` and so on: p-values of the paired tests,
          and corrected for all comparisons of the table;

        and for all pairs of runs

        * ``p_tukey``: p-values of Tukey's HSD with topics as blocks, and ``tukey_low``, ``tukey_high``: its
          simultaneous intervals (NaN for geometric means);
        * ``p_randomised_hsd``: p-values of the randomised HSD.
        """
        if self.about["baselines"] is not None:
            return self._table
        first, second = pairs_of(self.runs, None)
        parts = []
        for measure, rows in self._table.groupby("measure", sort=False):
            values = self.by_query[measure].to_numpy(float).reshape(len(self.runs), -1)
            p, half = tukey_hsd(values, first, second, self.about["confidence"])
            width = {"mean": half, "sum": half * values.shape[1]}.get(self.about["aggregates"][measure], np.nan)
            low, high = rows["difference"] - width, rows["difference"] + width
            parts.append(pd.DataFrame({"p_tukey": p, "tukey_low": low, "tukey_high": high}))
        at = self._table.columns.get_loc("p_randomised_hsd")
        return pd.concat([self._table.iloc[:, :at], pd.concat(parts), self._table.iloc[:, at:]], axis=1)

    @property
    def _shown(self) -> pd.DataFrame:
        """Table with the columns that are printed and plotted."""
        return self.table if self.about["test"] == "tukey" else self._table

    @property
    def runs(self) -> list[Any]:
        """Names of the runs."""
        return self.scores.index.tolist()

    @property
    def measures(self) -> list[str]:
        """Names of the measures."""
        return self.scores.columns.tolist()

    @property
    def baselines(self) -> list[Any]:
        """Names of the baselines; all runs if all pairs are compared."""
        return self.about["baselines"] or self.runs

    def _chosen(self, measure: str | None) -> str:
        """Return the name of a measure, by default of the first."""
        if measure is not None and measure not in self.measures:
            raise BadParameter(f"no measure {measure!r} in the comparison. {near(str(measure), self.measures)}")
        return measure or self.measures[0]

    def rows(self, measure: str | None = None) -> pd.DataFrame:
        """Return the rows of a measure, each pair also in the other direction, by (run, baseline).

        The column ``mark`` is 1 if the run is significantly higher than the baseline, −1 if it is significantly lower,
        and otherwise 0.

        Parameters
        ----------
        measure : str, optional
            Name of the measure; by default the first.

        Raises
        ------
        BadParameter
            If there is no such measure.
        """
        return self._rows(self.table, self._chosen(measure))

    def _rows(self, table: pd.DataFrame, measure: str) -> pd.DataFrame:
        one = table[table["measure"] == measure]
        one = one.assign(mark=[mark_of(row, self.about) for row in one.to_dict("records")])
        swapped = {"run": "baseline", "baseline": "run", "wins": "losses", "losses": "wins"}
        for kind in ("difference", "tukey"):
            swapped |= {f"{kind}_low": f"{kind}_high", f"{kind}_high": f"{kind}_low"}
        other = one.rename(columns=swapped)[one.columns]
        signed = [
            name
            for name in ("difference", "difference_low", "difference_high", "effect", "tukey_low", "tukey_high", "mark")
            if name in other
        ]
        other = other.assign(**{name: -other[name] for name in signed})
        return pd.concat([one, other]).set_index(["run", "baseline"])

    def wide(self, measure: str | None = None) -> pd.DataFrame:
        """Return a matrix for reading: differences of runs (rows) to baselines (columns), with their marks.

        Parameters
        ----------
        measure : str, optional
            Name of the measure; by default the first.

        Returns
        -------
        DataFrame of str
            Cells such as "+0.021▲": ▲ or ▼ if the run is significantly higher or lower. The column ``score`` has the
            scores.
        """
        return self._matrix(measure, ("▲", "▼"))

    def _matrix(self, measure: str | None, marks: tuple[str, str]) -> pd.DataFrame:
        measure = self._chosen(measure)
        places = self.places(measure)
        symbols = {1: marks[0], -1: marks[1], 0: ""}

        def cell(row: Mapping[str, Any]) -> str:
            return f"{fixed_point(row['difference'], places, '+')}{symbols[row['mark']]}"

        scores = pd.DataFrame({"score": [f"{value:.{places}f}" for value in self.scores[measure]]})
        return pd.concat([scores.set_index(pd.Index(self.runs, name="run")), self._cells(measure, cell)], axis=1)

    def _cells(self, measure: str | None, written: Callable[[Mapping[str, Any]], str]) -> pd.DataFrame:
        """Return a matrix of runs (rows) and baselines (columns) with the text of each pair's row."""
        rows = self._rows(self._shown, self._chosen(measure))
        texts = {place: written(row) for place, row in rows.to_dict("index").items()}
        texts |= {(run, run): "·" for run in self.runs}
        cells = [[texts.get((run, baseline), "") for baseline in self.baselines] for run in self.runs]
        return pd.DataFrame(cells, index=pd.Index(self.runs, name="run"), columns=list(map(str, self.baselines)))

    def places(self, measure: str) -> int:
        """Return the number of decimals of the scores of a measure."""
        return decimals(self.scores[measure], self.about["aggregates"][measure])

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
        return self._cells(measure, wins_of)

    def notes(self, marks: tuple[str, str] = ("▲", "▼")) -> list[str]:
        """Return the sentences that explain all tables: queries, marks and the test."""
        significant = f"{marks[0]} {marks[1]}: significantly higher or lower, {self.significance}."
        lower = [name for name in self.measures if self.about["better"][name] == "lower"]
        less = [f"Less is better: {', '.join(lower)}."] if lower else []
        reach = out_of_reach(self.about) if self.about["test"] == "randomisation" else ""
        more = [*less, *self.of_opposed, *self.of_queries[1:], *([reach] if reach else [])]
        return [self.of_queries[0], significant, *more]

    def called(self, measure: str) -> str:
        """Return the name of a measure in titles, which says if less is better."""
        return f"{measure} (less is better)" if self.about["better"][measure] == "lower" else measure

    @property
    def of_opposed(self) -> list[str]:
        """Sentence about significant comparisons that have no mark, if there are any."""
        return of_opposed(self.about)

    @property
    def significance(self) -> str:
        """Significance level, test and correction, as a part of a sentence."""
        about = self.about
        described = {**{name: f"{text} over queries" for name, text in TESTS.items()}, **OF_ALL_PAIRS}[about["test"]]
        many = about["comparisons"]
        family = f"all {many:,} comparisons" if many > 1 else "the one comparison"
        if about["test"] in OF_ALL_PAIRS:
            how = "corrected for all pairs of runs by each measure"
        elif about["correction"] is None:
            how = f"not corrected for {family} of the table"
        else:
            how = f"{CORRECTIONS[about['correction']]}-corrected for {family} of the table"
        return f"p < {about['alpha']:g} in {described}, {how}"

    @property
    def of_wins(self) -> str:
        """Sentence about wins, ties and losses."""
        least = self.about["least"]
        ties = f"differ by at most {least:g}" if least else "are equal"
        return f"Wins, ties and losses are by topic; topics tie if the scores {ties}."

    @property
    def of_queries(self) -> list[str]:
        """Sentences about the queries: the number, the aggregates, and the runs that do not answer all."""
        return about_queries(self.about, other_than_means(self.about["aggregates"], " (tested on logarithms)"))

    def to_latex(
        self, measure: str | None = None, caption: str | None = None, label: str = "", layout: str = "matrix"
    ) -> str:
        r"""Return a LaTeX table environment for booktabs.

        Parameters
        ----------
        measure : str, optional
            Name of the measure; by default there is a table for each measure.
        caption : str, optional
            Caption in LaTeX. The default caption explains the table.
        label : str, optional
            Label for references; none by default.
        layout : {"matrix", "list"}, default="matrix"
            The matrix of :meth:`wide`, with wins, ties and losses below the differences; or a list of all pairs with
            intervals, effect sizes, wins, ties and losses, and p-values.

        Raises
        ------
        BadParameter
            If there is no such measure or layout.
        """
        if layout not in ("matrix", "list"):
            raise BadParameter(f"layout={layout!r} must be 'matrix' or 'list'.")
        if measure is None and len(self.measures) > 1:
            return "\n".join(self.to_latex(one, caption, label and f"{label}-{one}", layout) for one in self.measures)
        measure = self._chosen(measure)
        lines, texts = (self._matrix_in_latex if layout == "matrix" else self._list_in_latex)(measure)
        if caption is None:
            caption = typeset(" ".join([f"{measure}.", *self.notes(("↑", "↓")), *texts, self.of_wins]))
        return floating_table(lines, caption, label, self.about)

    def _matrix_in_latex(self, measure: str) -> tuple[list[str], list[str]]:
        """Return the lines of a tabular, and the sentences that explain it."""
        matrix, wins = self._matrix(measure, ("↑", "↓")), self.wins(measure)
        body: list[str] = []
        for run in self.runs:
            below = [f"{{\\scriptsize {escaped(text)}}}" if "/" in text else "" for text in wins.loc[run]]
            body += ["\\addlinespace"] * bool(body)
            body.append(table_row([escaped(str(run)), *(typeset(text.replace("·", "")) for text in matrix.loc[run])]))
            if any(below):
                body.append(table_row(["", "", *below]))
        head = ["", *map(escaped, map(str, matrix.columns))]
        return tabular("l" + "r" * len(matrix.columns), head, body), [_OF_MATRIX, "Below: wins/ties/losses."]

    def _list_in_latex(self, measure: str) -> tuple[list[str], list[str]]:
        """Return the lines of a tabular, and the sentences that explain it."""
        rows = self._list_rows(measure, {1: "↑", -1: "↓", 0: ""})
        body = [table_row([escaped(run), escaped(baseline), *map(typeset, texts)]) for run, baseline, *texts in rows]
        delta, *heads = self._heads
        head = ["", "", delta.replace("Δ", r"$\Delta$"), *map(escaped, heads)]
        return tabular("ll" + "r" * len(self._heads), head, body), list(self._of_list())

    def plot(self, measure: str | None = None, ax: Any = None) -> Any:
        """Plot the differences of runs (rows) to baselines (columns) as a heat map; significant ones have a number.

        Runs are sorted by their scores, the best at the top.

        Parameters
        ----------
        measure : str, optional
            Name of the measure; by default the first.
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones.

        Returns
        -------
        matplotlib Axes
        """
        measure = self._chosen(measure)
        return plot_pairs(self, measure, self._rows(self._shown, measure), ax)

    def plot_wins(self, measure: str | None = None, pairs: int = 20, ax: Any = None) -> Any:
        """Plot wins, ties and losses by topic of each pair as bars; the pairs with the largest differences first.

        Parameters
        ----------
        measure : str, optional
            Name of the measure; by default the first.
        pairs : int, default=20
            Largest number of pairs to show.
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones.

        Returns
        -------
        matplotlib Axes
        """
        measure = self._chosen(measure)
        return plot_wins(self, measure, self._table[self._table["measure"] == measure], pairs, ax)

    @sanitised
    def __repr__(self) -> str:
        parts = [f"{measure}\n{self.wide(measure).to_string()}" for measure in self.measures]
        return "\n\n".join([*parts, "\n".join([_OF_MATRIX, *self.notes(), _MORE])])

    @sanitised
    def _repr_html_(self) -> str:
        parts = []
        for measure in self.measures:
            matrix = self.wide(measure)
            shown = matrix.iloc[:_ROWS, : _ROWS + 1]
            parts.append(f"<p><b>{escape(measure)}</b></p>{shown.to_html()}")
            if shown.shape != matrix.shape:
                parts.append(f"<p><small>Shown are {_ROWS} of {len(matrix):,} runs; .table has all.</small></p>")
        notes = escape(" ".join([_OF_MATRIX, *self.notes(), _MORE]))
        return f'<div style="overflow-x: auto">{"".join(parts)}</div><p><small>{notes}</small></p>'

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for part in self._parts(console, options):
            yield from harmless_segments(console.render(part, options))

    def _parts(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        for measure in self.measures:
            yield Text(measure, style="bold")
            yield Text()
            yield self._listed(measure, max(12, options.max_width // 5))
            yield Text()
        for text in [*self.notes(), *self._of_list(), self.of_wins]:
            yield Text("\n").join(Text(text, style="dim").wrap(console, min(options.max_width, PROSE_WIDTH)))

    @property
    def _interval(self) -> str:
        """Name of the intervals to show: simultaneous ones for Tukey's test, otherwise those of each difference."""
        return "tukey" if self.about["test"] == "tukey" else "difference"

    @property
    def _heads(self) -> tuple[str, ...]:
        """Heads of the columns of a list of pairs, after run and baseline."""
        return "Δ", f"{100 * self.about['confidence']:g}% interval", "d_z", "wins/ties/losses", "p"

    def _of_list(self) -> Iterator[str]:
        """Yield the sentences that explain the columns of a list of pairs."""
        yield "Differences: the score of the run minus that of the baseline."
        if self._interval == "tukey":
            yield "Intervals hold for all pairs together (Tukey's HSD)."
        else:
            yield f"Intervals: percentile bootstrap over queries, {self.about['resamples']:,} resamples."
            if self.about["comparisons"] > 1 and (self.about["correction"] or self.about["test"] in OF_ALL_PAIRS):
                yield NOT_CORRECTED
        yield f"{EFFECT} p: the p-value of the test above."

    def _listed(self, measure: str, widest: int) -> Table:
        """Return a table with one row per pair."""
        table = plain_table(gap=1)
        for name in ("run", "baseline"):
            table.add_column(name, overflow="fold", max_width=widest)
        for name in self._heads:
            table.add_column(name, justify="right", no_wrap=True)
        for run, baseline, *texts in self._list_rows(measure, {1: "▲", -1: "▼", 0: " "}):
            table.add_row(*map(Text, (broken(run, widest), broken(baseline, widest), *texts)))
        return table

    def _list_rows(self, measure: str, symbols: Mapping[int, str]) -> Iterator[list[str]]:
        """Yield the cells of a list of pairs: run, baseline, difference, interval, effect, wins, p."""
        places = self.places(measure)
        for row in self._shown[self._shown["measure"] == measure].to_dict("records"):
            low, high = row[f"{self._interval}_low"], row[f"{self._interval}_high"]
            yield [
                str(row["run"]),
                str(row["baseline"]),
                f"{fixed_point(row['difference'], places, '+')}{symbols[mark_of(row, self.about)]}",
                "" if np.isnan(low) else interval_of(low, high, places, "+"),
                fixed_point(row["effect"], 2, "+"),
                wins_of(row),
                probability(row[p_name(self.about["test"])]),
            ]


def wins_of(row: Mapping[str, Any]) -> str:
    """Return the wins, ties and losses of a row of the table, such as 31/2/17."""
    return f"{row['wins']}/{row['ties']}/{row['losses']}"


def pairs_of(names: Sequence[Any], baselines: Sequence[Any] | None) -> tuple[Array, Array]:
    """Return the run and the baseline of each pair; two baselines are compared once, the later with the earlier one."""
    if baselines is None:
        second, first = np.triu_indices(len(names), 1)
        return first, second
    rank = {names.index(baseline): number for number, baseline in enumerate(baselines)}
    found = [
        (run, place)
        for place in rank
        for run in range(len(names))
        if run != place and rank.get(run, len(names)) > rank[place]
    ]
    first, second = np.array(found, np.int64).reshape(-1, 2).T
    return first, second


def compared_pairs(
    scores: Mapping[str, Array],
    names: Sequence[Any],
    baselines: Sequence[Any] | None,
    aggregates: Mapping[str, Any],
    about: Mapping[str, Any],
) -> pd.DataFrame:
    """Return the table of a :class:`PairComparison`, without the columns of Tukey's test.

    Parameters
    ----------
    scores : dict of ndarray, shape (n_runs, n_queries)
        Scores of queries by measure.
    names : sequence
        Runs.
    baselines : sequence or None
        Baselines; None for all pairs.
    aggregates : dict of callable
        By measure, the function from means over queries to aggregates.
    about : dict
        Settings of the comparison.
    """
    first, second = pairs_of(names, baselines)
    settings = about["resamples"], about["seed"]
    parts, differences = [], []
    for measure, values in scores.items():
        differences.append(without_noise(values[first] - values[second], float(np.abs(values).max())))
        low, high = pair_intervals(values, first, second, aggregates[measure], about["confidence"], *settings)
        of_runs = aggregates[measure](values.mean(axis=1))
        in_unit = np.exp(values) if about["aggregates"][measure] == "geometric mean" else values
        wins = wins_ties_losses(in_unit, first, second, about["least"], about["better"][measure] == "lower")
        part = {
            "run": [names[run] for run in first],
            "baseline": [names[run] for run in second],
            "measure": measure,
            "difference": of_runs[first] - of_runs[second],
            "difference_low": low,
            "difference_high": high,
            **dict(zip(("wins", "ties", "losses"), wins, strict=True)),
        }
        if baselines is None:
            part["p_randomised_hsd"] = randomised_hsd(values, first, second, *settings)
        parts.append(pd.DataFrame(part))
    tests = paired_tests(np.concatenate(differences), about["correction"], *settings)
    return pd.concat(parts, ignore_index=True).assign(**tests)
