"""Comparison of pairs of runs: with several baselines, or all pairs; results as tables, LaTeX and plots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from ..errors import BadParameter, many
from ..errors.sanitise import in_picture, sanitised
from ..rendering.figures import COLOURS, GREY, axes_of, difference_colours, elided, text_colour, titled
from ..rendering.latex import escaped, floating_table, table_row, tabular
from ..rendering.terminal import broken, plain_table, tables_and_notes
from .comparison import (
    EFFECT,
    NOT_CORRECTED,
    ComparedRuns,
    decimals,
    fixed_point,
    interval_of,
    p_name,
    probability,
    typeset,
)
from .significance import (
    TESTS,
    Array,
    intervals,
    paired_tests,
    randomised_hsd,
    tukey_hsd,
    wins_ties_losses,
    without_noise,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_ROW = 0.26  # inches per run
_NAME = 22  # largest number of characters of a name
_LETTER = 0.065  # inches per character of 8 points
_NUMBER = 0.45  # inches per column with numbers
_UPRIGHT = 0.14  # inches per column with an upright name
_MOST_NAMES = 45  # largest number of rows with names
#: Tests of all pairs together, which need no other correction.
OF_ALL_PAIRS = {"tukey": "Tukey's HSD test, with topics as blocks", "randomised_hsd": "a randomised HSD test"}
_ROWS = 30  # runs in a notebook
_OF_MATRIX = "Differences: the score of the run (row) minus that of the baseline (column)."
_SIGNED = ["difference", "difference_low", "difference_high", "effect", "tukey_low", "tukey_high", "mark"]
_ONLY_PAIRS = ["baseline", "wins", "ties", "losses"]  # columns that a comparison with one baseline does not have
_MORE = "Wins, ties and losses by topic: .wins(measure)."


@dataclass(frozen=True, repr=False)
class PairComparison(ComparedRuns):
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
    def baselines(self) -> list[Any]:
        """Names of the baselines; all runs if all pairs are compared."""
        return self.about["baselines"] or self.runs

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
        return self._rows(self.table, self.measure_or_first(measure))

    def _rows(self, table: pd.DataFrame, measure: str) -> pd.DataFrame:
        one = table[table["measure"] == measure]
        one = one.assign(mark=[self.mark(row) for row in one.to_dict("records")])
        return pd.concat([one, _turned(one)]).set_index(["run", "baseline"])

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
        measure = self.measure_or_first(measure)
        places = self.places(measure)
        symbols = ("", *marks)  # of marks 0, 1 and −1
        cells = self._cells(measure, lambda row: fixed_point(row["difference"], places, "+") + symbols[row["mark"]])
        scores = [f"{value:.{places}f}" for value in self.scores[measure]]
        cells.insert(0, "score", scores, allow_duplicates=True)  # a run may have this name
        return cells

    def _cells(self, measure: str | None, written: Callable[[Mapping[str, Any]], str]) -> pd.DataFrame:
        """Return a matrix of runs (rows) and baselines (columns) with the text of each pair's row."""
        rows = self._rows(self._shown, self.measure_or_first(measure))
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
        reach = [self.out_of_reach] if self.about["test"] == "randomisation" and self.out_of_reach else []
        more = [*less, *self.of_opposed, *self.of_queries[1:], *reach]
        return [self.of_queries[0], significant, *more]

    def called(self, measure: str) -> str:
        """Return the name of a measure in titles, which says if less is better."""
        return f"{measure} (less is better)" if self.about["better"][measure] == "lower" else measure

    @property
    def significance(self) -> str:
        """Significance level, test and correction, as a part of a sentence."""
        about = self.about
        described = {**{name: f"{text} over queries" for name, text in TESTS.items()}, **OF_ALL_PAIRS}[about["test"]]
        of_pairs = about["test"] in OF_ALL_PAIRS
        how = "corrected for all pairs of runs by each measure" if of_pairs else self.correction
        return f"p < {about['alpha']:g} in {described}, {how}"

    @property
    def of_wins(self) -> str:
        """Sentence about wins, ties and losses."""
        least = self.about["least"]
        ties = f"differ by at most {least:g}" if least else "are equal"
        return f"Wins, ties and losses are by topic; topics tie if the scores {ties}."

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
        measure = self.measure_or_first(measure)
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
        rows = self._list_rows(measure, ("", "↑", "↓"))
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
        measure = self.measure_or_first(measure)
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
        measure = self.measure_or_first(measure)
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

    def parts(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Return a list of pairs for each measure, and notes."""
        tables = {measure: self._listed(measure, max(12, options.max_width // 5)) for measure in self.measures}
        notes = [*self.notes(), *self._of_list(), self.of_wins]
        return tables_and_notes(console, options.max_width, tables, notes)

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
        for run, baseline, *texts in self._list_rows(measure, (" ", "▲", "▼")):
            table.add_row(*map(Text, (broken(run, widest), broken(baseline, widest), *texts)))
        return table

    def _list_rows(self, measure: str, symbols: Sequence[str]) -> Iterator[list[str]]:
        """Yield the cells of a list of pairs: run, baseline, difference, interval, effect, wins, p."""
        places = self.places(measure)
        for row in self._shown[self._shown["measure"] == measure].to_dict("records"):
            low, high = row[f"{self._interval}_low"], row[f"{self._interval}_high"]
            yield [
                str(row["run"]),
                str(row["baseline"]),
                f"{fixed_point(row['difference'], places, '+')}{symbols[self.mark(row)]}",
                "" if np.isnan(low) else interval_of(low, high, places, "+"),
                fixed_point(row["effect"], 2, "+"),
                wins_of(row),
                probability(row[p_name(self.about["test"])]),
            ]


def compared_with_one(
    scores: Mapping[str, Array], names: Sequence[Any], totals: Array, about: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the table of a :class:`Comparison`, with the column ``opposed`` if there is a baseline.

    Parameters
    ----------
    scores : dict of ndarray, shape (n_runs, n_queries)
        Scores of queries by measure.
    names : sequence
        Runs.
    totals : ndarray, shape (n_runs, n_measures)
        Scores of runs.
    about : dict
        Settings of the comparison.
    """
    baseline = about["baseline"]
    if baseline is None:
        how = about["confidence"], about["resamples"], about["seed"]
        low, high = np.stack([intervals(of, aggregate_in(about, m), *how) for m, of in scores.items()], axis=-1)
    else:
        pairs, low, high = compared_pairs(scores, names, {**about, "baselines": [baseline], "least": 0.0})
    ids = {"run": np.repeat(np.array(names, object), len(scores)), "measure": list(scores) * len(names)}
    table = pd.DataFrame(ids | {"score": totals.ravel(), "score_low": low.ravel(), "score_high": high.ravel()})
    if baseline is None:
        return table
    reference = list(names).index(baseline)
    others = np.arange(len(names)) != reference
    differences = totals - totals[reference]
    table["difference"] = np.where(others[:, None], differences, np.nan).ravel()
    for name, values in pairs.drop(columns=["run", "measure", "difference", *_ONLY_PAIRS]).items():
        of_runs = np.full(totals.shape, np.nan)
        of_runs[others] = values.to_numpy().reshape(len(scores), -1).T  # pairs are measure by measure
        table[name] = of_runs.ravel()
    return table


def compared_pairs(
    scores: Mapping[str, Array], names: Sequence[Any], about: Mapping[str, Any]
) -> tuple[pd.DataFrame, Array, Array]:
    """Return the table of a :class:`PairComparison`, and lower and upper ends of the intervals of scores.

    The table has the column ``opposed``, but not those of Tukey's test. The ends have the shape (n_runs, n_measures).

    Parameters
    ----------
    scores : dict of ndarray, shape (n_runs, n_queries)
        Scores of queries by measure.
    names : sequence
        Runs.
    about : dict
        Settings of the comparison.
    """
    first, second = pairs_of(names, about["baselines"])
    settings = about["resamples"], about["seed"]

    def statistic(aggregate: Callable[[Array], Array], means: Array) -> Array:
        of_runs = aggregate(means)
        return np.concatenate([of_runs, of_runs[first] - of_runs[second]])

    parts, differences, ends, runs = [], [], [], len(names)
    for measure, values in scores.items():
        differences.append(without_noise(values[first] - values[second], float(np.abs(values).max())))
        of_runs_and_pairs = partial(statistic, aggregate_in(about, measure))
        low, high = intervals(values, of_runs_and_pairs, about["confidence"], *settings)
        ends.append((low[:runs], high[:runs]))
        in_unit = np.exp(values) if about["aggregates"][measure] == "geometric mean" else values
        wins = wins_ties_losses(in_unit, first, second, about["least"], about["better"][measure] == "lower")
        part = {
            "run": [names[run] for run in first],
            "baseline": [names[run] for run in second],
            "measure": measure,
            "difference": of_runs_and_pairs(values.mean(axis=1))[runs:],
            "difference_low": low[runs:],
            "difference_high": high[runs:],
            **dict(zip(("wins", "ties", "losses"), wins, strict=True)),
        }
        if about["baselines"] is None:
            part["p_randomised_hsd"] = randomised_hsd(values, first, second, *settings)
        parts.append(pd.DataFrame(part))
    tests = paired_tests(np.concatenate(differences), about["correction"], *settings)
    return pd.concat(parts, ignore_index=True).assign(**tests), *np.stack(ends, axis=-1)


def aggregate_in(about: Mapping[str, Any], measure: str) -> Callable[[Array], Array]:
    """Return the function from means over queries to the aggregate of a measure."""
    aggregates: dict[str, Callable[[Array], Array]] = {
        "geometric mean": np.exp,
        "sum": lambda means: about["queries"] * means,
        "mean": lambda means: means,
    }
    return aggregates[about["aggregates"][measure]]


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


def wins_of(row: Mapping[str, Any]) -> str:
    """Return the wins, ties and losses of a row of the table, such as 31/2/17."""
    return f"{row['wins']}/{row['ties']}/{row['losses']}"


def plot_pairs(found: Any, measure: str, rows: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Plot differences of runs to baselines as a heat map; see :meth:`PairComparison.plot`."""
    lower = found.about["better"][measure] == "lower"
    order = found.scores[measure].sort_values(ascending=lower, kind="stable").index.tolist()
    columns = [run for run in order if run in set(found.baselines)]
    values, marks = np.full((2, len(order), len(columns)), np.nan)
    for (run, baseline), row in rows.iterrows():
        if baseline in columns:
            at = order.index(run), columns.index(baseline)
            values[at], marks[at] = row["difference"], row["mark"]
    new = ax is None
    ax = axes_of(ax)
    figure: Any = ax.figure
    if new:
        figure.set_figheight(1.6 + _ROW * min(len(order), _MOST_NAMES))
    largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    finite = np.where(np.isfinite(values), values, np.nan)
    from matplotlib.colors import to_rgba

    grey = np.where(np.isnan(values)[..., None], to_rgba(GREY, 0.5), 0.0)  # pairs that are not compared
    ax.imshow(grey, aspect="auto")
    image = ax.imshow(finite, cmap=difference_colours(), vmin=-largest, vmax=largest, aspect="auto")
    significant = np.nan_to_num(marks) != 0
    width = figure.get_figwidth()
    letters = int(np.clip(0.3 * width / _LETTER, 6, _NAME))
    room = (0.9 * width - letters * _LETTER - 0.9) / len(columns)  # inches per column
    _mark_cells(ax, values, significant, found.places(measure), room >= _NUMBER)
    shown = [_name(run, letters) for run in order if len(order) <= _MOST_NAMES]
    ax.set_yticks(np.arange(len(shown)), shown, fontsize=8)
    shown = [_name(run, letters) for run in columns if room >= _UPRIGHT]
    ax.set_xticks(np.arange(len(shown)), shown, fontsize=8, rotation=90)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    bar = figure.colorbar(image, ax=ax, shrink=0.8)
    bar.set_label("row minus column", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    if new:
        sign = "Numbers" if room >= _NUMBER else "Dots"
        texts = [f"{sign}: significant differences, {found.significance}. Grey: not compared.", *found.of_opposed]
        _write_below(figure, " ".join(texts))
    count = int((rows["mark"] != 0).sum()) // 2  # each pair has a row for both directions
    _write_title(ax, f"{found.called(measure)}: {many(count, 'significant pair')} of {len(rows) // 2:,}")
    return ax


def _write_below(figure: Any, text: str) -> None:
    """Write a sentence below the axes, and make the figure higher by its lines."""
    lines = fill(in_picture(text), int(figure.get_figwidth() / _LETTER))
    figure.supxlabel(lines, fontsize=8, x=0.01, ha="left")
    figure.set_figheight(figure.get_figheight() + 0.16 * (lines.count("\n") + 1))


def _mark_cells(ax: Axes, values: Any, significant: Any, places: int, numbers: bool) -> None:
    """Mark significant differences by numbers, or by dots if there is no room."""
    rows, columns = np.nonzero(significant)
    if not numbers:
        ax.scatter(columns, rows, s=2, color=text_colour())
        return
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        text = f"{values[row, column]:+.{places}f}"
        ax.text(column, row, text, ha="center", va="center", fontsize=7, color=text_colour())


def _name(run: Any, letters: int) -> str:
    return in_picture(elided(str(run), letters))


def _write_title(ax: Axes, text: str) -> None:
    figure: Any = ax.figure
    letters = int(figure.get_figwidth() / _LETTER / 1.4)
    titled(ax, fill(in_picture(text), letters))


def _turned(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of pairs in the other direction: the baseline compared with the run."""
    swapped = {"run": "baseline", "baseline": "run", "wins": "losses", "losses": "wins"}
    for kind in ("difference", "tukey"):
        swapped |= {f"{kind}_low": f"{kind}_high", f"{kind}_high": f"{kind}_low"}
    other = rows.rename(columns=swapped)[rows.columns]
    signed = other.columns.intersection(_SIGNED)
    other[signed] = -other[signed]
    return other


def _better_first(rows: pd.DataFrame, lower: bool) -> pd.DataFrame:
    """Return rows of pairs with the run and the baseline swapped where the baseline has the better score."""
    better = rows["difference"] > 0 if lower else rows["difference"] < 0
    return rows.where(~better, _turned(rows))


def plot_wins(found: Any, measure: str, rows: pd.DataFrame, pairs: int = 20, ax: Axes | None = None) -> Axes:
    """Plot wins, ties and losses by topic as bars; see :meth:`PairComparison.plot_wins`."""
    shown = rows.loc[rows["difference"].abs().sort_values(ascending=False, kind="stable").index[:pairs]]
    if found.about["baselines"] is None:
        shown = _better_first(shown, found.about["better"][measure] == "lower")
    new = ax is None
    ax = axes_of(ax)
    figure: Any = ax.figure
    if new:
        figure.set_figheight(1.5 + 0.3 * len(shown))
    width_of_figure = figure.get_figwidth()
    letters = int(np.clip(0.2 * width_of_figure / _LETTER, 6, _NAME))
    least = found.about["queries"] * 0.3 / max(0.9 * width_of_figure - 2 * letters * _LETTER, 0.5)  # room for a number
    place = np.arange(len(shown))
    left = np.zeros(len(shown))
    for name, colour in (("wins", COLOURS[0]), ("ties", GREY), ("losses", COLOURS[1])):
        widths = shown[name].to_numpy(float)
        ax.barh(place, widths, left=left, height=0.7, color=colour, label=name)
        for y, start, width in zip(place.tolist(), left.tolist(), widths.tolist(), strict=True):
            if width >= least:
                ax.text(start + width / 2, y, f"{width:.0f}", ha="center", va="center", fontsize=7, color=text_colour())
        left = left + widths
    names = [
        f"{_name(a, letters)} vs {_name(b, letters)}" for a, b in zip(shown["run"], shown["baseline"], strict=True)
    ]
    ax.set_yticks(place, names, fontsize=8)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, found.about["queries"])
    ax.set_xlabel("topics that the first run of each pair wins, ties or loses")
    some = (
        f" ({len(shown)} of {len(rows):,} pairs, those with the largest differences)" if len(shown) < len(rows) else ""
    )
    _write_title(ax, f"{found.called(measure)}: wins, ties and losses by topic{some}")
    figure.legend(loc="outside lower right", ncols=3, fontsize=8, frameon=False)
    return ax
