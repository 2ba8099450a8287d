"""Plots of click models: positions and predicted relevance."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors.sanitise import in_picture
from ...rendering.figures import GAIN, GREY, SCORE, STAY, axes_of, text_colour, titled
from ...rendering.labels import label_ends, name_columns
from ..logs.behaviour_plots import draw_dots, draw_lines, labelled, sizes_of


def plot_positions(model: Any, measures: Any = (), depth: int = 10, ax: Any = None) -> Any:
    """Plot the examination probability of each rank, of a click model and of measures.

    Dots show b_p with its interval; lines show V of `measures` over the lists of the log.

    Parameters
    ----------
    model : PositionModel
        Model of :func:`position_model`.
    measures : sequence of Measure or str, or dict of these by label, default=()
        Measures that follow a user model, at most eight.
    depth : int, default=10
        Last rank.
    ax : matplotlib Axes, optional
        Axes to draw on; by default new ones.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    Chapelle et al. (2009), Figure 1.
    """
    table = model.beside(measures, depth)
    ax = axes_of(ax)
    draw_dots(ax, table.index.to_numpy(), table["b"], table["low"], table["high"], text_colour())
    of_measures = labelled(table.drop(columns=["b", "low", "high"]), measures)
    draw_lines(ax, of_measures, "users of the log, from clicks", table["b"])
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("rank (documents)")
    ax.set_ylabel("share who examine the rank")
    ax.set_ylim(0, 1.08 * max(1.0, float(np.nanmax(table["high"].fillna(table["b"])))))
    what = "How many users examine each rank, relative to rank 1 (b of the log, V of measures)"
    return titled(ax, f"{what} · {sizes_of(model)}")


def plot_relevance(model: Any, ax: Any = None) -> Any:
    """Plot attraction a, satisfaction s and relevance R(g) = a·s of each grade.

    Bars show R(g) with its interval, circles a (click if examined), triangles s (satisfied if clicked).

    Parameters
    ----------
    model : ClickModel
        Model of :func:`dbn_from_clicks` or :func:`cascade_from_clicks`.
    ax : matplotlib Axes, optional
        Axes to draw on; by default new ones.

    Returns
    -------
    matplotlib Axes
    """
    table = model.table
    ax = axes_of(ax)
    x = np.arange(len(table))
    ax.bar(x, table["R"], width=0.5, color=GAIN)
    names = {"a": "a: clicked if examined", "s": "s: satisfied if clicked", "R": "R = a·s"}
    looks = {"a": (-0.12, STAY, "o"), "s": (0.12, SCORE, "^"), "R": (0.0, GREY, "")}
    for name, (shift, colour, mark) in looks.items():
        draw_dots(ax, x + shift, table[name], table[f"{name} low"], table[f"{name} high"], colour, mark)
    name_columns(ax, x, [str(grade) for grade in table["grade"]])
    ax.set_xlim(-0.6, len(table) - 0.6)
    ax.set_ylim(0, 1.05)
    ax.set_xlabel("grade")
    ax.set_ylabel("probability")
    going_on = f"{in_picture(model.gamma)} of users go on if not satisfied (γ)"
    titled(ax, f"How results of each grade attract and satisfy users · {going_on} · {sizes_of(model)}")
    ends = {text: ([x[-1] + 0.25], [table[name].iloc[-1]]) for name, text in names.items()}
    label_ends(ax, ends, {text: {"color": looks[name][1]} for name, text in names.items()})
    return ax
