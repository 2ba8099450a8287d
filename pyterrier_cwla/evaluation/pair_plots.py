"""Plots of pairs of runs: a heat map of differences, and wins, ties and losses by topic. They need matplotlib."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import many
from ..errors.sanitise import in_picture
from ..rendering.figures import COLOURS, GREY, axes_of, difference_colours, text_colour, titled
from ..rendering.labels import elided

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_ROW = 0.26  # inches per run
_NAME = 22  # largest number of characters of a name
_LETTER = 0.065  # inches per character of 8 points
_NUMBER = 0.45  # inches per column with numbers
_UPRIGHT = 0.14  # inches per column with an upright name
_MOST_NAMES = 45  # largest number of rows with names


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
    from matplotlib.colors import to_rgba  # after axes_of, whose error names the extra

    grey = np.where(np.isnan(values)[..., None], to_rgba(GREY, 0.5), 0.0)  # pairs that are not compared
    ax.imshow(grey, aspect="auto")
    image = ax.imshow(finite, cmap=difference_colours(), vmin=-largest, vmax=largest, aspect="auto")
    significant = np.nan_to_num(marks) != 0
    width = figure.get_figwidth()
    letters = int(np.clip(0.3 * width / _LETTER, 6, _NAME))
    room = (0.9 * width - letters * _LETTER - 0.9) / len(columns)  # inches per column
    _mark_cells(ax, values, significant, found.places(measure), room >= _NUMBER)
    rows_named, columns_named = len(order) <= _MOST_NAMES, room >= _UPRIGHT
    ax.set_yticks(*_named_ticks(order if rows_named else [], letters), fontsize=8)
    ax.set_xticks(*_named_ticks(columns if columns_named else [], letters), rotation=90, fontsize=8)
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


def _named_ticks(runs: list[Any], letters: int) -> tuple[Any, list[str]]:
    return np.arange(len(runs)), [_name(run, letters) for run in runs]


def _name(run: Any, letters: int) -> str:
    return in_picture(elided(str(run), letters))


def _write_title(ax: Axes, text: str) -> None:
    figure: Any = ax.figure
    letters = int(figure.get_figwidth() / _LETTER / 1.4)
    titled(ax, fill(in_picture(text), letters))


def _better_first(rows: pd.DataFrame, lower: bool) -> pd.DataFrame:
    """Return rows of pairs with the run and the baseline swapped where the baseline has the better score."""
    swapped = rows.rename(columns={"run": "baseline", "baseline": "run", "wins": "losses", "losses": "wins"})
    better = rows["difference"] > 0 if lower else rows["difference"] < 0
    return rows.where(~better, swapped[rows.columns])


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
