"""Plots of explanations and of the ranks at which users stop. They need matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import BadParameter
from ..errors.parameter_checks import check_whole
from ..errors.sanitise import in_picture
from ..rendering.figures import GAIN, GREY, SCORE, STAY, axes_of, titled
from ..rendering.labels import elided, system_looks
from .explanation_panels import (
    bar_key,
    draw_gains,
    draw_steps,
    draw_time_above,
    draw_users,
    graded,
    label_ranks,
    panels_of,
    set_heights,
    write_above,
    write_documents,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEWEST, _MOST = 10, 50  # ranks of a plot whose depth is not given
_SEEN = 0.01  # share of users who see the last rank of such a plot
_VISIBLE = 0.02  # difference of shares of users that can be seen in a plot


def plot_explanation(explanation: Any, ax: Axes | None, depth: int | None, docnos: bool) -> Axes:
    """Draw gains and what they add to the score, and below the shares of users who see and who stop at each rank.

    Parameters
    ----------
    explanation : Explanation
        What to draw.
    ax : matplotlib.axes.Axes or None
        Axes whose place the two panels take; None for a new figure.
    depth : int or None
        Last rank; None for that of :func:`last_shown`.
    docnos : bool
        Whether to write the document ids below the upper panel.

    Returns
    -------
    matplotlib.axes.Axes
        The upper panel.

    Raises
    ------
    BadParameter
        If `depth` is not a positive integer, or there are no document ids.
    CWLAError
        If matplotlib is not installed.
    """
    last = last_shown([explanation], depth)
    table = explanation.table.head(last)
    _check_documents(docnos, table)
    share = _shares(explanation).to_numpy()[:last]
    highest = float(table["gain"].max()) or 1.0
    upper, lower = panels_of(ax, (1.2, 1), 5.4 if docnos else 4.6)
    label_ranks(lower, last, _part_shown([explanation], last))
    scale = _scale([table["gain"].to_numpy()], [share], explanation.adds_gains)
    keys = draw_gains(upper, table, share, scale, SCORE, graded([table]))
    of_score = "% of the score" if explanation.adds_gains else "% of the score (L·A)"
    set_heights(upper, highest, [*keys, bar_key(SCORE, of_score)], lines=1)
    texts = {rank: f"{100 * share[rank - 1]:.0f}" for rank in _by_size(share) if share[rank - 1] >= 0.005}
    write_above(upper, texts, highest, SCORE)
    upper.set_ylabel("gain of the document", fontsize=8)
    draw_users(lower, table)
    draw_time_above(lower, table, explanation.unit)
    if docnos:
        write_documents(upper, table, share)
    return titled(upper, in_picture(f"{explanation.title}: score {explanation.score:.3f}"))


def plot_pair(pair: Any, ax: Axes | None, depth: int | None, docnos: bool) -> Axes:
    """Draw the gains of two runs one below the other, their scores so far, and the shares of users if they differ.

    Parameters
    ----------
    pair : ExplainedPair
        What to draw.
    ax, depth, docnos
        As for :func:`plot_explanation`.

    Returns
    -------
    matplotlib.axes.Axes
        The upper panel.

    Raises
    ------
    BadParameter
        If `depth` is not a positive integer.
    CWLAError
        If matplotlib is not installed.
    """
    runs = pair.explanations
    last = last_shown(list(runs.values()), depth)
    V = {name: one.table["V"].to_numpy()[:last] for name, one in runs.items()}
    apart = [abs(one - other) for one, other in zip(*V.values(), strict=False)]  # up to the end of the shorter list
    users_differ = max(apart) > _VISIBLE
    heights, inches = ((1.2, 1, 1, 1), 8.0) if users_differ else ((1.2, 1, 1), 6.4)
    panels = panels_of(ax, heights, inches + 1.6 * docnos)
    label_ranks(panels[-1], last, _part_shown(list(runs.values()), last))
    looks = system_looks(list(runs))
    below = _draw_both_gains(panels[:2], runs, last, looks, docnos)  # the legends
    so_far = {name: one.contributions.to_numpy()[:last].cumsum() for name, one in runs.items()}
    highest = max(float(max(one)) for one in so_far.values()) or 1.0
    below.append(set_heights(panels[2], highest, draw_steps(panels[2], so_far, looks)))
    panels[2].set_ylabel("score so far", fontsize=8)
    if users_differ:
        below.append(set_heights(panels[3], 1, draw_steps(panels[3], V, looks), percent=True))
        panels[3].set_ylabel("share of users who\nsee the rank (V)", fontsize=8)
    marked = pair.first_gain_difference or pair.first_difference
    note = ""
    if marked is not None and marked <= last:
        for one, top in zip(panels, below, strict=True):
            one.axvspan(marked - 0.5, marked + 0.5, ymax=top, color=GAIN, alpha=0.3, linewidth=0, zorder=0)
        note = f"; rank {marked:,} is shaded"
    elif marked is not None:
        note = f"; ranks below {last:,} are not shown"
    return titled(panels[0], in_picture(f"{pair.title}: {pair.where_different}{note}"))


def _draw_both_gains(panels: Sequence[Axes], runs: dict[str, Any], last: int, looks: Any, docnos: bool) -> list[float]:
    """Draw the gains of each run in its panel, with the same scales, and write what they add to the scores.

    Return the share of the height below the legend, for each panel.
    """
    tables = [one.table.head(last) for one in runs.values()]
    adds = [one.contributions.to_numpy()[:last] for one in runs.values()]
    gains, levels = [table["gain"].to_numpy() for table in tables], graded(tables)
    scale = _scale(gains, adds, all(one.adds_gains for one in runs.values()))
    colours = [looks[name]["color"] for name in runs]
    drawn = [
        draw_gains(ax, table, values, scale, colour, levels)
        for ax, table, values, colour in zip(panels, tables, adds, colours, strict=True)
    ]
    below = []
    keys = {key.label: key for keys in drawn for key in keys}  # those of both runs, in the upper panel
    for number, (name, one) in enumerate(runs.items()):
        ax, values, colour = panels[number], adds[number], colours[number]
        highest = float(np.concatenate(gains).max()) or 1.0
        whose = bar_key(colour, f"{elided(name, 36)}, score {one.score:.3f}")
        below.append(set_heights(ax, highest, [*keys.values(), whose], lines=1))
        texts = {rank: f"{values[rank - 1]:.2f}" for rank in _by_size(values) if values[rank - 1] >= 0.005}
        write_above(ax, texts, highest, colour)
        ax.set_ylabel("gain (colour: added\nto the score)", fontsize=8)
        if docnos:
            write_documents(ax, tables[number], values)
        keys = {}
    return below


def last_shown(explanations: Sequence[Any], depth: int | None = None) -> int:
    """Return the last rank to draw.

    Without `depth`, it is the last rank that 1 % of the users see, but at least 10 and at most 50, if there are as many
    ranks.

    Parameters
    ----------
    explanations : sequence of Explanation
        Explanations in one picture.
    depth : int, optional
        Last rank that the user wants.
    """
    ranks = max(len(one.table) for one in explanations)
    if depth is not None:
        check_whole(1, depth=depth)
        return min(depth, ranks)
    seen = max(int((one.table["V"] >= _SEEN).sum()) for one in explanations)
    return min(max(seen, _FEWEST), _MOST, ranks)


def _part_shown(explanations: Sequence[Any], last: int) -> str:
    """Return which part of the rankings and scores the ranks up to `last` are; an empty text if they are all."""
    ranks = max(one.last_seen for one in explanations)
    shares = [_shares(one).iloc[:last].sum() for one in explanations]
    if last >= ranks and all(share > 0.995 or one.score == 0 for share, one in zip(shares, explanations, strict=True)):
        return ""
    of = f" of {ranks:,}" if ranks > last else ""
    added = " and ".join(f"{share:.0%}" for share in shares)
    return f"ranks 1 to {last:,}{of} add {added} of the score{'s' * (len(explanations) > 1)}"


def _shares(explanation: Any) -> pd.Series:
    """Return the share of the score that each rank adds; 0 if the score is 0."""
    adds = explanation.contributions
    return adds / explanation.score if explanation.score > 0 else 0 * adds


def _scale(gains: Sequence[Any], values: Sequence[Any], adds_gains: bool) -> float:
    """Return the height of a value of 1: no value is above its gain, or, if no gains are added, the highest gain."""
    gain, value = np.concatenate(gains), np.concatenate(values)
    if not (value > 0).any():
        return 0.0
    if adds_gains:
        return float((gain[value > 0] / value[value > 0]).min())
    return float(gain.max() / value.max()) or 1.0


def _by_size(values: Any) -> list[int]:
    """Return the ranks in decreasing order of their values."""
    return [int(place) + 1 for place in np.argsort(-values, kind="stable")]


def _check_documents(docnos: bool, table: pd.DataFrame) -> None:
    if docnos and "docno" not in table:
        raise BadParameter("docnos=True: this explanation has no document ids, since it was made from gains.")


def plot_stops(stops: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the share of users who stop at each rank, averaged over queries.

    Bars are the shares, down to the rank after which less than 1 % of the users are left (at least ten ranks, if there
    are as many). Texts give the share of users who leave before the first item, and of those who go on after the last
    rank shown, unless it is below 0.05 %.

    Parameters
    ----------
    stops : DataFrame
        Result of :func:`pyterrier_cwla.evaluation.stop_distribution`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadParameter
        If ``stops`` is another table or has no rows.
    CWLAError
        If matplotlib is not installed.
    """
    if "later" not in getattr(stops, "columns", ()):
        raise BadParameter("plot_stops needs the result of stop_distribution(qrels, run, measure).")
    if not len(stops):
        raise BadParameter("there are no queries to draw.")
    ax = axes_of(ax)
    share = stops.mean()
    stopped = share.iloc[:-1].cumsum().to_numpy()[1:]
    last = min(max(int((stopped < 1 - _SEEN).sum()) + 1, _FEWEST), len(stopped))
    ranks, later = share.iloc[1 : last + 1], 1 - stopped[last - 1]
    ax.bar(ranks.index.astype(int), ranks, width=0.8, color=STAY)
    label_ranks(ax, last, size=10)
    ax.set_ylabel("users who stop there")
    ax.set_ylim(0, 1.2 * max(float(ranks.max()), 1e-9))
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
    sides = {
        "left": (0.02, "{:.1%} leave before rank 1", share.iloc[0]),
        "right": (0.98, f"{{:.1%}} go on after rank {last:,}", later),
    }
    for side, (x, text, users) in sides.items():
        if users >= 5e-4:
            ax.text(x, 0.98, text.format(users), transform=ax.transAxes, ha=side, va="top", color=GREY)
    whose = f"mean of {len(stops):,} queries" if len(stops) > 1 else f"query {stops.index[0]}"
    measure = stops.attrs.get("measure")
    return titled(ax, in_picture(f"Where users{f' of {measure}' if measure else ''} stop: {whose}"))
