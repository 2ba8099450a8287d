"""Figures with a common style: direct labels, units on the axes, readable in grey. They need matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors.extras import needed

STAY, GAIN, SCORE, GREY = "#1b6ca8", "#c9c9c9", "#b5451b", "#555555"
ON_WHITE = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
"""Background box of labels that lie on lines."""


def axes_of(ax: Any) -> Any:
    """Return the axes, or those of a new figure (7 × 3.2 inches), without the upper and right spine."""
    if ax is None:
        _, ax = _pyplot().subplots(figsize=(7, 3.2), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def titled(ax: Any, title: str) -> Any:
    """Set a title in the common style and return the axes."""
    ax.set_title(title, fontsize=10, loc="left")
    return ax


def apart(heights: Any, least: float) -> Any:
    """Shift increasing heights of labels upwards, so that neighbours are at least ``least`` apart."""
    steps = least * np.arange(len(heights))
    return np.maximum.accumulate(np.asarray(heights, float) - steps) + steps


def _pyplot() -> Any:
    with needed("figures need matplotlib", extra="plots"):
        from matplotlib import pyplot
    return pyplot
