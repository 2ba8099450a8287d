"""Plots of agreement with users: the C × A grid, coefficients with intervals, ratings over scores, preferences."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...errors import BadParameter, many
from ...errors.sanitise import in_picture
from ...rendering.figures import GAIN, GREY, SCORE, STAY, axes_of, cell_colours, colour_on, room_of, text_colour, titled
from ...rendering.labels import key, label_ends, name_rows
from ..coefficient_names import LABELS
from ..directions import with_direction
from ..report import Picture
from .agreement_numbers import AgreementNumbers

_MOST_ROWS = 30  # maximum number of measures in the plot of intervals
_SMALL = 7.0  # points
_PREFERRED = {"-1": "second", "0": "neither", "1": "first"}


def drawn(study: AgreementNumbers) -> dict[str, Picture]:
    """Return all pictures of the study."""
    name = LABELS[study.coefficient]
    pictures = {}
    if study.grid is not None:
        size = (7.0, 1.3 + 0.36 * len(study.grid.C))
        pictures["cells"] = Picture(
            f"{name} of each C with each A", study._marked, partial(plot_cells, study), study.marked_cells(), size
        )
    ranked = study.ranked
    if len(ranked):
        size = (7.0, _height(len(ranked)))
        pictures["agreement"] = Picture(
            f"{name}, with intervals", study._how, partial(plot_agreement, study), ranked.reset_index(), size
        )
    for measure in dict.fromkeys([*ranked.index[:1], *_compared(study)]):
        what = "preferences" if study.rated.what == "pair" else "ratings"
        pictures[f"{what}-{len(pictures)}"] = Picture(
            f"{what.capitalize()} over {measure}",
            f"{study._whose}; each bar has about as many, except where scores tie.",
            partial(plot_bands, study, measure),
            study.bands(measure),
            (7.0, 3.2),
        )
    return pictures


def _compared(study: AgreementNumbers) -> list[str]:
    """Return the reference of the best measure, if there is one."""
    against = study.ranked["compared_with"].iloc[:1].dropna()
    return [name for name in against if study.table.loc[name, "kind"] != "X"]


def plot_cells(study: AgreementNumbers, ax: Any = None, coefficient: str | None = None) -> Any:
    """Plot the coefficient of each C with each A, as in Tables 4 and 5 of Moffat et al. (2022).

    Darker cells have higher values; the highest value of a row is bold and framed. "a" marks the canonical metric of
    the row, "b" a cell that is significantly better than it, and "c" one that is worse. Brackets mark differences that
    are not significant after the correction for multiple comparisons. ``study.cells()`` returns the numbers, and
    ``study.marked_cells()`` the texts.

    Parameters
    ----------
    study : UserAgreement
        Study of a grid.
    ax : matplotlib Axes, optional
        By default new axes.
    coefficient : str, optional
        By default the coefficient of the study.

    Returns
    -------
    matplotlib Axes
    """
    numbers, texts = study.cells(coefficient), study.marked_cells(coefficient)
    ax = axes_of(ax, (7, 1.3 + 0.36 * len(numbers)))
    values = numbers.to_numpy(float)
    low, high = (np.nanmin(values), np.nanmax(values)) if np.isfinite(values).any() else (0.0, 1.0)
    low = min(low, 0.0)
    shade = (values - low) / max(high - low, 1e-9)
    colours = cell_colours()
    rows, columns = values.shape
    edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
    ax.pcolormesh(*edges, shade, cmap=colours, vmin=0, vmax=1.6, edgecolor=ax.get_facecolor())
    ax.set_ylim(rows - 0.5, -0.5)
    size = float(np.clip(room_of(ax)[0] * 0.85 / columns / 4.2, 5, 9))
    highest = np.nan_to_num(values, nan=-np.inf).max(axis=1, keepdims=True)
    best = values > highest - 1e-10
    for i, j in np.ndindex(rows, columns):
        number, _, mark = texts.iat[i, j].partition(" ")
        text = number.replace("0.", ".") if size < _SMALL else number
        ax.text(j, i, text + (f"$^{{\\mathrm{{{mark}}}}}$" if mark else ""), ha="center", va="center", fontsize=size,
                color=colour_on(colours(shade[i, j] / 1.6)) if np.isfinite(shade[i, j]) else GREY,
                fontweight="bold" if best[i, j] else "normal")  # fmt: skip
        if best[i, j]:
            ax.add_patch(_frame(j, i))
    above = [in_picture(_short(a, numbers.columns)) for a in numbers.columns]
    ax.set_xticks(range(columns), [_broken(a) if size < _SMALL else a for a in above], fontsize=min(size + 1, 9))
    ax.set_yticks(range(rows), [in_picture(_short(c, numbers.index)) for c in numbers.index], fontsize=min(size + 1, 9))
    ax.tick_params(length=0, top=False, bottom=False, labeltop=True, labelbottom=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    name = _mathematical(LABELS[coefficient or study.coefficient])
    ax.set_xlabel("how a score follows from the ranking (A)")
    ax.xaxis.set_label_position("top")
    ax.set_ylabel("how users continue (C)")
    return titled(ax, f"{name} of scores with {study._whose}{_explained(texts.to_numpy().ravel(), 'a')}")


def _explained(texts: Any, reference: str) -> str:
    """Return the meanings of the marks in these texts, for a title."""
    meanings = {"a": "canonical metric of the row", "b": f"significantly better than {reference}",
                "c": f"significantly worse than {reference}"}  # fmt: skip
    shown = {mark for text in texts for mark in text.partition(" ")[2] or text}
    found = [f"{mark}: {meaning}" for mark, meaning in meanings.items() if mark in shown]
    if found and "(" in shown:
        found.append("(…): not after the correction")
    if "X" in set(texts):
        found.append("X: all scores are the same")
    return "".join(f" · {part}" for part in found)


def _mathematical(name: str) -> str:
    return name.replace("τ_b", r"$\tau_b$")


def _broken(name: str) -> str:
    """Break the name of a measure or function before its parameters."""
    return name.replace("(", "\n(", 1)


def _frame(x: int, y: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.47, y - 0.44), 0.94, 0.88, fill=False, edgecolor=SCORE, linewidth=1.4)


def _short(text: str, others: Any) -> str:
    """Return the name of a function without its parameter, if the parameter is a word and the name is unique."""
    name, _, inside = text.partition("(")
    words = inside.rstrip(")").replace("_", "").isalpha()
    return name if words and sum(other.partition("(")[0] == name for other in others) == 1 else text


def plot_agreement(study: AgreementNumbers, ax: Any = None, most: int = _MOST_ROWS) -> Any:
    """Plot the coefficients of the best measures with their intervals, best first.

    Filled marks are references of comparisons. ``study.ranked`` has the numbers.

    Parameters
    ----------
    study : UserAgreement
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.
    most : int, default=30
        Maximum number of measures.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BadParameter
        If every measure gives the same score to all rated items.
    """
    name, ranked = study.coefficient, study.ranked
    if ranked.empty:
        raise BadParameter("every measure gives the same score to all rated items: there is nothing to draw.")
    ax = axes_of(ax, (7, _height(min(len(ranked), most))))
    rows = ranked.head(most)
    compared = rows.index.isin(study.table["compared_with"].dropna())
    marks = study.marks()[rows.index].where(~compared, "")
    y = np.arange(len(rows))[::-1]
    for of, colour, face in ((compared, SCORE, SCORE), (~compared, STAY, ax.get_facecolor())):
        ax.hlines(y[of], rows[f"{name}_low"][of], rows[f"{name}_high"][of], color=colour, linewidth=1.4)
        ax.scatter(rows[name][of], y[of], s=22, color=face, edgecolor=colour, zorder=3)
    for height, high, mark in zip(y, rows[f"{name}_high"], marks, strict=True):
        if mark:
            ax.annotate(mark, (high, height), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    if ax.get_xlim()[0] < 0 < ax.get_xlim()[1]:
        ax.axvline(0, color=GREY, linewidth=0.7, linestyle=":")
    name_rows(ax, y, list(rows.index))
    ax.locator_params(axis="x", nbins=5 if room_of(ax)[0] < 360 else 8)
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.set_xlabel(f"{_mathematical(LABELS[name])}, {100 * study.about['confidence']:g} % interval")
    left = f", best {most} of {many(len(ranked), 'measure')}" if len(ranked) > most else ""
    titled(ax, f"Agreement of measures with {study._whose}{left}{_explained(marks, 'the reference')}")
    if compared.any():
        dot = {"linestyle": "-", "marker": "o", "markersize": 5}
        key(ax, {"reference of comparisons": {**dot, "color": SCORE}, "others": {**dot, "color": STAY,
                 "markerfacecolor": ax.get_facecolor()}})  # fmt: skip
    return ax


def _height(measures: int) -> float:
    return 1.3 + 0.2 * min(measures, _MOST_ROWS)


def plot_bands(study: AgreementNumbers, measure: str, ax: Any = None, bins: int | None = None) -> Any:
    """Plot the shares of ratings at each level over a measure's scores.

    Each bar has about the same number of ratings. The better a measure agrees with users, the more the bands rise from
    left to right (or fall, where less is better). For pairs, the bands are shares of preferences, and the axis is the
    difference of scores. ``study.bands(measure)`` returns the numbers. To compare two measures, draw one on each of
    ``left, right = plt.subplots(1, 2)[1]``.

    Parameters
    ----------
    study : UserAgreement
        Study to plot.
    measure : str
        Name of the measure.
    ax : matplotlib Axes, optional
        By default new axes.
    bins : int, optional
        Number of bars, from 2. By default up to ten, with at least about fifteen ratings each.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    Moffat et al. (2022), Figures 1 and 3.
    """
    table = study.bands(measure, bins)
    ax = axes_of(ax)
    pairs = study.rated.what == "pair"
    levels = list(table.columns[4:])
    middle = (table["high"].to_numpy()[:-1] + table["low"].to_numpy()[1:]) / 2
    edges = np.concatenate([table["low"].iloc[:1], middle, table["high"].iloc[-1:]])
    single = (table["low"] == table["high"]).to_numpy()
    edges[[0, -1]] += np.array([-0.05, 0.05]) * np.ptp(edges) * single[[0, -1]]  # gives a bar of a single score a width
    below = np.zeros(len(table))
    looks, curves = {}, {}
    for number, level in enumerate(levels):
        share = table[level].to_numpy()
        colour = _level_colour(number, len(levels), level if pairs else None)
        ax.bar(edges[:-1], share, np.diff(edges), bottom=below, align="edge", color=colour,
               edgecolor=ax.get_facecolor(), linewidth=0.5)  # fmt: skip
        name = _PREFERRED[level] if pairs else level
        curves[name] = (edges[-2:], np.repeat(below[-1] + share[-1] / 2, 2))
        looks[name] = {"color": text_colour()}
        below = below + share
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(0, 1)
    label = f"{'difference of scores (first − second)' if pairs else 'score'} by {with_direction(measure, study.about)}"
    ax.set_xlabel(in_picture(label))
    ax.set_ylabel(f"share of {'preferences' if pairs else 'ratings'}")
    label_ends(ax, dict(reversed(curves.items())), looks)  # from the top, also where bands have no height
    ratings = f"Ratings from {levels[0]} to {levels[-1]}, by the score"
    what = "Which side users prefer, by the difference" if pairs else ratings
    return titled(ax, f"{what} · {study._whose}")


def _level_colour(number: int, levels: int, preference: str | None) -> Any:
    if preference is not None:
        return {"-1": SCORE, "0": GAIN, "1": STAY}[preference]
    share = number / max(levels - 1, 1)
    return cell_colours()(share)
