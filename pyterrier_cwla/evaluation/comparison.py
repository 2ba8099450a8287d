"""Result of a comparison of runs, as a table in text, HTML, the terminal and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ..errors import BadParameter
from ..errors.sanitise import harmless_segments, sanitised
from ..measures.counting import scores_of_unanswered
from ..rendering.latex import escaped, floating_table, table_row, tabular
from ..rendering.terminal import PROSE_WIDTH, UNLIMITED_WIDTH, broken, column_head, other_than_means, plain_table
from .comparison_plots import plot_comparison
from .significance import CORRECTIONS, TESTS
from .topic_differences import ByTopic

#: Note below tables with bold type, if higher scores are better for all measures.
BOLD = "Bold: the highest."


NOT_CORRECTED = "Intervals are not corrected: one may exclude 0 where there is no mark."
EFFECT = "d_z: the mean over the standard deviation of the differences of queries."
_ROWS = 15  # runs in a notebook


@dataclass(frozen=True, repr=False)
class Comparison(ByTopic):
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
        * ``effect``: Cohen's d_z, the mean over the standard deviation of the differences of queries;
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

    @property
    def runs(self) -> list[Any]:
        """Names of the runs, in the order of the arguments."""
        return list(dict.fromkeys(self.table["run"]))

    @property
    def measures(self) -> list[str]:
        """Names of the measures, in the order of the arguments."""
        return list(dict.fromkeys(self.table["measure"]))

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
        notes += [*of_opposed(about), *self.of_queries[1:]]
        return notes + ([self.out_of_reach] if about["test"] == "randomisation" and self.out_of_reach else [])

    @property
    def of_queries(self) -> list[str]:
        """Sentences about the queries: the number, the aggregates, and the runs that do not answer all."""
        return about_queries(self.about, self.other_aggregates)

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

    @property
    def out_of_reach(self) -> str:
        """Sentence for a randomisation test that cannot reach significance, otherwise empty."""
        return out_of_reach(self.about)

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
        measure = self.measures[0] if measure is None else measure
        rows = self.table[self.table["measure"] == measure].set_index("run")["score"]
        order = rows.sort_values(ascending=self.about["better"][measure] == "lower", kind="stable").index.tolist()
        order.sort(key=lambda run: run != self.about["baseline"])
        return [run for run in self.runs if run in set(order[:most])]

    def cells(self) -> dict[tuple[Any, str], Cell]:
        """Return the formatted values of each run and measure."""
        found = {}
        for measure, rows in self.table.groupby("measure", sort=False):
            highest, lowest = rows["score"].max(), rows["score"].min()
            best = {"higher": highest, "lower": lowest}.get(self.about["better"][measure])
            places = decimals(rows["score"], self.about["aggregates"][measure])
            for row in rows.to_dict("records"):
                is_best = bool(row["score"] == best and highest > lowest)
                found[row["run"], measure] = Cell.of(row, self.about, places, is_best)
        return found

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

    def __rich_console__(self, console: Any, options: Any) -> Iterable[Any]:

        return comparison_tables(self, console, options)

    @sanitised
    def __repr__(self) -> str:
        return "\n".join([self.wide().to_string(), *self.notes()])

    def _kind(self, interval: str | None) -> str | None:
        if interval not in ("difference", "score", None):
            raise BadParameter(f"interval={interval!r} must be 'difference', 'score' or None.")
        return "score" if interval == "difference" and self.about["baseline"] is None else interval

    def _grid(self, written: Callable[[Cell], str]) -> pd.DataFrame:
        cells = self.cells()
        rows = [[written(cells[run, measure]) for measure in self.measures] for run in self.runs]
        return pd.DataFrame(rows, index=pd.Index(self.runs, name="run"), columns=self.measures)

    @property
    def other_aggregates(self) -> str:
        """End of a sentence on means, about measures with other aggregates."""
        tested = " (tested on logarithms)" if self.about["baseline"] is not None else ""
        return other_than_means(self.about["aggregates"], tested)

    @property
    def is_corrected(self) -> bool:
        """Whether p-values of several comparisons are corrected."""
        return self.about["correction"] is not None and self.about["comparisons"] > 1

    @property
    def correction(self) -> str:
        """Correction of the p-values, as a part of a sentence."""
        many, correction = self.about["comparisons"], self.about["correction"]
        family = f"all {many:,} comparisons of the table" if many > 1 else "the one comparison of the table"
        return f"{'not ' if correction is None else CORRECTIONS[correction] + '-'}corrected for {family}"


@dataclass(frozen=True)
class Cell:
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

    @classmethod
    def of(cls, row: Mapping[str, Any], about: Mapping[str, Any], places: int, best: bool) -> Cell:
        """Return the cell of a row of the table."""
        score, interval = fixed_point(row["score"], places), interval_of(row["score_low"], row["score_high"], places)
        if about["baseline"] is None or row["run"] == about["baseline"]:
            return cls(score, interval, best)
        return cls(
            score,
            interval,
            best,
            mark=mark_of(row, about),
            difference=fixed_point(row["difference"], places, "+"),
            difference_interval=interval_of(row["difference_low"], row["difference_high"], places),
            effect=fixed_point(row["effect"], 2, "+"),
            p={test: probability(row[f"p_{test}_corrected"]) for test in TESTS},
        )

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


def typeset(text: str) -> str:
    """Return numbers and notes in LaTeX, with minus signs, arrows, and p in italics."""
    text = escaped(text).replace("p $<$", "$p <$")
    return re.sub(r"(?<![\w.])-(?=\d)|−", "$-$", text).replace("↑", r"$\uparrow$").replace("↓", r"$\downarrow$")


def about_queries(about: Mapping[str, Any], other_aggregates: str) -> list[str]:
    """Return sentences about the queries: the number, the aggregates, and the runs that do not answer all."""
    notes = [f"Means over {about['queries']:,} queries{other_aggregates}."]
    if about["unanswered"]:
        some = [f"{run} ({count:,})" for run, count in about["unanswered"].items()]
        some = [*some[:3], "…"] if len(some) > 3 else some
        scores = scores_of_unanswered(about["measures"].values())
        notes.append(f"Queries that a run does not answer {scores}: {', '.join(some)}.")
    return notes


def out_of_reach(about: Mapping[str, Any]) -> str:
    """Return a sentence for a randomisation test that cannot reach significance, otherwise an empty text."""
    lowest, many = about["lowest_p"], about["comparisons"]
    # For the other corrections, the corrected lowest p depends on the other p-values.
    factor = many if about["correction"] in ("bonferroni", "sidak", "holm", "holm-sidak") else 1
    if lowest * factor < about["alpha"]:
        return ""
    times = f", {min(1.0, lowest * factor):.2g} when corrected for {many:,} comparisons" if factor > 1 else ""
    way_out = "there are too few queries" if about["randomisation"] == "all signs" else "give more resamples"
    return f"The randomisation test cannot go below p = {lowest:.2g}{times}: {way_out}."


def p_name(test: str) -> str:
    """Return the column of the p-values that decide on significance; tests of all pairs need no correction."""
    return f"p_{test}_corrected" if test in TESTS else f"p_{test}"


def mark_of(row: Mapping[str, Any], about: Mapping[str, Any]) -> int:
    """Return 1 if the run of a row is significantly higher than the baseline, −1 if lower, otherwise 0."""
    compared = [row["run"], row.get("baseline", about["baseline"]), row["measure"]]
    significant = row[p_name(about["test"])] < about["alpha"] and compared not in about["opposed"]
    return int(np.sign(row["difference"])) if significant else 0


def of_opposed(about: Mapping[str, Any]) -> list[str]:
    """Return a sentence about significant comparisons that have no mark, if there are any."""
    if not about["opposed"]:
        return []
    some = [f"{run} and {baseline} ({measure})" for run, baseline, measure in about["opposed"][:3]]
    more = [f"{len(about['opposed']) - 3:,} more"] if len(about["opposed"]) > 3 else []
    called = ", ".join([*some, *more])
    return [f"Without a mark, since means are equal or differ in the other direction than the ranks: {called}."]


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


_P_OF = {"t": "t-test", "wilcoxon": "Wilcoxon", "randomisation": "random"}

#: Columns that are left out next if the terminal is narrow, with their names in the note.
_CALLED = {"effect": "d_z", "interval": "intervals of scores", "difference_interval": "intervals of Δ"}


def comparison_tables(found: Comparison, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
    """Yield the sanitised segments of a comparison for a console."""
    for part in _comparison_tables(found, console, options):
        yield from harmless_segments(console.render(part, options))


def _comparison_tables(found: Comparison, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
    """Yield one table of all runs per measure, with the columns that fit the width, and notes."""
    cells, columns, left_out = found.cells(), _all_columns(found), []
    widths = {name: max(cell_len(_of_cell(cell, name).plain) for cell in cells.values()) for name in columns}
    unlimited, widest = options.update(max_width=UNLIMITED_WIDTH), max(20, options.max_width // 5)

    def table_of(measure: str, gap: int, widest: int) -> Table:
        """Return the table of one measure; the columns have the same widths in all tables."""
        table = plain_table(gap=gap)
        height = max(map(len, columns.values()))
        table.add_column(column_head(["run"], height), overflow="fold", max_width=widest)
        for name, head in columns.items():
            table.add_column(column_head(head, height), justify="right", no_wrap=True, min_width=widths[name])
        for run in found.runs:
            baseline = Text("\nbaseline" if run == found.about["baseline"] else "", style="dim")
            table.add_row(
                Text(broken(str(run), widest)) + baseline, *(_of_cell(cells[run, measure], name) for name in columns)
            )
        return table

    def width(gap: int) -> int:
        return Measurement.get(console, unlimited, table_of(found.measures[0], gap, widest)).maximum

    for name in ("", *(test for test in _P_OF if test != found.about["test"]), *_CALLED):
        if columns.pop(name, None):
            left_out.append(_CALLED.get(name, f"p by {name}"))
        gap = 2 if width(2) <= options.max_width else 1
        if width(gap) <= options.max_width:
            break
    widest += max(0, options.max_width - width(gap))  # the rest of the width is for long names
    for measure in found.measures:
        yield Text(measure, style="bold")
        yield Text()
        yield table_of(measure, gap, widest)
        yield Text()
    bold = found.about_bold if console.color_system is not None else []  # files and pipes have no bold type
    for text in _explaining(found, columns, bold, left_out):
        yield Text("\n").join(Text(text, style="dim").wrap(console, min(options.max_width, PROSE_WIDTH)))


def _all_columns(found: Comparison) -> dict[str, tuple[str, ...]]:
    """Return all columns with the lines of their heads."""
    interval = (f"{100 * found.about['confidence']:g}%", "interval")
    columns: dict[str, tuple[str, ...]] = {"score": ("score",), "interval": interval}
    if found.about["baseline"] is not None:
        columns |= {"difference": ("Δ",), "difference_interval": interval, "effect": ("d_z",)}
        columns |= {test: ("p", name) for test, name in _P_OF.items()}
    return columns


def _of_cell(cell: Cell, column: str) -> Text:
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
        yield f"Left out at this width: {', '.join(left_out)}."
