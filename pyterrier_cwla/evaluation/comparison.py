"""Result of a comparison of runs: tables in text, HTML, the terminal and LaTeX, and plots."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ..errors import BadParameter, many, near, some
from ..errors.sanitise import harmless_segments, in_picture, sanitised
from ..measures.counting import scores_of_unanswered
from ..rendering.figures import COLOURS, GREY, axes_of, elided, measure_look, panels, titled, wrapped
from ..rendering.latex import escaped, floating_table, table_row, tabular
from ..rendering.terminal import (
    UNLIMITED_WIDTH,
    broken,
    column_head,
    columns_that_fit,
    other_than_means,
    plain_table,
    tables_and_notes,
)
from .significance import CORRECTIONS, TESTS, unit_of, without_noise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = 0.155  # inches per line of text of 8 points
_LETTER = 0.065  # inches per character of 8 points
_LEAST = 1.5  # inches per panel
_NAMED = 12  # topics at each end that have a name if there are many topics
_ALL_NAMED = 30  # largest number of topics that all have a name
_BETWEEN = 5  # rows for the topics between the named ones
_ROW = 0.165  # inches per topic with a name
_TOPIC = 34  # characters of a topic's name
#: Note below tables with bold type, if higher scores are better for all measures.
BOLD = "Bold: the highest."
NOT_CORRECTED = "Intervals are not corrected: one may exclude 0 where there is no mark."
EFFECT = "d_z is the mean of the differences of queries, divided by their standard deviation."
_ROWS = 15  # runs in a notebook
_P_OF = {"t": "t-test", "wilcoxon": "Wilcoxon", "randomisation": "random"}
#: Columns that are left out next if the terminal is narrow, with their names in the note.
_CALLED = {"effect": "d_z", "interval": "intervals of scores", "difference_interval": "intervals of Δ"}


class ComparedRuns:
    """Base class of comparisons: runs, measures, differences by topic, and sentences that explain tables.

    Attributes
    ----------
    about : dict
        Information to report with the table.
    by_query : DataFrame
        Values of the measures, one row per run and query.
    """

    about: dict[str, Any]
    by_query: pd.DataFrame

    @property
    def runs(self) -> list[Any]:
        """Names of the runs, in the order of the arguments."""
        return self.by_query.index.unique("run").tolist()

    @property
    def measures(self) -> list[str]:
        """Names of the measures, in the order of the arguments."""
        return self.by_query.columns.tolist()

    @property
    def other_aggregates(self) -> str:
        """End of a sentence on means, about measures with other aggregates."""
        tested = " (tested on logarithms)" if self.about["comparisons"] else ""
        return other_than_means(self.about["aggregates"], tested)

    @property
    def of_queries(self) -> list[str]:
        """Sentences about the queries: the number, the aggregates, and the runs that do not answer all."""
        notes = [f"Means over {self.about['queries']:,} queries{self.other_aggregates}."]
        if self.about["unanswered"]:
            some = [f"{run} ({count:,})" for run, count in self.about["unanswered"].items()]
            some = [*some[:3], "…"] if len(some) > 3 else some
            scores = scores_of_unanswered(self.about["measures"].values())
            notes.append(f"Queries that a run does not answer {scores}: {', '.join(some)}.")
        return notes

    @property
    def correction(self) -> str:
        """Correction of the p-values, as a part of a sentence."""
        many, correction = self.about["comparisons"], self.about["correction"]
        family = f"all {many:,} comparisons of the table" if many > 1 else "the one comparison of the table"
        return f"{'not ' if correction is None else CORRECTIONS[correction] + '-'}corrected for {family}"

    @property
    def is_corrected(self) -> bool:
        """Whether p-values of several comparisons are corrected."""
        return self.about["correction"] is not None and self.about["comparisons"] > 1

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

    @property
    def out_of_reach(self) -> str:
        """Sentence for a randomisation test that cannot reach significance, otherwise empty."""
        lowest, many = self.about["lowest_p"], self.about["comparisons"]
        # For the other corrections, the corrected lowest p depends on the other p-values.
        factor = many if self.about["correction"] in ("bonferroni", "sidak", "holm", "holm-sidak") else 1
        if lowest * factor < self.about["alpha"]:
            return ""
        times = f", {min(1.0, lowest * factor):.2g} when corrected for {many:,} comparisons" if factor > 1 else ""
        way_out = "there are too few queries" if self.about["randomisation"] == "all signs" else "give more resamples"
        return f"The randomisation test cannot go below p = {lowest:.2g}{times}: {way_out}."

    def mark(self, row: Mapping[str, Any]) -> int:
        """Return 1 if the run of a row is significantly higher than the baseline, −1 if lower, otherwise 0."""
        about = self.about
        compared = [row["run"], row.get("baseline", about["baseline"]), row["measure"]]
        significant = row[p_name(about["test"])] < about["alpha"] and compared not in about["opposed"]
        return int(np.sign(row["difference"])) if significant else 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for part in self.parts(console, options):
            yield from harmless_segments(console.render(part, options))

    def parts(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the tables and notes for a console."""
        raise NotImplementedError

    def measure_or_first(self, measure: str | None) -> str:
        """Return the name of a measure of the comparison, by default of the first."""
        return chosen_of("measure", measure if measure is None else [measure], self.measures)[0]

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

    def plot_topics(self, a: Any, b: Any, measure: str | None = None, topics: Any = None, ax: Any = None) -> Any:
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
        return plot_topics(self, a, b, measure, topics, ax)


@dataclass(frozen=True, repr=False)
class Comparison(ComparedRuns):
    """Result of :func:`compare`.

    Attributes
    ----------
    table : DataFrame
        One row per run and measure, with the columns

        * ``run``, ``measure``;
        * ``score``: mean over queries, as in :func:`evaluate` (sum for counts, geometric mean for GeometricMean), and
          ``score_low``, ``score_high``: its confidence interval;

        and with a baseline, whose own rows have NaN in these columns,

        * ``difference``: ``score`` minus the score of the baseline, and ``difference_low``, ``difference_high``: its
          confidence interval;
        * ``effect``: Cohen's d_z, the mean of the differences of queries divided by their standard deviation;
        * ``p_t``, ``p_wilcoxon``, ``p_randomisation``: two-sided p-values of the paired tests;
        * ``p_t_corrected``, ``p_wilcoxon_corrected``, ``p_randomisation_corrected``: the same, corrected for all
          comparisons of the table (uncorrected if ``correction=None``).
    about : dict
        Information to report with the table: version of the package, measures, queries, seed, settings and methods.
        ``about["better"]`` says by measure which scores are better: "higher", "lower", or None if neither is.
    by_query : DataFrame
        Values of the measures, one row per run and query; logarithms for GeometricMean.
    """

    table: pd.DataFrame
    about: dict[str, Any]
    by_query: pd.DataFrame

    def wide(self, interval: str | None = "difference") -> pd.DataFrame:
        """Return a table for reading, with one row per run and one column per measure.

        Each cell has the score, ▲ or ▼ if it is significantly higher or lower than the score of the baseline, and the
        values that `interval` selects.

        Parameters
        ----------
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
            If there is no such `interval`.
        """
        kind = self._kind(interval)
        return self._grid(lambda cell: f"{cell.score}{cell.symbol} {cell.beside(kind)}".rstrip())

    def notes(self, interval: str | None = "difference", symbols: tuple[str, str] = ("▲", "▼")) -> list[str]:
        """Return the sentences that explain a table.

        Parameters
        ----------
        interval : {"difference", "score", None}, default="difference"
            Interval in the table, as for :meth:`wide`.
        symbols : tuple of str, default=("▲", "▼")
            Marks of significantly higher and lower scores.

        Returns
        -------
        list of str
            Sentences.
        """
        about, kind = self.about, self._kind(interval)
        baseline = about["baseline"]
        notes = self.of_queries[:1]
        percent = f"{100 * about['confidence']:g}%"
        how = f"(percentile bootstrap over queries, {about['resamples']:,} resamples)"
        if kind == "difference":
            notes.append(
                f"With each score its difference to {baseline} and, in brackets, that difference's {percent} confidence"
                f" interval {how}."
            )
        elif kind == "score":
            notes.append(f"In brackets {percent} confidence intervals {how}.")
        if baseline is not None:
            notes.append(
                f"{symbols[0]} {symbols[1]}: significantly higher or lower than {baseline}, p < {about['alpha']:g} in"
                f" {TESTS[about['test']]} over queries, {self.correction}."
            )
            if kind == "difference" and self.is_corrected:
                notes.append(NOT_CORRECTED)
        notes += [*self.of_opposed, *self.of_queries[1:]]
        return notes + ([self.out_of_reach] if about["test"] == "randomisation" and self.out_of_reach else [])

    @property
    def about_bold(self) -> list[str]:
        """Sentence about bold type, if any score is bold."""
        bold = {measure for (_, measure), cell in self.cells().items() if cell.best}
        lowest = [measure for measure in self.measures if measure in bold and self.about["better"][measure] == "lower"]
        if not lowest:
            return [BOLD] if bold else []
        if len(lowest) == len(bold):
            return ["Bold: the lowest, since less is better."]
        return [f"{BOLD.removesuffix('.')}; of {', '.join(lowest)} the lowest, since less is better."]

    def to_latex(self, interval: str | None = "difference", caption: str | None = None, label: str = "") -> str:
        r"""Return a LaTeX table environment that uses booktabs.

        There is one row per run and one column per measure. The best score is bold, and an arrow marks a significant
        difference to the baseline. For short column heads, give :func:`compare` the measures by name.

        Parameters
        ----------
        interval : {"difference", "score", None}, default="difference"
            Values below each score, as for :meth:`wide`.
        caption : str, optional
            Caption in LaTeX. The default caption explains the table.
        label : str, optional
            Label for references; none by default.

        Returns
        -------
        str
            LaTeX source.

        Raises
        ------
        BadParameter
            If there is no such `interval`.
        """
        kind, cells = self._kind(interval), self.cells()
        if caption is None:
            caption = typeset(" ".join([*self.notes(interval, ("↑", "↓")), *self.about_bold]))
        body: list[str] = []
        for run in self.runs:
            of_run = [cells[run, measure] for measure in self.measures]
            name, tag = escaped(str(run)), "{\\scriptsize baseline}" if run == self.about["baseline"] else ""
            if kind is None:
                body.append(table_row([f"{name} {tag}".rstrip(), *(cell.latex for cell in of_run)]))
                continue
            below = (f"{{\\scriptsize {typeset(cell.beside(kind))}}}" if cell.beside(kind) else "" for cell in of_run)
            body += ["\\addlinespace"] * bool(body)
            body += [table_row([name, *(cell.latex for cell in of_run)]), table_row([tag, *below])]
        lines = tabular("l" + "c" * len(self.measures), ["", *map(escaped, self.measures)], body)
        return floating_table(lines, caption, label, self.about)

    def plot(
        self, measures: Iterable[str] | None = None, runs: Iterable[Any] | None = None, width: float = 7.0
    ) -> list[Any]:
        """Plot the scores of the runs with their intervals and marks of significance, one panel per measure.

        With a baseline, the bars are the confidence intervals of the differences to the baseline, drawn at the scores;
        the dashed line is the score of the baseline. Without a baseline, they are the confidence intervals of the
        scores. Runs are sorted by the first measure, the best at the top.

        Parameters
        ----------
        measures : iterable of str, optional
            Names of the measures to plot; by default all.
        runs : iterable of str, optional
            Names of the runs to plot; by default all.
        width : float, default=7.0
            Width of the figure in inches. The number of panels in a row depends on it.

        Returns
        -------
        list of matplotlib Axes
            One for each measure.

        Raises
        ------
        BadParameter
            If there is no such run or measure.
        CWLAError
            If matplotlib is not installed.
        """
        return plot_comparison(self, measures, runs, width)

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
        rows = self.table[self.table["measure"] == measure].set_index("run")["score"]
        order = rows.sort_values(ascending=self.about["better"][measure] == "lower", kind="stable").index.tolist()
        order.sort(key=lambda run: run != self.about["baseline"])
        return [run for run in self.runs if run in set(order[:most])]

    def cells(self) -> dict[tuple[Any, str], ScoreCell]:
        """Return the formatted values of each run and measure."""
        found = {}
        for measure, rows in self.table.groupby("measure", sort=False):
            highest, lowest = rows["score"].max(), rows["score"].min()
            best = {"higher": highest, "lower": lowest}.get(self.about["better"][measure])
            places = decimals(rows["score"], self.about["aggregates"][measure])
            for row in rows.to_dict("records"):
                found[row["run"], measure] = self._cell(row, places, bool(row["score"] == best and highest > lowest))
        return found

    def _cell(self, row: Mapping[str, Any], places: int, best: bool) -> ScoreCell:
        score, interval = fixed_point(row["score"], places), interval_of(row["score_low"], row["score_high"], places)
        if self.about["baseline"] in (None, row["run"]):
            return ScoreCell(score, interval, best)
        return ScoreCell(
            score,
            interval,
            best,
            mark=self.mark(row),
            difference=fixed_point(row["difference"], places, "+"),
            difference_interval=interval_of(row["difference_low"], row["difference_high"], places),
            effect=fixed_point(row["effect"], 2, "+"),
            p={test: probability(row[f"p_{test}_corrected"]) for test in TESTS},
        )

    @sanitised
    def _repr_html_(self) -> str:
        runs, baseline = self.best_runs(_ROWS), self.about["baseline"]
        grid = self._grid(lambda cell: cell.html(self._kind("difference"))).loc[runs]
        grid.index = [escape(str(r)) + ("<br><small>baseline</small>" if r == baseline else "") for r in grid.index]
        grid.columns = list(map(escape, grid.columns))
        with pd.option_context("display.max_colwidth", None):
            table = grid.to_html(escape=False)
        some = []
        if len(runs) < len(self.runs):
            some = [f"Shown are {_ROWS} of {len(self.runs):,} runs, the best by {self.measures[0]}; .table has all."]
        notes = escape(" ".join([*some, *self.notes(), *self.about_bold]))
        return f'<div style="overflow-x: auto">{table}</div><p><small>{notes}</small></p>'

    def parts(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield one table of all runs per measure, with the columns that fit the width, and notes."""
        return comparison_tables(self, console, options)

    @sanitised
    def __repr__(self) -> str:
        return "\n".join([self.wide().to_string(), *self.notes()])

    def _kind(self, interval: str | None) -> str | None:
        if interval not in ("difference", "score", None):
            raise BadParameter(f"interval={interval!r} must be 'difference', 'score' or None.")
        return "score" if interval == "difference" and self.about["baseline"] is None else interval

    def _grid(self, written: Callable[[ScoreCell], str]) -> pd.DataFrame:
        cells = self.cells()
        rows = [[written(cells[run, measure]) for measure in self.measures] for run in self.runs]
        return pd.DataFrame(rows, index=pd.Index(self.runs, name="run"), columns=self.measures)


@dataclass(frozen=True)
class ScoreCell:
    """Formatted values of one run and measure; differences are empty for the baseline."""

    score: str
    interval: str
    best: bool
    mark: int = 0
    """1 if significantly higher than the baseline, −1 if significantly lower, otherwise 0."""
    difference: str = ""
    difference_interval: str = ""
    effect: str = ""
    p: Mapping[str, str] = field(default_factory=dict)
    """Corrected p-values by test."""

    @property
    def symbol(self) -> str:
        """Mark of a significant difference."""
        return {1: "▲", -1: "▼", 0: ""}[self.mark]

    def beside(self, kind: str | None) -> str:
        """Return the text beside or below the score."""
        if kind == "difference":
            return f"{self.difference} {self.difference_interval}".strip()
        return self.interval if kind == "score" else ""

    @property
    def latex(self) -> str:
        """Score in LaTeX."""
        score = f"\\textbf{{{typeset(self.score)}}}" if self.best else typeset(self.score)
        # The arrows have width 0, so that marked and unmarked scores are aligned.
        return score + {1: "\\rlap{$^{\\uparrow}$}", -1: "\\rlap{$^{\\downarrow}$}", 0: ""}[self.mark]

    def html(self, kind: str | None) -> str:
        """Return the cell in HTML."""
        score = f"<b>{self.score}</b>" if self.best else self.score
        tests = [f"p ({test}) {p}" for test, p in self.p.items()]
        title = f' title="{escape(", ".join([f"d_z {self.effect}", *tests]))}"' if tests else ""
        return f"<span{title}>{score}{self.symbol}</span><br><small>{self.beside(kind)}</small>"


def plot_comparison(
    found: Any, measures: Iterable[str] | None = None, runs: Iterable[Any] | None = None, width: float = 7.0
) -> Any:
    """Plot the scores of all runs, with one panel per measure; see :meth:`Comparison.plot`."""
    shown = chosen_of("measure", measures, found.measures)
    names = chosen_of("run", runs, found.runs)
    cells = found.cells()
    scores = found.table.set_index(["measure", "run"]).sort_index()
    sign = -1 if found.about["better"][shown[0]] == "lower" else 1
    first = sign * scores.loc[shown[0], "score"].loc[names]
    names = first.sort_values(ascending=False, kind="stable", na_position="last").index.tolist()
    labels = [wrapped(str(run), 26) + "\n(baseline)" * bool(run == found.about["baseline"]) for run in names]
    lines = [label.count("\n") + 1 for label in labels]
    longest = max(len(line) for label in labels for line in label.split("\n")) * _LETTER
    columns = int(np.clip((width - longest) // _LEAST, 1, len(shown)))
    columns = -(-len(shown) // -(-len(shown) // columns))  # as few as the same number of rows of panels allows
    letters = max(12, int((width - longest) / columns / (1.25 * _LETTER)))
    less = {measure: "\n(less is better)" * (found.about["better"][measure] == "lower") for measure in shown}
    titles = [wrapped(measure, letters) + less[measure] for measure in shown]
    head = max(title.count("\n") + 1 for title in titles)
    height = _LINE * (1.2 * sum(lines) + 1.2 * head + 2.5)  # with the ticks
    figure, axes = panels(len(shown), columns, width, height)
    middles = np.cumsum(lines) - np.array(lines) / 2
    for number, (ax, measure, title) in enumerate(zip(axes, shown, titles, strict=True)):
        marked = np.array([cells[run, measure].mark != 0 for run in names])
        _draw_scores(ax, found, scores.loc[measure].loc[names], middles, found.measures.index(measure), marked)
        for run, y in zip(names, middles, strict=True):
            cell = cells[run, measure]
            text, weight = f"{cell.score} {cell.symbol}".rstrip(), "bold" if cell.best else "normal"
            ax.text(1.03, y, text, transform=ax.get_yaxis_transform(), va="center", fontsize=8, fontweight=weight)
        ax.set_title(title, fontsize=9, loc="left")
        ax.set_ylim(middles[-1] + lines[-1] / 2 + 0.2, -0.2)
        ax.set_yticks(middles, labels if number % columns == 0 else [""] * len(labels), fontsize=8)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
    title, notes = _about(found, len(names))
    title, notes = fill(in_picture(title), int(width / _LETTER / 1.25)), fill(in_picture(notes), int(width / _LETTER))
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    figure.supxlabel(notes, fontsize=8, x=0.01, ha="left")
    more = 1.3 * (title.count("\n") + 1) + notes.count("\n") + 2
    figure.set_figheight(figure.get_figheight() + _LINE * more)
    return axes


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


def _draw_scores(ax: Axes, found: Any, rows: pd.DataFrame, middles: Any, number: int, marked: Any) -> None:
    """Draw one measure: points at the scores, and intervals of the differences to the baseline, or of the scores."""
    baseline, colour = found.about["baseline"], measure_look(number)["color"]
    score = rows["score"].to_numpy()
    if baseline is None:
        low, high, marked = rows["score_low"].to_numpy(), rows["score_high"].to_numpy(), np.ones(len(rows), bool)
    else:
        centre = found.table.set_index(["measure", "run"])["score"][found.measures[number], baseline]
        low, high = (centre + rows[f"difference_{end}"].to_numpy() for end in ("low", "high"))
        if np.isfinite(centre):
            ax.axvline(centre, color=GREY, linewidth=1, linestyle="--", zorder=0)
    ax.hlines(middles, low, high, color=colour, linewidth=1.6)
    of_baseline = (rows.index == baseline) if baseline is not None else np.zeros(len(rows), bool)
    for chosen, face, marker in (
        (marked, colour, "o"),
        (~marked & ~of_baseline, ax.get_facecolor(), "o"),
        (of_baseline, colour, "|"),
    ):
        ax.plot(score[chosen], middles[chosen], marker, color=colour, markerfacecolor=face, markersize=5)
    ax.locator_params(axis="x", nbins=3)
    ax.margins(x=0.08)
    ax.tick_params(axis="x", labelsize=8)


def _about(found: Any, runs: int) -> tuple[str, str]:
    """Return the title of the figure, and the sentences that explain its marks."""
    about, baseline = found.about, found.about["baseline"]
    percent = f"{100 * about['confidence']:g}%"
    title = f"{many(runs, 'system')}, mean over {about['queries']:,} topics{found.other_aggregates}"
    if baseline is None:
        return title, " ".join([f"Bars: {percent} confidence intervals.", *found.about_bold])
    notes = (
        f"Dashed line: {baseline}. Bars: {percent} confidence intervals of the difference to it, drawn at the score;"
        " they are not corrected and may leave the range of the measure. Filled with ▲ or ▼: significantly higher or"
        f" lower (p < {about['alpha']:g} in {TESTS[about['test']]}, {found.correction})."
    )
    return f"{title}, compared with {baseline}", " ".join([notes, *found.about_bold])


def plot_topics(
    found: Any, a: Any, b: Any, measure: str | None = None, topics: Any = None, ax: Axes | None = None
) -> Axes:
    """Plot the difference of two runs topic by topic; see :meth:`Comparison.plot_topics`."""
    measure = found.measure_or_first(measure)
    by_topic = found.differences(a, b, measure)
    finite = by_topic[np.isfinite(by_topic["difference"])]
    if finite.empty:
        raise BadParameter(f"{measure} of {a} and {b} has a finite difference for no topic, so nothing can be plotted.")
    n, new = len(finite), ax is None
    ax = axes_of(ax)
    figure: Any = ax.figure
    if new:
        figure.set_figheight(1.7 + _ROW * min(n, _ALL_NAMED))
    letters = int(figure.get_figwidth() / (1.3 * _LETTER))
    shown = [elided(str(name), letters // 2) for name in (a, b)]
    a, b = shown if shown[0] != shown[1] else (a, b)
    better = found.about["better"][measure]
    logarithms = "logarithms of " if found.about["aggregates"][measure] == "geometric mean" else ""
    axis = [f"difference in {logarithms}{measure}: {a} − {b}, mean {finite['difference'].mean():+.3g}"]
    if better is not None:
        left, right = (b, a) if better == "higher" else (a, b)
        axis.append(f"← {left} better | {right} better →")
    ax.set_xlabel("\n".join(fill(in_picture(text), letters) for text in axis), fontsize=9)
    title = [f"{measure} of {a} and {b}, topic by topic", _won(by_topic, a, b, better)]
    ax.set_yticks([])
    titled(ax, "\n".join(fill(in_picture(text), letters) for text in title))
    figure.draw_without_rendering()  # lays out the figure: the texts above leave the rest to the bars
    size = ax.get_window_extent()
    width, height = size.width / figure.dpi, size.height / figure.dpi
    names = _topic_names(finite.index, topics, int(min(_TOPIC, 0.35 * width / _LETTER)))
    rows = _ALL_NAMED if new else int(height / _ROW - 0.6)
    named = n if n <= rows else int(np.clip((rows - _BETWEEN) // 2, 0, _NAMED))  # topics at each end with a name
    _draw_topics(ax, names, finite["difference"].to_numpy(), named, width)
    return ax


def _draw_topics(ax: Axes, names: Sequence[str], difference: Any, named: int, room: float) -> None:
    """Draw one bar a topic; the bars of topics without a name are thinner. `room` is the width in inches."""
    n = len(difference)
    heights = np.ones(n)
    heights[named : n - named] = _BETWEEN / max(n - 2 * named, 1)
    middles = np.cumsum(heights) - heights / 2
    colours = [COLOURS[0] if value > 0 else COLOURS[1] for value in difference]
    ax.barh(middles, difference, height=0.8 * heights, color=colours)
    ax.axvline(0, color=GREY, linewidth=0.8)
    widths = [0.0, 0.0]
    for at, (name, value) in enumerate(zip(names, difference.tolist(), strict=True)):
        if at < named or at >= n - named:
            _write_beside_zero(ax, in_picture(name), middles[at], value < 0)
            widths[value < 0] = max(widths[value < 0], _LETTER * len(name))
    if 2 * named < n:
        between = slice(named, n - named)
        text, right = many(n - 2 * named, "topic") + " between" * bool(named), bool(difference[between].sum() < 0)
        _write_beside_zero(ax, text, middles[between].mean(), right, color=GREY)
        widths[right] = max(widths[right], _LETTER * len(text))
    ax.set_xlim(_limits(difference, widths[0], widths[1], room))
    ax.set_ylim(heights.sum() + 0.3, -0.3)
    ax.spines["left"].set_visible(False)
    ax.locator_params(axis="x", nbins=6)
    ax.tick_params(axis="x", labelsize=8)


def _limits(difference: Any, left: float, right: float, room: float) -> tuple[float, float]:
    """Return limits of the axis in which names of these widths (inches) fit beside zero."""
    low, high = 1.05 * min(float(difference.min()), 0.0), 1.05 * max(float(difference.max()), 0.0)
    if low == high:
        return -1.0, 1.0
    begin, end = low, high
    for _ in range(20):  # converges: both names take at most 70 % of the room
        inch = (end - begin) / room
        begin, end = min(low, -left * inch), max(high, right * inch)
    return begin, end


def _won(by_topic: pd.DataFrame, a: Any, b: Any, better: str | None) -> str:
    """Return the shares of topics that each run wins, and the mean difference."""
    difference = by_topic["difference"].to_numpy()
    n = len(difference)
    of_a, of_b = int((difference > 0).sum()), int((difference < 0).sum())
    equal, unknown = int((difference == 0).sum()), int(np.isnan(difference).sum())
    if better == "lower":
        of_a, of_b = of_b, of_a
    word = "higher" if better is None else "better"
    counts = [(of_a, f"{a} {word}"), (equal, "equal"), (of_b, f"{b} {word}"), (unknown, "undefined")]
    shares = [f"{what} {number / n:.0%} ({number:,})" for number, what in counts if number or what != "undefined"]
    return f"{many(n, 'topic')}: " + " · ".join(share.replace(" ", "\N{NO-BREAK SPACE}") for share in shares)


def _topic_names(queries: Iterable[str], topics: Any, most: int) -> list[str]:
    """Return the labels of queries: ids, with the texts of the topics if they are given, of `most` characters."""
    queries = list(queries)
    if topics is None:
        return [_shortened(qid, most) for qid in queries]
    texts = topic_texts(topics)
    if not texts.keys() & set(queries):
        raise BadParameter(
            f"topics= has none of the queries of the comparison ({some(queries)}): it has {some(list(texts))}."
        )
    return [_shortened(f"{qid}  {texts[qid]}" if qid in texts else qid, most) for qid in queries]


def topic_texts(topics: Any) -> dict[str, str]:
    """Return texts of topics by query id, from a dict, a Series, or a frame with the columns of PyTerrier."""
    if isinstance(topics, pd.DataFrame):
        ids = next((name for name in ("qid", "query_id") if name in topics.columns), None)
        if ids is None or "query" not in topics.columns:
            raise BadParameter(
                f"topics= is a frame with the columns {some(list(topics.columns), 8)}, and needs qid and query."
            )
        topics = dict(zip(topics[ids], topics["query"], strict=True))
    if not isinstance(topics, Mapping | pd.Series):
        raise BadParameter(f"topics= takes texts by query id, or a frame with qid and query, not {topics!r:.60}.")
    return {str(qid): " ".join(str(text).split()) for qid, text in topics.items()}


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _write_beside_zero(ax: Axes, text: str, y: float, right: bool, **style: Any) -> None:
    ax.annotate(text, (0, y), xytext=(4 if right else -4, 0), textcoords="offset points", fontsize=7.5, va="center",
                ha="left" if right else "right", **style)  # fmt: skip


def typeset(text: str) -> str:
    """Return numbers and notes in LaTeX, with minus signs, arrows, and p in italics."""
    text = escaped(text).replace("p $<$", "$p <$")
    return re.sub(r"(?<![\w.])-(?=\d)|−", "$-$", text).replace("↑", r"$\uparrow$").replace("↓", r"$\downarrow$")


def p_name(test: str) -> str:
    """Return the column of the p-values that decide on significance; tests of all pairs need no correction."""
    return f"p_{test}_corrected" if test in TESTS else f"p_{test}"


def decimals(scores: pd.Series[float], aggregate: str) -> int:
    """Return the number of decimals for the scores of a measure: none for sums, and fewer for larger scores."""
    largest = scores.abs().where(np.isfinite(scores)).max()
    return 0 if aggregate == "sum" else max(0, 3 - int(np.log10(np.fmax(largest, 1))))


def fixed_point(value: float, places: int, sign: str = "-") -> str:
    """Return a number with `places` decimals; numbers that round to 0 have no sign."""
    if np.isinf(value):
        return "+∞" if value > 0 else "−∞"
    text = f"{value:{sign}.{places}f}"
    return text if float(text) else text.lstrip("+-")


def interval_of(low: float, high: float, places: int, sign: str = "-") -> str:
    """Return an interval with `places` decimals."""
    return f"[{fixed_point(low, places, sign)}, {fixed_point(high, places, sign)}]"


def probability(p: float) -> str:
    """Return a p-value with three decimals, without the 0 before the point."""
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def comparison_tables(found: Comparison, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
    """Yield one table of all runs per measure, with the columns that fit the width, and notes."""
    cells, baseline = found.cells(), found.about["baseline"]
    interval = (f"{100 * found.about['confidence']:g}%", "interval")
    heads: dict[str, tuple[str, ...]] = {"score": ("score",), "interval": interval}
    if baseline is not None:
        heads |= {"difference": ("Δ",), "difference_interval": interval, "effect": ("d_z",)}
        heads |= {test: ("p", name) for test, name in _P_OF.items()}
    widths = {name: max(cell_len(_of_cell(cell, name).plain) for cell in cells.values()) for name in heads}
    widest = max(20, options.max_width // 5)

    def table_of(measure: str, columns: Iterable[str], gap: int) -> Table:
        """Return the table of one measure; the columns have the same widths in all tables."""
        table, height = plain_table(gap=gap), max(len(heads[name]) for name in columns)
        table.add_column(column_head(["run"], height), overflow="fold", max_width=widest)
        for name in columns:
            table.add_column(column_head(heads[name], height), justify="right", no_wrap=True, min_width=widths[name])
        for run in found.runs:
            below = Text("\nbaseline" if run == baseline else "", style="dim")
            texts = (_of_cell(cells[run, measure], name) for name in columns)
            table.add_row(Text(broken(str(run), widest)) + below, *texts)
        return table

    optional = [*(test for test in _P_OF if test != found.about["test"]), *_CALLED]
    room, first = options.max_width, partial(table_of, found.measures[0])
    columns, gap, left_out = columns_that_fit(console, room, heads, optional, first)
    unlimited = options.update(max_width=UNLIMITED_WIDTH)
    widest += max(0, room - Measurement.get(console, unlimited, first(columns, gap)).maximum)  # for long names
    bold = found.about_bold if console.color_system is not None else []  # files and pipes have no bold type
    tables = {measure: table_of(measure, columns, gap) for measure in found.measures}
    yield from tables_and_notes(console, options.max_width, tables, _explaining(found, columns, bold, left_out))


def _of_cell(cell: ScoreCell, column: str) -> Text:
    if column == "score":
        return Text.assemble((cell.score, "bold" if cell.best else ""), cell.symbol or " ")
    return Text(cell.p.get(column, "") if column in _P_OF else getattr(cell, column))


def _explaining(
    found: Comparison, columns: Iterable[str], bold: Sequence[str], left_out: Sequence[str]
) -> Iterator[str]:
    yield from found.notes("score" if {"interval", "difference_interval"} & set(columns) else None)
    yield from bold
    if "difference" in columns:
        yield f"Δ: the score minus that of {found.about['baseline']}."
        if "difference_interval" in columns and found.is_corrected:
            yield NOT_CORRECTED
    if "effect" in columns:
        yield EFFECT
    if found.about["correction"] is not None and any(test in columns for test in _P_OF):
        yield "All p-values are corrected; the full table also has the uncorrected ones."
    if "randomisation" in columns and found.about["test"] != "randomisation" and found.out_of_reach:
        yield found.out_of_reach
    if left_out:
        yield f"Left out at this width: {', '.join(_CALLED.get(name, f'p by {name}') for name in left_out)}."
