"""Plots of click models: positions and predicted relevance."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors.sanitise import in_picture
from ...rendering.figures import GAIN, GREY, SCORE, STAY, apart, axes_of, titled
from ..logs.behaviour_plots import draw_dots, draw_label, draw_lines, sizes_of


def plot_positions(model: Any, measures: Any = (), depth: int = 10, ax: Any = None) -> Any:
    """Plot the examination probability of each rank, of a click model and of measures.

    Dots show b_p with its interval; lines show V of `measures` over the lists of the log.

    Parameters
    ----------
    model : PositionModel
        Model of :func:`position_model`.
    measures : sequence of Measure or str, or dict of these by label, default=()
        Measures that follow a user model, at most five.
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
    draw_dots(ax, table.index.to_numpy(), table["b"], table["low"], table["high"])
    draw_lines(ax, table.drop(columns=["b", "low", "high"]), "V of ")
    draw_label(ax, "$b_p$, from clicks", table["high"].fillna(table["b"]))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("rank (documents)")
    ax.set_ylabel("examination probability,\nrelative to rank 1")
    ax.set_ylim(0, 1.08 * max(1.0, float(np.nanmax(table["high"].fillna(table["b"])))))
    return titled(ax, f"Position model · {sizes_of(model)}")


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
    ends = [(max(float(table[name].iloc[-1]), 0.05), name) for name in names if np.isfinite(table[name].iloc[-1])]
    ends.sort()
    for height, (_, name) in zip(apart([end[0] for end in ends], 0.1), ends, strict=True):
        ax.annotate(names[name], (x[-1] + 0.27, height), va="center", color=looks[name][1])
    ax.set_xticks(x, [in_picture(grade) for grade in table["grade"]])
    ax.set_xlim(-0.6, len(table) - 0.1)
    ax.set_ylim(0, 1.05)
    ax.set_xlabel("grade")
    ax.set_ylabel("probability")
    return titled(ax, f"γ = {in_picture(model.gamma)} · {sizes_of(model)}")
