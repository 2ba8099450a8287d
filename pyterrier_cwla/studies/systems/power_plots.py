"""Pictures of discriminative power: by test, and by level of significance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...rendering.figures import GREY, SCORE, STAY, axes_of
from ...rendering.labels import label_ends, measure_look, wrapped

if TYPE_CHECKING:
    from .power import Power

_MARKS: dict[str, dict[str, Any]] = {
    "t": {"marker": "o", "color": STAY, "label": "t"},
    "wilcoxon": {"marker": "x", "color": SCORE, "label": "Wilcoxon"},
    "randomisation": {"marker": "|", "color": GREY, "label": "randomisation", "markersize": 9},
    "bootstrap": {"marker": "D", "color": GREY, "label": "bootstrap", "fillstyle": "none"},
}


def plot_power(study: Power, ax: Any = None) -> Any:
    """The share of pairs that each measure tells apart, by four tests: what :meth:`Power.shares` returns."""
    ax = axes_of(ax)
    data = study.shares()
    height = np.arange(len(data))[::-1]
    ax.hlines(height, 100 * data["t_low"], 100 * data["t_high"], color=STAY, linewidth=1.2)
    for test, look in _MARKS.items():
        ax.plot(100 * data[test], height, linestyle="none", **{"markersize": 5, **look})
    ax.set_yticks(height, [wrapped(name) for name in data["measure"]], fontsize=8)
    ax.set_ylim(-0.6, len(data) - 0.4)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(f"pairs of runs with p < {study.about['alpha']:g} (%)")
    ax.grid(axis="x", color="#e6e6e6", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_title(_title(study), fontsize=10, loc="left")
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.7 / ax.figure.get_figheight())}
    ax.legend(ncols=2 if ax.figure.get_figwidth() < 5 else 4, fontsize=8, frameon=False, handletextpad=0.1, **below)
    return ax


def plot_levels(study: Power, test: str = "t", ax: Any = None) -> Any:
    """The share of pairs that are told apart at each level of significance: what :meth:`Power.levels` returns.

    Sakai's curves of achieved significance levels (:meth:`Power.achieved`), turned so that higher is better.
    """
    ax = axes_of(ax)
    data = study.levels(test)
    names = list(study.table["measure"])
    looks = {name: measure_look(number) for number, name in enumerate(names)}
    curves = {}
    for name in names:
        rows = data[data["measure"] == name]
        curves[name] = (rows["level"].to_numpy(), 100 * rows["share"].to_numpy())
        ax.plot(*curves[name], **{**looks[name], "marker": ""}, linewidth=1.5)
    ax.axvline(study.about["alpha"], color=GREY, linewidth=0.7)
    ax.set_xscale("log")
    ax.set_xlim(data["level"].iloc[0], data["level"].iloc[-1])
    ax.set_xlabel(f"level of significance ({_MARKS[test]['label']}{' test' if test != 't' else '-test'})")
    ax.set_ylabel("pairs of runs told apart (%)")
    ax.set_title(_title(study), fontsize=10, loc="left")
    label_ends(ax, curves, looks)
    return ax


def _title(study: Power) -> str:
    return f"{study.about['pairs']:,} pairs of {study.about['runs']:,} runs, {study.about['queries']:,} queries"
